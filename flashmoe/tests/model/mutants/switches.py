# SPDX-License-Identifier: MIT
"""Puts many changes of a text into one copy of it, each behind a switch that a running program can turn."""

from dataclasses import dataclass

from cxx import ASSIGNS, BOUNDS, CONDITIONS, CONTROLS, Source

EXPRESSION, STATEMENTS, LINE = "expression", "statements", "line"

CONSTANTS = {"constexpr", "static_assert", "using"}


@dataclass
class Switch:
    number: int
    kind: str
    begin: int  # of the text that it replaces
    end: int
    to: str = ""
    changed: Source = None  # all of it


def change_of(source, changed):
    """Tokens [begin, end) that a change replaces, and with what."""
    old, new = ([token for token, _, _ in text.tokens] for text in (source, changed))
    shorter = min(len(old), len(new))
    begin = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    same = next((i for i in range(shorter - begin) if old[-1 - i] != new[-1 - i]), shorter - begin)
    return begin, len(old) - same, new[begin : len(new) - same]


def expression(source, begin, end, new):
    """The smallest operand, argument or condition around a change, or None if a statement has to change."""
    while True:
        begin, end = source.balanced(begin, end)
        around = source.around(begin, end)
        inside = [source.at(i) for i in range(begin, end) if source.parent[i] == around] + new
        if around is None or source.is_scope(around):
            return None
        if source.at(around) == "<" or "," in inside:
            if source.is_block(around):
                return None
            if source.at(around) == "(" and source.at(around - 1) in {"if", "for", "while", "constexpr"}:
                return None
            begin, end, new = around, source.partner[around] + 1, []
            continue
        if (ASSIGNS | {";", "constexpr", "return", "else", "if", "for", "continue"}) & set(inside):
            return None
        bounds = BOUNDS if CONDITIONS & set(inside) else BOUNDS | CONDITIONS
        begin, end = widen(source, begin, end, around, bounds)
        if source.at(around) == "<":
            continue
        before, behind = source.at(begin - 1), source.at(end)
        if begin == end or before == "constexpr" or behind in ASSIGNS or behind == "{":
            return None
        if source.at(begin) in CONTROLS | {"{"} or source.at(around - 1) == "constexpr":
            return None
        if (
            source.partner.get(begin + 1) == end - 1
            and source.at(end - 1) == "}"
            and new[:1] != [source.at(begin)]
        ):  # another type
            begin, end, new = around, source.partner[around] + 1, []
            continue
        return begin, end


def widen(source, begin, end, around, bounds):
    """To the next of these on both sides."""
    while begin - 1 > around:
        before = source.at(begin - 1)
        if before in {")", "]", "}", ">"} and begin - 1 in source.partner:
            if before == ")" and source.is_control(begin - 1):
                break
            if before == "}" and source.is_block(source.partner[begin - 1]):
                break
            begin = source.partner[begin - 1]
        elif before in bounds:
            break
        else:
            begin -= 1
    while end < source.partner[around]:
        behind = source.at(end)
        if behind in bounds and behind != "{":
            break
        end = source.partner[end] + 1 if source.partner.get(end, 0) > end else end + 1
    return begin, end


def statements(source, begin, end):
    """The statements around a change, to the end of the block if one of them declares something; None outside of functions."""
    begin, end = source.balanced(begin, end)
    block = source.around(begin, end)
    while block is not None and not source.is_block(block):
        begin, end = min(begin, block), max(end, source.partner[block] + 1)
        begin, end = source.balanced(begin, end)
        block = source.parent[begin]
        if source.at(begin) == "{" and source.is_scope(begin):
            return None
    if block is None:
        return None
    if begin == end and source.at(begin - 1) in {";", "{", "}"}:
        return begin, end
    found = source.statements(block)
    while True:
        found = [(a, b) for a, b in found if a < end and b > begin or a < begin == end < b]
        if len(found) != 1:
            break
        parts = [
            part for part in source.parts_of_statement(found[0][0]) if part[0] <= begin and end <= part[1]
        ]
        if not parts:
            break
        found = parts
    first, last = found[0][0], found[-1][1]
    if any(source.declares(*one) for one in found):
        last = source.partner[block]
    return first, last


