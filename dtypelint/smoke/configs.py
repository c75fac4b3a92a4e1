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
VARIABLE = re.compile(r"[A-Z][A-Z_0-9]*")
BOUND = re.compile(r"([\w.]+) = ")
CONVERT = "convert_to_float8_training"
# what a fix that touches these keys is about: whether fp8 is used at all
USE = frozenset({"backend", "mixed_precision", "fp8_config"})


def plan(sites: Sites, finding: Finding) -> Plan:
    """How the fix of an fp8 setting is proven."""
    found = Plan(finding, subject="fp8")
    try:
        attempt = _converted(sites, finding) or _variable(found, sites, finding) or _configured(found, sites, finding)
    except (Unknown, SyntaxError) as error:
        found.reason, found.detail = Reason.UNEVALUABLE, str(error)
        return found
    found.attempts.append(attempt)
    return found


def _configured(found: Plan, sites: Sites, finding: Finding) -> Attempt:
    """A configuration as a run would be told of it, or the variables that a module sets."""
    suffix = PurePosixPath(finding.position.path).suffix
    before, after = sites.texts(finding)
    renamed = _renamed(sites, finding, KEY)
    if "_" not in renamed or renamed in USE:
        renamed = ""
    key, intended = (f"ACCELERATE_FP8_{renamed.upper()}", _value(after, renamed)) if renamed else ("fp8", "in use")
    found.subject = renamed or found.subject
    looks = (
        Look({"probe": "fp8", "build": not renamed, **_job(text, suffix)}, key, absent="unset")
        for text in (before, after)
    )
    return Attempt("", intended, *looks)


def _variable(found: Plan, sites: Sites, finding: Finding) -> Attempt | None:
    """A variable of the environment under another name: whether a recipe looks it up."""
    new = _renamed(sites, finding, VARIABLE)
    if not new:
        return None
    old = sites.replaced(finding).strip("\"'")
    value = _set(sites.texts(finding)[1]).get(new)
    if value is None:
        value = "1"
        found.assumed[f"`{new}` is set to {value}"] = None
    found.subject = new
    looks = (
        Look({"probe": "fp8", "build": False, "environment": {name: value}}, new, absent="unset") for name in (old, new)
    )
    return Attempt("", value, *looks)


def _converted(sites: Sites, finding: Finding) -> Attempt | None:
    """A conversion whose result is kept."""
    edits = sites.edits(finding)
    if len(edits) != 1 or not BOUND.fullmatch(edits[0].text) or CONVERT not in sites.text(finding.position):
        return None
    looks = (Look({"probe": "fp8-convert", "alone": True, "bound": bound}, "fp8") for bound in (False, True))
    return Attempt("", "in use", *looks)


def _job(text: str, suffix: str) -> dict[str, Any]:
    """What the driver resolves: a configuration, or the variables that a module sets."""
    if suffix in FILES:
        return {"text": text, "suffix": suffix}
    if suffix == ".py":
        return {"environment": variables(text)}
    raise Unknown(f"a {suffix or 'file'} is not read")


def _renamed(sites: Sites, finding: Finding, kind: re.Pattern[str]) -> str:
    """The name that a fix writes in the place of another one; nothing where it changes a value or adds a key."""
    edits = sites.edits(finding)
    new = edits[0].text.strip("\"'") if len(edits) == 1 else ""
    old = sites.replaced(finding).strip("\"'")
    return new if kind.fullmatch(new) and kind.fullmatch(old) else ""


def _value(text: str, key: str) -> str:
    """The value of a key in a YAML or JSON text, as it is written."""
    found = re.search(rf"""\b{key}["']?\s*:\s*["']?([^\s,"'}}#]+)""", text)
    if found is None:
        raise Unknown(f"`{key}` has no value")
    return found[1]


def variables(text: str) -> dict[str, Any]:
    """The environment variables that a module sets to constants; Unknown where it sets none."""
    found = _set(text)
    if not found:
        raise Unknown("no variable is set here")
    return found


def _set(text: str) -> dict[str, Any]:
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
    return found
