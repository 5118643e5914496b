# SPDX-License-Identifier: MIT
"""Which calls the doors may hand to the kernels: scaled_dot_product_attention, flash_attn, transformers.

The one place that knows what the kernels can't do yet. What they learn is one line less here.
"""

import functools
import logging

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from . import _C

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
MAX_HEAD_DIM = 256
_WIDEST_WITH_BIAS = 128  # head_dim of the fast kernel for gradients under an attn_mask that is added
_MANY_ROWS = 128  # a tile of the kernels that take an attn_mask or lengths, which share out no keys

_HAS_CUDA = "cuda" in _C.library_version
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_logger = logging.getLogger("flashmoe_science")
_logged = set()


@functools.lru_cache(maxsize=None)
def _old_gpu(index):
    """The compute capability of a GPU that is too old; "" of one that is not."""
    major, minor = torch.cuda.get_device_capability(index)
    return f"{major}.{minor}" if major < 8 else ""


@functools.lru_cache(maxsize=None)
def _is_hopper(index):
    return torch.cuda.is_available() and torch.cuda.get_device_capability(index) == (9, 0)


def _wants_gradients(*tensors):
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def takes_packed(q, k, v, scores):
    """Whether one call takes packed sequences, and no slower than a call for each: on a GPU in 16 bits; and of dropout
    always, since one call draws for all."""
    if q.device.type == "cpu":
        return True
    if q.device.type != "cuda" or not _HAS_CUDA:
        return False
    if "dropout_p" in scores:
        return True
    whole_rows = q.shape[-1] % 8 == 0 and v.shape[-1] % 8 == 0
    return q.dtype in (torch.float16, torch.bfloat16) and whole_rows


def takes_padded(q, k, v, scores=()):
    """takes_packed(), of a padded batch [B, H, S, D] with lengths. On a GPU no kernel takes an attn_mask beside them, and none
    shares out their keys: for the few rows of decoding a call for each length, which does, is the safe choice."""
    if q.device.type == "cpu":
        return True
    decodes = q.shape[2] < min(_MANY_ROWS, k.shape[2])
    return not decodes and "attn_mask" not in scores and takes_packed(q, k, v, scores)


def _why_not_on(device, dtype, head_dim):
    if device.type == "cpu":
        return None
    if device.type != "cuda":
        return f"the tensors are on {device.type}; there are kernels for cpu and cuda"
    if not _HAS_CUDA:
        return "this build of flashmoe_science has no CUDA backend"
    if torch.cuda.is_available() and _old_gpu(device.index):
        return f"the GPU has compute capability {_old_gpu(device.index)}; there are kernels from 8.0 on"
    if dtype == torch.float32:
        return "float32 on a GPU: there is no fast kernel for it"
    if head_dim % 8 != 0:
        return f"head_dim is {head_dim}; on a GPU multiples of 8 are fast"
    return None


def _why_not_kind(tensor):
    if type(tensor) not in _PLAIN:
        if not isinstance(tensor, torch.Tensor):
            return f"a {type(tensor).__name__} is no tensor"
        if torch.overrides.has_torch_function_unary(tensor) or is_traceable_wrapper_subclass(tensor):
            return f"a {type(tensor).__name__} is a tensor of another kind"
    if tensor.layout != torch.strided or tensor.is_nested:
        return "a tensor is not dense"
    return None


def why_not_dense(q, k, v):
    """why_not_attention() of tensors that are known to be plain, as those that PyTorch's kernels get."""
    of_q, of_k, of_v = q.shape, k.shape, v.shape
    for shape in (of_q, of_k, of_v):
        if len(shape) != 4:
            return f"a tensor has {len(shape)} dimensions; there are kernels for 4"
    dtype, device, head_dim = q.dtype, q.device, of_q[3]
    if dtype not in DTYPES:
        return f"the tensors are {dtype}; there are kernels for float32, float16 and bfloat16"
    if k.dtype != dtype or v.dtype != dtype:
        return "the tensors have several types"
    if k.device != device or v.device != device:
        return "the tensors are on several devices"
    if of_k != of_v:
        return f"key has shape {tuple(of_k)} and value {tuple(of_v)}"
    if of_k[0] != of_q[0] or of_k[3] != head_dim:
        return f"query has shape {tuple(of_q)} and key {tuple(of_k)}"
    if 0 in of_q or 0 in of_k:
        return "a size is 0"
    if of_q[1] % of_k[1] != 0:
        return f"query has {of_q[1]} heads and key {of_k[1]}"
    if head_dim > MAX_HEAD_DIM:
        return f"head_dim is {head_dim}; there are kernels up to {MAX_HEAD_DIM}"
    if head_dim != 1 and not (q.stride(3) == k.stride(3) == v.stride(3) == 1):
        return "the elements of a row do not lie side by side"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode derivatives"
    return _why_not_on(device, dtype, head_dim)


