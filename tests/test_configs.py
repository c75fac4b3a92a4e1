"""Configuration files from the outside: what is left out, suppressed, refused and repaired."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dtypelint
from dtypelint.cli import main
from dtypelint.finding import Finding, Severity

BARE = "distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: no{comment}\n"


def check(*paths: str, **options: object) -> list[Finding]:
    return dtypelint.check([Path(path) for path in paths or (".",)], isolated=True, **options)  # type: ignore[arg-type]


def fixed(text: str, finding: Finding) -> str:
    assert finding.fix
    data = text.encode()
    for edit in sorted(finding.fix.edits, key=lambda each: each.location.span, reverse=True):
        data = data[: edit.location.span.start] + edit.text.encode() + data[edit.location.span.end :]
    return data.decode()


def test_no_configs_leaves_them_out(work: Path) -> None:
    (work / "a.yaml").write_text(BARE.format(comment=""))
    (work / "a.py").write_text("x = 1\n")
    shown = CliRunner().invoke(main, ["check", "--isolated", "--format", "concise", "."])
    assert "a.yaml:3:" in shown.output
    hidden = CliRunner().invoke(main, ["check", "--isolated", "--no-configs", "--format", "concise", "."])
    assert (hidden.exit_code, hidden.output) == (0, "no findings in 1 file\n")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (BARE.format(comment=""), ["DTL606"]),
        (BARE.format(comment="  # dtypelint: ignore[DTL606] loaded by us"), []),
        (BARE.format(comment="  # dtypelint: ignore[yaml-boolean-precision]"), []),
        (BARE.format(comment="  # dtypelint: ignore[DTL303]"), ["DTL001", "DTL606"]),
        ("# dtypelint: file-ignore[DTL606]\n" + BARE.format(comment=""), []),
        (BARE.replace("mixed", "# dtypelint: ignore[DTL606]\nmixed").format(comment=""), []),
        (BARE.format(comment="") + "note: '# dtypelint: ignore[DTL606]'\n", ["DTL606"]),
        (BARE.format(comment="") + "note: |\n  # dtypelint: file-ignore[DTL606]\n", ["DTL606"]),
        (BARE.format(comment="") + 'note: "a # dtypelint: file-ignore[DTL606]"\n', ["DTL606"]),
        (BARE.format(comment="  # dtypelint: ignore[DTL999]"), ["DTL002", "DTL606"]),
    ],
)
def test_a_comment_suppresses(work: Path, text: str, codes: list[str]) -> None:
    (work / "a.yaml").write_text(text)
    assert sorted(finding.code for finding in check()) == codes


def test_json_is_suppressed_by_the_settings(work: Path) -> None:
    text = {"distributed_type": "MULTI_GPU", "num_processes": 2, "mixed_precision": "half"}
    (work / "a.json").write_text(json.dumps(text))
    assert [finding.code for finding in check()] == ["DTL607"]
    (work / "dtypelint.toml").write_text('[per-file-ignores]\n"*.json" = ["DTL607"]\n')
    assert not dtypelint.check([work])


def test_a_shell_comment_suppresses(work: Path) -> None:
    (work / "run.sh").write_text(
        "accelerate launch --mixed_precision fp8 a.py  # dtypelint: ignore[DTL301]\n"
        "# dtypelint: ignore[DTL301]\naccelerate launch --mixed_precision fp8 b.py\n"
    )
    assert not check()


BOMB = "a0: &a0 {fp8: 1}\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60))


HOSTILE = [
    ("big.yaml", "mixed_precision: no\n" + "x: y\n" * 1_000_000, "larger than 512 kB"),
    ("bomb.yaml", BOMB, "its anchors stand for over"),
    ("cycle.yaml", "fp8: &a\n  b: *a\n", "an anchor holds itself"),
    ("deep.json", '{"fp8": ' * 10_000, "nested too deeply"),
    ("deep.yaml", "fp8: " + "[" * 10_000, "nested too deeply"),
    ("broken.yaml", "distributed_type: FSDP\nmixed_precision: [fp8\n", "does not parse as YAML"),
    ("broken.json", '{"distributed_type": "FSDP", "mixed_precision": "fp8",}', "does not parse as JSON"),
    ("latin.yaml", "mixed_precision: fp8 # \udce9\n", "not in UTF-8"),
]


@pytest.mark.parametrize(("name", "text", "reason"), HOSTILE)
def test_what_cannot_be_checked_is_named(work: Path, name: str, text: str, reason: str) -> None:
    (work / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    (finding,) = check()
    assert (finding.code, finding.severity) == ("DTL000", Severity.NOTE)
    assert reason in finding.message


# `ru_maxrss` would be that of the process that forked this one
MEASURED = """
import re, sys, time, dtypelint
from pathlib import Path

