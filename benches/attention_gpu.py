#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times attention on the GPU at hand against each backend of PyTorch's SDPA by itself, all in one run.

  python benches/attention_gpu.py                       # everything, about five minutes
  python benches/attention_gpu.py --only small,call     # some groups: small, decode, large, many heads, window, spans, scores, varlen, call
  python benches/attention_gpu.py --json FILE           # saved after each case

Kernel time is that of a CUDA graph which holds the call many times, divided by their number: no launch gaps, no Python.
Each sample is preceded by unmeasured replays of the same graph, so that the chip is in the state that this work keeps
it in, the last of them still running when the clock starts, so that the launch of the graph is not in the time; samples of
all contenders are shuffled. Small graphs are instantiated several times, since the same graph
moves by up to 0.18 us from one instantiation to the next; the median over all samples counts.
"""

import argparse
import contextlib
import inspect
import random
import time
from collections import namedtuple

import harness

Case = namedtuple(
    "Case",
    "group dtype batch q_heads kv_heads q_rows kv_rows head_dim causal cold window documents prefix scores sequences",
    defaults=(False, False, 0, 0, 0, "", 0),
)  # window: keys that a row sees, itself and those before it; documents: as many, of one length; prefix: keys; 0: none.
# scores: "softcap", "alibi", or as they are. sequences: as many, packed, of different lengths; 0: a plain batch.


def small_cases():
    for heads, rows in ((1, 32), (1, 64), (1, 128), (1, 256), (1, 512), (8, 128)):
        for causal in (False, True):
            yield Case("small", "float16", 1, heads, heads, rows, rows, 64, causal)


def decode_cases():
    for batch, keys in ((1, 1024), (1, 8192), (1, 65536), (32, 1024), (32, 8192)):
        for cold in (False, True) if batch == 1 and keys < 65536 else (True,):
            yield Case("decode", "bfloat16", batch, 32, 8, 1, keys, 128, False, cold)


def large_cases():
    for head_dim in (64, 128):
        for causal in (False, True):
            for rows in (512, 1024, 2048, 4096, 8192, 16384):
                heads = 2048 // head_dim
                yield Case(
                    "large", "bfloat16", 16384 // rows, heads, heads, rows, rows, head_dim, causal, True
                )


def many_heads_cases():
    for rows in (1024, 2048, 4096, 8192):
        yield Case("many heads", "bfloat16", 4, 48, 48, rows, rows, 128, True, True)


def window_cases():
    for batch, heads, rows, head_dim in ((2, 16, 8192, 128), (1, 16, 16384, 128), (4, 32, 4096, 64)):
        yield Case("window", "bfloat16", batch, heads, heads, rows, rows, head_dim, True, False, 1024)


def spans_cases():
    for batch, heads, rows, head_dim in ((2, 16, 8192, 128), (4, 32, 4096, 64)):
        shape = ("spans", "bfloat16", batch, heads, heads, rows, rows, head_dim, True)
        yield Case(*shape, documents=16)
        yield Case(*shape, prefix=rows // 4)


SOFTCAP = 30.0


def scores_cases():
    for scores in ("softcap", "alibi"):
        for batch, heads, rows, head_dim in ((2, 16, 8192, 128), (4, 32, 4096, 64)):
            shape = "scores", "bfloat16", batch, heads, heads, rows, rows, head_dim, True
            yield Case(*shape, scores=scores)


def varlen_cases():
    for sequences in (1, 8, 64):
        shape = "varlen", "bfloat16", 1, 16, 16, 16384, 16384, 128, True
        yield Case(*shape, sequences=sequences)


def lengths_of(case):
    """The rows, cut at random places, always the same."""
    cuts = sorted(random.Random(0).sample(range(1, case.q_rows), case.sequences - 1))
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, case.q_rows])]


GROUPS = {
    "small": small_cases,
    "decode": decode_cases,
    "large": large_cases,
    "many heads": many_heads_cases,
    "window": window_cases,
    "spans": spans_cases,
    "scores": scores_cases,
    "varlen": varlen_cases,
}


def flops(case):
    pairs = case.q_rows * case.kv_rows
    if case.window:  # rows and keys are as many
        pairs = case.q_rows * case.window - case.window * (case.window - 1) // 2
        return 4 * case.batch * case.q_heads * pairs * case.head_dim
    if case.sequences:
        pairs = sum(rows * (rows + 1) // 2 for rows in lengths_of(case))
    elif case.documents:
        rows = case.q_rows // case.documents
        pairs = case.documents * rows * (rows + 1) // 2
    elif case.causal:
        pairs = case.q_rows * case.kv_rows - case.q_rows * (case.q_rows - 1) // 2
        pairs += case.prefix * (case.prefix - 1) // 2
    return 4 * case.batch * case.q_heads * pairs * case.head_dim


def name_of(case):
    heads = str(case.q_heads) if case.q_heads == case.kv_heads else f"{case.q_heads}/{case.kv_heads}"
    return (
        f"{case.group} {case.dtype} B={case.batch} H={heads} Sq={case.q_rows} Skv={case.kv_rows} D={case.head_dim}"
        f"{' causal' if case.causal else ''}{f' window {case.window}' if case.window else ''}"
        f"{f' {case.documents} documents' if case.documents else ''}{f' prefix {case.prefix}' if case.prefix else ''}"
        f"{f' {case.scores}' if case.scores else ''}{f' {case.sequences} sequences' if case.sequences else ''}"
        f"{' cold' if case.cold else ''}"
    )


def input_sets(torch, case, budget=192 << 20):
    """One set of random q, k, v; for a cold case enough of them that together they exceed the L2 cache."""
    dtype = getattr(torch, case.dtype)

    def one():
        q = torch.randn(case.batch, case.q_heads, case.q_rows, case.head_dim, device="cuda", dtype=dtype)
        k, v = (
            torch.randn(case.batch, case.kv_heads, case.kv_rows, case.head_dim, device="cuda", dtype=dtype)
            for _ in range(2)
        )
        return q, k, v

    first = one()
    size = sum(x.numel() * x.element_size() for x in first)
    count = min(32, max(1, -(-budget // size))) if case.cold else 1
    return [first] + [one() for _ in range(count - 1)]


def windowed(torch, package, case):
    """Whoever knows windows, and cuDNN with a mask for each pair, which is all that PyTorch lets it have."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    from torch.nn.attention.varlen import varlen_attn

    def seen(b, h, row, key):
        return (row >= key) & (row - key < case.window)

    rows = torch.arange(case.q_rows, device="cuda")
    mask = seen(0, 0, rows[:, None], rows[None, :])
    blocks = create_block_mask(seen, None, None, case.q_rows, case.kv_rows, device="cuda")
    flex = torch.compile(flex_attention, dynamic=False)
    ends = torch.arange(case.batch + 1, device="cuda", dtype=torch.int32) * case.q_rows
    limits = (case.window - 1, 0)

    def cudnn(q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def flash(q, k, v):  # in the layout that it takes, [B S, H, D], whatever the values
        packed = (x.view(case.batch * case.q_rows, -1, case.head_dim) for x in (q, k, v))
        return varlen_attn(*packed, ends, ends, case.q_rows, case.q_rows, window_size=limits)

    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, window=limits),
        "flex": lambda q, k, v: flex(q, k, v, block_mask=blocks),
        "flash": flash,
        "cudnn": cudnn,
    }


