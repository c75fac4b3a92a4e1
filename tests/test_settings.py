"""Settings files, flags, selectors and targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dtypelint.errors import UserError
from dtypelint.finding import Severity
from dtypelint.knowledge import Knowledge
from dtypelint.settings import Configuration, Flags, Settings, parse_targets

OWN = {"DTL000", "DTL001", "DTL002"}
ALL = OWN | {"DTL101", "DTL102", "DTL203", "DTL601"}

pytestmark = pytest.mark.usefixtures("house")


def settings(folder: Path, text: str = "", /, **flags: Any) -> Settings:
    (folder / "dtypelint.toml").write_text(text)
    return Configuration(Knowledge().rules, Flags(**flags)).for_folder(folder)


def test_by_default_every_rule_reports(work: Path) -> None:
    found = settings(work)
    assert found.codes == ALL
    assert (found.pedantic, found.fail_on, found.targets, found.apis, found.force_exclude) == (
        False,
        "warning",
        (),
        (),
        False,
    )
    assert found.default_exclude


def test_every_key_is_read(work: Path) -> None:
    text = """
select = ["DTL1", "DTL601"]
extend-select = ["crashing-check"]
ignore = ["many-grades"]
exclude = ["old"]
extend-exclude = ["new"]
pedantic = true
fail-on = "note"
apis = ["ours.toml"]
force-exclude = true

[per-file-ignores]
"tests/**" = ["DTL101", "DTL6"]
"one.py" = "DTL203"

