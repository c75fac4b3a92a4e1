"""Where an argument can be added to a call, read from libcst: it keeps the commas, comments and white space of the text."""

from __future__ import annotations

import ast
import re

from dtypelint.facts import Slot
from dtypelint.facts.python.parse import Tree

_DEEP = 150


def slot(tree: Tree, node: ast.Call) -> Slot | None:
    """The place behind the last argument, in the layout of the call; None where libcst does not give the text back."""
    import libcst as cst

    span = tree.span(node)
    text = tree.data[span.start : span.end].decode("utf-8")
    if sum(map(text.count, "([{")) > _DEEP:
        return None
    try:
        # the brackets let a call span lines whatever stands around it
        call = cst.parse_expression(text)
    except (cst.ParserSyntaxError, RecursionError):
        return None
    if not isinstance(call, cst.Call) or cst.Module([]).code_for_node(call) != text:
        return None
    close = len(text.encode()) - 1
    if not call.args:
        inner = cst.Module([]).code_for_node(call.whitespace_before_args)
        return Slot(span.start + close - len(inner.encode()), "", "")
    last = max(
        [*node.args, *(k.value for k in node.keywords)], key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0)
    )
    end = tree.span(last).end
    tail = tree.data[end : span.start + close].decode("utf-8")
    comma = _comma(tail)
    first = text[: len(text.encode()[: tree.span(_first(node)).start - span.start].decode())]
    hanging = re.search(r"\n([ \t]*)(?:\*{1,2}|\w+\s*=\s*)?$", first)
    newline = "\r\n" if "\r\n" in text else "\n"
    if comma is not None:
        offset = end + len(tail[: comma + 1].encode())
        if hanging:
            return (
                Slot(offset, newline + hanging[1], ",")
                if "#" not in tail
                else _after_comment(end, tail, hanging[1], newline)
            )
        return Slot(offset, " ", ",")
    if hanging:
        return Slot(end, "," + newline + hanging[1], "")
    return Slot(end, ", ", "")


def _after_comment(end: int, tail: str, indent: str, newline: str) -> Slot:
    """Behind the last line that holds a comment, so that the comment stays with its argument."""
    keep = tail.rstrip()
    return Slot(end + len(keep.encode()), newline + indent, ",")


def _comma(tail: str) -> int | None:
    """The index of the trailing comma, comments skipped."""
    index = 0
    while index < len(tail):
        if tail[index] == "#":
            stop = tail.find("\n", index)
            index = len(tail) if stop < 0 else stop
        elif tail[index] == ",":
            return index
        index += 1
    return None


def _first(node: ast.Call) -> ast.expr:
    arguments = [*node.args, *(k.value for k in node.keywords)]
    return min(arguments, key=lambda n: (n.lineno, n.col_offset))
