"""Filters of fp8 conversions held against the model that they are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

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


class Unmatches:
    """Finds the names in the filters of one module that no module of their model has."""

    def __init__(self, module: Module, names: Names, calls: Mapping[str, Call]) -> None:
        self.module = module
        self.names = names
        self.calls = {path: api for path, api in calls.items() if "filter" in api.extra or "excludes" in api.extra}
        self.models = Models(names, calls)
        self.filters = Filters(names)

    def find(self) -> Iterator[Unmatched]:
        options = {api.extra.get("filter") or api.extra.get("excludes") for api in self.calls.values()}
        for node, stmt, scope in self.module.calls:
            if any(keyword.arg in options for keyword in node.keywords):
                api = next((self.calls[p] for p in self.names.paths(node.func, scope) if p in self.calls), None)
                if api is not None:
                    yield from self._filtered((node, stmt, scope, api))

    def _filtered(self, place: Place) -> Iterator[Unmatched]:
        node, _, scope, api = place
        given = passed(node, api.extra.get("filter") or api.extra.get("excludes", ""))
        if given is None:
            return
        if "filter" in api.extra:
            questions = list(self.filters.questions(given, scope))
            model, words = self._converted(place)
        else:
            entries = self.filters.entries(given, scope, {}, beside=True)
            questions = [Question("contains", entries, True)] if entries else []
            model, words = self._registered(place)
        if words is None or words.opaque:
            return
        kept = tuple(api.extra.get("words", ()))
        asked = [(q, e) for q in questions for e in q.entries if _is_name(e.name) and e.name not in kept]
        lost = [(q, e) for q, e in asked if not words.has(e.name, q.how)]
        shared = [e for _, e in asked if not e.beside]
        idle = all(e in {e for _, e in lost} for e in shared)
        for question, entry in lost:
            if entry.beside or idle:
                yield self._made(question, entry, given, model)

    def _made(self, question: Question, entry: Entry, given: ast.expr, model: str) -> Unmatched:
        at = entry.scope.module.at(entry.node)
        here = entry.scope.module is self.module
        span: Span = at.span if here else self.module.tree.span(given)
        used = self.module.at(given)
        inside = used.span.start <= span.start <= span.end <= used.span.end
        related = Related(used, "the filter of the conversion") if here else Related(at, "written here")
        return Unmatched(span, entry.name, model, question.keeps_out, () if here and inside else (related,))

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


def _name(made: Made) -> str:
    call, scope = made
    return f"`{scope.name if call is None else ast.unparse(call.func)}`"


def _is_name(text: str) -> bool:
    """Whether a text is a name of a module, and no pattern."""
    return bool(text.strip(".")) and text.replace(".", "").isidentifier()
