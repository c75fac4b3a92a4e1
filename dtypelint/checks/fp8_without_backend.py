"""DTL301: see `rules/fp8-without-backend.md`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dtypelint.facts import Facts
from dtypelint.facts.configs import Answer, Fp8Request
from dtypelint.finding import Confidence, Edit, Fix, Hit, Safety, Severity

UPGRADE = "no key helps there: take accelerate 1.9 or newer"


def check(facts: Facts) -> Iterator[Hit]:
    for request in facts.requests:
        broken = [each for each in request.answers if each.is_error or (request.backend and not each.reads_backend)]
        if broken:
            every = len(broken) == len(request.answers)
            where = "" if every else " in some of the targeted releases"
            yield Hit(
                request.span,
                f"fp8 is not set up as it is written{where}: {_said(broken)}",
                Confidence.HIGH if every else Confidence.MEDIUM,
                severity=Severity.ERROR if every else Severity.NOTE,
                withheld=UPGRADE,
            )
        elif not request.backend:
            fix, withheld = _fix(request)
            yield Hit(
                request.span,
                f"fp8 without a backend: {_said(request.answers)}",
                Confidence.HIGH,
                severity=Severity.NOTE,
                fix=fix,
                withheld=withheld,
            )


def _said(answers: Iterable[Answer]) -> str:
    return "; ".join(f"{each.library} {each.versions} {each.says}" for each in answers)


def _fix(request: Fp8Request) -> tuple[Fix | None, str | None]:
    if request.insertion is None:
        return None, "there is no place for a backend here"
    backend, safety = "AO", Safety.UNSAFE
    if len(request.evident) == 1:
        backend, safety = request.evident[0], Safety.SAFE
    edit = Edit(request.insertion.location, request.insertion.text.format(backend))
    return Fix(f"name the backend: {backend}", safety, (edit,)), None
