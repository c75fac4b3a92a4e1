"""The pipeline, with rules and facts of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, Text, add_check

from dtypelint import check, engine, forks
from dtypelint.engine import Options, run
from dtypelint.finding import Confidence, Finding, Hit, Location, Position, Related, Report, Safety, Severity, Span
from dtypelint.forks import Lost, spread
from dtypelint.settings import Flags

pytestmark = pytest.mark.usefixtures("house")


def report(files: dict[str, str], *, flags: Flags | None = None, **options: Any) -> Report:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return run([Path()], Options(flags=flags or Flags(), **options))


def short(found: Report) -> list[str]:
    return [f"{item.position.path}:{item.position.line} {item.code}" for item in found.findings]


def test_findings_come_in_order(work: Path) -> None:
    found = report({"b.py": "sink\n\nsink sink\n", "a.py": "\ngrade_note\n", "c/d.py": "x"})
    assert short(found) == ["a.py:2 DTL102", "b.py:1 DTL101", "b.py:3 DTL101", "b.py:3 DTL101"]
    assert [item.position.column for item in found.findings] == [1, 1, 1, 6]
    assert (found.files, found.hidden, found.failed, found.internal) == (3, 0, True, ())


def test_a_finding_holds_everything_a_report_needs(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é = setting\n\nf(é, sink_fixed(\n    a,\n), b)\n"
    report({"src/pyproject.toml": "", "src/pkg/a.py": text})
    (work / "here").mkdir()
    monkeypatch.chdir(work / "here")
    (found,) = run([Path("../src")], Options()).findings
    assert found == Finding(
        code="DTL101",
        name="lost-sink",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="`sink_fixed` is lost",
        position=Position("../src/pkg/a.py", 3, 6, 5, 2),
        source="f(é, sink_fixed(\n    a,\n), b)",
        related=found.related,
        fix=found.fix,
        fix_positions=(Position("../src/pkg/a.py", 3, 6, 3, 6),),
        url=found.url,
        settings=(Position("../src/pkg/a.py", 1, 5, 1, 12),),
    )
    (note,) = found.related
    assert (note.position, note.message, note.source) == (
        Position("../src/pkg/a.py", 1, 5, 1, 12),
        "declared here",
        "é = setting",
    )
    assert found.fix
    assert (found.fix.safety, found.fix.description) == (Safety.SAFE, "rename it")
    assert [(edit.location.path, edit.text) for edit in found.fix.edits] == [("../src/pkg/a.py", "new_")]
    assert found.url.endswith("/rules/lost-sink.md")


def test_a_place_in_another_file_is_shown_from_there(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(facts: Text) -> Any:
        yield Hit(Span(0, 4), "lost", Confidence.HIGH, (Related(Location("conf/é.py", Span(5, 7)), "declared here"),))

    add_check(monkeypatch, "lost-sink", elsewhere)
    found = report({"conf/é.py": "é = é\n", "a.py": "sink"})
    assert [note.position for note in found.findings[0].related] == [Position("conf/é.py", 1, 5, 1, 6)]


def test_low_confidence_is_counted_and_hidden(work: Path) -> None:
    files = {"a.py": "sink_low\nsink\n"}
    found = report(files)
    assert (short(found), found.hidden) == (["a.py:2 DTL101"], 1)
    found = report(files, flags=Flags(pedantic=True))
    assert (short(found), found.hidden) == (["a.py:1 DTL101", "a.py:2 DTL101"], 0)


def test_a_hidden_finding_does_not_fail_the_run(work: Path) -> None:
    assert not report({"a.py": "sink_low"}).failed


@pytest.mark.parametrize(
    ("gate", "grade", "failed"),
    [
        ("error", "error", True),
        ("error", "warning", False),
        ("warning", "warning", True),
        ("warning", "note", False),
        ("note", "note", True),
        ("never", "error", False),
    ],
)
def test_the_gate_decides_on_failure(work: Path, gate: str, grade: str, failed: bool) -> None:
    found = report({"a.py": f"grade_{grade}"}, flags=Flags(fail_on=gate))
    assert [item.severity for item in found.findings] == [grade]
    assert found.failed is failed


def test_the_same_hit_is_reported_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_check(monkeypatch, "lost-sink", lambda facts: [Hit(Span(0, 4), "lost", Confidence.HIGH)] * 2)
    assert short(report({"a.py": "sink"})) == ["a.py:1 DTL101"]


def test_a_neighbour_that_cannot_be_read_is_none(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: Project, path: str) -> Text:
        return Text(path, f"sink({self.read('gone.py')}, {self.read('odd.py')}, {self.read('b.py')})", {})

    monkeypatch.setattr(Project, "facts", ask)
    add_check(monkeypatch, "lost-sink", lambda facts: [Hit(Span(0, 4), facts.text, Confidence.HIGH)])
    (work / "odd.py").write_bytes(b"\xff")
    found = report({"a.py": "sink", "b.py": "x"})
    assert found.findings[0].message == "sink(None, None, x)"


def test_settings_follow_the_file(work: Path) -> None:
    found = report(
        {
            "a.py": "sink grade_note",
            "in/b.py": "sink grade_note",
            "in/dtypelint.toml": 'select = ["DTL102"]\nfail-on = "note"',
            "tests/c.py": "sink grade_note",
            "dtypelint.toml": '[per-file-ignores]\n"tests/**" = ["DTL1"]',
        }
    )
    assert short(found) == ["a.py:1 DTL101", "a.py:1 DTL102", "in/b.py:1 DTL102"]
    assert found.failed


def test_targets_reach_the_facts(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(facts: Text) -> Any:
        yield Hit(Span(0, 4), str(facts.targets), Confidence.HIGH)

    add_check(monkeypatch, "lost-sink", judged)
    found = report({"a.py": "sink"}, flags=Flags(targets=("torch=2.13",)))
    assert found.findings[0].message == "{'torch': '2.13'}"


def test_one_cause_is_reported_once(work: Path) -> None:
    assert short(report({"a.py": "setting\nsink\n", "b.py": "setting\n"})) == ["a.py:2 DTL101", "b.py:1 DTL601"]
    assert short(report({"a.py": "setting\nsink # dtypelint: ignore[DTL101]\n"})) == ["b.py:1 DTL601"]
    assert short(report({"a.py": "setting\nsink_low\n"})) == ["a.py:1 DTL601", "b.py:1 DTL601"]
    assert short(report({"a.py": "setting\nsink\n"}, flags=Flags(select=("DTL601",)))) == [
        "a.py:1 DTL601",
        "b.py:1 DTL601",
    ]


IGNORED = "sink  # dtypelint: ignore[DTL101] known\n"


def test_a_comment_suppresses_its_finding(work: Path) -> None:
    assert short(report({"a.py": IGNORED})) == []
    assert short(report({"a.py": IGNORED.replace("DTL101", "lost-sink")})) == []
    assert short(report({"a.py": IGNORED}, ignores=False)) == ["a.py:1 DTL101"]


def test_an_unused_comment_is_reported(work: Path) -> None:
    files = {"a.py": IGNORED.replace("DTL101", "DTL101, DTL601") + "x = 1  # dtypelint: file-ignore[DTL102]\n"}
    found = report(files)
    assert [item.message.split("`")[1] for item in found.findings] == ["DTL601", "DTL102"]
    assert [item.source[item.position.column - 1 : item.position.end_column - 1] for item in found.findings] == [
        "# dtypelint: ignore[DTL101, DTL601]",
        "# dtypelint: file-ignore[DTL102]",
    ]
    assert {item.code for item in found.findings} == {"DTL001"}
    assert found.findings[0].severity is Severity.WARNING
    assert short(report(files, flags=Flags(ignore=("DTL001",)))) == []
    assert short(report(files, ignores=False)) == ["a.py:1 DTL101"]


def test_a_comment_is_judged_although_its_rule_is_not_selected(work: Path) -> None:
    files = {"a.py": IGNORED + "x # dtypelint: ignore[DTL101]\n"}
    assert short(report(files, flags=Flags(select=("DTL001",)))) == ["a.py:2 DTL001"]
    assert short(report(files, flags=Flags(select=("DTL102",)))) == []


def test_a_comment_for_a_hidden_finding_is_used(work: Path) -> None:
    found = report({"a.py": IGNORED.replace("sink", "sink_low")})
    assert (short(found), found.hidden) == ([], 0)


def test_an_unknown_code_is_reported(work: Path) -> None:
    found = report({"a.py": "x = 1  # dtypelint: ignore[DTL1, nonsense]\ny = 2  # dtypelint: ignore\n"})
    assert short(found) == ["a.py:1 DTL002", "a.py:1 DTL002", "a.py:2 DTL002"]
    assert "no blanket form" in found.findings[2].message


def test_what_is_said_of_comments_can_be_suppressed(work: Path) -> None:
    text = (
        "# dtypelint: file-ignore[DTL001]\nx = 1  # dtypelint: ignore[DTL101]\n# dtypelint: ignore[DTL002, nonsense]\n"
    )
    assert short(report({"a.py": text})) == []


def test_a_file_that_cannot_be_parsed_is_a_finding(work: Path) -> None:
    found = report(
        {
            "a.py": "sink\nunparsable x\n",
            "b.py": "unparsable",
            "c.py": "# dtypelint: file-ignore[DTL000]\nunparsable sink",
        }
    )
    (item,) = found.findings
    assert (item.code, item.severity, item.message) == ("DTL000", Severity.ERROR, "does not parse: made up")
    assert (item.position, item.source) == (Position("a.py", 2, 1, 2, 13), "unparsable x")
    assert found.failed
    assert not found.internal
    assert short(report({}, flags=Flags(select=("DTL1",)))) == ["a.py:2 DTL000"]
    assert short(report({}, flags=Flags(ignore=("DTL000",)))) == []
    assert short(report({}, ignores=False)) == ["a.py:2 DTL000", "c.py:2 DTL000"]


def test_a_file_that_cannot_be_decoded_is_a_finding(work: Path) -> None:
    (work / "a.py").write_bytes(b"sink = '\xe9'")
    (work / "b.py").write_bytes("sink".encode("utf-16"))
    (work / "c.py").write_bytes(b"\xe9")
    found = run([Path()], Options())
    assert short(found) == ["a.py:1 DTL000", "b.py:1 DTL000"]
    assert "utf-8" in found.findings[0].message


def test_a_file_that_cannot_be_read_is_a_finding(work: Path) -> None:
    os.mkfifo(work / "pipe.py")
    found = run([Path("pipe.py")], Options())
    assert [item.message for item in found.findings] == ["cannot be read: not a regular file"]


def test_a_line_behind_the_end_has_no_source(work: Path) -> None:
    (item,) = report({"a.py": "sink unparsable"}).findings
    assert (item.position, item.source) == (Position("a.py", 2, 1, 2, 1), "")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("crash_here", "`crashing-check`: ValueError"),
        ("crash_outside", "`crashing-check`: ValueError"),
        ("sink bad facts", "its facts: KeyError"),
    ],
)
def test_a_defect_costs_one_rule_of_one_file(work: Path, text: str, where: str) -> None:
    found = report({"a.py": f"{text} grade_note", "b.py": "sink"})
    (defect,) = (item for item in found.findings if item.code == "DTL000")
    assert f"internal error in {where}" in defect.message
    assert "please report it" in defect.message
    assert (defect.position.path, defect.position.line) == ("a.py", 1)
    assert "b.py:1 DTL101" in short(found)
    assert ("a.py:1 DTL102" in short(found)) is text.startswith("crash")
    assert [f"Traceback{part}" for part in found.internal[0].split("Traceback")[1:]]


def test_hits_before_a_crash_are_kept(work: Path) -> None:
    assert short(report({"a.py": "crash_late"})) == ["a.py:1 DTL000", "a.py:1 DTL203"]


def test_a_defect_is_shown_whatever_is_ignored(work: Path) -> None:
    assert short(report({"a.py": "crash_here"}, flags=Flags(ignore=("DTL000",)))) == ["a.py:1 DTL000"]


def test_a_rule_without_a_check_is_passed_by(work: Path, house: Path) -> None:
    page = (house / "lost-sink.md").read_text().replace("lost-sink", "no-check").replace("DTL101", "DTL199")
    (house / "no-check.md").write_text(page)
    assert short(report({"a.py": "sink"})) == ["a.py:1 DTL101"]


def test_a_file_without_a_trigger_is_not_parsed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def note(self: Project, path: str) -> Text:
        parsed.append(path)
        return Text(path, "", {})

    monkeypatch.setattr(Project, "facts", note)
    report({"a.py": "x = 1\n", "b.py": "sink\n", "c.py": "# dtypelint: ignore[DTL102]"})
    assert parsed == ["b.py"]
    report({}, prefilter=False)
    assert parsed == ["b.py", "a.py", "b.py", "c.py"]


def test_the_standard_input_stands_for_a_file(work: Path) -> None:
    (work / "pkg").mkdir()
    (work / "pkg" / "dtypelint.toml").write_text('ignore = ["DTL102"]')
    found = run([], Options(stdin=(Path("pkg/new.py"), b"sink grade_note")))
    assert short(found) == ["pkg/new.py:1 DTL101"]
    (work / "pkg" / "new.py").write_text("")
    found = run([Path("pkg")], Options(stdin=(Path("pkg/new.py"), b"sink grade_note")))
    assert (short(found), found.files) == (["pkg/new.py:1 DTL101"], 1)


def test_long_findings_are_cut(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = report({"a.py": f"sink({'x' * 9000}\n" + "y\n" * 50 + ")\n"})
    lines = found.findings[0].source.split("\n")
    assert (len(lines), len(lines[0])) == (20, 4000)
    assert found.findings[0].position.end_line == 52


MANY = {f"f{number:02}.py": f"{'x ' * number}sink\nsetting\n" for number in range(40)}


def test_workers_change_nothing(work: Path) -> None:
    alone = report({**MANY, "s.py": "setting"}, jobs=1)
    assert len(alone.findings) == 41
    assert run([Path()], Options(jobs=3)) == alone
    assert run([Path()], Options()) == alone


def test_a_worker_that_dies_costs_its_file(work: Path) -> None:
    found = report({**MANY, "f07.py": "crash_kill", "f31.py": "crash_kill"}, jobs=2)
    lost = [item for item in found.findings if item.code == "DTL000"]
    assert [item.position.path for item in lost] == ["f07.py", "f31.py"]
    assert all("its process died: Killed" in item.message for item in lost)
    assert sum(item.code == "DTL101" for item in found.findings) == 38
    assert len(found.internal) == 2


def test_a_worker_that_hangs_costs_its_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(facts: Text) -> Any:
        if facts.path == "f07.py":
            time.sleep(60)
        return []

    add_check(monkeypatch, "lost-sink", hang)
    monkeypatch.setattr(engine, "LIMIT", 0.5)
    found = report(MANY, jobs=2, flags=Flags(select=("DTL101",)))
    assert [item.position.path for item in found.findings] == ["f07.py"]
    assert "took longer than 0.5 seconds" in found.findings[0].message


def test_without_fork_the_work_is_done_here(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    monkeypatch.setattr(forks, "spread", None)
    assert engine.cores() == 1
    assert len(report(MANY, jobs=2).findings) == 40


def test_pieces_keep_their_order() -> None:
    assert spread(lambda piece: piece * piece, 30, 4, 60) == [piece * piece for piece in range(30)]


def test_every_process_may_die() -> None:
    def die(piece: int) -> int:
        os._exit(3)

    assert spread(die, 4, 2, 60) == [Lost("its process died: exit status 3")] * 4


def test_an_interrupt_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = forks._start

    def note(*args: Any) -> Any:
        started.append(start(*args))
        return started[-1]

    def interrupt(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(forks, "_start", note)
    monkeypatch.setattr(forks, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        spread(lambda piece: time.sleep(60), 4, 2, 600)
    assert len(started) == 2
    assert all(worker.process.exitcode is not None for worker in started)


def test_the_python_api(work: Path) -> None:
    report({"a.py": "sink sink_low\n", "b.py": IGNORED})
    assert [item.code for item in check(["a.py"])] == ["DTL101"]
    assert [item.code for item in check([work], pedantic=True, ignores=False, jobs=1)] == ["DTL101"] * 3
    assert check([work], select=["DTL102"]) == []
    assert check([work], ignore=["lost-sink"], exclude=["b.py"], isolated=True) == []
    (work / "own.toml").write_text('select = ["DTL102"]')
    assert check([work], config="own.toml") == []
    assert [item.code for item in check([work], config="own.toml", extend_select=["DTL1"])] == ["DTL101"]