def spanned(torch, package, case):
    """Documents or a prefix: FlexAttention, and cuDNN with a mask for each pair."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    rows = torch.arange(case.q_rows, device="cuda", dtype=torch.int32)
    if case.documents:
        spans = {"documents": rows // (case.q_rows // case.documents)}
        ids = spans["documents"]

        def seen(b, h, row, key):
            return (row >= key) & (ids[row] == ids[key])

    else:
        spans = {"prefix": torch.full((case.batch,), case.prefix, device="cuda", dtype=torch.int32)}

        def seen(b, h, row, key):
            return (row >= key) | (key < case.prefix)

    mask = seen(0, 0, rows[:, None], rows[None, :])
    blocks = create_block_mask(seen, None, None, case.q_rows, case.kv_rows, device="cuda")
    flex = torch.compile(flex_attention, dynamic=False)

    def cudnn(q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, True, **spans),
        "flex": lambda q, k, v: flex(q, k, v, block_mask=blocks),
        "cudnn": cudnn,
    }


def with_scores(torch, package, case):
    """FlexAttention, compiled for the change, is the only other that knows it."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    slopes = torch.exp2(-8 * torch.arange(1, case.q_heads + 1, device="cuda") / case.q_heads)

    def capped(score, b, h, row, key):
        return SOFTCAP * torch.tanh(score / SOFTCAP)

    def sloped(score, b, h, row, key):
        return score - slopes[h] * (row - key)

    change = {"softcap": capped, "alibi": sloped}[case.scores]
    known = {"softcap": {"softcap": SOFTCAP}, "alibi": {"alibi_slopes": slopes}}[case.scores]
    blocks = create_block_mask(lambda b, h, row, key: row >= key, None, None, case.q_rows, case.kv_rows, device="cuda")
    flex = torch.compile(flex_attention, dynamic=False)
    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, causal=True, **known),
        "flex": lambda q, k, v: flex(q, k, v, score_mod=change, block_mask=blocks),
    }


