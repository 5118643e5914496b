# SPDX-License-Identifier: MIT
"""What a session of dent found, in plain words: `dent run --json` gives a document, and these are its sentences."""

import json
from dataclasses import dataclass, field

NAMES = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime", "naive": "plain loops"}
# How dent ends (dent/docs/dent.md has all exit codes), in the groups that matter here.
MEASURED = (0, 6)  # FASTER or SAME; SLOWER
UNCLEAR = (8, 15)  # AMBIGUOUS; BUSY MACHINE
OTHER_DENT = 12  # at work in the same folder
MOST_DIGITS = 3


@dataclass
class Ratio:
    """The other's time by the kernel's: above 1 the kernel is faster. With its 95 % interval."""

    centre: float
    low: float
    high: float

    def inverse(self):
        return Ratio(1 / self.centre, 1 / self.high, 1 / self.low)

    def words(self):
        """"2.3 times ... (2.1 to 2.5)", in its two parts. A bound that is not 1 does not read as 1."""
        digits = 0 if self.low >= 10 else 1
        while digits < MOST_DIGITS and any(round(value, digits) == 1 for value in (self.centre, self.low, self.high)):
            digits += 1
        centre, low, high = (f"{value:.{digits}f}" for value in (self.centre, self.low, self.high))
        return centre, f"({low} to {high})"


def ratio_of(values):
    return Ratio(values["centre"], values["low"], values["high"]) if values else None


@dataclass
class Ending:
    """What one comparison ended with."""

    code: int
    reason: str = ""
    next: str = ""
    verdict: str = ""
    baseline: str = ""
    folder: str = ""
    ratio: Ratio = None
    shapes: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)  # of each shape: "H=8, S=128"

    @property
    def red(self):
        """A wrong result, a failed build or a broken gate; never what other programs on the machine are the cause of."""
        return self.code != OTHER_DENT and not (self.verdict and self.code in (*MEASURED, *UNCLEAR))

    @property
    def busy(self):
        return self.code == 15 or any(shape.get("busy") for shape in self.shapes)

    @property
    def peer(self):
        return NAMES.get(self.baseline, self.baseline)


def sizes_of(manifest):
    shapes = json.loads(manifest)["shapes"]
    return {shape.pop("name"): ", ".join(f"{size}={value:g}" for size, value in shape.items()) for shape in shapes}


def ending_of(document, code):
    """`document`: what `dent run --json` printed, None where that was nothing; `code`: its exit code."""
    if not document or "report" not in document:
        lines = (document or {}).get("error", f"dent ended with exit code {code}").splitlines()
        hint = next((line.strip() for line in lines[1:] if line.strip().startswith("try: ")), "")
        return Ending(code, reason=lines[0].removeprefix("error: "), next=hint.removeprefix("try: "))
    report = document["report"]
    return Ending(
        code,
        reason=document["reason"],
        next=document.get("next", ""),
        verdict=document["verdict"],
        baseline=report["session"]["baseline"],
        folder=document["folder"],
        ratio=ratio_of(report.get("ratio")),
        shapes=report["comparisons"],
        sizes=sizes_of(report["session"]["manifest"]),
    )


def compared(ratio, verdict, peer=""):
    """Of a verdict that stands: "2.3 times as fast as PyTorch (2.1 to 2.5)", `peer` being " as PyTorch"."""
    times, interval = (ratio.inverse() if verdict == "SLOWER" else ratio).words()
    how = {"SAME": "as fast", "SLOWER": f"takes {times} times as long"}.get(verdict, f"{times} times as fast")
    return f"{how}{peer} {interval}"


def sentence(ending, peer=""):
    """The whole comparison in one sentence. `peer` names it where dent did not come so far."""
    peer = ending.peer or peer
    if ending.code == OTHER_DENT:
        return "Nothing was measured, since another dent is at work on this example."
    if ending.red:
        what = {4: "does not build", 5: "gives a wrong result", 9: "was caught cheating", 10: "took too long"}
        if ending.code in what:
            return f"flashmoe's kernel {what[ending.code]} here: {ending.reason}"
        return f"flashmoe could not be compared with {peer} here: {ending.reason}"
    if ending.code in UNCLEAR:
        where = "on this busy machine" if ending.busy else "here"
        # What a busy machine gives is as wide as the disturbance, and no figure to quote.
        bound = "" if ending.busy or not ending.ratio else f": {ending.ratio.low:.2f} to {ending.ratio.high:.2f} times as fast"
        return f"Could not tell {where} whether flashmoe is faster than {peer}{bound}."
    if ending.ratio is None:  # dent stopped at a shape that is far too slow
        return f"flashmoe is much slower than {peer} here: {ending.reason}"
    busy = ", on a busy machine" if ending.busy else ""
    verb = "" if ending.verdict == "SLOWER" else "is "
    return f"flashmoe {verb}{compared(ending.ratio, ending.verdict, f' as {peer} here')}{busy}."


def table(ending):
    """A line for each shape, below the names of both sides."""
    lines = [f"{'time of a call':<24} {'flashmoe':>12} {ending.peer:>14}"]
    for shape in ending.shapes:
        times = [f"{shape[side] / 1e3:.1f} us" if shape.get(side) else "-" for side in ("candidate_ns", "baseline_ns")]
        ratio = ratio_of(shape.get("ratio"))
        words = compared(ratio, shape["verdict"]) if ratio and shape["verdict"] != "AMBIGUOUS" else "could not tell"
        label = f"{shape['shape']}: {ending.sizes[shape['shape']]}"
        lines.append(f"{label:<24} {times[0]:>12} {times[1]:>14}   {words}")
    return "\n".join(lines)
