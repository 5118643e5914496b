#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks gradients against float64, then times them against cuDNN and FlashAttention-2 of PyTorch, all in one process.

  python flashmoe/benches/attention_backward.py --library build/cuda/flashmoe/benches/libbackward_forms.so
  python flashmoe/benches/attention_backward.py ... --only check               # about a minute
  python flashmoe/benches/attention_backward.py ... --dims 64,128 --rows 512,8192 --json FILE
  python flashmoe/benches/attention_backward.py ... --kernels ampere,ampere:1,ampere:2 --base flash   # rows of its table

Times: bf16, B S = 16k, H D = 2048, full and causal, then groups of query heads, then B = 4, H = 48, D = 128 causal.
Everything that a call launches counts, the preparing and the finishing kernel too. Kernel time of a CUDA graph which holds
the call several times; every sample follows 25 ms of unmeasured replays; samples of all contenders are shuffled; the median
of the rounds counts. TFLOP/s of 10 D per pair of query and key that the mask lets through.
"""

import argparse
import ctypes
import math
import random
import sys

import harness
from attention_hopper import Graph, numbers

MASKS = ("none", "causal", "causal_top_left")
KERNELS = ("naive", "ampere", "hopper")  # as dispatch::BackwardKernel has them
# Relative error, in the norm, of gradients in 16 bits. Twice what was seen of FlashAttention-2 and cuDNN: 2.4e-3 to 4.7e-3.
LARGEST_ERROR = {"bfloat16": 9e-3, "float16": 1.5e-3}


class Call(ctypes.Structure):
    _fields_ = ([(name, ctypes.c_void_p) for name in "q k v out dout dq dk dv lse dlse".split()] +
                [(name, ctypes.c_int64) for name in "batch q_heads kv_heads q_rows kv_rows head_dim".split()] +
                [("scale", ctypes.c_float)] + [(name, ctypes.c_int) for name in "bf16 mask deterministic kernel tuning".split()] +
                [("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_int64)])


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, arguments in (("backward_workspace_bytes", 1), ("backward_run", 2)):
            function = getattr(self.library, name)
            function.argtypes = [ctypes.c_void_p] * arguments + [ctypes.c_char_p, ctypes.c_int]
            function.restype = ctypes.c_int64

    def takes(self, torch, kernel, head_dim):
        """Whether a kernel's row is for this head_dim."""
        if ":" not in kernel:
            return True
        q = torch.empty(1, 1, 1, head_dim, device="cuda", dtype=torch.bfloat16)
        try:
            self.call(torch, q, q, q, q, torch.empty(1, device="cuda"), q, "none", kernel=kernel)
            return True
        except RuntimeError:
            return False

    def call(self, torch, q, k, v, out, lse, dout, mask, deterministic=False, dlse=None, scale=None, kernel=""):
        """(launch, (dq, dk, dv)): gradients are poisoned, and the workspace with them. `kernel` is "" for dispatch's choice, a
        name, or one with a row of its table: ampere:2."""
        gradients = [torch.full_like(x, float("nan")) for x in (q, k, v)]
        message = ctypes.create_string_buffer(500)
        scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
        call = Call(*(x.data_ptr() for x in (q, k, v, out, dout, *gradients, lse)),
                    None if dlse is None else dlse.data_ptr(), q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2],
                    q.shape[3], scale, int(q.dtype == torch.bfloat16), MASKS.index(mask), int(deterministic),
                    KERNELS.index(kernel.split(":")[0]) if kernel else -1, int(kernel.split(":")[1]) if ":" in kernel else -1)
        bytes_needed = self.library.backward_workspace_bytes(ctypes.addressof(call), message, 500)
        if bytes_needed < 0:
            raise RuntimeError(message.value.decode())
        workspace = torch.full((bytes_needed,), 255, dtype=torch.uint8, device="cuda")
        call.workspace, call.workspace_bytes = workspace.data_ptr(), bytes_needed

        def launch():
            stream = torch.cuda.current_stream().cuda_stream
            if self.library.backward_run(ctypes.addressof(call), stream, message, 500) != 0:
                raise RuntimeError(message.value.decode())
        launch.keeps = call, q, k, v, out, lse, dout, dlse, gradients, workspace
        return launch, gradients


