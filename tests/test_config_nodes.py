"""YAML and JSON as nodes: what loaders make of them, where each thing stands, and what is refused."""

from __future__ import annotations

import json as stdlib_json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.facts.config import json, yaml
from dtypelint.facts.config.nodes import Mapping, Node, Scalar, Sequence, Type, mappings
from dtypelint.source import Unreadable


def only(text: str) -> Mapping:
    (document,) = yaml.read(text)
    assert isinstance(document, Mapping)
    return document


def slice_of(text: str, node: Node) -> str:
    return text.encode()[node.span.start : node.span.end].decode()


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("no", Type.BOOL),
        ("'no'", Type.STRING),
        ("On", Type.BOOL),
        ("fp8", Type.STRING),
        ("16", Type.NUMBER),
        ("1e-5", Type.STRING),
        ("1.0e-5", Type.NUMBER),
        ("", Type.UNKNOWN),
        ("~", Type.UNKNOWN),
        ("auto", Type.UNKNOWN),
        ("'auto'", Type.UNKNOWN),
        ("${precision.dtype}", Type.UNKNOWN),
        ("'{{ dtype }}'", Type.UNKNOWN),
    ],
)
def test_scalars_are_what_loaders_make_of_them(written: str, kind: Type) -> None:
    value = only(f"precision: {written}\n").scalar("precision")
    assert value
    assert value.type is kind


def test_spans_are_bytes_of_the_text() -> None:
    text = 'é: "ü"\nb:\n  c: &x bf16 # é\n  d: [*x, {ö: 1}]\n'
    document = only(text)
    names = [entry.name for _, mapping in mappings(document) for entry in mapping.entries]
    assert names == ["é", "b", "c", "d", "ö"]
    for _, mapping in mappings(document):
        for entry in mapping.entries:
            assert text.encode()[entry.span.start : entry.span.end].decode() == entry.name
    value = document.scalar("b", "c")
    assert value
    assert slice_of(text, value) == "bf16"


def test_an_alias_is_the_node_of_its_anchor() -> None:
    document = only("a: &x {fp8: true}\nb: *x\nc:\n  <<: *x\n  d: 1\n")
    first, second, third = document.entries
    assert first.value is second.value
    assert (first.shared, second.shared) == (False, True)
    assert isinstance(third.value, Mapping)
    assert [(entry.name, entry.shared) for entry in third.value.entries] == [("fp8", True), ("d", False)]


def test_own_keys_beat_merged_ones_and_the_first_merge_beats_the_second() -> None:
    document = only("a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}\n")
    values = {name: value.text for name in "xyz" if (value := document.scalar("c", name))}
    assert values == {"x": "1", "y": "3", "z": "2"}


def test_the_last_of_two_keys_counts() -> None:
    document = only("p: bf16\np: fp8\n")
    value = document.scalar("p")
    assert value
    assert value.text == "fp8"
    assert [entry.duplicate for entry in document.entries] == [False, True]


def test_several_documents() -> None:
    assert [isinstance(document, Mapping) for document in yaml.read("a: 1\n---\nb: 2\n---\n- 3\n")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("text", ["a: &a\n  b: *a\n", "c: &c [*c, 1]\n", "a: &a {b: &b {c: *a}}\n"])
def test_a_cycle_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="an anchor holds itself"):
        yaml.read(text)


def bomb(levels: int) -> str:
    lines = ["a0: &a0 {fp8: true}"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_shared_nodes_are_walked_once() -> None:
    assert sum(1 for _ in mappings(only(bomb(5)))) == 2


def test_a_bomb_is_refused() -> None:
    with pytest.raises(Unreadable, match="stand for over 1000000 values"):
        yaml.read(bomb(40))


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "{a: " * 10_000, "".join(" " * i + "a:\n" for i in range(900))], ids=["list", "map", "block"]
)
def test_depth_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="too deeply"):
        yaml.read(text)


@pytest.mark.parametrize("text", ["a: [1, 2", "a: 1\n b: 2\n", "a: *nowhere\n", 'a: "x\n', "\x00a: 1"])
def test_broken_yaml_is_named(text: str) -> None:
    with pytest.raises(Unreadable, match="does not parse as YAML"):
        yaml.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1 2]",
        "[1,]",
        "[,1]",
        '{"a": 1,}',
        '{"a" 1}',
        '{"a":: 1}',
        '{"a": }',
        '{"a", 1}',
        "{1: 2}",
        '{"a": 1 "b": 2}',
        "{]",
        "[}",
        "]",
        "1 2",
        ":",
        "nul",
        "01",
        '"\\x"',
        '{"a": 1} // c',
        '["',
    ],
)
def test_broken_json_is_named(text: str) -> None:
    with pytest.raises(Unreadable, match="does not parse as JSON"):
        json.read(text)
    with pytest.raises(ValueError):
        stdlib_json.loads(text)


@pytest.mark.parametrize("text", ["[" * 10_000, '{"a":' * 10_000, "[" * 10_000 + "]" * 10_000])
def test_deep_json_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="too deeply"):
        json.read(text)


def plain(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {entry.name: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.text if node.quoted else stdlib_json.loads(node.text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_json_is_read_as_the_standard_library_reads_it(value: Any, escape: bool, indent: int | None) -> None:
    text = stdlib_json.dumps(value, ensure_ascii=escape, indent=indent)
    node = json.read(text)
    assert plain(node) == value
    for _, mapping in mappings(node):
        for entry in mapping.entries:
            assert stdlib_json.loads(text.encode()[entry.span.start : entry.span.end]) == entry.name
            if isinstance(entry.value, Scalar):
                assert stdlib_json.loads(slice_of(text, entry.value)) == plain(entry.value)


WORDS = st.text("aé", max_size=3)


@given(st.recursive(st.just(1), lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner), max_leaves=20))
def test_json_is_yaml(value: Any) -> None:
    text = stdlib_json.dumps({"a": value}, ensure_ascii=False)
    (document,) = yaml.read(text)
    assert [list(m.names) for _, m in mappings(document)] == [list(m.names) for _, m in mappings(json.read(text))]
