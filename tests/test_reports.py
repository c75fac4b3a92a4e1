"""What people and machines get to read."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import runner
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.finding import Confidence, Edit, Finding, Fix, Location, Note, Position, Report, Safety, Severity, Span
from dtypelint.knowledge import Rule
from dtypelint.languages import Language
from dtypelint.reports import data, github, junit, markdown, table, text
from dtypelint.reports.escape import columns, visible, width
from dtypelint.reports.escape import width as columns_of
from dtypelint.reports.surroundings import Surroundings, base

PLAIN = Finding(
    code="DTL205",
    name="unentered-autocast",
    severity=Severity.WARNING,
    confidence=Confidence.HIGH,
    message="the autocast is never entered",
    position=Position("pkg/train.py", 12, 5, 12, 13),
    source="    autocast()  # why",
    url="https://example.org/unentered-autocast.md",
)
FULL = replace(
    PLAIN,
    code="DTL101",
    name="dropped-policy-dtype",
    severity=Severity.ERROR,
    message="`reduce_dtype` is left out",
    position=Position("pkg/shard.py", 9, 12, 11, 6),
    source="    return Policy(\n\t\tparam_dtype=x,\n    )\n",
    related=(
        Note(Position("config.py", 104, 5, 104, 17), "`reduce_dtype` declared here", '    reduce_dtype: str = "fp32"'),
        Note(Position("gone.py", 1, 1, 1, 1), "read here"),
    ),
    fix=Fix(
        "pass `reduce_dtype=x`",
        Safety.SAFE,
        (
            Edit(Location("pkg/shard.py", Span(9, 9)), "reduce_dtype=x,\n"),
            Edit(Location("pkg/shard.py", Span(1, 4)), ""),
        ),
    ),
    fix_positions=(Position("pkg/shard.py", 10, 17, 10, 17), Position("pkg/shard.py", 1, 2, 1, 5)),
)
UNSAFE = replace(FULL, fix=Fix("d", Safety.UNSAFE, ()), fix_positions=())
HELD = replace(PLAIN, severity=Severity.NOTE, fix_withheld="two settings are in reach", url="")
REPORT = Report((FULL, PLAIN, HELD), files=14, hidden=3, failed=True)
CLEAN = Report((), files=1)
AROUND = Surroundings(Path.cwd())


def test_the_text() -> None:
    assert (
        text.render(REPORT, color=False, summary=True)
        == """\
pkg/shard.py:9:12: error[DTL101] `reduce_dtype` is left out
     |
   9 |     return Policy(
     |            ^^^^^^^
  10 |         param_dtype=x,
     |         ^^^^^^^^^^^^^^
  11 |     )
     |     ^
     |
     = config.py:104:5: `reduce_dtype` declared here
 104 |     reduce_dtype: str = "fp32"
     |     ------------
     |
     = gone.py:1:1: read here
     = help: pass `reduce_dtype=x` (safe fix)
     = rule: dropped-policy-dtype, https://example.org/unentered-autocast.md

pkg/train.py:12:5: warning[DTL205] the autocast is never entered
    |
 12 |     autocast()  # why
    |     ^^^^^^^^
    |
    = rule: unentered-autocast, https://example.org/unentered-autocast.md

pkg/train.py:12:5: note[DTL205] the autocast is never entered
    |
 12 |     autocast()  # why
    |     ^^^^^^^^
    |
    = fix withheld: two settings are in reach
    = rule: unentered-autocast

1 error, 1 warning, 1 note in 14 files; fixable: 1 safe; 3 pedantic findings hidden (--pedantic)
"""
    )


def test_the_short_text() -> None:
    assert (
        text.concise(REPORT, color=False, summary=False)
        == """\
pkg/shard.py:9:12: error[DTL101] `reduce_dtype` is left out
pkg/train.py:12:5: warning[DTL205] the autocast is never entered
pkg/train.py:12:5: note[DTL205] the autocast is never entered
"""
    )


def test_the_counts() -> None:
    many = Report((PLAIN, FULL, PLAIN), files=2, hidden=1)
    assert (
        text.statistics(many, color=False, summary=True)
        == """\
