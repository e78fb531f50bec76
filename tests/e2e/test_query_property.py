# SPDX-License-Identifier: MIT
"""`hipboard query` answers as the installed plugin does, for random log directories."""
import ctypes
import json
import os
import random
import subprocess
import sys

import pytest

import plugin_in_process
import random_traces
from support import BUILD, ROOT

SEEDS = int(os.environ.get("HB_PROPERTY_SEEDS", "60"))
FIRST = int(os.environ.get("HB_PROPERTY_FIRST", "1"))


def query(logdir, url):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "query", logdir, url],
                          capture_output=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return (plugin_in_process.parsed(done.stdout), "") if done.returncode == 0 else (None, done.stderr.decode())


class Logdir:
    """The same without a process for each question."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(BUILD / "src/analysis/libhipboard-analysis.so.0"))
        self.library.hb_last_error.restype = ctypes.c_char_p
        self.library.hb_free.argtypes = [ctypes.c_void_p]
        self.logdir = ctypes.c_void_p()
        assert self.library.hb_logdir_open(str(path).encode(), None, ctypes.byref(self.logdir)) == 0

    def query(self, url):
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        if self.library.hb_logdir_query(self.logdir, url.encode(), ctypes.byref(text), ctypes.byref(size)):
            return None, self.library.hb_last_error().decode(errors="replace")
        answer = ctypes.string_at(text, size.value)
        self.library.hb_free(text)
        return plugin_in_process.parsed(answer), ""

    def close(self):
        self.library.hb_logdir_close(self.logdir)


def differences(logdir):
    plugin, ours = plugin_in_process.Plugin(logdir), Logdir(logdir)
    for i, url in enumerate(plugin_in_process.questions(plugin)):
        status, expected = plugin.get(url)
        answer, error = ours.query(url) if i % 16 else query(logdir, url)
        if status != 200 and not error:
            yield f"{url}: the plugin answers {status}, hipboard {json.dumps(answer)[:300]}"
        elif status == 200 and error:
            yield f"{url}: hipboard fails: {error}"
        elif status == 200 and not plugin_in_process.same(expected, answer):
            yield f"{url}:\n  {json.dumps(expected)[:3000]}\n  {json.dumps(answer)[:3000]}"
    ours.close()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_random_logdir(seed, tmp_path):
    random_traces.make_logdir(random.Random(seed), tmp_path)
    found = list(differences(tmp_path))
    assert not found, "\n".join(found[:5])


ROUTES = {"operation", "diff", "diffnode", "module", "kernel", "memory_events"}


@pytest.mark.parametrize("seed", [2, 3, 9, 27])
def test_sums_are_ints_and_floats_as_in_the_plugin(seed, tmp_path):
    """Where a file mixes both; what is equal is so to the letter."""
    random_traces.make_logdir(random.Random(seed), tmp_path)
    plugin, compared = plugin_in_process.Plugin(tmp_path), 0
    for url in plugin_in_process.questions(plugin):
        status, expected = plugin.get(url)
        if status != 200 or url.partition("?")[0] not in ROUTES:
            continue
        answer, _ = query(tmp_path, url)
        if answer == expected:
            assert json.dumps(answer, sort_keys=True) == json.dumps(expected, sort_keys=True), url
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("seed", [5, 13, 42])
def test_devices_stand_in_the_plugins_order(seed, tmp_path):
    """As its walk through trees and records comes to them."""
    random_traces.make_logdir(random.Random(seed), tmp_path)
    plugin, compared = plugin_in_process.Plugin(tmp_path), 0
    for url in plugin_in_process.questions(plugin):
        status, expected = plugin.get(url)
        if status == 200 and url.partition("?")[0] in ("memory", "memory_curve", "memory_events", "kernel/tc_pie"):
            assert json.dumps(query(tmp_path, url)[0]) == json.dumps(expected), url
            compared += 1
    assert compared


# ---- what the plugin leaves to chance

ASK = """import json, sys
sys.path.insert(0, sys.argv[1])
import plugin_in_process
from torch_tb_profiler import io
listdir = io.listdir
io.listdir = lambda path: sorted(listdir(path), reverse=sys.argv[3] == "reversed")
plugin = plugin_in_process.Plugin(sys.argv[2])
print(json.dumps([plugin.get(url)[1] for url in sys.argv[4:]]))"""


def plugin_says(logdir, *urls, listed="sorted", **environment):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", ASK, ROOT / "tests/e2e", logdir, listed, *urls],
                          capture_output=True, text=True, timeout=600, env=dict(os.environ, **environment), check=True)
    return json.loads(done.stdout)


def by_chance(path):
    """Kernels of equal sums, and root modules of one name."""
    chance = random.Random(3)
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0,
               "dur": 1e6, "args": {}}]
    for i in range(1, 601):
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                    "ts": 100 * i, "dur": 5, "args": {"correlation": i, "External id": i}},
                   {"ph": "X", "cat": "kernel", "name": f"kernel{i}", "pid": 0, "tid": 7, "ts": 100 * i + 50,
                    "dur": chance.randrange(5) + 1.0, "args": {"correlation": i, "External id": i, "device": 0}}]
    for i in range(6):
        ts = 100000 + 1000 * i
        events += [{"ph": "X", "cat": "python_function", "name": "nn.Module: Same_0", "pid": 1, "tid": 1, "ts": ts,
                    "dur": 500, "args": {"Python id": 2 * i + 1, "Python parent id": None, "Python module id": 0}},
                   {"ph": "X", "cat": "python_function", "name": f"nn.Module: Child{i}_0", "pid": 1, "tid": 1,
                    "ts": ts + 10, "dur": 100 + i,
                    "args": {"Python id": 2 * i + 2, "Python parent id": 2 * i + 1, "Python module id": i}}]
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))


def test_where_the_plugin_leaves_the_order_to_chance_all_else_is_equal(tmp_path):
    """Modules of one name by the hashes of Python's run, kernels of one sum by the processor's sort in numpy,
    steps by the worker that is read first."""
    (tmp_path / "r").mkdir()
    by_chance(tmp_path / "r" / "w.1.pt.trace.json")
    module, kernel = (f"{route}?run=r&worker=w&span=1" for route in ("module", "kernel/table"))
    says = [plugin_says(tmp_path, module, kernel, PYTHONHASHSEED=str(seed),
                        **({"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"} if seed == 3 else {}))
            for seed in (1, 2, 3)]
    names = [[[child["name"] for child in root["children"]] for root in modules["data"]] for modules, _ in says]
    assert not names[0] == names[1] == names[2], "else ours could be the same"
    modules, kernels = query(tmp_path, module)[0], query(tmp_path, kernel)[0]
    numbers = lambda root: {key: value for key, value in root.items() if key not in ("id", "children")}
    for theirs, table in says:
        assert sorted(map(str, map(numbers, theirs["data"]))) == sorted(map(str, map(numbers, modules["data"])))
        rows, ours = table["data"]["rows"], kernels["data"]["rows"]
        assert sorted(rows) == sorted(ours) and [row[3] for row in rows] == [row[3] for row in ours]


def test_steps_of_ranks_are_in_the_order_of_the_workers_names(tmp_path):
    (tmp_path / "r").mkdir()
    for rank in range(2):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{rank + 1}", "pid": 1, "tid": 1,
                   "ts": 1000, "dur": 900, "args": {}},
                  {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1, "ts": 1100,
                   "dur": 300, "args": {"External id": 1, "Input Dims": [[4]], "Input type": ["float"]}}]
        (tmp_path / "r" / f"rank{rank}.1.pt.trace.json").write_text(json.dumps({
            "distributedInfo": {"backend": "gloo", "rank": rank, "world_size": 2}, "traceEvents": events}))
    url = "distributed/waittime?run=r&span=1"
    [in_order], [turned] = (plugin_says(tmp_path, url, listed=listed) for listed in ("sorted", "reversed"))
    assert in_order == turned and list(in_order["data"]) != list(turned["data"])
    assert json.dumps(query(tmp_path, url)[0]) == json.dumps(in_order)


def complete(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def check_urls(tmp_path, urls):
    """Ours of these questions beside the plugin's; how many of them it answers."""
    plugin, ours, answered = plugin_in_process.Plugin(tmp_path), Logdir(tmp_path), 0
    for url in urls:
        status, expected = plugin.get(url)
        answer, error = ours.query(url)
        assert (status == 200) == (not error), (url, status, error)
        assert error or plugin_in_process.same(expected, answer), (url, expected, answer)
        answered += status == 200
    ours.close()
    return answered


