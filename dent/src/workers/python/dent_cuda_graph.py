# SPDX-License-Identifier: MIT
"""Runs PyTorch calls as one CUDA graph: each call is captured separately, the captures are chained and
launched together.

The CUDA driver chains them: no call begins before all work of the previous one is done, on whatever streams.
"""

import ctypes
import time

_now = time.perf_counter_ns  # stored before any code of the candidate is imported
# PTX for the oldest GPU that current drivers support; the driver compiles it for the installed GPU.
_EMPTY_KERNEL = b".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry dent_empty()\n{\n  ret;\n}\n"
_ROUNDS = 15
_MANY_CALLS = 65
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class NotCaptured(Exception):
    pass


class Driver:
    """The functions of libcuda that are needed, looked up before any code of the candidate is imported."""

    _NAMES = (
        "cuGetErrorString cuModuleLoadData cuModuleGetFunction cuLaunchKernel cuGraphCreate cuGraphAddChildGraphNode "
        "cuGraphGetNodes cuGraphInstantiateWithFlags cuGraphUpload cuGraphLaunch cuGraphExecDestroy cuGraphDestroy "
        "cuStreamBeginCapture_v2 cuStreamEndCapture"
    )

    def __init__(self):
        library = ctypes.CDLL("libcuda.so.1")
        self.functions = {name: getattr(library, name) for name in self._NAMES.split()}
        self.empty = None

    @classmethod
    def load(cls):
        """None if the driver is missing or lacks a function."""
        try:
            return cls()
        except (OSError, AttributeError):
            return None

    def __call__(self, name, *arguments):
        status = self.functions[name](*arguments)
        if status != 0:
            words = ctypes.c_char_p()
            self.functions["cuGetErrorString"](status, ctypes.byref(words))
            raise NotCaptured(f"{name}: {(words.value or b'unknown error').decode()}")

    def launch_empty(self, stream):
        if self.empty is None:
            module, self.empty = ctypes.c_void_p(), ctypes.c_void_p()
            self("cuModuleLoadData", ctypes.byref(module), _EMPTY_KERNEL)
            self("cuModuleGetFunction", ctypes.byref(self.empty), module, b"dent_empty")
        self("cuLaunchKernel", self.empty, 1, 1, 1, 32, 1, 1, 0, stream, None, None)