found = dtypelint.check([Path(sys.argv[1])], isolated=True)
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
print(len(found), time.process_time(), peak[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("name", "text", "reason"), HOSTILE)
def test_what_cannot_be_checked_costs_little(work: Path, name: str, text: str, reason: str) -> None:
    (work / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    run = subprocess.run([sys.executable, "-c", MEASURED, name], capture_output=True, text=True, check=True, timeout=60)
    count, seconds, kilobytes = run.stdout.split()
    assert int(count) == 1, reason
    assert float(seconds) < 2
    assert int(kilobytes) < 300_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "x: y\n" * 1_000_000),
        ("helm.yaml", "distributed_type: {{ .Values.kind }}\nmixed_precision: fp8\n{{- end }}\n"),
        ("lines.json", '{"dtype": "fp8"}\n{"dtype": "bf16"}\n'),
        ("empty.json", ""),
        ("docs.yaml", "--- \n---\n- mixed_precision: no\n"),
        ("wide.yaml", "\ufeffmixed_precision: no\n".encode("utf-16").decode("latin-1")),
    ],
)
def test_what_is_no_configuration_is_left_alone(work: Path, name: str, text: str) -> None:
    (work / name).write_bytes(text.encode("latin-1" if name == "wide.yaml" else "utf-8"))
    assert not check()


def test_a_byte_order_mark_moves_nothing(work: Path) -> None:
    (work / "a.yaml").write_bytes(b"\xef\xbb\xbf" + BARE.format(comment="").encode())
    (finding,) = check()
    assert (finding.position.line, finding.position.column) == (3, 18)


def test_every_document_is_judged(work: Path) -> None:
    (work / "a.yaml").write_text(BARE.format(comment="") + "---\n" + BARE.format(comment=""))
    assert [finding.position.line for finding in check()] == [3, 7]


LINES = [
    "compute_environment: LOCAL_MACHINE",
    "# a comment: with {braces} and 'quotes'",
    "",
    "num_processes:    8",
    'machine_rank: "0"   # é',
    "debug: &flag false",
    "use_cpu: *flag",
    "gpu_ids: [0,   1]",
    "tpu_env:",
]
WRONG = {
    "mixed_precision: no": ("mixed_precision: 'no'", "DTL606"),
    "mixed_precision: off # why": ("mixed_precision: 'off' # why", "DTL606"),
    "fp8_config: {backend: te,   margin: 1}\nmixed_precision: fp8": (
        "fp8_config: {backend: TE,   margin: 1}\nmixed_precision: fp8",
        "DTL302",
    ),
    "mixed_precision: fp8\nfp8_config:\n    backend:   'MSAMP'\n    # level\n    'optimization_level' : O2": (
        "mixed_precision: fp8\nfp8_config:\n    backend:   'MSAMP'\n    # level\n    'opt_level' : O2",
        "DTL303",
    ),
}


@given(
    st.permutations(LINES), st.integers(0, len(LINES)), st.sampled_from(sorted(WRONG)), st.sampled_from(["\n", "\r\n"])
)
def test_a_fix_keeps_every_other_byte(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], place: int, wrong: str, newline: str
) -> None:
    if lines.index("debug: &flag false") > lines.index("use_cpu: *flag"):
        lines.reverse()
    right, code = WRONG[wrong]
    parts = ["distributed_type: MULTI_GPU", *lines[:place], wrong, *lines[place:], ""]
    text = "\n".join(parts).replace("\n", newline)
    path = tmp_path_factory.mktemp("configs") / "a.yaml"
    path.write_bytes(text.encode())
    (finding,) = dtypelint.check([path], isolated=True)
    assert finding.code == code
    assert fixed(text, finding) == text.replace(wrong.replace("\n", newline), right.replace("\n", newline))


def test_a_fixed_file_is_stable(work: Path) -> None:
    text = (
        "distributed_type: MULTI_GPU\nmixed_precision: fp8\n"
        "fp8_config:\n  backend: te\n  amax_history_length: 16  # as published\n  amax_compute_algorithm: max\n"
    )
    (work / "a.yaml").write_text(text)
    runner = CliRunner()
    assert runner.invoke(main, ["fix", "--isolated", "."]).exit_code in (0, 1)
    expected = (
        text.replace(": te", ": TE")
        .replace("history_length", "history_len")
        .replace("compute_algorithm", "compute_algo")
    )
    assert (work / "a.yaml").read_text() == expected
    assert not check()
