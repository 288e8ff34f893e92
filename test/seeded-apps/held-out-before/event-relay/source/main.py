import logging
import os
import sys
import threading
from http.server import ThreadingHTTPServer

from relay.deliver import Deliverer
from relay.receive import make_handler

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("main")


def subscribers() -> dict[str, str]:
    """SUBSCRIBERS is name=url, separated by commas."""
    pairs = (item.split("=", 1) for item in os.environ.get("SUBSCRIBERS", "").split(",") if "=" in item)
    return {name.strip(): url.strip() for name, url in pairs}


def main() -> None:
    deliverer = Deliverer(subscribers())
    threading.Thread(target=deliverer.resend_parked_forever, daemon=True).start()
    port = int(os.environ.get("PORT", "8080"))
    server = ThreadingHTTPServer(("", port), make_handler(deliverer))
    log.info("listening on port %d, %d subscribers", port, len(deliverer.names()))
    server.serve_forever()


if __name__ == "__main__":
    main()