def is_constant(source, begin):
    """Whether it is part of a statement, or of a function, that is computed while compiling."""
    while begin is not None:
        around = source.parent[begin]
        if around is None or source.is_block(around) or source.is_scope(around):
            while begin > 0 and source.at(begin - 1) not in {";", "{", "}"}:
                begin -= 1
                if source.at(begin) in CONSTANTS and source.at(begin - 1) != "if":
                    return True
        begin = around
    return False


def place(source, changed, begin, end):
    """Their place in the text, and what is there in the changed one."""
    first = source.tokens[begin][1]
    last = source.tokens[end - 1][2] if end > begin else first
    behind = len(changed.tokens) - (len(source.tokens) - end)
    if behind == begin:
        return first, last, ""
    return first, last, changed.text[changed.tokens[begin][1] : changed.tokens[behind - 1][2]]


def switch(source, number, changed):
    """None if it is no change of what runs, but of types, constants or declarations."""
    begin, end, new = change_of(source, changed)
    found = expression(source, begin, end, new)
    if found and not is_constant(source, found[0]):
        first, last, to = place(source, changed, *found)
        if to:
            return Switch(number, EXPRESSION, first, last, to, changed)
    found = statements(source, begin, end)
    if found is None or is_constant(source, source.around(*found)):
        return None
    return Switch(number, STATEMENTS, *place(source, changed, *found), changed)


def nested(source, switches):
    """Where two overlap and neither lies within the other, both get the statements around both."""
    while True:
        clash = next(((a, b) for a in switches for b in switches if a.begin < b.begin < a.end < b.end), None)
        if clash is None:
            return switches
        begin, end = source.index_at(clash[0].begin), source.index_at(clash[1].end)
        found = statements(source, begin, end)
        for one in clash:
            if one.kind == LINE:
                raise ValueError(f"a statement that orders threads is half in the change {clash}")
            one.kind = STATEMENTS
            one.begin, one.end, one.to = place(source, one.changed, *found)


def makes_change(source, one):
    """Whether a copy of which this alone is switched has the changed text's tokens."""
    text = source.text[: one.begin] + f" {one.to} " + source.text[one.end :]
    return [token for token, _, _ in Source(text).tokens] == [token for token, _, _ in one.changed.tokens]


def render(text, switches, begin=0, end=None):
    """The text between two places, with the switches that lie within."""
    end = len(text) if end is None else end
    parts, at = [], begin
    # What is inserted before a statement does not belong to it; then from the outside in.
    todo = sorted(
        switches, key=lambda one: (one.begin, one.end > one.begin, -one.end, one.kind != STATEMENTS)
    )
    while todo:
        first = todo[0]
        same = [one for one in todo if (one.begin, one.end, one.kind) == (first.begin, first.end, first.kind)]
        inside = [
            one for one in todo if one not in same and one.begin >= first.begin and one.end <= first.end
        ]
        if first.begin == first.end:  # an insertion, before what begins there
            inside = []
        todo = [one for one in todo if one not in same and one not in inside]
        parts.append(text[at : first.begin])
        parts.append(turned(same, render(text, inside, first.begin, first.end)))
        at = first.end
    return "".join([*parts, text[at:end]])


def turned(same, otherwise):
    kind = same[0].kind
    if kind == LINE:
        return f"{{ if (!::flashmoe::test::is_left_out({same[0].number})) {otherwise} }}"
    if kind == EXPRESSION:
        choices = "".join(f"::flashmoe::test::is_on({one.number}) ? ({one.to}) : " for one in same)
        return f"({choices}({otherwise}))"
    choices = " else ".join(f"if (::flashmoe::test::is_on({one.number})) {{\n{one.to}\n}}" for one in same)
    return f"{{ {choices} else {{\n{otherwise}\n}} }}"
