"""What an edit must leave whole: a text that parses and comes back unchanged, and its comments."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from functools import lru_cache

from dtypelint.facts.python.parse import parse
from dtypelint.source import Unreadable

_DEEPEST = 150
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def damage(before: str, after: str) -> str:
    """Why one text must not take the place of another; empty when it may."""
    reason = unfit(before)
    if reason:
        return reason
    try:
        parse(after)
        lost = _comments(before) - _comments(after)
    except Unreadable as error:
        return f"the file would not parse any more: {error.reason}"
    except (tokenize.TokenError, SyntaxError):
        return "the comments of the file cannot be told apart"
    return f"the comment `{next(iter(lost))}` would be lost" if lost else ""


@lru_cache(16)
def unfit(text: str) -> str:
    """Why a text must not be edited at all; empty when it may be."""
    import libcst as cst

    try:
        if _depth(text) > _DEEPEST:
            # libcst ends the process on deep nesting
            return "the file is nested too deeply to be edited"
        same = cst.parse_module(text).code == text
    except (cst.ParserSyntaxError, tokenize.TokenError, SyntaxError):
        return "the parser that keeps white space does not read this file"
    except RecursionError:
        return "the file is nested too deeply to be edited"
    return "" if same else "the parser does not give the file back unchanged (a form feed, or carriage returns?)"


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return list(tokenize.generate_tokens(io.StringIO(lines).readline))


@lru_cache(16)
def _comments(text: str) -> Counter[str]:
    return Counter(token.string for token in _tokens(text) if token.type == tokenize.COMMENT)


def _depth(text: str) -> int:
    """How deep the tree of a text may become: brackets, operators in a row, `elif` in a row."""
    depth = deepest = operators = branches = 0
    for token in _tokens(text):
        if token.type == tokenize.OP:
            depth += _BRACKETS.get(token.string, 0)
            operators += token.string not in _BRACKETS and token.string not in ",=:."
        elif token.type == tokenize.NEWLINE:
            operators = 0
        branches += token.string == "elif"
        deepest = max(deepest, depth, operators // 2)
    return max(deepest, branches // 8)