NUMBERS = ["3", "3#4", " 3 ", "+3", "-3", "0", "-0", "00", "007", "1_0", "_1", "1_", "1__0", "", " ", "x", "3x", "-",
           "+-3", "3#", "#3", "3 4", "\t5\n", "-007", "9" * 60, "1_2_3", "4 #5#6", "-_3"]


def test_steps_are_named_by_what_python_takes_for_a_number(tmp_path):
    for i, number in enumerate(NUMBERS):
        (tmp_path / f"r{i}").mkdir()
        (tmp_path / f"r{i}" / "w.1.pt.trace.json").write_text(json.dumps({"traceEvents": [
            complete("cpu_op", f"ProfilerStep#{number}", 0, 50), complete("cpu_op", "aten::mm", 10, 20),
            complete("cpu_op", "ProfilerStep#8", 50, 40), complete("cpu_op", "aten::mm", 60, 10)]}))
    answered = check_urls(tmp_path, [f"overview?run=r{i}&worker=w&span=1" for i in range(len(NUMBERS))])
    assert 10 < answered < len(NUMBERS)


MEMORIES = [1 << 30, 1.5, -1, True, None, "17179869184", " 7 ", "1e3", "1_0", "1__0", "_1", "1_.5", "0x10", "nan",
            "inf", "nan(1)", "x", "", [1], {}]


