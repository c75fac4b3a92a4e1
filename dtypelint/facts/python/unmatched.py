"""Filters of fp8 conversions held against the model that they are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dtypelint.facts.modules import Unmatched
from dtypelint.facts.python.architecture import Architecture
from dtypelint.facts.python.filters import Entry, Filters, Question
from dtypelint.facts.python.models import Made, Models
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Function, Scope
from dtypelint.facts.python.syntax import argument, last_name, passed
from dtypelint.finding import Related, Span
from dtypelint.knowledge import Call

Place = tuple[ast.Call, ast.stmt, Scope, Call]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """Whether a model has a name of the filter that is given for it; `filter` asks for it."""

    entry: Entry
    fits: bool
    given: ast.expr
    keeps_out: bool | None
    model: str
    filter: ast.AST


class Unmatches:
    """Finds the names in the filters of one module that no module of their model has."""

    def __init__(self, module: Module, names: Names, calls: Mapping[str, Call]) -> None:
        self.module = module
        self.names = names
        self.calls = {path: api for path, api in calls.items() if "filter" in api.extra or "excludes" in api.extra}
        self.models = Models(names, calls)
        self.filters = Filters(names)

    def find(self) -> Iterator[Unmatched]:
        answers = [answer for place in self._places() for answer in self._answers(place)]
        fits = {answer.entry.node for answer in answers if answer.fits}
        used = {answer.filter for answer in answers if answer.fits and not answer.entry.beside}
        told: set[ast.AST] = set()
        for answer in answers:
            node = answer.entry.node
            # a list that is kept for several models may hold names of any of them
            kept = not answer.entry.beside and (answer.filter in used or self._is_shared(answer.entry))
            if node not in fits and node not in told and not kept:
                told.add(node)
                yield self._made(answer)

    def _places(self) -> Iterator[Place]:
        options = {_option(api) for api in self.calls.values()}
        for node, stmt, scope in self.module.calls:
            if any(keyword.arg in options for keyword in node.keywords):
                api = next((self.calls[p] for p in self.names.paths(node.func, scope) if p in self.calls), None)
                if api is not None:
                    yield node, stmt, scope, api

    def _answers(self, place: Place) -> Iterator[_Answer]:
        """What the model says to the names in its filter; what cannot be seen of it may fit them all."""
        node, _, scope, api = place
        given = passed(node, _option(api))
        if given is None:
            return
        if "filter" in api.extra:
            questions = list(self.filters.questions(given, scope))
            model, words = self._converted(place)
        else:
            entries = self.filters.entries(given, scope, {}, beside=True)
            questions = [Question(node, "contains", entries, True)] if entries else []
            model, words = self._registered(place)
        known = tuple(api.extra.get("words", ()))
        for question in questions:
            for entry in question.entries:
                if _is_name(entry.name) and entry.name not in known:
                    fits = words is None or words.opaque or words.has(entry.name, question.how)
                    yield _Answer(entry, fits, given, question.keeps_out, model, question.filter)

    def _is_shared(self, entry: Entry) -> bool:
        """Whether other modules, with models of their own, may use a list of another module."""
        if entry.scope.module is self.module:
            return False
        options = {_option(api) for api in self.calls.values()}
        return any(set(self.names.modules.files_with(each)) - {self.module.path} for each in options)

    def _made(self, answer: _Answer) -> Unmatched:
        entry, given = answer.entry, answer.given
        at = entry.scope.module.at(entry.node)
        here = entry.scope.module is self.module
        span: Span = at.span if here else self.module.tree.span(given)
        used = self.module.at(given)
        inside = used.span.start <= span.start <= span.end <= used.span.end
        related = Related(used, "the filter of the conversion") if here else Related(at, "written here")
        return Unmatched(span, entry.name, answer.model, answer.keeps_out, () if here and inside else (related,))

    # the model

    def _converted(self, place: Place) -> tuple[str, Architecture | None]:
        """The model that a conversion is given, or that the accelerator of its recipe prepares."""
        node, _, scope, api = place
        module = api.extra.get("module")
        first = argument(node, module, api.parameters) if module else None
        made = self.models.made(first, scope) if first is not None else () if module else self._prepared(scope)
        if not made:
            return "", None
        words = Architecture(self.names)
        for each in made:
            words.add(each)
            words.words |= each[1].module.stored
        words.words |= self.module.stored
        return _name(made[0]), words

    def _prepared(self, scope: Scope) -> tuple[Made, ...]:
        found: list[Made] = []
        for node, _, where in self.module.calls:
            if where is scope and isinstance(node.func, ast.Attribute) and node.func.attr == "prepare":
                for each in node.args:
                    made = self.models.made(each, scope)
                    if not made and not self._is_beside(each, scope):
                        return ()
                    found += made
        return tuple(found)

    def _is_beside(self, node: ast.expr, scope: Scope) -> bool:
        """Whether something is an optimizer, a schedule or a loader."""
        bindings = self.names.bindings(node, scope) if isinstance(node, ast.Name) else ()
        calls = [b.value for b in bindings if isinstance(b.value, ast.Call)]
        paths = [path for call in calls for path in self.names.paths(call.func, scope)]
        return bool(paths) and all(path.startswith(("torch.optim.", "torch.utils.")) for path in paths)

    def _registered(self, place: Place) -> tuple[str, Architecture | None]:
        """What the function builds that a list of converters is handed to."""
        node, stmt, scope, _ = place
        for outer in ast.walk(stmt):
            if isinstance(outer, ast.Call) and outer is not node and node in set(ast.walk(outer)):
                for symbol in self.names.symbols(outer.func, scope):
                    if isinstance(symbol, Scope) and isinstance(symbol.node, Function):
                        words = Architecture(self.names, inside=True)
                        words.add((outer, scope))
                        return f"what `{last_name(outer.func)}` builds", words
        return "", None


def _option(api: Call) -> str:
    """The argument with the filter, or with the names that are kept out."""
    return str(api.extra.get("filter") or api.extra.get("excludes", ""))


def _name(made: Made) -> str:
    call, scope = made
    return f"`{scope.name if call is None else ast.unparse(call.func)}`"


def _is_name(text: str) -> bool:
    """Whether a text is a name of a module, and no pattern."""
    return bool(text.strip(".")) and text.replace(".", "").isidentifier()
