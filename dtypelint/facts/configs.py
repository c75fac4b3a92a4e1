"""What the checks see of configuration files, scripts and the environment: which settings arrive, and what became of the others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dtypelint.facts.config.nodes import Type
from dtypelint.finding import Span

if TYPE_CHECKING:
    from dtypelint.finding import Edit, Location, Related
    from dtypelint.schemas import Advisory


class Fate(StrEnum):
    """What becomes of a key: nothing reads it; its name or its value is refused; YAML made a boolean of it; another wins."""

    UNREAD = "unread"
    REFUSED_KEY = "refused key"
    REFUSED_VALUE = "refused value"
    BOOLEAN = "boolean"
    CLASH = "clash"
    OVERRIDDEN = "overridden"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A key of a configuration file that does not arrive.

    `path` is dotted; `value_span` is that of the text inside of quotes; `instead` is the name or the value that was meant,
    `is_spelling` whether it differs in spelling only; `repair` takes back what wins over it; `editable` is false where the place is shared through an anchor;
    `is_fp8` says whether fp8 is what gets lost; `sure` is false where something outside of the file may change it.
    """

    path: str
    span: Span
    value: str
    type: Type
    value_span: Span
    fate: Fate
    kind: str
    why: str
    says: str = ""
    versions: str = ""
    instead: str = ""
    near: str = ""
    is_spelling: bool = False
    editable: bool = True
    is_fp8: bool = False
    sure: bool = True
    quotes: bool = False
    is_quoted: bool = False
    related: tuple[Related, ...] = ()
    repair: tuple[Edit, ...] = ()

    @property
    def name_span(self) -> Span:
        """The text of the key inside of its quotes."""
        return Span(self.span.start + self.is_quoted, self.span.end - self.is_quoted)


@dataclass(frozen=True, slots=True)
class Answer:
    """What asking for fp8 does in some of the targeted releases."""

    library: str
    versions: str
    is_error: bool
    reads_backend: bool
    says: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """A place and a text, in which `{}` stands for the backend."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Fp8Request:
    """A place that asks for fp8; `backend` is what it names, `evident` the backends that the project installs or imports.

    `where` is `file`, `environment`, `launch` or `call`; `insertion` is where a backend can be written.
    """

    span: Span
    where: str
    backend: str
    answers: tuple[Answer, ...]
    evident: tuple[str, ...]
    insertion: Insertion | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that is written and does not arrive.

    `instead` is the name that is read; `fits` says whether the written value is one that is taken under that name. `late` is
    the reader that ran before, where the variable is right and comes too late.
    """

    name: str
    span: Span
    library: str
    instead: str = ""
    near: str = ""
    fits: bool = False
    late: Related | None = None


@dataclass(frozen=True, slots=True)
class Affected:
    """A dependency that admits a release of an advisory whose feature the project uses.

    `range` is what is admitted; `certain` says that the newest admitted release is affected; `used` is a place of the feature.
    """

    span: Span
    range: str
    advisory: Advisory
    certain: bool
    used: Related
