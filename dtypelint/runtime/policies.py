"""Assertions about a policy at the place where it is built."""

from __future__ import annotations

from typing import Any

import torch

from dtypelint.runtime.errors import NotConfirmable, PrecisionError
from dtypelint.runtime.recorder import name

Kind = torch.dtype | str


def canonical(dtype: Kind) -> str:
    """The name of a dtype that is given as one or by its name; ValueError for what is none."""
    found = dtype if isinstance(dtype, torch.dtype) else getattr(torch, dtype.removeprefix("torch."), None)
    if isinstance(found, torch.dtype):
        return name(found)
    raise ValueError(f"{dtype!r} is no dtype of torch")


def assert_policy(
    policy: Any,
    *,
    param: Kind | None = None,
    reduce: Kind | None = None,
    output: Kind | None = None,
    buffer: Kind | None = None,
    wide_reduce: bool = False,
) -> None:
    """Assert the dtypes of a mixed-precision policy of FSDP1, FSDP2 or DDP.

    A field that is asked for must be set: None follows another dtype, and which one depends on the release of torch.
    With `wide_reduce` gradients must be reduced in more bits than the parameters have.
    """
    wanted = {"param_dtype": param, "reduce_dtype": reduce, "output_dtype": output, "buffer_dtype": buffer}
    held = {field: getattr(policy, field) for field in wanted if hasattr(policy, field)}
    if not held:
        raise NotConfirmable(f"{type(policy).__name__} is no policy: it has none of {', '.join(wanted)}")
    wrong = []
    for field, dtype in wanted.items():
        if dtype is None:
            continue
        if field not in held:
            raise NotConfirmable(f"{type(policy).__name__} has no {field}")
        if held[field] is None or canonical(held[field]) != canonical(dtype):
            wrong.append(f"{field} is not {canonical(dtype)}")
    if wide_reduce:
        narrow, wide = held.get("param_dtype"), held.get("reduce_dtype")
        if wide is None:
            wrong.append("reduce_dtype is not set, so it follows param_dtype or the parameters")
        elif narrow is not None and torch.finfo(wide).bits <= torch.finfo(narrow).bits:
            wrong.append(f"reduce_dtype {name(wide)} is not wider than param_dtype {name(narrow)}")
    if wrong:
        rows = "\n".join(f"  {field}: {name(dtype) if dtype is not None else None}" for field, dtype in held.items())
        raise PrecisionError(f"{'; '.join(wrong)}\n{type(policy).__name__}:\n{rows}")
