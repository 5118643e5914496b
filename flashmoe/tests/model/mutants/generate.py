# SPDX-License-Identifier: MIT
"""Puts mistakes into a kernel, to prove that the model of a GPU catches them.

    generate.py <kernel>.toml SOURCES FOLDER    C++ files, and in FOLDER the kernel's headers with all its mistakes
    generate.py --check <kernel>.toml...        fails if a mistake no longer finds its text in the kernel

A mistake is the first `from` in a header of flashmoe/src/kernels/<kernel> replaced by `to`. All of them are in one copy of the
headers, each behind a switch (switches.py), and so is every statement that orders what threads do, which can be left out.
What can't wait until a program runs (a constant, an enumerator) is a copy of its own. Copies are compiled in the forms that
<kernel>.toml names, by the macros that <namespace>.h reads. A mistake with a stale text is left out; the check is a test.
"""

import hashlib
import json
import pathlib
import re
import sys
import tomllib

from cxx import Source
from switches import LINE, Switch, makes_change, nested, render, switch

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "src/kernels"
FIRST_LINE = 1000  # numbers of statements; those of mistakes are lower

# The beginnings of statements that order what threads do.
SYNCHRONISES = re.compile(
    r"[\n{)] *((?:gpu::(?:sync_|cp_async_wait|cp_async_commit|mbarrier_|fence_|cluster_arrive|cluster_wait|named_barrier_|"
    r"wgmma_wait|wgmma_fence|wgmma_commit|tma_store_commit|tma_store_wait|setmaxnreg_|griddepcontrol_wait|"
    r"wait_for_count|increment_release)|"
    r"(?:rows_\.|keys\.)?(?:sync_warpgroup|wait_full|wait_for_|release|skip_|pass_turn|arrive\())[^;{}]*;)"
)


class Kernel:
    def __init__(self, toml):
        self.data = tomllib.loads(toml.read_text())
        self.name = self.data["kernel"]
        self.namespace = self.data.get("namespace", self.name)
        self.forms = self.data.get("forms", {"default": {}})
        folder = KERNELS / self.name
        self.headers = {
            path.name: path.read_text() for path in sorted([*folder.glob("*.h"), *folder.glob("*.cuh")])
        }

    def key(self, form):
        return f"{self.name}/{form}"

    def form_of(self, mutant):
        return mutant.get("form", next(iter(self.forms)))

    def is_stale(self, mutant):
        return mutant["from"] not in self.headers.get(mutant["file"], "")

    def mutants(self):
        """(number, mutant) of each."""
        return [one for one in enumerate(self.data["mutant"], 1) if not self.is_stale(one[1])]

    def changed(self, mutant):
        return self.headers[mutant["file"]].replace(mutant["from"], mutant["to"], 1)


class Copies:
    """The copy of a kernel with switches, and those with one mistake each."""

    def __init__(self, kernel):
        self.kernel = kernel
        sources = {file: Source(text) for file, text in kernel.headers.items()}
        switches = {file: [] for file in sources}
        self.alone = []  # mutants with a copy of their own
        for number, mutant in kernel.mutants():
            one = switch(sources[mutant["file"]], number, Source(kernel.changed(mutant)))
            if one is None:
                self.alone.append((number, mutant))
            else:
                switches[mutant["file"]].append(one)
        self.lines = []  # (number, file, line, text)
        for file, text in kernel.headers.items():
            for match in SYNCHRONISES.finditer(text):
                number = FIRST_LINE + len(self.lines)
                line = text.count("\n", 0, match.start(1)) + 1
                self.lines.append((number, file, line, " ".join(match[1].rstrip(";").split())))
                switches[file].append(Switch(number, LINE, match.start(1), match.end(1)))
        self.headers = {}
        for file, source in sources.items():
            for one in nested(source, switches[file]):
                if one.kind != LINE and not makes_change(source, one):
                    raise ValueError(f"{kernel.name}: switch {one.number} is not its mistake in {file}")
            self.headers[file] = render(source.text, switches[file])


