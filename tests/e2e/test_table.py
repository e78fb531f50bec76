# SPDX-License-Identifier: MIT
"""`hipboard table` against torch 2.13's own tables of the same recording, byte for byte."""
import gzip
import inspect
import json
import re
import subprocess

import pytest

torch = pytest.importorskip("torch")
from torch.autograd import profiler_util  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

from support import BUILD, ROOT, run
from torch_events import gpu_trace, record_with_stacks, torch_events

HIPBOARD = BUILD / "tools/hipboard/hipboard"


def corrected_build_table():
    """torch's function, with the cells of stacks and FLOPs below their own headers."""
    source = inspect.getsource(profiler_util._build_table)
    flops = source.index("        if with_flops:\n            if evt.flops <= 0")
    stack = source.index("        if has_stack:\n            src_field")
    end = source.index("        append(row_format.format(*row_values))", stack)
    source = source[:flops] + source[stack:end] + source[flops:stack] + source[end:]
    for old, new in [
            ('[""] * (len(headers) - 1)', '[""] * (len(headers) - 1 - with_flops)'),
            ("[trim_path(entry, src_column_width)]",
             '[trim_path(entry, src_column_width)] + [""] * with_flops'),
            ('empty_headers.append("")', 'empty_headers += [""] * (1 + with_flops)')]:
        assert source.count(old) == 1
        source = source.replace(old, new)
    scope = dict(vars(profiler_util))
    exec(source, scope)
    return scope["_build_table"]


@pytest.fixture(autouse=True)
def correct_torch(monkeypatch):
    monkeypatch.setattr(profiler_util, "_build_table", corrected_build_table())


# name in torch, option here; None: a flag
KEY_OPTIONS = {"group_by_input_shape": ("--group-by-input-shape", None),
               "group_by_stack_n": ("--group-by-stack", str),
               "group_by_overload_name": ("--group-by-overload-name", None)}
TABLE_OPTIONS = {"sort_by": ("--sort-by", str), "row_limit": ("--row-limit", str),
                 "header": ("--header", str), "time_unit": ("--time-unit", str),
                 "max_name_column_width": ("--max-name-width", str),
                 "max_shapes_column_width": ("--max-shapes-width", str),
                 "max_src_column_width": ("--max-source-width", str),
                 "top_level_events_only": ("--top-level-only", None)}


def arguments(options):
    words = []
    for name, value in options.items():
        flag, kind = {**KEY_OPTIONS, **TABLE_OPTIONS}[name]
        if kind:
            words += [flag, kind(value)]
        elif value:
            words += [flag]
    return words


def ours(path, *words):
    return run(HIPBOARD, "table", path, *words)


class Tie(AssertionError):
    """Means that lie between two printed numbers: torch's doubles are of times since a moment that
    its file does not have, so which of the two is printed cannot be known."""


def assert_same(mine, theirs):
    if mine == theirs:
        return
    number = re.compile(r"\d+\.\d+")
    pairs = list(zip(number.findall(mine), number.findall(theirs)))
    apart = [(a, b) for a, b in pairs if a != b]
    if number.sub("", mine) == number.sub("", theirs) and len(apart) <= 2 and all(
            abs(int(a.replace(".", "")) - int(b.replace(".", ""))) == 1 for a, b in apart):
        raise Tie(apart)
    assert mine == theirs


def not_of_ties(check):
    """Calls it with up to three recordings; what differs in each is no tie."""
    for _ in range(2):
        try:
            return check()
        except Tie:
            pass
    return check()


def compare(events, path, **options):
    """torch's key_averages().table() and hipboard's with the same options."""
    keys = {("group_by_input_shapes" if n == "group_by_input_shape" else n): v
            for n, v in options.items() if n in KEY_OPTIONS}
    rest = {n: v for n, v in options.items() if n in TABLE_OPTIONS}
    theirs = events.key_averages(**keys).table(**rest)
    assert_same(ours(path, *arguments(options)), theirs)
    return theirs


