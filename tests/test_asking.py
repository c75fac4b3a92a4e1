"""How facts are asked for: only when they are read, each question once, words in all texts at once."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from dtypelint.facts import Facts
from dtypelint.facts.python.once import Once
from dtypelint.facts.texts import Texts

WORDS = st.text("ab\né", max_size=6)


def test_a_family_is_made_once_and_only_when_it_is_read() -> None:
    made: list[str] = []

    def make(name: str) -> Iterator[str]:
        made.append(name)
        yield name

    facts = Facts("a.py", casts=lambda: make("casts"), sinks=lambda: make("sinks"))
    assert made == []
    assert len(facts.casts) == len(facts.casts) == 1
    assert len(facts.traces) == 0
    assert made == ["casts"]


def test_a_question_that_branches_is_answered_once_a_step() -> None:
    once: Once[int] = Once(0)
    steps = []

    def ask(depth: int) -> int:
        steps.append(depth)
        return 1 if depth == 40 else once.ask(depth + 1, lambda: ask(depth + 1)) + once.ask(depth + 1, lambda: ask(0))

    assert once.ask(0, lambda: ask(0)) == 2**40
    assert len(steps) == 41


def test_a_circle_adds_nothing_and_is_forgotten() -> None:
    once: Once[frozenset[str]] = Once(frozenset())

    def first() -> frozenset[str]:
        return once.ask("second", second) | {"a"}

    def second() -> frozenset[str]:
        return once.ask("first", first) | {"b"}

    assert once.ask("first", first) == {"a", "b"}
    assert once.ask("second", second) == {"a", "b"}


@given(st.dictionaries(st.text("xyz", min_size=1), WORDS, min_size=1), st.lists(WORDS.filter(bool), min_size=1))
def test_words_are_found_where_they_stand(texts: dict[str, str], words: list[str]) -> None:
    words = [word for word in words if "\n" not in word] or ["a"]
    expected = tuple(path for path in sorted(texts) if all(word in texts[path] for word in words))
    assert Texts(texts, texts.get).holding(*words) == expected
