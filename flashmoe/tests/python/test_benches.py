# SPDX-License-Identifier: MIT
"""The benches run, check before they time, and keep their formats. No figure is judged here."""

import json
import math
import subprocess
import sys
import time
from statistics import median

import pytest

SHAPES = ["Tiny", "Small", "Medium", "Large", "XLarge", "Multi-head"]


def run(root, *arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], cwd=root, capture_output=True, text=True, timeout=600, **options
    )


def without_torch(environment, folder):
    """The same environment, where `import torch` fails."""
    (folder / "torch.py").write_text("raise ImportError('hidden by a test')\n")
    return {**environment, "PYTHONPATH": str(folder)}


def test_the_users_bench(root, torch, clean_environment):
    done = run(root, "flashmoe/benches/bench_correctness_and_speed.py", "--quick", env=clean_environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("  ok ") for line in lines) == 6
    for shape in SHAPES:
        assert any(line.startswith(f"  {shape} ") for line in lines)
    assert lines[-1].startswith("Speedup: ") and lines[-1].endswith("x (FlashMoE-Science vs PyTorch)")
    assert "Geometric mean" in lines[-2]


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_the_users_bench_without_pytorch(root, tmp_path, clean_environment, dtype):
    done = run(
        root,
        "flashmoe/benches/bench_correctness_and_speed.py",
        "--quick",
        "--dtype",
        dtype,
        env=without_torch(clean_environment, tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "PyTorch is not installed; compared with NumPy" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("x (FlashMoE-Science vs NumPy)")


def test_the_users_bench_as_json(root, tmp_path, clean_environment):
    done = run(
        root,
        "flashmoe/benches/bench_correctness_and_speed.py",
        "--quick",
        "--json",
        "--causal",
        "--threads",
        "1",
        env=without_torch(clean_environment, tmp_path),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["shape"] for row in document["rows"]] == SHAPES
    for row in document["rows"]:
        assert row["flashmoe_ms"] > 0 and row["rival_ms"] > 0 and row["ratio_low"] <= row["ratio_high"]
    logs = [math.log(row["ratio"]) for row in document["rows"]]
    assert math.isclose(document["speedup"], math.exp(sum(logs) / 6))


WRONG_KERNEL = """
import sys
sys.path[:0] = [{benches!r}, {package!r}]
import flashmoe_science
right = flashmoe_science.attention
def wrong(*args, **options):
    result = right(*args, **options)
    out = result[0] if isinstance(result, tuple) else result
    out[0, 0, 7, 3] += 0.01
    return result
flashmoe_science.attention = wrong
import bench_correctness_and_speed
sys.argv = ["bench", "--quick"]
bench_correctness_and_speed.main()
"""


def test_a_wrong_kernel_is_not_timed(root, clean_environment):
    script = WRONG_KERNEL.format(benches=str(root / "flashmoe" / "benches"), package=str(root / "flashmoe" / "python"))
    done = run(root, "-c", script, env=clean_environment)
    assert done.returncode != 0
    assert "WRONG Tiny" in done.stdout and "(0, 0, 7, 3)" in done.stdout
    assert "Speedup" not in done.stdout


def test_attention_cpu_and_the_page_of_results(root, torch, tmp_path, clean_environment):
    results = tmp_path / "attention_cpu.json"
    done = run(
        root,
        "flashmoe/benches/attention_cpu.py",
        "--quick",
        "--seconds",
        "0.05",
        "--only",
        "D=64  S=32",
        "--json",
        str(results),
        env=clean_environment,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(results.read_text())
    assert len(document["cells"]) == 4
    for cell in document["cells"]:
        assert cell["correct"] and cell["ratio"] > 0 and cell["gflops"] > 0
    assert document["summary"]["all"]["least"] == min(cell["ratio"] for cell in document["cells"])

    page = tmp_path / "results.md"
    write = ["scripts/write-results", "--page", str(page), "--results", str(tmp_path)]
    assert run(root, *write, "--check").returncode != 0
    assert run(root, *write).returncode == 0
    lines = page.read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if " B=1 H=8 " in line]
    assert len(rows) == 4
    for row, cell in zip(rows, document["cells"]):  # each ratio beside both times and its interval
        ours, theirs, ratio = float(row[1]), float(row[2]), float(row[3].rstrip("x"))
        assert math.isclose(theirs / ours, ratio, rel_tol=0.06) and math.isclose(
            cell["ratio"], ratio, rel_tol=0.06
        )
        low, high = map(float, row[4].split(" to "))
        assert low <= ratio + 0.51 and ratio <= high + 0.51
    assert any(line.startswith("| all |") for line in lines)
    assert run(root, *write, "--check").returncode == 0
    page.write_text(page.read_text().replace("x |", "y |", 1))
    assert run(root, *write, "--check").returncode != 0


def test_gradients_cpu(root, torch, tmp_path, clean_environment):
    results = tmp_path / "gradients_cpu.json"
    bench = ["flashmoe/benches/gradients_cpu.py", "--quick", "--seconds", "0.05", "--only", "D=64  S=128"]
    done = run(root, *bench, "--json", str(results), env=clean_environment)
    assert done.returncode == 0, done.stderr
    document = json.loads(results.read_text())
    assert [cell["dtype"] for cell in document["cells"]] == ["float32"] * 2 + ["bfloat16"] * 2
    for cell in document["cells"]:
        assert cell["correct"] and cell["ratio"] > 0 and cell["gflops"] > 0
        times = {name: median(samples) for name, samples in cell["samples_us"].items() if name != "flashmoe"}
        assert cell["fastest_of_torch"] == min(times, key=times.get) and len(times) == 2
    page = tmp_path / "results.md"
    assert run(root, "scripts/write-results", "--page", str(page), "--results", str(tmp_path)).returncode == 0
    assert "## CPU: gradients against PyTorch" in page.read_text()


def test_masks_cpu(root, torch, tmp_path, clean_environment):
    results = tmp_path / "masks_cpu.json"
    bench = ["flashmoe/benches/masks_cpu.py", "--quick", "--seconds", "0.05", "--only", "float32  causal"]
    done = run(root, *bench, "--json", str(results), env=clean_environment)
    assert done.returncode == 0, done.stderr
    document = json.loads(results.read_text())
    assert [cell["layout"] for cell in document["cells"]] == ["packed", "window", "padded"]
    for cell in document["cells"]:
        assert cell["correct"] and cell["ratio"] > 0 and cell["gflops"] > 0 and sum(cell["lengths"]) == 512
        others = {"torch, mask"} if cell["window"] else {"torch, by sequence", "torch, mask"}
        assert set(cell["samples_us"]) == {"flashmoe", *others}
    page = tmp_path / "results.md"
    assert run(root, "scripts/write-results", "--page", str(page), "--results", str(tmp_path)).returncode == 0
    assert " window 64 " in page.read_text()


def test_attention_cpu_says_what_it_needs(root, tmp_path, clean_environment):
    done = run(root, "flashmoe/benches/attention_cpu.py", "--quick", env=without_torch(clean_environment, tmp_path))
    assert done.returncode != 0
    assert "PyTorch is not installed" in done.stderr and "scripts/python-env" in done.stderr


def test_statistics(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "benches"))
    import harness

    assert harness.median([3, 1, 2]) == 2 and harness.median([4, 1, 2, 3]) == 2.5
    assert math.isclose(harness.geometric_mean([2, 8]), 4)
    ratio, low, high = harness.ratio_of_medians([2.0, 2.2, 1.9, 2.1, 2.0], [1.0, 1.1, 0.95, 1.05, 1.0])
    assert low <= ratio <= high and 1.9 < low and high < 2.1  # paired: the common noise cancels
    assert harness.ratio_of_medians([3.0], [1.0, 2.0, 3.0]) == (1.5, None, None)


def test_a_range_holds_the_ratio_and_every_quotient(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "benches"))
    import harness

    assert harness.range_of_ratio([2.0, 3.0], [1.0, 4.0]) == (0.5, 3.0)
    assert harness.percentile([5, 1, 3, 2, 4], 0.95) == 5 and harness.percentile([1], 0.5) == 1