def test_memory_of_the_gpus_of_several_workers(tmp_path):
    """As Python computes with what stands there; also without any, and of a GPU that is used by nobody."""
    devices = [[{"id": 0, "name": "G", "computeMajor": 9, "computeMinor": 0, "totalGlobalMem": memory}]
               for memory in MEMORIES] + [[], [{"id": 0}], [{"totalGlobalMem": 1}, 7], [7], None]
    for i, properties in enumerate(devices):
        (tmp_path / f"r{i}").mkdir()
        for rank in range(2):
            (tmp_path / f"r{i}" / f"host_{rank}.1.pt.trace.json").write_text(json.dumps({
                "deviceProperties": properties, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                "traceEvents": [
                    complete("cpu_op", "ProfilerStep#1", 0, 90),
                    complete("cpu_op", "nccl:all_reduce", 10, 20,
                             **{"External id": 1, "Input Dims": [[4]], "Input type": ["float"]}),
                    complete("Runtime", "launch", 12, 3, **{"External id": 1, "correlation": 5}),
                    complete("kernel", "ncclKernel", 20, 30, 7, 0, device=0, correlation=5, **{"External id": 1})]}))
    urls = [f"{route}?run=r{i}&worker=All&span=1" for i in range(len(devices))
            for route in ("distributed/gpuinfo", "distributed/overlap", "distributed/waittime", "distributed/commops")]
    urls += [f"overview?run=r{i}&worker=host_1&span=1" for i in range(len(devices))]
    assert check_urls(tmp_path, urls) > len(devices)


def test_modules_from_the_first_event_on(tmp_path):
    """Of names that begin alike, in whatever order they come."""
    def module(name, ident, parent, number, ts, dur):
        return complete("python_function", f"nn.Module: {name}", ts, dur, **{
            "Python id": ident, "Python parent id": parent, "Python module id": number})

    orders = [["Net_0", "Net", "Net_0_1"], ["Net_0_1", "Net_0", "Net"], ["Net", "Net_0_1", "Net_0"]]
    for i, names in enumerate(orders):
        events = [module(names[0], 1, None, 0, 0, 100), complete("cpu_op", "ProfilerStep#1", 100, 900),
                  complete("cpu_op", "aten::mm", 10, 50), complete("cpu_op", "aten::mm", 210, 20)]
        events += [module(name, 2 + k, None, k, 200 + 100 * k, 90) for k, name in enumerate(names)]
        events += [module(f"{name}_in", 9 + k, 2 + k, 5 + k, 205 + 100 * k, 40) for k, name in enumerate(names)]
        (tmp_path / f"r{i}").mkdir()
        (tmp_path / f"r{i}" / "w.1.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    assert check_urls(tmp_path, [f"{route}?run=r{i}&worker=w&span=1" for i in range(len(orders))
                                 for route in ("module", "tree", "overview")]) == 9
    plugin = plugin_in_process.Plugin(tmp_path)
    for url in [f"module?run=r{i}&worker=w&span=1" for i in range(len(orders))]:
        names, own = ([node["name"] for node in answer["data"]] for answer in (plugin.get(url)[1], query(tmp_path, url)[0]))
        assert names == own and len(names) == 4


