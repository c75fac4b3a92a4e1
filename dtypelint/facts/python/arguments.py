"""Calls that decide about the precision of a whole run: `Accelerator(…)`, its recipes, and `TrainingArguments(…)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dtypelint.facts import Role
from dtypelint.facts.config.commands import FLAGS, LAUNCHED, overriding
from dtypelint.facts.config.environment import Environment
from dtypelint.facts.config.launches import Launches
from dtypelint.facts.config.nodes import Type
from dtypelint.facts.config.verdicts import taken
from dtypelint.facts.configs import ConfigKey, Fate, Fp8Request
from dtypelint.facts.python.module import Module
from dtypelint.facts.python.names import Names
from dtypelint.facts.python.scope import Scope
from dtypelint.facts.python.syntax import passed
from dtypelint.facts.roles import Roles
from dtypelint.facts.targets import Targets
from dtypelint.finding import Edit, Location, Related
from dtypelint.knowledge import Call
from dtypelint.schemas import Reading

ACCELERATOR = "accelerate.Accelerator"
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "no": "float32"}
BESIDE = "goes with a recipe for fp8: a ValueError, or under FSDP and DeepSpeed no fp8 and not a word"
HANDLERS = ("kwargs_handlers", "deepspeed_plugin", "deepspeed_plugins", "fp8_recipe_handler")


class Arguments:
    """Reads those of one module."""

    def __init__(self, module: Module, names: Names, calls: Mapping[str, Call], roles: Roles) -> None:
        self.module = module
        self.names = names
        self.roles = roles
        self.paths = {path for path, call in calls.items() if call.kind == "arguments"}
        self.drops = {name for call in calls.values() for name in call.extra.get("drops", ())}
        self.recipes = {path: call for path, call in calls.items() if call.kind == "fp8_recipe"}

    def overriding(self, launches: Launches) -> Iterator[ConfigKey]:
        """Arguments that win over the fp8 that a config, a launch, the environment or a recipe asks for."""
        literals = [*self._literals()]
        found = [*self._flags(), *((keyword, dtype) for keyword, dtype, _ in literals)]
        asked = [*self._environment(), *launches.of(self.module.path)] if found else []
        if asked:
            for keyword, dtype in found:
                yield self._overriding(keyword, dtype, *asked[0], LAUNCHED)
            return
        for keyword, dtype, recipe in literals:
            if recipe is not None:
                place = Related(self.module.at(recipe), "a recipe for fp8")
                yield self._overriding(keyword, dtype, place, True, BESIDE)

    def _overriding(self, keyword: ast.keyword, dtype: str, asked: Related, sure: bool, why: str) -> ConfigKey:
        value = "False" if keyword.arg in FLAGS else '"fp8"'
        edit = Edit(Location(self.module.path, self.module.tree.span(keyword.value)), value)
        span = self.module.tree.span(keyword)
        return overriding(str(keyword.arg), span, dtype, asked, why=why, sure=sure, repair=(edit,))

    def refused(self, targets: Targets) -> Iterator[ConfigKey]:
        """Values of recipes that are not taken (`takes` in the tables)."""
        if "RecipeKwargs" not in self.module.tree.text:
            return
        for node, _, scope in self.module.calls:
            for path in self.names.paths(node.func, scope):
                if path in self.recipes:
                    yield from self._refused(node, self.recipes[path], targets)

    def _refused(self, node: ast.Call, api: Call, targets: Targets) -> Iterator[ConfigKey]:
        given = {keyword.arg: keyword for keyword in node.keywords}
        rows: Iterable[Mapping[str, Any]] = api.extra.get("takes", ())
        for row in rows:
            keyword, beside = given.get(row["name"]), row.get("beside", "")
            if keyword is None or not isinstance(keyword.value, ast.Constant) or keyword.value.value is None:
                continue
            if (beside and not _is_true(given.get(beside))) or not targets.affects(
                api.library, row.get("versions", "")
            ):
                continue
            reading = Reading(row.get("versions", ""), row["values"], row.get("folds", False))
            said = str(keyword.value.value)
            if reading.takes(said):
                continue
            span = self.module.tree.span(keyword.value)
            yield ConfigKey(
                path=str(keyword.arg),
                span=self.module.tree.span(keyword),
                value=said,
                type=Type.STRING,
                value_span=span,
                fate=Fate.REFUSED_VALUE,
                kind="call",
                why=taken(reading),
                says=f"beside `{beside}`" if beside else f"ValueError when the `{api.name}` is built",
                versions=f"{api.library} {reading.versions}" if reading.versions else "",
                is_fp8=True,
            )

    def dropped(self) -> Iterator[ConfigKey]:
        """Precision keys in a dict of options whose keys are looked up one by one (`drops` in the tables)."""
        if not any(name in self.module.tree.text for name in self.drops):
            return
        for node, _, scope in self.module.calls:
            for keyword in node.keywords:
                if keyword.arg in self.drops and isinstance(keyword.value, ast.Dict) and self._is_one(node.func, scope):
                    for key in keyword.value.keys:
                        if isinstance(key, ast.Constant) and self._speaks(str(key.value)):
                            yield self._dropped(f"{keyword.arg}.{key.value!s}", key)

    def _speaks(self, name: str) -> bool:
        return self.roles.role(name) not in (None, Role.OTHER)

    def _dropped(self, path: str, key: ast.Constant) -> ConfigKey:
        span = self.module.tree.span(key)
        return ConfigKey(
            path=path,
            span=span,
            value="",
            type=Type.UNKNOWN,
            value_span=span,
            fate=Fate.UNREAD,
            kind="arguments",
            why="is read by nothing",
            is_fp8=self.roles.role(str(key.value)) is Role.FP8,
        )

    def requests(self, environment: Environment) -> Iterator[Fp8Request]:
        """An `Accelerator(mixed_precision="fp8")` that is given no recipe; only there to be pinned."""
        for node, _ in self._calls(ACCELERATOR):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if None in given or any(name in given for name in HANDLERS) or len(node.args) > 2:
                continue
            match given.get("mixed_precision"):
                case ast.Constant(value="fp8") as value:
                    for answers in environment.in_python():
                        yield Fp8Request(self.module.tree.span(value), "call", "", answers, ())

    def _flags(self) -> Iterator[tuple[ast.keyword, str]]:
        """`bf16=True` and `fp16=True` of arguments objects, subclasses of the project included."""
        if not any(flag in self.module.tree.text for flag in FLAGS):
            return
        for node, _, scope in self.module.calls:
            on = [
                k
                for k in node.keywords
                if k.arg in FLAGS and isinstance(k.value, ast.Constant) and k.value.value is True
            ]
            if on and self._is_one(node.func, scope):
                yield from ((keyword, FLAGS[str(keyword.arg)]) for keyword in on)

    @property
    def are_filled(self) -> bool:
        """Whether the module names a class of such arguments, to build one or to hand it to a parser."""
        nodes = ((node, scope) for node, _, scope in self.module.expressions())
        return any(isinstance(n, ast.Name | ast.Attribute) and self._is_one(n, scope) for n, scope in nodes)

    def _is_one(self, node: ast.expr, scope: Scope) -> bool:
        for symbol in self.names.symbols(node, scope):
            if isinstance(symbol, Scope):
                if symbol.is_class and self.paths.intersection(self.names.bases(symbol)):
                    return True
            elif symbol.path in self.paths:
                return True
        return False

    def _literals(self) -> Iterator[tuple[ast.keyword, str, ast.Call | None]]:
        """A precision that is written out in `Accelerator(mixed_precision=…)`, with the recipe for fp8 that is passed too."""
        for node, scope in self._calls(ACCELERATOR):
            for keyword in node.keywords:
                if keyword.arg == "mixed_precision" and isinstance(keyword.value, ast.Constant):
                    if keyword.value.value in DTYPES:
                        yield keyword, DTYPES[keyword.value.value], self._recipe(node, scope)

    def _recipe(self, node: ast.Call, scope: Scope) -> ast.Call | None:
        """A recipe among the handlers of an `Accelerator`."""
        handlers = passed(node, "kwargs_handlers")
        for item in handlers.elts if isinstance(handlers, ast.List | ast.Tuple) else ():
            bindings = self.names.bindings(item, scope) if isinstance(item, ast.Name) else ()
            made = bindings[0].value if len(bindings) == 1 else item
            if isinstance(made, ast.Call) and not self.recipes.keys().isdisjoint(self.names.paths(made.func, scope)):
                return made
        return None

    def _environment(self) -> Iterator[tuple[Related, bool]]:
        """`os.environ["ACCELERATE_MIXED_PRECISION"] = "fp8"` in the module itself."""
        if "ACCELERATE_MIXED_PRECISION" not in self.module.tree.text:
            return
        for stmt, _ in self.module.statements():
            match stmt:
                case ast.Assign(
                    targets=[ast.Subscript(slice=ast.Constant(value="ACCELERATE_MIXED_PRECISION"))],
                    value=ast.Constant(value="fp8"),
                ):
                    yield Related(self.module.at(stmt), "the environment asks for fp8 here"), True

    def _calls(self, path: str) -> Iterator[tuple[ast.Call, Scope]]:
        if path.rpartition(".")[2] in self.module.tree.text:
            for node, _, scope in self.module.calls:
                if path in self.names.paths(node.func, scope):
                    yield node, scope


def _is_true(keyword: ast.keyword | None) -> bool:
    return keyword is not None and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