def compare_totals(events, path):
    assert_same(ours(path, "--total"), f"{events.key_averages().total_average()}\n")
    by_shape = events.key_averages(group_by_input_shapes=True).total_average()
    assert_same(ours(path, "--total", "--group-by-input-shape"), f"{by_shape}\n")
    assert_same(ours(path, "--total", "--events"), f"{events.total_average()}\n")


def compare_events(p, path):
    events = p.events()
    for event in events:  # torch's table() stumbles over [memory] events, which have None
        event.flops = event.flops or 0
    assert_same(ours(path, "--events", "--row-limit", "-1"), events.table(row_limit=-1))


SORT_KEYS = ["cpu_time", "cpu_time_total", "self_cpu_time_total", "cuda_time", "cuda_time_total",
             "self_cuda_time_total", "device_time_total", "xpu_time", "privateuse1_time",
             "cpu_memory_usage", "self_cpu_memory_usage", "cuda_memory_usage",
             "self_cuda_memory_usage", "count", "flops", "key"]

VARIANTS = [
    {}, {"row_limit": 3}, {"row_limit": -1}, {"top_level_events_only": True},
    {"header": "What it was", "top_level_events_only": True, "row_limit": 2},
    {"time_unit": "s"}, {"time_unit": "ms"}, {"time_unit": "us"},
    {"max_name_column_width": 20},
    {"group_by_input_shape": True, "row_limit": -1},
    {"group_by_input_shape": True, "max_shapes_column_width": 24, "sort_by": "input_shapes"},
    {"group_by_overload_name": True, "row_limit": -1, "sort_by": "overload_name"},
    *({"sort_by": key, "row_limit": -1} for key in SORT_KEYS),
    *({"sort_by": key, "group_by_input_shape": True} for key in ["count", "self_cpu_time_total"]),
]

STACK_VARIANTS = [
    {"group_by_stack_n": 1}, {"group_by_stack_n": 3, "row_limit": -1},
    {"group_by_stack_n": 50, "sort_by": "self_cpu_time_total", "group_by_input_shape": True},
    {"group_by_stack_n": 2, "max_src_column_width": 30, "row_limit": -1},
    {"group_by_stack_n": 4, "sort_by": "stack", "row_limit": -1},
]


def training():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(96, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for size in (2, 3):
        x = torch.randn(size, 4, 8, 8)
        with record_function(f"forward of a batch with {size} images, and a long name for it"):
            loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def nested():
    with record_function("outer"):
        with record_function("same"):
            with record_function("same"):
                with record_function("same"):
                    torch.ones(3)
        with record_function("same"):
            with record_function("same"):
                torch.ones(3)
            with record_function("same"):
                torch.ones(4)
    with record_function("not the same"):
        torch.zeros(2)


def products():
    a, b = torch.randn(4, 5), torch.randn(5, 6)
    a @ b
    torch.addmm(torch.randn(6), a, b)
    torch.bmm(torch.randn(3, 4, 5), torch.randn(3, 5, 2))
    torch.baddbmm(torch.randn(3, 4, 2), torch.randn(3, 4, 5), torch.randn(3, 5, 2))
    torch.tensor(1.0) + torch.tensor(2.0)
    torch.randn(3, 1) * torch.randn(1, 4)
    torch.randn(0, 4) @ torch.randn(4, 2)
    torch.conv2d(torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3), padding="same")
    torch.conv2d(torch.randn(3, 9, 9), torch.randn(4, 3, 3, 3), dilation=2)
    torch.conv2d(torch.randn(1, 3, 9, 9), torch.randn(4, 3, 3, 3), dilation=(2, 1), stride=(1, 2))
    torch.cat([torch.ones(2, 3), torch.ones(4, 3)])
    torch.ones(9)[torch.tensor([1, 2])]
    torch.randn(1024, 1024) @ torch.randn(1024, 300)


def threads():
    import threading

    def work(n):
        with record_function(f"thread {n}"):
            training()
    both = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    kept = torch.ones(1000)
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    del kept


