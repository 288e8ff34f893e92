import logging

from box.sort import desk_of

log = logging.getLogger("box")


def take(letter) -> str:
    log.info("letter from %s: %s", letter.sender, letter.text)
    desk = desk_of(letter.text)
    log.info("letter put on desk %s", desk)
    return desk
