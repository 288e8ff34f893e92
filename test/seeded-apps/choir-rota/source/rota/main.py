import logging

from rota.plan import arrange

log = logging.getLogger("rota")


def plan_evening(evening):
    if evening.conductor is None:
        log.warning("evening %s has no conductor", evening.id)
    seats = arrange(evening.singers)
    log.info("evening %s planned", evening.id)
    return seats
