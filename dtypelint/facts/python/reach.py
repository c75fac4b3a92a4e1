"""The settings that a sink could have used, nearest first (DESIGN 4)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from dtypelint.facts import Form, Kind, Role, Setting
from dtypelint.facts.python.callers import Callers
from dtypelint.facts.python.flow import flow
from dtypelint.facts.python.held import Held
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.options import destination, options_of, parses
from dtypelint.facts.python.readable import Read, Readable, at, last
from dtypelint.facts.python.scope import Binding, Bound, Scope
from dtypelint.facts.python.trace import Leaf, Tracer

_COMPUTE = (Role.AUTOCAST, Role.PARAM, Role.GENERAL)


class Reach:
    """Collects settings for sinks of one project; what does not depend on the sink is kept."""

    def __init__(self, names: Names, tracer: Tracer) -> None:
        self.names = names
        self.tracer = tracer
        self.readable = Readable(names, tracer)
        self.callers = Callers(names)
        self.held = Held(names, tracer, self.readable)
        self._kept: dict[tuple[str, Scope, str], tuple[Setting, ...]] = {}

    def at(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> tuple[Setting, ...]:
        """The settings in reach of a statement; `fed` are the leaves that its sink takes already, `names` what it names."""
        texts = {leaf.scope.module.tree.source(leaf.node) for leaf in fed if leaf.kind is Kind.SETTING}
        found: dict[str, Setting] = {}
        for setting in self._all(stmt, scope, fed, names):
            key = f"{setting.read} {setting.hop}" if setting.hop == 5 else setting.read
            known = found.get(key)
            if known is None or setting.hop < known.hop:
                found[key] = replace(setting, used=setting.read in texts or setting.read in names)
        if not any(s.role in _COMPUTE for s in found.values()):
            found.update((s.read, s) for s in self.held.sisters(scope))
        return tuple(sorted(found.values(), key=lambda s: s.hop))

    def _all(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> Iterator[Setting]:
        for setting in self._plain(stmt, scope, fed, names):
            text = self._convert(setting, fed) if setting.text is not None else None
            yield replace(setting, text=text)

    def _plain(self, stmt: ast.stmt, scope: Scope, fed: tuple[Leaf, ...], names: frozenset[str]) -> Iterator[Setting]:
        yield from self._visible(stmt, scope, names)
        yield from self._siblings(fed)
        cls = scope.owner
        if cls is not None and scope.is_function:
            me = self.held.self_name(scope)
            if me:
                yield from self._keep("own", cls, me, lambda: self.held.own(cls, me))
                yield from self._keep("configs", cls, me, lambda: self.held.configs(cls, me))
                yield from self._keep("elsewhere", scope, "", lambda: self.held.elsewhere(cls, scope))
        yield from self._objects(stmt, scope)
        top = scope.module.scope
        yield from self._keep("constants", top, "", lambda: self._constants(scope))

    def _keep(self, what: str, scope: Scope, me: str, make: Callable[[], Iterator[Setting]]) -> tuple[Setting, ...]:
        """What does not depend on the statement is collected once."""
        key = (what, scope, me)
        if key not in self._kept:
            self._kept[key] = tuple(make())
        return self._kept[key]

    def _visible(self, stmt: ast.stmt, scope: Scope, names: frozenset[str]) -> Iterator[Setting]:
        if scope.is_function:
            state = flow(scope).before.get(stmt, {})
            for name, bindings in state.items():
                bound = tuple(b for b in bindings if b.kind is not Bound.UNBOUND)
                if len(bound) < len(bindings) and not any(
                    _assigned_together(bound, state.get(sibling, ())) for sibling in names - {name}
                ):
                    continue
                yield from self.readable.named(name, bound, 1)
        for outer in scope.enclosing():
            if outer.is_function:
                for name, several in flow(outer).bindings.items():
                    yield from self.readable.named(name, tuple(several), 1)

    def _siblings(self, fed: tuple[Leaf, ...]) -> Iterator[Setting]:
        for leaf in fed:
            if leaf.base is None or leaf.kind is not Kind.SETTING:
                continue
            base = leaf.scope.module.tree.source(leaf.base)
            for cls in self.callers.classes(leaf.base, leaf.scope):
                for name, fields in self.names.all_fields(cls).items():
                    yield from self.readable.field(name, fields, base, cls, 2, leaf)
            if self._is_namespace(leaf.base, leaf.scope):
                yield from self._options(leaf.scope.module, base, 2, leaf)
            yield from self._entries(leaf, base)
            for text, node, where in self._observed(base, leaf.scope):
                name = last(node)
                role = self.readable.role(name, last(leaf.base))
                if role is not None:
                    yield Setting(
                        name,
                        role,
                        leaf.form,
                        self.readable.swap(leaf, text),
                        text,
                        where.module.at(node),
                        f"read from `{base}`",
                        2,
                    )

    def _entries(self, leaf: Leaf, base: str) -> Iterator[Setting]:
        """The entries of the dict that is written out and that a setting is read from."""
        table = self.tracer.literal_table(leaf.base, leaf.scope) if leaf.base is not None else None
        for key, value in zip(table.keys, table.values, strict=True) if table is not None else ():
            name = key.value if isinstance(key, ast.Constant) else None
            role = self.readable.role(name, base) if isinstance(name, str) else None
            if isinstance(name, str) and role is not None:
                text = f'{base}["{name}"]'
                form = self.readable.form(name, None, value)
                place = leaf.scope.module.at(value)
                yield Setting(name, role, form, self.readable.swap(leaf, text), text, place, f"entry of `{base}`", 2)

    def _is_namespace(self, node: ast.expr, scope: Scope) -> bool:
        """Whether an expression holds what a parser of this module returned."""
        if not isinstance(node, ast.Name):
            return False
        return any(parses(b.value) for b in self.names.bindings(node, scope))

    def _options(self, module: Module, base: str, hop: int, leaf: Leaf | None) -> Iterator[Setting]:
        """The command-line options of a module as attributes of the parsed namespace."""
        for call in options_of(module):
            name = destination(call)
            role = self.readable.role(name) if name else None
            if role is None:
                continue
            given = {k.arg: k.value for k in call.keywords}
            form = Form.FLAG if "action" in given else self.readable.form(name, None, given.get("default"))
            if form is Form.UNKNOWN and "type" not in given:
                form = Form.STRING
            text = f"{base}.{name}"
            swapped = self.readable.swap(leaf, text) if leaf is not None else text
            listed = given.get("choices")
            spelled = (e.value for e in getattr(listed, "elts", ()) if isinstance(e, ast.Constant))
            choices = tuple(d for each in spelled if (d := self.tracer.roles.dtype(str(each))) is not None)
            place = module.at(call)
            yield Setting(name, role, form, swapped, text, place, "command-line option", hop, constants=choices)

    def _observed(self, base: str, scope: Scope) -> Iterator[Read]:
        """What else is read from an object of unknown class, in this function or class."""
        for holder in (scope, *(c for c in [scope.owner] if c is not None)):
            yield from self.readable.reads(holder).get(base, ())

    def _objects(self, stmt: ast.stmt, scope: Scope) -> Iterator[Setting]:
        """Fields behind a parameter or local that is an instance of a project class, or that is read as a config."""
        places: list[tuple[str, tuple[Binding, ...]]] = []
        if scope.is_function:
            places += [
                (n, b)
                for n, b in flow(scope).before.get(stmt, {}).items()
                if all(x.kind is not Bound.UNBOUND for x in b)
            ]
        for outer in scope.enclosing():
            if outer.is_function:
                places += [(n, tuple(b)) for n, b in flow(outer).bindings.items()]
        for name, bindings in places:
            if name in ("self", "cls"):
                continue
            if any(parses(b.value) for b in bindings):
                yield from self._options(scope.module, name, 4, None)
            for cls in dict.fromkeys(c for b in bindings for c in self.names.instances(b, 0)):
                yield from self.readable.fields_of(cls, name, 4, set())
        around = [s for s in scope.enclosing() if s.is_function]
        beside = [s for s in scope.module.functions() if around and around[-1] in s.enclosing() and s is not scope]
        for holder in (*([scope] if scope.is_function else []), *around, *(s for s in beside if s not in around)):
            for text, reads in self.readable.reads(holder).items():
                head = text.partition(".")[0].partition("[")[0]
                if head not in {n for n, _ in places} or head in ("self", "cls"):
                    continue
                for read, node, where in reads:
                    role = self.readable.role(last(node), text.rpartition(".")[2])
                    if role is not None:
                        kind = f"read from `{text}`"
                        shadowed = holder is not scope and scope.is_function and head in flow(scope).bindings
                        written = None if shadowed else read
                        yield self.readable.seen(node, role, read, written, where.module.at(node), kind)

    def _constants(self, scope: Scope) -> Iterator[Setting]:
        module: Module = scope.module
        for name, bindings in module.bindings.items():
            role = self.readable.role(name)
            if role is None:
                continue
            first = bindings[0]
            if first.kind is Bound.ASSIGN and first.value is not None and not first.path:
                traced = self.tracer.trace(first.value, first.scope)
                if traced.leaves and all(leaf.kind in (Kind.DTYPE, Kind.SETTING, Kind.BOOL) for leaf in traced.leaves):
                    form = self.readable.form(name, first.annotation, first.value)
                    only = {leaf.text for leaf in traced.leaves if leaf.kind is Kind.DTYPE}
                    constants = tuple(only) if len(only) == len(traced.leaves) == 1 else ()
                    yield Setting(name, role, form, name, name, at(first), "module constant", 6, constants=constants)

    def _convert(self, setting: Setting, fed: tuple[Leaf, ...]) -> str | None:
        """The setting as a dtype: converted the way a sibling of the same form is."""
        text = setting.text
        if text is None or setting.form is Form.DTYPE or text != setting.read:
            return text
        for leaf in fed:
            if leaf.kind is Kind.SETTING and leaf.role is not None and leaf.form is not Form.FLAG:
                swapped = self.readable.swap(leaf, text)
                if swapped is not None:
                    return swapped
        if setting.form in (Form.STRING, Form.FLAG):
            return None
        return text


def _assigned_together(some: tuple[Binding, ...], others: tuple[Binding, ...]) -> bool:
    """Whether two names that not every path assigns are assigned in the same branches."""
    return bool(some) and _branches(some) == _branches(others)


def _branches(bindings: tuple[Binding, ...]) -> set[tuple[tuple[ast.expr, bool], ...]]:
    contexts = (flow(b.scope).context.get(b.node) for b in bindings if isinstance(b.node, ast.stmt))
    return {tuple((g.test, g.holds) for g in c.guards) for c in contexts if c is not None}
