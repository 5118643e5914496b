# SPDX-License-Identifier: MIT
"""Kernels in Triton with one planted bottleneck each.

planted_triton.py NAME...   launches each of these once, in this order, between profiler start and stop
planted_triton.py --all     the same for every kernel
planted_triton.py --list    name and planted bottleneck, a line each
"""

import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as problem:
    print(f"planted_triton.py: {problem}", file=sys.stderr)
    sys.exit(77)

COUNT = 1 << 26  # of floats in each array: several times any L2 cache


@triton.jit
def planted_triton_copy(src, dst, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at, tl.load(src + at))


@triton.jit
def planted_triton_atomic_sum(src, dst, BLOCK: tl.constexpr):
    """Every element is an addition of its own to one number."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(dst + at * 0, tl.load(src + at))


@triton.jit
def planted_triton_column_walk(src, dst, stride, BLOCK: tl.constexpr):
    """A program reads a column of a matrix stored by rows."""
    row = tl.arange(0, BLOCK)
    column = tl.program_id(0)
    total = tl.sum(tl.load(src + row * stride + column), 0)
    tl.store(dst + column, total)


@triton.jit
def planted_triton_scattered_stores(src, dst, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + at * 8, tl.load(src + at))


@triton.jit
def planted_triton_four_programs(src, dst, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src + at)
    for _ in range(rounds):
        x = x * 0.999 + 0.001
    tl.store(dst + at, x)


@triton.jit
def planted_triton_double(src, dst, rounds, BLOCK: tl.constexpr):
    """Converts to double and back in every round."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src + at)
    for _ in range(rounds):
        x = (x.to(tl.float64) * 0.99 + 0.01).to(tl.float32)
    tl.store(dst + at, x)


@triton.jit
def planted_triton_wide_row(src, dst, BLOCK: tl.constexpr):
    """Softmax of a row that is too wide for the registers of one warp."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(src + at)
    x = tl.exp(x - tl.max(x, 0))
    tl.store(dst + at, x / tl.sum(x, 0))


# By name: the planted bottleneck. dent/tests/diagnose/recorded_test.cpp reads these lines.
EXPECTED = {
    "triton_copy": "dram",
    "triton_atomic_sum": "atomics",
    "triton_column_walk": "uncoalesced",
    "triton_scattered_stores": "uncoalesced_stores",
    "triton_four_programs": "few_ctas",
    "triton_double": "fp64",
    "triton_wide_row": "spills",
}

# By name: the kernel, its programs, what it takes after the two arrays, and its options.
LAUNCHES = {
    "triton_copy": (planted_triton_copy, COUNT // 1024, (), {"BLOCK": 1024}),
    "triton_atomic_sum": (planted_triton_atomic_sum, 2048, (), {"BLOCK": 1024}),
    "triton_column_walk": (planted_triton_column_walk, 8192, (8192,), {"BLOCK": 2048}),
    "triton_scattered_stores": (planted_triton_scattered_stores, COUNT // 8192, (), {"BLOCK": 1024}),
    "triton_four_programs": (planted_triton_four_programs, 4, (20000,), {"BLOCK": 1024}),
    "triton_double": (planted_triton_double, 4096, (128,), {"BLOCK": 1024}),
    "triton_wide_row": (planted_triton_wide_row, COUNT // 16384, (), {"BLOCK": 16384, "num_warps": 1}),
}


def launch(name, src, dst):
    kernel, programs, arguments, options = LAUNCHES[name]
    kernel[(programs,)](src, dst, *arguments, **options)
    torch.cuda.synchronize()


def main(words):
    if words == ["--list"]:
        for name, bottleneck in EXPECTED.items():
            print(name, bottleneck)
        return 0
    unknown = [word for word in words if word != "--all" and word not in LAUNCHES]
    if unknown or not words:
        print(f"planted_triton.py: there is no kernel {unknown}; --list names them", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("planted_triton.py: PyTorch sees no GPU", file=sys.stderr)
        return 77
    src = torch.rand(COUNT, device="cuda")
    dst = torch.zeros(COUNT, device="cuda")
    for name in LAUNCHES if "--all" in words else words:
        launch(name, src, dst)  # compiles
        torch.cuda.cudart().cudaProfilerStart()
        launch(name, src, dst)
        torch.cuda.cudart().cudaProfilerStop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
