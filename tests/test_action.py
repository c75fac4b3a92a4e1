"""The action: its script with the variables of a runner, and its log as a runner reads it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import git
from ruamel.yaml import YAML
from runner import Step, parse

HERE = Path(__file__).parent.parent
ACTION = YAML(typ="safe").load((HERE / "action.yml").read_text(encoding="utf-8"))
BUG = """import torch


def cast(model):
    for parameter in model.parameters():
        parameter = parameter.to(torch.float32)
"""


def variable(name: str) -> str:
    return "DTYPELINT_" + name.upper().replace("-", "_")


def step(folder: Path, **inputs: str) -> tuple[int, Step, dict[str, str], str]:
    """Exit status, the log as it was read, the outputs and the summary of a step with these inputs."""
    runner = folder.parent / "runner"
    runner.mkdir(exist_ok=True)
    program = runner / "dtypelint"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dtypelint "$@"\n')
    program.chmod(0o755)
    output, summary = runner / "output", runner / "summary"
    output.write_text("")
    summary.write_text("earlier\n")
    values = {name: str(about["default"]) for name, about in ACTION["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {
        **os.environ,
        **{variable(name): value for name, value in values.items()},
        "DTYPELINT_PYTHON": "",
        "PYTHONPATH": str(HERE),
        "PATH": f"{runner}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_ACTION_PATH": str(HERE),
        "RUNNER_TEMP": str(runner),
    }
    done = subprocess.run(
        ["bash", str(HERE / "tools" / "action.sh")],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert not list(runner.glob("dtypelint.*"))
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, Step().read(done.stdout + done.stderr), outputs, summary.read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work space"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "train.py").write_text(BUG)
    (folder / "pyproject.toml").write_text("")
    return folder


def test_a_run_with_findings(project: Path) -> None:
    status, log, outputs, summary = step(project)
    assert status == 1
    assert outputs == {"exit-code": "1", "findings": "1", "errors": "1", "fixable": outputs["fixable"]}
    (issue,) = log.issues
    assert (issue.kind, issue.place["file"], issue.place["line"]) == ("error", "pkg/train.py", "6")
    assert issue.place["title"] == "dtypelint DTL502: rebound-parameter-cast"
    assert log.text[0].startswith("pkg/train.py:6:9: error[DTL502]")
    assert [command.name for command in log.others] == ["group", "endgroup"]
    assert not log.token
    assert summary.startswith("earlier\n## dtypelint: 1 error in ")


def test_a_clean_run(project: Path) -> None:
    (project / "pkg" / "train.py").write_text("")
    status, log, outputs, summary = step(project)
    assert (status, log.issues, log.others) == (0, [], [])
    assert outputs == {"exit-code": "0", "findings": "0", "errors": "0", "fixable": "0"}
    assert "no findings" in summary


def test_inputs_switch_things_off(project: Path) -> None:
    status, log, outputs, summary = step(project, annotations="false", summary="false", fail_on="never")
    assert (status, outputs["findings"], log.issues, summary) == (0, "1", [], "earlier\n")


@pytest.mark.parametrize("name", ["annotations", "summary"])
def test_a_flag_is_true_or_false(project: Path, name: str) -> None:
    status, log, _, _ = step(project, **{name: "$(touch evil)"})
    assert status == 2
    assert log.issues[0].message == f"the input {name} is true or false"
    assert not (project / "evil").exists()


def test_inputs_reach_the_tool(project: Path) -> None:
    (project / "other.toml").write_text('ignore = ["DTL502"]\n')
    assert step(project, config="other.toml")[2]["findings"] == "0"
    assert step(project, select="DTL1,DTL2")[2]["findings"] == "0"
    assert step(project, paths="nothing here\n")[0] == 2
    assert step(project, paths="pkg/train.py\r\n\npyproject.toml\n")[2]["findings"] == "1"
    (project / "b.json").write_text('{"version": 1, "findings": []}')
    assert step(project, baseline="b.json")[2]["findings"] == "1"
    step(project, sarif_file="out.sarif")
    assert '"2.1.0"' in (project / "out.sarif").read_text()
    git("-C", str(project), "init", "-q")
    git("-C", str(project), "add", "-A")
    git("-C", str(project), "commit", "-qm", "x")
    assert step(project, diff_base="HEAD")[2]["findings"] == "0"


@pytest.mark.parametrize("name", ["paths", "config", "select", "fail-on", "baseline", "diff-base", "sarif-file"])
@pytest.mark.parametrize(
    "value", ["x$(touch evil) `touch evil`; touch evil\"; touch evil; '; touch evil", "--output=text=evil"]
)
def test_no_input_is_read_as_shell_or_as_an_option(project: Path, name: str, value: str) -> None:
    step(project, **{name: value})
    assert not (project / "evil").exists()


def test_a_broken_run_says_so(project: Path) -> None:
    status, log, outputs, summary = step(project, select="DTL9999")
    assert (status, outputs) == (2, {"exit-code": "2"})
    assert any("unknown rule `DTL9999`" in line for line in log.text)
    assert summary == "earlier\n"


def test_checked_code_gives_no_command(project: Path) -> None:
    text = BUG.replace(
        "(torch.float32)", '("""\n::error::one\n ::add-mask::two\n##[error]three\n::stop-commands::four""")'
    )
    (project / "pkg" / "train.py").write_text(text)
    _, log, outputs, _ = step(project)
    assert outputs["findings"] == "1"
    assert len(log.issues) == 1
    assert [command.name for command in log.others] == ["group", "endgroup"]


