"""The imports of a file, as a fix needs them: what a symbol is called there, how one is added, which are left over."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from dtypelint.finding import Edit, Location, Span

_FUTURE, _STANDARD, _OTHER, _OWN = range(4)


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import binds. `scope` is the function that holds the import, None for the whole file.

    `uses` are the places where the name is written besides; `removal` takes it out of its import, None where it has to stay.
    """

    local: str
    path: str
    statement: Span
    scope: Span | None = None
    uses: tuple[Span, ...] = ()
    removal: Span | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """An import at the head of the file. `lines` go to the start of the line behind it.

    `names` are those of a `from` import, with the places where each begins; `end` is where the last one ends.
    """

    module: str
    lines: Span
    names: tuple[tuple[str, int], ...] | None = None
    end: int = 0
    between: str = ", "

    @property
    def key(self) -> tuple[int, bool, str]:
        """Where it is sorted: by group, `import` before `from`, by module."""
        return group(self.module), self.names is not None, self.module.lower()


@dataclass(frozen=True, slots=True)
class Imports:
    """The imports of one file. `rebound` are names with the functions in which they mean something else.

    `taken` are all names that the file binds; `start` is where its first import would go: behind the docstring where it
    is `documented`, with an empty line behind it where it is `blank`.
    """

    path: str = ""
    names: tuple[Imported, ...] = ()
    statements: tuple[Statement, ...] = ()
    rebound: tuple[tuple[str, Span], ...] = ()
    taken: frozenset[str] = frozenset()
    start: int = 0
    newline: str = "\n"
    documented: bool = False
    blank: bool = False

    def known(self, module: str, name: str, at: int) -> str | None:
        """How a member of a module is called at a place already; None where no import gives it."""
        for each in self.names:
            if each.path in (f"{module}.{name}", module) and self._visible(each, at):
                return each.local if each.path != module else f"{each.local}.{name}"
        return None

    def get(self, module: str, name: str, at: int) -> tuple[str, tuple[Edit, ...]] | None:
        """What to call a member of a module at a place, and the edits that import it; None where its name is taken.

        torch itself is imported whole, of every other module the member.
        """
        known = self.known(module, name, at)
        if known is not None:
            return known, ()
        bound = module if module == "torch" else name
        if bound in self.taken or not self.path:
            return None
        return (name if bound == name else f"{module}.{name}"), (
            self._added(module, None if bound == module else name),
        )

    def tidy(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Edits, with those that take out the imports which they leave unused."""
        here = [edit for edit in edits if edit.location.path == self.path]
        found = list(edits)
        for each in self.names:
            if each.removal is None or any(re.search(rf"\b{each.local}\b", edit.text) for edit in edits):
                continue
            gone = [use for use in each.uses if any(_within(use, edit.location.span) for edit in here)]
            if gone and len(gone) == len(each.uses):
                found.append(Edit(Location(self.path, each.removal), ""))
        return tuple(found)

    def _visible(self, name: Imported, at: int) -> bool:
        if name.scope is not None and not (name.scope.start <= at <= name.scope.end and name.statement.end <= at):
            return False
        return not any(
            other == name.local and span.start <= at <= span.end and (name.scope is None or span != name.scope)
            for other, span in self.rebound
        )

    def _added(self, module: str, name: str | None) -> Edit:
        if name is not None:
            for each in self.statements:
                if each.module == module and each.names:
                    return self._joined(each, name)
        text = f"import {module}" if name is None else f"from {module} import {name}"
        new = Statement(module, Span(0, 0), None if name is None else ())
        before = [each for each in self.statements if each.key < new.key]
        after = [each for each in self.statements if each.key > new.key]
        if before:
            place = before[-1].lines.end
            apart = group(before[-1].module) != group(module)
            gap = self.newline if apart and group(before[-1].module) != _OWN else ""
            return self._inserted(place, gap + text + self.newline)
        if after:
            gap = self.newline if group(after[0].module) != group(module) else ""
            return self._inserted(after[0].lines.start, text + self.newline + gap)
        lead = self.newline if self.documented else ""
        return self._inserted(self.start, lead + text + self.newline + ("" if self.blank else self.newline))

    def _joined(self, statement: Statement, name: str) -> Edit:
        assert statement.names
        for other, start in statement.names:
            if _order(name) < _order(other):
                return self._inserted(start, name + statement.between)
        return self._inserted(statement.end, statement.between + name)

    def _inserted(self, place: int, text: str) -> Edit:
        return Edit(Location(self.path, Span(place, place)), text)


def group(module: str) -> int:
    """The block of imports that a module belongs to."""
    top = module.partition(".")[0]
    if top == "__future__":
        return _FUTURE
    if module.startswith("."):
        return _OWN
    return _STANDARD if top in sys.stdlib_module_names else _OTHER


def _order(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: as the common sorters have it."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name.lower()


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