@pytest.mark.parametrize("lost", [0, 1])
def test_what_is_not_there_is_told(lost, tmp_path):
    """A file that the plugin loses, the first one or the last; and questions without all that they need."""
    (tmp_path / "r").mkdir()
    for i in range(2):
        step = complete("cpu_op", "ProfilerStep#1", 0, "x" if i == lost else 50)
        (tmp_path / "r" / f"w_{i}.1.pt.trace.json").write_text(json.dumps({"traceEvents": [step]}))
    for route in ("overview", "trace"):
        for question, said in [(f"run=r&worker=w_{lost}&span=1", "the plugin loses this file: event 0: dur is not a number"),
                               (f"run=r&worker=w_{1 - lost}", f"no worker 'w_{1 - lost}' with span '' in run 'r'"),
                               (f"run=r&worker=w_{1 - lost}&span=2", f"no worker 'w_{1 - lost}' with span '2' in run 'r'"),
                               ("run=r&worker=w&span=1", "no worker 'w' with span '1' in run 'r'"),
                               ("run=q&worker=w_0&span=1", "no run 'q'")]:
            answer, error = query(tmp_path, f"{route}?{question}")
            assert answer is None and error == f"hipboard query: {said}\n"
        assert query(tmp_path, f"{route}?run=r&worker=w_{1 - lost}&span=1")[0]


