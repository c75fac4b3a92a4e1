"""What makes a finding the same one in another run, though its line has moved."""

from __future__ import annotations

import struct
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dtypelint.finding import Finding

WINDOW = 100
FACTOR = 37
END = 0xFFFF
BITS = 0xFFFF_FFFF_FFFF_FFFF


def identities(findings: Iterable[Finding]) -> Iterator[str]:
    """A digest of rule, file, the text of the first line and its ordinal, for each finding in the order of the report."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        key = (finding.code, finding.position.path, " ".join(finding.source.split("\n")[0].split()))
        seen[key] += 1
        yield blake2b("\0".join((*key, str(seen[key]))).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def line_hashes(text: str) -> list[str]:
    r"""`primaryLocationLineHash` of every line of a text, as GitHub's upload of SARIF files computes it.

    github/codeql-action, `src/fingerprints.ts`: a polynomial over the UTF-16 units of the 100 characters from the start of
    the line on, without spaces and tabs, newlines as `\n`, a mark at the end of the file and zeros behind it; equal hashes
    are numbered.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    data = text.encode("utf-16-le", "surrogatepass")
    units = [*struct.unpack(f"<{len(data) // 2}H", data), END, *[0] * WINDOW]
    starts = [0, *(index + 1 for index in range(len(data) // 2) if units[index] == ord("\n"))]
    seen: Counter[int] = Counter()
    hashes = []
    for start in starts:
        value = 0
        for unit in units[start : start + WINDOW]:
            value = (value * FACTOR + unit) & BITS
        seen[value] += 1
        hashes.append(f"{value:x}:{seen[value]}")
    return hashes
