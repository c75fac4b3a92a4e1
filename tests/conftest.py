"""A small house of its own: rules, checks and facts that do not change with the real ones."""

from __future__ import annotations

import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

from dtypelint import examiner, knowledge
from dtypelint.facts.imports import Imports
from dtypelint.finding import Confidence, Edit, Fix, Hit, Location, Related, Safety, Severity, Span
from dtypelint.source import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# the first example of a test reads the rules, and a busy machine has no steady clock
hypothesis.settings.register_profile("dtypelint", deadline=None)
hypothesis.settings.load_profile("dtypelint")

REAL = Path(__file__).parent.parent / "rules"

# how long an example takes says how busy the machine is
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

PAGE = """# `{name}` (`{code}`)

The {name} rule of the tests.

```toml
severity = {severity}
fix = "safe"
since = "0.1.0"
{more}
```
"""


class Text:
    """The facts of the small house: the text of the file."""

    def __init__(self, path: str, text: str, targets: dict[str, str]) -> None:
        self.path = path
        self.text = text
        self.data = text.encode()
        self.targets = targets
        self.imports = Imports()

    def spans_of(self, pattern: str) -> tuple[int, int]:
        span = next(self.spans(pattern))
        return span.start, span.end

    def spans(self, pattern: str) -> Iterator[Span]:
        for match in re.finditer(pattern.encode(), self.data):
            yield Span(*match.span())


class Project:
    """Stands for `dtypelint.facts.project.Project`."""

    def __init__(
        self, files: set[str], known: object, targets: dict[str, str], read: Callable[[str], str | None]
    ) -> None:
        self.files = files
        self.targets = targets
        self.read = read

    def facts(self, path: str) -> Text:
        text = self.read(path)
        assert text is not None
        if "unparsable" in text:
            raise Unreadable(2, "does not parse: made up")
        if "bad facts" in text:
            raise KeyError("facts")
        assert path in self.files
        return Text(path, text, self.targets)


def _renamed(word: str, edit: Edit) -> Fix | None:
    safety = {"sink_fixed": Safety.SAFE, "sink_unsafe": Safety.UNSAFE}.get(word.split("(")[0])
    return Fix("rename it", safety, (edit,)) if safety else None


def sink(facts: Text) -> Iterator[Hit]:
    """`sink` is an error, `sink_low` a pedantic one, `sink_fixed` has a safe fix, `sink_unsafe` another; all name the setting of the file."""
    settings = tuple(Location(facts.path, span) for span in facts.spans(r"setting"))
    for span in facts.spans(r"(?<!new_)sink\w*(\([^)]*\))?"):
        word = facts.data[span.start : span.end].decode()
        edit = Edit(Location(facts.path, Span(span.start, span.start)), "new_")
        yield Hit(
            span,
            f"`{word.split('(')[0]}` is lost",
            Confidence.LOW if word.startswith("sink_low") else Confidence.HIGH,
            related=tuple(Related(place, "declared here") for place in settings),
            fix=_renamed(word, edit),
            withheld="too hard" if word.startswith("sink_held") else None,
            settings=settings,
        )


def unread(facts: Text) -> Iterator[Hit]:
    for span in facts.spans(r"setting"):
        yield Hit(span, "`setting` is read by nothing", Confidence.MEDIUM)


def grades(facts: Text) -> Iterator[Hit]:
    for severity in Severity:
        for span in facts.spans(rf"grade_{severity}"):
            yield Hit(span, f"a {severity}", Confidence.HIGH, severity=severity)


def crash(facts: Text) -> Iterator[Hit]:
    for span in facts.spans(r"crash_(late|here|outside|kill)"):
        word = facts.data[span.start : span.end]
        if word == b"crash_late":
            yield Hit(span, "before the crash", Confidence.HIGH)
        if word == b"crash_outside":
            yield Hit(Span(0, len(facts.data) + 1), "behind the end", Confidence.HIGH)
        elif word == b"crash_kill":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        else:
            raise ValueError("no such dtype")


RULES: dict[str, tuple[str, str, str, Any]] = {
    "DTL101": ("lost-sink", '"error"', 'triggers = ["sink"]', sink),
    "DTL102": ("many-grades", '["error", "warning", "note"]', 'triggers = ["grade_"]', grades),
    "DTL203": ("crashing-check", '"error"', 'triggers = ["crash_"]', crash),
    "DTL601": ("unread-precision-setting", '"error"', 'triggers = ["^setting"]', unread),
}


def add_rule(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str, name: str, check: Any, more: str = "") -> None:
    page = PAGE.format(name=name, code=code, severity='"error"', more=more)
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    add_check(monkeypatch, name, check)


def add_check(monkeypatch: pytest.MonkeyPatch, name: str, check: Any) -> None:
    path = f"dtypelint.checks.{name.replace('-', '_')}"
    module = ModuleType(path)
    module.__spec__ = ModuleSpec(path, None)
    vars(module)["check"] = check
    monkeypatch.setitem(sys.modules, path, module)
    examiner.load_check.cache_clear()


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the small house's rules."""
    folder = tmp_path_factory.mktemp("rules")
    for page in ("unreadable-file", "unused-ignore", "unknown-code-in-ignore"):
        (folder / f"{page}.md").write_bytes((REAL / f"{page}.md").read_bytes())
    (folder / "apis").mkdir()
    (folder / "roles.toml").write_text("")
    for code, (name, severity, more, check) in RULES.items():
        page = PAGE.format(name=name, code=code, severity=severity, more=more)
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
        add_check(monkeypatch, name, check)
    project = ModuleType("dtypelint.facts.project")
    vars(project)["Project"] = Project
    monkeypatch.setitem(sys.modules, "dtypelint.facts.project", project)
    monkeypatch.setattr(knowledge, "rules_dir", lambda: folder)
    yield folder
    examiner.load_check.cache_clear()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the findings of testdata/ anew")