@pytest.mark.parametrize("records", [5120, 5121, 7003])
def test_a_curve_of_more_points_than_are_shown(records, tmp_path):
    """Of each record but the first two: 10,239 points are all there, 10,241 are 10,240 of them."""
    chance, total, events = random.Random(records), 10**6, [complete("cpu_op", "aten::mm", 0, 10**6, **{"External id": 1})]
    for i in range(records):
        size = chance.choice([512, -256, 1024, chance.randrange(5000)])
        total += size
        events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 + 3 * i + chance.randrange(3), "args": {
            "Addr": 16 + i, "Bytes": size, "Device Type": 1, "Device Id": 0, "Total Allocated": total,
            "Total Reserved": 2 * total}})
    (tmp_path / "run").mkdir()
    (tmp_path / "run/w.1.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    url = "memory_curve?run=run&worker=w&span=1"
    assert check_urls(tmp_path, [url]) == 1
    [rows] = Logdir(tmp_path).query(url)[0]["rows"].values()
    assert len(rows) == min(2 * records - 1, 10240)


def test_memory_outside_all_calls_is_of_a_thread_with_a_number(tmp_path):
    """Before, between and behind the calls; a text in place of a number loses the file."""
    tids, answered = [1, 7, 1.5, True, None, "1", "x", [1]], []
    for i, tid in enumerate(tids):
        for place, ts in enumerate((5, 25, 95, 15)):
            record = {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "args": {
                "Addr": 16, "Bytes": 512, "Device Type": 1, "Device Id": 0, "Total Allocated": 512, "Total Reserved": 1024}}
            (tmp_path / f"r{i}{place}").mkdir()
            (tmp_path / f"r{i}{place}/w.1.pt.trace.json").write_text(json.dumps({"traceEvents": [
                complete("cpu_op", "aten::mm", 10, 10), complete("cpu_op", "aten::add", 30, 20), record]}))
            answered.append(f"memory?run=r{i}{place}&worker=w&span=1")
    assert 0 < check_urls(tmp_path, answered) < len(answered)


def test_modules_of_lightning_in_and_beside_each_other(tmp_path):
    """In a profile, in calls, in a module; what runs behind the modules is of none."""
    inside = [("[pl][profile]run_training_epoch", 0, 900), ("[pl][module]A: net", 10, 300), ("aten::mm", 20, 50), ("[pl][module]B: net.b", 100, 100),
              ("aten::add", 110, 20), ("[pl][profile]inner", 400, 100), ("[pl][module]A: net", 410, 50), ("aten::relu", 420, 10),
              ("[pl][module]C: c", 950, 20), ("aten::t", 955, 5), ("call", 1000, 100), ("[pl][module]A: net", 1010, 40)]
    for i in range(len(inside)):
        (tmp_path / f"r{i}").mkdir()
        (tmp_path / f"r{i}/w.1.pt.trace.json").write_text(json.dumps({"Framework": "pytorch-lightning", "traceEvents": [
            complete("cpu_op", *span) for k, span in enumerate(inside) if k != i]}))
    urls = [f"{route}?run=r{i}&worker=w&span=1" for i in range(len(inside)) for route in ("module", "tree", "operation/table")]
    assert check_urls(tmp_path, urls) == len(urls)


def test_modules_of_what_runs_backward(tmp_path):
    """Python's modules, whose forward calls lead by arrows to calls of another thread."""
    def arrow(ph, number, tid, ts):
        return {"ph": ph, "cat": "forward_backward", "name": "fwd_bwd", "id": number, "pid": 1, "tid": tid, "ts": ts, "bp": "e"}

    def python(name, ident, parent, number, ts, dur):
        return complete("python_function", name, ts, dur, **{"Python id": ident, "Python parent id": parent,
                                                            "Python module id": number})

    for i in range(2):
        events = [python("nn.Module: Net_0", 1, None, 0, 0, 300), python("nn.Module: Linear_0", 2, 1, 1, 10, 100),
                  complete("cpu_op", "aten::linear", 20, 60, **{"External id": 1}),
                  complete("cpu_op", "aten::addmm", 30, 40, **{"External id": 2}),
                  complete("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 500, 80, 2, **{"External id": 3}),
                  complete("cpu_op", "AddmmBackward0", 510, 60, 2, **{"External id": 4}),
                  complete("cpu_op", "aten::mm", 520, 20, 2, **{"External id": 5})]
        if i:
            events += [arrow("s", 1, 1, 30), arrow("f", 1, 2, 510)]
        (tmp_path / f"r{i}").mkdir()
        (tmp_path / f"r{i}/w.1.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    urls = [f"{route}?run=r{i}&worker=w&span=1" for i in range(2) for route in ("module", "tree", "operation/table", "overview")]
    assert check_urls(tmp_path, urls) == len(urls)


@pytest.mark.parametrize("seed", range(6))
def test_modules_in_each_other_and_what_runs_backward(seed, tmp_path):
    """In reverse order, on a thread of its own or behind the forward calls; with other calls before, between and behind."""
    chance, events, number, calls = random.Random(seed), [], 0, []
    now = 0
    for block in range(3):
        begin = now
        for layer in range(chance.randint(1, 2)):
            number += 1
            calls.append((number, now + 12))
            events += [complete("python_function", f"nn.Module: Linear_{number}", now + 10, 60, **{
                           "Python id": 100 + number, "Python parent id": 50 + block, "Python module id": number}),
                       complete("cpu_op", "aten::linear", now + 12, 40, **{"External id": number})]
            now += 100
        events.append(complete("python_function", f"nn.Module: Block_{block}", begin, now - begin - 10, **{
            "Python id": 50 + block, "Python parent id": None, "Python module id": 90 + block}))
    tid = 1 + seed % 2
    for ident, start in reversed(calls):
        if chance.random() < .4:
            events.append(complete("cpu_op", "other", now, 15, tid, **{"External id": 500 + ident}))
            now += 20
        events += [complete("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", now, 80, tid,
                            **{"External id": 200 + ident}),
                   complete("cpu_op", "AddmmBackward0", now + 10, 60, tid, **{"External id": 300 + ident}),
                   complete("cpu_op", "aten::mm", now + 20, 20, tid, **{"External id": 400 + ident}),
                   {"ph": "s", "cat": "forward_backward", "name": "fwd_bwd", "id": ident, "pid": 1, "tid": 1, "ts": start, "bp": "e"},
                   {"ph": "f", "cat": "forward_backward", "name": "fwd_bwd", "id": ident, "pid": 1, "tid": tid, "ts": now + 10,
                    "bp": "e"}]
        now += chance.choice([80, 120])
    if seed % 3:
        events.append(complete("cpu_op", "last", now, 15, 1, **{"External id": 999}))
    (tmp_path / "r").mkdir()
    (tmp_path / "r/w.1.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    urls = [f"{route}?run=r&worker=w&span=1" for route in ("module", "tree", "operation/table", "overview")]
    assert check_urls(tmp_path, urls) == len(urls)


DIMS = [[[4]], [[4, 3], [2]], [], [[]], [[4], []], None, "", "[[4]]", 4, [4], [[4], 4], [[[4], [2]]], [[4.5]], [["4"]], [[None]], {}]
TYPES = [["float"], ["float", "int"], ["c10::Half", "c10::BFloat16"], ["unsigned char", "long int"], ["double", "x"], [], None, "float", [4]]


def test_inputs_of_collectives(tmp_path):
    """Each list beside each other: what they are summed up to, or that the run is lost."""
    pairs = [(dims, types) for dims in DIMS for types in TYPES]
    for i, (dims, types) in enumerate(pairs):
        (tmp_path / f"r{i}").mkdir()
        for rank in range(2):
            args = {"External id": 1, "Input Dims": dims, "Input type": types}
            args = {key: value for key, value in args.items() if value is not None}
            (tmp_path / f"r{i}/h_{rank}.1.pt.trace.json").write_text(json.dumps({
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                "traceEvents": [complete("cpu_op", "ProfilerStep#1", 0, 90),
                                complete("user_annotation", "nccl:all_reduce", 10 + rank, 20, **args)]}))
    urls = ["runs"] + [f"distributed/{route}?run=r{i}&worker=All&span=1" for i in range(len(pairs))
                       for route in ("commops", "waittime")]
    assert len(pairs) / 2 < check_urls(tmp_path, urls) < len(urls)
