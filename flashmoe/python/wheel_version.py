# SPDX-License-Identifier: MIT
"""The package's version, for scikit-build-core and setup.py: that of the project, and what CUDA it is built with.

0.1.0 has the CPU backend; 0.1.0+cu130 has the CUDA 13.0 backend too. FLASHMOE_CUDA=OFF in the environment leaves CUDA
out where nvcc is installed. CMake comes to the same answer by itself, and stops a wheel that is named otherwise.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FALSE = ("0", "OFF", "NO", "FALSE", "N")  # as CMake reads it


def find_nvcc():
    """Looks where cmake/Cuda.cmake does."""
    homes = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME")]
    hints = [os.path.join(home, "bin") for home in homes if home]
    folders = [*hints, os.environ.get("PATH", os.defpath), "/usr/local/cuda/bin"]
    return shutil.which("nvcc", path=os.pathsep.join(folders))


def cuda_label():
    """cu130 for CUDA 13.0; empty for a build without CUDA."""
    nvcc = find_nvcc()
    if nvcc is None or os.environ.get("FLASHMOE_CUDA", "ON").upper() in FALSE:
        return ""
    said = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True).stdout
    return "cu" + "".join(re.search(r"release (\d+)\.(\d+)", said).groups())


def dynamic_metadata(field, settings=None):
    """What scikit-build-core calls for [project] dynamic = ["version"]."""
    project = re.search(r"project\(CUDAdent42 VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    label = cuda_label()
    return f"{project}+{label}" if label else project
