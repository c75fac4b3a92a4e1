"""Plans for fp8 settings in files and in the environment, as accelerate reads them."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from dtypelint.smoke.plans import Attempt, Look, Plan
from dtypelint.smoke.records import Reason
from dtypelint.smoke.symbols import Unknown

if TYPE_CHECKING:
    from dtypelint.finding import Finding
    from dtypelint.smoke.sites import Sites

FILES = frozenset({".yaml", ".yml", ".json"})
KEY = re.compile(r"[a-z][a-z_0-9]*")
# what a fix that touches these keys is about: whether fp8 is used at all
USE = frozenset({"backend", "mixed_precision", "fp8_config"})


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of an fp8 setting is proven."""
    found = Plan(finding, subject="fp8")
    suffix = PurePosixPath(finding.position.path).suffix
    try:
        before, after = sites.texts(finding)
        renamed = _renamed(sites, finding)
        jobs = [_job(text, suffix) for text in (before, after)]
        build = not renamed
        key, intended = (f"ACCELERATE_FP8_{renamed.upper()}", _value(after, renamed)) if renamed else ("fp8", "in use")
        if renamed:
            found.subject = renamed
    except Unknown as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    looks = (Look({"probe": "fp8", "build": build, **job}, key, absent="unset") for job in jobs)
    found.attempts.append(Attempt("", intended, *looks))
    return found


def _job(text: str, suffix: str) -> dict[str, Any]:
    """What the driver resolves: a configuration, or the variables that a module sets."""
    if suffix in FILES:
        return {"text": text, "suffix": suffix}
    if suffix == ".py":
        return {"environment": variables(text)}
    raise Unknown(f"a {suffix or 'file'} is not read")


def _renamed(sites: Sites, finding: Finding) -> str:
    """The key that a fix writes in the place of another one; nothing where it changes a value or adds a key."""
    edits = sites.edits(finding)
    new = edits[0].text.strip("\"'") if len(edits) == 1 else ""
    old = sites.replaced(finding).strip("\"'")
    return new if KEY.fullmatch(new) and KEY.fullmatch(old) and "_" in new and new not in USE else ""


def _value(text: str, key: str) -> str:
    """The value of a key in a YAML or JSON text, as it is written."""
    found = re.search(rf"""\b{key}["']?\s*:\s*["']?([^\s,"'}}#]+)""", text)
    if found is None:
        raise Unknown(f"`{key}` has no value")
    return found[1]


def variables(text: str) -> dict[str, Any]:
    """The environment variables that a module sets to constants."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=owner, slice=ast.Constant(value=str(name)))],
                value=ast.Constant(value=str(value)),
            ) if ast.unparse(owner).endswith("environ"):
                found[name] = value
            case ast.Call(
                func=ast.Attribute(attr="setdefault", value=owner),
                args=[ast.Constant(value=str(name)), ast.Constant(value=str(value))],
            ) if ast.unparse(owner).endswith("environ"):
                found.setdefault(name, value)
    if not found:
        raise Unknown("no variable is set here")
    return found
