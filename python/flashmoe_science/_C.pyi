# SPDX-License-Identifier: MIT
from typing import Any, Literal, Optional, Tuple, TypeVar, Union, overload

# numpy.ndarray, torch.Tensor, or anything with __dlpack__.
Tensor = TypeVar("Tensor")
Causal = Union[bool, Literal["bottom_right", "top_left"]]

__version__: str
library_version: str  # with the backends of this build, for example "0.1.0 (cpu: NEON_BF16)"

@overload
def attention(
    q: Tensor,  # [B, Hq, Sq, D]
    k: Any,  # [B, Hkv, Skv, D]
    v: Any,  # [B, Hkv, Skv, D]
    causal: Causal = False,
    scale: Optional[float] = None,
    return_lse: Literal[False] = False,
    out: Optional[Tensor] = None,  # [B, Hq, Sq, D]
    *,
    threads: int = 0,
) -> Tensor: ...
@overload
def attention(
    q: Tensor,
    k: Any,
    v: Any,
    causal: Causal = False,
    scale: Optional[float] = None,
    *,
    return_lse: Literal[True],
    out: Optional[Tensor] = None,
    threads: int = 0,
) -> Tuple[Tensor, Tensor]: ...  # out [B, Hq, Sq, D], lse [B, Hq, Sq] in float32
@overload
def attention(
    q: Tensor,
    k: Any,
    v: Any,
    causal: Causal,
    scale: Optional[float],
    return_lse: Literal[True],
    out: Optional[Tensor] = None,
    *,
    threads: int = 0,
) -> Tuple[Tensor, Tensor]: ...
def explain(
    q: Any, k: Any, v: Any, causal: Causal = False, scale: Optional[float] = None, *, threads: int = 0
) -> str: ...
@overload
def flash_attention_forward(
    Q: Tensor, K: Any, V: Any, causal: Causal = False, softmax_scale: Optional[float] = None
) -> Tensor: ...
@overload
def flash_attention_forward(
    Q: Tensor,
    K: Any,
    V: Any,
    lse: Optional[Any],  # float32 [B, Hq, Sq], written in place
    causal: Causal = False,
    softmax_scale: Optional[float] = None,
) -> Tensor: ...
