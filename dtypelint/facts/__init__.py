"""What the checks see: plain frozen data about one file, joined with what other files say about its settings.

No record holds a syntax tree, opens a file or knows a rule. `python/` and `project` make them, when a check first asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dtypelint.facts.imports import Imports

if TYPE_CHECKING:
    from dtypelint.facts.arrivals import Omission, Overwrite, Unread
    from dtypelint.facts.averages import Average
    from dtypelint.facts.choices import Mapped, Missing, Raw
    from dtypelint.facts.configs import Affected, ConfigKey, Fp8Request, Variable
    from dtypelint.facts.defaults import Leak
    from dtypelint.facts.given import Comparison, Lookup, Option, Preset, Switch
    from dtypelint.facts.inert import Inert
    from dtypelint.facts.islands import Island
    from dtypelint.facts.masters import LowWeights
    from dtypelint.facts.modules import PlainRegion, Unmatched
    from dtypelint.facts.recipes import Fallback, LostRecipe
    from dtypelint.facts.steps import Trace
    from dtypelint.finding import Edit, Location, Span
    from dtypelint.knowledge import Call

LOW_PRECISION = frozenset({"bfloat16", "float16"})
_WORD = re.compile(r"[a-z0-9]+")
_PURE = re.compile(r"(?:(?<![a-z])p|P)ure(?![a-z])|PURE")


class Role(StrEnum):
    """What a dtype is for."""

    PARAM = "param"
    REDUCE = "reduce"
    BUFFER = "buffer"
    OUTPUT = "output"
    CAST_INPUTS = "cast_inputs"
    MASTER = "master"
    AUTOCAST = "autocast"
    FP8 = "fp8"
    GENERAL = "general"
    OTHER = "other"


POLICY_ROLES = frozenset({Role.PARAM, Role.REDUCE, Role.BUFFER, Role.OUTPUT})


class Form(StrEnum):
    """How a setting spells a precision."""

    DTYPE = "dtype"
    STRING = "string"
    FLAG = "flag"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What an origin is: the leaf that a value was made from."""

    DTYPE = "dtype"
    NONE = "none"
    BOOL = "bool"
    STRING = "string"
    NUMBER = "number"
    SETTING = "setting"
    DERIVED = "derived"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Origin:
    """One leaf that a value may come from.

    `text` is a canonical dtype name (`bfloat16`) for a dtype or a string that spells one, else the expression as written;
    `name` and `role` are those of a setting; `spelled` is true for a dtype that is written out where the value is used,
    `means` is the dtype that a module constant holds.
    """

    kind: Kind
    text: str
    location: Location
    name: str = ""
    role: Role | None = None
    form: Form = Form.UNKNOWN
    spelled: bool = False
    means: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression may be: its leaves, and the leaves that chose between them."""

    origins: tuple[Origin, ...]
    chosen_by: tuple[Origin, ...] = ()

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that are written out."""
        return tuple(o.text for o in self.origins if o.kind is Kind.DTYPE)

    @property
    def settings(self) -> tuple[Origin, ...]:
        return tuple(o for o in self.origins if o.kind is Kind.SETTING)

    @property
    def hardcoded(self) -> str | None:
        """The one dtype that the value always is, when nothing else chose it."""
        only = {o.text for o in self.origins if o.kind is Kind.DTYPE}
        if (
            len(only) == 1
            and len(self.origins) == sum(o.kind is Kind.DTYPE for o in self.origins)
            and not self.chosen_by
        ):
            return only.pop()
        return None

    @property
    def is_none(self) -> bool:
        return bool(self.origins) and all(o.kind is Kind.NONE for o in self.origins)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call by the name of its parameter; `span` is that of the value.

    `written` is false for one that comes out of a `**dict` or is assigned after construction: there is no place to edit.
    `speaks` holds the dtypes that a test in it asks for (`use_bf16`, `dtype == torch.float16`); `named` is the name or attribute
    that is converted into it, with the role of that name; `is_test` says that it is a comparison.
    """

    name: str
    text: str
    span: Span
    value: Value
    written: bool = True
    keyword: bool = True
    speaks: frozenset[str] = frozenset()
    named: str = ""
    named_role: Role | None = None
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A place where a user writes a precision, as it is read at a sink.

    `text` is the expression that reads it there, converted to a dtype the way its siblings are (None: no way is known);
    `constants` are the dtypes that it can be, where they are all written down (empty: unknown);
    `hop` counts as DESIGN 4 does; `hops` lead from the declaration to the sink; `used` says that the sink already takes it,
    `tested` that its `enabled` or a test on the way to it asks whether it is set, `dead` that nothing reads it,
    `resolved` that its declaration was found and not only a place that reads it. `stored` are the edits after which `text`
    can be read where a local of another method cannot, `unkept` says why there are none.
    """

    name: str
    role: Role
    form: Form
    text: str | None
    read: str
    declared: Location
    kind: str
    hop: int
    optional: bool = False
    constants: tuple[str, ...] = ()
    hops: tuple[tuple[Location, str], ...] = ()
    used: bool = False
    tested: bool = False
    dead: bool = False
    resolved: bool = True
    stored: tuple[Edit, ...] = ()
    unkept: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """A test that dominates a place: what it looks at, whether it holds there, and the dtypes that it asks for.

    A test of several parts is one condition for each of them that is known; of `a != b`, `holds` says whether they are the same.
    """

    text: str
    holds: bool
    origins: tuple[Origin, ...]
    location: Location
    speaks: frozenset[str] = frozenset()

    @property
    def granted(self) -> frozenset[str]:
        """The dtypes that are asked for and not ruled out."""
        return self.speaks if self.holds else frozenset()


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a keyword argument can be added to a call: the text around it is part of the slot."""

    offset: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a place in its function.

    `dummy` says that the result is multiplied by zero, `old` that only a torch without `dtype` in its autocast gets here;
    `duties` holds what the owners around it do in the targeted versions, `asked` the dtypes that the name of the function
    speaks of; `frozen` says that the function turns gradients off for good.
    """

    function: str
    cls: str
    conditions: tuple[Condition, ...]
    no_grad: bool = False
    trains: bool = False
    inference: str = ""
    comment: str = ""
    owners: tuple[str, ...] = ()
    scaler: Location | None = None
    nested: bool = False
    dummy: bool = False
    old: bool = False
    duties: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    frozen: bool = False

    @property
    def comment_speaks(self) -> frozenset[str]:
        """The 16-bit dtypes that the comment names."""
        words = _WORD.findall(self.comment.lower())
        spelled = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16"}
        return frozenset(spelled[w] for w in words if w in spelled)

    @property
    def dead(self) -> bool:
        """Whether a switch that is never turned on leads here."""
        return any(
            c.origins and all(o.kind is Kind.BOOL and o.text == str(not c.holds) for o in c.origins)
            for c in self.conditions
        )

    @property
    def dispatched(self) -> bool:
        """Whether a test that asks for one 16-bit dtype, or for hardware that has it, picked this place."""
        return any(asks_for_one(c.speaks) for c in self.conditions)

    @property
    def switched(self) -> bool:
        """Whether any test of a precision setting leads here."""
        return self.dispatched or any(c.speaks or o.role is not None for c in self.conditions for o in c.origins)

    @property
    def pure(self) -> bool:
        """Whether a mode with one dtype for everything was asked for, by the name of the function or by a test."""
        return is_pure(self.function) or any(
            c.holds is not c.text.startswith("not ") and is_pure(c.text) for c in self.conditions
        )


