#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times attention on the GPU at hand against each backend of PyTorch's SDPA by itself, all in one run.

  python flashmoe/benches/attention_gpu.py                       # everything, about five minutes
  python flashmoe/benches/attention_gpu.py --only small,call     # some groups: small, decode, large, many heads, window, spans, scores,
                                                        # varlen, tensors, call
  python flashmoe/benches/attention_gpu.py --only varlen --gradients    # of q, k and v, by autograd, in place of the attention
  python flashmoe/benches/attention_gpu.py --json FILE           # saved after each case

Kernel time is that of a CUDA graph which holds the call many times, divided by their number: no launch gaps, no Python.
Each sample is preceded by unmeasured replays of the same graph, so that the chip is in the state that this work keeps
it in, the last of them still running when the clock starts, so that the launch of the graph is not in the time; samples of
all contenders are shuffled. Gradients are not in a graph, since not all of autograd's work can be captured: calls follow one
another without a gap, which those of these sizes fill; where they don't, since the host takes longer, the kernels alone are
timed, by PyTorch's profiler. Small graphs are instantiated several times, since the same graph
moves by up to 0.18 us from one instantiation to the next; the median over all samples counts.
"""

import argparse
import random
import time

import harness
from gpu_cases import GROUPS, name_of, work
from gpu_contenders import BY_THEIR_KERNELS, contenders, differentiate, gradients, input_sets


class Queued:
    """Calls one behind the other, of which each keeps the GPU busy for longer than the host takes for the next."""

    def __init__(self, call, sets, calls):
        self.replay = lambda: [call(*sets[i % len(sets)]) for i in range(calls)] and None


def capture(torch, call, sets, calls):
    graph = torch.cuda.CUDAGraph()
    call(*sets[0])
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        kept = [call(*sets[i % len(sets)]) for i in range(calls)]
    del kept
    return graph


def replay_us(torch, graph, calls, warm_s):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    until = time.perf_counter() + warm_s
    while True:
        graph.replay()
        torch.cuda.synchronize()
        if time.perf_counter() >= until:
            break
    graph.replay()  # the GPU is busy while what is timed is queued
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / calls


def kernels_us(torch, call, sets, calls=2):
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for i in range(calls):
            call(*sets[i % len(sets)])
        torch.cuda.synchronize()
    on_gpu = torch.autograd.DeviceType.CUDA
    return sum(event.device_time_total for event in seen.events() if event.device_type == on_gpu) / calls


def extra_memory(torch, call, inputs):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    results = call(*inputs)
    torch.cuda.synchronize()
    results = results if isinstance(results, tuple) else (results,)
    return torch.cuda.max_memory_allocated() - before - sum(x.numel() * x.element_size() for x in results)


def measure(torch, package, case, rounds, backward):
    torch.compiler.reset()  # FlexAttention is compiled for every case; PyTorch gives up after eight
    inputs = input_sets(torch, case)
    able = contenders(torch, package, case, backward)
    todo = {name: (call, inputs) for name, (call, _) in able.items()}
    if backward:
        recorded = {name: [gradients(torch, call, one) for one in inputs] for name, (call, _) in able.items()}
        todo = {name: (differentiate(torch), sets) for name, sets in recorded.items()}
    estimate_us = max(
        2.0, work(torch, case, backward) / 400e6, 4 * case.batch * case.kv_heads * case.kv_rows * case.head_dim / 4e6
    )
    calls = max(len(inputs) if case.cold else 1, min(100, int(2000 / estimate_us)))
    small = estimate_us < 50
    samples = {name: [] for name in able}
    order = random.Random(0)
    for _ in range(3 if small else 1):  # instantiations
        graphs = {
            name: Queued(*task, calls) if backward else capture(torch, *task, calls)
            for name, task in todo.items()
            if name not in BY_THEIR_KERNELS
        }
        for _ in range(rounds):
            for name in order.sample(sorted(todo), len(todo)):
                by_kernels = name in BY_THEIR_KERNELS
                graph = graphs["flashmoe" if by_kernels else name]  # in its place, something that keeps the GPU warm
                time_us = replay_us(torch, graph, calls, 2e-3 if small else 25e-3)
                samples[name].append(kernels_us(torch, *todo[name]) if by_kernels else time_us)
        del graphs
    name = ("gradients of " if backward else "") + name_of(case)
    result = {"case": case._asdict(), "name": name, "calls_per_graph": calls, "contenders": {}}
    for name, times in samples.items():
        middle = harness.median(times)
        result["contenders"][name] = {
            "median_us": middle,
            "min_us": min(times),
            "max_us": max(times),
            "samples": len(times),
            "samples_us": [round(time_us, 4) for time_us in times],
            "tflops": work(torch, case, backward) / middle / 1e6,
            "extra_bytes": extra_memory(torch, todo[name][0], todo[name][1][0]),
            "difference_from_flashmoe": able[name][1],
        }
    result.update(against_the_best(samples))
    return result


def against_the_best(samples):
    """The ratio to the fastest contender, with its 95 % interval; samples of one round are pairs."""
    best = min(
        (name for name in samples if name != "flashmoe"), key=lambda name: harness.median(samples[name])
    )
    ratio, low, high = harness.ratio_of_medians(samples[best], samples["flashmoe"])
    return {"best_rival": best, "ratio": ratio, "ratio_low": low, "ratio_high": high}


CALLS_IN_A_ROW = 20  # as many launches wait without the host waiting for them


def call_times(torch, package):
    """Host time of a Python call in us: alone, on an idle queue and behind other code, and in a row of the same."""
    q, k, v = (torch.randn(1, 1, 128, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    calls = {
        "flashmoe": lambda: package.attention(q, k, v),
        "flashmoe out=": lambda: package.attention(q, k, v, out=out),
        "flashmoe recorded": lambda: package.attention(*leaves),
        "sdpa": lambda: sdpa(q, k, v),
        "sdpa recorded": lambda: sdpa(*leaves),
        **packed_calls(torch, package),
    }
    alone = {name: [] for name in calls}
    in_a_row = {name: [] for name in calls}
    order = random.Random(0)

    def time_us(call):
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e6

    for _ in range(2000):
        for name in order.sample(sorted(calls), len(calls)):
            torch.cuda.synchronize()
            alone[name].append(time_us(calls[name]))
    for _ in range(50):
        for name in order.sample(sorted(calls), len(calls)):
            torch.cuda.synchronize()
            in_a_row[name] += [time_us(calls[name]) for _ in range(CALLS_IN_A_ROW)]
    return {
        name: {
            "median_us": harness.median(times),
            "min_us": min(times),
            "p95_us": harness.percentile(times, 0.95),
            "in_a_row_us": harness.median(in_a_row[name]),
        }
        for name, times in alone.items()
    }


def packed_calls(torch, package):
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = (torch.randn(128, 1, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    ends = torch.tensor([0, 48, 128], dtype=torch.int32, device="cuda")
    return {
        "flashmoe varlen": lambda: package.attention_varlen(q, k, v, ends, ends, 80, 80),
        "flashmoe varlen recorded": lambda: package.attention_varlen(*leaves, ends, ends, 80, 80),
        "varlen_attn": lambda: varlen_attn(q, k, v, ends, ends, 80, 80),
        "varlen_attn recorded": lambda: varlen_attn(*leaves, ends, ends, 80, 80),
    }


def print_case(result):
    entries = result["contenders"]
    cells = "  ".join(f"{name} {entry['median_us']:.2f}" for name, entry in entries.items())
    print(
        f"{result['name']:75} {result['ratio']:5.2f}x of {result['best_rival']:9} "
        f"{entries['flashmoe']['tflops']:6.1f} TF | us: {cells}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="small,decode,large,many heads,call", help="groups, separated by commas"
    )
    parser.add_argument(
        "--gradients", action="store_true", help="time the gradients in place of the attention"
    )
    parser.add_argument("--rounds", type=int, default=5, help="samples per contender and graph")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()
    package = harness.load_package()
    torch = harness.load_torch(1)
    if torch is None or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU here")
        return
    document = {
        "kind": "attention_gpu",
        "environment": harness.gpu_environment(torch, package),
        "results": [],
    }
    wanted = options.only.split(",")
    cases = [case for group in wanted if group in GROUPS for case in GROUPS[group]()]
    for number, case in enumerate(cases, 1):
        harness.say(f"[{number}/{len(cases)}] {name_of(case)}")
        result = measure(torch, package, case, options.rounds, options.gradients)
        document["results"].append(result)
        print_case(result)
        if options.json:
            harness.save_json(options.json, document)
    for group in wanted:
        ratios = [r["ratio"] for r in document["results"] if r["case"]["group"] == group]
        if ratios:
            print(
                f"{group}: geometric mean {harness.geometric_mean(ratios):.2f}x, worst {min(ratios):.2f}x of the best rival"
            )
    if "call" in wanted:
        document["call_us"] = call_times(torch, package)
        for name, entry in document["call_us"].items():
            print(
                f"Python call, S=128: {name:24} {entry['median_us']:.1f} us, in a row {entry['in_a_row_us']:.1f}"
            )
    document["environment_after"] = harness.gpu_environment(torch, package)["gpu"]
    if options.json:
        harness.save_json(options.json, document)


if __name__ == "__main__":
    main()
