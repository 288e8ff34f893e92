class NotPlanned(Exception): ...


def section_of(singer):
    """Soprano, alto, tenor or bass."""
    return singer.voice.section


def arrange(singers):
    try:
        return sorted(singers, key=section_of)
    except AttributeError as error:
        # Whoever plans should know of how many.
        raise NotPlanned(singers) from error
