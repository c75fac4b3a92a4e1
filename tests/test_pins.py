"""Dependencies in the files that declare them."""

from __future__ import annotations

import pytest

from dtypelint.facts.config.pins import pins
from dtypelint.facts.python.usage import parsed
from dtypelint.knowledge import Knowledge

REQUIREMENTS = """\
# accelerate==0.1
accelerate==1.13.0  # the one that works
  accelerate[deepspeed] >=1.0, <2 ; python_version > "3"
my-accelerate==1
accelerate-extras==1
accelerate @ git+https://example.org/accelerate
Accelerate
"""
PYPROJECT = """\
[project]
name = "accelerate"
keywords = ["accelerate"]
dependencies = ["accelerate>=1.1,<2", 'accelerate (>=1.2)', "é; accelerate"]
[project.optional-dependencies]
more = ["accelerate[deepspeed]"]
[dependency-groups]
test = [{ include-group = "x" }, "accelerate == 1.3.*"]
[tool.isort]
known_third_party = ["accelerate"]
"""
POETRY = """\
[tool.poetry.dependencies]
accelerate = "^1.13"
[tool.poetry.group.dev.dependencies]
accelerate = { extras = ["x"], version = "~0.9.4" }
[tool.poetry.group.old.dependencies]
accelerate = "1.6.0"
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "requirements.txt",
            REQUIREMENTS,
            [
                ("==1.13.0", "accelerate==1.13.0"),
                ("<2,>=1.0", "accelerate[deepspeed] >=1.0, <2"),
                ("", "Accelerate"),
            ],
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            [
                ("<2,>=1.1", "accelerate>=1.1,<2"),
                (">=1.2", "accelerate (>=1.2"),
                ("", "accelerate[deepspeed]"),
                ("==1.3.*", "accelerate == 1.3.*"),
            ],
        ),
        (
            "pyproject.toml",
            POETRY,
            [
                ("<2,>=1.13", 'accelerate = "^1.13"'),
                ("<0.10,>=0.9.4", 'accelerate = { extras = ["x"], version = "~0.9.4"'),
                ("==1.6.0", 'accelerate = "1.6.0"'),
            ],
        ),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n    torch\n    accelerate>=1.2\n",
            [(">=1.2", "accelerate>=1.2")],
        ),
        ("pyproject.toml", "[broken", []),
    ],
)
def test_dependencies_are_found_where_they_stand(path: str, text: str, expected: list[tuple[str, str]]) -> None:
    data = text.encode()
    found = [(str(pin.range), data[pin.span.start : pin.span.end].decode()) for pin in pins(path, text, "accelerate")]
    assert found == expected


def test_names_are_compared_as_the_index_does_it() -> None:
    assert [
        str(pin.range) for pin in pins("requirements.txt", "nemo-toolkit>=2\nNeMo.toolkit>=3\n", "nemo_toolkit")
    ] == [
        ">=2",
        ">=3",
    ]


def test_the_advisories_can_be_read() -> None:
    advisories = Knowledge().advisories
    assert len(advisories) >= 8
    assert all(advisory.source.startswith("https://") for advisory in advisories)
    kinds = {config.name for config in Knowledge().configs}
    assert {advisory.kind for advisory in advisories} - {""} <= kinds
    assert all(parsed(pattern) for advisory in advisories for pattern in (*advisory.code, *advisory.unless))
