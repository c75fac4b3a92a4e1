"""Every example on every rule page is a test."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pages import Example, Marker, Page, PageError, read_info, read_page, read_pages

import dtypelint
from dtypelint.engine import Options
from dtypelint.fixer import Fixer
from dtypelint.settings import Flags
from dtypelint.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dtypelint.finding import Finding
    from dtypelint.fixer import Result

PAGES = read_pages()
EXAMPLES = [pytest.param(page, example, id=example.id) for page in PAGES for example in page.examples]
FLAGGED = [pytest.param(page, example, id=example.id) for page in PAGES for example in page.examples if example.markers]
HIDDEN = [
    pytest.param(page, example, id=example.id)
    for page in PAGES
    for example in page.examples
    if example.markers and example.pedantic
]
FIXED = [pytest.param(page, example, id=example.id) for page in PAGES for example in page.examples if example.fixed]
RULE_PAGES = [pytest.param(page, id=page.name) for page in PAGES if not page.code.startswith("DTL0")]


def run(page: Page, example: Example, folder: Path, *, pedantic: bool) -> list[Finding]:
    for name, text in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    found = dtypelint.check([folder], select=[page.code], pedantic=pedantic, target=list(example.targets))
    return [finding for finding in found if finding.code == page.code]


def covers(finding: Finding, marker: Marker) -> bool:
    position = finding.position
    return position.path == marker.path and position.line <= marker.line <= position.end_line


def shown(findings: Iterable[Finding]) -> str:
    return "\n".join(f"{f.position.path}:{f.position.line}: {f.confidence} {f.message}" for f in findings) or "none"


def fix(page: Page, example: Example) -> Result:
    """What the fixer makes of the example that lies in the working folder."""
    flags = Flags(select=(page.code,), pedantic=example.pedantic, targets=example.targets)
    return Fixer(Workspace([Path()], Options(flags)), lambda _finding, _texts: True).run()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", RULE_PAGES)
def test_a_page_shows_the_bug_and_its_traps(page: Page) -> None:
    assert sum(bool(example.markers) for example in page.examples) >= 3
    assert any(example.clean for example in page.examples)


@pytest.mark.parametrize("page", RULE_PAGES)
def test_a_declared_fix_is_shown(page: Page) -> None:
    seen = {"unsafe" if example.unsafe else "safe" for example in page.examples if example.fixed}
    assert seen == set(page.fixes)


@pytest.mark.parametrize("page", RULE_PAGES)
def test_a_pedantic_rule_is_shown_as_one(page: Page) -> None:
    flagged = [example for example in page.examples if example.markers]
    assert all(example.pedantic for example in flagged) is page.meta.get("pedantic", False)


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_an_example_is_code(page: Page, example: Example) -> None:
    for name, text in [*example.files.items(), *example.fixed.items()]:
        if name.endswith(".py") and page.code != "DTL000":
            ast.parse(text)


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_an_example_is_reported_as_marked(page: Page, example: Example, folder: Path) -> None:
    pedantic = example.pedantic or (example.clean and not example.default)
    findings = run(page, example, folder, pedantic=pedantic)
    for marker in example.markers:
        at = [finding for finding in findings if covers(finding, marker)]
        assert at, f"nothing at {marker.path}:{marker.line}; findings:\n{shown(findings)}"
        for word in marker.words:
            assert any(word in finding.message for finding in at), f"`{word}` is not in:\n{shown(at)}"
    stray = [finding for finding in findings if not any(covers(finding, marker) for marker in example.markers)]
    assert not stray, shown(stray)
    if example.withheld:
        assert all(finding.fix is None and finding.fix_withheld for finding in findings), shown(findings)


@pytest.mark.parametrize(("page", "example"), HIDDEN)
def test_a_pedantic_example_is_hidden_by_default(page: Page, example: Example, folder: Path) -> None:
    findings = run(page, example, folder, pedantic=False)
    assert not findings, shown(findings)


@pytest.mark.parametrize(("page", "example"), FIXED)
def test_a_fix_gives_what_the_page_shows(page: Page, example: Example, folder: Path) -> None:
    findings = run(page, example, folder, pedantic=example.pedantic)
    assert {finding.fix.safety.value for finding in findings if finding.fix} == {"unsafe" if example.unsafe else "safe"}
    result = fix(page, example)
    assert not result.withheld
    fixed = {change.path: change.after.text for change in result.changes}
    for name, text in example.files.items():
        assert fixed.get(name, text) == example.fixed.get(name, text)


@pytest.mark.parametrize(("page", "example"), FIXED)
def test_a_fixed_example_is_clean(page: Page, example: Example, folder: Path) -> None:
    after = replace(example, files={**example.files, **example.fixed})
    findings = run(page, after, folder, pedantic=example.pedantic)
    assert not findings, shown(findings)


@pytest.mark.parametrize(("page", "example"), FLAGGED)
def test_a_flagged_file_passes_the_triggers(page: Page, example: Example) -> None:
    triggers = page.meta.get("triggers", [])
    for path in {marker.path for marker in example.markers if marker.path.endswith(".py")}:
        text = example.files[path].encode()
        assert any(re.search(trigger.encode(), text, re.MULTILINE) for trigger in triggers), path


PAGE = """# `lost-word` (`DTL999`)

