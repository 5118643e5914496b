# SPDX-License-Identifier: MIT
"""Tables of what was measured on GPUs."""

import re

from results.words import (
    NO_SPREAD,
    geometric_mean,
    interval,
    machine_of,
    median,
    overall,
    ratio,
    shape_of,
    table,
    us,
)

CONTENDERS = {
    "sdpa": "PyTorch's choice",
    "cudnn": "cuDNN",
    "flash": "FlashAttention",
    "efficient": "efficient",
    "flex": "FlexAttention",
    "cudnn ragged": "cuDNN, ragged: kernels alone",
}


# Groups of shapes whose names in the files are no words of the field.
GROUPS = {"spans": "named masks", "scores": "softcap and ALiBi", "tensors": "mask tensors", "varlen": "packed sequences"}


def gpu_ratio(result):
    """(ratio over the best contender, its spread)."""
    ours = result["contenders"]["flashmoe"]
    best = min(
        (entry for name, entry in result["contenders"].items() if name in CONTENDERS),
        key=lambda entry: entry["median_us"],
    )
    if result.get("ratio_low") is not None:
        return result["ratio"], "95 %: " + interval(result["ratio_low"], result["ratio_high"])
    low, high = best["min_us"] / ours["max_us"], best["max_us"] / ours["min_us"]
    return best["median_us"] / ours["median_us"], interval(low, high)


def gpu_section(document):
    yield machine_of(document) + "."
    yield ""
    there = {name for result in document["results"] for name in result["contenders"]}
    others = {name: words for name, words in CONTENDERS.items() if name in there}
    rows = []
    for result in document["results"]:
        value, spread = gpu_ratio(result)
        times = {name: us(entry["median_us"]) for name, entry in result["contenders"].items()}
        rate = result["contenders"]["flashmoe"]["tflops"]
        rows.append(
            [
                shape_of(result["case"]),
                times["flashmoe"],
                *(times.get(name, "") for name in others),
                ratio(value),
                spread,
                f"{rate:.1f}",
            ]
        )
    yield from table(
        ["shape", "flashmoe, us", *others.values(), "ratio to the fastest", "range", "TFLOP/s"], rows
    )
    yield ""
    for group in dict.fromkeys(result["case"]["group"] for result in document["results"]):
        yield "- " + overall(
            [gpu_ratio(r)[0] for r in document["results"] if r["case"]["group"] == group], GROUPS.get(group, group)
        )
    if "call_us" in document:
        yield ""
        yield from call_times(document)


def call_section(document):
    yield machine_of(document) + "."
    yield ""
    yield from call_times(document)


def call_times(document):
    yield (
        "Host time of one Python call, B=1 H=1 S=128 D=64 fp16: on an idle queue, after calls of the other libraries; and in a row of "
        "20 calls, whose code is in the caches:"
    )
    yield ""
    names = {
        "flashmoe": "`attention(q, k, v)`",
        "flashmoe out=": "`attention(q, k, v, out=out)`",
        "flashmoe recorded": "`attention(q, k, v)`, recorded by autograd",
        "sdpa": "PyTorch's SDPA",
        "sdpa recorded": "PyTorch's SDPA, recorded by autograd",
        "flashmoe varlen": "`attention_varlen(q, k, v, ends, ends, 80, 80)`, two sequences",
        "flashmoe varlen recorded": "the same, recorded by autograd",
        "varlen_attn": "PyTorch's varlen_attn, the same",
        "varlen_attn recorded": "PyTorch's varlen_attn, recorded by autograd",
    }
    yield from table(
        ["call", "median, us", "fastest, us", "95th percentile, us", "in a row, median, us"],
        (
            [
                names[name],
                us(entry["median_us"]),
                us(entry["min_us"]),
                us(entry["p95_us"]) if "p95_us" in entry else "not recorded",
                us(entry["in_a_row_us"]) if "in_a_row_us" in entry else "not recorded",
            ]
            for name, entry in document["call_us"].items()
        ),
    )


def transformers_section(document):
    yield f"{machine_of(document)}, transformers {document['transformers']}."
    yield ""
    rows = []
    for result in document["results"]:
        samples = result["seconds"]
        ours = next(name for name in samples if name != "sdpa")
        per_second = (f"{result['tokens'] / median(samples[name]):,.0f}" for name in (ours, "sdpa"))
        rows.append(
            [
                result["name"].replace("behind", "after"),
                *per_second,
                ratio(result["ratio"]),
                "95 %: " + interval(result["low"], result["high"]),
            ]
        )
    yield from table(["work", "flashmoe, tokens/s", "sdpa, tokens/s", "ratio", "range"], rows)


