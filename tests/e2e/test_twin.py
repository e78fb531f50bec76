# SPDX-License-Identifier: MIT
"""One program, twin.py with torch.profiler and twin.c with hipboard: the same fields in the same
order, of the same types, in the same layout, event kind by event kind, in the kineto dialect."""
import json
import re
import sys
from collections import defaultdict

import pytest

from support import BUILD, PROGRAMS, run

pytest.importorskip("torch")

# name: (options of both, of torch alone, categories that only torch fills). In torch, modules come
# with its Python tracer; call stacks want "verbose", which gives Python's frames more fields.
OPTIONS = {
    "plain": ([], [], []),
    "shapes": (["record_shapes"], [], []),
    "modules": (["record_shapes", "profile_memory", "with_modules", "with_flops"],
                ["with_stack"], []),
    "stacks": (["record_shapes", "with_stack"], ["verbose"], ["python_function"]),
    "stacks alone": (["with_stack"], ["verbose"], ["python_function"]),
}


class Trace:
    def __init__(self, directory):
        [path] = directory.glob("twin.*.pt.trace.json")
        self.text = path.read_text()
        self.document = json.loads(self.text)
        self.head, body = self.text.split('"traceEvents": [', 1)
        body, self.tail = body.rsplit("\n  ],", 1)
        self.kinds = defaultdict(list)
        for block in re.split(r"(?<=\n  \}),(?=\n  \{)", body):
            event = json.loads(block)
            self.kinds[kind_of(event)].append((event, block))

    def layouts(self, kind):
        return {layout(block) for _, block in self.kinds[kind]}

    def args(self, kind, key):
        return {json.dumps(event["args"][key]) for event, _ in self.kinds[kind]
                if key in event["args"]}


def kind_of(event):
    name = event["name"]
    if event.get("cat") == "python_function":
        name = name.rsplit("_", 1)[0] if name.startswith("nn.Module: ") else "function"
    return event["ph"], event.get("cat"), re.sub(r"#\d+$", "#N", name)


def layout(block):
    """The block's text with its values replaced by their types."""
    block = re.sub(r': "(?:[^"\\]|\\.)*"', ": <string>", block)
    block = re.sub(r": \[.*\]", ": <list>", block) if "Input" not in block else re.sub(
        r": \[.*?\](?=, \"|\n)", ": <list>", block)
    block = block.replace('"Python parent id": null', '"Python parent id": 0')
    block = re.sub(r": -?\d+\.\d{3}(?=,|\n)", ": <time>", block)
    return re.sub(r": -?\d+(?=,|\n)", ": <integer>", block)


@pytest.fixture(scope="module", params=OPTIONS)
def twins(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("twins")
    options, torch_options, torch_only = OPTIONS[request.param]
    run(sys.executable, PROGRAMS / "twin.py", directory / "torch", *options, *torch_options)
    run(BUILD / "tests/e2e/programs/twin", directory / "hipboard", *options)
    theirs, ours = Trace(directory / "torch"), Trace(directory / "hipboard")
    for kind in [kind for kind in ours.kinds if kind[1] in torch_only]:
        del ours.kinds[kind]
    theirs.options, ours.options = {*options, *torch_options}, set(options)
    return theirs, ours


def test_every_kind_of_event_is_one_of_torch(twins):
    theirs, ours = twins
    assert set(ours.kinds) <= set(theirs.kinds)
    assert len(ours.kinds) >= 20
    assert ours.kinds.keys() >= {("X", "cpu_op", "aten::mm"), ("s", "fwdbwd", "fwdbwd")}


def test_every_event_has_the_layout_of_torch(twins):
    theirs, ours = twins
    # A step's own call stack is that of the profiler's caller; hipboard leaves it out.
    if "verbose" in theirs.options:
        del ours.kinds["X", "user_annotation", "ProfilerStep#N"]
    different = [f"{kind}\n{expected}\n{found}" for kind in ours.kinds
                 if (found := ours.layouts(kind)) - (expected := theirs.layouts(kind))]
    assert not different, "\n\n".join(different)


def test_operators_have_the_inputs_of_torch(twins):
    theirs, ours = twins
    for name in ("aten::mm", "aten::cat", "aten::addmm"):
        kind = ("X", "cpu_op", name)
        for key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"):
            assert ours.args(kind, key) <= theirs.args(kind, key), (name, key)


def test_head_and_tail_have_the_layout_of_torch(twins):
    theirs, ours = twins
    assert layout(ours.tail) == layout(theirs.tail)
    # Where a user's own entries stand follows from a hash in torch.
    def lines(head):
        own = {"note", "numbers"} | (theirs.options - ours.options)
        return [line for line in layout(head).split("\n")
                if not own & set(re.findall(r'"(\w+)"', line))]
    assert lines(ours.head) == lines(theirs.head)
    assert ours.document["note"] == "text"
    assert ours.document["numbers"] == [1, 2]


def test_flows_join_forward_and_backward(twins):
    for trace in twins:
        ends = {ph: {event["id"] for event, _ in trace.kinds[ph, "fwdbwd", "fwdbwd"]}
                for ph in ("s", "f")}
        assert ends["s"] == ends["f"] != set()
    assert len(twins[1].kinds["s", "fwdbwd", "fwdbwd"]) == 2  # one a step
