# SPDX-License-Identifier: MIT
"""Wheels: what they are called, what they carry, and what stops them from being built."""

import importlib.util
import shutil
import subprocess
import sys

import pytest

needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None or importlib.util.find_spec("scikit_build_core") is None,
    reason="cmake or scikit-build-core is not installed; scripts/python-env installs the latter",
)


@pytest.fixture
def wheel_version(root, monkeypatch):
    monkeypatch.syspath_prepend(root / "flashmoe" / "python")
    import wheel_version

    return wheel_version


@pytest.fixture
def nvcc_130(tmp_path, monkeypatch):
    """The folder of a CUDA 13.0 whose compiler knows its version, and no more."""
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda"))
    return tmp_path / "cuda"


def test_the_version_names_the_cuda_that_is_found(wheel_version, nvcc_130, monkeypatch):
    monkeypatch.delenv("FLASHMOE_CUDA", raising=False)
    assert wheel_version.dynamic_metadata("version").endswith("+cu130")
    for off in ("OFF", "off", "0"):
        monkeypatch.setenv("FLASHMOE_CUDA", off)
        assert "+" not in wheel_version.dynamic_metadata("version")


def failed_build(root, folder, environment, **settings):
    """What pip says of a build that fails while it is being configured."""
    environment = {**environment, "SKBUILD_BUILD_DIR": str(folder / "build"), **settings}
    run = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", folder, "."],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode != 0
    return run.stdout + run.stderr


@needs_cmake
def test_without_highway_the_build_stops_and_says_what_to_do(root, tmp_path, clean_environment):
    said = failed_build(
        root,
        tmp_path,
        clean_environment,
        FLASHMOE_CUDA="OFF",
        CMAKE_ARGS="-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON",
    )
    assert "apt-get install libhwy-dev" in said and "FLASHMOE_HIGHWAY=OFF" in said


def configure_without_highway(root, folder, *options):
    parts = ("FLASHMOE_CUDA", "FLASHMOE_BENCHES", "FLASHMOE_EXAMPLES", "DENT", "BUILD_TESTING")
    return subprocess.run(
        ["cmake", "-S", root, "-B", folder, "-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON"]
        + [f"-D{part}=OFF" for part in parts]
        + list(options),
        capture_output=True,
        text=True,
        timeout=300,
    )


@needs_cmake
def test_without_highway_cmake_stops_unless_it_is_told_to_go_on(root, tmp_path):
    stopped = configure_without_highway(root, tmp_path)
    assert stopped.returncode != 0
    assert "apt-get install libhwy-dev" in stopped.stderr and "-DFLASHMOE_HIGHWAY=OFF" in stopped.stderr

    note = tmp_path / "without-highway"
    assert configure_without_highway(root, tmp_path, "-DFLASHMOE_HIGHWAY=AUTO").returncode == 0
    assert "apt-get install libhwy-dev" in note.read_text()
    assert configure_without_highway(root, tmp_path, "-DFLASHMOE_HIGHWAY=OFF").returncode == 0
    assert not note.exists()  # who asks for it needs no warning


def test_make_goes_on_without_highway_and_says_so_last(root, clean_environment):
    def recipe(**settings):
        run = subprocess.run(
            ["make", "-n", "build-release"],
            cwd=root,
            env={**clean_environment, **settings},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert "-DFLASHMOE_HIGHWAY=AUTO" in recipe()
    assert "build/release/without-highway" in recipe().splitlines()[-1]
    assert "-DFLASHMOE_HIGHWAY=OFF" in recipe(FLASHMOE_HIGHWAY="OFF")


@needs_cmake
def test_a_wheel_is_not_named_after_a_backend_that_it_lacks(root, tmp_path, nvcc_130, clean_environment):
    said = failed_build(
        root,
        tmp_path,
        clean_environment,
        FLASHMOE_CUDA="ON",
        CUDA_PATH=str(nvcc_130),
        CMAKE_ARGS="-DFLASHMOE_CUDA=OFF",
    )
    assert "would be called" in said and "FLASHMOE_CUDA=ON or FLASHMOE_CUDA=OFF in the environment" in said


@needs_cmake
def test_a_wheel_works_in_a_bare_environment(root, tmp_path, clean_environment):
    for module in ("auditwheel", "venv"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    made = subprocess.run(
        [root / "scripts" / "make-wheel", "cpu"],
        cwd=tmp_path,
        env={**clean_environment, "PYTHON": sys.executable, "DIST": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert "manylinux_" in wheel.name and "+cu" not in wheel.name
    assert made.stdout.count("computes with") == 2, made.stdout  # in two folders


@needs_cmake
def test_unknown_kinds_of_wheels_are_refused(root, clean_environment):
    pytest.importorskip("auditwheel", reason="auditwheel is not installed")
    made = subprocess.run(
        [root / "scripts" / "make-wheel", "rocm"],
        env={**clean_environment, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert made.returncode == 2 and "accepted are cpu and cuda" in made.stderr
