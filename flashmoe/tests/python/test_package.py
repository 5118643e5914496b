# SPDX-License-Identifier: MIT
"""The package as a thing: what it links to, what it imports, and the commands that build it."""

import inspect
import re
import shutil
import subprocess
import sys

import pytest

import flashmoe_science as fm
from flashmoe_science import _C


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], check=True, timeout=900, capture_output=True, text=True, **options
    ).stdout


def test_version_is_that_of_the_project(root):
    version = re.search(r"VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text().split("project(")[1])[1]
    assert fm.__version__.split("+")[0] == version
    assert _C.library_version.startswith(version + " (cpu: ")


def test_neither_numpy_nor_pytorch_is_imported(root):
    code = "import sys, flashmoe_science; print(sorted({'numpy', 'torch'} & set(sys.modules)))"
    assert python("-c", code, cwd=root / "flashmoe" / "python").strip() == "[]"


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_only_python_and_the_c_library_are_asked_for_symbols():
    def symbols(which):
        lines = subprocess.run(
            ["nm", "-D", which, _C.__file__], check=True, capture_output=True, text=True
        ).stdout
        return {
            line.split()[-1].split("@")[0] for line in lines.splitlines() if line.split()[-2] != "w"
        }  # not weak

    assert symbols("--defined-only") == {"PyInit__C"}
    undefined = symbols("--undefined-only")
    # Highway's two functions: Debian has no static libhwy.
    foreign = {
        name for name in undefined if re.search(r"torch|c10|at::|numpy|npy|^_Z(?!N3hwy)|GLIBCXX", name)
    }
    assert foreign == set()
    assert any(name.startswith("Py") for name in undefined)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_only_the_system_is_linked():
    text = subprocess.run(["readelf", "-d", _C.__file__], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", text))
    assert needed <= {
        "libhwy",
        "libc",
        "libm",
        "libpthread",
        "libdl",
        "librt",
        "ld-linux-aarch64",
        "ld-linux-x86-64",
    }


def test_signatures_can_be_asked_for():
    parameters = inspect.signature(fm.attention).parameters
    assert " ".join(parameters) == (
        "q k v causal scale return_lse out threads programmatic deterministic window q_lengths kv_lengths "
        "documents prefix left_padding chunk first_keys softcap alibi_slopes sinks attn_mask "
        "dropout_p dropout_seed"
    )
    backward = inspect.signature(fm.attention_backward).parameters
    assert " ".join(backward) == (
        "q k v out lse dout dlse causal scale deterministic threads dq dk dv window q_lengths kv_lengths "
        "documents prefix left_padding chunk first_keys softcap alibi_slopes sinks attn_mask dattn_mask "
        "dropout_p dropout_seed"
    )
    varlen = inspect.signature(fm.attention_varlen).parameters
    assert " ".join(varlen) == (
        "q k v cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k seqused_q seqused_k causal scale return_lse out threads "
        "programmatic deterministic window documents prefix left_padding chunk first_keys softcap alibi_slopes sinks "
        "dropout_p dropout_seed"
    )
    assert parameters["causal"].default is False and parameters["scale"].default is None
    for shape in ("[B, Hq, Sq, D]", "[B, Hkv, Skv, D]", "[B, Hq, Sq]"):
        assert shape in fm.attention.__doc__ and shape in _C.flash_attention_forward.__doc__


def test_a_missing_module_says_what_to_do(root, tmp_path):
    shutil.copy(root / "flashmoe" / "python" / "flashmoe_science" / "__init__.py", tmp_path / "__init__.py")
    (tmp_path / "flashmoe_science").mkdir()
    (tmp_path / "__init__.py").rename(tmp_path / "flashmoe_science" / "__init__.py")
    failed = subprocess.run(
        [sys.executable, "-c", "import flashmoe_science"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert failed.returncode != 0
    assert "python setup.py build_ext --inplace" in failed.stderr and "pip install ." in failed.stderr


needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


@needs_cmake
def test_build_ext_inplace(root, clean_environment):
    said = python("setup.py", "build_ext", "--inplace", cwd=root, env=clean_environment)
    assert "built flashmoe/python/flashmoe_science/_C" in said
    code = "from flashmoe_science import _C; print(_C.__file__, _C.flash_attention_forward)"
    assert "flashmoe_science/_C" in python("-c", code, cwd=root, env=clean_environment)


@pytest.mark.parametrize("arguments", [[], ["install"], ["build_ext", "--swig"]])
def test_setup_py_names_what_it_accepts(root, arguments):
    failed = subprocess.run(
        [sys.executable, "setup.py", *arguments], cwd=root, capture_output=True, text=True, timeout=60
    )
    assert failed.returncode != 0
    assert "build_ext" in failed.stderr


def test_environment_script_goes_on_without_an_index(root, tmp_path, clean_environment):
    pytest.importorskip("venv")
    (tmp_path / "scripts").mkdir()
    shutil.copy(root / "scripts" / "python-env", tmp_path / "scripts" / "python-env")
    offline = {
        **clean_environment,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": "/dev/null",
        "PYTHON": sys.executable,
    }
    done = subprocess.run(
        [tmp_path / "scripts" / "python-env", "tests"], env=offline, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "can't be reached" in done.stderr or "can't make a virtual environment" in done.stderr
    assert not list((tmp_path / ".venv").glob(".flashmoe-env*"))  # tried again next time
