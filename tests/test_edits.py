"""What the fixes of the checks share: conditions joined, settings chosen, doubts that make a fix unsafe."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.facts.edits import compared, joined

EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "cfg.b", "f(x)", "d['if or']", "t[i]", "'x or y'", "(a or b)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["or", "and", "==", "!=", "is", "in", "+", "if c else"]), inner).map(" ".join),
        inner.map("not {}".format),
        inner.map("f({})".format),
        inner.map("lambda: {}".format),
    ),
    max_leaves=5,
).filter(lambda text: parses(text))


def parses(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


@given(EXPRESSIONS, EXPRESSIONS.map("{} != z".format).filter(parses))
def test_joined_conditions_must_both_hold(one: str, other: str) -> None:
    second = compared(one, "z")
    tree = ast.parse(joined(one, second), mode="eval").body
    assert isinstance(tree, ast.BoolOp)
    assert isinstance(tree.op, ast.And)
    assert ast.dump(tree.values[-1]) == ast.dump(ast.parse(second, mode="eval").body)


@given(EXPRESSIONS)
def test_compared_values_keep_their_meaning(text: str) -> None:
    tree = ast.parse(compared(text, "torch.float32"), mode="eval").body
    assert isinstance(tree, ast.Compare)
    assert len(tree.ops) == 1
    assert ast.dump(tree.left) == ast.dump(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        ("use_amp", "use_amp and x"),
        ("a or b", "(a or b) and x"),
        ("f(a or b)", "f(a or b) and x"),
        ("not a", "not a and x"),
        ("a == 'b or c'", "a == 'b or c' and x"),
    ],
)
def test_brackets_where_they_are_needed(one: str, expected: str) -> None:
    assert joined(one, "x") == expected
