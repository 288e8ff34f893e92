import json
from dataclasses import dataclass


@dataclass
class Ticket:
    number: str
    amount: float
    unit: str


def read_ticket(raw: bytes) -> Ticket:
    said = json.loads(raw)
    return Ticket(said["number"], float(said["amount"]), said["unit"])
