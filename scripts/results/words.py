# SPDX-License-Identifier: MIT
"""Numbers, shapes and machines in the words of the pages."""

import math
import re
import textwrap

SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
WIDTH = 120  # columns of a page
MANY = 10  # from here on, a ratio's decimals say nothing
NO_SPREAD = "spread not recorded"


def ratio(value):
    return f"{value:.2f}x" if value < MANY else f"{value:.0f}x"


def interval(low, high):
    digits = 2 if high < MANY else 0
    return f"{low:.{digits}f} to {high:.{digits}f}"


def us(value):
    return f"{value:.2f}" if value < 100 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def table(head, rows):
    """Lines of a table; the columns after the first are numbers."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def wrapped(text, indent=""):
    """Lines of prose, as wide as those of every page. Links stay whole."""
    whole = re.sub(r"\[[^]]*\]\([^)]*\)", lambda link: link[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def wrapped_page(text):
    """The page with its paragraphs and items wrapped; rows of tables stay."""
    lines, paragraph = [], []
    for line in [*text.splitlines(), ""]:
        if line and not line.startswith(("|", "#", "- ")):
            paragraph.append(line)
            continue
        lines += wrapped(" ".join(paragraph)) if paragraph else []
        paragraph = []
        lines += wrapped(line, "  ") if line.startswith("- ") else [line]
    return "\n".join(lines[:-1]) + "\n"


def overall(ratios, what):
    return (
        f"{what}: geometric mean {ratio(geometric_mean(ratios))}, least {ratio(min(ratios))}, most {ratio(max(ratios))}, "
        f"{len(ratios)} shapes."
    )


def heads_of(case):
    q, kv = case["q_heads"], case["kv_heads"]
    return str(q) if q == kv else f"{q}/{kv}"


def rows_of(case):
    if "rows" in case or case["q_rows"] == case["kv_rows"]:
        return f"S={case.get('rows', case.get('q_rows'))}"
    return f"Sq={case['q_rows']} Skv={case['kv_rows']}"


def spans_of(case):
    documents, prefix = case.get("documents"), case.get("prefix")
    even = " of one length" if case.get("even") else ""
    return (f" {documents} documents{even}" if documents else "") + (f" prefix {prefix}" if prefix else "")


def scores_of(case):
    return f" {case['scores']}" if case.get("scores") else ""


def sequences_of(case):
    return f" {case['sequences']} sequences" if case.get("sequences") else ""


def layout_of(case):
    """Of a bench of masks on the CPU."""
    if case.get("window") and "layout" in case:
        return f" window {case['window']}"
    return f" {case['layout']}, {len(case['lengths'])} sequences" if "layout" in case else ""


def tensor_of(case):
    return f" by a {case['tensor']}" if case.get("tensor") else ""


def shape_of(case):
    dtype = SHORT[case["dtype"]] + " " if "dtype" in case else ""
    return (
        f"{dtype}B={case.get('batch', 1)} H={heads_of(case)} {rows_of(case)} D={case['head_dim']}"
        f"{' causal' if case.get('causal') or case.get('mask') == 'causal' else ''}{' cold' if case.get('cold') else ''}"
        f"{spans_of(case)}{scores_of(case)}{sequences_of(case)}{layout_of(case)}{tensor_of(case)}"
    )


def machine_of(document):
    """The machine, the software and the day, as far as the file records them."""
    known = document.get("environment", {})
    gpu = known.get("gpu", {}).get("name") or document.get("gpu")
    words = [gpu] if gpu else [f"{known['cpu']}, {known['threads']} threads"]
    if "driver_version" in known.get("gpu", {}):
        words.append(f"driver {known['gpu']['driver_version']}")
    words.append(f"PyTorch {known.get('torch') or document.get('torch')}")
    cudnn = known.get("cudnn") or document.get("cudnn")
    if cudnn:
        words.append(f"cuDNN {cudnn}")
    if "flashmoe" in known:
        words.append(f"flashmoe {known['flashmoe']}")
    words.append(f"commit {known['commit']}" if known.get("commit") else "commit not recorded")
    words.append(known.get("date") or "date not recorded")
    if not gpu and known["load_average"] > 0.5:
        words.append(f"**busy with other work (load {known['load_average']:.1f})**")
    return ", ".join(words)


def in_short(text):
    for long, short in SHORT.items():
        text = text.replace(long, short)
    return text
