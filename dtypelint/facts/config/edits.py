"""The messages and edits that the checks of configuration files share."""

from __future__ import annotations

from dtypelint.facts.configs import ConfigKey, Fate
from dtypelint.finding import Edit, Fix, Location, Safety, Span


def replace_text(path: str, span: Span, text: str) -> Edit:
    """Put another text in the place of a span."""
    return Edit(Location(path, span), text)


def lost_key(key: ConfigKey) -> str:
    """What happened to a key of a configuration file, as a message."""
    value = f": {key.value}" if key.value and key.fate in (Fate.REFUSED_VALUE, Fate.CLASH, Fate.OVERRIDDEN) else ""
    said = ": ".join(part for part in (key.why, key.says) if part)
    near = f"; did you mean `{key.near}`?" if key.near else ""
    return (
        f"`{key.path}{value}`{': ' if not key.why else ' '}{said}{f' ({key.versions})' if key.versions else ''}{near}"
    )


def rename_key(path: str, key: ConfigKey) -> tuple[Fix | None, str | None]:
    """Give a misnamed key the name that is read: safe, because its value is what the user wrote."""
    if not key.instead:
        return None, None if not key.near else "only a known misname is renamed"
    if not key.editable:
        return None, "the key comes in through an anchor"
    edit = replace_text(path, key.name_span, key.instead)
    return Fix(f"rename it to `{key.instead}`", Safety.SAFE, (edit,)), None


def respell_value(path: str, key: ConfigKey) -> tuple[Fix | None, str | None]:
    """Write a value as it is taken: safe where only its case changes."""
    if not key.instead:
        return None, f"`{key.value}` stands for nothing that is taken"
    if not key.editable:
        return None, "the value is shared through an anchor"
    edit = replace_text(path, key.value_span, key.instead)
    safety = Safety.SAFE if key.is_spelling else Safety.UNSAFE
    return Fix(f"write `{key.instead}`", safety, (edit,)), None
