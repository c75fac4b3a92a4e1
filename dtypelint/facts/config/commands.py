"""What the flags of `accelerate launch`, and those of the script that it starts, mean for fp8."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dtypelint.facts.config.documents import Documents
from dtypelint.facts.config.launches import Launches, Run
from dtypelint.facts.config.nodes import Scalar, Type
from dtypelint.facts.config.shell import Flag, Word
from dtypelint.facts.config.verdicts import answers, refusal, taken, unsaid
from dtypelint.facts.configs import ConfigKey, Fate, Fp8Request, Insertion
from dtypelint.facts.targets import Targets
from dtypelint.finding import Edit, Location, Related, Span
from dtypelint.schemas import Config

FLAGS = {"bf16": "bfloat16", "fp16": "float16"}
ON = ("true", "1", "yes")


class Commands:
    """Judges the launches of one project; `trains` says whether a script fills the arguments of a trainer."""

    def __init__(
        self,
        configs: tuple[Config, ...],
        targets: Targets,
        launches: Launches,
        documents: Documents,
        evident: Callable[[], tuple[str, ...]],
        trains: Callable[[str], bool],
    ) -> None:
        self._config = next((config for config in configs if config.section(("--",))), None)
        self._targets = targets
        self._launches = launches
        self._documents = documents
        self._evident = evident
        self._trains = trains

    def _affects(self, versions: str) -> bool:
        assert self._config is not None
        return self._targets.affects(self._config.library, versions)

    def keys(self, run: Run) -> Iterator[ConfigKey]:
        """Flags whose value is refused, and flags of the script that win over fp8."""
        section = self._config.section(("--",)) if self._config else None
        for name, key in section.keys.items() if section else ():
            flag = run.launch.flags.get(name)
            if flag is None or flag.value is None or flag.text is None:
                continue
            assert self._config is not None
            if key.never and self._affects(key.never):
                said = f"{self._config.library} {key.never}"
                yield _key(flag.name, flag.value, Fate.REFUSED_VALUE, "", says=key.says, versions=said)
            elif (reading := refusal(key, flag.text, self._affects)) is not None:
                yield _key(flag.name, flag.value, Fate.REFUSED_VALUE, taken(reading), is_fp8=False)
        asked = self._launches.asks(run)
        script = self._launches.script(run)
        if asked is not None and script is not None and self._trains(script):
            for name, dtype in FLAGS.items():
                flag = run.launch.arguments.get(name)
                if flag is not None and _is_on(flag):
                    value = flag.value if flag.text and flag.text.lower() in ON else None
                    edits = (Edit(Location(run.path, value.span), "False"),) if value else ()
                    yield overriding(flag.name.text, flag.name.span, dtype, asked, repair=edits)

    def recipe(self, path: str) -> Iterator[ConfigKey]:
        """Keys of a script's own configuration file that win over the fp8 of its launch."""
        for run, asked in self._launches.about(path):
            script = self._launches.script(run)
            document = self._documents.first(path)
            if document is None or script is None or not self._trains(script):
                continue
            for name, dtype in FLAGS.items():
                entry = document.get(name)
                if entry is not None and isinstance(entry.value, Scalar) and entry.value.on:
                    edits = () if entry.shared else (Edit(Location(path, entry.value.span), "false"),)
                    yield overriding(name, entry.span, dtype, asked, repair=edits)
            return

    def requests(self, run: Run) -> Iterator[Fp8Request]:
        """A launch whose flag asks for fp8."""
        flag = run.launch.flags.get("mixed_precision")
        if self._config is None or flag is None or flag.text != "fp8":
            return
        found = answers(self._config, self._targets, unsaid)
        backend = self._launches.backend(run)
        start = run.launch.start.span.start
        insertion = Insertion(Location(run.path, Span(start, start)), "ACCELERATE_FP8_BACKEND={} ")
        span = Span(flag.name.span.start, flag.value.span.end if flag.value else flag.name.span.end)
        if found:
            yield Fp8Request(
                span,
                "launch",
                "?" if backend is None else backend,
                found,
                self._evident() if backend == "" else (),
                insertion if run.launch.first and not run.launch.start.quoted else None,
            )


LAUNCHED = "wins over the fp8 that this run is launched with"


def overriding(
    name: str,
    span: Span,
    dtype: str,
    asked: Related,
    *,
    why: str = LAUNCHED,
    sure: bool = True,
    repair: tuple[Edit, ...] = (),
) -> ConfigKey:
    """A setting that wins over the fp8 that was asked for elsewhere; `repair` takes it back."""
    return ConfigKey(
        path=name,
        span=span,
        value="",
        type=Type.BOOL,
        value_span=span,
        fate=Fate.OVERRIDDEN,
        kind="run",
        why=why,
        says=f"it trains in {dtype}",
        is_fp8=True,
        sure=sure,
        related=(asked,),
        repair=repair,
    )


def _key(
    name: Word, value: Word, fate: Fate, why: str, *, says: str = "", versions: str = "", is_fp8: bool = True
) -> ConfigKey:
    return ConfigKey(
        path=name.text.partition("=")[0],
        span=name.span,
        value=value.text,
        type=Type.STRING,
        value_span=value.span,
        fate=fate,
        kind="launch command",
        why=why,
        says=says,
        versions=versions,
        is_fp8=is_fp8,
    )


def _is_on(flag: Flag) -> bool:
    """Whether a boolean flag of a script is set."""
    return flag.value is None or (flag.text is not None and (flag.text.lower() in ON or flag.text.endswith(".py")))
