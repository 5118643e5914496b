# SPDX-License-Identifier: MIT
"""The worker for kernels that are Python functions: loads `module:function` and runs it on request.

Started by dent with four descriptors: requests (3), replies (4), the pool that inputs are cut from (5, read
only) and the results (6). dent/docs/dent.md describes the protocol. The function gets the inputs in the manifest's
order, then those of the problem's numbers that it has parameters for, and returns its outputs. A function
whose parameters include all outputs writes to them instead; its return value is ignored. It gets PyTorch tensors
if PyTorch can be imported, otherwise NumPy arrays; a module that sets `DENT_FRAMEWORK = "numpy"` always gets
arrays.
"""

import ctypes
import importlib
import inspect
import json
import mmap
import os
import sys
import time
import warnings

import dent_cuda_graph
import dent_jit
from dent_copies import Cheated, Copies
from dent_dtypes import MANTISSA_BITS, NUMPY, POISON, TORCH, TORCH_ONLY, byte_values
from dent_waiting import Running

# Stored before any code of the candidate is imported, which might replace them.
_now = time.perf_counter_ns
_write, _read = os.write, os.read
_REQUESTS, _REPLIES, _POOL, _RESULTS = 3, 4, 5, 6
_PROTOCOL = 3
_PR_SET_DUMPABLE = 4
_LEAD_IN_CYCLES = 250_000  # 0.14 ms: several times a short call from Python
_MOST_LEAD_IN_CYCLES = 20_000_000
_CYCLES_PER_NS = 2
# Exceptions that point to a bug in this file. Others may come from the disk, memory, or a GPU on which the
# kernel failed earlier.
_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)


