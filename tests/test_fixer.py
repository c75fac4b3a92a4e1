"""Edits to text: what is applied, what is refused, and what stays as it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from conftest import add_rule
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.engine import Options
from dtypelint.facts.whole import damage
from dtypelint.finding import Confidence, Edit, Finding, Fix, Hit, Location, Safety, Span
from dtypelint.fixer import Change, Fixer, Result, Shift, clash, edited, overlap, touch
from dtypelint.source import Source
from dtypelint.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Text


def edit(start: int, end: int, text: str, path: str = "a.py") -> Edit:
    return Edit(Location(path, Span(start, end)), text)


def fix(*edits: Edit) -> Fix:
    return Fix("a fix", Safety.SAFE, edits)


def take_all(_finding: Finding, _texts: object) -> bool:
    return True


def run(folder: Path) -> tuple[Result, Workspace]:
    workspace = Workspace([folder], Options())
    return Fixer(workspace, take_all).run(), workspace


SPANS = st.tuples(st.integers(0, 30), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(
    st.text("abcdefgh\n", min_size=36, max_size=36), st.lists(st.tuples(SPANS, st.text("XYZ", max_size=4)), max_size=6)
)
def test_only_the_edited_spans_differ(text: str, wanted: list[tuple[tuple[int, int], str]]) -> None:
    edits: list[Edit] = []
    for (start, end), new in wanted:
        each = edit(start, end, new)
        if not any(touch(each, other) for other in edits):
            edits.append(each)
    after = edited(Source("a.py", text), edits).text
    place, pieces = 0, []
    for each in sorted(edits, key=lambda each: each.location.span):
        span = each.location.span
        pieces += [text[place : span.start], each.text]
        place = span.end
    assert after == "".join([*pieces, text[place:]])


@given(SPANS, SPANS)
def test_touching_is_symmetric_and_covers_overlap(one: tuple[int, int], other: tuple[int, int]) -> None:
    a, b = edit(*one, "x"), edit(*other, "y")
    assert touch(a, b) is touch(b, a)
    assert touch(a, b) or not overlap(a, b)
    assert not touch(a, edit(*other, "y", "b.py"))


@given(st.text("abcdef", min_size=40, max_size=40), SPANS, st.text("XYZ", max_size=4), st.integers(0, 40))
def test_a_place_is_found_again(text: str, span: tuple[int, int], new: str, place: int) -> None:
    change = edit(*span, new)
    after = edited(Source("a.py", text), [change]).text
    first, last = Shift([fix(change)])("a.py", place)
    assert 0 <= first <= last <= len(after)
    if place < span[0] or place > span[1]:
        assert first == last
        assert after[first:] == text[place:] if place > span[1] else after[:first] == text[:place]


def test_insertions_at_one_place_keep_their_order() -> None:
    assert edited(Source("a.py", "f()"), [edit(2, 2, "a=1"), edit(2, 2, ", b=2")]).text == "f(a=1, b=2)"


def test_fixes_that_touch_are_not_merged(house: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(facts: Text) -> Iterator[Hit]:
        for word in ("left", "right"):
            if f"{word}=" not in facts.text:
                place = Location(facts.path, Span(*facts.spans_of(r"\)")))
                insert = Edit(Location(facts.path, Span(place.span.start, place.span.start)), f"{word}=1, ")
                yield Hit(Span(0, 4), f"no {word}", Confidence.HIGH, fix=Fix(f"add {word}", Safety.SAFE, (insert,)))

    add_rule(house, monkeypatch, "DTL106", "two-arguments", check, 'triggers = ["call"]')
    (work / "a.py").write_text("call()\n")
    result, _ = run(work)
    assert [change.after.text for change in result.changes] == ["call(left=1, right=1, )\n"]
    assert [finding.message for finding in result.fixed] == ["no left", "no right"]


def one_fix(text: str, make: Callable[[Text], Fix]) -> Callable[[Text], Iterator[Hit]]:
    """A check that finds `text`, and the fix that is made of its facts."""

    def check(facts: Text) -> Iterator[Hit]:
        for span in facts.spans(re.escape(text)):
            yield Hit(span, f"`{text}` is lost", Confidence.HIGH, fix=make(facts))

    return check


def replaced(facts: Text, old: str, new: str) -> Edit:
    start = facts.data.index(old.encode())
    return Edit(Location(facts.path, Span(start, start + len(old.encode()))), new)


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("bug = 1\n", "1", "(", "would not parse any more"),
        ("bug = 1  # why\n", "1  # why", "1 # who", "comment `# why` would be lost"),
        ("bug = 1\n", "1", "1", "changes nothing"),
        ("bug = 1\n", "1", "11", "would still be there"),
        ("bug = 1\n", "bug", "sink", "would bring DTL101 in line 1"),
        ("bug = 1\n\fx = 2\n", "bug", "good", "does not give the file back"),
        ("bug = 1\rx = 2\r", "bug", "good", "does not give the file back"),
        ("if bug:\n  \fx = 2\n", "bug", "good", "does not read this file"),
        ("# coding: latin-1\nbug = 1\n", "bug = 1", "good = 'π'", "cannot be written in the encoding"),
        ("bug = " + "(" * 180 + "1" + ")" * 180 + "\n", "bug", "good", "nested too deeply"),
        ("bug = " + "+".join("1" * 400) + "\n", "bug", "good", "nested too deeply"),
        ("if bug:\n  pass\n" + "elif 1:\n  pass\n" * 1500, "bug", "good", "nested too deeply"),
    ],
)
def test_a_fix_that_breaks_something_is_not_applied(
    house: Path, work: Path, monkeypatch: pytest.MonkeyPatch, text: str, old: str, new: str, reason: str
) -> None:
    check = one_fix("bug", lambda facts: fix(replaced(facts, old, new)))
    add_rule(house, monkeypatch, "DTL106", "bug", check, 'triggers = ["bug"]')
    (work / "a.py").write_bytes(text.encode())
    result, workspace = run(work)
    assert result.changes == []
    assert result.fixed == []
    (held,) = [finding for finding in workspace.report(result.withheld).findings if finding.code == "DTL106"]
    assert held.fix is None
    assert held.fix_withheld is not None
    assert reason in held.fix_withheld


def test_one_bad_fix_does_not_hold_up_the_others(house: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(facts: Text) -> Iterator[Hit]:
        for span in facts.spans(r"bug\d"):
            new = "sink" if facts.data[span.start : span.end] == b"bug3" else "good"
            change = Edit(Location(facts.path, span), new)
            yield Hit(span, "a bug", Confidence.HIGH, fix=fix(change))

    add_rule(house, monkeypatch, "DTL106", "bug", check, 'triggers = ["bug"]')
    (work / "a.py").write_text("bug1\nbug2\nbug3\nbug4\nbug5\n")
    result, _ = run(work)
    assert [change.after.text for change in result.changes] == ["good\ngood\nbug3\ngood\ngood\n"]
    assert len(result.fixed) == 4
    assert [reason for reason in result.withheld.values() if "DTL101" in reason]


def test_fixes_that_are_bad_together_are_applied_one_after_the_other(
    house: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(facts: Text) -> Iterator[Hit]:
        for span in facts.spans(r"bug"):
            yield Hit(span, "a bug", Confidence.HIGH, fix=fix(Edit(Location(facts.path, span), "good")))
        if facts.text.count("good") > 1:
            yield Hit(Span(0, 1), "too much of it", Confidence.HIGH)

    add_rule(house, monkeypatch, "DTL106", "bug", check, 'triggers = ["bug|good"]')
    (work / "a.py").write_text("bug\nbug\n")
    result, _ = run(work)
    assert [change.after.text for change in result.changes] == ["good\nbug\n"]
    assert ["too much of it" in reason for reason in result.withheld.values()] == [True]


def test_a_fix_over_two_files_is_whole_or_not_at_all(house: Path, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(facts: Text) -> Fix:
        return fix(replaced(facts, "bug", "good"), edit(0, 0, "x = 1\n", "base.py"))

    add_rule(house, monkeypatch, "DTL106", "bug", one_fix("bug", make), 'triggers = ["bug"]')
    (work / "a.py").write_text("bug\n")
    (work / "base.py").write_text("y = 2\n")
    (work / "pyproject.toml").write_text("")
    result, _ = run(work)
    assert {change.path: change.after.text for change in result.changes} == {
        "a.py": "good\n",
        "base.py": "x = 1\ny = 2\n",
    }
    assert [[change.path for change in group] for group in result.groups()] == [["a.py", "base.py"]]
    workspace = Workspace([work / "a.py"], Options())
    result = Fixer(workspace, take_all).run()
    assert result.changes == []
    assert ["base.py, which is not among" in reason for reason in result.withheld.values()] == [True]


def test_groups_follow_the_fixes() -> None:
    source = Source("", "")
    result = Result([Change(path, source, source) for path in ("a", "b", "c", "d")])
    assert len(result.groups()) == 4


def test_a_file_that_changes_while_it_is_fixed_is_fixed_as_it_was_read(house: Path, work: Path) -> None:
    path = work / "a.py"
    path.write_text("sink_fixed\n")
    workspace = Workspace([work], Options())
    path.write_text("a much longer text than the one before\n")
    result = Fixer(workspace, take_all).run()
    assert [(change.before.text, change.after.text) for change in result.changes] == [
        ("sink_fixed\n", "new_sink_fixed\n")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffsink_fixed\n",
        "sink_fixed",
        "x = 1\r\nsink_fixed\r\n# é\r\n",
        "x = 'ß'; sink_fixed  # ü\n",
        "if x:\n\tsink_fixed\n",
    ],
)
def test_bytes_outside_of_the_edits_are_kept(house: Path, work: Path, text: str) -> None:
    path = work / "a.py"
    path.write_bytes(text.encode())
    result, _ = run(work)
    (change,) = result.changes
    assert change.before.encoded() == text.encode()
    assert change.after.encoded() == text.replace("sink", "new_sink").encode()


def test_the_declared_encoding_is_kept(house: Path, work: Path) -> None:
    data = "# -*- coding: latin-1 -*-\nx = 'é'; sink_fixed\n".encode("latin-1")
    (work / "a.py").write_bytes(data)
    result, _ = run(work)
    assert result.changes[0].after.encoded() == data.replace(b"sink", b"new_sink")


@pytest.mark.parametrize(
    ("path", "before", "after", "reason"),
    [
        ("c.yaml", "a: no  # why\n", "a: 'no'  # why\n", ""),
        ("c.yaml", "a: no  # why\n", "a: 'no'\n", "comment `# why`"),
        ("c.yaml", "a: no\n", "a: [no\n", "would not parse"),
        ("c.json", '{"a": 1}', '{"a": 2}', ""),
        ("c.json", '{"a": 1}', '{"a": }', "would not parse"),
        ("setup.cfg", "x=1", "x=2", "not fixed"),
        ("run.sh", "x=1", "x=2", ""),
        ("run.sh", "x=1  # why", "x=1", "would be lost"),
        ("train", "x = 1", "x = (", "would not parse"),
    ],
)
def test_what_an_edit_must_leave_whole(path: str, before: str, after: str, reason: str) -> None:
    found = damage(path, before, after)
    assert reason in found
    assert bool(found) is bool(reason)


def test_clashing_fixes() -> None:
    assert clash(fix(edit(0, 2, "x")), fix(edit(1, 3, "y")))
    assert not clash(fix(edit(0, 2, "x")), fix(edit(2, 3, "y")))
