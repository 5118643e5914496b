#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times every configuration of hopper_forward against cuDNN and FlashAttention-2 of PyTorch, all in one process.

  python flashmoe/benches/attention_hopper.py --library build/cuda/flashmoe/benches/libhopper_forms.so
  python flashmoe/benches/attention_hopper.py ... --dims 64,128 --rows 512,8192 --forms 0,3,7 --json FILE

bf16, B S = 16k, H D = 2048, full and causal. Kernel time of a CUDA graph which holds the call several times. Every sample
follows 25 ms of unmeasured replays, since a rested chip reads 6 to 17 % too fast; samples of all contenders are shuffled;
the median of the rounds counts. Results are checked against cuDNN's first: a wrong configuration is not timed.
"""

import argparse
import ctypes
import math
import random

import harness


class Problem(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_void_p) for name in ("q", "k", "v", "out", "lse")]
        + [
            (name, ctypes.c_int64)
            for name in ("batch", "q_heads", "kv_heads", "q_rows", "kv_rows", "head_dim")
        ]
        + [
            ("scale", ctypes.c_float),
            ("bf16", ctypes.c_int),
            ("causal", ctypes.c_int),
            ("workspace", ctypes.c_void_p),
            ("workspace_bytes", ctypes.c_int64),
        ]
    )


class Forms:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.workspace_bytes = 0  # that calls get
        self.library.hopper_maps_ns.restype = ctypes.c_double
        self.library.hopper_run.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_int,
        ]

    def __len__(self):
        return self.library.hopper_forms()

    def head_dim(self, form):
        return self.library.hopper_head_dim(form)

    def name(self, form):
        text = ctypes.create_string_buffer(100)
        self.library.hopper_name(form, text, 100)
        return text.value.decode()

    def call(self, torch, form, q, k, v, causal):
        """(launch, out, lse); all that one launch needs is made here."""
        out = torch.full_like(q, float("nan"))
        lse = torch.full(q.shape[:3], float("nan"), device="cuda")
        workspace = torch.empty(self.workspace_bytes, dtype=torch.uint8, device="cuda")
        problem = Problem(
            *(x.data_ptr() for x in (q, k, v, out, lse)),
            q.shape[0],
            q.shape[1],
            k.shape[1],
            q.shape[2],
            k.shape[2],
            q.shape[3],
            1 / math.sqrt(q.shape[3]),
            int(q.dtype == torch.bfloat16),
            int(causal),
            workspace.data_ptr(),
            workspace.nbytes,
        )
        message = ctypes.create_string_buffer(500)

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            if self.library.hopper_run(ctypes.addressof(problem), form, stream, message, 500) != 0:
                raise RuntimeError(message.value.decode())

        launch.problem = problem
        launch.keeps = q, k, v, out, lse, workspace  # capturing a graph gives unused memory back
        return launch, out, lse


OTHERS = {-1: "dispatch", -2: "ampere_forward", -3: "small_forward", -4: "any kernel"}


class Graph:
    def __init__(self, torch, launch, calls):
        self.torch, self.calls, self.samples = torch, calls, []
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            launch()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(calls):
                launch()

    def sample(self, warm_ms, replays):
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(replays + 2)]
        events[0].record()
        self.graph.replay()
        events[1].record()
        events[1].synchronize()
        for _ in range(int(warm_ms / max(events[0].elapsed_time(events[1]), 0.01))):
            self.graph.replay()
        events[1].record()
        for event in events[2:]:
            self.graph.replay()
            event.record()
        events[-1].synchronize()
        times = [a.elapsed_time(b) * 1e3 / self.calls for a, b in zip(events[1:], events[2:])]
        self.samples.append(harness.median(times))


def wrong(torch, form, out, lse, expected, q, k, causal):
    """What is wrong with a result; "" when nothing is."""
    if not torch.isfinite(out).all() or not torch.isfinite(lse).all():
        return "not finite"
    error = ((out.float() - expected.float()).norm() / expected.float().norm()).item()
    rows = torch.arange(0, q.shape[2], max(1, q.shape[2] // 61), device="cuda")
    scores = q[0, 0, rows].float() @ k[0, 0].float().T / math.sqrt(q.shape[3])
    if causal:
        scores.masked_fill_(torch.arange(k.shape[2], device="cuda")[None, :] > rows[:, None], float("-inf"))
    lse_error = (torch.logsumexp(scores, -1) - lse[0, 0, rows]).abs().max().item()
    return "" if error < 8e-3 and lse_error < 2e-3 else f"error {error:.1e}, of the LSE {lse_error:.1e}"


def maps_ns(torch, forms):
    q, k, v = (torch.zeros(1, 4, 512, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    launch, *_ = forms.call(torch, -1, q, k, v, False)
    return forms.library.hopper_maps_ns(ctypes.byref(launch.problem))


def measure(torch, forms, wanted, case, options):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    batch, q_heads, kv_heads, rows, head_dim, causal = case
    q = torch.randn(batch, q_heads, rows, head_dim, device="cuda", dtype=torch.bfloat16)
    k, v = (
        torch.randn(batch, kv_heads, rows, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(2)
    )
    flops = 4 * batch * q_heads * rows * rows * head_dim * (0.5 if causal else 1)
    calls = max(1, min(40, int(4e-3 / (flops / 5e14))))

    def sdpa(backend):
        def launch():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=causal, enable_gqa=q_heads != kv_heads
                )

        return launch

    launches = {"cudnn": sdpa(SDPBackend.CUDNN_ATTENTION)}
    if options.flash:
        launches["flash"] = sdpa(SDPBackend.FLASH_ATTENTION)
    expected = launches["cudnn"]()
    result = {
        "case": dict(zip(("batch", "q_heads", "kv_heads", "rows", "head_dim", "causal"), case)),
        "wrong": {},
    }
    for form in wanted:
        name = forms.name(form) if form >= 0 else OTHERS[form]
        launch, out, lse = forms.call(torch, form, q, k, v, causal)
        launch()
        torch.cuda.synchronize()
        trouble = wrong(torch, form, out, lse, expected, q, k, causal)
        if trouble:
            result["wrong"][name] = trouble
            print(f"WRONG {name} {result['case']}: {trouble}", flush=True)
        else:
            launches[name] = launch
    graphs = {name: Graph(torch, launch, calls) for name, launch in launches.items()}
    order = random.Random(0)
    for _ in range(options.rounds):
        for name in order.sample(sorted(graphs), len(graphs)):
            graphs[name].sample(options.warm_ms, 3)
    result["tflops"] = {name: flops / harness.median(graph.samples) / 1e6 for name, graph in graphs.items()}
    result["samples_us"] = {name: graph.samples for name, graph in graphs.items()}
    result["ratio"] = {name: value / result["tflops"]["cudnn"] for name, value in result["tflops"].items()}
    return result


def cases(options):
    for head_dim in options.dims:
        for causal in (False, True):
            for rows in options.rows:
                batch, heads = options.batch_heads or (max(1, 16384 // rows), 2048 // head_dim)
                yield batch, heads, heads, rows, head_dim, causal
    if options.gqa:
        for rows in (2048, 8192, 32768):
            yield 1, 64, 8, rows, 128, True
        for rows in (1024, 4096):
            yield 8, 32, 8, rows, 128, True


def print_case(result):
    case = result["case"]
    print(
        f"D={case['head_dim']} S={case['rows']}{' causal' if case['causal'] else ''} B={case['batch']} "
        f"H={case['q_heads']}/{case['kv_heads']}"
    )
    for name, value in result["tflops"].items():
        print(f"    {name:32} {value:6.1f} {result['ratio'][name]:.3f}", flush=True)


def numbers(text):
    return [int(x) for x in text.split(",") if x]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True)
    parser.add_argument("--dims", type=numbers, default=[64, 128, 256])
    parser.add_argument("--rows", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument(
        "--forms",
        type=numbers,
        help="by number, as hopper_forms.cpp explains; -1 is what dispatch chooses. Without: all",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-ms", type=float, default=25)
    parser.add_argument("--no-flash", dest="flash", action="store_false")
    parser.add_argument("--batch-heads", type=numbers, help="B,H instead of B S = 16k, H D = 2048")
    parser.add_argument("--gqa", action="store_true", help="groups of query heads too")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch = harness.load_torch(1)
    torch.manual_seed(1)
    forms = Forms(options.library)
    forms.workspace_bytes = 2 << 30  # whatever splits a form takes
    document = {
        "kind": "attention_hopper",
        "environment": harness.gpu_environment(torch),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "results": [],
    }
    document["maps_ns"] = maps_ns(torch, forms)
    print(f"host time of four tensor maps when tensors repeat: {document['maps_ns']:.0f} ns")
    for case in cases(options):
        wanted = [
            f
            for f in (range(len(forms)) if options.forms is None else options.forms)
            if f < 0 or forms.head_dim(f) == case[4]
        ]
        result = measure(torch, forms, wanted, case, options)
        document["results"].append(result)
        print_case(result)
        if options.json:
            harness.save_json(options.json, document)


if __name__ == "__main__":
    main()