def sampled_section(document):
    yield machine_of(document) + "."
    yield ""
    ours = next(name for name in document["results"][0]["samples_us"] if name not in CONTENDERS)
    others = [name for name in CONTENDERS if name in document["results"][0]["samples_us"]]
    rows, ratios = [], {name: [] for name in others}
    for result in document["results"]:
        samples = result["samples_us"]
        row = [shape_of(result["case"]), us(median(samples[ours]))]
        for name in others:
            value = median(samples[name]) / median(samples[ours])
            ratios[name].append(value)
            row += [
                us(median(samples[name])),
                ratio(value),
                interval(min(samples[name]) / max(samples[ours]), max(samples[name]) / min(samples[ours])),
            ]
        rows.append([*row, f"{result['tflops'][ours]:.1f}"])
    head = ["bf16", f"{ours}, us"]
    for name in others:
        head += [f"{CONTENDERS[name]}, us", "ratio", "range"]
    yield from table([*head, "TFLOP/s"], rows)
    yield ""
    for name in others:
        yield "- " + overall(ratios[name], f"against {CONTENDERS[name]}")


# The rows of ampere_backward's table that dispatch takes where a block may have 161 KB of shared memory, by head_dim; numbers as
# the table had them when it was measured.
AMPERE_ROWS = {64: "ampere:0", 128: "ampere:2", 256: "ampere:4"}


def ampere_gradients_section(document):
    def as_shown(result):
        row = AMPERE_ROWS[result["case"]["head_dim"]]
        return {
            "case": result["case"],
            "samples_us": {
                "ampere_backward": result["samples_us"][row],
                "flash": result["samples_us"]["flash"],
            },
            "tflops": {"ampere_backward": result["tflops"][row]},
        }

    yield from sampled_section({**document, "results": [as_shown(result) for result in document["results"]]})


def crossover_section(document, shown=10):
    yield machine_of(document) + "."
    yield ""
    results = document["results"]
    yield (
        f"{len(results)} shapes, fp16, B=1, warm. Time of the kernel that dispatch chooses over the time of the fastest one: "
        f"geometric mean {geometric_mean([r['loss'] for r in results]):.3f}. The {shown} worst:"
    )
    yield ""
    kernels = ("small_forward", "ampere_forward", "hopper_forward")
    rows = []
    for result in sorted(results, key=lambda r: -r["loss"])[:shown]:
        heads, q_rows, kv_rows, head_dim, causal = result["shape"]
        case = {
            "q_heads": heads,
            "kv_heads": heads,
            "q_rows": q_rows,
            "kv_rows": kv_rows,
            "head_dim": head_dim,
            "causal": causal,
        }
        times = result["times_us"]
        spread = interval(result["loss_low"], result["loss_high"]) if "loss_low" in result else NO_SPREAD
        rows.append(
            [
                shape_of(case),
                result["chosen"],
                us(times["dispatch"]),
                *(us(times[name]) if name in times else "" for name in kernels),
                f"{result['loss']:.2f}",
                spread,
            ]
        )
    yield from table(["shape", "chosen", "dispatch, us", *kernels, "time over the best", "range"], rows)


def ladder_section(document):
    yield machine_of(document) + ". fp16, B=1 H=1 D=64."
    yield ""
    yield from ladder_table(document, document["rungs"])


def setting_of(rung):
    names = [
        f"{name} {value}" for name, value in rung.items() if name.isupper() and not re.match(r"S\d", name)
    ]
    return f"`{rung['rung']}`, " + ", ".join(names)


def ladder_table(document, rungs):
    """Times and ratios to SDPA's row, which comes first. cold: one call after a flush of the L2 cache."""
    columns = [(rows, heat) for rows in ("32", "128") for heat in ("warm", "cold")]
    sdpa = {column: document["sdpa"][column[0]] for column in columns}
    spread = "range" if f"{columns[0][1]}_low_us" in document["sdpa"]["32"] else NO_SPREAD

    def cell(entry, column, of=None):
        key = column[1] + "_us"
        if of is None:
            return f"{us(entry[key])} us"
        return f"{us(entry[key])} us ({ratio(of[key] / entry[key])}{range_of(entry, column[1], of)})"

    rows = [["PyTorch's SDPA", *(cell(sdpa[column], column) for column in columns)]]
    rows += [
        [setting_of(rung), *(cell(rung[f"S{column[0]}"], column, sdpa[column]) for column in columns)]
        for rung in rungs
    ]
    yield from table(
        [f"rung (ratio to SDPA; {spread})", *(f"S={rows_}, {heat}" for rows_, heat in columns)], rows
    )


def range_of(entry, heat, of):
    low, high = f"{heat}_low_us", f"{heat}_high_us"
    if low not in entry or low not in of:
        return ""
    return ", " + interval(of[low] / entry[high], of[high] / entry[low])
