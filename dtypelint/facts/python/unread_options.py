"""Command-line options about a precision that nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dtypelint.facts.arrivals import Declaration, Proof, Unread
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.options import destination, options_of
from dtypelint.facts.python.reads import Reads, Use
from dtypelint.facts.python.syntax import last_name
from dtypelint.facts.python.trace import Tracer

# whoever gets the whole namespace and only shows or copies it does not read an option
_HEARERS = {
    "print",
    "pprint",
    "info",
    "debug",
    "warning",
    "log",
    "deepcopy",
    "copy",
    "isinstance",
    "repr",
    "str",
    "sorted",
}


class UnreadOptions:
    """Finds them in one module.

    An option counts as read wherever an attribute, key or string of its name is read below the root, and wherever the
    namespace may be read whole. That the project reads the namespace at all is proved by another option of the same parser.
    """

    def __init__(self, module: Module, names: Names, tracer: Tracer, reads: Reads) -> None:
        self.module = module
        self.names = names
        self.tracer = tracer
        self.reads = reads

    def find(self) -> Iterator[Unread]:
        if b"add_argument" not in self.module.tree.data:
            return
        options = {destination(node): node for node in options_of(self.module)}
        unread = [name for name in options if self._named(name) and next(self._uses(name), None) is None]
        if not unread:
            return
        holders = {last_name(use.base) for name in options for use in self._uses(name) if use.base is not None} - {""}
        if holders and not any(self._goes_on(module, holders) for module in self._near()):
            for name in unread:
                span = self.module.tree.span(options[name])
                yield Unread(name, Declaration.OPTION, span, "the parser", Proof.READERS)

    def _named(self, name: str) -> bool:
        return bool(self.tracer.roles.role(name) or self.tracer.roles.flag(name))

    def _uses(self, name: str) -> Iterator[Use]:
        options = {id(each) for node in options_of(self.module) for each in ast.walk(node)}
        for use in self.reads.of(name, self.module):
            if id(use.node) not in options and not self._is_own(use.module, name):
                yield use

    def _is_own(self, module: Module, name: str) -> bool:
        """Whether another script has an option of this name itself and nothing to do with this one."""
        if module is self.module or not any(options_of(module, name)):
            return False
        stems = self.module.name.rpartition(".")[2], module.name.rpartition(".")[2]
        return stems[0] not in module.tree.text and stems[1] not in self.module.tree.text

    def _near(self) -> Iterator[Module]:
        """The modules that may hold the namespace: this one, and those that it imports or that mention it."""
        yield self.module
        stem = self.module.name.rpartition(".")[2]
        yield from (each for each in self.names.modules.mentioning(stem) if each is not self.module)
        for bindings in self.module.bindings.values():
            for binding in bindings:
                for symbol in self.names.bound_to(binding) if binding.target else ():
                    if not isinstance(symbol, External) and symbol.module is not self.module:
                        yield symbol.module

    def _goes_on(self, module: Module, holders: set[str]) -> bool:
        """Whether a module reads a namespace whole, or hands it to something that is not known."""
        if any(last_name(whole) in holders for whole, _ in self.reads.dumps(module)):
            return True
        for call, _, scope in module.calls:
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if not any(isinstance(each, ast.Name | ast.Attribute) and last_name(each) in holders for each in given):
                continue
            callees = self.names.callees(call.func, scope)
            known = callees and not any(isinstance(callee, External) for callee in callees)
            if not known and last_name(call.func) not in _HEARERS:
                return True
        return False