2  DTL205  unentered-autocast  warning
1  DTL101  dropped-policy-dtype  error
1 error, 2 warnings in 2 files; fixable: 1 safe; 1 pedantic finding hidden (--pedantic)
"""
    )


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (CLEAN, "no findings in 1 file"),
        (Report((), 0), "no findings in 0 files"),
        (Report((HELD, HELD), 2), "2 notes in 2 files"),
        (Report((UNSAFE,), 2), "1 error in 2 files; fixable: 1 unsafe"),
    ],
)
def test_the_summary(report: Report, line: str) -> None:
    for render in (text.render, text.concise, text.statistics):
        assert render(report, color=False, summary=True).splitlines()[-1] == line
        assert line not in render(report, color=False, summary=False)


def test_colours_add_nothing_but_colours() -> None:
    for render in (text.render, text.concise, text.statistics):
        painted = render(REPORT, color=True, summary=True)
        assert "\x1b[1;31m" in painted
        assert strip(painted).rstrip("\n") == render(REPORT, color=False, summary=True).rstrip("\n")


def strip(painted: str) -> str:
    from rich.text import Text

    return Text.from_ansi(painted).plain


def lines_at(width: int, report: Report = REPORT, *, color: bool = False) -> list[str]:
    shown = text.render(report, color=color, summary=True, width=width)
    return (strip(shown) if color else shown).splitlines()


def test_a_narrow_terminal() -> None:
    report = Report((replace(FULL, message="`reduce_dtype` is left out although the settings have it"),), 1)
    assert lines_at(40, report) == [
        "pkg/shard.py:9:12: error[DTL101]",
        "  `reduce_dtype` is left out although",
        "  the settings have it",
        "     |",
        "   9 |     return Policy(",
        "     |            ^^^^^^^",
        "  10 |         param_dtype=x,",
        "     |         ^^^^^^^^^^^^^^",
        "  11 |     )",
        "     |     ^",
        "     |",
        "     = config.py:104:5: `reduce_dtype`",
        "       declared here",
        ' 104 |     reduce_dtype: str = "fp...',
        "     |     ------------",
        "     |",
        "     = gone.py:1:1: read here",
        "     = help: pass `reduce_dtype=x` (safe",
        "       fix)",
        "     = rule: dropped-policy-dtype,",
        "       dtypelint explain DTL101",
        "",
        "1 error in 1 file; fixable: 1 safe",
    ]


@given(st.integers(36, 200), st.text(alphabet="ab `名.:", max_size=120))
def test_no_line_is_wider_than_the_terminal(width: int, message: str) -> None:
    long = max((sum(map(columns_of, word)) for word in message.split()), default=0)
    report = Report((replace(FULL, message=message, source="x" * 300, position=Position("a.py", 1, 200, 1, 290)),), 1)
    for line in lines_at(width, report):
        assert sum(map(columns_of, line)) <= max(width, long + 2)
    assert [line.split() for line in lines_at(width, report, color=True)] == [
        line.split() for line in lines_at(width, report)
    ]
    joined = " ".join(lines_at(width, report)).split()
    assert [word for word in message.split() if word not in joined] == []


def test_the_address_of_a_rule_is_a_link_on_a_terminal() -> None:
    shown = text.render(REPORT, color=True, summary=False, width=80)
    assert "\x1b]8;" in shown
    assert "https://example.org/unentered-autocast.md" in shown
    assert not any("https://" in line for line in lines_at(80, color=True))


def carets(source: str, column: int, end: int) -> tuple[str, str]:
    found = replace(PLAIN, source=source, position=Position("a.py", 1, column, 1, end))
    lines = text.render(Report((found,), 1), color=False, summary=False).splitlines()
    return lines[2].removeprefix(" 1 | "), lines[3].removeprefix("   | ")


@pytest.mark.parametrize(
    ("source", "column", "end", "shown", "under"),
    [
        ("\tx = f()", 6, 9, "    x = f()", "        ^^^"),
        ("名 = f()", 5, 8, "名 = f()", "     ^^^"),
        ("f('名', g())", 3, 6, "f('名', g())", "  ^^^^"),
        ("e\u0301 = f()", 6, 9, "e\u0301 = f()", "    ^^^"),
        ("a\x1b[31m = f()", 10, 13, "a\\x1b[31m = f()", "            ^^^"),
        ("a = f()", 3, 3, "a = f()", "  ^"),
        ("a = f()", 8, 8, "a = f()", "       ^"),
    ],
)
def test_carets_stand_under_what_they_mean(source: str, column: int, end: int, shown: str, under: str) -> None:
    assert carets(source, column, end) == (shown, under)


def test_a_long_line_is_cut_around_its_finding() -> None:
    shown, under = carets("a" * 500 + "XYZ" + "b" * 500, 501, 504)
    assert (shown[:4], shown[-4:]) == ("...a", "b...")
    assert len(shown) == 206
    start = under.index("^")
    assert (shown[start : start + 3], under.strip()) == ("XYZ", "^^^")
    shown, under = carets("XYZ" + "b" * 500, 1, 400)
    assert (shown[:3], len(shown), under) == ("XYZ", 203, "^" * 200)


def test_a_long_finding_loses_its_middle() -> None:
    source = "\n".join(f"line {number}" for number in range(1, 21))
    found = replace(PLAIN, source=source, position=Position("a.py", 1, 1, 20, 5))
    lines = text.render(Report((found,), 1), color=False, summary=False).splitlines()
    assert [line.strip() for line in lines[2:-3] if "^" not in line] == [
        "1 | line 1",
        "2 | line 2",
        "3 | line 3",
        "4 | line 4",
        "...",
        "20 | line 20",
    ]
    found = replace(found, position=Position("a.py", 1, 1, 900, 5))
    lines = text.render(Report((found,), 1), color=False, summary=False).splitlines()
    assert [line.strip() for line in lines[2:-3] if "^" not in line][-2:] == ["4 | line 4", "..."]


def test_a_blank_line_in_a_finding_has_no_carets() -> None:
    found = replace(PLAIN, source="f(\n\n)", position=Position("a.py", 1, 1, 3, 2))
    assert text.render(Report((found,), 1), color=False, summary=False).splitlines()[2:7] == [
        " 1 | f(",
        "   | ^^",
        " 2 |",
        " 3 | )",
        "   | ^",
    ]


HOSTILE = "a\x1b]0;title\x07\u202eevil\u2066\x9b31m\r\n::error::x\u200b\ud800%0A\u2028"


@pytest.mark.parametrize("field", ["message", "source", "path", "note", "fix", "withheld"])
@pytest.mark.parametrize("output", ["text", "color", "concise", "json", "github", "junit", "markdown"])
def test_nothing_from_a_checked_file_moves_the_cursor(field: str, output: str) -> None:
    position = Position(HOSTILE if field == "path" else "a.py", 1, 1, 1, 2)
    assert FULL.fix
    found = replace(
        FULL,
        position=position,
        message=HOSTILE if field == "message" else "m",
        source=HOSTILE.replace("\n", "") if field == "source" else "s",
        related=(Note(position, HOSTILE, HOSTILE) if field == "note" else Note(position, "x"),),
        fix=replace(FULL.fix, description=HOSTILE if field == "fix" else "d"),
        fix_withheld=HOSTILE if field == "withheld" else None,
    )
    report = Report((found,), 1)
    if output == "json":
        shown = data.render(report, AROUND)
    elif output == "junit":
        shown = junit.render(report, AROUND)
    elif output == "markdown":
        shown = markdown.render(report, AROUND)
    elif output == "github":
        shown = github.render(report, AROUND)
        assert shown.count("\n") == 1
    else:
        render = text.concise if output == "concise" else text.render
        shown = render(report, color=output == "color", summary=True)
    if output == "color":
        shown = strip(shown)
    lines = shown.split("\n")
    assert all(line.isprintable() for line in lines), [line for line in lines if not line.isprintable()]
    assert not any(line.startswith("::") for line in lines if output != "github")


@given(st.text())
def test_visible_text_is_printable(word: str) -> None:
    shown = visible(word)
    assert shown.isprintable() or all(character.isprintable() or width(character) for character in shown)
    assert not set(shown) & set("\x1b\n\r\t\x9b\u202e\u2066\u200b\ufeff")
    if word.isprintable():
        assert shown == word


@given(st.text())
def test_columns_begin_where_the_shown_text_does(line: str) -> None:
    shown, starts = columns(line)
    assert len(starts) == len(line) + 1
    assert starts[-1] == sum(map(width, shown))
    assert starts == sorted(starts)


def test_the_json_is_what_its_schema_says() -> None:
    schema = json.loads((files("dtypelint") / "schema" / "findings.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    document = json.loads(data.render(REPORT, AROUND))
    validator.validate(document)
    validator.validate(json.loads(data.render(CLEAN, AROUND)))
    document["findings"][0]["surprise"] = 1
    assert not validator.is_valid(document)


def test_the_json() -> None:
    document = json.loads(data.render(REPORT, AROUND))
    assert document["version"] == 1
    assert document["summary"] == {
        "files": 14,
        "errors": 1,
        "warnings": 1,
        "notes": 1,
        "fixable": 1,
        "fixable_unsafe": 0,
        "hidden": 3,
        "known": 0,
        "unchanged": 0,
        "internal_errors": 0,
        "rules": {"DTL101": 1, "DTL205": 2},
    }
    assert document["findings"][0] == {
        "code": "DTL101",
        "name": "dropped-policy-dtype",
        "severity": "error",
        "confidence": "high",
        "message": "`reduce_dtype` is left out",
        "path": "pkg/shard.py",
        "cell": None,
        "line": 9,
        "column": 12,
        "end_line": 11,
        "end_column": 6,
        "source": FULL.source,
        "related": [
            {"path": "config.py", "cell": None, "line": 104, "column": 5, "message": "`reduce_dtype` declared here"},
            {"path": "gone.py", "cell": None, "line": 1, "column": 1, "message": "read here"},
        ],
        "fix": {
            "safety": "safe",
            "description": "pass `reduce_dtype=x`",
            "edits": [
                {
                    "path": "pkg/shard.py",
                    "cell": None,
                    "line": 10,
                    "column": 17,
                    "end_line": 10,
                    "end_column": 17,
                    "text": "reduce_dtype=x,\n",
                },
                {
                    "path": "pkg/shard.py",
                    "cell": None,
                    "line": 1,
                    "column": 2,
                    "end_line": 1,
                    "end_column": 5,
                    "text": "",
                },
            ],
        },
        "fix_withheld": None,
        "url": "https://example.org/unentered-autocast.md",
    }
    assert document["findings"][2]["fix"] is None
    assert document["findings"][2]["fix_withheld"] == "two settings are in reach"


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """A line of a log as the runner reads it."""
    command = runner.parse_v2(line)
    assert command
    return command


def test_annotations() -> None:
    full, plain, held = (parse_command(line) for line in github.render(REPORT, AROUND).splitlines())
    assert full == (
        "error",
        {"file": "pkg/shard.py", "line": "9", "endline": "11", "title": "dtypelint DTL101: dropped-policy-dtype"},
        (
            "`reduce_dtype` is left out\nconfig.py:104: `reduce_dtype` declared here\ngone.py:1: read here\n"
            "fix: pass `reduce_dtype=x` (safe)\ndocs: https://example.org/unentered-autocast.md"
        ),
    )
    assert plain[0] == "warning"
    assert plain[1] | {"title": ""} == {
        "file": "pkg/train.py",
        "line": "12",
        "endline": "12",
        "col": "5",
        "endcolumn": "13",
        "title": "",
    }
    assert held[0] == "notice"
    assert held[2] == "the autocast is never entered\nfix withheld: two settings are in reach"


@given(st.text(alphabet="a,:%0A2C3D\\ é=", max_size=40), st.text(alphabet="a,:%0A=é/", min_size=1, max_size=20))
def test_an_annotation_survives_the_runner(message: str, path: str) -> None:
    found = replace(PLAIN, message=message, url="", position=replace(PLAIN.position, path=path))
    (line,) = github.render(Report((found,), 1), AROUND).splitlines()
    _, properties, read = parse_command(line)
    assert (properties["file"], read) == (AROUND.path(path), message)


def test_an_annotation_is_as_long_as_the_runner_allows() -> None:
    line = github.render(Report((replace(PLAIN, message="é%" * 5000),), 1), AROUND)
    assert len(parse_command(line.rstrip("\n"))[2]) == 4096


def test_annotations_are_relative_to_the_workspace(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "sub").mkdir()
    monkeypatch.chdir(work / "sub")
    places = {}
    for workspace in (None, str(work), str(work / "other")):
        environment = {"GITHUB_WORKSPACE": workspace} if workspace else {}
        line = github.render(Report((FULL,), 1), Surroundings(base(environment))).rstrip("\n")
        places[workspace] = parse_command(line)[1]["file"]
        assert ("sub/config.py:104" in line) is (workspace == str(work))
    assert list(places.values()) == ["pkg/shard.py", "sub/pkg/shard.py", "pkg/shard.py"]


def rule(**changes: Any) -> Rule:
    first = Rule(
        "DTL101",
        "lost-word",
        "A word is lost.",
        (Severity.ERROR, Severity.NOTE),
        (Safety.SAFE,),
        "0.1.0",
        "policy",
        ("u",),
        False,
        (b"x",),
        frozenset({Language.PYTHON}),
        "# page",
    )
    return replace(first, **changes)


def test_rules_as_a_table() -> None:
    rules = (rule(), rule(code="DTL900", name="odd", severities=(Severity.NOTE,), fixes=(), pedantic=True))
    assert table.render(rules) == (
        "DTL101  lost-word  error, note      safe  A word is lost.\n"
        "DTL900  odd        note (pedantic)  -     A word is lost.\n"
    )
    assert table.render(()) == ""
    assert "| DTL101 | [`lost-word`](rules/lost-word.md) | error / note | safe |" in table.markdown(rules)


def test_rules_as_json() -> None:
    (item,) = json.loads(data.rules((rule(),)))
    assert item["url"].endswith("/rules/lost-word.md")
    assert {key: value for key, value in item.items() if key != "url"} == {
        "code": "DTL101",
        "name": "lost-word",
        "summary": "A word is lost.",
        "severity": ["error", "note"],
        "fix": ["safe"],
        "pedantic": False,
        "since": "0.1.0",
        "smoke": "policy",
        "seen": ["u"],
    }
    assert json.loads(data.explanation(rule()))["page"] == "# page"


def test_a_page_on_the_terminal() -> None:
    assert "A word" in strip(text.page("# `lost-word`\n\nA word\n"))
