# SPDX-License-Identifier: MIT
"""Who computes a case of gpu_cases.py, and from what: flashmoe, and everybody in PyTorch who knows its mask."""

import contextlib
import inspect

import harness
from gpu_cases import SOFTCAP, lengths_of


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
        lengths = torch.tensor(lengths_of(torch, case), device="cuda")
        ids = torch.arange(case.documents, device="cuda", dtype=torch.int32).repeat_interleave(lengths)
        spans = {"documents": ids}

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
    blocks = create_block_mask(
        lambda b, h, row, key: row >= key, None, None, case.q_rows, case.kv_rows, device="cuda"
    )
    flex = torch.compile(flex_attention, dynamic=False)
    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, causal=True, **known),
        "flex": lambda q, k, v: flex(q, k, v, score_mod=change, block_mask=blocks),
    }


# Whose calls keep the host busy for longer than the GPU: their kernels alone are timed.
BY_THEIR_KERNELS = {"cudnn ragged"}


def packed(torch, package, case):
    """Sequences of different lengths, one behind the other: PyTorch's varlen_attn, which is FlashAttention 2, and cuDNN's
    kernels for them, which PyTorch has for nested tensors."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.varlen import varlen_attn

    # It has had two names for a causal mask.
    named = "is_causal" in inspect.signature(varlen_attn).parameters
    causal = {"is_causal": True} if named else {"window_size": (-1, 0)}
    lengths = lengths_of(torch, case)
    longest = max(lengths)
    ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).cuda()

    def in_rows(call):  # [rows, H, D], whatever the values
        return lambda *tensors: call(*(x.view(case.q_rows, -1, case.head_dim) for x in tensors))

    def ragged(*tensors):
        jagged = torch.nested.nested_tensor_from_jagged
        q, k, v = (
            jagged(x, ends.long(), min_seqlen=min(lengths), max_seqlen=longest).transpose(1, 2)
            for x in tensors
        )
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2).values()

    return {
        "flashmoe": in_rows(lambda q, k, v: package.attention_varlen(q, k, v, ends, ends, causal=True)),
        "flash": in_rows(lambda q, k, v: varlen_attn(q, k, v, ends, ends, longest, longest, **causal)),
        "cudnn ragged": in_rows(ragged),
    }


def by_tensor(torch, package, case):
    """A causal mask that nobody knows for one: whoever takes a value for each pair."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    rows = torch.arange(case.q_rows, device="cuda")
    tensor = rows[:, None] >= rows[None, :]
    if case.tensor == "bias":
        dtype = getattr(torch, case.dtype)
        tensor = torch.randn_like(tensor, dtype=dtype).masked_fill(~tensor, float("-inf"))

    def sdpa(backend):
        def call(q, k, v):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=tensor)

        return call

    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, attn_mask=tensor),
        "cudnn": sdpa(SDPBackend.CUDNN_ATTENTION),
        "efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
    }


def everyone(torch, package, case):
    """{name: call(q, k, v)} for whoever may take the case. Their outputs are allocated inside."""
    if case.window:
        return windowed(torch, package, case)
    if case.documents or case.prefix:
        return spanned(torch, package, case)
    if case.scores:
        return with_scores(torch, package, case)
    if case.sequences:
        return packed(torch, package, case)
    if case.tensor:
        return by_tensor(torch, package, case)
    return plain(torch, package, case)


def plain(torch, package, case):
    """Every backend of SDPA, and its own choice."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    options = {"is_causal": case.causal}
    if case.q_heads != case.kv_heads:
        options["enable_gqa"] = True

    def sdpa(backend):
        def call(q, k, v):
            with sdpa_kernel(backend) if backend else contextlib.nullcontext():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)

        return call

    return {
        "flashmoe": lambda q, k, v: package.attention(q, k, v, causal=case.causal),
        "cudnn": sdpa(SDPBackend.CUDNN_ATTENTION),
        "flash": sdpa(SDPBackend.FLASH_ATTENTION),
        "efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
        "sdpa": sdpa(None),
    }


def gradients(torch, call, inputs):
    """(leaves, out, dout) of a call that autograd recorded, from which `differentiate` computes again and again."""
    leaves = tuple(x.detach().requires_grad_() for x in inputs)
    out = call(*leaves)
    return leaves, out, torch.randn_like(out)


def differentiate(torch):
    return lambda leaves, out, dout: torch.autograd.grad(out, leaves, dout, retain_graph=True)


def contenders(torch, package, case, backward):
    """{name: (call, largest difference from flashmoe's result)}; those that refuse the case are left out."""
    inputs = input_sets(torch, case._replace(cold=False))[0]
    able, expected = {}, None
    for name, call in everyone(torch, package, case).items():
        try:
            result = call(*inputs)
            if backward:
                torch.manual_seed(0)  # the same dout for all
                result = differentiate(torch)(*gradients(torch, call, inputs))[0]
            torch.cuda.synchronize()
        except RuntimeError as error:
            if name == "flashmoe":
                raise
            harness.say(f"  {name}: does not take this case ({str(error).splitlines()[0][:80]})")
            continue
        expected = result if expected is None else expected
        same_shape = result.shape == expected.shape
        able[name] = call, (result.float() - expected.float()).abs().max().item() if same_shape else None
    return able
