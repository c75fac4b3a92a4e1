"""What the leaves of a document say."""

from __future__ import annotations

from dtypelint.facts.config.nodes import Entry, Mapping, Scalar, Type

MISSING = "-"


def backend_of(document: Mapping) -> str | None:
    """The fp8 backend that a document names; empty where it names none, None where it is no plain value."""
    values = (value_of(document, "fp8_config", name) for name in ("backend", "fp8_backend"))
    return next((value for value in values if value not in (MISSING, "NO")), "")


def value_of(document: Mapping, *names: str) -> str | None:
    """The text of a leaf; `-` where its key is missing, None where it is no plain value."""
    entry = entry_at(document, names)
    if entry is None:
        return MISSING
    value = entry.value
    if not isinstance(value, Scalar) or value.type is Type.UNKNOWN:
        return None
    return value.text if value.type is not Type.BOOL else "true" if value.on else "false"


def says(document: Mapping, path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether a leaf has one of some values: `-` stands for a missing key, `!a` for any value but `a`; `auto` is only itself."""
    value = value_of(document, *path)
    if value is None and "auto" in wanted:
        entry = entry_at(document, path)
        return entry is not None and isinstance(entry.value, Scalar) and entry.value.text == "auto"
    return value is not None and said(value, wanted)


def said(value: str, wanted: tuple[str, ...]) -> bool:
    """Whether a known value is one of some."""
    words = [word.lower() for word in wanted]
    barred = [word[1:] for word in words if word[:1] == "!"]
    return value.lower() in words or (bool(barred) and value != MISSING and value.lower() not in barred)


def entry_at(document: Mapping, path: tuple[str, ...]) -> Entry | None:
    """The entry below a path of keys."""
    entry = document.get(path[0])
    for name in path[1:]:
        entry = entry.value.get(name) if entry and isinstance(entry.value, Mapping) else None
    return entry
