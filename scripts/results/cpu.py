# SPDX-License-Identifier: MIT
"""Tables of what was measured on CPUs."""

from results.words import SHORT, in_short, interval, machine_of, ratio, shape_of, table, us


def cpu_interval(cell):
    return (
        "one sample of PyTorch's"
        if cell["ratio_low"] is None
        else interval(cell["ratio_low"], cell["ratio_high"])
    )


def cpu_section(document):
    cells = [cell for cell in document["cells"] if cell["correct"]]
    peak = document["fma_peak"]
    rate = f" Measured rate of fp32 fused multiply-adds: {peak['gflops']:.0f} GFLOP/s." if peak else ""
    yield f"{machine_of(document)}.{rate}"
    for dtype in dict.fromkeys(cell["dtype"] for cell in cells):
        yield ""
        rows = []
        for cell in (cell for cell in cells if cell["dtype"] == dtype):
            share = "" if cell["fma_share"] is None else f"{100 * cell['fma_share']:.0f} %"
            rows.append(
                [
                    shape_of(cell),
                    us(cell["flashmoe_us"]),
                    us(cell["torch_us"]),
                    ratio(cell["ratio"]),
                    cpu_interval(cell),
                    f"{cell['gflops']:.0f}",
                    share,
                ]
            )
        head = [
            SHORT[dtype],
            "flashmoe, us",
            "PyTorch, us",
            "ratio",
            "95 % interval",
            "GFLOP/s",
            "of the FMA rate",
        ]
        yield from table(head, rows)
    yield ""
    yield from table(
        ["group (ratios of the rows above)", "geometric mean", "least", "rows"],
        (
            [in_short(name), ratio(group["geometric_mean"]), ratio(group["least"]), str(group["cells"])]
            for name, group in document["summary"].items()
        ),
    )
