"""What an edit must leave whole, by the language of the file: it parses, and every comment is still there."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module

from dtypelint.languages import Language, language
from dtypelint.source import Unreadable

_READERS = {Language.YAML: "dtypelint.facts.config.yaml", Language.JSON: "dtypelint.facts.config.json"}
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*")


def damage(path: str, before: str, after: str) -> str:
    """Why one text must not take the place of another; empty when it may."""
    kind = language(path) or Language.PYTHON
    if kind is Language.PYTHON:
        from dtypelint.facts.python.whole import damage as broken

        return broken(before, after)
    if kind is Language.PINS:
        return "files of this kind are not fixed"
    try:
        if kind in _READERS:
            import_module(_READERS[kind]).read(after)
    except Unreadable as error:
        return f"the file would not parse any more: {error.reason}"
    lost = Counter(_COMMENT.findall(before)) - Counter(_COMMENT.findall(after))
    return f"the comment `{next(iter(lost))}` would be lost" if lost and kind is not Language.JSON else ""
