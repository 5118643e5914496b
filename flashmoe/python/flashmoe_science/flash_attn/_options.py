# SPDX-License-Identifier: MIT
"""The arguments of flash_attn's versions that our kernels do not have: which are refused, and which change nothing."""

# By name, with the value that asks for nothing. What the kernels learn is one line less here.
_UNSUPPORTED = {
    "dropout_p": 0.0,  # of a cache; the other functions have it
    "qv": None,
    "q_descale": None,
    "k_descale": None,
    "v_descale": None,
    "gather_kv_indices": None,
    "score_mod": None,
    "score_mod_bwd": None,
    "mask_mod": None,
    "aux_tensors": None,
    "aux_scalars": None,
    "block_sparse_tensors": None,
    "block_sparse_tensors_bwd": None,
}

# These choose how a kernel works, never what it computes.
_WITHOUT_EFFECT = {
    "num_splits",
    "pack_gqa",
    "sm_margin",
    "scheduler_metadata",
    "max_seqlen_q",
    "max_seqlen_k",
}


def scores_of(softcap, alibi_slopes, options, dropout_p=0.0):
    """What changes scores and weights, as attention() has it; sinks are taken out of the options, under either of their names."""
    sinks = [options.pop(name, None) for name in ("learnable_sink", "s_aux")]
    given = {"softcap": softcap or None, "alibi_slopes": alibi_slopes, "dropout_p": dropout_p or None}
    given["sinks"] = sinks[0] if sinks[0] is not None else sinks[1]
    return {
        name: value.float() if hasattr(value, "float") else value
        for name, value in given.items()
        if value is not None
    }


def of_entries(scores, entries):
    """The same, of some entries of the batch alone."""
    slopes = scores.get("alibi_slopes")
    if slopes is None or slopes.dim() == 1:
        return scores
    return {**scores, "alibi_slopes": slopes[entries]}


def refuse(function, options):
    """Raises unless every one of the options has its default, or no effect on results."""
    for name, value in options.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name not in _UNSUPPORTED:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        if value is None or (not hasattr(value, "shape") and value == _UNSUPPORTED[name]):
            continue
        shown = f" (it is {value})" if isinstance(value, (int, float)) else ""
        raise NotImplementedError(f"{function}: {name} is not supported yet{shown}")


def refuse_dropout(function, dropout_p, return_attn_probs):
    """Raises where there is some, and a result that would say of what."""
    if dropout_p and return_attn_probs:
        raise NotImplementedError(
            f"{function}: beside dropout_p (it is {dropout_p}) return_attn_probs is not supported yet"
        )
