# SPDX-License-Identifier: MIT
"""The arguments of flash_attn's versions that our kernels do not have: which are refused, and which change nothing."""

# By name, with the value that asks for nothing. What the kernels learn is one line less here.
_UNSUPPORTED = {
    "dropout_p": 0.0,
    "softcap": 0.0,
    "alibi_slopes": None,
    "qv": None,
    "q_descale": None,
    "k_descale": None,
    "v_descale": None,
    "attention_chunk": 0,
    "learnable_sink": None,
    "s_aux": None,
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
