"""Suppression comments: `# dtypelint: ignore[DTL101] reason` and `# dtypelint: file-ignore[DTL101]`."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dtypelint.finding import Confidence, Hit, Span
from dtypelint.languages import Language, language

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dtypelint.knowledge import Rule
    from dtypelint.source import Source

MARK = re.compile(rb"#[ \t]*dtypelint:")
COMMENT = re.compile(r"#[ \t]*dtypelint:[ \t]*(?P<word>[\w-]+)[ \t]*(?P<codes>\[[^\]]*\])?")
NEWLINE = re.compile(r"\r\n?")
QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|(?<![^\s:\[{,=-])'[^']*'""")
HASH = re.compile(r"(?:^|\s)#")
BLOCK = re.compile(r"(?:^|[:\-]|\s)\s*[|>][-+0-9]*\s*$")
WORDS = ("ignore", "file-ignore")
UNUSED = "DTL001"
UNKNOWN = "DTL002"


@dataclass(frozen=True, slots=True)
class Ignore:
    """One comment: the rules that it names, and the lines on which a finding has to start or to lie."""

    span: Span
    line: int
    names: tuple[str, ...]
    whole_file: bool
    below: range = range(0)

    def covers(self, first: int, last: int) -> bool:
        """Whether a finding on these lines is meant."""
        return self.whole_file or first <= self.line <= last or first in self.below


@dataclass(frozen=True, slots=True)
class Mistake:
    """A comment that means nothing, and why."""

    span: Span
    message: str


