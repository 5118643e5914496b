# SPDX-License-Identifier: MIT
"""The cases of attention_gpu.py, by group, and what counts as their work."""

from collections import namedtuple

Case = namedtuple(
    "Case",
    "group dtype batch q_heads kv_heads q_rows kv_rows head_dim causal cold window documents prefix scores sequences tensor even",
    defaults=(False, False, 0, 0, 0, "", 0, "", False),
)  # window: keys that a row sees, itself and those before it; documents: as many in the rows; prefix: keys; 0: none.
# scores: "softcap", "alibi", or as they are. sequences: as many, packed; 0: a plain batch. even: documents of one length,
# else they are cut at random places, as sequences are. tensor: what says which pairs count, "mask" (bool) or "bias" (of
# q's type), for all heads; "": a rule.


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
        yield Case(*shape, documents=16, even=True)
        yield Case(*shape, prefix=rows // 4)


SOFTCAP = 30.0


def scores_cases():
    for scores in ("softcap", "alibi"):
        for batch, heads, rows, head_dim in ((2, 16, 8192, 128), (4, 32, 4096, 64)):
            shape = "scores", "bfloat16", batch, heads, heads, rows, rows, head_dim, True
            yield Case(*shape, scores=scores)


SEQUENCES = 1, 8, 64


def varlen_cases():
    for sequences in SEQUENCES:
        shape = "varlen", "bfloat16", 1, 16, 16, 16384, 16384, 128, True
        yield Case(*shape, sequences=sequences)


def tensor_cases():
    for tensor in ("mask", "bias"):
        for batch, heads, rows, head_dim in ((2, 16, 8192, 128), (4, 32, 4096, 64)):
            yield Case("tensors", "bfloat16", batch, heads, heads, rows, rows, head_dim, True, tensor=tensor)


def lengths_of(torch, case):
    """Of a batch entry's documents or sequences: the rows, cut at random places that are always the same."""
    if case.even:
        return [case.q_rows // case.documents] * case.documents
    draws = torch.Generator().manual_seed(0 if case.documents else 1)
    for parts in (case.documents,) if case.documents else SEQUENCES:  # of packed rows, each draw follows the one before
        cuts = (torch.randperm(case.q_rows - 1, generator=draws)[: parts - 1].sort().values + 1).tolist()
        if parts == (case.documents or case.sequences):
            return [end - begin for begin, end in zip([0, *cuts], [*cuts, case.q_rows])]
    raise ValueError(f"{case.sequences} sequences: none of {SEQUENCES}")


GROUPS = {
    "small": small_cases,
    "decode": decode_cases,
    "large": large_cases,
    "many heads": many_heads_cases,
    "window": window_cases,
    "spans": spans_cases,
    "scores": scores_cases,
    "varlen": varlen_cases,
    "tensors": tensor_cases,
}


def flops(torch, case):
    pairs = case.q_rows * case.kv_rows
    if case.window:  # rows and keys are as many
        pairs = case.q_rows * case.window - case.window * (case.window - 1) // 2
    elif case.sequences or case.documents:
        pairs = sum(rows * (rows + 1) // 2 for rows in lengths_of(torch, case))
    elif case.causal:
        pairs = case.q_rows * case.kv_rows - case.q_rows * (case.q_rows - 1) // 2
        pairs += case.prefix * (case.prefix - 1) // 2
    return 4 * case.batch * case.q_heads * pairs * case.head_dim


def work(torch, case, gradients):
    """FLOPs of unmasked pairs: two products, or five."""
    return flops(torch, case) * 5 // 2 if gradients else flops(torch, case)


def name_of(case):
    heads = str(case.q_heads) if case.q_heads == case.kv_heads else f"{case.q_heads}/{case.kv_heads}"
    return (
        f"{case.group} {case.dtype} B={case.batch} H={heads} Sq={case.q_rows} Skv={case.kv_rows} D={case.head_dim}"
        f"{' causal' if case.causal else ''}{f' window {case.window}' if case.window else ''}"
        f"{f' {case.documents} documents' if case.documents else ''}{' of one length' if case.even else ''}{f' prefix {case.prefix}' if case.prefix else ''}"
        f"{f' {case.scores}' if case.scores else ''}{f' {case.sequences} sequences' if case.sequences else ''}"
        f"{f' by a {case.tensor}' if case.tensor else ''}{' cold' if case.cold else ''}"
    )
