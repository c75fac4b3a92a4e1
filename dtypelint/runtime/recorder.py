"""Reads dtypes off the operations that torch dispatches: collectives, the copies around them, and matrix products."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLLECTIVES = frozenset({"c10d", "_c10d_functional", "c10d_functional"})
_KINDS = {"reducescatter": "reduce_scatter", "allreduce": "all_reduce", "allgather": "all_gather"}
_PRODUCTS = frozenset(
    {
        *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addbmm", "aten::linear", "aten::_scaled_mm"),
        *("aten::convolution", "aten::_convolution", "aten::mkldnn_linear", "mkldnn::_linear_pointwise"),
    }
)
_ATTENTION = "aten::_scaled_dot_product"


@dataclass(frozen=True, slots=True)
class Seen:
    """An operation, what it does and the dtypes of its tensors, the first one first; `scalar` ones carry one element."""

    kind: str
    op: str
    dtypes: tuple[str, ...]
    scalar: bool = False


def name(dtype: torch.dtype) -> str:
    """The name of a dtype without its module."""
    return str(dtype).removeprefix("torch.")


def local(tensor: torch.Tensor) -> torch.Tensor:
    """The local shard of a distributed tensor, whose own dtype can differ from the one that it reports."""
    to_local = getattr(tensor, "to_local", None)
    if to_local is None:
        return tensor.detach()
    shard: torch.Tensor = to_local()
    return shard.detach()


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what it sees while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: Counter[Seen] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the operation and run it; wrapper tensors take it apart first, or what they do inside stays hidden."""
        if any(hasattr(each, "__tensor_flatten__") for each in types):
            return NotImplemented
        found = _kind(func.namespace, func._schema.name)
        if found:
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
            if found == "reduce_copy":
                tensors = tensors[-1:]
            dtypes = tuple(dict.fromkeys(name(each.dtype) for each in tensors))
            self.seen[Seen(found, func._schema.name, dtypes, all(each.numel() <= 1 for each in tensors))] += 1
        return func(*args, **(kwargs or {}))

    def dtypes(self, kind: str, *, scalars: bool = False) -> tuple[str, ...]:
        """The dtypes of the operations of a kind, sorted; empty when there was none."""
        return tuple(sorted({dtype for seen in self.of(kind) if scalars or not seen.scalar for dtype in seen.dtypes}))

    def of(self, kind: str) -> Iterator[Seen]:
        """The operations of a kind."""
        return (seen for seen in self.seen if seen.kind == kind)


def _kind(namespace: str, op: str) -> str:
    if namespace in _COLLECTIVES:
        plain = op.replace("_", "")
        return next((kind for part, kind in _KINDS.items() if part in plain), "")
    if op == "fsdp::chunk_cat":
        return "reduce_copy"
    if op in _PRODUCTS or (op.startswith(_ATTENTION) and not op.endswith("backward")):
        return "matmul"
    return ""
