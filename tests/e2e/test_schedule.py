# SPDX-License-Identifier: MIT
"""The same random schedules through torch.profiler and through hipboard: the handler is called at
the same moments, with the same step_num and action, for the same recorded steps."""
import random
import subprocess
import warnings

import pytest

from support import BUILD

torch_profiler = pytest.importorskip("torch.profiler")
ACTIONS = torch_profiler.ProfilerAction
DRIVER = BUILD / "tests/e2e/programs/schedule_driver"
CASES = 2000


class TorchRun(torch_profiler.profile):
    """torch's own state machine with the tracing taken out: 2.13 crashes in it on the transitions
    that it only warns about, and its moments are all that is asked for here."""

    def __init__(self, schedule):
        self.tracing = False
        self.steps = []
        self.log = ""
        self.call_index = 0
        super().__init__(activities=[torch_profiler.ProfilerActivity.CPU], schedule=schedule,
                         on_trace_ready=TorchRun.tell)

    def prepare_trace(self):
        pass

    def start_trace(self):
        self.tracing = True
        self.steps = []

    def stop_trace(self):
        self.tracing = False

    def tell(self):
        steps = "".join(f"{step}," for step in self.steps)
        self.log += f"{self.call_index}:{self.step_num}:{self.current_action.value}:{steps};"

    def _note_open_step(self):
        if self.tracing and self.record_steps:
            self.steps.append(self.step_num)

    def make_calls(self, calls):
        for self.call_index, call in enumerate(calls):
            {"s": self.start, ".": self.step, "e": self.stop}[call]()
            if call != "e":
                self._note_open_step()
        return self.log


def torch_schedule(line):
    kind, *words = line.split()
    if kind == "none":
        return None
    if kind == "actions":
        actions = [ACTIONS(int(digit)) for digit in words[0]]
        return lambda step: actions[step] if step < len(actions) else ACTIONS.NONE
    names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    return torch_profiler.schedule(**dict(zip(names, map(int, words[:6]))))


def by_torch(line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return TorchRun(torch_schedule(line)).make_calls(line.split()[-1])
        except AssertionError as error:
            if "schedule arguments" in str(error):
                return "invalid"
            raise


def by_hipboard(lines):
    done = subprocess.run([DRIVER], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def random_calls(choose):
    rounds = choose.choice((1, 1, 1, 2, 3))
    return "".join("s" + "." * choose.randint(0, 16) + "e" for _ in range(rounds))


def random_line(choose):
    kind = choose.random()
    if kind < 0.05:
        return f"none {random_calls(choose)}"
    if kind < 0.35:
        actions = "".join(choose.choice("0123") for _ in range(choose.randint(1, 20)))
        return f"actions {actions} {random_calls(choose)}"
    least = -1 if choose.random() < 0.1 else 0
    numbers = [choose.randint(least, 3), choose.randint(least, 3), choose.randint(least + 1, 4),
               choose.randint(least, 3), choose.randint(least, 4), choose.randint(0, 1)]
    return f"params {' '.join(map(str, numbers))} {random_calls(choose)}"


def test_random_schedules_are_those_of_torch():
    choose = random.Random(20260101)
    lines = [random_line(choose) for _ in range(CASES)]
    answers = by_hipboard(lines)
    assert len(answers) == len(lines)
    different = [f"{line}\n  torch    {expected}\n  hipboard {answer}"
                 for line, answer in zip(lines, answers)
                 if answer != (expected := by_torch(line))]
    assert not different, f"{len(different)} of {CASES} differ\n" + "\n".join(different[:10])
    # The cases are worth comparing: many handler calls, some refusals, partial cycles.
    assert sum(answer.count(";") for answer in answers) > CASES
    assert answers.count("invalid") > 5


@pytest.mark.parametrize("line, expected", [
    ("params 1 1 2 0 0 0 s..e", "3:2:2:2,;"),
    ("params 1 1 2 0 0 0 s....e", "4:4:0:2,3,;"),
    ("params 0 0 1 2 0 0 s...e", "1:1:3:0,;2:2:0:1,;"),
    ("params 2 1 3 2 3 1 s.........e", "7:7:0:4,5,6,;"),
    ("none s...e", "4:3:2:;"),
])
def test_known_schedules(line, expected):
    assert by_torch(line) == expected
    assert by_hipboard([line]) == [expected]
