"""Findings that are known, and what is left of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.baseline import Baseline, Entry
from dtypelint.errors import UserError
from dtypelint.finding import Confidence, Finding, Position, Severity


def finding(path: str = "a.py", line: int = 1, source: str = "x = 1", code: str = "DTL101") -> Finding:
    return Finding(code, "name", Severity.ERROR, Confidence.HIGH, "message", Position(path, line, 1, line, 2), source)


FINDINGS = st.lists(
    st.builds(finding, st.sampled_from(["a.py", "é/b.py"]), st.integers(1, 9), st.sampled_from(["x", " x", "y  z", ""]))
)


@given(FINDINGS)
def test_what_was_written_is_known(findings: list[Finding]) -> None:
    baseline = Baseline.of(findings, Path("b.json"))
    moved = [replace(each, position=replace(each.position, line=each.position.line + 7)) for each in findings]
    assert baseline.split(moved) == ([True] * len(findings), [])


@given(FINDINGS)
def test_a_file_holds_what_was_written(findings: list[Finding]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "b.json"
        baseline = Baseline.of(findings, file)
        file.write_text(baseline.text(), encoding="utf-8")
        assert Baseline.read(file) == baseline
        assert Baseline.read(file).text() == baseline.text()


def test_one_more_of_the_same_is_new() -> None:
    baseline = Baseline.of([finding(line=3)], Path("b.json"))
    assert baseline.split([finding(line=3), finding(line=9)]) == ([True, False], [])


@pytest.mark.parametrize(
    "changes", [{"source": "x = 2"}, {"code": "DTL102"}, {"path": "b.py"}, {"source": "x = 1  # why"}]
)
def test_another_rule_file_or_line_is_new(changes: dict[str, Any]) -> None:
    baseline = Baseline.of([finding()], Path("b.json"))
    assert baseline.split([finding(**changes)]) == ([False], [Entry("a.py", "DTL101", "x = 1")])


def test_the_first_line_counts_without_its_spaces() -> None:
    baseline = Baseline.of([finding(source="\treturn f(\n    a,\n)")], Path("b.json"))
    assert baseline.split([finding(source="return  f(\n    b,\n)")]) == ([True], [])


def test_paths_are_those_of_the_baseline_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "sub").mkdir()
    baseline = Baseline.of([finding("sub/a.py")], Path("b.json"))
    assert baseline.text().count('"path": "sub/a.py"') == 1
    assert baseline.place(next(iter(baseline.counts))) == work / "sub" / "a.py"
    monkeypatch.chdir(work / "sub")
    again = replace(baseline, file=Path("../b.json"))
    assert again.split([finding("a.py")]) == ([True], [])
    assert again.place(next(iter(again.counts))) == work / "sub" / "a.py"


def test_an_entry_as_text() -> None:
    assert str(Entry("a.py", "DTL101", "x = 1")) == "a.py: DTL101 `x = 1`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "b.json:1: not valid JSON: Expecting property name"),
        ("[]", "b.json: not a baseline of version 1; --write-baseline makes one"),
        ('{"version": 2, "findings": []}', "b.json: not a baseline of version 1"),
        ('{"version": 1}', "b.json: finding 1 needs the strings path, rule and line"),
        ('{"version": 1, "findings": [7]}', "b.json: finding 1 needs"),
        ('{"version": 1, "findings": [{"path": "a", "rule": "b", "line": "c"}]}', "b.json: finding 1 needs"),
        ('{"version": 1, "findings": [{"path": "a", "rule": 1, "line": "c", "count": 1}]}', "b.json: finding 1 needs"),
        ('{"version": 1, "findings": [{"path": "a", "rule": "b", "line": "c", "count": 0}]}', "and a positive count"),
    ],
)
def test_a_broken_baseline_is_an_error_that_names_it(work: Path, text: str, message: str) -> None:
    Path("b.json").write_text(text)
    with pytest.raises(UserError) as error:
        Baseline.read(Path("b.json"))
    assert message in str(error.value)


def test_a_baseline_that_cannot_be_read(work: Path) -> None:
    with pytest.raises(UserError, match=r"b.json: cannot be read: No such file or directory; --write-baseline makes"):
        Baseline.read(Path("b.json"))
    Path("b.json").write_bytes(b"\xff")
    with pytest.raises(UserError, match="b.json: not valid JSON"):
        Baseline.read(Path("b.json"))
