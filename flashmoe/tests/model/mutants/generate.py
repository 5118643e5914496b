# SPDX-License-Identifier: MIT
"""Makes mutants: copies of a kernel with one realistic mistake each, to prove that the model of a GPU catches them.

    generate.py <kernel>.toml SOURCES FOLDER    into FOLDER/<kernel>_<number>/ and SOURCES (C++ files that share them out)
    generate.py --check <kernel>.toml...        fails if a mutant no longer finds its text in the kernel

A mutant is every header of flashmoe/src/kernels/<kernel> with the first `from` in `file` replaced by `to`, under a namespace of its own,
so that one C++ file holds many. It is compiled in one form: the macros that <namespace>.h reads. A mutant with a stale text is
left out; the check is a test of its own.
"""

import pathlib
import re
import sys
import tomllib

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "src/kernels"

# The beginnings of statements that order what threads do.
SYNCHRONISES = re.compile(
    r"([\n{)] *)((?:gpu::(?:sync_|cp_async_wait|cp_async_commit|mbarrier_|fence_|cluster_arrive|cluster_wait|named_barrier_|"
    r"wgmma_wait|wgmma_fence|wgmma_commit|tma_store_commit|tma_store_wait|setmaxnreg_|griddepcontrol_wait|"
    r"wait_for_count|increment_release)|"
    r"(?:rows_\.|keys\.)?(?:sync_warpgroup|wait_full|wait_for_|release|skip_|pass_turn|arrive\())[^;{}]*);"
)


def headers_of(kernel):
    folder = KERNELS / kernel
    return {path.name: path.read_text() for path in sorted([*folder.glob("*.h"), *folder.glob("*.cuh")])}


def is_stale(mutant, headers):
    return mutant["from"] not in headers.get(mutant["file"], "")


def mutants_of(data, headers):
    """(mistake, form, headers) of each."""
    forms = data.get("forms", {"default": {}})
    for form in data["exact_copies"]:
        yield "none", forms[form], headers
    for mutant in data["mutant"]:
        if not is_stale(mutant, headers):
            file = mutant["file"]
            form = mutant.get("form", next(iter(forms)))
            yield (
                mutant["mistake"],
                forms[form],
                {**headers, file: headers[file].replace(mutant["from"], mutant["to"], 1)},
            )
    for form in data["line_by_line"]:
        yield (
            "each line",
            forms[form],
            {
                file: SYNCHRONISES.sub(r"\1FLASHMOE_MAY_BE_TAKEN_OUT(\2);", text)
                for file, text in headers.items()
            },
        )


def write_headers(folder, kernel, name, headers):
    (folder / name).mkdir(parents=True, exist_ok=True)
    for file, text in headers.items():
        text = text.replace(f'"kernels/{kernel}/', f'"{name}/')
        # With its name in it: to g++, files of one text are one file, and #pragma once would skip the second.
        (folder / name / file).write_text(f"{text}// {name}\n")


def cxx_of(name, namespace, mistake, form, includes):
    macros = {"MISTAKE": f'"{mistake}"', "MUTANT": name}
    macros |= {key.upper(): str(value).lower() for key, value in form.items()}
    return "\n".join([
        *(f"#define FLASHMOE_{key} {value}" for key, value in macros.items()),
        f"#define {namespace} {name}",
        *(f'#include "{name}/{file}"' for file in includes),
        f'#include "model/mutants/{namespace}.h"',
        f"#undef {namespace}",
        *(f"#undef FLASHMOE_{key}" for key in macros),
        "",
    ])  # fmt: skip


def generate(toml, sources, folder):
    data = tomllib.loads(toml.read_text())
    kernel, namespace = data["kernel"], data.get("namespace", data["kernel"])
    includes = data.get("includes", ["kernel.cuh"])
    parts = ['#include "model/mutants/includes.h"\n' for _ in sources]
    for number, (mistake, form, headers) in enumerate(mutants_of(data, headers_of(kernel))):
        name = f"{kernel}_{number}"
        write_headers(folder, kernel, name, headers)
        parts[number % len(parts)] += "\n" + cxx_of(name, namespace, mistake, form, includes)
    for source, text in zip(sources, parts):
        source.write_text(text)


def check(tomls):
    stale = 0
    for toml in tomls:
        data = tomllib.loads(toml.read_text())
        headers = headers_of(data["kernel"])
        for mutant in data["mutant"]:
            if is_stale(mutant, headers):
                print(f'{toml.name}: "{mutant["mistake"]}" no longer finds its text in {mutant["file"]}')
                stale += 1
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
