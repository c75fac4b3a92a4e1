"""Reads the examples of the rule pages; whatever it does not understand is an error."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RULES = Path(__file__).parent.parent / "rules"
HEADING = re.compile(r"# `([a-z0-9-]+)` \(`(DTL\d{3})`\)")
FENCE = re.compile(r"(`{3,})(.*)")
MARKER = re.compile(r"[ \t]*# flagged(?:: (?P<words>.+))?$")
DEFAULT_FILES = {
    "python": "train.py",
    "yaml": "config.yaml",
    "json": "config.json",
    "toml": "pyproject.toml",
    "bash": "run.sh",
}
PROSE = frozenset({"text", "console"})
WORDS = frozenset({"fixed", "unsafe", "pedantic", "default", "withheld"})


class PageError(Exception):
    """A page that breaks the format; the message names file and line."""


@dataclass(frozen=True)
class Marker:
    """A line that a finding has to cover, and the words that its message has to contain."""

    path: str
    line: int
    words: tuple[str, ...]


@dataclass
class Example:
    """The files of one example, as they are checked and as they are to be after the fix."""

    page: Path
    line: int
    section: str
    heading: str
    files: dict[str, str] = field(default_factory=dict)
    markers: list[Marker] = field(default_factory=list)
    fixed: dict[str, str] = field(default_factory=dict)
    unsafe: bool = False
    pedantic: bool = False
    default: bool = False
    withheld: bool = False
    targets: tuple[str, ...] = ()
    named: bool = False

    @property
    def id(self) -> str:
        return f"{self.page.stem}-{self.line}"

    @property
    def clean(self) -> bool:
        return self.section == "Not flagged"


@dataclass
class Page:
    path: Path
    code: str
    name: str
    meta: dict[str, Any]
    examples: list[Example]

    @property
    def fixes(self) -> list[str]:
        value = self.meta["fix"]
        return [word for word in (value if isinstance(value, list) else [value]) if word != "none"]


@dataclass
class Info:
    """An info string: `python train.py fixed unsafe target=torch<2.15`."""

    language: str
    file: str | None
    words: set[str]
    targets: tuple[str, ...]
    flagged: tuple[int, ...]


def read_info(text: str, where: str) -> Info:
    language, *rest = text.split() or [""]
    if language not in DEFAULT_FILES and language not in PROSE:
        raise PageError(f"{where}: unknown language `{language}`")
    info = Info(language, None, set(), (), ())
    for word in rest:
        key, equals, value = word.partition("=")
        if equals and key == "target" and value:
            info.targets += (value,)
        elif equals and key == "flagged":
            info.flagged += tuple(map(int, value.split(",")))
        elif word in WORDS:
            info.words.add(word)
        elif not equals and "." in word and info.file is None:
            info.file = word
        else:
            raise PageError(f"{where}: unknown word `{word}` in the info string")
    if rest and language in PROSE:
        raise PageError(f"{where}: `{language}` takes no other word")
    if "unsafe" in info.words and "fixed" not in info.words:
        raise PageError(f"{where}: `unsafe` without `fixed`")
    return info


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it says of itself, and its text."""

    line: int
    section: str
    heading: str
    info: str
    body: str


def blocks(text: str, name: str) -> list[Block]:
    found = []
    section = heading = ""
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.fullmatch(line)
        if opened and line == opened[1]:
            found.append(Block(opened[0], section, heading, opened[2], "".join(f"{item}\n" for item in body)))
            opened, body = None, []
        elif opened:
            body.append(line)
        elif fence:
            opened = (number, fence[1], fence[2])
        elif line.startswith(("## ", "### ")):
            heading = line.lstrip("#").strip()
            section = heading if line.startswith("## ") else section
    if opened:
        raise PageError(f"{name}:{opened[0]}: the block is not closed")
    return found


def strip(body: str, path: str) -> tuple[str, list[Marker]]:
    """The text without its markers, and the markers."""
    lines, markers = [], []
    for number, line in enumerate(body.splitlines(), 1):
        marker = MARKER.search(line)
        if marker:
            markers.append(Marker(path, number, tuple((marker["words"] or "").split())))
        lines.append(line[: marker.start()] if marker else line)
    return "".join(f"{line}\n" for line in lines), markers


def read_page(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    heading = HEADING.fullmatch(text.partition("\n")[0])
    if not heading or heading[1] != path.stem:
        raise PageError(f"{path.name}:1: the heading must be # `{path.stem}` (`DTL…`)")
    found = blocks(text, path.name)
    if not found or (found[0].section, found[0].info) != ("", "toml"):
        raise PageError(f"{path.name}: the first block must be the toml metadata")
    page = Page(path, heading[2], heading[1], tomllib.loads(found[0].body), [])
    for block in found[1:]:
        where = f"{path.name}:{block.line}"
        info = read_info(block.info, where)
        if info.language in PROSE:
            continue
        if "fixed" in info.words:
            add_fixed(page, info, block.body, where)
        else:
            add_block(page, info, block)
    for example in page.examples:
        where = f"{path.name}:{example.line}"
        if bool(example.markers) is example.clean:
            raise PageError(f"{where}: " + ("a marker under Not flagged" if example.clean else "no marker"))
        if example.clean and (example.fixed or example.pedantic or example.withheld):
            raise PageError(f"{where}: a clean example takes neither a fix nor `pedantic` nor `withheld`")
        if example.default and not example.clean:
            raise PageError(f"{where}: `default` is for clean examples")
        if example.withheld and example.fixed:
            raise PageError(f"{where}: a fix is shown and withheld")
    return page


def add_block(page: Page, info: Info, block: Block) -> None:
    last = page.examples[-1] if page.examples else None
    path = info.file or DEFAULT_FILES[info.language]
    joins = (
        last
        and info.file
        and last.named
        and last.heading == block.heading
        and path not in last.files
        and not last.fixed
    )
    if not last or not joins:
        last = Example(page.path, block.line, block.section, block.heading, named=bool(info.file))
        page.examples.append(last)
    text, markers = strip(block.body, path)
    last.files[path] = text
    last.markers += markers + [Marker(path, number, ()) for number in info.flagged]
    last.pedantic |= "pedantic" in info.words
    last.default |= "default" in info.words
    last.withheld |= "withheld" in info.words
    last.targets += info.targets


def add_fixed(page: Page, info: Info, body: str, where: str) -> None:
    last = page.examples[-1] if page.examples else None
    path = info.file or (list(last.files)[-1] if last else "")
    if not last or path not in last.files or path in last.fixed:
        raise PageError(f"{where}: the fixed text belongs to no block")
    if last.fixed and last.unsafe is not ("unsafe" in info.words):
        raise PageError(f"{where}: one fix is safe or unsafe")
    last.fixed[path] = strip(body, path)[0]
    last.unsafe = "unsafe" in info.words


def read_pages() -> list[Page]:
    return [read_page(path) for path in sorted(RULES.glob("*.md"))]