def write(path, text):
    """Only what has changed, so that no more is compiled."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_headers(folder, kernel, name, headers):
    (folder / name).mkdir(parents=True, exist_ok=True)
    for file, text in headers.items():
        text = text.replace(f'"kernels/{kernel}/', f'"{name}/')
        # With its name in it: to g++, files of one text are one file, and #pragma once would skip the second.
        write(folder / name / file, f"{text}// {name}\n")


def cxx_of(kernel, copy, forms):
    """What includes a copy, and starts it in these forms: (name, form)."""
    includes = kernel.data.get("includes", ["kernel.cuh"])
    lines = [f"#define {kernel.namespace} {copy}", *(f'#include "{copy}/{file}"' for file in includes)]
    for name, form in forms:
        macros = {"FORM": json.dumps(kernel.key(name)), "MUTANT": f"{kernel.name}_{name}"}
        macros |= {key.upper(): str(value).lower() for key, value in kernel.forms[form].items()}
        lines += [f"#define FLASHMOE_{key} {value}" for key, value in macros.items()]
        lines += [f'#include "model/mutants/{kernel.namespace}.h"']
        lines += [f"#undef FLASHMOE_{key}" for key in macros]
    return "\n".join([*lines, f"#undef {kernel.namespace}", ""])


def list_of(kernel, copies):
    """What there is to run: forms as they are, forms whose statements are left out one by one, and mistakes."""
    alone = {number for number, _ in copies.alone}
    rows = [(kernel.key(form), 0, "none") for form in kernel.data["exact_copies"]]
    rows += [(kernel.key(form), 0, "each line") for form in kernel.data["line_by_line"]]
    for number, mutant in kernel.mutants():
        form = kernel.form_of(mutant)
        rows.append((kernel.key(f"{form}_{number}" if number in alone else form), number, mutant["mistake"]))
    return "\n".join([
        "namespace flashmoe::test {",
        f'static const Listed listed("{kernel.name}", {{',
        *(f"    {{{json.dumps(form)}, {number}, {json.dumps(mistake)}}}," for form, number, mistake in rows),
        "}, {",
        *(f"    {{{json.dumps(file)}, {line}, {json.dumps(text)}, {number}}}," for number, file, line, text in copies.lines),
        "});",
        "}  // namespace flashmoe::test",
        "",
    ])  # fmt: skip


def generate(toml, sources, folder):
    kernel = Kernel(toml)
    copies = Copies(kernel)
    write_headers(folder, kernel.name, f"{kernel.name}_switched", copies.headers)
    used = {
        *kernel.data["exact_copies"],
        *kernel.data["line_by_line"],
        *(kernel.form_of(m) for _, m in kernel.mutants()),
    }
    forms = [(form, form) for form in kernel.forms if form in used]
    each = -(-len(forms) // len(sources))
    # A build knows of these files alone, so they change with the headers.
    made_of = hashlib.sha256(
        "".join([*kernel.headers.values(), *copies.headers.values()]).encode()
    ).hexdigest()
    for i, source in enumerate(sources):
        text = f'// Generated by generate.py, of {made_of[:16]}.\n#include "model/mutants/includes.h"\n'
        text += cxx_of(kernel, f"{kernel.name}_switched", forms[i * each : (i + 1) * each])
        if i == 0:
            text += list_of(kernel, copies)
            for number, mutant in copies.alone:
                copy = f"{kernel.name}_{number}"
                write_headers(
                    folder, kernel.name, copy, {**kernel.headers, mutant["file"]: kernel.changed(mutant)}
                )
                text += cxx_of(kernel, copy, [(f"{kernel.form_of(mutant)}_{number}", kernel.form_of(mutant))])
        write(source, text)


def check(tomls):
    stale = 0
    for toml in tomls:
        kernel = Kernel(toml)
        for mutant in kernel.data["mutant"]:
            if kernel.is_stale(mutant):
                print(f'{toml.name}: "{mutant["mistake"]}" no longer finds its text in {mutant["file"]}')
                stale += 1
        Copies(kernel)  # throws if a switch is not its mistake
    return 1 if stale else 0


def main(arguments):
    if arguments[0] == "--check":
        return check([pathlib.Path(toml) for toml in arguments[1:]])
    generate(
        pathlib.Path(arguments[0]),
        [pathlib.Path(source) for source in arguments[1:-1]],
        pathlib.Path(arguments[-1]),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
