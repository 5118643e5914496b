# SPDX-License-Identifier: MIT
from typing import Any, Literal, Optional, Sequence, Tuple, TypeVar, Union, overload

# numpy.ndarray, torch.Tensor, or anything with __dlpack__ or the buffer protocol.
_Tensor = TypeVar("_Tensor")
_Causal = Union[bool, Literal["bottom_right", "top_left"]]
_Window = Optional[Sequence[Optional[int]]]  # (left, right); None or -1: no limit on that side

__version__: str
library_version: str  # with the backends of this build, for example "0.1.0 (cpu: NEON_BF16)"

@overload
def attention(
    q: _Tensor,  # [B, Hq, Sq, D]
    k: Any,  # [B, Hkv, Skv, D]
    v: Any,  # [B, Hkv, Skv, D]
    causal: _Causal = False,
    scale: Optional[float] = None,
    return_lse: Literal[False] = False,
    out: Optional[_Tensor] = None,  # [B, Hq, Sq, D]
    *,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: _Window = None,
    q_lengths: Optional[Any] = None,  # int32 [B]
    kv_lengths: Optional[Any] = None,  # int32 [B]
    documents: Optional[Any] = None,  # int32 [B, Skv] or [Skv]
    prefix: Optional[Any] = None,  # int32 [B]
    left_padding: Optional[Any] = None,  # int32 [B]
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    attn_mask: Optional[Any] = None,  # bool or floats, broadcast to [B, Hq, Sq, Skv]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, a tensor of one, or a torch.Generator
) -> _Tensor: ...
@overload
def attention(
    q: _Tensor,
    k: Any,
    v: Any,
    causal: _Causal = False,
    scale: Optional[float] = None,
    *,
    return_lse: Literal[True],
    out: Optional[_Tensor] = None,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: _Window = None,
    q_lengths: Optional[Any] = None,
    kv_lengths: Optional[Any] = None,
    documents: Optional[Any] = None,
    prefix: Optional[Any] = None,
    left_padding: Optional[Any] = None,
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    attn_mask: Optional[Any] = None,  # bool or floats, broadcast to [B, Hq, Sq, Skv]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, a tensor of one, or a torch.Generator
) -> Tuple[_Tensor, _Tensor]: ...  # out [B, Hq, Sq, D], lse [B, Hq, Sq] in float32
@overload
def attention(
    q: _Tensor,
    k: Any,
    v: Any,
    causal: _Causal,
    scale: Optional[float],
    return_lse: Literal[True],
    out: Optional[_Tensor] = None,
    *,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: _Window = None,
    q_lengths: Optional[Any] = None,
    kv_lengths: Optional[Any] = None,
    documents: Optional[Any] = None,
    prefix: Optional[Any] = None,
    left_padding: Optional[Any] = None,
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    attn_mask: Optional[Any] = None,  # bool or floats, broadcast to [B, Hq, Sq, Skv]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, a tensor of one, or a torch.Generator
) -> Tuple[_Tensor, _Tensor]: ...
@overload
def attention_varlen(
    q: _Tensor,  # [total_q, Hq, D]
    k: Any,  # [total_k, Hkv, D]
    v: Any,  # [total_k, Hkv, D]
    cu_seqlens_q: Any,  # int32 [sequences + 1]
    cu_seqlens_k: Any,  # int32 [sequences + 1]
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    *,
    seqused_q: Optional[Any] = None,  # int32 [sequences]
    seqused_k: Optional[Any] = None,  # int32 [sequences]
    causal: _Causal = False,
    scale: Optional[float] = None,
    return_lse: Literal[False] = False,
    out: Optional[_Tensor] = None,  # [total_q, Hq, D]
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: _Window = None,
    documents: Optional[Any] = None,  # int32 [total_k]
    prefix: Optional[Any] = None,  # int32 [sequences]
    left_padding: Optional[Any] = None,  # int32 [sequences]
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, a tensor of one, or a torch.Generator
) -> _Tensor: ...
@overload
def attention_varlen(
    q: _Tensor,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    *,
    seqused_q: Optional[Any] = None,
    seqused_k: Optional[Any] = None,
    causal: _Causal = False,
    scale: Optional[float] = None,
    return_lse: Literal[True],
    out: Optional[_Tensor] = None,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: Optional[bool] = None,
    window: _Window = None,
    documents: Optional[Any] = None,  # int32 [total_k]
    prefix: Optional[Any] = None,  # int32 [sequences]
    left_padding: Optional[Any] = None,  # int32 [sequences]
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, a tensor of one, or a torch.Generator
) -> Tuple[_Tensor, _Tensor]: ...  # out [total_q, Hq, D], lse [Hq, total_q] in float32
def compute_attention(
    *args: Any, **options: Any
) -> Any: ...  # what the operators of flashmoe_science.torch call
def record(apply: Any, inputs: Tuple[Any, ...], saved: Tuple[Any, ...], options: Any, result: Any) -> Any: ...
def keep_for_backward(ctx: Any, *inputs: Any) -> Any: ...  # forward() of what record() applies
def attention_backward(
    q: _Tensor,  # [B, Hq, Sq, D]
    k: _Tensor,  # [B, Hkv, Skv, D]
    v: _Tensor,  # [B, Hkv, Skv, D]
    out: Any,  # [B, Hq, Sq, D]
    lse: Any,  # [B, Hq, Sq] in float32
    dout: Any,  # [B, Hq, Sq, D]
    *,
    dlse: Optional[Any] = None,  # [B, Hq, Sq] in float32
    causal: _Causal = False,
    scale: Optional[float] = None,
    deterministic: bool = False,
    threads: int = 0,
    dq: Optional[_Tensor] = None,
    dk: Optional[_Tensor] = None,
    dv: Optional[_Tensor] = None,
    window: _Window = None,
    q_lengths: Optional[Any] = None,  # int32 [B]
    kv_lengths: Optional[Any] = None,  # int32 [B]
    documents: Optional[Any] = None,  # int32 [B, Skv] or [Skv]
    prefix: Optional[Any] = None,  # int32 [B]
    left_padding: Optional[Any] = None,  # int32 [B]
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    attn_mask: Optional[Any] = None,  # bool or floats, broadcast to [B, Hq, Sq, Skv]
    dattn_mask: Optional[Any] = None,  # float32, broadcast as attn_mask; written
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, or a tensor of one
) -> Tuple[_Tensor, _Tensor, _Tensor]: ...  # dq, dk, dv
def attention_varlen_backward(
    q: _Tensor,  # [total_q, Hq, D]
    k: _Tensor,  # [total_k, Hkv, D]
    v: _Tensor,  # [total_k, Hkv, D]
    out: Any,  # [total_q, Hq, D]
    lse: Any,  # [Hq, total_q] in float32
    dout: Any,  # [total_q, Hq, D]
    cu_seqlens_q: Any,  # int32 [sequences + 1]
    cu_seqlens_k: Any,  # int32 [sequences + 1]
    max_seqlen_q: Optional[int] = None,
    max_seqlen_k: Optional[int] = None,
    *,
    seqused_q: Optional[Any] = None,  # int32 [sequences]
    seqused_k: Optional[Any] = None,  # int32 [sequences]
    dlse: Optional[Any] = None,  # [Hq, total_q] in float32
    causal: _Causal = False,
    scale: Optional[float] = None,
    deterministic: bool = False,
    threads: int = 0,
    dq: Optional[_Tensor] = None,
    dk: Optional[_Tensor] = None,
    dv: Optional[_Tensor] = None,
    window: _Window = None,
    documents: Optional[Any] = None,  # int32 [total_k]
    prefix: Optional[Any] = None,  # int32 [sequences]
    left_padding: Optional[Any] = None,  # int32 [sequences]
    chunk: int = 0,
    first_keys: int = 0,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    dropout_p: Optional[float] = 0.0,
    dropout_seed: Optional[Any] = None,  # an integer, or a tensor of one
) -> Tuple[_Tensor, _Tensor, _Tensor]: ...  # dq, dk, dv
def explain(
    q: Any,
    k: Any,
    v: Any,
    causal: _Causal = False,
    scale: Optional[float] = None,
    *,
    threads: int = 0,
    programmatic: bool = False,
    deterministic: bool = False,
    backward: bool = False,
    window: _Window = None,
    q_lengths: Optional[Any] = None,
    kv_lengths: Optional[Any] = None,
    documents: Optional[Any] = None,
    prefix: Optional[Any] = None,
    left_padding: Optional[Any] = None,
    chunk: int = 0,
    first_keys: int = 0,
    cu_seqlens_q: Optional[Any] = None,
    cu_seqlens_k: Optional[Any] = None,
    softcap: Optional[float] = None,
    alibi_slopes: Optional[Any] = None,  # float32 [Hq] or [B, Hq]
    sinks: Optional[Any] = None,  # float32 [Hq]
    attn_mask: Optional[Any] = None,  # bool or floats, broadcast to [B, Hq, Sq, Skv]
    dropout_p: Optional[float] = 0.0,
) -> str: ...
def set_num_threads(count: int, /) -> None: ...
def get_num_threads() -> int: ...
@overload
def flash_attention_forward(
    Q: _Tensor, K: Any, V: Any, causal: _Causal = False, softmax_scale: Optional[float] = None
) -> _Tensor: ...
@overload
def flash_attention_forward(
    Q: _Tensor,
    K: Any,
    V: Any,
    lse: Optional[Any],  # float32 [B, Hq, Sq], written in place
    causal: _Causal = False,
    softmax_scale: Optional[float] = None,
) -> _Tensor: ...