def is_pure(text: str) -> bool:
    """Whether a text names a pure mode, which reduces and stores in the dtype that it computes in: `pure_bf16`, `Mode.PURE`."""
    return _PURE.search(text) is not None


def asks_for_one(speaks: frozenset[str]) -> bool:
    """Whether a test is about one 16-bit dtype, or fp8 weights, which need one: asking for both, or whether anything is set, picks none."""
    return len(speaks & LOW_PRECISION) == 1 or "float8" in speaks


@dataclass(frozen=True, slots=True)
class Sink:
    """A call of a library that decides about a dtype.

    `arguments` are by parameter name; `is_open` says that an unknown `*` or `**` may add more; `reach` holds the settings in
    reach, nearest first; `via` says how the call is made (`call`, `partial`, `replace`, `dict`); `lapse` is where the dtype of
    the parameters is set on a path on which the one of the reduction keeps its None.
    """

    api: Call
    span: Span
    callee: str
    arguments: tuple[Argument, ...]
    is_open: bool
    slot: Slot | None
    reach: tuple[Setting, ...]
    around: Around
    via: str = "call"
    entered: bool = False
    applied: bool = True
    location: Location | None = None
    unset: Mapping[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    imports: Imports = field(default_factory=Imports)
    lapse: Location | None = None

    @property
    def is_default(self) -> bool:
        """Whether the call stands in for one that was not given."""
        return "default" in self.extra

    def get(self, name: str) -> Argument | None:
        return next((a for a in self.arguments if a.name == name), None)

    def of(self, role: Role) -> Argument | None:
        """The argument whose dtype is for a role, whatever the library calls it."""
        return next((a for a in self.arguments if self.api.roles.get(a.name) == role), None)

    def falls_back_to(self, name: str) -> str:
        """What a missing field means for the targeted versions: `param_dtype`, `original`, `` when it differs between them."""
        meanings = {row["means"] for row in self.unset.get(name, ())}
        return meanings.pop() if len(meanings) == 1 else "param_dtype" if "param_dtype" in meanings else ""

    def versions(self, name: str) -> str:
        """For which releases a missing field follows `param_dtype`, as the end of a message."""
        rows = [
            row["versions"] for row in self.unset.get(name, ()) if row["means"] == "param_dtype" and row["versions"]
        ]
        return f" ({self.api.library} {rows[0]})" if rows else ""

    def settings(self, *roles: Role) -> tuple[Setting, ...]:
        """The settings of some roles in reach, nearest first, each declaration once."""
        return tuple(s for s in self.reach if s.role in roles)


class Target(StrEnum):
    """What a cast is applied to."""

    LOCAL = "local"
    SUBSCRIPT = "subscript"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    STATE = "state"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast whose result goes nowhere, on something that is a tensor by its evidence.

    `rebinds` is true for `p = p.to(…)` of a loop variable; `after_sharding` names the call that may have sharded the module,
    built the optimizer or run a backward before; `whole` is then the span of a loop that does nothing but this to every
    parameter, with the one cast of the module that does the same.
    """

    span: Span
    target: Target
    receiver: str
    receiver_span: Span
    method: str
    what: str
    evidence: str
    evidence_location: Location
    moves_only: bool = False
    rebinds: bool = False
    read_later: bool = False
    after_sharding: Location | None = None
    after_name: str = ""
    whole: tuple[Span, str] | None = None


@dataclass(frozen=True, slots=True)
class Mutation:
    """An assignment to a field of a policy after it was built."""

    span: Span
    target: str
    name: str
    value: str
    api: Call
    built: Location
    owned: bool
    replace: str = ""
    imports: tuple[Edit, ...] = ()


Fact = TypeVar("Fact")


class Family(Generic[Fact]):
    """One kind of facts of a file: made when a check first reads it, empty where nothing makes it."""

    def __set_name__(self, owner: type[Facts], name: str) -> None:
        self._name = name

    def __get__(self, facts: Facts, owner: type[Facts]) -> tuple[Fact, ...]:
        make = facts.families.get(self._name)
        found = facts.__dict__[self._name] = tuple(make()) if make is not None else ()
        return found


class Facts:
    """Everything that the checks know about one file.

    A family costs nothing until it is read: most rules have nothing to say about most files.
    """

    sinks: Family[Sink] = Family()
    casts: Family[Cast] = Family()
    mutations: Family[Mutation] = Family()
    traces: Family[Trace] = Family()
    keys: Family[ConfigKey] = Family()
    requests: Family[Fp8Request] = Family()
    variables: Family[Variable] = Family()
    recipes: Family[LostRecipe] = Family()
    fallbacks: Family[Fallback] = Family()
    affected: Family[Affected] = Family()
    unread: Family[Unread] = Family()
    omissions: Family[Omission] = Family()
    overwrites: Family[Overwrite] = Family()
    options: Family[Option] = Family()
    presets: Family[Preset] = Family()
    lookups: Family[Lookup] = Family()
    comparisons: Family[Comparison] = Family()
    switches: Family[Switch] = Family()
    mapped: Family[Mapped] = Family()
    missing: Family[Missing] = Family()
    raw: Family[Raw] = Family()
    averages: Family[Average] = Family()
    trained: Family[LowWeights] = Family()
    islands: Family[Island] = Family()
    devices: Family[Location] = Family()
    inert: Family[Inert] = Family()
    leaks: Family[Leak] = Family()
    unmatched: Family[Unmatched] = Family()
    plain_regions: Family[PlainRegion] = Family()
    pins: Family[Sink] = Family()

    def __init__(
        self, path: str, imports: Callable[[], Imports] = Imports, **families: Callable[[], Iterable[object]]
    ) -> None:
        """`imports` and `families` make what they are named after."""
        self.path = path
        self.families: Mapping[str, Callable[[], Iterable[Any]]] = families
        self._imports = imports

    @cached_property
    def imports(self) -> Imports:
        return self._imports()

    def of(self, *kinds: str) -> tuple[Sink, ...]:
        return tuple(s for s in self.sinks if s.api.kind in kinds)
