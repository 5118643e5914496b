# SPDX-License-Identifier: MIT
"""README's table: one row for each thing that a reader asks about first."""

import json
import sys

from results.cpu import cpu_interval
from results.words import geometric_mean, interval, median, ratio, table, us, wrapped

SHAPE = "B=4 H=16 S=4096 D=128 causal"
LARGE = {"batch": 4, "q_heads": 16, "kv_heads": 16, "rows": 4096, "head_dim": 128, "causal": True}
DECODE = {"group": "decode", "batch": 1, "kv_rows": 8192, "cold": True}
PACKED = {"sequences": 8}
FEW = 10  # shapes, of which a mean says nothing
CPU = {"dtype": "float32", "mask": "full", "q_rows": 512, "head_dim": 64}

# The words of the row, the file, the name of ours and of cuDNN's in it, and the problem.
GPU_ROWS = [
    (f"forward, {SHAPE}", "attention_hopper_h200", "dispatch", "cudnn", LARGE),
    (f"backward, {SHAPE}", "attention_backward_h200", "flashmoe", "cudnn", LARGE),
    ("decode, 1 row, 8,192 keys, H=32/8 D=128", "attention_gpu_h200", "flashmoe", "cudnn", DECODE),
    (
        "packed, 8 sequences, 16,384 rows in all, H=16 D=128 causal",
        "attention_varlen_h200",
        "flashmoe",
        "cudnn ragged",
        PACKED,
    ),
    ("packed, backward of the same", "gradients_varlen_h200", "flashmoe", "cudnn ragged", PACKED),
]


def the_one(entries, wanted, key=lambda entry: entry):
    found = [entry for entry in entries if all(key(entry)[name] == value for name, value in wanted.items())]
    if len(found) != 1:
        sys.exit(f"write-results: {len(found)} measurements for {wanted}; README's table needs exactly one")
    return found[0]


def samples_of(result, name):
    return result["samples_us"][name] if "samples_us" in result else result["contenders"][name]["samples_us"]


def against(result, ours, theirs):
    """(our time, theirs, the ratio, its range): the range is from their fastest sample over our slowest to the reverse."""
    us_, them = samples_of(result, ours), samples_of(result, theirs)
    return median(us_), median(them), median(them) / median(us_), interval(min(them) / max(us_), max(them) / min(us_))


def version_of_cudnn(document):
    number = int(document["environment"]["cudnn"])
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def readme_table(results):
    rows, versions, machines = [], set(), set()
    for words, file, ours, theirs, wanted in GPU_ROWS:
        document = json.loads((results / f"{file}.json").read_text())
        versions.add(version_of_cudnn(document))
        machines.add(document["environment"]["gpu"]["name"].removeprefix("NVIDIA "))
        result = the_one(document["results"], wanted, lambda entry: entry["case"])
        mine, other, value, spread = against(result, ours, theirs)
        rows.append([f"bf16 {words}", f"{us(mine)} us", f"{us(other)} us", ratio(value), spread])
    if len(versions) != 1 or len(machines) != 1:
        sys.exit(f"write-results: README's table is of one GPU and one cuDNN, not of {machines} and {versions}")
    document = json.loads((results / "attention_cpu_xeon_amx.json").read_text())
    cell = the_one(document["cells"], CPU)
    rows.append(
        [
            f"fp32 forward, H=8 S=512 D=64, Xeon, {document['environment']['threads']} threads",
            f"{us(cell['flashmoe_us'])} us",
            f"PyTorch: {us(cell['torch_us'])} us",
            ratio(cell["ratio"]),
            f"95 %: {cpu_interval(cell)}",
        ]
    )
    (machine,), (version,) = machines, versions
    yield from table([f"{machine}, unless the row says otherwise", "flashmoe", f"cuDNN {version}", "ratio", "range"], rows)
    yield ""
    few, many = [], []
    for words, file, ours, theirs, _ in (*GPU_ROWS[:2], *GPU_ROWS[3:]):
        measured = json.loads((results / f"{file}.json").read_text())["results"]
        ratios = [against(result, ours, theirs)[2] for result in measured]
        if len(ratios) > FEW:
            many.append(f"{words.split(',')[0]} {mean_and_least(geometric_mean(ratios), min(ratios), len(ratios))}")
        else:
            few.append(f"{name_of(words)} {ratio(min(ratios))} ({len(ratios)} shapes)")
    group = document["summary"]["all"]
    many.append("Xeon " + mean_and_least(group["geometric_mean"], group["least"], group["cells"]))
    yield from wrapped(f"Geometric means over all shapes: {', '.join(many)}. Of few shapes the lowest: {', '.join(few)}.")


def name_of(words):
    return words.split(",")[0] + (" backward" if ", backward" in words else "")


def mean_and_least(mean, least, count):
    return f"{ratio(mean)} (lowest {ratio(least)}, {count} shapes)"
