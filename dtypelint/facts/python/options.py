"""The command-line options of a module that say something about a precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts import Argument, Role
from dtypelint.facts.given import Option
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Bound, Scope
from dtypelint.facts.python.trace import Tracer

_NEGATIONS = ("no_", "disable_", "without_", "skip_", "not_")
# switches of mixed precision whose names hold no dtype
_SWITCHES = frozenset({"amp", "use_amp", "enable_amp", "mixed_precision", "use_mixed_precision", "autocast", "tf32"})


class Options:
    """Finds the options of one module."""

    def __init__(self, module: Module, names: Names, tracer: Tracer) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer

    def find(self) -> Iterator[Option]:
        if b"add_argument" not in self.module.tree.data:
            return
        adds = [(node, scope) for node, _, scope in self.module.calls if _is(node, "add_argument")]
        later = {k.arg for node, _, _ in self.module.calls if _is(node, "set_defaults") for k in node.keywords}
        dests = [destination(node) for node, _ in adds]
        for index, (node, scope) in enumerate(adds):
            role = self._role(dests[index])
            if role is not None:
                others = [d for i, d in enumerate(dests) if i != index]
                yield self._option(node, scope, role, others, bool({dests[index], None} & later))

    def _role(self, name: str) -> Role | None:
        bare = name
        for word in _NEGATIONS:
            bare = bare.removeprefix(word)
        if self.tracer.roles.flag(bare) or bare in _SWITCHES:
            return Role.GENERAL
        return self.tracer.roles.role(bare)

    def _option(self, node: ast.Call, scope: Scope, role: Role, others: list[str], later: bool) -> Option:
        source, span = self.module.tree.source, self.module.tree.span
        arguments = tuple(
            Argument(k.arg, source(k.value), span(k), self.tracer.value(k.value, scope)) for k in node.keywords if k.arg
        )
        name = destination(node)
        return Option(
            flags=tuple(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)),
            dest=name,
            location=self.module.at(node),
            arguments=arguments,
            role=role,
            rivals=tuple(o for o in others if o == name),
            set_later=later or any(k.arg is None for k in node.keywords),
            argparse=self._argparse(),
        )

    def _argparse(self) -> str:
        for name, bindings in self.module.bindings.items():
            if any(b.kind is Bound.IMPORT and b.target == "argparse" for b in bindings):
                return name
        return ""


def _is(node: ast.Call, method: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == method


def options_of(module: Module, attr: str = "") -> Iterator[ast.Call]:
    """The calls that add an option to a parser; only those that are stored in some attribute, where it is given."""
    for node, _, _ in module.calls:
        if _is(node, "add_argument") and (not attr or destination(node) == attr):
            yield node


def destination(node: ast.Call) -> str:
    """The attribute that an option is stored in."""
    for keyword in node.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    spelled = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = next((s for s in spelled if s.startswith("--")), spelled[0] if spelled else "")
    return long.lstrip("-").replace("-", "_")


def parses(node: ast.expr | None) -> bool:
    """Whether an expression parses a command line."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("parse_args", "parse_known_args")
    )
