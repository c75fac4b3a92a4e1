#!/usr/bin/env python3
"""Do the fixes give back what was planted? compare_fixes.py ORIGINALS PLANTED [--kind drop|swap|literal|autocast] [--all].

ORIGINALS holds the trees `owner__repo`; PLANTED/<kind>/owner__repo the damaged ones and PLANTED/<kind>.jsonl the places. Every
fix is applied in memory, unsafe ones too, and the dtype expression of each damaged call is compared with that of the same call
in the original. An added `enabled=` is not looked at, brackets and white space do not count. Exit status 1 below --min.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import sys
from pathlib import Path
from typing import Any

from dtypelint.engine import Options
from dtypelint.fixer import Fixer
from dtypelint.settings import Flags
from dtypelint.workspace import Workspace

FIELDS = {"drop": "reduce_dtype", "swap": "reduce_dtype", "literal": "param_dtype", "autocast": "dtype"}
CODES = {
    "drop": {"DTL101"},
    "swap": {"DTL102"},
    "literal": {"DTL106"},
    "autocast": {"DTL201", "DTL202"},
}
PLACES = {"reduce_dtype": 1, "param_dtype": 0, "dtype": 1}


def calls(text: str) -> list[ast.Call]:
    """The calls of policies and autocasts in the order of their places."""
    names = ("MixedPrecision", "MixedPrecisionPolicy", "autocast", "partial")
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and last(node.func) in names]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def value(call: ast.Call, field: str) -> str:
    """The expression of a field, normalized; empty where the call has none."""
    for keyword in call.keywords:
        if keyword.arg == field:
            return ast.unparse(keyword.value)
    place = PLACES[field]
    return ast.unparse(call.args[place]) if len(call.args) > place else ""


def repaired(folder: Path, paths: list[str], pedantic: bool) -> tuple[dict[str, str], Any, list[Any]]:
    """The new texts of files, what the fixer did, and what was found before it."""
    os.chdir(folder)
    workspace = Workspace([Path(path) for path in paths], Options(Flags(pedantic=pedantic, isolated=True)))
    found = [item.finding for item in workspace.found() if not item.hidden]
    result = Fixer(workspace, lambda _finding, _texts: True).run()
    return {change.path: change.after.text for change in result.changes}, result, found


def compare(originals: Path, planted: Path, kind: str, pedantic: bool) -> list[dict[str, Any]]:
    """A row for each planted place: whether it was found, fixed, and fixed back."""
    rows = [json.loads(line) for line in (planted / f"{kind}.jsonl").read_text().splitlines()]
    by_repo: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for row in rows:
        by_repo[row["repo"].replace("/", "__", 1)].append(row)
    for repo, places in sorted(by_repo.items()):
        paths = sorted({row["path"] for row in places})
        texts, result, found = repaired((planted / kind / repo).absolute(), paths, pedantic)
        for row in places:
            damaged = (planted / kind / repo / row["path"]).read_text()
            original = (originals / repo / row["path"]).read_text()
            near = [
                finding
                for finding in found
                if finding.position.path == row["path"]
                and finding.code in CODES[kind]
                and finding.position.line <= row["end"]
                and finding.position.end_line >= row["line"]
            ]
            index = next(i for i, call in enumerate(calls(original)) if call.lineno == row["line"])
            field = FIELDS[kind]
            row["wanted"] = value(calls(original)[index], field)
            row["was"] = value(calls(damaged)[index], field)
            row["got"] = value(calls(texts.get(row["path"], damaged))[index], field)
            row["found"] = bool(near)
            row["fixed"] = row["got"] != row["was"]
            row["equal"] = row["fixed"] and row["got"] == row["wanted"]
            row["held"] = "; ".join(
                filter(None, [finding.fix_withheld or result.withheld.get(finding, "") for finding in near])
            )
    return rows


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("originals", type=Path)
    parser.add_argument("planted", type=Path)
    parser.add_argument("--kind", choices=FIELDS, action="append")
    parser.add_argument("--pedantic", action="store_true", help="findings of low confidence too")
    parser.add_argument("--all", action="store_true", help="print the places that come out right, too")
    parser.add_argument("--min", type=float, default=0.0, help="the share of found places that must be fixed back")
    args = parser.parse_args()
    originals, planted = args.originals.absolute(), args.planted.absolute()
    total: collections.Counter[str] = collections.Counter()
    table = []
    for kind in args.kind or FIELDS:
        rows = compare(originals, planted, kind, args.pedantic)
        count = {key: sum(row[key] for row in rows) for key in ("found", "fixed", "equal")}
        found_fixed = sum(row["found"] and row["fixed"] for row in rows)
        table.append(f"{kind:9} {len(rows):7} {count['found']:6} {found_fixed:6} {count['equal']:6}")
        total.update({"planted": len(rows), **count})
        for row in rows:
            if args.all or (row["found"] and not row["equal"]):
                mark = "=" if row["equal"] else "x" if row["fixed"] else "-" if row["found"] else "?"
                print(f"{mark} {kind} {row['repo']}/{row['path']}:{row['line']}")
                print(
                    f"    wanted {row['wanted']}\n    got    {row['got']}"
                    + f"\n    held   {row['held']}" * bool(row["held"])
                )
    print(f"{'kind':9} planted  found  fixed  equal")
    print("\n".join(table))
    share = total["equal"] / total["found"] if total["found"] else 0.0
    print(f"fixed back: {total['equal']} of {total['found']} found ({share:.2f}); {total['planted']} planted")
    return int(share < args.min)


if __name__ == "__main__":
    sys.exit(main())
