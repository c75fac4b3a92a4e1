"""The steps of training loops: what happens to gradients, in which order, on which path, with which objects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dtypelint.finding import Location


class Action(StrEnum):
    """What a step of a training loop does."""

    BACKWARD = "backward"
    UNSCALE = "unscale"
    CLIP = "clip"
    STEP = "step"
    SCALED_STEP = "scaled_step"
    UPDATE = "update"
    ZERO_GRAD = "zero_grad"
    AUTOCAST = "autocast"
    SCALER = "scaler"
    SHARD = "shard"
    OPTIMIZER = "optimizer"
    SAVE = "save"


@dataclass(frozen=True, slots=True)
class Branch:
    """A test that was passed on the way to an event, in canonical text, and its outcome."""

    text: str
    holds: bool

    def excludes(self, other: Branch) -> bool:
        """Whether the two cannot hold in one run: the opposite outcome, or another value of the same thing."""
        if self.text == other.text:
            return self.holds is not other.holds
        left, equal, right = self.text.partition(" == ")
        there, same, value = other.text.partition(" == ")
        literal = all(v[:1] in "'\"0123456789" or v.startswith("torch.") for v in (right, value))
        return bool(equal and same and self.holds and other.holds and left == there and right != value and literal)


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a training loop, on its path through branches and loops.

    `subject` is the object that acts and `target` the one that it acts on, both by a name that is the same wherever the
    object is meant in one trace (`self.scaler`; empty where it cannot be told). `made` is the call that built the subject;
    `known` says that the subject is what the action needs by more than its name. `scaled_by` names the scaler of a scaled
    backward, `owner` the object that runs it (`accelerator.backward(loss)`). What a called function does is placed at the
    call, and `inner` says where it is done. `family` is that of the api that is called, or says what is saved (`optimizer`, `scaler`); `private` says that nothing outside of the
    file can reach the subject. `lead` is the text between a statement put before the event's and that one, `end` the
    offset behind its last line with the comment (None for a compound one), `alone` that nothing else is in its block.
    """

    action: Action
    subject: str
    target: str
    location: Location
    statement: Location
    function: str
    path: tuple[Branch, ...]
    loops: tuple[str, ...]
    text: str
    subject_text: str
    target_text: str
    lead: str
    made: Location | None = None
    known: bool = False
    scaled_by: str = ""
    owner: str = ""
    inner: Location | None = None
    family: str = ""
    private: bool = False
    alone: bool = False
    end: int | None = None

    def meets(self, other: Event) -> bool:
        """Whether one run can come to both."""
        return not any(a.excludes(b) for a in self.path for b in other.path)

    def implies(self, other: Event) -> bool:
        """Whether whoever comes here has passed every test of the other."""
        return set(other.path) <= set(self.path)

    def sides(self, other: Event) -> bool:
        """Whether they stand on one path for sure: one of them is reached whenever the other is."""
        return self.meets(other) and (self.implies(other) or other.implies(self))


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of a function in their order, those of the functions that it calls in their place.

    An unordered trace holds the events of the methods of a class that nothing in the class calls: a framework does.
    `scales` says that the file names a loss scaler at all.
    """

    function: str
    cls: str
    events: tuple[Event, ...]
    called: bool = False
    ordered: bool = True
    scales: bool = False

    def of(self, *actions: Action) -> tuple[Event, ...]:
        return tuple(e for e in self.events if e.action in actions)

    def before(self, event: Event, *actions: Action) -> tuple[Event, ...]:
        """The events of some actions that come before one, nearest first, on paths that meet its own."""
        at = self.events.index(event)
        return tuple(e for e in reversed(self.events[:at]) if e.action in actions and e.meets(event))

    def after(self, event: Event, *actions: Action) -> tuple[Event, ...]:
        """The events of some actions that come after one, nearest first, on paths that meet its own."""
        at = self.events.index(event)
        return tuple(e for e in self.events[at + 1 :] if e.action in actions and e.meets(event))
