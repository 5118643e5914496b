#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of transformers with our attention against its own `sdpa`: prefill, decode and a training step.

  python flashmoe/benches/transformers_gpu.py                    # a Llama of 1.2 billion parameters, bfloat16, on the GPU
  python flashmoe/benches/transformers_gpu.py --small --device cpu --dtype float32  # a small one, to see that all of it runs
  python flashmoe/benches/transformers_gpu.py --json FILE

The model is built from a configuration: random weights, nothing is downloaded. Both implementations run the same
weights and tokens, in turns of random order, and everything counts that the caller waits for.
"""

import argparse
import random
import time

import harness


def parse(torch):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=("float32", "float16", "bfloat16"))
    parser.add_argument("--small", action="store_true", help="two narrow layers and short rows")
    parser.add_argument("--rounds", type=int, default=7, help="samples of each implementation")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def configuration(small):
    from transformers import LlamaConfig

    sizes = {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "vocab_size": 128256}
    heads = {"num_attention_heads": 32, "num_key_value_heads": 8}
    if small:
        sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 512}
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    return LlamaConfig(**sizes, **heads, max_position_embeddings=16384, tie_word_embeddings=True)


def work_of(torch, model, options):
    """{name: (tokens, what to do)}."""
    prompt, context, steps, row = (256, 64, 8, 128) if options.small else (8192, 4096, 64, 4096)
    vocabulary = model.config.vocab_size
    tokens = torch.randint(vocabulary, (1, max(prompt, row)), device=options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    @torch.no_grad()
    def prefill():
        model(tokens[:, :prompt], logits_to_keep=1)

    @torch.no_grad()
    def decode():
        cache = model(tokens[:, :context], use_cache=True, logits_to_keep=1).past_key_values
        synchronize(torch, options.device)
        start = time.perf_counter()
        token = tokens[:, :1]
        for _ in range(steps):
            answer = model(token, past_key_values=cache, use_cache=True)
            token = answer.logits[:, -1:].argmax(-1)
        synchronize(torch, options.device)
        return time.perf_counter() - start

    def train():
        model(tokens[:, :row], labels=tokens[:, :row], use_cache=False).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return {
        f"prefill of {prompt} tokens": (prompt, prefill),
        f"decode behind {context} tokens": (steps, decode),
        f"training step of {row} tokens": (row, train),
    }


def synchronize(torch, device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(torch, device, work):
    synchronize(torch, device)
    start = time.perf_counter()
    own = work()  # of work that has a part which does not count
    synchronize(torch, device)
    return own if own is not None else time.perf_counter() - start


def measure(torch, model, names, work, options):
    for name in names:  # the first turn loads kernels
        model.set_attn_implementation(name)
        seconds(torch, options.device, work)
    samples = {name: [] for name in names}
    order = random.Random(0)
    for _ in range(options.rounds):
        for name in order.sample(names, len(names)):
            model.set_attn_implementation(name)
            samples[name].append(seconds(torch, options.device, work))
    return samples


def main():
    torch = harness.load_torch(2)
    try:
        import transformers
    except ImportError:
        transformers = None
    if torch is None or transformers is None:
        raise SystemExit(
            "transformers_gpu.py needs PyTorch and transformers\n  try: pip install torch transformers"
        )
    options = parse(torch)
    fm = harness.load_package()
    from flashmoe_science.transformers import register

    names = [register(), "sdpa"]
    torch.manual_seed(0)
    with torch.device(options.device):
        model = transformers.LlamaForCausalLM(configuration(options.small))
    model = model.to(getattr(torch, options.dtype))
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    results = []
    for name, (tokens, work) in work_of(torch, model, options).items():
        samples = measure(torch, model, names, work, options)
        ratio, low, high = harness.ratio_of_medians(samples["sdpa"], samples[names[0]])
        per_second = {which: tokens / harness.median(times) for which, times in samples.items()}
        results.append(
            {"name": name, "tokens": tokens, "seconds": samples, "ratio": ratio, "low": low, "high": high}
        )
        print(
            f"{name}: flashmoe {per_second[names[0]]:.0f} tokens/s, sdpa {per_second['sdpa']:.0f}, "
            f"{ratio:.3f}x ({low:.3f} to {high:.3f})",
            flush=True,
        )
    if options.json:
        environment = (
            harness.gpu_environment(torch, fm)
            if options.device == "cuda"
            else harness.environment(fm, torch, 2)
        )
        document = {"kind": "transformers", "millions_of_parameters": millions, "dtype": options.dtype}
        document |= {
            "transformers": transformers.__version__,
            "environment": environment,
            "results": results,
        }
        harness.save_json(options.json, document)


if __name__ == "__main__":
    main()