def visible(torch, mask, q_rows, kv_rows):
    rows = torch.arange(q_rows, device="cuda")[:, None]
    keys = torch.arange(kv_rows, device="cuda")[None, :]
    shift = {"none": kv_rows, "causal": kv_rows - q_rows, "causal_top_left": 0}[mask]
    return keys <= rows + shift


def forward(torch, q, k, v, mask, scale):
    """Exact out and LSE of these inputs, and the gradients as a function of those of both."""
    q, k, v = (x.double().requires_grad_(True) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    scores = q @ k.repeat_interleave(group, 1).transpose(-1, -2) * scale
    seen = visible(torch, mask, q.shape[2], k.shape[2])
    blind = ~seen.any(-1)
    scores = scores.masked_fill(~seen, float("-inf")).masked_fill(blind[:, None], 0)
    weights = torch.softmax(scores, -1).masked_fill(blind[:, None], 0)
    out = weights @ v.repeat_interleave(group, 1)
    lse = torch.logsumexp(scores, -1)

    def gradients(dout, dlse):
        loss = (out * dout.double()).sum()
        if dlse is not None:
            loss = loss + (lse * dlse.double())[..., ~blind].sum()
        return torch.autograd.grad(loss, (q, k, v))
    return out.detach(), lse.detach().masked_fill(blind, float("-inf")), gradients


# batch, query heads, K/V heads, query rows, keys, head_dim
CHECKS = [(1, 1, 1, 64, 128, 64), (2, 3, 3, 384, 384, 64), (2, 3, 3, 384, 384, 128), (1, 2, 2, 300, 300, 128), (1, 2, 2, 1, 1, 64),
          (1, 2, 2, 129, 1000, 128), (1, 2, 2, 1000, 129, 64), (1, 8, 2, 500, 700, 128), (2, 6, 1, 700, 500, 64),
          (2, 70, 70, 640, 640, 128), (1, 2, 2, 1000, 1000, 64), (1, 4, 2, 2048, 2048, 128), (1, 2, 2, 333, 555, 72),
          (1, 2, 2, 333, 555, 40), (1, 2, 2, 256, 384, 96), (2, 3, 3, 384, 384, 256), (1, 8, 2, 500, 700, 256),
          (1, 2, 2, 1000, 129, 256), (1, 2, 2, 333, 555, 200)]


def check(torch, library, options, kernel=""):
    failures, worst = 0, {}
    for shape in CHECKS:
        batch, q_heads, kv_heads, q_rows, kv_rows, head_dim = shape
        if head_dim > max(options.dims) or not library.takes(torch, kernel, head_dim):
            continue
        for name in ("bfloat16", "float16"):
            for mask in MASKS:
                for deterministic in (False, True):
                    dtype = getattr(torch, name)
                    q, dout = (torch.randn(batch, q_heads, q_rows, head_dim, device="cuda", dtype=dtype) for _ in range(2))
                    k, v = (torch.randn(batch, kv_heads, kv_rows, head_dim, device="cuda", dtype=dtype) for _ in range(2))
                    k[:, :, ::97] *= 4  # heavy keys
                    dlse = torch.randn(batch, q_heads, q_rows, device="cuda") if deterministic else None
                    out, lse, gradients = forward(torch, q, k, v, mask, 1 / math.sqrt(head_dim))
                    expected = gradients(dout, dlse)
                    arguments = q, k, v, out.to(dtype), lse.float(), dout, mask, deterministic, dlse
                    runs = []
                    for _ in range(3 if deterministic else 2):
                        launch, got = library.call(torch, *arguments, kernel=kernel)
                        launch()
                        launch()  # a second call on the same workspace
                        torch.cuda.synchronize()
                        runs.append(got)
                    errors = [((a.double() - b).norm() / b.norm().clamp_min(1e-30)).item() if b.norm() > 0 else
                              a.double().norm().item() for a, b in zip(runs[0], expected)]
                    finite = all(torch.isfinite(x).all().item() for run in runs for x in run)
                    same = [all(torch.equal(run[i], runs[0][i]) for run in runs) for i in range(3)]
                    good = finite and max(errors) < LARGEST_ERROR[name] and all(same[0 if deterministic else 1:])
                    worst[name] = max(worst.get(name, 0), *errors) if finite else float("inf")
                    if not good:
                        failures += 1
                        print(f"WRONG {shape} {name} {mask}{' deterministic' if deterministic else ''}: errors of dq, dk, dv "
                              f"{' '.join(f'{e:.1e}' for e in errors)}, finite {finite}, same bits {same}", flush=True)
    print(f"check{' of ' + kernel if kernel else ''}: {failures} wrong; largest relative error {', '.join(f'{k} {v:.1e}' for k, v in worst.items())}", flush=True)
    return failures


def sdpa_backward(torch, backend, stream, q, k, v, dout, causal):
    """A launch of PyTorch's backward alone. Autograd runs it on the stream that the forward ran on."""
    from torch.nn.attention import sdpa_kernel
    q, k, v = (x.detach().requires_grad_(True) for x in (q, k, v))
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), sdpa_kernel(backend):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    return lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)


