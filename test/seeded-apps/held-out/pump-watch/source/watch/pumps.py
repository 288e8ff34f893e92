import json
from dataclasses import dataclass


@dataclass
class Pump:
    name: str
    address: tuple[str, int]

    def parse(self, raw: bytes) -> dict:
        return json.loads(raw)


def read_pumps(path: str) -> list[Pump]:
    with open(path) as file:
        return [Pump(each["name"], tuple(each["address"])) for each in json.load(file)]
