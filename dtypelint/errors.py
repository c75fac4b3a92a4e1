"""What the user can put right."""


class UserError(Exception):
    """Shown as one line without a traceback; the run ends with exit status 2."""


def near(word: str, known: list[str]) -> str:
    """The tail of a message that offers the nearest known word, or nothing."""
    from difflib import get_close_matches

    match = get_close_matches(word, known, n=1, cutoff=0.5)
    return f": did you mean `{match[0]}`?" if match else ""
