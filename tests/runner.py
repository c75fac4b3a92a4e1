"""How actions/runner reads the log of a step: `ActionCommand`, `ActionCommandManager` and `IssueCommandExtension`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

ISSUES = {"error": "error", "warning": "warning", "notice": "notice"}
# the commands that a step may give; anything else is text
KNOWN = {
    *ISSUES,
    "group",
    "endgroup",
    "stop-commands",
    "add-mask",
    "debug",
    "echo",
    "set-output",
    "save-state",
    "add-path",
}
MOST = 10
LONGEST = 4096


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    data: str


@dataclass
class Issue:
    kind: str
    message: str
    place: dict[str, str]


@dataclass
class Step:
    """A step whose log was read; `issues` are those that the service keeps."""

    issues: list[Issue] = field(default_factory=list)
    dropped: int = 0
    text: list[str] = field(default_factory=list)
    others: list[Command] = field(default_factory=list)
    token: str = ""

    def read(self, log: str) -> Step:
        for line in log.splitlines():
            command = parse(line)
            if self.token:
                if command and command.name == self.token:
                    self.token = ""
                else:
                    self.text.append(line)
            elif command is None or command.name not in KNOWN:
                self.text.append(line)
            elif command.name == "stop-commands":
                self.token = command.data
            elif command.name in ISSUES:
                self.add(command)
            else:
                self.others.append(command)
        return self

    def add(self, command: Command) -> None:
        kind = ISSUES[command.name]
        if sum(issue.kind == kind for issue in self.issues) >= MOST:
            self.dropped += 1
            return
        self.issues.append(Issue(kind, command.data[:LONGEST], validated(command.properties)))


def parse(line: str) -> Command | None:
    return parse_v2(line) or parse_v1(line)


def parse_v2(line: str) -> Command | None:
    line = line.lstrip()
    if not line.startswith("::"):
        return None
    end = line.find("::", 2)
    if end < 0:
        return None
    name, _, rest = line[2:end].partition(" ")
    return Command(
        name,
        pairs(rest, ",", {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}),
        unescape(line[end + 2 :]),
    )


def parse_v1(line: str) -> Command | None:
    found = re.search(r"##\[([^\]]*)\]", line)
    if not found:
        return None
    name, _, rest = found[1].partition(" ")
    return Command(
        name,
        pairs(rest, ";", {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]", "%25": "%"}),
        unescape(line[found.end() :]),
    )


def pairs(text: str, separator: str, escapes: dict[str, str]) -> dict[str, str]:
    found = {}
    for pair in text.split(separator):
        key, equals, value = pair.strip().partition("=")
        if equals:
            found[key.lower()] = unescape(value, escapes)
    return found


def unescape(text: str, escapes: dict[str, str] | None = None) -> str:
    for escaped, character in (escapes or {"%0D": "\r", "%0A": "\n", "%25": "%"}).items():
        text = text.replace(escaped, character)
    return text


def validated(properties: dict[str, str]) -> dict[str, str]:
    """`ValidateLinesAndColumns`: places that make no sense lose their numbers."""
    place = dict(properties)
    line, end = (int(place[key]) if place.get(key, "").isdigit() else None for key in ("line", "endline"))
    column, last = (int(place[key]) if place.get(key, "").isdigit() else None for key in ("col", "endcolumn"))
    if end is not None and line is None:
        line = end
        place["line"] = place["endline"]
    if line is None and column is not None:
        drop(place, "col", "endcolumn")
    if end is not None and line is not None and end < line:
        drop(place, "line", "endline")
    if line is not None and end is not None and line != end:
        drop(place, "col", "endcolumn")
    if column is not None and last is not None and last < column:
        drop(place, "col", "endcolumn")
    return place


def drop(place: dict[str, str], *keys: str) -> None:
    for key in keys:
        place.pop(key, None)
