# SPDX-License-Identifier: MIT
"""What was measured of dent itself, and of the model of a GPU."""

from results.words import table


def dent_aa_section(document):
    rows = []
    for name, what in (
        ("same", "the same program"),
        ("slower", f"one that is {100 * document['slowdown']:.0f} % slower"),
    ):
        counts = document[name]
        rows.append(
            [what, *(str(counts[verdict]) for verdict in ("FASTER", "SLOWER", "SAME", "AMBIGUOUS"))]
            + [f"{min(counts['centres']):.4f} to {max(counts['centres']):.4f}"]
        )
    yield f"{document['comparisons']} comparisons each, Neoverse-V1, 2 cores; {document['date']}."
    yield ""
    yield from table(
        ["a program against", "FASTER", "SLOWER", "SAME", "AMBIGUOUS", "centres of the intervals"], rows
    )


def dent_loaded_section(document):
    beside = {"spin": "loops that spin", "memory": "programs that copy memory", "compilers": "compilers"}
    rows = []
    for kind, programs in beside.items():
        for name, what in (
            ("same", "the same program"),
            ("slower", f"one that is {100 * document['slowdown']:g} % slower"),
        ):
            if kind not in document:
                continue
            counts = document[kind][name]
            others, waited, taken = (
                sorted(counts[key])[len(counts[key]) // 2] for key in ("others", "waited", "taken")
            )
            rows.append(
                [programs, what]
                + [str(counts[v]) for v in ("FASTER", "SLOWER", "SAME", "AMBIGUOUS", "BUSY MACHINE")]
                + [f"{min(counts['centres']):.3f} to {max(counts['centres']):.3f}"]
                + [f"{others:.1f} of {document['cores']}", f"{100 * waited:.0f} %", f"{100 * taken:.1f} %"]
            )
    yield (
        f"{document['comparisons']} comparisons each, {document['time_box_s']:g} s each, next to {document['programs']} programs on "
        f"{document['cores']} processors ({document['cpu']}; {document['date']})."
    )
    yield ""
    yield from table(
        ["beside", "a program against", "FASTER", "SLOWER", "SAME", "AMBIGUOUS", "BUSY MACHINE"]
        + ["centres of the intervals", "processors that others had", "kernels waited", "charged"],
        rows,
    )


def dent_gpu_clock_section(document):
    really, rows = document["really_us"], []
    for other, results in document["against"].items():
        told = sorted(result["ratio"]["centre"] for result in results if result["ratio"])
        verdicts = [result["verdict"] for result in results]
        clock = results[0]["clock"]
        events = sorted(
            r["clock"]["baseline_events_ns"] / r["clock"]["candidate_events_ns"] for r in results if r["clock"]
        )
        rows.append(
            [f"{really['base']:.2f} us against {really[other]:.2f} us", f"{really[other] / really['base']:.3f}x"]
            + [f"{told[0]:.3f}x to {told[-1]:.3f}x"]
            + [", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))]
            + [f"{clock['by']}, {clock['floor_ns'] / 1e3:.2f} us", f"{clock['candidate_host_ns'] / 1e3:.2f} us"]
            + [f"{events[0]:.3f}x to {events[-1]:.3f}x"]
        )
    yield (
        f"{document['device']}, {document['date']}; {len(next(iter(document['against'].values())))} comparisons of each, "
        f"{document['seconds']:g} s."
    )
    yield ""
    yield from table(
        ["really", "ratio", "told by dent", "verdicts", "clock, and its floor", "host, a call", "by events"], rows
    )


def suites_import_section(document):
    rows = []
    for suite in document["suites"]:
        commit = f" ({suite['commit'][:12]})" if suite["commit"] else ""
        rows.append([suite["suite"] + commit, str(suite["imported"]), str(suite["of"])])
    yield from table(["suite", "imported", "of"], rows)
    yield ""
    for suite in document["suites"]:
        for refused in suite["refused"]:
            why = refused["why"].replace("nobody", "no program")
            yield f"- {suite['suite']}, {refused['task']}: {why}"
    yield ""
    yield f"{document['date']}, PyTorch {document['torch']}."


def suites_same_section(document):
    verdicts = document["verdicts"]
    share = 100 * document["same"] / document["run"]
    yield (
        f"{document['gpu']}, PyTorch {document['torch']}, {document['date']}: {document['same']} of {document['run']} are SAME "
        f"({share:.1f} %): " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) + "."
    )
    yield ""
    if "note" in document:
        yield document["note"]
        yield ""
    rows = []
    for row in sorted(document["rows"], key=lambda row: row["task"]):
        compared = [shape for shape in row.get("shapes", []) if shape["ratio"]]
        for shape in compared:
            low, high = shape["ratio"]["low"], shape["ratio"]["high"]
            clock = (shape["clock"] or {}).get("by", "")
            rows.append([row["task"], f"{shape['baseline_ns'] / 1e3:.1f} us", f"{shape['candidate_ns'] / 1e3:.1f} us"])
            rows[-1] += [f"{shape['ratio']['centre']:.4f} ({low:.4f} to {high:.4f})", clock, shape["verdict"]]
        if not compared:
            rows.append([row["task"], "", "", row["reason"].replace("|", "/"), "", row["verdict"]])
    yield from table(["task", "baseline", "candidate", "ratio, 95 %", "clock", "verdict"], rows)


def loop_aa_section(document):
    yield (
        f"{document['loops']} loops over {document['candidates_measured']} candidates that differ in their bytes alone "
        f"({document['cores']} cores, {document['machine']}, load {document['load']:.1f}; {document.get('date', 'date not recorded')}): "
        f"{document['passed_the_screening']} passed the screening, {document['loops_that_kept_one']} was kept."
    )


def agreement_section(document):
    yield f"{document['gpu']} against the model, every value of every recorded case:"
    yield ""
    rows = []
    for name, kernel in document["kernels"].items():
        share = 100 * kernel["equal_bit_for_bit"] / kernel["values"]
        rows.append(
            [name, str(kernel["cases"]), str(kernel["values"]), f"{share:.2f} %"]
            + [f"{kernel['largest_difference_in_units_of_the_bound']:.2f}"]
        )
    yield from table(
        ["kernel", "cases", "values", "equal bit for bit", "largest difference, in units of the bound"], rows
    )


def clean_runs_section(document):
    yield (
        f"{document['runs']} runs of unchanged kernels over shapes, seeds and schedules: {document['false_alarms']} false "
        f"alarms, {document['seconds_on_the_model']:.0f} s on the model."
    )


def sass_section(document):
    same = sum(cubin["identical"] for cubin in document["cubins"])
    yield (
        f"Machine code with and without the model in the tree, nvcc {document['nvcc']}, commit {document['commit']}: "
        f"{same} of {len(document['cubins'])} cubins identical byte for byte."
    )


def executors_speed_section(document):
    overhead, slots = document["overhead"], document["slots"]
    yield from table(
        ["`dent check` of a small kernel", "first", "later, median of 5", "longer than here"],
        [["here", "-", f"{overhead['here_s']:.2f} s", "-"]]
        + [
            [
                what,
                f"{overhead[f'{name}_first_s']:.2f} s",
                f"{overhead[f'{name}_s']:.2f} s",
                f"{overhead[f'{name}_s'] - overhead['here_s']:.2f} s",
            ]
            for name, what in (("ssh", "over ssh on loopback"), ("slurm", "over Slurm"))
        ],
    )
    yield ""
    yield (
        f"A loop over {slots['candidates']} candidates, `--parallel 4`, from the first proposal to the last outcome: {slots['one_slot_s']:.0f} s over one slot, "
        f"{slots['two_slots_s']:.0f} s over two: {slots['share']:.2f} of it. {document['cores']} cores, {document['machine']}, load {document['load']:.1f}; {document['date']}."
    )


def executors_cell_section(document):
    start = document["start"]
    yield (
        f"A process starts in {start['outside_ms']:.1f} ms, in the sandbox in {start['inside_ms']:.1f} ms: {start['added_ms']:.1f} ms more, "
        f"{start['added_max_ms']:.1f} ms at most of {start['starts']}."
    )
    yield ""
    yield from table(
        ["a call", "without", "in a cell", "ratio"],
        [
            [name, f"{call['off_ns'] / 1e3:.3f} us", f"{call['required_ns'] / 1e3:.3f} us", f"{call['ratio']:.3f}"]
            for name, call in document["calls"].items()
        ],
    )
    yield ""
    yield f"{document['cores']} cores, {document['machine']}, load {document['load_average']:.1f}; {document['date']}."


def executors_faults_section(document):
    faults, kills = document["faults"], document["kills"]
    kinds = ", ".join(f"{count} x {kind.replace('_', ' ')}" for kind, count in faults["kinds"].items())
    yield from table(
        ["work", "failures", "results"],
        [
            [f"{faults['jobs']} candidates, each a session", f"{faults['failures']}: {kinds}", str(faults["results"])],
            ["one session", f"{kills['kills']} x kill the coordinator", str(kills["results"])],
        ],
    )
    yield ""
    yield (
        f"{document['cores']} cores, {document['machine']}, load {document['load']:.0f}. A result counts where the session has exactly one verdict and each step of it has ended once. "
        f"Processes left on the nodes at the end: {kills['processes_left']}."
    )
