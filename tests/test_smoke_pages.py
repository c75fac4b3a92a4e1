"""The fixed examples of the rule pages are proven at run time, by the probe that the page names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pages import Example, Page, read_pages
from smoking import NEWEST, check, drive, environment

from dtypelint.settings import Flags
from dtypelint.smoke.records import Level, Reason, Verdict
from dtypelint.smoke.run import PLANNERS
from dtypelint.smoke.session import Session

if TYPE_CHECKING:
    from dtypelint.smoke.records import Row

# fp8 takes packages that are not always there, and a note about it pins what works already
ELSEWHERE = (Reason.BACKEND_MISSING, Reason.UNEVALUABLE)
# what the examples hand to functions that no probe drives
FIELDS = ("fp16", "bf16", "param_dtype", "reduce_dtype")
PAGES = read_pages()
EXAMPLES = [
    (page, example) for page in PAGES for example in page.examples if example.fixed and page.meta["smoke"] in PLANNERS
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The rows of every example, by its folder: one driver runs them all."""
    base = tmp_path_factory.mktemp("pages")
    python = environment(tmp_path_factory.mktemp("environment"))
    working = Path.cwd()
    os.chdir(base)
    try:
        findings, files = [], []
        for page, example in EXAMPLES:
            folder = base / example.id
            for name, text in {"pyproject.toml": "", **example.files}.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
            flags = Flags(select=(page.code,), pedantic=True, targets=example.targets)
            found, read = check(folder, flags)
            findings += found
            files += read
        run = drive(findings, files, python=python)
    finally:
        os.chdir(working)
    found_rows: dict[str, list[Row]] = {example.id: [] for _, example in EXAMPLES}
    for row in run.rows:
        found_rows[row.position.path.partition("/")[0]].append(row)
    return found_rows


@pytest.mark.parametrize(("page", "example"), [pytest.param(*pair, id=pair[1].id) for pair in EXAMPLES])
def test_the_fix_of_a_page_is_confirmed(page: Page, example: Example, rows: dict[str, list[Row]]) -> None:
    assert rows[example.id]
    for row in rows[example.id]:
        if page.meta["smoke"] == "fp8" and (row.note or row.reason in ELSEWHERE):
            continue
        if row.reason is Reason.NEEDS_CUDA:
            continue
        assert (row.verdict, row.detail) == (Verdict.CONFIRMED, ""), row
        assert row.level in (Level.OP, Level.VALUE) or page.meta["smoke"] == "fp8" or row.subject in FIELDS


# rules without a fix whose page names a probe: what it observes, in the dtype of the finding and as the page advises
SHOWN: dict[str, tuple[str, dict[str, Any], dict[str, Any], tuple[str, str]]] = {
    "underflow": ("arrive", {"scaled": False}, {"scaled": True}, ("few", "most")),
    "masters": ("moved", {}, {"dtype": {"dtype": "float32"}}, ("not all", "all")),
}
UNFIXED = [
    (page, example) for page in PAGES if page.meta["smoke"] in SHOWN for example in page.examples if example.markers
]


@pytest.mark.parametrize(("page", "example"), [pytest.param(*pair, id=pair[1].id) for pair in UNFIXED])
def test_what_a_page_without_a_fix_warns_of_happens(
    page: Page, example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"pyproject.toml": "", **example.files}.items():
        Path(name).write_text(text, encoding="utf-8")
    findings, _ = check(tmp_path, Flags(select=(page.code,), pedantic=True, targets=example.targets))
    key, bad, good, expected = SHOWN[page.meta["smoke"]]
    for finding in findings:
        # a region without a dtype is in float16 on a GPU, a checkpoint mostly in bfloat16
        default = "float16" if page.meta["smoke"] == "underflow" else "bfloat16"
        named = next((dtype for dtype in ("bfloat16", "float16") if f" {dtype}" in finding.message), default)
        jobs = [{"probe": page.meta["smoke"], "dtype": {"dtype": named}, **each} for each in (bad, good)]
        seen = Session(device="cpu", timeout=120.0, newest=NEWEST).drive(jobs)
        assert tuple(each.notes.get(key) for each in seen) == expected, seen
    assert findings


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_a_page_names_its_probe_or_says_why_there_is_none(page: Page) -> None:
    probe = page.meta["smoke"]
    assert probe in PLANNERS or probe in SHOWN or probe.startswith("none: ")
