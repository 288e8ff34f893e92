import http.client
import logging
import threading
import time
import urllib.request
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from relay.events import Event

log = logging.getLogger("deliver")

WAITS = (1, 4, 15)
PARKED_EVERY = 300
TIMEOUT = 10


class Deliverer:
    """Sends every event to every subscriber; what cannot be sent now is parked and sent later."""

    def __init__(self, subscribers: dict[str, str]) -> None:
        self._subscribers = dict(subscribers)
        self._parked: dict[str, deque[Event]] = {name: deque() for name in subscribers}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=8)

    def names(self) -> list[str]:
        return list(self._subscribers)

    def accept(self, event: Event) -> None:
        for name in self._subscribers:
            self._pool.submit(self._deliver, event, name)

    def _deliver(self, event: Event, name: str) -> None:
        for attempt, wait in enumerate((*WAITS, None), start=1):
            try:
                self._send(event, name)
            except (OSError, http.client.HTTPException):
                if wait is None:
                    log.exception("%s to %s failed %d times, parked", event.id, name, attempt)
                    with self._lock:
                        self._parked[name].append(event)
                    return
                log.warning("%s to %s failed, attempt %d, next in %d s", event.id, name, attempt, wait, exc_info=True)
                time.sleep(wait)
            else:
                log.info("%s to %s delivered, attempt %d", event.id, name, attempt)
                return

    def _send(self, event: Event, name: str) -> None:
        request = urllib.request.Request(self._subscribers[name], data=event.body, method="POST")
        request.add_header("Content-Type", "application/json")
        request.add_header("Idempotency-Key", event.id)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            response.read()

    def resend_parked_forever(self) -> None:
        while True:
            time.sleep(PARKED_EVERY)
            for name in self.names():
                self.resend_parked(name)

    def resend_parked(self, name: str) -> None:
        sent = 0
        while True:
            with self._lock:
                if not self._parked[name]:
                    break
                event = self._parked[name][0]
            try:
                self._send(event, name)
            except (OSError, http.client.HTTPException) as e:
                log.warning("%s still does not take events (%s), %d stay parked", name, e, len(self._parked[name]))
                return
            with self._lock:
                self._parked[name].popleft()
            sent += 1
        if sent:
            log.info("%s: %d parked events delivered, none left", name, sent)
