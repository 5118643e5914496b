#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A forward and backward pass of attention as Python calls it, ours against PyTorch's scaled_dot_product_attention.

  python flashmoe/benches/attention_step.py                              # on the GPU if there is one, else on the CPU
  python flashmoe/benches/attention_step.py --device cpu --shapes 1,8,128,64 4,8,512,64 --dtype float32 --json FILE

Everything counts that the caller waits for: Python, autograd and its engine, allocations, launches, kernels. On a GPU a
sample is many steps in a row, with the work on the stream done at its end; small shapes are bound by the host.
"""

import argparse
import json

import harness


def parse(torch):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "float16", "bfloat16"))
    parser.add_argument(
        "--shapes", nargs="+", default=["1,8,128,64", "1,16,512,64", "2,16,2048,128"], metavar="B,H,S,D"
    )
    parser.add_argument("--threads", type=int, default=2, help="of the CPU, for both sides")
    parser.add_argument("--seconds", type=float, default=5, help="for each shape")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def contenders(torch, fm, shape, options):
    dtype = getattr(torch, options.dtype)
    q, k, v, dout = (torch.randn(shape, device=options.device, dtype=dtype) for _ in range(4))
    inputs = [t.requires_grad_() for t in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    steps = {
        "ours": lambda: fm.attention(*inputs, causal=True),
        "sdpa": lambda: sdpa(*inputs, is_causal=True),
    }

    def run(forward):
        def many():
            for _ in range(20):
                torch.autograd.grad(forward(), inputs, dout)
            if options.device == "cuda":
                torch.cuda.synchronize()

        return many

    for forward in steps.values():  # the first step loads kernels, and what of PyTorch only it needs
        torch.autograd.grad(forward(), inputs, dout)
    return {name: run(forward) for name, forward in steps.items()}


def main():
    torch = harness.load_torch(2)
    if torch is None:
        raise SystemExit(
            "attention_step.py compares with PyTorch, which is not installed\n  try: scripts/python-env bench"
        )
    options = parse(torch)
    torch.set_num_threads(options.threads)
    fm = harness.load_package()
    fm.set_num_threads(options.threads)
    results = []
    for text in options.shapes:
        shape = [int(size) for size in text.split(",")]
        samples = harness.sample(contenders(torch, fm, shape, options), options.seconds)
        step_us = {name: [1e6 * s / 20 for s in times] for name, times in samples.items()}
        ratio, low, high = harness.ratio_of_medians(step_us["sdpa"], step_us["ours"])
        results.append({"shape": shape, "step_us": step_us, "ratio": ratio, "low": low, "high": high})
        between = "" if low is None else f" ({low:.2f} to {high:.2f})"
        ours, sdpa = (harness.median(step_us[name]) for name in ("ours", "sdpa"))
        print(f"{text:>16} {options.dtype}: ours {ours:.1f} us, sdpa {sdpa:.1f} us, {ratio:.2f}x{between}")
    if options.json:
        record = {
            "bench": "attention_step",
            "device": options.device,
            "dtype": options.dtype,
            "results": results,
        }
        record["environment"] = harness.environment(fm, torch, options.threads)
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