def test_attention_gpu_compares_with_the_best(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "benches"))
    import attention_gpu

    samples = {"flashmoe": [1.0, 1.1, 0.9, 1.0], "cudnn": [3.0, 3.3, 2.7, 3.0], "sdpa": [2.0, 2.2, 1.8, 2.0]}
    found = attention_gpu.against_the_best(samples)
    assert found["best_rival"] == "sdpa" and found["ratio_low"] <= found["ratio"] == 2 <= found["ratio_high"]


def test_the_median_of_a_short_cell_counts_every_round(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "benches"))
    import harness

    calls = {"a": 0, "b": 0}

    def count(name):
        calls[name] += 1

    samples = harness.sample({name: lambda name=name: count(name) for name in calls}, 0.0, min_rounds=4)
    assert len(samples["a"]) == len(samples["b"]) == 4
    assert all(value > 0 for value in samples["a"] + samples["b"])
    assert calls["a"] > 4 and calls["b"] > 4


def test_slow_calls_are_made_less_often(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "flashmoe" / "benches"))
    import harness

    monkeypatch.setattr(harness, "PATIENCE_SECONDS", 0.0)
    samples = harness.sample({"slow": lambda: None, "other": lambda: None}, 1.0, min_rounds=4)
    assert [len(values) for values in samples.values()] == [2, 2]

    def long():
        calls.append(1)
        time.sleep(2e-3)

    calls = []
    monkeypatch.setattr(harness, "LONG_SECONDS", 1e-3)
    samples = harness.sample({"long": long, "short": lambda: None}, 0.0)
    assert len(calls) == len(samples["long"]) == 1 and len(samples["short"]) == 2


def test_attention_step(root, torch, tmp_path, clean_environment):
    file = tmp_path / "step.json"
    done = run(
        root,
        *("flashmoe/benches/attention_step.py", "--device", "cpu", "--dtype", "float32", "--shapes", "1,2,16,8"),
        *("--seconds", "0.1", "--json", str(file)),
        env=clean_environment,
    )
    assert done.returncode == 0, done.stderr
    assert "1,2,16,8 float32: ours " in done.stdout
    (result,) = json.loads(file.read_text())["results"]
    assert result["shape"] == [1, 2, 16, 8] and result["low"] <= result["ratio"] <= result["high"]


def test_transformers(root, torch, tmp_path, clean_environment):
    pytest.importorskip("transformers")
    file = tmp_path / "transformers.json"
    done = run(
        root,
        *("flashmoe/benches/transformers_gpu.py", "--small", "--device", "cpu", "--dtype", "float32", "--rounds", "2"),
        *("--json", str(file)),
        env=clean_environment,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(file.read_text())["results"]
    assert [result["name"].split()[0] for result in results] == ["prefill", "decode", "training"]
    assert all(result["low"] <= result["ratio"] <= result["high"] for result in results)
