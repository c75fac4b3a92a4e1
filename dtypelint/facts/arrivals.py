"""What does not arrive: settings that nobody reads, that are overwritten, that are not passed on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.facts import Role, Slot
    from dtypelint.finding import Location, Span


class Declaration(StrEnum):
    """What kind of setting a declaration is."""

    FIELD = "field"
    OPTION = "option"
    PARAMETER = "parameter"
    LOCAL = "local"


class Proof(StrEnum):
    """How much says that an unread setting should have been read."""

    READERS = "readers"
    USERS = "users"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Unread:
    """A precision setting that nothing below the root reads.

    `owner` names the class, function or parser that declares it; `proof` says whether the project reads its siblings
    (`readers`), only uses the owner (`users`), or neither; `twin` is the setting of the same name that is read instead, and
    `given` a place that passes a value for it.
    """

    name: str
    kind: Declaration
    span: Span
    owner: str
    proof: Proof
    twin: Location | None = None
    given: Location | None = None


class Held(StrEnum):
    """How a caller holds what its call leaves out: by name, in an object, or passed by the twins of the call."""

    NAME = "name"
    OBJECT = "object"
    TWIN = "twin"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class Omission:
    """A call that leaves out an optional precision although its caller holds one.

    `text` is the expression that is left out, `default` what the callee takes instead; `held` is where the caller got it,
    `siblings` are the arguments that the call does forward under their own names; `guarded` says that a test of the setting
    leads to the call, `fills` that the callee puts a default of its own in the place of None, `used` that the caller does
    something else with it, `open` that an unknown `**` may hold it; `others` is another call that is given such a setting.
    """

    name: str
    callee: str
    text: str
    span: Span
    held: Location
    how: Held
    role: Role
    parameter: Location | None = None
    default: str = "None"
    slot: Slot | None = None
    siblings: tuple[str, ...] = ()
    guarded: bool = False
    fills: bool = False
    used: bool = False
    open: bool = False
    others: Location | None = None


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A setting that is replaced by a literal before anything reads it; `held` is where it was taken."""

    name: str
    literal: str
    span: Span
    held: Location
    parameter: bool
