"""Suppression comments that are written for findings."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.finding import Confidence, Finding, Position, Severity
from dtypelint.ignores import read_ignores
from dtypelint.silence import silence
from dtypelint.source import Source


def at(line: int, end: int = 0, code: str = "DTL101") -> Finding:
    position = Position("a.py", line, 1, end or line, 2)
    return Finding(code, "n", Severity.ERROR, Confidence.HIGH, "m", position, "s")


def written(text: str, *findings: Finding, reason: str = "", path: str = "a.py") -> str:
    new, left = silence(Source(path, text), findings, reason)
    assert not left
    return new.text


def test_behind_the_line() -> None:
    assert written("x = 1\ny = 2\n", at(2)) == "x = 1\ny = 2  # dtypelint: ignore[DTL101]\n"
    assert written("x = 1", at(1), reason="why not") == "x = 1  # dtypelint: ignore[DTL101] why not"
    assert written("x = 1  # noqa\r\n", at(1)) == "x = 1  # noqa  # dtypelint: ignore[DTL101]\r\n"


def test_one_comment_for_a_line() -> None:
    assert written("x = f()\n", at(1, code="DTL502"), at(1), at(1)) == "x = f()  # dtypelint: ignore[DTL101, DTL502]\n"


def test_behind_the_first_line_of_a_call_of_several() -> None:
    text = "x = f(\n    a,\n)\n"
    assert written(text, at(1, 3)) == "x = f(  # dtypelint: ignore[DTL101]\n    a,\n)\n"
    assert written(text, at(2)) == "x = f(\n    a,  # dtypelint: ignore[DTL101]\n)\n"


def test_where_the_first_line_cannot_carry_one() -> None:
    assert written("x = \\\n    1\n", at(1)) == "x = \\\n    1  # dtypelint: ignore[DTL101]\n"
    assert written('f("""\na\n""")\n', at(1)) == 'f("""\na\n""")  # dtypelint: ignore[DTL101]\n'
    assert written('f("""\na\n""", b)\n', at(2)) == 'f("""\na\n""", b)  # dtypelint: ignore[DTL101]\n'


def test_above_where_the_line_is_long() -> None:
    long = "x" * 110
    assert written(f"if a:\n\t{long} = 1\n", at(2)) == f"if a:\n\t# dtypelint: ignore[DTL101]\n\t{long} = 1\n"
    several = f"{long}(\n    {long},\n)\n"
    assert written(several, at(2)) == f"{long}(\n    {long},\n)  # dtypelint: ignore[DTL101]\n"
    backslash = f"x = \\\n    {long}\n"
    assert written(backslash, at(1)) == f"# dtypelint: ignore[DTL101]\n{backslash}"


def test_in_configuration_files() -> None:
    text = "fp8:\n  backend: ao\n"
    assert written(text, at(2), path="a.yaml") == "fp8:\n  # dtypelint: ignore[DTL101]\n  backend: ao\n"
    assert written("run --fp8\n", at(1), path="a.sh") == "# dtypelint: ignore[DTL101]\nrun --fp8\n"


@pytest.mark.parametrize(
    ("path", "text", "finding"),
    [
        ("a.json", '{"a": 1}\n', at(1)),
        ("a.sh", "run \\\n  --fp8\n", at(2)),
        ("a.yaml", "a: |\n  one\n  two\n", at(3)),
        ("a.py", "x = (\n", at(1)),
    ],
)
def test_what_cannot_be_silenced_is_left_as_it_is(path: str, text: str, finding: Finding) -> None:
    new, left = silence(Source(path, text), [finding])
    assert (new.text, left) == (text, [finding])


STATEMENTS = st.lists(
    st.sampled_from([
        "x = 1", "x = f(\n    1,\n    # note\n    2,\n)", 's = """a\n  b\n"""', "y = 1 + \\\n    2", "if x:\n    y = 2",
        "# alone", "", "z = '#'  # noqa", "w = 1; v = 2", "x" * 118, "def f():\n\n    return (1,\n\n  2)", "@f\nclass A:\n  a = 1",
    ]),
    min_size=1,
    max_size=8,
)  # fmt: skip


@given(STATEMENTS, st.sampled_from(["\n", "\r\n"]), st.data())
def test_a_comment_covers_its_finding_and_changes_nothing_else(
    statements: list[str], newline: str, data: st.DataObject
) -> None:
    text = "\n".join(statements) + data.draw(st.sampled_from(["", "\n"]))
    source = Source("a.py", text.replace("\n", newline))
    codes = [line for line, words in enumerate(text.split("\n"), 1) if words.strip() and not words.startswith("#")]
    if not codes:
        return
    lines = data.draw(st.lists(st.sampled_from(codes), unique=True, max_size=4))
    findings = [at(line, code=f"DTL{100 + number}") for number, line in enumerate(lines)]
    new, left = silence(source, findings)
    assert not left
    assert ast.dump(ast.parse(new.text)) == ast.dump(ast.parse(source.text))
    comments, mistakes = read_ignores(new)
    assert not mistakes
    assert {name for comment in comments for name in comment.names} == {finding.code for finding in findings}
    without = re.sub(r"(  |^[ \t]*)# dtypelint: ignore\[[^\]]*\](?(1))(\r?\n)?", "", new.text, flags=re.MULTILINE)
    assert "".join(without.split()) == "".join(source.text.split())
    if "\n" in source.text:
        assert new.text.count("\r\n") == (new.text.count("\n") if newline == "\r\n" else 0)