class Chain:
    """A chain of graphs that run one after the other."""

    def __init__(self, driver, stream):
        self.driver, self.stream = driver, ctypes.c_void_p(stream)
        self.whole, self.exec, self.last = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        driver("cuGraphCreate", ctypes.byref(self.whole), 0)

    def add(self, graph):
        count = ctypes.c_size_t()
        self.driver("cuGraphGetNodes", graph, None, ctypes.byref(count))
        if count.value == 0:
            return  # the call queued nothing, so there is nothing to chain; its outputs will be wrong
        node, before = ctypes.c_void_p(), ctypes.c_void_p(self.last.value)
        depends = 1 if before.value else 0
        self.driver(
            "cuGraphAddChildGraphNode",
            ctypes.byref(node),
            self.whole,
            ctypes.byref(before),
            ctypes.c_size_t(depends),
            graph,
        )
        self.last = node

    def make_ready(self):
        self.driver("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), self.whole, ctypes.c_ulonglong(0))
        self.driver("cuGraphUpload", self.exec, self.stream)

    def launch(self):
        self.driver("cuGraphLaunch", self.exec, self.stream)

    def close(self):
        if self.exec.value:
            self.driver("cuGraphExecDestroy", self.exec)
        self.driver("cuGraphDestroy", self.whole)


def capture_call(torch, pool, call):
    """Captures `call` on the current stream. Returns the graph (which must be kept), its handle, and the
    call's result."""
    try:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        graph.capture_begin(pool=pool, capture_error_mode="relaxed")
    except TypeError as problem:
        raise NotCaptured(f"this PyTorch does not give its graphs away ({problem})") from None
    problem, output = None, None
    try:
        output = call()
    except Exception as error:
        problem = error
    try:
        graph.capture_end()
    except Exception as error:
        problem = problem or error
    if problem is not None:
        raise NotCaptured(f"{type(problem).__name__}: {str(problem).splitlines()[0]}")
    return graph, ctypes.c_void_p(graph.raw_cuda_graph()), output


def measure_floors(driver, stream, event, lead_in):
    """Times in ns that clocks read for an empty kernel: between two events, in a graph, and for events around
    a graph."""
    raw = ctypes.c_void_p(stream.cuda_stream)

    def median(make_ready, launch):
        times = []
        for _ in range(_ROUNDS):
            ready = make_ready()
            lead_in()
            begin, end = event(enable_timing=True), event(enable_timing=True)
            begin.record(stream)
            launch(ready)
            end.record(stream)
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e6)
            if ready is not None:
                ready.close()
        return sorted(times)[_ROUNDS // 2]

    def empty_chain(calls):
        chain = Chain(driver, stream.cuda_stream)
        for _ in range(calls):
            driver("cuStreamBeginCapture_v2", raw, _RELAXED)
            driver.launch_empty(raw)
            graph = ctypes.c_void_p()
            driver("cuStreamEndCapture", raw, ctypes.byref(graph))
            chain.add(graph)
            driver("cuGraphDestroy", graph)
        chain.make_ready()
        return chain

    driver.launch_empty(raw)  # the first launch loads the kernel
    stream.synchronize()
    events = median(lambda: None, lambda _: driver.launch_empty(raw))
    one, many = (median(lambda n=n: empty_chain(n), Chain.launch) for n in (1, _MANY_CALLS))
    call = max(0.0, (many - one) / (_MANY_CALLS - 1))
    return {"events": events, "graph": call, "graph_start": max(0.0, one - call)}


def _poison(tensor, torch):
    """Fills a tensor with NaN; sets all bits of integers."""
    if tensor.is_contiguous():
        tensor.detach().view(-1).view(torch.uint8).fill_(255)
    elif tensor.is_floating_point() and 0 not in tensor.stride():
        tensor.detach().fill_(float("nan"))


class GraphClock:
    """Times a batch's calls as consecutive parts of a graph. They are captured while their inputs hold NaN,
    and their outputs are poisoned afterwards: what a call does immediately, instead of queueing it, works on
    NaN and is lost."""

    def __init__(self, torch, driver):
        self.torch, self.driver, self.floors, self.pool, self.before = torch, driver, None, None, []
        self.event, self.synchronize, self.stream = (
            torch.cuda.Event,
            torch.cuda.synchronize,
            torch.cuda.Stream(),
        )

    def time(self, worker):
        aside = [[tensor.clone() for tensor in call] for call in worker.calls]
        graphs, parts, problem = [], [], None
        try:
            self._measure_floors(worker)
            for call in worker.calls:
                for tensor in call:
                    _poison(tensor, self.torch)
            self.synchronize()
            with self.torch.cuda.stream(self.stream):
                self._capture(worker, graphs, parts)
        except NotCaptured as reason:
            problem = str(reason)
        self.synchronize()
        if problem is None:
            reply = self._replay(worker, aside, parts)
        else:
            _put_back(worker, aside, range(len(worker.calls)))
            reply = {**worker._go_cuda(), "not_captured": problem}
        for chain, _ in parts:
            chain.close()
        # PyTorch's graphs own the captured calls' memory. They are kept until the next batch is captured, so
        # that its calls can reuse it: allocating memory takes longer than most kernels.
        self.before = graphs
        return reply

    def forget(self):
        """Frees the last batch's memory, since the next problem needs other sizes."""
        self.before = []

    def _measure_floors(self, worker):
        if self.driver is None:
            raise NotCaptured("the driver's functions for graphs were not found")
        if self.floors is None:
            with self.torch.cuda.stream(self.stream):
                self.floors = measure_floors(
                    self.driver, self.stream, self.event, lambda: worker.scratch.fill_(1)
                )

    def _capture(self, worker, graphs, parts):
        if not self.before:
            self.pool = self.torch.cuda.graph_pool_handle()
        pool, most = self.pool, _calls_in_a_graph(worker)
        for i in range(len(worker.calls)):
            if i % most == 0:
                parts.append((Chain(self.driver, self.stream.cuda_stream), []))
            graph, handle, returned = capture_call(self.torch, pool, lambda i=i: worker.call(i))
            worker.kept[i] = worker.delivered(i, returned)
            graphs.append(graph)
            parts[-1][0].add(handle)
            parts[-1][1].append(i)
        for chain, _ in parts:
            chain.make_ready()

    def _replay(self, worker, aside, parts):
        times = []
        with self.torch.cuda.stream(self.stream):
            for chain, calls in parts:
                for i in calls:
                    for output in worker._as_list(worker.kept[i]):
                        if isinstance(output, worker._tensor_type):
                            _poison(output, self.torch)
                _put_back(
                    worker, aside, calls
                )  # after poisoning, since an output may be an updated input
                if worker.flush:
                    worker.scratch.fill_(len(times) % 251)
                start, stop = self.event(enable_timing=True), self.event(enable_timing=True)
                start.record(self.stream)
                chain.launch()
                stop.record(self.stream)
                times.append((start, stop, len(calls)))
            times[-1][1].synchronize()
            worker.snapshot = worker.copies_of(worker.kept[-1], worker.calls[-1])
        self.stream.synchronize()
        stopped = _now()
        self.synchronize()
        drain = _now() - stopped
        floor, beside = self.floors["graph"], self.floors["graph_start"]
        # A kernel takes at least as long as an empty one.
        read = [max(start.elapsed_time(stop) * 1e6 - beside, n * floor) for start, stop, n in times]
        slowest = max(ns / n for ns, (_, _, n) in zip(read, times))
        return {
            "ns": sum(read),
            "slowest_ns": slowest,
            "drain_ns": drain,
            "clock": "graph",
            "floor_ns": floor,
        }


def _calls_in_a_graph(worker):
    """How many calls one graph holds. With flushed caches all, since each call has its own memory; otherwise
    as many as fit into the L2 cache."""
    if worker.flush:
        return len(worker.calls)
    taken = 2 * sum(tensor.nbytes for tensor in worker.calls[0])
    return max(1, worker.scratch.nbytes // 4 // max(1, taken))


def _put_back(worker, aside, calls):
    for i in calls:
        for tensor, values in zip(worker.calls[i], aside[i]):
            tensor.copy_(values)
