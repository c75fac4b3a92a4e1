"""Bytes to text, spans to lines, comments to suppressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtypelint.finding import Span
from dtypelint.ignores import read_ignores
from dtypelint.source import Source, Unreadable, decode

TEXTS = st.text(alphabet=st.sampled_from("ab\t\x0c é€\U0001d4b3\u2028\n\r#"), max_size=60)


@given(TEXTS)
def test_a_position_leads_back_to_its_offset(text: str) -> None:
    source = Source("a.py", text)
    offset = 0
    for character in [*text, ""]:
        line, column = source.position(offset)
        assert source.offset(line, column) == offset
        offset += len(character.encode())


@given(TEXTS)
def test_lines_are_those_of_python(text: str) -> None:
    source = Source("a.py", text)
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    assert [source.line(number) for number in range(1, len(source.starts) + 1)] == normal.split("\n")


def test_columns_count_code_points() -> None:
    source = Source("a.py", "é = '\U0001d4b3'; x\n")
    offset = source.data.index(b"x")
    assert offset == 13
    assert source.position(offset) == (1, 10)
    assert source.slice(Span(offset, offset + 1)) == "x"


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_outside_is_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        Source("a.py", "ab").position(offset)


def test_a_column_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 4"):
        Source("a.py", "ab\nc").offset(2, 4)


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        (b"x = 1\n", "x = 1\n", "utf-8", False),
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n", "utf-8", True),
        (b"# coding: latin-1\n\xe9", "# coding: latin-1\né", "iso-8859-1", False),
        (
            b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\n\x80",
            "#!/usr/bin/python\n# -*- coding: cp1252 -*-\n€",
            "cp1252",
            False,
        ),
        (b"", "", "utf-8", False),
    ],
)
def test_a_file_is_read_in_its_encoding(data: bytes, text: str, encoding: str, bom: bool) -> None:
    source = decode(data, "a.py")
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        ("x".encode("utf-16"), 1, "UTF-16"),
        ("x".encode("utf-32"), 1, "UTF-32"),
        ("ab\nc".encode("utf-16-le"), 1, "NUL"),
        (b"a\r\nb\rc\n\0", 4, "NUL"),
        (b"\xe9", 1, "not in its encoding utf-8"),
        (b"a\nb\nc = '\xe9'", 3, "not in its encoding utf-8"),
        (b"# coding: ascii\n\n\xe9", 3, "not in its encoding ascii"),
        (b"# coding: klingon\n", 1, "unknown encoding"),
        (b"# coding: rot13\n", 1, "not an encoding of text"),
        (b"# coding: unicode_escape\n'\\ud800'", 2, "surrogate"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "encoding problem: utf-8"),
    ],
)
def test_an_unreadable_file_says_where_and_why(data: bytes, line: int, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        decode(data, "a.py")
    assert caught.value.line == line
    assert reason in caught.value.reason


@pytest.mark.parametrize(("text", "newline"), [("", "\n"), ("a\r\nb\n", "\r\n"), ("a\rb", "\r"), ("a\nb\r\n", "\n")])
def test_the_first_newline_is_the_files(text: str, newline: str) -> None:
    assert Source("a.py", text).newline == newline


def covered(text: str, first: int, last: int | None = None) -> list[str]:
    """The names that are suppressed for a finding on these lines."""
    comments, mistakes = read_ignores(Source("a.py", text))
    assert not mistakes
    return [name for comment in comments if comment.covers(first, last or first) for name in comment.names]


def test_a_comment_on_the_line_suppresses() -> None:
    text = "a = 1\nb = 2  # dtypelint: ignore[DTL101,dropped-policy-dtype] because\nc = 3\n"
    assert covered(text, 2) == ["DTL101", "dropped-policy-dtype"]
    assert covered(text, 1) == covered(text, 3) == []


def test_a_comment_behind_another_comment_suppresses() -> None:
    assert covered("a = 1  # noqa: E501  #dtypelint:ignore[DTL101]\n", 1) == ["DTL101"]


def test_a_comment_inside_of_a_finding_suppresses() -> None:
    text = "f(\n    a,\n    b,  # dtypelint: ignore[DTL101]\n    c,\n)\n"
    assert covered(text, 1, 5) == ["DTL101"]
    assert covered(text, 3) == ["DTL101"]
    assert covered(text, 2) == covered(text, 4) == []


@pytest.mark.parametrize("line", [1, 3])
def test_a_comment_at_an_end_of_a_statement_is_for_all_of_it(line: int) -> None:
    lines = ["f(", "    a,", ")"]
    lines[line - 1] += "  # dtypelint: ignore[DTL101]"
    text = "\n".join([*lines, "g()", ""])
    assert covered(text, 2) == ["DTL101"]
    assert covered(text, 4) == []


def test_a_comment_alone_is_for_the_statement_below() -> None:
    text = "# dtypelint: ignore[DTL101]\n# dtypelint: ignore[DTL102] stacked\nwith f(\n    a,\n):\n    g()\n"
    assert covered(text, 3) == covered(text, 4) == ["DTL101", "DTL102"]
    assert covered(text, 6) == []


def test_a_comment_alone_inside_of_a_call_is_for_the_next_line() -> None:
    text = "f(\n    # dtypelint: ignore[DTL101]\n    a,\n    b,\n)\n"
    assert covered(text, 3) == ["DTL101"]
    assert covered(text, 4) == []


def test_a_blank_line_parts_a_comment_from_the_statement() -> None:
    assert covered("# dtypelint: ignore[DTL101]\n\na = 1\n", 3) == []


def test_a_comment_at_the_end_is_for_nothing_else() -> None:
    assert covered("a = 1\n# dtypelint: ignore[DTL101]\n", 1) == []


def test_a_comment_inside_of_a_block_is_for_the_statement_below() -> None:
    text = "if a:\n    b()\n    # dtypelint: ignore[DTL101]\n    c()\nd()\n"
    assert covered(text, 4) == ["DTL101"]
    assert covered(text, 2) == covered(text, 5) == []


def test_a_comment_for_the_file_is_for_every_line() -> None:
    assert covered("a = 1\nb = 2\n# dtypelint: file-ignore[DTL201]\n", 1) == ["DTL201"]


def test_a_string_is_no_comment() -> None:
    assert covered('a = "# dtypelint: ignore[DTL101]"\nb = """\n# dtypelint: ignore[DTL101]\n"""\n', 1, 4) == []


