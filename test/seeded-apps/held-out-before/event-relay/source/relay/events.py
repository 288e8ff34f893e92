import json
import re
from dataclasses import dataclass

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KINDS = {"order.created", "order.paid", "order.failed", "refund.error_reported"}


class BadEvent(ValueError):
    """The sender's mistake: answered with 400, never tried again."""


@dataclass(frozen=True)
class Event:
    id: str
    kind: str
    body: bytes


def parse(raw: bytes) -> Event:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as e:
        raise BadEvent("body is not JSON") from e
    if not isinstance(data, dict):
        raise BadEvent("body is not an object")
    event_id, kind = data.get("id"), data.get("kind")
    if not isinstance(event_id, str) or not ID.fullmatch(event_id):
        raise BadEvent("id is missing or malformed")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadEvent(f"unknown kind {kind!r}")
    return Event(event_id, kind, raw)