def packed(torch, package, case):
    """Sequences of different lengths, one behind the other: PyTorch's varlen_attn, which is FlashAttention 2."""
    from torch.nn.attention.varlen import varlen_attn

    # It has had two names for a causal mask.
    named = "is_causal" in inspect.signature(varlen_attn).parameters
    causal = {"is_causal": True} if named else {"window_size": (-1, 0)}
    lengths = lengths_of(case)
    ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).cuda()

    def in_rows(call):  # [rows, H, D], whatever the values
        return lambda *tensors: call(*(x.view(case.q_rows, -1, case.head_dim) for x in tensors))

    return {
        "flashmoe": in_rows(lambda q, k, v: package.attention_varlen(q, k, v, ends, ends, causal=True)),
        "flash": in_rows(
            lambda q, k, v: varlen_attn(q, k, v, ends, ends, max(lengths), max(lengths), **causal)
        ),
    }


def contenders(torch, package, case):
    """{name: call(q, k, v)}; those that refuse the case are left out. Their outputs are allocated inside."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    options = {"is_causal": case.causal}
    if case.q_heads != case.kv_heads:
        options["enable_gqa"] = True

    def sdpa(backend):
        def call(q, k, v):
            with sdpa_kernel(backend) if backend else contextlib.nullcontext():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

        return call

    everyone = {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, causal=case.causal),
        "cudnn": sdpa(SDPBackend.CUDNN_ATTENTION),
        "flash": sdpa(SDPBackend.FLASH_ATTENTION),
        "efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
        "sdpa": sdpa(None),
    }
    if case.window:
        everyone = windowed(torch, package, case)
    elif case.documents or case.prefix:
        everyone = spanned(torch, package, case)
    elif case.scores:
        everyone = with_scores(torch, package, case)
    elif case.sequences:
        everyone = packed(torch, package, case)
    q, k, v = input_sets(torch, case._replace(cold=False))[0]
    able, expected = {}, None
    for name, call in everyone.items():
        try:
            out = call(q, k, v)
            torch.cuda.synchronize()
        except RuntimeError as error:
            if name == "flashmoe":
                raise
            harness.say(f"  {name}: does not take this case ({str(error).splitlines()[0][:80]})")
            continue
        expected = out if expected is None else expected
        same_shape = out.shape == expected.shape
        able[name] = call, (out.float() - expected.float()).abs().max().item() if same_shape else None
    return able


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


def extra_memory(torch, call, inputs):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    out = call(*inputs)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before - out.numel() * out.element_size()


def measure(torch, package, case, rounds):
    sets = input_sets(torch, case)
    able = contenders(torch, package, case)
    estimate_us = max(
        2.0, flops(case) / 400e6, 4 * case.batch * case.kv_heads * case.kv_rows * case.head_dim / 4e6
    )
    calls = max(len(sets) if case.cold else 1, min(100, int(2000 / estimate_us)))
    small = estimate_us < 50
    samples = {name: [] for name in able}
    order = random.Random(0)
    for _ in range(3 if small else 1):  # instantiations
        graphs = {name: capture(torch, call, sets, calls) for name, (call, _) in able.items()}
        for _ in range(rounds):
            for name in order.sample(sorted(graphs), len(graphs)):
                samples[name].append(replay_us(torch, graphs[name], calls, 2e-3 if small else 25e-3))
        del graphs
    result = {"case": case._asdict(), "name": name_of(case), "calls_per_graph": calls, "contenders": {}}
    for name, times in samples.items():
        middle = harness.median(times)
        result["contenders"][name] = {
            "median_us": middle,
            "min_us": min(times),
            "max_us": max(times),
            "samples": len(times),
            "samples_us": [round(time_us, 4) for time_us in times],
            "tflops": flops(case) / middle / 1e6,
            "extra_bytes": extra_memory(torch, able[name][0], sets[0]),
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


def call_times(torch, package):
    """Host time of one Python call on an idle queue, in us."""
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
    }
    samples = {name: [] for name in calls}
    order = random.Random(0)
    for _ in range(2000):
        for name in order.sample(sorted(calls), len(calls)):
            torch.cuda.synchronize()
            start = time.perf_counter()
            calls[name]()
            samples[name].append((time.perf_counter() - start) * 1e6)
    return {
        name: {
            "median_us": harness.median(times),
            "min_us": min(times),
            "p95_us": harness.percentile(times, 0.95),
        }
        for name, times in samples.items()
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
        result = measure(torch, package, case, options.rounds)
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
            print(f"Python call, S=128: {name:18} {entry['median_us']:.1f} us")
    document["environment_after"] = harness.gpu_environment(torch, package)["gpu"]
    if options.json:
        harness.save_json(options.json, document)


if __name__ == "__main__":
    main()
