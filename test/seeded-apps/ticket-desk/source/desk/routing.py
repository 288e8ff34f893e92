"""Who gets a ticket."""

OWNERS = {
    "billing": "ana",
    "delivery": "joost",
}


def owner_of(ticket):
    queue = ticket.get("queue", "returns")
    owner = OWNERS[queue]
    return owner


def is_urgent(ticket):
    return ticket.get("priority", 0) > 7
