"""The rules as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.knowledge import Rule


def cells(rule: Rule) -> tuple[str, str, str, str, str]:
    """Code, name, severity, fix and summary of a rule."""
    severity = ", ".join(rule.severities) + (" (pedantic)" if rule.pedantic else "")
    return rule.code, rule.name, severity, ", ".join(rule.fixes) or "-", rule.summary


def render(rules: tuple[Rule, ...]) -> str:
    """One line for each rule."""
    rows = [cells(rule) for rule in rules]
    sizes = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return "".join(
        "  ".join([*(f"{cell:<{size}}" for cell, size in zip(row, sizes, strict=False)), row[4]]) + "\n" for row in rows
    )


def markdown(rules: tuple[Rule, ...]) -> str:
    """The table of the README, with links to the pages."""
    lines = ["| code | name | severity | fix | what is wrong |", "| --- | --- | --- | --- | --- |"]
    for rule in rules:
        severity = " / ".join(rule.severities) + (", pedantic" if rule.pedantic else "")
        link = f"[`{rule.name}`](rules/{rule.name}.md)"
        lines.append(f"| {rule.code} | {link} | {severity} | {' / '.join(rule.fixes) or '-'} | {rule.summary} |")
    return "\n".join(lines) + "\n"
