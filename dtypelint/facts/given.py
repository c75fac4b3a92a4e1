"""How a precision is given and read: options, defaults that win, keys asked as attributes, strings compared with dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.facts import Argument, Role
    from dtypelint.finding import Location, Span
    from dtypelint.knowledge import Call


@dataclass(frozen=True, slots=True)
class Option:
    """A command-line option about a precision, as argparse takes it.

    `dest` is the attribute that it is stored in; `arguments` are those of the call by name; `rivals` are the other options
    of the file with the same attribute; `set_later` says that a default is given to the parser by another call. `argparse`
    is how the file names that module, empty where it does not.
    """

    flags: tuple[str, ...]
    dest: str
    location: Location
    arguments: tuple[Argument, ...]
    role: Role
    rivals: tuple[str, ...] = ()
    set_later: bool = False
    argparse: str = ""

    def get(self, name: str) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)


@dataclass(frozen=True, slots=True)
class Preset:
    """A default that nobody asked for, handed to a constructor that would else ask its launcher.

    `read` is the expression that hands it over at `location`, `default` its text at `written` in the declaration at
    `declared`; `alone` says that nothing else in the project reads the setting, `optional` that None is a value for it.
    """

    api: Call
    argument: str
    read: str
    location: Location
    default: str
    written: Location
    declared: Location
    kind: str
    alone: bool = False
    optional: bool = True


@dataclass(frozen=True, slots=True)
class Lookup:
    """`getattr` or `hasattr` of a precision on something that is a mapping by its evidence: keys are no attributes.

    `key` is the text of the name with its quotes, `default` that of the third argument (None without one);
    `joined` says that an operator stands beside the call.
    """

    span: Span
    function: str
    receiver: str
    key: str
    default: str | None
    evidence: str
    evidence_location: Location
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a string with a `torch.dtype`, which are never equal.

    `text` is the side that has its kind by the evidence `why`, `is_text` that it is the string; `literals` are the spans
    and texts of the strings on the other side as dtypes of torch, `converted` is `text` as a dtype by the file's own means.
    """

    span: Span
    operator: str
    text: str
    text_span: Span
    is_text: bool
    other: str
    why: str
    evidence: Location
    literals: tuple[tuple[Span, str], ...] = ()
    converted: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """An assignment that changes nothing: to a name that nobody reads, or of a cast back into the tensor that it came from.

    `target` is what is assigned and `live` the text of the switch that works, empty for a tensor; `already` is where that
    one is set in the same function.
    """

    span: Span
    target: str
    target_span: Span
    live: str = ""
    value: str = ""
    already: Location | None = None