PROGRAMS = {"training": training, "nested": nested, "products": products, "threads": threads}
SETTINGS = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "all": {"record_shapes": True, "profile_memory": True, "with_flops": True},
    "flops": {"with_flops": True},
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_torch_prints(tmp_path, program, settings):
    path = tmp_path / "t.json"

    def check():
        with profile(activities=[ProfilerActivity.CPU], **SETTINGS[settings]) as p:
            PROGRAMS[program]()
        p.export_chrome_trace(str(path))
        for options in VARIANTS:
            table = compare(p.events(), path, **options)
        assert "Name" in table
        compare_totals(p.events(), path)
        compare_events(p, path)
    not_of_ties(check)


def training_and_products():
    training()
    products()


def test_stacks(tmp_path):
    path = tmp_path / "t.json"

    def check():
        p = record_with_stacks(path, training_and_products, capture_overload_names=True,
                               with_flops=True, record_shapes=True, profile_memory=True)
        for options in STACK_VARIANTS:
            table = compare(p.events(), path, **options)
            assert "Source Location" in table and "FLOPs" in table
        for options in VARIANTS:
            compare(p.events(), path, **options)
        compare_events(p, path)
    not_of_ties(check)


def test_steps_are_one_row(tmp_path):
    tables = []
    path = tmp_path / "t.json"

    def ready(p):
        p.export_chrome_trace(str(path))
        tables.append(compare(p.events(), path, sort_by="count"))
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=ready,
                 schedule=schedule(wait=1, warmup=1, active=3)) as p:
        for _ in range(6):
            nested()
            p.step()
    [table] = tables
    [row] = [line for line in table.splitlines() if "ProfilerStep*" in line]
    assert row.split()[-1] == "3"


# ---- GPUs ----

@pytest.mark.parametrize("memory", [False, True])
def test_device_columns(tmp_path, memory):
    path = tmp_path / "gpu.json"
    events = torch_events(gpu_trace(path, memory))
    for options in VARIANTS:
        if options.get("sort_by") not in ("input_shapes", "overload_name"):
            table = compare(events, path, **options)
    assert "Self CUDA %" in table and ("CUDA Mem" in table) == memory, table


@pytest.mark.parametrize("name", ["mi250_minitoy", "triton_example"])
def test_traces_of_real_gpus(name):
    """torch's own classes make the table of what stands in the file."""
    path = ROOT / f"tests/data/{name}.json.gz"
    with gzip.open(path) as file:
        events = torch_events(json.load(file))
    for options in VARIANTS:
        if options.get("sort_by") != "overload_name":
            table = compare(events, path, **options)
    assert "Self CUDA %" in table and "kernel" in table.lower()
    assert ours(path, "--events", "--row-limit", "-1") == events.table(row_limit=-1)
    compare_totals(events, path)


with gzip.open(ROOT / "tests/data/torch_h200_tables.json.gz") as file:
    PRINTED = json.load(file)


@pytest.mark.parametrize("options", PRINTED)
def test_as_torch_printed_it_beside_the_gpu(options, tmp_path):
    """By the process that recorded: it knew more than stands in the file. Converting changes nothing of it."""
    source = ROOT / "tests/data/torch_h200.json.gz"
    run(HIPBOARD, "convert", source, "-o", tmp_path)
    for path in (source, *tmp_path.iterdir()):
        printed = ours(path, *options.split())
        assert printed.rstrip("\n") == PRINTED[options].rstrip("\n"), path


@pytest.mark.parametrize("told, inside", [({}, 500.5), ({"host_name": "node7"}, 0)])
def test_calls_outside_of_operators_are_on_the_thread_that_ended_the_recording(told, inside, tmp_path):
    """As in torch, which does not know better; hipboard's traces tell threads as they were."""
    path = tmp_path / "gpu.json"
    trace = {**gpu_trace(path, False), **told}
    path.write_text(json.dumps(trace))
    groups = {g["key"]: g for g in json.loads(ours(path, "--json"))["groups"] if g["cpu_time_total"]}
    step, sync = groups["ProfilerStep*"], groups["hipDeviceSynchronize"]
    linear = groups["aten::linear"]
    assert step["self_cpu_time_total"] == pytest.approx(step["cpu_time_total"] - linear["cpu_time_total"] - inside)
    assert sync["cpu_time_total"] == 500.5


