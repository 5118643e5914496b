# SPDX-License-Identifier: MIT
"""Tensors are read and made through shortcuts that newer releases of PyTorch offer. Older ones, and newer ones that
change them, are served through plain attributes: the same results and the same messages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; scripts/python-env can install it")
HERE = Path(__file__).resolve().parent


def test_everything_holds_without_the_shortcuts():
    files = [
        "test_torch.py",
        "test_strides.py",
        "test_errors.py",
        "test_flash_attention_forward.py",
        "test_backward.py",
    ]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *(str(HERE / file) for file in files),
        ],
        cwd=HERE.parents[2],
        env={**os.environ, "FLASHMOE_TEST_WITHOUT_SHORTCUTS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert " passed" in run.stdout


# An exchange API of the release that the script's arguments name, in place of PyTorch's own, whose reading function
# counts its calls.
MADE_UP = """
import ctypes, sys
import torch
import flashmoe_science as fm

major, minor, has_previous, has_read = (int(argument) for argument in sys.argv[1:])
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
own = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
if own is None:
    print("none")
    sys.exit()
words = list((ctypes.c_uint64 * 7).from_address(pointer_of(own, b"dlpack_exchange_api")))
Read = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
calls = []
read_own = Read(words[5])
counted = Read(lambda tensor, to: calls.append(1) or read_own(tensor, to))
known = (ctypes.c_uint64 * 7)(*words)
known[5] = ctypes.cast(counted, ctypes.c_void_p).value
newer = (ctypes.c_uint64 * 7)(*known)
newer[0] = major | minor << 32
newer[1] = ctypes.addressof(known) if has_previous else 0
newer[5] = newer[5] if has_read else 0
torch.Tensor.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(newer), b"dlpack_exchange_api", None)
q = torch.randn(1, 2, 5, 16)
out = fm.attention(q, q, q)
assert torch.allclose(out, torch.nn.functional.scaled_dot_product_attention(q, q, q), atol=1e-5)
print(len(calls))
"""


@pytest.mark.parametrize(
    "api, used",
    [
        ((1, 3, 0, 1), True),
        ((1, 7, 0, 1), True),  # later minor versions only add to it
        ((2, 0, 1, 1), True),  # through the older version that it links to
        ((2, 0, 0, 1), False),
        ((1, 2, 0, 1), False),
        ((1, 3, 0, 0), False),
    ],
)
def test_versions_of_the_exchange_api(api, used):
    run = subprocess.run(
        [sys.executable, "-c", MADE_UP, *map(str, api)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    if run.stdout.strip() == "none":
        pytest.skip("this release of PyTorch has no exchange API")
    assert (int(run.stdout) > 0) == used
