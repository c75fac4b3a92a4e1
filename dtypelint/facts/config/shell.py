"""Shell scripts and Dockerfiles: the variables that they write and the `accelerate launch` commands in them.

No shell is run and nothing is expanded: a word with a `$` is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dtypelint.finding import Span

NAME = re.compile(r"[A-Za-z_]\w*")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
PRINTERS = ("echo", "printf")
END = frozenset("\n;|&()")
DOCKER = re.compile(r"(?:Docker|Container)file(?:\..+)?|.*\.dockerfile", re.IGNORECASE)
JSON_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its quotes removed; `span` covers them. `known` is false where the shell would put something in."""

    text: str
    span: Span
    known: bool = True
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """`--name value` or `--name=value`; `value` is None where there is none."""

    name: Word
    value: Word | None = None

    @property
    def text(self) -> str | None:
        """The value, None for an unknown one."""
        return self.value.text if self.value and self.value.known else None


@dataclass(frozen=True, slots=True)
class Launch:
    """An `accelerate launch` command: its own flags, the script, and the flags of the script.

    `spread` says that words are filled in by the shell, `first` that the command begins with it.
    """

    start: Word
    flags: dict[str, Flag]
    script: Word | None
    arguments: dict[str, Flag]
    spread: bool
    first: bool = False


@dataclass(slots=True)
class Script:
    """What a file does that bears on precision."""

    variables: list[tuple[Word, Word]] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)


def read(path: str, text: str) -> Script:
    """The variables and launches of a file."""
    script = Script()
    docker = DOCKER.fullmatch(path.rpartition("/")[2]) is not None
    for words in _commands(text):
        if docker and words:
            words = _instruction(words, script, text)
        _command(words, script)
    return script


def _instruction(words: list[Word], script: Script, text: str) -> list[Word]:
    """The command of a Dockerfile's line; an `ENV` line gives variables."""
    head, rest = words[0].text.upper(), words[1:]
    if head == "ENV":
        if len(rest) == 2 and not ASSIGNMENT.match(rest[0].text):
            script.variables.append((rest[0], rest[1]))
        return rest if rest and ASSIGNMENT.match(rest[0].text) else []
    if head in ("RUN", "CMD", "ENTRYPOINT"):
        if rest and rest[0].text.startswith("["):
            return _array(text, rest[0].span.start, words[-1].span.end)
        return rest
    return []


def _array(text: str, start: int, end: int) -> list[Word]:
    data = text.encode()[start:end].decode("utf-8", "replace")
    found = []
    for match in JSON_WORD.finditer(data):
        first = start + len(data[: match.start()].encode())
        found.append(Word(match[1], Span(first, first + len(match[0].encode())), "$" not in match[1], quoted=True))
    return found


def _command(words: list[Word], script: Script) -> None:
    rest = words
    if rest and rest[0].text in ("export", "declare", "env"):
        rest = [word for word in rest[1:] if not word.text.startswith("-")]
    while rest and (match := ASSIGNMENT.match(rest[0].text)):
        script.variables.append(_assigned(rest[0], match))
        rest = rest[1:]
    if rest and rest[0].text in PRINTERS:
        return
    for at, word in enumerate(rest):
        after = rest[at + 1 : at + 2]
        if word.text.rpartition("/")[2] == "accelerate" and after and after[0].text == "launch":
            script.launches.append(_launch(word, rest[at + 2 :], first=not at))
            return
        if word.text in ("accelerate.commands.launch", "accelerate-launch"):
            script.launches.append(_launch(word, rest[at + 1 :]))
            return


def _assigned(word: Word, match: re.Match[str]) -> tuple[Word, Word]:
    """`NAME=value` as two words."""
    split = word.span.start + len(match[0].encode())
    name = Word(match[1], Span(word.span.start, split - 1))
    return name, Word(word.text[match.end() :], Span(split, word.span.end), word.known, word.quoted)


def _launch(start: Word, words: list[Word], *, first: bool = False) -> Launch:
    flags: dict[str, Flag] = {}
    for index, word in enumerate(words):
        module = index and words[index - 1].text in ("-m", "--module")
        if word.text.endswith(".py") or module:
            return Launch(start, flags, word, _flags(words[index + 1 :]), _spread(words), first)
        flags |= _flags(words[index : index + 2])
    return Launch(start, flags, None, {}, _spread(words), first)


def _spread(words: list[Word]) -> bool:
    """Whether a word stands for arguments that are not written here."""
    return any(not word.known and not word.quoted and not word.text.startswith("-") for word in words)


def _flags(words: list[Word]) -> dict[str, Flag]:
    found = {}
    for index, word in enumerate(words):
        if not word.text.startswith("--"):
            continue
        name, equals, value = word.text.partition("=")
        key = name.removeprefix("--").replace("-", "_")
        if equals:
            split = word.span.end - len(value.encode())
            found[key] = Flag(word, Word(value, Span(split, word.span.end), word.known))
        else:
            after = words[index + 1] if index + 1 < len(words) else None
            found[key] = Flag(word, after if after and not after.text.startswith("-") else None)
    return found


def _commands(text: str) -> Iterator[list[Word]]:
    """The words of each simple command; comments and continued lines are seen through."""
    offsets = _Offsets(text)
    words: list[Word] = []
    place, size = 0, len(text)
    while place < size:
        char = text[place]
        if char in END:
            if words:
                yield words
            words = []
            place += 1
        elif text.startswith(("\\\n", "\\\r\n"), place):
            place += 2 if text[place + 1] == "\n" else 3
        elif char.isspace():
            place += 1
        elif char == "#":
            place = _line_end(text, place)
        else:
            end, said, known, quoted = _word(text, place)
            words.append(Word(said, Span(offsets(place), offsets(end)), known, quoted))
            place = end
    if words:
        yield words


class _Offsets:
    """Code points to UTF-8 bytes, asked for in rising order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()
        self._place = self._bytes = 0

    def __call__(self, place: int) -> int:
        if self._ascii:
            return place
        self._bytes += len(self._text[self._place : place].encode())
        self._place = place
        return self._bytes


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _word(text: str, place: int) -> tuple[int, str, bool, bool]:
    """The end of a word, its text, whether it is known, and whether all of it is in quotes."""
    said: list[str] = []
    known = True
    first = text[place]
    start = place
    while place < len(text) and not text[place].isspace() and text[place] not in END:
        char = text[place]
        if char in "'\"":
            end = _quoted(text, place)
            inner = text[place + 1 : end]
            known = known and (char == "'" or not re.search(r"[$`]", inner))
            said.append(inner if char == "'" else re.sub(r'\\(["\\$`])', r"\1", inner))
            place = end + 1
        elif text.startswith(("$(", "`", "${"), place):
            known = False
            close = {"$(": ")", "${": "}", "`": "`"}[text[place : place + 2] if char == "$" else "`"]
            end = text.find(close, place + 2)
            end = _line_end(text, place) if end < 0 else end + 1
            said.append(text[place:end])
            place = end
        elif char == "\\":
            if text.startswith(("\\\n", "\\\r\n"), place):
                break
            said.append(text[place + 1 : place + 2])
            place += 2
        else:
            known = known and char != "$"
            said.append(char)
            place += 1
    whole = first in "'\"" and _quoted(text, start) == place - 1
    return min(place, len(text)), "".join(said), known, whole


def _quoted(text: str, place: int) -> int:
    """The index of the quote that closes the one at a place."""
    quote = text[place]
    end = place + 1
    while end < len(text) and text[end] != quote:
        end += 2 if text[end] == "\\" and quote == '"' else 1
    return min(end, len(text))
