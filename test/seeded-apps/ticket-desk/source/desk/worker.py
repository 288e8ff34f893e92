import sys
import traceback

from desk.routing import is_urgent, owner_of


def handle(ticket):
    owner = owner_of(ticket)
    print(f"ticket {ticket['id']} goes to {owner}", flush=True)
    if is_urgent(ticket):
        print(f"WARN ticket {ticket['id']} is urgent", flush=True)


def work(queue):
    for ticket in queue:
        try:
            handle(ticket)
        except Exception:
            print(f"ticket {ticket['id']} was not handled", flush=True)
            traceback.print_exc(file=sys.stdout)