def why_not_packed(q, k, v):
    """why_not_dense() of packed sequences, [rows, heads, head_dim], in one call."""
    if not q.dim() == k.dim() == v.dim() == 3:
        return "packed sequences that do not have 3 dimensions"
    return why_not_dense(*(t.transpose(0, 1).unsqueeze(0) for t in (q, k, v)))


def why_not_attention(q, k, v):
    """Why attention(q, k, v) of [B, H, S, D] is left to others, whatever changes its scores; None where it is not."""
    return _why_not_kind(q) or _why_not_kind(k) or _why_not_kind(v) or why_not_dense(q, k, v)


def _tma_reads(tensor):
    return all(
        size == 1 or (stride > 0 and stride % 8 == 0)
        for size, stride in zip(tensor.shape[:-1], tensor.stride()[:-1])
    )


def _why_not_bias_on_gpu(q, mask, trains):
    head_dim, own_gradient = q.shape[3], trains and mask.requires_grad
    if mask.dtype != q.dtype and not (own_gradient and mask.dtype == torch.float32):
        return f"attn_mask is {mask.dtype}; on a GPU a bool is fast, or query's own type"
    if trains and head_dim > _WIDEST_WITH_BIAS:
        return f"gradients with attn_mask added and head_dim {head_dim}: fast up to {_WIDEST_WITH_BIAS}"
    if own_gradient and torch.are_deterministic_algorithms_enabled():
        return "attn_mask needs a gradient in a fixed order, for which there is no fast kernel on a GPU"
    shared = [size == 1 or stride == 0 for size, stride in zip(mask.shape, mask.stride())]
    strides = [stride for stride, of_all in zip(mask.stride()[:-1], shared) if not of_all]
    if shared[-1] or (shared[-2] and q.shape[2] > 1):
        return "attn_mask is shared by rows or keys: what is added is fast where each pair has a value"
    if mask.stride(-1) != 1 or mask.storage_offset() % 8 != 0 or any(stride % 8 != 0 for stride in strides):
        return "attn_mask has rows that TMA can't read: there is no fast kernel for them"
    return None


def _why_not_mask_on_gpu(tensors, mask, scores, trains):
    if not _is_hopper(mask.device.index):
        return "attn_mask is given; there is no fast kernel for it on this GPU"
    if mask.dtype != torch.bool:
        reason = _why_not_bias_on_gpu(tensors[0], mask, trains)
        if reason is not None:
            return reason
    if scores:
        return f"{' and '.join(sorted(scores))} beside attn_mask: there is no fast kernel for both on a GPU"
    rows = tensors[0].shape[2]
    if rows < _MANY_ROWS:
        return f"attn_mask beside {rows} rows: the kernel for it is fast from {_MANY_ROWS} on"
    if not all(map(_tma_reads, tensors)):
        return "attn_mask beside rows that TMA can't read: there is no fast kernel for them"
    return None


def why_not_mask(q, k, v, mask, scores=(), trains=None):
    """Why attention(q, k, v, attn_mask=mask) is left to others, where attention(q, k, v) is not; None where it is not.
    `scores`: the names of what else changes them. `trains`: whether gradients follow, where autograd does not say."""
    reason = _why_not_kind(mask)
    if reason is not None:
        return f"attn_mask: {reason}"
    if mask.device != q.device:
        return "attn_mask is on another device"
    pairs = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    if not 2 <= mask.dim() <= 4 or any(
        size not in (1, pair) for size, pair in zip(reversed(mask.shape), reversed(pairs))
    ):
        return f"attn_mask has shape {tuple(mask.shape)}; there are {list(pairs)} pairs"
    if q.device.type != "cpu":
        if trains is None:
            trains = _wants_gradients(q, k, v, mask)
        reason = _why_not_mask_on_gpu((q, k, v), mask, scores, trains)
        if reason is not None:
            return reason
    if mask.dtype not in (torch.bool, torch.float32, q.dtype):
        return f"attn_mask is {mask.dtype} and query {q.dtype}"
    return None


def why_not_dropout(q, dropout_p):
    """Why attention(q, k, v, dropout_p=dropout_p) is left to others, where attention(q, k, v) is not; None where it is not."""
    if dropout_p == 0 or (0 < dropout_p < 1 and q.device.type == "cpu"):
        return None
    where = "; its kernels are slower than PyTorch's on a GPU" if 0 < dropout_p < 1 else ""
    return f"dropout_p is {dropout_p}{where}"


def log_once(door, reason):
    """Says once for each reason what goes elsewhere, to those who listen to the logger "flashmoe_science"."""
    if (door, reason) not in _logged:
        _logged.add((door, reason))
        _logger.info("%s goes on to the implementation before: %s", door, reason)
