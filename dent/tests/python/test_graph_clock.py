# SPDX-License-Identifier: MIT
"""dent's clock for Python functions on a GPU, on a stand-in for the GPU: what is captured runs when its graph is launched."""

import importlib.util
import itertools
import pathlib
import sys
import types

import numpy
import pytest

torch = pytest.importorskip("torch")
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src" / "workers" / "python"
KERNEL_NS, EMPTY_NS, GRAPH_START_NS = 1900, 500, 3000


def load(name):
    specification = importlib.util.spec_from_file_location(name, SOURCES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


load("dent_dtypes")
copies = load("dent_copies")
graphs = load("dent_cuda_graph")
load("dent_jit")
workers = load("dent_worker")


class Gpu:
    """Its driver and what PyTorch shows of it. A graph's nodes are functions with the time they take; `now` counts it."""

    def __init__(self):
        self.now, self.nodes, self.numbers, self.capturing = 0, {}, itertools.count(1), None
        self.Stream = lambda: types.SimpleNamespace(cuda_stream=1, synchronize=lambda: None)
        self.synchronize, self.graph_pool_handle = (lambda: None), (lambda: 0)
        self.stream = lambda _: _Nothing()

    def queue(self, work, ns):
        if self.capturing is not None:
            self.nodes[self.capturing].append((work, ns))
        else:
            work()
            self.now += ns

    def new_graph(self):
        graph = next(self.numbers)
        self.nodes[graph] = []
        return graph

    def CUDAGraph(self, keep_graph):
        assert keep_graph
        graph = self.new_graph()

        def begin(pool, capture_error_mode):
            self.capturing = graph

        def end():
            self.capturing = None

        return types.SimpleNamespace(capture_begin=begin, capture_end=end, raw_cuda_graph=lambda: graph)

    def Event(self, enable_timing):
        event = types.SimpleNamespace(at=None, synchronize=lambda: None)
        event.record = lambda stream: setattr(event, "at", self.now)
        event.elapsed_time = lambda other: (other.at - event.at) / 1e6
        return event

    def launch_empty(self, stream):
        self.queue(lambda: None, EMPTY_NS)

    def __call__(self, name, *arguments):
        first = arguments[0] if arguments else None
        if name == "cuGraphCreate":
            first._obj.value = self.new_graph()
        elif name == "cuGraphGetNodes":
            arguments[2]._obj.value = len(self.nodes[first.value])
        elif name == "cuGraphAddChildGraphNode":
            first._obj.value = next(self.numbers)
            self.nodes[arguments[1].value] += self.nodes[arguments[4].value]
        elif name == "cuStreamBeginCapture_v2":
            self.capturing = self.new_graph()
        elif name == "cuStreamEndCapture":
            arguments[1]._obj.value, self.capturing = self.capturing, None
        elif name == "cuGraphInstantiateWithFlags":
            first._obj.value = arguments[1].value
        elif name == "cuGraphLaunch":
            self.now += GRAPH_START_NS
            for work, ns in self.nodes[first.value]:
                work()
                self.now += ns


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


@pytest.fixture
def gpu(monkeypatch):
    gpu = Gpu()
    monkeypatch.setattr(torch, "cuda", gpu)
    return gpu


def worker_with(function, calls=3):
    worker = workers.Worker()
    worker.torch, worker.numpy, worker._tensor_type = torch, numpy, torch.Tensor
    worker.function, worker.passed, worker.flush = function, False, True
    worker.scratch = torch.zeros(16, dtype=torch.uint8)
    worker.calls = [[torch.full((4,), float(i + 1))] for i in range(calls)]
    worker.named, worker.kept = [{}] * calls, [None] * calls
    worker.outputs = [{"name": "y", "dtype": "fp32", "dims": [4], "shape": [4], "updates": -1}]
    worker._mismatches = lambda outputs, call: []
    worker.copies = copies.Copies()
    worker.copies.numpy, worker.copies.torch, worker.copies.tensor_type = numpy, torch, torch.Tensor
    return worker


def test_calls_are_timed_without_the_floor_and_see_their_own_inputs(gpu):
    def twice(x):
        y = torch.empty_like(x)
        gpu.queue(lambda: y.copy_(2 * x), KERNEL_NS)
        return y

    worker = worker_with(twice)
    reply = graphs.GraphClock(torch, gpu).time(worker)
    assert reply["clock"] == "graph"
    assert reply["ns"] == pytest.approx(3 * KERNEL_NS)
    assert reply["floor_ns"] == pytest.approx(EMPTY_NS)
    for i, output in enumerate(worker.kept):
        assert torch.equal(output, torch.full((4,), 2.0 * (i + 1)))
    assert worker.snapshot == [worker.kept[-1].numpy().tobytes()]


def test_what_is_done_while_captured_works_on_nothing_and_is_lost(gpu):
    def at_once(x):
        return 2 * x

    worker = worker_with(at_once)
    reply = graphs.GraphClock(torch, gpu).time(worker)
    assert reply["ns"] == pytest.approx(3 * EMPTY_NS)
    assert all(torch.isnan(output).all() for output in worker.kept)


def test_windows_are_cut_from_what_a_gpu_keeps():
    worker = worker_with(None)
    values = numpy.arange(64, dtype="float32")
    worker.pool, worker.device = values.tobytes(), "cpu"
    place = {"dtype": "fp32", "stored": "fp32", "sizes": [2, 3], "at": 16, "part": 60}
    worker.parts = {}
    window = worker._cut(place, 5)
    expected = torch.arange(9.0, 15).view(2, 3)
    assert torch.equal(window, expected) and torch.equal(worker._argument(worker._window(place, 5), place), expected)
    window.fill_(0)  # a call's own memory: the next one gets what it should
    assert torch.equal(worker._cut(place, 5), expected) and worker.parts[16].numel() == 60
    halves = dict(place, dtype="bf16", stored="bf16", sizes=[4], at=0)
    worker.parts = {}
    assert worker._cut(halves, 2).view(torch.int16).tolist() == values.view("int16")[2:6].tolist()
    worker._cut(dict(place, part=0), 0)  # what may change is not kept
    assert list(worker.parts) == [0]


def test_a_call_that_waits_for_the_gpu_does_not_lengthen_its_own_lead_in(monkeypatch):
    clock, slept = [0], []

    def waits(x):
        clock[0] += slept[-1] / workers._CYCLES_PER_NS + 500_000
        return x

    worker = worker_with(waits)
    worker.profiled, worker.graphs, worker.host_ns, worker.sleep = False, None, None, slept.append
    worker.synchronize, worker.copies_of = (lambda: None), (lambda output, call: None)
    worker.event = lambda enable_timing: types.SimpleNamespace(
        record=lambda: None, synchronize=lambda: None, elapsed_time=lambda other: 1.0
    )
    monkeypatch.setattr(workers, "_now", lambda: clock[0])
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: worker)
    for _ in range(8):
        worker._go_cuda()
    first = (workers._LEAD_IN_CYCLES / workers._CYCLES_PER_NS + 500_000) * workers._CYCLES_PER_NS
    assert slept[-1] == pytest.approx(2 * first, rel=0.01)
