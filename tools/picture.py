"""The picture of the README: what `dtypelint check` prints for the project in testdata, as SVG.

Run it to write `docs/check.svg`; with `--check` it only says whether the picture still shows what is printed. The drawing
itself is left to rich and may differ between its releases, the text may not.
"""

from __future__ import annotations

import html
import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "check.svg"
COMMAND = "dtypelint check testdata/dropped_reduce/in"
WIDTH = 92


def printed() -> str:
    """The output on a terminal of the width, with colours."""
    from dtypelint.engine import Options, run
    from dtypelint.reports import text

    report = run([ROOT / "testdata" / "dropped_reduce" / "in"], Options())
    return text.render(report, color=True, summary=True, width=WIDTH)


def draw(shown: str) -> str:
    """The picture of an output."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(shown), soft_wrap=True)
    picture = console.export_svg(title=COMMAND, unique_id="dtypelint")
    # a picture asks no other host for its letters
    return re.sub(r"\s*@font-face \{.*?\}\n|<!--.*?-->\n?", "", picture, flags=re.DOTALL)


def words(picture: str) -> list[str]:
    """The words that a picture shows."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", picture, flags=re.DOTALL)
    return html.unescape(" ".join(found)).split()


def main(args: list[str]) -> int:
    """Write the picture, or compare it."""
    picture = draw(printed())
    if "--check" not in args:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if words(picture) == words(PICTURE.read_text(encoding="utf-8")):
        return 0
    sys.stderr.write(f"{PICTURE.relative_to(ROOT)} does not show what is printed: python tools/picture.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
