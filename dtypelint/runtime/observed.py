"""The dtypes that a step really used, and assertions about them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from dtypelint.runtime.errors import NotConfirmable, PrecisionError
from dtypelint.runtime.policies import Kind, canonical
from dtypelint.runtime.recorder import Recorder, local, name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch import nn

COPIED = "read off the copy into the buffer: with one rank nothing is sent"


@dataclass(frozen=True, slots=True)
class Observed:
    """Names of dtypes, sorted; empty where nothing was seen.

    `reduce` and `gather` are those of the gradient and parameter collectives, `compute` of the inputs of matrix products;
    `params`, `grads` and `optimizer_state` are those of the local shards. `notes` say how far the evidence goes.
    """

    reduce: tuple[str, ...] = ()
    gather: tuple[str, ...] = ()
    compute: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    grads: tuple[str, ...] = ()
    optimizer_state: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def table(self) -> str:
        """Everything that was seen, a line each."""
        rows = [f"  {key}: {', '.join(getattr(self, key)) or 'nothing seen'}" for key in FIELDS]
        return "\n".join([*rows, *(f"  note: {note}" for note in self.notes)])

    def check(self, **wanted: Kind | None) -> None:
        """Assert that each named observation is exactly one dtype.

        PrecisionError for another one, NotConfirmable where nothing was seen; both show the whole table.
        """
        unknown = wanted.keys() - FIELDS
        if unknown:
            raise TypeError(f"nothing is observed as {', '.join(sorted(unknown))}: {', '.join(FIELDS)}")
        asked = {key: canonical(dtype) for key, dtype in wanted.items() if dtype is not None}
        if not asked:
            raise TypeError(f"nothing is asked for: name at least one of {', '.join(FIELDS)}")
        wrong = [
            f"{key} is {', '.join(getattr(self, key))}, not {dtype}"
            for key, dtype in asked.items()
            if getattr(self, key) and getattr(self, key) != (dtype,)
        ]
        if wrong:
            raise PrecisionError(f"{'; '.join(wrong)}\n{self.table()}")
        unseen = [key for key in asked if not getattr(self, key)]
        if unseen:
            raise NotConfirmable(f"nothing was seen of {', '.join(unseen)}\n{self.table()}")


FIELDS = ("reduce", "gather", "compute", "params", "grads", "optimizer_state")


class Recording:
    """A recording that may still be going on."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def observed(self, model: nn.Module | None = None, optimizer: torch.optim.Optimizer | None = None) -> Observed:
        """What was seen so far; of a model and an optimizer what they hold now."""
        recorder = self._recorder
        reduce = {*recorder.dtypes("reduce_scatter"), *recorder.dtypes("all_reduce")}
        notes: tuple[str, ...] = ()
        if not reduce:
            reduce = set(recorder.dtypes("reduce_copy"))
            notes = (f"reduce is {COPIED}",) if reduce else ()
        parameters = [each for each in model.parameters() if each.requires_grad] if model is not None else []
        states: list[torch.Tensor] = []
        for state in optimizer.state.values() if optimizer is not None else ():
            states += [value for key, value in state.items() if isinstance(value, torch.Tensor) and key != "step"]
        return Observed(
            reduce=tuple(sorted(reduce)),
            gather=recorder.dtypes("all_gather"),
            compute=tuple(sorted({seen.dtypes[0] for seen in recorder.of("matmul")})),
            params=_dtypes(parameters),
            grads=_dtypes(each.grad for each in parameters if each.grad is not None),
            optimizer_state=_dtypes(states),
            notes=notes,
        )


@contextmanager
def record_precision() -> Iterator[Recording]:
    """Record the operations inside; ask the recording what was `observed`.

    A function of torch.compile that is first called inside stays uncompiled.
    """
    recorder = Recorder()
    with recorder:
        yield Recording(recorder)


def assert_effective_precision(
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    step: Callable[[nn.Module], Any] | None = None,
    **wanted: Kind | None,
) -> Observed:
    """Run one step of a model and assert the dtypes that it used: `reduce`, `gather`, `compute`, `params`, `grads`, ….

    `step` takes the model and returns a loss, on which the backward pass is run, or None when it did that itself;
    without one the sum of all outputs for `inputs` is the loss. The model is sharded already: in a `fake_cluster` every
    set-up fits into one process. The gradients of the model are replaced, and the optimizer steps.
    """
    if (step is None) is (inputs is None):
        raise TypeError("give either `inputs` or `step`")
    with record_precision() as recording:
        loss = step(model) if step is not None else _loss(model, inputs)
        if isinstance(loss, torch.Tensor):
            torch.autograd.backward(loss)
    if optimizer is not None:
        optimizer.step()
    observed = recording.observed(model, optimizer)
    observed.check(**wanted)
    return observed


def _loss(model: nn.Module, inputs: Any) -> torch.Tensor:
    output = model(**inputs) if hasattr(inputs, "keys") else model(*inputs)
    found = getattr(output, "loss", None)
    if isinstance(found, torch.Tensor):
        return found
    leaves = torch.utils._pytree.tree_leaves(output)
    floats = [leaf.float().sum() for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not floats:
        raise NotConfirmable("no output of the model has a gradient: give a `step`")
    return torch.stack(floats).sum()


def _dtypes(tensors: Iterable[torch.Tensor]) -> tuple[str, ...]:
    return tuple(sorted({name(local(each).dtype) for each in tensors}))