@pytest.mark.parametrize("text", ["f(\n# dtypelint: ignore[DTL101]\n", "if a:\n  b\n c\n# dtypelint: ignore[DTL101]"])
def test_comments_are_found_where_the_tokenizer_gives_up(text: str) -> None:
    comments, _ = read_ignores(Source("a.py", text))
    assert [comment.names for comment in comments] == [("DTL101",)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_span_is_that_of_the_comment(newline: str) -> None:
    source = Source("a.py", newline.join(["é = 1", "\U0001d4b3 = 'é'  # é # dtypelint: ignore[DTL101] é", ""]))
    comments, _ = read_ignores(source)
    assert [source.slice(comment.span) for comment in comments] == ["# dtypelint: ignore[DTL101]"]
    assert [comment.line for comment in comments] == [2]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore", "no blanket form"),
        ("ignore[]", "no blanket form"),
        ("ignore DTL101", "no blanket form"),
        ("ignore[DTL101", "no blanket form"),
        ("file-ignore", "no blanket form"),
        ("ignore-file[DTL101]", "no directive"),
        ("disable=DTL101", "no directive"),
        ("noqa", "no directive"),
    ],
)
def test_a_comment_that_means_nothing_is_a_mistake(comment: str, message: str) -> None:
    comments, mistakes = read_ignores(Source("a.py", f"a = 1  # dtypelint: {comment}\n"))
    assert not comments
    assert [message in mistake.message for mistake in mistakes] == [True]


@pytest.mark.parametrize(
    "comment", ["# dtypelint: finds this one", "# dtypelint ignore[DTL101]", "# see dtypelint: ignore[DTL101]"]
)
def test_prose_is_neither(comment: str) -> None:
    assert read_ignores(Source("a.py", f"a = 1  {comment}\n")) == ([], [])
