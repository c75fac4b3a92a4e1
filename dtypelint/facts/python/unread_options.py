"""Command-line options about a precision that nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from dtypelint.facts.arrivals import Declaration, Proof, Unread
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import External, Names
from dtypelint.facts.python.options import destination, options_of
from dtypelint.facts.python.reads import Reads, Use
from dtypelint.facts.python.syntax import last_name
from dtypelint.facts.python.trace import Tracer
from dtypelint.facts.python.unread import HEARERS, is_precision


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
        uses = {name: self._uses(name) for name in options}
        unread = [name for name in options if is_precision(name, self.tracer.roles) and next(uses[name], None) is None]
        if not unread:
            return
        holders = {last_name(use.base) for several in uses.values() for use in several if use.base is not None} - {""}
        if holders and not any(self._goes_on(module, holders) for module in self._near()):
            for name in unread:
                span = self.module.tree.span(options[name])
                yield Unread(name, Declaration.OPTION, span, "the parser", Proof.READERS)

    def _uses(self, name: str) -> Iterator[Use]:
        """The reads of a name beside the declarations of options, which spell it too."""
        for use in self.reads.of(name, self.module):
            if id(use.node) not in self._declaring and not self._is_own(use.module, name):
                yield use

    @cached_property
    def _declaring(self) -> frozenset[int]:
        return frozenset(id(part) for node in options_of(self.module) for part in ast.walk(node))

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
            if not callees or any(isinstance(c, External) and not c.path.startswith(HEARERS) for c in callees):
                return True
        return False
