import logging

from scale.tickets import read_ticket
from scale.units import to_kilograms

log = logging.getLogger("scale")


class NotWeighed(Exception):
    pass


def weigh(raw: bytes) -> float:
    ticket = read_ticket(raw)
    try:
        return to_kilograms(ticket.amount, ticket.unit)
    except KeyError as error:
        raise NotWeighed(ticket.number) from error


def run(queue) -> None:
    for raw in queue:
        try:
            log.info("ticket weighed, %.1f kg", weigh(raw))
        except NotWeighed:
            log.exception("ticket was put aside")
