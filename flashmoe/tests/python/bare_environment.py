# SPDX-License-Identifier: MIT
"""Run by scripts/try-wheel in an environment with this package and nothing else: the standard library has to do."""

import ctypes
import importlib.metadata
import importlib.util
import math
import re
import sys
from pathlib import Path

import flashmoe_science as fm
from flashmoe_science import _C

HEADS, ROWS, WIDTH = 2, 37, 64
SCALE = 1 / math.sqrt(WIDTH)
Tensor = ctypes.c_float * WIDTH * ROWS * HEADS * 1  # [1, HEADS, ROWS, WIDTH], through the buffer protocol


def tensor(seed):
    made = Tensor()
    for h in range(HEADS):
        for i in range(ROWS):
            for d in range(WIDTH):
                made[0][h][i][d] = math.sin(seed + 7 * h + 1.3 * i + 0.17 * i * d)
    return made


def expected_row(q, k, v, h, i):
    scores = [SCALE * math.fsum(a * b for a, b in zip(q[0][h][i], k[0][h][j])) for j in range(i + 1)]
    weights = [math.exp(score - max(scores)) for score in scores]
    columns = zip(*(v[0][h][j] for j in range(i + 1)))
    return [math.fsum(w * x for w, x in zip(weights, column)) / math.fsum(weights) for column in columns]


def check_results():
    q, k, v, out = tensor(1), tensor(2), tensor(3), Tensor()
    assert fm.attention(q, k, v, causal=True, out=out) is out
    for h in range(HEADS):
        for i in range(ROWS):
            for got, expected in zip(out[0][h][i], expected_row(q, k, v, h, i)):
                assert abs(got - expected) <= 1e-5, (h, i, got, expected)  # false for NaN
    return fm.explain(q, k, v, causal=True)


def mapped_libraries():
    return set(re.findall(r"/\S*\.so\S*", Path("/proc/self/maps").read_text()))


def main():
    for absent in ("numpy", "torch", "pip"):
        assert importlib.util.find_spec(absent) is None, (
            f"{absent} is installed: this environment is not bare"
        )
    assert importlib.metadata.version("flashmoe_science") == fm.__version__
    needed = importlib.metadata.requires("flashmoe_science") or []
    assert all("extra ==" in requirement for requirement in needed), needed
    assert ("+cu" in fm.__version__) == ("cuda" in _C.library_version), _C.library_version
    plan = check_results()
    instruction_set = re.search(r"instruction set: (\w+)", plan)[1]
    assert instruction_set not in ("portable", "SCALAR", "EMU128"), plan
    highway = {library for library in mapped_libraries() if "libhwy" in library}
    assert all(library.startswith(sys.prefix) for library in highway), highway
    print(
        f"{Path.cwd()}: flashmoe_science {fm.__version__}, {_C.library_version}, computes with {instruction_set}"
    )


if __name__ == "__main__":
    main()
