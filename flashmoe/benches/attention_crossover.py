#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the forward kernels that could take a shape, and what dispatch takes: where it should go from one to another.

  python flashmoe/benches/attention_crossover.py --library build/cuda/flashmoe/benches/libhopper_forms.so [--json FILE]

fp16, kernel time of a CUDA graph that holds the call many times, the median of shuffled rounds. `loss` is dispatch's time over
the best one's: 1.00 is a right choice, and a few per cent are noise.
"""

import argparse
import random

import attention_hopper
import harness

KERNELS = {-3: "small_forward", -2: "ampere_forward", -1: "hopper_forward", -4: "dispatch"}


def shapes():
    """(heads, query rows, keys, head_dim, causal)."""
    for head_dim in (64, 128):
        for heads in (1, 4, 16, 64):
            for rows in (64, 128, 256, 512, 1024, 2048):
                yield heads, rows, rows, head_dim, False
                if rows >= 256:
                    yield heads, rows, rows, head_dim, True
    for heads in (1, 8, 32):  # few rows, many keys
        for rows in (64, 256, 1024):
            for keys in (4096, 32768):
                yield heads, rows, keys, 128, False


def measure(torch, kernels, shape, rounds):
    heads, rows, keys, head_dim, causal = shape
    q = torch.randn(1, heads, rows, head_dim, device="cuda", dtype=torch.float16)
    k, v = (torch.randn(1, heads, keys, head_dim, device="cuda", dtype=torch.float16) for _ in range(2))
    graphs, expected = {}, None
    for form, name in KERNELS.items():
        launch, out, _ = kernels.call(torch, form, q, k, v, causal)
        try:
            launch()
        except RuntimeError:
            continue  # it does not take this shape
        torch.cuda.synchronize()
        expected = out.clone() if expected is None else expected
        assert torch.isfinite(out).all() and (out - expected).abs().max() < 2e-2, (shape, name)
        graphs[name] = attention_hopper.Graph(torch, launch, 20)
        graphs[name].keeps = launch  # its tensors, as long as the graph is replayed
    order = random.Random(0)
    for _ in range(rounds):
        for name in order.sample(sorted(graphs), len(graphs)):
            graphs[name].sample(3, 5)
    times = {name: harness.median(graph.samples) for name, graph in graphs.items()}
    best = min((name for name in times if name != "dispatch"), key=times.get)
    low, high = harness.range_of_ratio(graphs["dispatch"].samples, graphs[best].samples)
    return {
        "shape": shape,
        "times_us": times,
        "chosen": kernels.plan(-4, launch.problem),
        "loss": times["dispatch"] / times[best],
        "loss_low": low,
        "loss_high": high,
    }


class Kernels(attention_hopper.Forms):
    def plan(self, form, problem):
        text = attention_hopper.ctypes.create_string_buffer(300)
        self.library.hopper_plan(attention_hopper.ctypes.byref(problem), form, text, 300)
        return text.value.decode()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch = harness.load_torch(1)
    torch.manual_seed(1)
    kernels = Kernels(options.library)
    kernels.workspace_bytes = 512 << 20
    results = []
    for shape in shapes():
        result = measure(torch, kernels, shape, options.rounds)
        results.append(result)
        heads, rows, keys, head_dim, causal = shape
        times = "  ".join(f"{name} {time:.2f}" for name, time in result["times_us"].items())
        print(
            f"H={heads} Sq={rows} Skv={keys} D={head_dim}{' causal' if causal else ''}: {times} us"
            f"  -> {result['chosen']}, loss {result['loss']:.2f}",
            flush=True,
        )
    worst = max(results, key=lambda r: r["loss"])
    mean = harness.geometric_mean([r["loss"] for r in results])
    print(f"worst loss {worst['loss']:.2f} at {worst['shape']}, mean {mean:.3f}")
    if options.json:
        harness.save_json(
            options.json,
            {
                "kind": "attention_crossover",
                "environment": harness.gpu_environment(torch),
                "gpu": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "results": results,
            },
        )


if __name__ == "__main__":
    main()
