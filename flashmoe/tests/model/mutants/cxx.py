# SPDX-License-Identifier: MIT
"""Just enough of C++, as clang-format lays it out, to find the expression or the statements around a change."""

import bisect
import re

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|(?<=\n)[ ]*\#(?:[^\n\\]|\\.)*)
      | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'
      | \.?\d(?:'?[\w.])* | \w+
      | <=> | <<= | >>= | \.\.\. | ::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]= | .""",
    re.VERBOSE | re.DOTALL,
)
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BOUNDS = ASSIGNS | {";", ",", "return", "else", "do", "}", "{"}
CONDITIONS = {"?", ":", "&&", "||"}  # bounds too, unless the change itself has one
CONTROLS = {"if", "for", "while", "switch"}
TYPES = r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*(?:<.*?>)?"
DECLARES = re.compile(
    rf"(?!(?:return|if|for|while|do|else|goto|delete|throw|typename\s*\()\b)"
    rf"(?:(?:static|constexpr|const|using|typename|typedef|struct|alignas\(.*?\))\b.*|{TYPES}\s*[&*]*\s+[&*]*(?:\[|[A-Za-z_]\w*\s*[=;{{(\[,]).*)",
    re.DOTALL,
)


def tokens_of(text):
    """(text, begin, end) of each; a '<' is a bracket's where nothing is between it and a name."""
    found = []
    for match in TOKEN.finditer(text):
        if match["skip"] is None:
            found.append((match.group(), match.start(), match.end()))
    return found


class Source:
    """A text, its tokens, and which brackets belong together."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.begins = [begin for _, begin, _ in self.tokens]
        self.partner, self.parent, stack = {}, [], []
        for i, (token, begin, _) in enumerate(self.tokens):
            opens = token in "([{" or (
                token == "<" and i and (self.at(i - 1) == "template" or self.tokens[i - 1][2] == begin)
            )
            if token in ")]}":
                while stack and self.at(stack[-1]) == "<":  # was none after all
                    stack.pop()
            closes = stack and PAIRS[self.at(stack[-1])] == token
            if closes:
                self.partner[i] = stack[-1]
                self.partner[stack.pop()] = i
            self.parent.append(stack[-1] if stack else None)
            if opens:
                stack.append(i)

    def at(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ""

    def index_at(self, place):
        """Of the first token that begins there or later."""
        return bisect.bisect_left(self.begins, place)

    def around(self, begin, end):
        """The bracket around balanced tokens, or around the place between two."""
        if begin >= len(self.tokens):
            return None
        closes = begin == end and self.at(begin) in PAIRS.values() and self.partner.get(begin, begin) < begin
        return self.partner[begin] if closes else self.parent[begin]

    def is_block(self, i):
        """Whether a brace opens a block of statements."""
        if self.at(i) != "{" or self.is_scope(i):
            return False
        return (
            self.at(i - 1) in {")", "else", "do", "const", ";", "{", "}", "noexcept", "mutable"}
            or self.at(i - 2) == "->"
        )

    def is_scope(self, i):
        """Whether a brace opens a class, an enum or a namespace."""
        k = i - 1
        while k >= 0 and self.at(k) not in {";", "{", "}"}:
            if self.at(k) == ")":
                return False
            if self.at(k) in {"struct", "class", "namespace", "enum", "union"}:
                return self.at(k - 1) != "<" and self.at(k - 1) != ","
            k -= 1
        return False

    def is_control(self, close):
        """Whether a ')' ends what stands before a statement, as `if (...)`."""
        before = self.at(self.partner[close] - 1)
        return before in CONTROLS or (before == "constexpr" and self.at(self.partner[close] - 2) == "if")

    def end_of_statement(self, i):
        """Index behind the statement that begins at token i."""
        if self.at(i) == "{":
            return self.partner[i] + 1
        if self.at(i) in CONTROLS:
            k = i + (2 if self.at(i + 1) == "constexpr" else 1)
            end = self.end_of_statement(self.partner[k] + 1)
            return self.end_of_statement(end + 1) if self.at(i) == "if" and self.at(end) == "else" else end
        if self.at(i) == "do":
            i = self.end_of_statement(i + 1)
        while self.at(i) != ";":
            i = self.partner[i] + 1 if i in self.partner and self.partner[i] > i else i + 1
        return i + 1

    def parts_of_statement(self, i):
        """The statements within `if`, `for` and `while`."""
        if self.at(i) not in CONTROLS:
            return []
        k = i + (2 if self.at(i + 1) == "constexpr" else 1)
        first = self.partner[k] + 1
        end = self.end_of_statement(first)
        parts = [(first, end)]
        if self.at(i) == "if" and self.at(end) == "else":
            parts.append((end + 1, self.end_of_statement(end + 1)))
        return parts

    def statements(self, block):
        i, found = block + 1, []
        while i < self.partner[block]:
            end = self.end_of_statement(i)
            found.append((i, end))
            i = end
        return found

    def balanced(self, begin, end):
        """The range, and the other halves of its brackets."""
        while True:
            for i in range(begin, end):
                other = self.partner.get(i, i)
                if not begin <= other < end:
                    begin, end = min(begin, other), max(end, other + 1)
                    break
            else:
                return begin, end

    def declares(self, begin, end):
        return DECLARES.match(self.text[self.tokens[begin][1] : self.tokens[end - 1][2]]) is not None
