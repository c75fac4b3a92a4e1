"""A function of the user's, run with the files as they are or as a fix leaves them; what it makes is driven.

The only probe that executes the code which is checked: it is asked for by `--import`, and runs in a process of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from dtypelint.runtime.recorder import Recorder, name
from dtypelint.smoke.probes import groups, processes, sharding
from dtypelint.smoke.probes.stages import Elsewhere, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType

LIMIT = 120.0
WIDTH = 8


def drive(job: dict[str, Any], device: str) -> dict[str, str]:
    """What the function makes of each dtype: the observations of all, each with the dtype in front of its name."""
    answer = processes.answer(processes.start({**job, "probe": "import-run"}, device), LIMIT)
    if "reason" in answer:
        raise Elsewhere(answer["reason"], answer.get("error", ""))
    if "seen" not in answer:
        raise Stage("import", RuntimeError(answer.get("error", "")))
    return dict(answer["seen"])


def run(job: dict[str, Any], device: str) -> dict[str, str]:
    """Import the function and call it, in this process."""
    finder = Files(job["texts"])
    sys.meta_path.insert(0, finder)
    sys.path[:0] = [job["root"], str(Path(job["root"], "src"))]
    sys.dont_write_bytecode = True
    module, _, function = job["builder"].partition(":")
    groups.fake()
    try:
        builder = getattr(importlib.import_module(module), function)
        inspect.signature(builder).bind(torch.float32)
    except Exception as error:
        raise Elsewhere("unevaluable", f"`{job['builder']}`: {type(error).__name__}: {error}") from error
    notes: dict[str, str] = {}
    for dtype in job["dtypes"]:
        try:
            made = builder(dtype)
        except Exception as error:
            notes[f"{name(dtype)} {job['key']}"] = f"raises {type(error).__name__}"
            continue
        groups.fake()
        notes.update((f"{name(dtype)} {key}", value) for key, value in _driven(made, device).items())
    if not finder.loaded:
        raise Elsewhere("no-such-op-seen", f"`{job['builder']}` does not import the file that is fixed")
    return notes


def _driven(made: Any, device: str) -> dict[str, str]:
    from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy

    families = ((MixedPrecisionPolicy, sharding.fsdp2), (MixedPrecision, sharding.fsdp1))
    for policy, probe in families:
        if isinstance(made, policy):
            return probe({each.name: getattr(made, each.name) for each in dataclasses.fields(made)}, device)
    if isinstance(made, torch.autocast):
        if made.device != device:
            raise Elsewhere("needs-cuda", f"the region is one for {made.device}")
        recorder = Recorder()
        with made, recorder:
            torch.nn.functional.linear(torch.ones(2, WIDTH, device=device), torch.ones(WIDTH, WIDTH, device=device))
        return {"matmul": "+".join(recorder.dtypes("matmul"))}
    raise Elsewhere("unevaluable", f"what is built is a {type(made).__name__}: no policy and no region")


class Files(PathFinder):
    """Finds modules as Python does; those at some paths have another text than the file."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.loaded = False

    def find_spec(  # type: ignore[override]  # that of the class needs no instance
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, with a loader of its own for a text of its own."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or spec.origin not in self._texts:
            return None
        self.loaded = True
        spec.loader = Text(fullname, spec.origin, self._texts[spec.origin])
        return spec


class Text(SourceFileLoader):
    """Loads a module from a text."""

    def __init__(self, fullname: str, path: str, text: str) -> None:
        super().__init__(fullname, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the text, whatever was compiled before."""
        return self.source_to_code(self._text.encode(), self.get_filename(fullname))