def test_more_than_the_slots(project: Path) -> None:
    for number in range(14):
        (project / "pkg" / f"train{number}.py").write_text(BUG)
    _, log, outputs, _ = step(project)
    assert outputs["findings"] == "15"
    assert log.dropped == 0
    assert [issue.kind for issue in log.issues] == ["error"] * 10 + ["warning"]
    assert log.issues[-1].message == "5 more findings: see the job summary or the log"


def test_every_input_and_output_is_used() -> None:
    script = (HERE / "tools" / "action.sh").read_text(encoding="utf-8")
    python, check = ACTION["runs"]["steps"]
    expected = {variable(name): f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    del expected[variable("python-version")]
    assert check["env"] == {**expected, "DTYPELINT_PYTHON": "${{ steps.python.outputs.python-path }}"}
    assert python["with"] == {"python-version": "${{ inputs.python-version }}", "update-environment": False}
    assert set(re.findall(r"DTYPELINT_\w+", script)) == set(check["env"])
    assert set(re.findall(r'(?:echo |print\()"([\w-]+)=', script)) == set(ACTION["outputs"])
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.check.outputs.{name} }}}}"


def test_no_expression_stands_in_shell() -> None:
    runs = [item["run"] for item in ACTION["runs"]["steps"] if "run" in item]
    assert runs
    assert not [run for run in runs if "${{" in run]
    assert "${{" not in (HERE / "tools" / "action.sh").read_text(encoding="utf-8")


def test_actions_are_pinned_to_a_commit() -> None:
    for path in (HERE / "action.yml", *(HERE / ".github" / "workflows").glob("*.yml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\s*(?:- )?uses: (?P<action>\S+)", line):
                assert re.fullmatch(r"\./|[\w/-]+@[0-9a-f]{40}", found["action"]), line


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("::error file=a%2Cb.py,line=1,Title=x%3Ay::m%0An: a, b", ("error", {"file": "a,b.py", "line": "1", "title": "x:y"}, "m\nn: a, b")),
        ("  ::endgroup::", ("endgroup", {}, "")),
        ("text ##[error]three", ("error", {}, "three")),
        ("x ::error::y", None),
        ("::error", None),
    ],
)  # fmt: skip
def test_the_port_of_the_runner(line: str, command: object) -> None:
    assert parse(line) == command
