# SPDX-License-Identifier: MIT
"""The fenced blocks of a page, and the marks by which a page says what to do with one.

A mark is a comment on the line before the fence; a reader of the page does not see it:
    <!-- file: flashmoe/src/kernels/x/kernel.cuh -->   the block is this file
    <!-- test: needs a GPU -->                it is run only where there is one
    <!-- test: shown only -->                 it is not run
    <!-- test: fails -->                      it is run, and exits with a status other than 0
    <!-- part: examples/x/dent.toml -->       these lines are in that file
"""

import re
from dataclasses import dataclass
from pathlib import Path

MARK = re.compile(r"<!-- (file|test|part): (.*?) -->$")


@dataclass
class Block:
    page: Path
    line: int  # of the fence
    language: str
    text: str
    mark: str = ""  # "file", "test", "part" or none
    value: str = ""

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def shown_only(self):
        return (self.mark, self.value) == ("test", "shown only")

    @property
    def needs_gpu(self):
        return (self.mark, self.value) == ("test", "needs a GPU")


def blocks_of(page):
    found, inside, mark = [], None, None
    for number, line in enumerate(Path(page).read_text().splitlines(), 1):
        if inside is None:
            fence = re.match(r"```(\w*)$", line)
            if fence:
                kind, value = mark.groups() if mark else ("", "")
                inside = Block(Path(page), number, fence[1], "", kind, value)
            mark = MARK.match(line)
        elif line == "```":
            found.append(inside)
            inside = mark = None
        else:
            inside.text += line + "\n"
    if inside is not None:
        raise SystemExit(f"{inside.where}: the block has no end")
    return found


def matches(shown, printed):
    """Whether lines are as a page shows them. A `...` in a line stands for anything, a line of it for any lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    if not printed:
        return False
    line = ".*".join(map(re.escape, shown[0].split("...")))
    return re.fullmatch(line, printed[0]) is not None and matches(shown[1:], printed[1:])


def apply_diff(diff, where, root):
    """Applies a unified diff to files below root. A hunk's old lines must be there exactly once."""
    for part in re.split(r"(?m)^--- a/.*\n", diff)[1:]:
        name = re.match(r"\+\+\+ b/(.*)\n", part)[1]
        file = Path(root) / name
        text = file.read_text()
        for hunk in re.split(r"(?m)^@@.*\n", part)[1:]:
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            if text.count(old) != 1:
                raise SystemExit(
                    f"{where}: the lines to change are {text.count(old)} times in {name}:\n{old}"
                )
            text = text.replace(old, new)
        file.write_text(text)