[target]
torch = "2.13"
accelerate = "any"
"""
    found = settings(work, text)
    assert found.codes == {"DTL000", "DTL101", "DTL203", "DTL601"}
    assert not found.default_exclude
    assert [patterns.lines for patterns in found.exclude] == [("old", "new")]
    assert (found.pedantic, found.fail_on, found.force_exclude) == (True, "note", True)
    assert found.apis == (work / "ours.toml",)
    assert found.targets == (("accelerate", "any"), ("torch", "2.13"))
    assert not found.reports("DTL101", work / "tests" / "a.py")
    assert not found.reports("DTL601", work / "tests" / "deep" / "a.py")
    assert found.reports("DTL203", work / "tests" / "a.py")
    assert not found.reports("DTL203", work / "one.py")
    assert found.reports("DTL101", work / "one.py")


@pytest.mark.parametrize(
    ("flags", "codes"),
    [
        ({"select": ("DTL1",)}, {"DTL000", "DTL101", "DTL102"}),
        ({"select": ("DTL",)}, ALL),
        ({"select": ("ALL",)}, ALL),
        ({"select": ("lost-sink", "DTL203")}, {"DTL000", "DTL101", "DTL203"}),
        ({"ignore": ("DTL1", "DTL000")}, ALL - {"DTL000", "DTL101", "DTL102"}),
        ({"select": ("DTL1",), "ignore": ("DTL102",)}, {"DTL000", "DTL101"}),
        ({"select": ("DTL1",), "extend_select": ("DTL601",)}, {"DTL000", "DTL101", "DTL102", "DTL601"}),
        ({"select": ()}, {"DTL000"}),
    ],
)
def test_selectors_are_codes_prefixes_and_names(work: Path, flags: dict[str, tuple[str, ...]], codes: set[str]) -> None:
    assert settings(work, **flags).codes == codes


@pytest.mark.parametrize("word", ["DTL9", "DTL1011", "dtl101", "lost-sinks", "", "D"])
def test_an_unknown_selector_is_refused(work: Path, word: str) -> None:
    with pytest.raises(UserError, match="unknown rule"):
        settings(work, select=(word,))


def test_a_flag_stands_above_the_file(work: Path) -> None:
    text = 'select = ["DTL1"]\nextend-select = ["DTL601"]\nignore = ["DTL203"]\npedantic = true\nfail-on = "note"\nforce-exclude = true\n[target]\ntorch = "2.13"\nverl = "0.7"\n'
    found = settings(
        work, text, select=("DTL2",), pedantic=False, fail_on="never", targets=("torch=2.14",), force_exclude=False
    )
    assert found.codes == {"DTL000", "DTL203"}
    assert (found.pedantic, found.fail_on, found.force_exclude) == (False, "never", False)
    assert dict(found.targets) == {"torch": "2.14", "verl": "0.7"}
    assert settings(work, text, ignore=("DTL101",)).codes == {"DTL000", "DTL102", "DTL601"}
    assert settings(work, text, extend_select=("DTL203",), ignore=()).codes == {"DTL000", "DTL101", "DTL102", "DTL203"}
    assert dict(settings(work, text, targets=("any",)).targets) == {"*": "any"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pedantik = true", "dtypelint.toml:1: unknown key `pedantik`: did you mean `pedantic`?"),
        ("\n\nselects = []", "dtypelint.toml:3: unknown key `selects`: did you mean `select`?"),
        ("zzz = 1", "dtypelint.toml:1: unknown key `zzz`"),
        ('select = "DTL101"', "dtypelint.toml:1: `select` must be a list of strings"),
        ('select = ["DTL101", 1]', "`select` must be a list of strings"),
        ("pedantic = 1", "`pedantic` must be true or false"),
        (
            '\nignore = ["lost-sinc"]',
            "dtypelint.toml:2: unknown rule `lost-sinc` in `ignore`: did you mean `lost-sink`?",
        ),
        ('fail-on = "fatal"', "dtypelint.toml:1: `fail-on` is one of error, warning, note, never"),
        ("[target]\ntorch = 2", "dtypelint.toml:2: `target.torch` must be a string"),
        ('[target]\ntorch = "two"', "dtypelint.toml:2: `two` is no version"),
        ('[per-file-ignores]\n"a.py" = ["DTL7"]', "unknown rule `DTL7` in `a.py`"),
        ('[per-file-ignores]\n"a.py" = 7', "`per-file-ignores.a.py` must be a string"),
        ("select = [", "dtypelint.toml:1: not valid TOML"),
        ("x = 1\nselect = ", "dtypelint.toml:2: not valid TOML: invalid value"),
    ],
)
def test_a_file_that_says_nonsense_is_refused(work: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        settings(work, text)
    assert complaint in str(caught.value)


def test_a_pattern_that_cannot_be_read_is_refused(work: Path) -> None:
    with pytest.raises(UserError, match="not a pattern"):
        settings(work, '[per-file-ignores]\n"!" = ["DTL101"]').reports("DTL101", work / "a.py")


def test_the_closest_file_wins(work: Path) -> None:
    inner = work / "a" / "b"
    inner.mkdir(parents=True)
    (work / "pyproject.toml").write_text('[tool.dtypelint]\nselect = ["DTL1"]\n')
    (work / "a" / "pyproject.toml").write_text('[tool.dtypelint]\nselect = ["DTL2"]\n')
    (inner / "pyproject.toml").write_text('[tool.other]\nselect = ["dtypelint"]\n')
    configuration = Configuration(Knowledge().rules)
    assert configuration.for_folder(inner).codes == {"DTL000", "DTL203"}
    assert configuration.for_folder(inner) is configuration.for_folder(work / "a")
    assert configuration.for_folder(work).codes == {"DTL000", "DTL101", "DTL102"}


def test_its_own_file_goes_before_pyproject(work: Path) -> None:
    (work / "pyproject.toml").write_text('[tool.dtypelint]\nselect = ["DTL1"]\n')
    assert settings(work, 'select = ["DTL2"]').codes == {"DTL000", "DTL203"}


def test_a_repository_does_not_see_the_files_above_it(work: Path) -> None:
    inner = work / "repository" / "src"
    (work / "repository" / ".git").mkdir(parents=True)
    inner.mkdir()
    (work / "dtypelint.toml").write_text("pedantic = true")
    configuration = Configuration(Knowledge().rules)
    assert configuration.for_folder(work).pedantic
    assert not configuration.for_folder(inner).pedantic


def test_a_broken_file_of_somebody_else_is_passed_by(work: Path) -> None:
    (work / "pyproject.toml").write_text("{{ cookiecutter }}")
    assert Configuration(Knowledge().rules).for_folder(work).codes == ALL


def test_a_named_file_is_the_only_one(work: Path) -> None:
    (work / "dtypelint.toml").write_text("pedantic = true")
    (work / "other.toml").write_text('select = ["DTL6"]\napis = ["x.toml"]\n')
    found = Configuration(Knowledge().rules, Flags(config=Path("other.toml"))).for_folder(work)
    assert found.codes == {"DTL000", "DTL601"}
    assert (found.pedantic, found.apis) == (False, (work / "x.toml",))
    assert not Configuration(Knowledge().rules, Flags(isolated=True)).for_folder(work).pedantic


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "cannot be read"), (b"\xff", "cannot be read"), (b"[tool.ruff]\n", "no \\[tool.dtypelint\\]")],
)
def test_a_named_file_has_to_be_one(work: Path, content: bytes | None, complaint: str) -> None:
    path = work / "pyproject.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        Configuration(Knowledge().rules, Flags(config=path))


@pytest.mark.parametrize(
    ("gate", "failing"),
    [("error", ["error"]), ("warning", ["error", "warning"]), ("note", ["error", "warning", "note"]), ("never", [])],
)
def test_the_gate(gate: str, failing: list[str]) -> None:
    found = Settings(frozenset(), fail_on=gate)
    assert [severity for severity in Severity if found.fails(severity)] == failing


@pytest.mark.parametrize(
    ("words", "targets"),
    [
        (["torch=2.13"], {"torch": "2.13"}),
        (["torch==2.13.1"], {"torch": "==2.13.1"}),
        (["torch<2.15", "accelerate=1.13.0"], {"torch": "<2.15", "accelerate": "1.13.0"}),
        (["torch>=2.4,<2.15, Accelerate = 1.9"], {"torch": ">=2.4,<2.15", "accelerate": "1.9"}),
        (["any"], {"*": "any"}),
        (["torch=any"], {"torch": "any"}),
        ([], {}),
    ],
)
def test_targets_are_versions_by_library(words: list[str], targets: dict[str, str]) -> None:
    assert parse_targets(words) == targets


@pytest.mark.parametrize("word", ["torch", "2.13", "torch=", "torch=two", "torch<", "", "=2", "torch=2.13,"])
def test_a_target_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(UserError, match="is no target"):
        parse_targets([word])