@pytest.mark.parametrize("ids", [{}, {"correlation": "External id"}])
def test_without_links_calls_belong_to_the_operator_that_they_ran_in(ids, tmp_path):
    """Files of 2023, whose calls and kernels have their own correlation as External id, and ROCm's
    newest, which have none, give the tables of files with ids."""
    paths = tmp_path / "linked.json", tmp_path / "old.json"
    trace = gpu_trace(paths[0], False)
    for event in trace["traceEvents"]:
        if "correlation" in event.get("args", {}):
            event["args"].pop("External id", None)
            event["args"].update({name: event["args"][key] for key, name in ids.items()})
    paths[1].write_text(json.dumps(trace))
    linked, old = (ours(path, "--row-limit", "-1") for path in paths)
    assert linked == old
    groups = {g["key"]: g for g in json.loads(ours(paths[1], "--json"))["groups"]}
    assert groups["aten::addmm"]["device_time_total"] > 0


def test_annotations_have_shapes(tmp_path):
    """As those of collectives."""
    path = tmp_path / "gpu.json"
    trace = gpu_trace(path, False)
    trace["traceEvents"][1]["args"]["Input Dims"] = [[4, 2]]
    path.write_text(json.dumps(trace))
    table = compare(torch_events(trace), path, group_by_input_shape=True, row_limit=-1)
    assert "[[4, 2]]" in table


def test_device_name_is_free(tmp_path):
    path = tmp_path / "gpu.json"
    gpu_trace(path, True)
    words = ours(path).replace("CUDA", "HIP/CUDA").split()
    assert ours(path, "--device-name", "HIP/CUDA").split() == words


def test_json_has_all_digits_and_the_total(tmp_path):
    path = tmp_path / "gpu.json"
    events = torch_events(gpu_trace(path, True))
    answer = json.loads(ours(path, "--json"))
    averages = events.key_averages()
    assert len(answer["groups"]) == len(averages)
    for group, average in zip(answer["groups"], averages):
        for name in ("key", "count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
                     "self_device_time_total", "cpu_memory_usage", "self_device_memory_usage"):
            assert group[name] == getattr(average, name), (name, average)
    total = events.total_average()
    for name in ("count", "self_cpu_time_total", "self_device_time_total", "device_memory_usage"):
        assert answer["total"][name] == getattr(total, name)


@pytest.mark.parametrize("words, message", [
    (["--sort-by", "nonsense"], "there is no sort key 'nonsense'"),
    (["--time-unit", "h"], "--time-unit 'h': expected s|ms|us"),
    (["--row-limit", "many"], "--row-limit 'many': expected"),
    (["--bogus"], "'--bogus' is unknown"),
    (["more.json"], "expected one trace file"),
])
def test_wrong_usage(tmp_path, words, message):
    path = tmp_path / "gpu.json"
    gpu_trace(path, False)
    done = subprocess.run([HIPBOARD, "table", path, *words], capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


@pytest.mark.parametrize("command", ["table", "view", "stacks", "memory", "steps"])
def test_events_too_far_away_in_time_are_told(command, tmp_path):
    """Of 1800 and of 2264; without them nothing would be left, and nobody would know why."""
    path = tmp_path / "far.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 1, "args": {}}
        for name, ts in (("first", -5.3e15), ("last", 9.3e15), ("near", 5))]}))
    done = subprocess.run([HIPBOARD, command, path], capture_output=True, text=True, timeout=600)
    assert f"hipboard {command}: {path}: 2 events before 1876 or after 2064" in done.stderr


def test_missing_and_empty(tmp_path):
    done = subprocess.run([HIPBOARD, "table", tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 1 and "none" in done.stderr
    path = tmp_path / "empty.json"
    path.write_text('{"traceEvents": []}')
    assert ours(path) == ""
