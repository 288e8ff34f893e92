import logging
import socket

log = logging.getLogger("watch.poll")
TIMEOUT_MS = 500
TRIES = 3


def ask(pump) -> dict | None:
    for attempt in range(1, TRIES + 1):
        try:
            with socket.create_connection(pump.address, timeout=TIMEOUT_MS / 1_000_000) as line:
                line.sendall(b"STATE\n")
                return pump.parse(line.recv(512))
        except TimeoutError:
            log.warning("pump %s did not answer in time, asking again (attempt %d)", pump.name, attempt)
    log.info("pump %s is skipped in this round", pump.name)
    return None
