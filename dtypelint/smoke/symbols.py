"""The values of the evaluator: plain Python data, dtypes as symbols, and knobs for what the code does not decide."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from dtypelint.knowledge import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dtypelint.facts.python.scope import Scope


class Missing(Enum):
    """The default of a knob that has none."""

    VALUE = "no default"


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype by its canonical name: `torch.half` is `float16`."""

    name: str


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting: `path` is the expression that reads it, `via` the opaque converter that it went through."""

    path: str
    default: Any = field(default=Missing.VALUE, compare=False)
    via: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Truthy:
    """What is known of a knob that was only tested for truth."""


@dataclass(frozen=True, slots=True)
class Other:
    """What is known of a knob that differs from all that it was compared with."""

    excluded: frozenset[Any]


@dataclass(frozen=True, slots=True)
class Library:
    """A symbol by its dotted name, of a library or of the project: a module, a class, the member of an enum."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A function of the project or a lambda, with the values that it can see."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    env: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method of a known value."""

    owner: Any
    name: str


@dataclass(slots=True, eq=False)
class Built:
    """What a known constructor was given, by the names of its parameters; `frozen` ones refuse assignments."""

    call: Call
    fields: dict[str, Any]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The function that is evaluated: the values of its names, and the frame around it."""

    scope: Scope
    env: dict[str, Any]
    around: Frame | None = None

    def find(self, name: str) -> Any:
        """The value of a local name, of this function or one around it; LookupError where there is none."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame.env[name]
            frame = frame.around
        raise LookupError(name)


def anything(name: str) -> Call:
    """A call that no table knows: its keywords are all that is known of it."""
    return Call("", "call", name, "", (), (), (), {}, False, {})


class Need(Exception):
    """The value of a knob decides: one of these has to be chosen for it."""

    def __init__(self, path: str, choices: Iterable[Any]) -> None:
        super().__init__(path)
        self.path = path
        self.choices = tuple(choices)


class Unknown(Exception):
    """The expression cannot be evaluated without running it."""


class Refused(Unknown):
    """Under the values that were chosen the user's code raises, or does not get to the goal."""


class Crash(Exception):
    """The user's code raises here."""


DTYPES = (Dtype("bfloat16"), Dtype("float16"), Dtype("float32"))
SHORT = {"half": "float16", "float": "float32", "double": "float64", "long": "int64", "int": "int32", "short": "int16"}
TORCH_DTYPES = frozenset(
    {
        *("bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"),
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "complex64", "complex128"),
    }
)


def torch_dtype(name: str) -> Dtype | None:
    """The dtype that an attribute of torch is."""
    name = SHORT.get(name, name)
    return Dtype(name) if name in TORCH_DTYPES else None


def shown(value: Any) -> str:
    """A value as evidence prints it."""
    match value:
        case Dtype(name):
            return name
        case Knob(path):
            return f"`{path}`"
        case Truthy():
            return "set"
        case Other(excluded):
            return "none of " + ", ".join(sorted(map(shown, excluded)))
        case Library(path):
            return path
        case str():
            return repr(value)
    return str(value)
