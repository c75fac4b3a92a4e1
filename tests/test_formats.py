"""What other programs read: SARIF, GitLab, JUnit, reviewdog, Markdown, JSON lines, the slots of GitHub."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runner import Step

from dtypelint.finding import Confidence, Edit, Finding, Fix, Location, Note, Position, Report, Safety, Severity, Span
from dtypelint.knowledge import Knowledge
from dtypelint.reports import data, github, gitlab, jsonl, junit, markdown, rdjson, sarif
from dtypelint.reports.columns import in_utf8, in_utf16
from dtypelint.reports.fingerprint import identities, line_hashes
from dtypelint.reports.patch import diff, merged
from dtypelint.reports.surroundings import Surroundings, base, blob
from dtypelint.source import Source

TEXT = "import x\n\ndef f(cfg):\n    '名😀'; return Policy(param=cfg.a)\n"
CONFIG = "class C:\n    a = 1\n    b = 2\n"
POLICY = "Policy(param=cfg.a)"
START = TEXT.encode().index(POLICY.encode())
END = START + len(POLICY)
FOUND = Finding(
    code="DTL101",
    name="dropped-policy-dtype",
    severity=Severity.ERROR,
    confidence=Confidence.HIGH,
    message="`b` is left out | <b>",
    position=Position("src/a b.py", 4, 18, 4, 37),
    source="    '名😀'; return Policy(param=cfg.a)",
    related=(Note(Position("src/config.py", 3, 5, 3, 6), "`b` declared here", "    b = 2"),),
    fix=Fix("pass `b=cfg.b`", Safety.SAFE, (Edit(Location("src/a b.py", Span(END - 1, END - 1)), ", b=cfg.b"),)),
    fix_positions=(Position("src/a b.py", 4, 36, 4, 36),),
    url="https://example.org/dropped.md",
)
BARE = replace(
    FOUND, severity=Severity.WARNING, related=(), fix=None, fix_positions=(), fix_withheld="two are in reach"
)
NOTED = replace(BARE, severity=Severity.NOTE, code="DTL103", fix_withheld=None)
REPORT = Report((FOUND, BARE, NOTED), files=5, hidden=1)
SOURCES = {"src/a b.py": Source("a b.py", TEXT), "src/config.py": Source("config.py", CONFIG)}
RULES = Knowledge().rules
AROUND = Surroundings(Path.cwd(), RULES, SOURCES.get, version="1.2.3")


def test_a_line_of_json_for_each_finding() -> None:
    lines = jsonl.render(REPORT, AROUND).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(data.render(REPORT, AROUND))["findings"]
    assert jsonl.render(Report((), 1), AROUND) == ""


def log(report: Report = REPORT, around: Surroundings = AROUND) -> Any:
    document = json.loads(sarif.render(report, around))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("/sarif-schema-2.1.0.json")
    (run,) = document["runs"]
    return run


def test_sarif_explains_every_rule() -> None:
    driver = log()["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("dtypelint", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in RULES]
    for shown, rule in zip(driver["rules"], RULES, strict=True):
        assert shown["name"] == rule.name
        assert shown["helpUri"].endswith(f"/rules/{rule.name}.md")
        assert 0 < len(shown["shortDescription"]["text"]) <= 1024
        assert shown["fullDescription"]["text"]
        assert shown["help"]["text"].startswith(rule.summary)
        assert shown["helpUri"] in shown["help"]["markdown"]
        assert "# flagged" not in shown["help"]["markdown"]
        assert shown["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert shown["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert shown["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert len(shown["properties"]["tags"]) <= 10


def test_sarif_results() -> None:
    run = log()
    first, second, third = run["results"]
    place = {
        "artifactLocation": {"uri": "src/a%20b.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 4, "startColumn": 19, "endLine": 4, "endColumn": 38},
    }
    declared = {
        "artifactLocation": {"uri": "src/config.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 6},
    }
    assert run["columnKind"] == "utf16CodeUnits"
    assert "%SRCROOT%" in run["originalUriBaseIds"]
    assert first["ruleId"] == run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "DTL101"
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    assert first["locations"] == [{"physicalLocation": place}]
    assert first["relatedLocations"] == [
        {"id": 1, "physicalLocation": declared, "message": {"text": "`b` declared here"}}
    ]
    (flow,) = first["codeFlows"][0]["threadFlows"]
    assert [step["location"]["physicalLocation"] for step in flow["locations"]] == [declared, place]
    assert first["fixes"] == [
        {
            "description": {"text": "pass `b=cfg.b` (safe)"},
            "artifactChanges": [
                {
                    "artifactLocation": place["artifactLocation"],
                    "replacements": [
                        {
                            "deletedRegion": {"startLine": 4, "startColumn": 37, "endLine": 4, "endColumn": 37},
                            "insertedContent": {"text": ", b=cfg.b"},
                        }
                    ],
                }
            ],
        }
    ]
    assert first["partialFingerprints"] == {"primaryLocationLineHash": line_hashes(TEXT)[3]}
    assert not {"relatedLocations", "codeFlows", "fixes"} & set(second)
    assert "The fix is withheld: two are in reach." in second["message"]["text"]
    assert third["properties"] == {"confidence": "high"}


def test_sarif_of_a_clean_and_of_a_broken_run() -> None:
    assert log(Report((), 0))["results"] == []
    assert log()["invocations"] == [{"executionSuccessful": True}]
    (invocation,) = log(Report((), 1, internal=("Traceback: x",)))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "Traceback: x"


def test_sarif_without_the_text_or_outside_of_the_checkout(tmp_path: Path) -> None:
    (result, *_) = log(around=Surroundings(tmp_path / "elsewhere"))["results"]
    assert "partialFingerprints" not in result
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 18
    outside = replace(FOUND, position=replace(FOUND.position, path="/elsewhere/a b.py"))
    place = log(Report((outside,), 1))["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "file:///elsewhere/a%20b.py"}


# computed with the function `hash` of github/codeql-action, src/fingerprints.ts
HASHES = {
    "": ["c129715d7a2bc9a3:1"],
    "x = 1\r\n\r\n\ty = 2\r\r \nz": [
        *("7fa5b58c7185403d:1", "cb316a0bf6e01941:1", "66042db4af4313fb:1", "d14e489d3d22223d:1"),
        *("483058b3d6ce6067:1", "76dcabf80cb35c79:1"),
    ],
    " \n\t\n": ["5b5d4caf73a13177:1", "3c5bef55b72b93c9:1", "c129715d7a2bc9a3:1"],
    "wide 😀 名\nend\n": ["1a3f686bd2d2aaa9:1", "fe2be582c6296f40:1", "c129715d7a2bc9a3:1"],
    "same()\n" * 3 + "other\n": [
        *("d32ee9aaea4512c6:1", "20dfd66f67e497b1:1", "ed6306e3e7f016a0:1", "90d7f71d640f3bc3:1"),
        "c129715d7a2bc9a3:1",
    ],
}


@pytest.mark.parametrize("text", HASHES, ids=repr)
def test_the_hash_of_a_line_is_that_of_github(text: str) -> None:
    assert line_hashes(text) == HASHES[text]


@given(st.text(alphabet="ab \t\r\n😀é", max_size=300))
def test_every_line_has_one_hash_whatever_its_spaces(text: str) -> None:
    hashes = line_hashes(text)
    assert len(hashes) == len(set(hashes)) == len(Source("a", text).starts)
    assert line_hashes(text.replace("a", " a\t")) == hashes


def test_equal_lines_are_numbered() -> None:
    hashes = line_hashes("the same line, and long enough to fill the window on its own: " + "x" * 60 + "\n")
    many = line_hashes(("the same line, and long enough to fill the window on its own: " + "x" * 60 + "\n") * 3)
    assert [line.rpartition(":")[2] for line in many] == ["1", "2", "3", "1"]
    assert many[0] == hashes[0]


@pytest.mark.parametrize(
    ("source", "stored"),
    [
        (Source("a", "é", bom=True), "\ufeffé"),
        (Source("a", "é", encoding="latin-1"), "\ufffd"),
        (Source("a", "é"), "é"),
    ],
)
def test_a_text_as_github_reads_it(source: Source, stored: str) -> None:
    assert sarif.as_stored(source) == stored


def test_columns() -> None:
    source = SOURCES["src/a b.py"]
    for column, units, octets in ((1, 1, 1), (6, 6, 6), (7, 7, 9), (8, 9, 13), (40, 41, 45)):
        assert in_utf16(source, 4, column) == units
        assert in_utf8(source, 4, column) == octets
    assert (in_utf16(None, 4, 7), in_utf8(source, 99, 7)) == (7, 7)


def test_gitlab() -> None:
    entries = json.loads(gitlab.render(REPORT, AROUND))
    assert [entry["severity"] for entry in entries] == ["critical", "major", "info"]
    assert entries[0]["location"] == {"path": "src/a b.py", "lines": {"begin": 4, "end": 4}}
    assert entries[0]["description"] == FOUND.message
    assert entries[0]["check_name"] == "DTL101"
    assert len({entry["fingerprint"] for entry in entries}) == 3
    assert json.loads(gitlab.render(Report((), 0), AROUND)) == []


def test_an_identity_survives_a_moved_line() -> None:
    other = replace(FOUND, source="x = 1")
    moved = replace(FOUND, position=replace(FOUND.position, line=40), source="\t" + FOUND.source.replace(" ", "  "))
    assert list(identities([FOUND])) == list(identities([moved]))
    first, second, third = identities([FOUND, other, moved])
    assert len({first, second, third}) == 3
    assert list(identities([moved, FOUND])) == [first, third]


def test_junit() -> None:
    root = ET.fromstring(junit.render(REPORT, AROUND))
    assert root.attrib == {"name": "dtypelint", "tests": "4", "failures": "2", "errors": "0", "skipped": "1"}
    suite, clean = root
    assert suite.get("name") == "src/a b.py"
    assert [case[0].tag for case in suite] == ["failure", "failure", "skipped"]
    assert suite[0].get("classname") == "src.a b"
    assert suite[0][0].get("message") == FOUND.message
    assert "declared here" in (suite[0][0].text or "")
    assert clean[0].get("name") == "4 files without findings"
    root = ET.fromstring(junit.render(Report((), 0), AROUND))
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


def test_reviewdog() -> None:
    document = json.loads(rdjson.render(REPORT, AROUND))
    first, second, _ = document["diagnostics"]
    assert document["source"]["name"] == "dtypelint"
    assert [item["severity"] for item in document["diagnostics"]] == ["ERROR", "WARNING", "INFO"]
    assert first["location"] == {
        "path": "src/a b.py",
        "range": {"start": {"line": 4, "column": 23}, "end": {"line": 4, "column": 42}},
    }
    assert first["message"] == f"{FOUND.message}\nsrc/config.py:3: `b` declared here"
    assert first["suggestions"] == [
        {"range": {"start": {"line": 4, "column": 41}, "end": {"line": 4, "column": 41}}, "text": ", b=cfg.b"}
    ]
    assert "suggestions" not in second
    assert second["message"].endswith("fix withheld: two are in reach")


def test_reviewdog_suggests_what_one_file_holds() -> None:
    assert FOUND.fix
    two = (Edit(Location("src/a b.py", Span(0, 6)), "from"), *FOUND.fix.edits)
    found = replace(FOUND, fix=replace(FOUND.fix, edits=two))
    (suggestion,) = json.loads(rdjson.render(Report((found,), 1), AROUND))["diagnostics"][0]["suggestions"]
    assert suggestion["text"] == "from" + TEXT[6:].partition(")\n")[0].partition("cfg.a)")[0] + ", b=cfg.b"
    assert suggestion["range"]["start"] == {"line": 1, "column": 1}
    far = (Edit(Location("src/config.py", Span(0, 0)), "x"), *FOUND.fix.edits)
    for changed, around in ((far, AROUND), (two, replace(AROUND, text=lambda _: None))):
        found = replace(FOUND, fix=replace(FOUND.fix, edits=changed))
        assert "suggestions" not in json.loads(rdjson.render(Report((found,), 1), around))["diagnostics"][0]


@given(st.data())
def test_merged_edits_do_what_the_edits_do(draw: st.DataObject) -> None:
    text = draw.draw(st.text(alphabet="ab名\n", max_size=30))
    source = Source("a", text)
    cuts = draw.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6).map(sorted))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    offsets = [len(text[:cut].encode()) for cut in range(len(text) + 1)]
    edits = [Edit(Location("a", Span(offsets[first], offsets[last])), "new") for first, last in pairs]
    wanted = text
    for first, last in reversed(pairs):
        wanted = wanted[:first] + "new" + wanted[last:]
    span, inner = merged(source, edits)
    assert source.slice(Span(0, span.start)) + inner + source.slice(Span(span.end, len(source.data))) == wanted


def test_markdown() -> None:
    shown = markdown.render(REPORT, AROUND)
    assert shown.startswith(
        "## dtypelint: 1 error, 1 warning, 1 note in 5 files; fixable: 1 safe; 1 pedantic finding hidden (--pedantic)\n"
    )
    assert "| error | src/a b.py:4 | [DTL101](https://example.org/dropped.md) | `b` is left out \\| &lt;b> |\n" in shown
    assert "```python\n'名😀'; return Policy(param=cfg.a)\n```\n" in shown
    assert "src/config.py:3: `b` declared here" in shown
    assert "-    '名😀'; return Policy(param=cfg.a)\n+    '名😀'; return Policy(param=cfg.a, b=cfg.b)\n" in shown
    assert "Fix withheld: two are in reach" in shown
    assert markdown.render(Report((), 3), AROUND) == "## dtypelint: no findings in 3 files\n\n"


def test_markdown_links_to_the_commit() -> None:
    around = replace(AROUND, blob="https://github.com/o/r/blob/abc")
    assert "[src/a b.py:4](https://github.com/o/r/blob/abc/src/a%20b.py#L4)" in markdown.render(REPORT, around)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("plain", "plain"),
        ("a_b *c* [d](e) <f> | #g", "a\\_b \\*c\\* \\[d\\](e) &lt;f> \\| \\#g"),
        ("`a_b` and `c|d`", "`a_b` and `c\\|d`"),
        ("one ` <", "one \\` &lt;"),
        ("a\nb", "a\\\\nb"),
        ("@everyone $x$", "\\@everyone \\$x\\$"),
    ],
)
def test_words_stay_words_in_markdown(words: str, shown: str) -> None:
    assert markdown.inline(words) == shown


@given(st.text(alphabet="`~a\n ", max_size=30))
def test_code_stays_in_its_fence(code: str) -> None:
    first, *lines, last, _, _ = markdown.fenced(code, "python").split("\n")
    assert first == f"{last}python"
    assert set(last) == {"`"}
    assert not any(line.strip().startswith(last) for line in lines)
    assert len(lines) == code.count("\n") + 1


def test_a_long_summary_is_cut_with_a_count() -> None:
    long = replace(FOUND, message="m" * 400, source="s" * 3000)
    many = Report((long,) * 1500, files=1)
    shown = markdown.render(many, AROUND)
    assert len(shown.encode()) <= 900_000
    rows, details = shown.count("\n| error |"), shown.count("\n### ")
    assert f"{1500 - rows} more findings not shown in this table: see the log." in shown
    assert shown.endswith(f"{1500 - details} more findings not shown in detail: see the log.\n\n")
    assert 0 < details < rows < 1500


def test_a_diff_needs_the_text() -> None:
    assert FOUND.fix
    assert diff(FOUND.fix, AROUND).startswith("--- a/src/a b.py\n+++ b/src/a b.py\n@@ -2,4 +2,4 @@")
    assert diff(FOUND.fix, replace(AROUND, text=lambda _: None)) == ""
    deleted = Fix("d", Safety.UNSAFE, (Edit(Location("src/config.py", Span(9, 19)), ""),))
    assert "-    a = 1" in diff(deleted, AROUND)


def many(severity: Severity, count: int, **changes: Any) -> list[Finding]:
    return [
        replace(PLAIN, severity=severity, position=replace(PLAIN.position, line=n + 1), **changes) for n in range(count)
    ]


PLAIN = replace(BARE, fix_withheld=None, position=Position("a.py", 1, 1, 1, 2))


def commands(findings: list[Finding]) -> list[str]:
    return github.render(Report(tuple(findings), 1), AROUND).splitlines()


def test_the_slots_of_github_are_enough() -> None:
    findings = [*many(Severity.ERROR, 10), *many(Severity.WARNING, 10), *many(Severity.NOTE, 10)]
    assert len(commands(findings)) == 30
    assert not any("more finding" in line for line in commands(findings))


@pytest.mark.parametrize(
    ("errors", "warnings", "notes"), [(11, 0, 0), (0, 11, 0), (0, 0, 11), (15, 10, 12), (3, 40, 0)]
)
def test_the_last_warning_counts_what_github_does_not_show(errors: int, warnings: int, notes: int) -> None:
    findings = [*many(Severity.ERROR, errors), *many(Severity.WARNING, warnings), *many(Severity.NOTE, notes)]
    lines = commands(findings)
    for word in ("error", "warning", "notice"):
        assert sum(line.startswith(f"::{word} ") for line in lines) <= 10
    left = errors + warnings + notes - (len(lines) - 1)
    assert lines[-1].startswith(f"::warning title=dtypelint::{left} more finding")


def test_the_slots_of_github_go_to_the_surest_and_the_most_various() -> None:
    repeated = many(Severity.ERROR, 12)
    unsure = many(Severity.ERROR, 1, confidence=Confidence.MEDIUM, code="DTL502")
    other = many(Severity.ERROR, 1, code="DTL205")
    shown = github.chosen([*repeated, *unsure, *other])
    assert [finding.code for finding in shown] == ["DTL101", "DTL205", *["DTL101"] * 8]
    assert [finding.position.line for finding in shown if finding.code == "DTL101"] == list(range(1, 10))
    assert unsure[0] in github.chosen([*repeated[:8], *unsure])


def test_annotations_behind_the_text_are_folded() -> None:
    folded = github.group(REPORT, AROUND).splitlines()
    assert (folded[0], folded[-1], len(folded)) == ("::group::dtypelint annotations", "::endgroup::", 5)
    assert github.group(Report((), 1), AROUND) == ""


def test_text_that_looks_like_a_command_is_not_run() -> None:
    assert github.protected("a\n") == "a\n"
    text = " ::error::x\na ##[error]y\n"
    read = Step().read(github.protected(text) + github.group(REPORT, AROUND))
    assert read.text == text.splitlines()
    assert [issue.kind for issue in read.issues] == ["error", "warning", "notice"]


def test_the_base_of_the_paths(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = work / "pkg" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert base({}) == inner
    (work / ".git").mkdir()
    assert base({}) == work
    assert base({"GITHUB_WORKSPACE": str(work / "pkg")}) == work / "pkg"
    assert base({"CI_PROJECT_DIR": str(work / "pkg")}) == work / "pkg"
    assert base({"GITHUB_WORKSPACE": str(work / "other"), "CI_PROJECT_DIR": ""}) == work
    (inner / "link.py").symlink_to(work / "pkg" / "real.py")
    (inner / "out.py").symlink_to("/nowhere/real.py")
    around = Surroundings(work)
    assert around.path("a.py") == "pkg/deep/a.py"
    assert around.path("../a.py") == "pkg/a.py"
    assert around.path("link.py") == "pkg/real.py"
    assert around.path("out.py") == "pkg/deep/out.py"
    assert Surroundings(inner).path("../a.py") == "../a.py"


def test_the_address_of_the_commit() -> None:
    environment = {"GITHUB_SERVER_URL": "https://g", "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "abc"}
    assert blob(environment) == "https://g/o/r/blob/abc"
    assert blob({**environment, "GITHUB_SHA": ""}) is None
    assert Surroundings(Path("/")).link("a.py", 1) is None
