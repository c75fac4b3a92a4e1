"""Text from checked files on its way to a terminal: nothing that moves the cursor or turns the writing direction."""

from __future__ import annotations

import unicodedata

TAB = "    "
HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible_character(character: str) -> str:
    """The character itself, or its escape."""
    if character.isascii() and character.isprintable():
        return character
    if unicodedata.category(character) not in HARMFUL:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def visible(text: str) -> str:
    """One line of text in which every control and formatting character is escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(visible_character, text))


def width(character: str) -> int:
    """The terminal columns of a visible character."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def columns(line: str) -> tuple[str, list[int]]:
    """A source line as it is shown, and the terminal column at which each of its characters begins (one more at the end)."""
    shown: list[str] = []
    starts = [0]
    for character in line:
        text = TAB if character == "\t" else visible_character(character)
        shown.append(text)
        starts.append(starts[-1] + sum(map(width, text)))
    return "".join(shown), starts