class Ignores:
    """The suppressions of one file, and which of them were needed."""

    def __init__(self, source: Source, rules: Sequence[Rule]) -> None:
        self._source = source
        self._rules = {word: rule for rule in rules for word in (rule.code, rule.name)}
        self._comments, self._mistakes = read_ignores(source)
        self._used: set[tuple[Ignore, str]] = set()

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the rules that the comments name."""
        names = {name for comment in self._comments for name in comment.names}
        return frozenset(self._rules[name].code for name in names if name in self._rules)

    def cover(self, rule: Rule, span: Span) -> bool:
        """Whether a comment suppresses a finding of a rule; notes the comment as needed."""
        if not self._comments:
            return False
        first, last = self._source.position(span.start)[0], self._source.position(span.end)[0]
        covering = {
            (comment, name)
            for comment in self._comments
            for name in comment.names
            if name in (rule.code, rule.name) and comment.covers(first, last)
        }
        self._used |= covering
        return bool(covering)

    def complaints(self) -> Iterator[tuple[Rule, Hit]]:
        """What is wrong with the comments themselves, once all findings of the file went through `cover`."""
        for mistake in self._mistakes:
            yield self._rules[UNKNOWN], Hit(mistake.span, mistake.message, Confidence.HIGH)
        for comment in self._comments:
            for name in comment.names:
                rule = self._rules.get(name)
                if not rule:
                    message = f"`{name}` is no rule: the comment suppresses nothing"
                    yield self._rules[UNKNOWN], Hit(comment.span, message, Confidence.HIGH)
                elif not rule.own and (comment, name) not in self._used:
                    message = f"`{name}` reports nothing here: the comment has no effect"
                    yield self._rules[UNUSED], Hit(comment.span, message, Confidence.HIGH)


def read_ignores(source: Source) -> tuple[list[Ignore], list[Mistake]]:
    """The suppressions of a file; comments only, never the text of a string."""
    ignores: list[Ignore] = []
    mistakes: list[Mistake] = []
    if MARK.search(source.data):
        comments = _comments_of(source)
        for line, column, text, below in comments:
            for match in COMMENT.finditer(text):
                start = source.offset(line, column + match.start() + 1)
                span = Span(start, start + len(match[0].encode()))
                names = tuple(name for part in (match["codes"] or "")[1:-1].split(",") if (name := part.strip()))
                if match["word"] in WORDS and names:
                    ignores.append(Ignore(span, line, names, match["word"] == "file-ignore", below))
                elif reason := _reason(match["word"]):
                    mistakes.append(Mistake(span, reason))
    return ignores, mistakes


def _comments_of(source: Source) -> list[tuple[int, int, str, range]]:
    lines = NEWLINE.sub("\n", source.text)
    read_as = language(source.path)
    if read_as is Language.JSON:
        return []
    if read_as not in (None, Language.PYTHON):
        return list(_config_comments(lines))
    try:
        return list(_comments(lines))
    except (tokenize.TokenError, SyntaxError):
        return list(_lines(lines))


def _reason(word: str) -> str:
    if word in WORDS:
        return f"`{word}` names no rule: write `{word}[CODE]`, there is no blanket form"
    if {"ignore", "noqa", "disable", "skip"} & set(word.split("-")):
        return f"`{word}` is no directive: write `ignore[CODE]` or `file-ignore[CODE]`"
    return ""


def _comments(text: str) -> Iterator[tuple[int, int, str, range]]:
    """Line, column, text of each comment, and the lines that it is meant for besides its own.

    Alone above a statement, or behind its first or last line: the lines of the statement up to its colon; alone inside of
    one: the next line.
    """
    pending: list[tuple[int, int, str]] = []
    head: list[tuple[int, int, str]] = []
    behind: list[tuple[int, int, str]] = []
    start = 0
    fresh = True
    for kind, string, (line, column), _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == tokenize.COMMENT and fresh:
            pending.append((line, column, string))
        elif kind == tokenize.COMMENT:
            behind.append((line, column, string))
        elif kind in (tokenize.NL, tokenize.NEWLINE):
            fresh = True
            if kind == tokenize.NEWLINE:
                inside = [comment for comment in behind if start < comment[0] < line]
                yield from ((*comment, range(0)) for comment in inside)
                whole = [*head, *(comment for comment in behind if comment not in inside)]
                yield from ((*comment, range(start, line + 1)) for comment in whole)
                head, behind, start = [], [], 0
        elif fresh and kind not in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            fresh = False
            near = _directly_above(pending, line)
            yield from ((*comment, range(0)) for comment in pending[: len(pending) - len(near)])
            if start:
                yield from ((*comment, range(line, line + 1)) for comment in near)
            else:
                head, start = near, line
            pending = []
    yield from ((*comment, range(0)) for comment in pending)


def _directly_above(comments: list[tuple[int, int, str]], line: int) -> list[tuple[int, int, str]]:
    first = len(comments)
    while first and comments[first - 1][0] == line - (len(comments) - first) - 1:
        first -= 1
    return comments[first:]


def _config_comments(text: str) -> Iterator[tuple[int, int, str, range]]:
    """As `_comments`, for YAML and shell: a comment that stands alone is meant for the next line that is none.

    Block scalars and quoted text of one line hold none.
    """
    pending: list[tuple[int, int, str]] = []
    block = -1
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip())
        if block >= 0 and (not line.strip() or indent > block):
            continue
        bare = QUOTED.sub(lambda quoted: "x" * len(quoted[0]), line)
        found = HASH.search(bare)
        if found and not bare[: found.end() - 1].strip():
            pending.append((number, found.end() - 1, line[found.end() - 1 :]))
            continue
        if found:
            yield number, found.end() - 1, line[found.end() - 1 :], range(0)
        block = indent if BLOCK.search(bare[: found.start()] if found else bare) else -1
        if line.strip():
            yield from ((*comment, range(number, number + 1)) for comment in pending)
            pending = []
    yield from ((*comment, range(0)) for comment in pending)


def _lines(text: str) -> Iterator[tuple[int, int, str, range]]:
    for number, line in enumerate(text.split("\n"), 1):
        column = line.find("#")
        if column >= 0:
            yield number, column, line[column:], range(0)
