import json
import logging
from http.server import BaseHTTPRequestHandler

from relay.deliver import Deliverer
from relay.events import BadEvent, parse

log = logging.getLogger("receive")
MAX_BODY = 256 * 1024


def make_handler(deliverer: Deliverer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self.answer(200, {"ok": True})
            else:
                self.answer(404, {"error": "not found"})

        def do_POST(self) -> None:
            if self.path != "/events":
                self.answer(404, {"error": "not found"})
                return
            length = self.headers.get("Content-Length", "")
            if not (length.isascii() and length.isdigit()) or len(length) > 9 or int(length) > MAX_BODY:
                self.close_connection = True
                self.answer(413, {"error": "a body of at most 256 KiB is needed"})
                return
            try:
                event = parse(self.rfile.read(int(length)))
            except BadEvent as e:
                log.warning("event refused: %s", e, exc_info=True)
                self.answer(400, {"error": str(e)})
                return
            except ConnectionError:
                log.info("sender hung up before the event was complete")
                self.close_connection = True
                return
            deliverer.accept(event)
            self.answer(202, {"id": event.id})

        def answer(self, status: int, value: dict[str, object]) -> None:
            body = json.dumps(value).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                log.info("sender hung up before the answer")
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            log.info("%s " + format, self.address_string(), *args)

    return Handler