A word is lost.

```toml
severity = "error"
fix = "safe"
```

## Flagged

"""


def read(folder: Path, text: str) -> Page:
    path = folder / "lost-word.md"
    path.write_text(PAGE + text, encoding="utf-8")
    return read_page(path)


def block(info: str, body: str = "x = 1") -> str:
    return f"```{info}\n{body}\n```\n"


@pytest.mark.parametrize(
    ("info", "complaint"),
    [
        ("pyhton", "unknown language"),
        ("python fix", "unknown word"),
        ("python target=", "unknown word"),
        ("python a.py b.py", "unknown word"),
        ("python unsafe", "without `fixed`"),
        ("console loud", "unknown word"),
        ("console unsafe", "no other word"),
    ],
)
def test_an_unknown_info_string_is_refused(info: str, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        read_info(info, "page.md:1")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (block("python"), "no marker"),
        ("## Not flagged\n" + block("python", "x = 1  # flagged"), "under Not flagged"),
        ("## Not flagged\n" + block("python pedantic"), "clean example"),
        (block("python default", "x = 1  # flagged"), "`default` is for clean"),
        (block("python fixed"), "belongs to no block"),
        (block("python withheld", "x = 1  # flagged") + block("python fixed"), "shown and withheld"),
        (block("python", "x = 1  # flagged") + block("python fixed") * 2, "belongs to no block"),
        (
            block("python a.py", "x = 1  # flagged")
            + block("python b.py")
            + block("python a.py fixed")
            + block("python b.py fixed unsafe"),
            "safe or unsafe",
        ),
        ("```python\nx = 1", "not closed"),
    ],
)
def test_a_page_that_breaks_the_format_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        read(tmp_path, text)


@pytest.mark.parametrize("text", ["# lost-word\n", "# `lost-word` (`DTL999`)\n\n```python\n```\n"])
def test_a_page_without_its_head_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lost-word.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PageError):
        read_page(path)


def test_files_under_one_heading_belong_together(tmp_path: Path) -> None:
    page = read(
        tmp_path,
        block("python a.py target=torch<2.15")
        + "Prose.\n"
        + block("python b.py", "y = 2  # flagged: y lost")
        + block("python a.py fixed", "x = 3")
        + block("json ds.json flagged=1,2", "{\n}")
        + "## Not flagged\n"
        + block("python a.py"),
    )
    first, second, third = page.examples
    assert first.files == {"a.py": "x = 1\n", "b.py": "y = 2\n"}
    assert first.markers == [Marker("b.py", 1, ("y", "lost"))]
    assert first.fixed == {"a.py": "x = 3\n"}
    assert first.targets == ("torch<2.15",)
    assert [marker.line for marker in second.markers] == [1, 2]
    assert third.clean