class Worker:
    theirs = True  # the kernel's code may be running, so an exception is the kernel's

    def load(self, request):
        if request["protocol"] != _PROTOCOL:
            raise RuntimeError("this worker speaks another version of the protocol; install it with its dent")
        self.pool = mmap.mmap(_POOL, request["pool_bytes"], prot=mmap.PROT_READ)
        self.results = mmap.mmap(_RESULTS, request["result_bytes"])
        self.copies = Copies()
        self.device = request.get("device", "cpu")
        self.profiled = request.get("profile", False)  # a profiler is attached: mark the launches
        if not self.profiled:
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)  # so that others can't use /proc/<pid>/mem
        module_name, function_name = request["function"].split(":")
        import numpy  # before the candidate's folder is in sys.path, which may contain a numpy.py

        sys.path.insert(0, os.getcwd())
        self.numpy = self.copies.numpy = numpy
        self.driver = dent_cuda_graph.Driver.load() if self.device == "cuda" else None
        self.graphs = None
        if self.device == "cpu":
            dent_jit.interpret()
        module = importlib.import_module(module_name)
        self.function = getattr(module, function_name)
        self.torch = None
        if getattr(module, "DENT_FRAMEWORK", "torch") == "torch":
            try:
                import torch

                self.torch = self.copies.torch = torch
                self._tensor_type = self.copies.tensor_type = torch.Tensor
            except ImportError:
                if self.device == "cuda":
                    raise
        if self.device == "cuda":
            if not self.torch.cuda.is_available():
                raise RuntimeError("PyTorch sees no GPU")
            self.synchronize = self.torch.cuda.synchronize
            self.event = self.torch.cuda.Event
            self.sleep = getattr(self.torch.cuda, "_sleep", None)
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # see _window
        self.keywords, self.required = _parameters(self.function)
        self.makes_ready = getattr(module, "setup", None) if "setup" in self.required else None
        self.set_up, self.setup_ns = None, 0
        framework = f"torch {self.torch.__version__}" if self.torch else f"numpy {numpy.__version__}"
        version = sys.version.split()[0]
        versions = {"framework": framework, "python": version}
        if self.device == "cuda":
            versions["gpu"] = self.torch.cuda.get_device_name()
        if "triton" in sys.modules and dent_jit.interpreted():
            versions["triton"] = f"{sys.modules['triton'].__version__}, interpreted"
        self.tuner = dent_jit.Tuner()
        about = {"kind": "python", "device": self.device, "versions": versions, "code": _executed_files()}
        return {**about, "compilers": dent_jit.compilers(), "sources": _sources(), "sets_up": self.makes_ready is not None}

    def jit(self, request):
        """Makes autotuned kernels use these configurations instead of trying all."""
        self.theirs = False
        self.tuner.pin(request.get("tuned", []))
        return {"tuned": self.tuner.chosen()}

    def problem(self, request):
        self.theirs = False
        self.inputs, self.flush = request["inputs"], request["flush"]
        self.outputs = [place for place in request["outputs"] if not place["scratch"]]  # for native kernels
        taken = self.keywords[len(self.inputs) :]
        self.sizes = {n: _whole(v) for n, v in request["numbers"].items()}
        self.numbers = {n: v for n, v in self.sizes.items() if n in taken}
        own = [place["name"] for place in self.outputs if place["updates"] < 0]
        self.passed = bool(own) and all(name in taken and name in self.required for name in own)
        self.calls, self.named, self.kept = [], [], []
        self.constants = [i for i, place in enumerate(self.inputs) if place["constant"]]
        self.parts, self.blanks = {}, {}
        self.host_ns = None  # least host time of a call
        if self.graphs:
            self.graphs.forget()
        self.set_up = None
        self.scratch = None
        return {}

    def setup(self, request):
        """Calls the module's setup() with copies of the constant inputs if they have changed. They begin at
        the start of their part of the pool, so no offsets are needed."""
        self.theirs = False
        values = [self._window(self.inputs[i], 0) for i in self.constants]
        bits = [value.tobytes() for value in values]
        if self.set_up is None or self.set_up[0] != bits:
            given = [self._argument(value, self.inputs[i]) for i, value in zip(self.constants, values)]
            names = _parameters(self.makes_ready)[0][len(given) :]
            numbers = {name: value for name, value in self.sizes.items() if name in names}
            self.theirs = True
            if self.device == "cuda":
                self.synchronize()
            start = _now()
            made = self.makes_ready(*given, **numbers)
            if self.device == "cuda":
                self.synchronize()
            self.setup_ns = _now() - start
            self.set_up = bits, made
        return {"ns": self.setup_ns}

    def _in_pool(self, place, offset, count):
        stored = self.numpy.dtype(NUMPY[place["stored"]])
        return self.numpy.frombuffer(self.pool, stored, count, place["at"] + offset * stored.itemsize)

    def _window(self, place, offset):
        """The values of one input: a copy, since the pool is read-only and stays unchanged. For a GPU the
        transfer makes the copy."""
        values = self._in_pool(place, offset, _elements(place)).reshape(place["sizes"])
        if self.device != "cuda":
            values = values.copy()
        if place["stored"] != place["dtype"]:
            if place["stored"] == "bf16":
                values = (values.astype("uint32") << 16).view("float32")
            elif place["stored"] in MANTISSA_BITS:
                values = self.numpy.array(byte_values(place["stored"]))[values]
            values = values.astype(NUMPY[place["dtype"]])
        return values

    def _argument(self, values, place):
        if self.torch is None:
            return values
        tensor = self.torch.from_numpy(values.view("int16") if place["dtype"] == "bf16" else values)
        if place["dtype"] in TORCH_ONLY:
            tensor = tensor.view(getattr(self.torch, TORCH_ONLY[place["dtype"]]))
        return tensor.to(self.device) if self.device == "cuda" else tensor

    def _cut(self, place, offset):
        """The values of one input as an argument. A GPU keeps the pool's parts that stay unchanged: copying
        from the host for every call would take a hundred times as long as most kernels."""
        if self.torch is None or not place.get("part") or place["stored"] != place["dtype"]:
            return self._argument(self._window(place, offset), place)
        part = self.parts.get(place["at"])
        if part is None:
            part = self.parts[place["at"]] = self._argument(self._in_pool(place, 0, place["part"]), place)
        return part[offset : offset + _elements(place)].clone().view(place["sizes"])

    def prepare(self, request):
        self.offsets = request["offsets"]
        self.calls = [[self._cut(place, at) for place, at in zip(self.inputs, call)] for call in self.offsets]
        named = self.numbers if self.set_up is None else {**self.numbers, "setup": self.set_up[1]}
        self.named = [{**named, **(self._poisoned() if self.passed else {})} for _ in self.calls]
        self.kept = [None] * len(self.calls)
        if self.device == "cuda" and self.scratch is None:
            bytes_of_l2 = getattr(self.torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
            self.scratch = self.torch.empty(2 * bytes_of_l2, dtype=self.torch.uint8, device="cuda")
        elif self.flush and self.device == "cpu":
            self._flush_cpu()
        return {}

    def _poisoned(self):
        """Poisoned outputs for a function that writes to them."""
        outputs = {}
        for place in self.outputs:
            name = place["name"]
            if place["updates"] >= 0:
                continue
            if name not in self.blanks:
                width = self.numpy.dtype(NUMPY[place["dtype"]]).itemsize
                bits = self.numpy.full(place["sizes"], POISON[place["dtype"]], f"uint{8 * width}")
                self.blanks[name] = self._argument(bits.view(NUMPY[place["dtype"]]), place)
            outputs[name] = self.blanks[name].copy() if self.torch is None else self.blanks[name].clone()
        return outputs

    def call(self, i):
        """Calls the function on the inputs of call i."""
        return self.function(*self.calls[i], **self.named[i])

    def delivered(self, i, returned):
        """The outputs of call i."""
        if not self.passed:
            return returned
        named = self.named[i]
        return [named[p["name"]] if p["updates"] < 0 else self.calls[i][p["updates"]] for p in self.outputs]

    def _flush_cpu(self):
        """Evicts inputs from the cache by writing more than it holds, since Python can't flush cache
        lines."""
        if self.scratch is None:
            self.scratch = self.numpy.zeros(_cache_bytes() // 8 * 2)
        self.scratch += 1

    def go(self, request):
        lot, calls = int(request["lot"]), len(self.calls)
        self.watched = calls - 1 if lot == 0 or self.device == "cuda" else (lot >> 8) % calls
        if self.device != "cuda":
            running = Running()
            timed = self._go_cpu()
            waited_ns = running.waited_since()
            return timed if waited_ns is None else {**timed, "waited_ns": waited_ns}
        self.theirs = True  # from here on the GPU may report errors of the kernel at any statement
        if not request.get("in_graph"):
            return self._go_cuda()
        if self.graphs is None:
            self.graphs = dent_cuda_graph.GraphClock(self.torch, self.driver)
        return self.graphs.time(self)

    def _go_cpu(self):
        total = slowest = 0
        function = self.function
        for i, (call, named) in enumerate(zip(self.calls, self.named)):
            self.theirs = True
            start = _now()
            output = function(*call, **named)
            ns = _now() - start
            self.theirs = False
            self.kept[i] = output = self.delivered(i, output)
            total += ns
            slowest = max(slowest, ns)
            if i == self.watched:
                self.snapshot = self.copies_of(output, call)
        return {"ns": total, "slowest_ns": slowest, "drain_ns": 0}

    def _go_cuda(self):
        events = [(self.event(enable_timing=True), self.event(enable_timing=True)) for _ in self.calls]
        self.synchronize()
        host = 0
        for i, (start, stop) in enumerate(events):
            if self.flush:
                self.scratch.fill_(i % 251)
            self._lead_in()
            start.record()
            if self.profiled:
                self.torch.cuda.cudart().cudaProfilerStart()
            called = _now()
            returned = self.call(i)
            host += _now() - called
            self.kept[i] = self.delivered(i, returned)
            if self.profiled:
                self.torch.cuda.cudart().cudaProfilerStop()
            stop.record()
        events[-1][1].synchronize()
        self.snapshot = self.copies_of(self.kept[-1], self.calls[-1])
        self.torch.cuda.current_stream().synchronize()
        stopped = _now()
        self.synchronize()
        drain = _now() - stopped
        # The minimum, since a call that waits for the GPU takes longer after a longer lead-in, which would
        # then keep growing.
        self.host_ns = min(host // len(events), self.host_ns or host)
        times = [start.elapsed_time(stop) * 1e6 for start, stop in events]
        reply = {
            "ns": sum(times),
            "slowest_ns": max(times),
            "drain_ns": drain,
            "clock": "events",
            "host_ns": host,
        }
        if self.graphs and self.graphs.floors:
            reply["floor_ns"] = self.graphs.floors["events"]
        return reply

    def _lead_in(self):
        """Keeps the GPU busy while Python queues the call, so that waiting for Python is not timed."""
        if self.sleep:
            twice_the_call = 2 * _CYCLES_PER_NS * (self.host_ns or 0)
            self.sleep(min(max(_LEAD_IN_CYCLES, twice_the_call), _MOST_LEAD_IN_CYCLES))
        elif self.flush:
            for value in range(4):
                self.scratch.fill_(value)

    def _as_list(self, output):
        return list(output) if isinstance(output, (tuple, list)) else [output]

    def _mismatches(self, outputs, call):
        """Why outputs are not exactly what was requested: lazy proxies, other shapes and types are refused. A
        strided view, such as a transposed product, is allowed, but not a view of an input, since then nothing
        was computed."""
        if len(outputs) != len(self.outputs):
            return [f"the function returned {len(outputs)} outputs; {len(self.outputs)} are wanted"]
        found = []
        for value, place in zip(outputs, self.outputs):
            name = place["name"]
            if self.torch is not None and isinstance(value, self._tensor_type):
                if type(value) is not self._tensor_type:
                    found.append(f"{name} is a {type(value).__name__}; it must be exactly a torch.Tensor")
                    continue
                dtype, sizes = str(value.dtype).split(".")[-1], list(value.shape)
                dense, wanted = value.is_contiguous(), TORCH[place["dtype"]]
            elif type(value) is self.numpy.ndarray:
                dtype, sizes = str(value.dtype), list(value.shape)
                dense, wanted = value.flags.c_contiguous, NUMPY[place["dtype"]]
            else:
                found.append(f"{name} is a {type(value).__name__}; it must be a tensor or an array")
                continue
            if sizes != place["sizes"]:
                found.append(f"{name} has shape {sizes}; it must be {place['sizes']}")
            elif dtype != wanted:
                found.append(f"{name} has dtype {dtype}; it must be {wanted}")
            elif not dense and (owner := self._input_under(value, call)):
                copy = "copy" if type(value) is self.numpy.ndarray else "contiguous"
                found.append(f"{name} is a view of the input {owner}, so nothing was computed; return {name}.{copy}()")
        return found

    def _input_under(self, value, call):
        """The name of the input that shares memory with this output; None if there is none."""
        for tensor, place in zip(call, self.inputs):
            if self.torch is None:
                shared = self.numpy.may_share_memory(value, tensor)
            else:
                shared = isinstance(value, self._tensor_type) and _storage(value) == _storage(tensor)
            if shared:
                return place["name"]
        return None

    def copies_of(self, output, call):
        """Copies a call's outputs on the current stream; None if they are not what was requested."""
        outputs = self._as_list(output)
        if self._mismatches(outputs, call):
            return None
        return [self.copies.take(value) for value in outputs]

    def keep(self, request):
        call = request["call"]
        mismatches = self._mismatches(self._as_list(self.kept[call]), self.calls[call])
        reply = {"late": False, "inputs": [], "overruns": [], "mismatches": mismatches}
        if mismatches:
            return reply
        outputs = self._as_list(self.kept[call])
        if call == self.watched:
            reply["late"] = self.snapshot is None or not all(map(self.copies.is_copy, outputs, self.snapshot))
        for place, value in zip(self.outputs, outputs):
            data = self.copies.bytes_of(value)
            self.results[place["at"] : place["at"] + len(data)] = data
        updated = {place["updates"] for place in self.outputs}
        for i, (tensor, place, offset) in enumerate(zip(self.calls[call], self.inputs, self.offsets[call])):
            if i in updated:
                continue
            expected = self._argument(self._window(place, offset), place)
            if not self.copies.same_bits(tensor, expected):
                reply["inputs"].append(place["name"])
        return reply


def _parameters(function):
    """Names of parameters that accept keywords, and of those without a default; empty if the function has no
    signature."""
    try:
        named = inspect.signature(function).parameters
    except ValueError:
        return [], []
    given = [n for n, p in named.items() if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    return given, [n for n in given if named[n].default is inspect.Parameter.empty]


def _sources():
    """Files of the modules in the kernel's folder."""
    here = os.getcwd() + os.sep
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return sorted(file for file in files if file and file.startswith(here) and "site-packages" not in file)


def _elements(place):
    count = 1
    for size in place["sizes"]:
        count *= size
    return count


def _storage(tensor):
    return tensor.untyped_storage().data_ptr()


def _whole(value):
    return int(value) if value == int(value) else value


def _cache_bytes():
    """Size of this machine's largest cache; 32 MB if it can't be read."""
    largest = 0
    for index in range(8):
        try:
            with open(f"/sys/devices/system/cpu/cpu0/cache/index{index}/size") as file:
                text = file.read().strip()
            largest = max(largest, int(text[:-1]) << {"K": 10, "M": 20}[text[-1]])
        except (OSError, KeyError, ValueError):
            continue
    return min(largest or 32 << 20, 64 << 20)


def _executed_files():
    """Files mapped as executable. Columns of /proc/self/maps: address, permissions, offset, device, inode,
    path."""
    with open("/proc/self/maps") as maps:
        rows = [line.split(maxsplit=5) for line in maps]
    return sorted({row[5].strip() for row in rows if len(row) == 6 and "x" in row[1] and row[5][0] == "/"})


def _lines():
    unread = b""
    while True:
        line, newline, rest = unread.partition(b"\n")
        if newline:
            unread = rest
            yield line
            continue
        chunk = _read(_REQUESTS, 1 << 16)
        if not chunk:
            return
        unread += chunk


def main():
    worker = Worker()
    verbs = {verb: getattr(worker, verb) for verb in ("load", "jit", "problem", "setup", "prepare", "go", "keep")}
    for line in _lines():
        request = json.loads(line)
        try:
            reply = verbs[request["do"]](request)
        except Exception as problem:  # any exception of the candidate becomes the reply
            import traceback

            traceback.print_exc()
            reply = {"error": f"{type(problem).__name__}: {problem}"}
            if isinstance(problem, Cheated):
                reply = {"error": str(problem), "code": "cheated"}
            elif not worker.theirs and isinstance(problem, _MISTAKES):
                reply["internal"] = True
        reply["id"] = request["id"]
        data = (json.dumps(reply) + "\n").encode()
        while data:
            data = data[_write(_REPLIES, data) :]


main()