def flex_backward(torch, stream, q, k, v, dout, causal):
    """The same of FlexAttention, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    torch._dynamo.reset()
    q, k, v = (x.detach().requires_grad_(True) for x in (q, k, v))
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        mask = create_block_mask(lambda b, h, row, key: row >= key, None, None, q.shape[2], k.shape[2],
                                 device="cuda") if causal else None
        out = torch.compile(flex_attention)(q, k, v, block_mask=mask, enable_gqa=q.shape[1] != k.shape[1])
    return lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)


class OnStream(Graph):
    """A graph captured on a given stream."""

    def __init__(self, torch, launch, calls, stream):
        self.torch, self.calls, self.samples = torch, calls, []
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            launch()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=stream):
            for _ in range(calls):
                launch()


class Queued:
    """For backwards that refuse to be captured: calls one behind the other, timed by events."""

    def __init__(self, torch, launch, calls, stream):
        self.torch, self.launch, self.calls, self.stream, self.samples = torch, launch, calls, stream, []

    def sample(self, warm_ms, replays):
        def timed():
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            with self.torch.cuda.stream(self.stream):
                begin.record()
                for _ in range(self.calls):
                    self.launch()
                end.record()
            end.synchronize()
            return begin.elapsed_time(end)
        for _ in range(int(warm_ms / max(timed(), 0.01))):
            timed()
        self.samples.append(harness.median([timed() * 1e3 / self.calls for _ in range(replays)]))


def contender(torch, launch, calls, stream):
    try:
        return OnStream(torch, launch, calls, stream)
    except RuntimeError as error:
        print(f"  not captured ({str(error).splitlines()[0][:70]}); queued instead", flush=True)
        torch.cuda.synchronize()
        return Queued(torch, launch, calls, stream)


FLEX_ROWS = (2048, 8192)  # FlexAttention is compiled for each shape, which takes longer than all else here


def measure(torch, library, case, options):
    from torch.nn.attention import SDPBackend
    batch, q_heads, kv_heads, rows, head_dim, causal = case
    q, dout = (torch.randn(batch, q_heads, rows, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    k, v = (torch.randn(batch, kv_heads, rows, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    pairs = rows * (rows + 1) / 2 if causal else rows * rows
    flops = 10 * batch * q_heads * pairs * head_dim
    calls = max(1, min(20, int(5e-3 / (flops / 5e14))))
    group = q_heads // kv_heads
    result_of = torch.ops.aten._scaled_dot_product_flash_attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1),
                                                                   0.0, causal, False)
    out, lse = result_of[0].contiguous(), result_of[1].float().contiguous()
    launches, stream = {}, torch.cuda.Stream()
    for deterministic in (False, True) if options.deterministic else (False,):
        launch, _ = library.call(torch, q, k, v, out, lse, dout, "causal" if causal else "none", deterministic)
        launches["deterministic" if deterministic else "flashmoe"] = launch
    for kernel in options.kernels:
        if library.takes(torch, kernel, head_dim):
            launches[kernel], _ = library.call(torch, q, k, v, out, lse, dout, "causal" if causal else "none", kernel=kernel)
    peers = {"cudnn": lambda: sdpa_backward(torch, SDPBackend.CUDNN_ATTENTION, stream, q, k, v, dout, causal),
             "flash": lambda: sdpa_backward(torch, SDPBackend.FLASH_ATTENTION, stream, q, k, v, dout, causal),
             "flex": lambda: flex_backward(torch, stream, q, k, v, dout, causal)}
    for name in options.peers:
        if name == "flex" and rows not in FLEX_ROWS:
            continue
        try:
            launches[name] = peers[name]()
            with torch.cuda.stream(stream):
                launches[name]()
            torch.cuda.synchronize()
        except Exception as error:  # a peer that is not there, or refuses
            launches.pop(name, None)
            print(f"  {name}: does not take this case ({(str(error).splitlines() or [''])[0][:80]})", flush=True)
    contenders = {name: contender(torch, launch, calls, stream) for name, launch in launches.items()}
    order = random.Random(0)
    for _ in range(options.rounds):
        for name in order.sample(sorted(contenders), len(contenders)):
            contenders[name].sample(options.warm_ms, 3)
    result = {"case": dict(zip(("batch", "q_heads", "kv_heads", "rows", "head_dim", "causal"), case)),
              "samples_us": {name: c.samples for name, c in contenders.items()},
              "tflops": {name: flops / harness.median(c.samples) / 1e6 for name, c in contenders.items()}}
    base = result["tflops"].get(options.base, float("nan"))
    result["ratio"] = {name: value / base for name, value in result["tflops"].items()}
    return result


def cases(options):
    for head_dim in options.dims:
        for causal in (False, True):
            for rows in options.rows:
                heads = 2048 // head_dim
                yield max(1, 16384 // rows), heads, heads, rows, head_dim, causal
    if options.more:
        for causal in (False, True):
            for rows in (2048, 8192):
                yield 16384 // rows, 32, 8, rows, 128, causal
        for rows in (1024, 2048, 4096, 8192):
            yield 4, 48, 48, rows, 128, True


def print_case(result):
    case = result["case"]
    cells = "  ".join(f"{name} {value:6.1f} ({result['ratio'][name]:.3f})" for name, value in result["tflops"].items())
    print(f"D={case['head_dim']} S={case['rows']}{' causal' if case['causal'] else ' full'} B={case['batch']} "
          f"H={case['q_heads']}/{case['kv_heads']}:  {cells}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--only", choices=("check", "time"))
    parser.add_argument("--dims", type=numbers, default=[64, 128, 256])
    parser.add_argument("--rows", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--warm-ms", type=float, default=25)
    parser.add_argument("--kernels", type=lambda text: text.split(","), default=["ampere"],
                        help="more of ours than dispatch chooses: names, or names and rows of a table (ampere:1)")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=["cudnn", "flash", "flex"])
    parser.add_argument("--base", default="cudnn", help="the contender that ratios are of")
    parser.add_argument("--no-deterministic", dest="deterministic", action="store_false")
    parser.add_argument("--no-more", dest="more", action="store_false", help="no groups of heads, no B = 4 H = 48")
    parser.add_argument("--json")
    options = parser.parse_args()
    torch = harness.load_torch(1)
    torch.manual_seed(1)
    library = Library(options.library)
    if options.only != "time" and any([check(torch, library, options, kernel) > 0 for kernel in ["", *options.kernels]]):
        sys.exit(1)  # what is wrong is not timed
    if options.only == "check":
        return
    document = {"kind": "attention_backward", "environment": harness.gpu_environment(torch), "gpu": torch.cuda.get_device_name(),
                "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "results": []}
    for case in cases(options):
        result = measure(torch, library, case, options)
        document["results"].append(result)
        print_case(result)
        if options.json:
            harness.save_json(options.json, document)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
