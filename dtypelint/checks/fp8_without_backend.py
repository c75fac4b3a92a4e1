"""DTL301: see `rules/fp8-without-backend.md`."""

from __future__ import annotations

from collections.abc import Iterator

from dtypelint.facts import Facts
from dtypelint.facts.configs import Fp8Request
from dtypelint.finding import Confidence, Edit, Fix, Hit, Safety, Severity


def check(facts: Facts) -> Iterator[Hit]:
    for request in facts.requests:
        broken = [each for each in request.answers if each.is_error or (request.backend and not each.reads_backend)]
        if broken:
            said = "; ".join(f"{each.library} {each.versions} {each.says}" for each in broken)
            yield Hit(
                request.span,
                f"fp8 is not set up as it is written: {said}",
                Confidence.HIGH,
                severity=Severity.ERROR,
                withheld="no key helps there: take accelerate 1.9 or newer",
            )
        elif not request.backend:
            yield _hit(request)


def _hit(request: Fp8Request) -> Hit:
    fix, withheld = _fix(request)
    said = "; ".join(f"{each.library} {each.versions} {each.says}" for each in request.answers)
    return Hit(
        request.span,
        f"fp8 without a backend: {said}",
        Confidence.HIGH,
        severity=Severity.NOTE,
        fix=fix,
        withheld=withheld,
    )


def _fix(request: Fp8Request) -> tuple[Fix | None, str | None]:
    if request.insertion is None:
        return None, "there is no place for a backend here"
    backend, safety = "AO", Safety.UNSAFE
    if len(request.evident) == 1:
        backend, safety = request.evident[0], Safety.SAFE
    edit = Edit(request.insertion.location, request.insertion.text.format(backend))
    return Fix(f"name the backend: {backend}", safety, (edit,)), None
