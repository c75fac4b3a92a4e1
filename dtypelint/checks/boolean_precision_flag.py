"""DTL602: see `rules/boolean-precision-flag.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Argument, Facts
from dtypelint.facts.given import Option
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Safety

_ALLOWED = frozenset({"type", "action", "default", "help", "dest", "required"})


def check(facts: Facts) -> Iterator[Hit]:
    for option in facts.options:
        flag = option.flags[0] if option.flags else option.dest
        kind, action, default = option.get("type"), option.get("action"), option.get("default")
        if kind is not None and kind.text == "bool":
            yield _hit(option, kind, f"`{flag} False` is true: `bool` of any text but the empty one is")
        elif action is not None and default is not None and not option.rivals and not option.set_later:
            stores = action.text.strip("'\"")
            if (stores, default.text) == ("store_true", "True"):
                yield _hit(option, action, f"`{flag}` is true with and without the flag: nothing turns it off")
            elif (stores, default.text) == ("store_false", "False"):
                yield _hit(option, action, f"`{flag}` is false with and without the flag: nothing turns it on")


def _hit(option: Option, argument: Argument, message: str) -> Hit:
    fix = None
    withheld = None
    others = sorted({a.name for a in option.arguments} - _ALLOWED)
    if not option.argparse:
        withheld = "this file does not import argparse, so the parser may be another's"
    elif others or argument.text in ("'store_false'", '"store_false"'):
        withheld = f"`BooleanOptionalAction` takes no `{others[0]}`" if others else "give it the default True"
    else:
        text = f"action={option.argparse}.BooleanOptionalAction"
        edit = Edit(Location(option.location.path, argument.span), text)
        fix = Fix("take `--flag` and `--no-flag`; `--flag True` is refused", Safety.UNSAFE, (edit,))
    return Hit(option.location.span, message, Confidence.HIGH, fix=fix, withheld=withheld)
