# SPDX-License-Identifier: MIT
"""Whole texts for people, worked out by hand, of two ranks: modules, collectives, sensors, rooflines."""
import itertools
import json

import pytest

import made_ranks
from test_texts import ask, event


# Name, begin in its step; kernel, begin, duration, stream; what the operator tells.
WORK = [("aten::mm", 1000, "Cijk_gemm", 2000, 2000, 7, [[1024, 512], [512, 256]]),
        ("nccl:all_reduce", 4000, "ncclDevKernel_AllReduce", 3000, 2000, 9, [[262144]]),
        ("aten::add", 6000, "add_kernel", 7000, 500, 7, [[1048576], [1048576]])]
GPU = {"id": 0, "name": "MI210", "totalGlobalMem": 64 << 30, "numSms": 104,
       "gcnArchName": "gfx90a:sramecc+:xnack-", "clockRate": 1700000, "memoryClockRate": 1600000,
       "memoryBusWidth": 4096}


def module(name, ts, dur, number, parent):
    return event("python_function", f"nn.Module: {name}", 1, 1, ts, dur,
                 **{"Python id": number, "Python parent id": parent, "Python module id": 0})


def of_rank(rank):
    """Two steps of 10 ms: a product of 2 ms in a module within one, an addition, and an all_reduce of
    2 ms, which begins beside the product's second half; on rank 1 it is 500 us late."""
    events = []
    for step in range(2):
        start = 10000 * step
        events += [event("user_annotation", f"ProfilerStep#{step}", 1, 1, start, 10000),
                   module("Net_0", start + 500, 5000, 10 * step + 1, None),
                   module("Linear_0", start + 900, 3000, 10 * step + 2, 10 * step + 1)]
        for i, (name, at, kernel, begin, duration, stream, dims) in enumerate(WORK):
            number = 3 * step + i + 1
            late = 500 * rank if stream == 9 else 0
            ids = {"External id": number, "correlation": number}
            events += [
                event("cpu_op", name, 1, 1, start + at, 400, **{
                    "External id": number, "Input Dims": dims, "Input type": ["float"] * len(dims)}),
                event("cuda_runtime", "hipLaunchKernel", 1, 1, start + at + 100, 50, **ids),
                event("kernel", kernel, 0, stream, start + begin + late, duration - late, device=0,
                      stream=stream, **ids)]
    sums = [{"gpu": 0, "step": step, "watts": 200 + 100 * step, "joules": 2 + step,
             "mhz": 1700 - 100 * step} for step in range(2)]
    return {"deviceProperties": [GPU], "distributedInfo": {
        "backend": "nccl", "rank": rank, "world_size": 2}, "hipboard_gpu_steps": sums,
        "traceEvents": events}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("texts")
    for rank in range(2):
        (directory / f"r{rank}.pt.trace.json").write_text(json.dumps(of_rank(rank)))
    count = itertools.count()
    caused = made_ranks.write(directory / "job", 4, late=2, lateness=20.0, steps=4, collectives=3,
                              per_node=2, noise=lambda: 40.0 + next(count) * 7 % 5)
    assert caused == {2: 716}
    made_ranks.write_messages(directory / "messages", steps=3)
    return directory


def text_of(directory, words):
    text = ask(directory, *words).partition("\nNote: ")[0]
    return [line.rstrip() for line in text.rstrip("\n").splitlines()]


TEXTS = {}
TEXTS["module"] = (["view", "--view", "module", "r0.pt.trace.json"], """\
Module      Calls  Operators  Host total  Host self  Device total  Device self
Net_0           2          2    10.00 ms   3.200 ms      8.000 ms     4.000 ms
  Linear_0      2          2    6.000 ms   5.200 ms      4.000 ms     4.000 ms
""")
TEXTS["power"] = (["view", "--view", "power", "r0.pt.trace.json"], """\
GPU    Step  Energy (J)  Power (W)  Clock (MHz)
GPU 0  0           2.00     200.00      1700.00
GPU 0  1           3.00     300.00      1600.00
""")
TEXTS["roofline"] = (["view", "--view", "roofline", "r0.pt.trace.json"], """\
Operators: by their FLOPs and inputs, over the time of their kernels
Operator         GPU  Type  Calls      Time   FLOP/s   GB/s  FLOP/byte           Of peak       Of the roof  Bound by  Far from it
aten::mm         0    f32       2  4.000 ms  134.2 G   1.84      73.14  0.3 %             0.3 %             compute      4.000 ms
nccl:all_reduce  0    f32       2  4.000 ms            0.52                               0.0 %             memory       4.000 ms
aten::add        0    f32       2  1.000 ms  2.097 G  16.78       0.12  0.0 %             1.0 %             memory       1.000 ms

Operators by inputs
Operator         Inputs                     GPU  Type  Calls      Time   FLOP/s   GB/s  FLOP/byte       Of the roof  Far from it
aten::mm         [[1024, 512], [512, 256]]  0    f32       2  4.000 ms  134.2 G   1.84      73.14  0.3 %                4.000 ms
nccl:all_reduce  [[262144]]                 0    f32       2  4.000 ms            0.52             0.0 %                4.000 ms
aten::add        [[1048576], [1048576]]     0    f32       2  1.000 ms  2.097 G  16.78       0.12  1.0 %                1.000 ms

Kernels
Kernel                   GPU  Type  Calls      Time   FLOP/s   GB/s           Of peak       Of the roof  Far from it
Cijk_gemm                0    f32       2  4.000 ms  134.2 G   1.84  0.3 %             0.3 %                4.000 ms
ncclDevKernel_AllReduce  0    f32       2  4.000 ms            0.52                    0.0 %                4.000 ms
add_kernel               0    f32       2  1.000 ms  2.097 G  16.78  0.0 %             1.0 %                1.000 ms

Peaks
GPU  Type  Vector FLOP/s  Matrix FLOP/s     GB/s      MHz  Clock
0    f64         21.96 T        43.93 T  1638.40  1650.00  measured
0    f32         43.93 T        43.93 T  1638.40  1650.00  measured
0    f16                        175.7 T  1638.40  1650.00  measured
0    bf16                       175.7 T  1638.40  1650.00  measured
0    i8                         175.7 T  1638.40  1650.00  measured
Bytes are those of the inputs, each once, and of a matrix product's result: the least that has to be
moved, so that GB/s and the share of the roof are lower bounds. Far from it: time below 30 % of the
roof.
""")
TEXTS["view steps"] = (["view", "--view", "steps", "r0.pt.trace.json"], """\
Step     Total    Kernel      Comm  Runtime  CPU Exec     Other
0     10.00 ms  2.500 ms  1.000 ms   100 us    700 us  5.700 ms
1     10.00 ms  2.500 ms  1.000 ms   100 us    700 us  5.700 ms
""")
TEXTS["distributed"] = (["view", "--view", "distributed", "r0.pt.trace.json", "r1.pt.trace.json"], """\
Average step
Worker  Rank  Computation   Overlap  Communication     Other  Transfer    Wait            Exposed
r0         0     1.500 ms  1.000 ms       1.000 ms  6.500 ms  1.500 ms  500 us  10.0 % #
r1         1     2.000 ms    500 us       1.000 ms  6.500 ms  1.500 ms    0 us  10.0 % #

Collectives
Collective       Worker  Rank  Calls  Total size  Mean size  Total time  Mean time  Transfer  Mean transfer
nccl:all_reduce  r0         0      2   2.000 MiB  1.000 MiB    4.000 ms   2.000 ms  3.000 ms       1.500 ms
nccl:all_reduce  r1         1      2   2.000 MiB  1.000 MiB    3.000 ms   1.500 ms  3.000 ms       1.500 ms
""")
TEXTS["ranks"] = (["ranks", "r0.pt.trace.json", "r1.pt.trace.json"], """\
2 ranks on 2 nodes, 2 steps
2 collectives of 1 communicator, 0 messages, of 2 traces
Clocks are known to 2.003 ms, and ranks are not that far apart: only how long they stayed in collectives is compared

Who makes the others wait
inconclusive: fewer than 3 steps

Efficiency
parallel 90.0 % = load balance 100.0 % x communication 90.0 % (serialization 100.0 % x transfer 90.0 %)
steps take 10 ms (step 0) to 10 ms (step 0)

Waiting, of all ranks' time
time  of all  waits  longest  size  communicator  call       what
1 ms   2.5 %      2   500 us                      allreduce  wait for all

Collectives: once all have come; skew: the last behind the first
calls  ranks  size    median    skew  bus  communicator  collective
    2      2        1.500 ms  500 us                     allreduce

Nodes, the latest of 2: behind the median at a collective
   late  waits  useful  ranks  unlike others
 250 us   0 us   18 ms      1                 r1
-250 us   1 ms   18 ms      1                 r0

Ranks
   late  last  caused  waited  useful  node  rank
-250 us     0    0 us    1 ms  90.0 %  r0    0
 250 us     2    1 ms    0 us  90.0 %  r1    1
""")
TEXTS["scopes"] = (["stacks", "--scopes", "r0.pt.trace.json"], """\
ProfilerStep* 4600
ProfilerStep*;nn.Module:_Net_0 1600
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0 2600
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm 350
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm;hipLaunchKernel 50
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce 350
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce;hipLaunchKernel 50
ProfilerStep*;aten::add 350
ProfilerStep*;aten::add;hipLaunchKernel 50
ProfilerStep* 4600
ProfilerStep*;nn.Module:_Net_0 1600
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0 2600
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm 350
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm;hipLaunchKernel 50
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce 350
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce;hipLaunchKernel 50
ProfilerStep*;aten::add 350
ProfilerStep*;aten::add;hipLaunchKernel 50
""")
TEXTS["folded"] = (["stacks", "--scopes", "--folded", "r0.pt.trace.json"], """\
ProfilerStep* 9200
ProfilerStep*;aten::add 700
ProfilerStep*;aten::add;hipLaunchKernel 100
ProfilerStep*;nn.Module:_Net_0 3200
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce 700
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce;hipLaunchKernel 100
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0 5200
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm 700
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm;hipLaunchKernel 100
""")
TEXTS["folded on the device"] = (["stacks", "--scopes", "--folded", "--metric", "self_device_time_total", "r0.pt.trace.json"], """\
ProfilerStep*;aten::add 1000
ProfilerStep*;nn.Module:_Net_0;nccl:all_reduce 4000
ProfilerStep*;nn.Module:_Net_0;nn.Module:_Linear_0;aten::mm 4000
""")
TEXTS["a late rank"] = (["ranks", "job"], """\
4 ranks on 2 nodes, 4 steps
12 collectives of 1 communicator, 0 messages, of 4 traces
Clocks are known to 76.06 us, and ranks are not that far apart: only how long they stayed in collectives is compared

Who makes the others wait
rank 2 on node1: the last one at 12 of 12 collectives; others waited 716 us for it, 100.0 % of all waiting
    why: compute; work takes 59.38 us longer than of the median rank, in a step; without that a step takes 54.75 us less

Efficiency
parallel 39.3 % = load balance 76.0 % x communication 51.7 % (serialization 100.0 % x transfer 51.7 %)
steps take 361 us (step 0) to 361 us (step 0)

Waiting, of all ranks' time
  time  of all  waits  longest  size      communicator  call       what
716 us  12.4 %     36    24 us  <= 4 KiB                allreduce  wait for all

Collectives: once all have come; skew: the last behind the first
calls  ranks  size      median   skew         bus  communicator  collective
   12      4  <= 4 KiB   58 us  21 us  0.106 GB/s                allreduce

Nodes, the latest of 2: behind the median at a collective
     late     waits    useful  ranks  unlike others
 9.208 us  118.5 us  628.5 us      2                 node1
-0.875 us  239.5 us  507.5 us      2                 node0

Ranks
     late  last  caused  waited  useful  node   rank
    -1 us     0    0 us  241 us  35.0 %  node0  0
-0.750 us     0    0 us  238 us  35.2 %  node0  1
 19.08 us    12  716 us    0 us  51.7 %  node1  2
-0.667 us     0    0 us  237 us  35.3 %  node1  3
""")
TEXTS["messages"] = (["ranks", "messages"], """\
2 ranks on 1 node, 3 steps
0 collectives of 0 communicators, 3 messages, of 2 traces

Who makes the others wait
inconclusive: no collective that all ranks wait in was recorded

Efficiency
parallel 76.7 % = load balance 77.5 % x communication 98.9 % (serialization 98.9 % x transfer 100.0 %)
steps take 900 us (step 0) to 900 us (step 0)

Waiting, of all ranks' time
    time  of all  waits  longest  size     communicator  call  what
1.200 ms  22.2 %      3   400 us  <= 64 B  0             recv  late sender
rank 1 waited 1.200 ms for messages of rank 0

Ranks
late  last  caused    waited  useful  node  rank
0 us     0    0 us      0 us  98.9 %  node  0
0 us     0    0 us  1.200 ms  54.4 %  node  1
""")
TEXTS["messages in a pull request"] = (["ranks", "--markdown", "messages"], """\
### 2 ranks on 1 node, 3 steps

0 collectives of 0 communicators, 3 messages, of 2 traces


### Who makes the others wait

inconclusive: no collective that all ranks wait in was recorded


### Efficiency

parallel 76.7 % = load balance 77.5 % x communication 98.9 % (serialization 98.9 % x transfer 100.0 %)

steps take 900 us (step 0) to 900 us (step 0)


### Waiting, of all ranks' time

| what | time | of all | waits | longest | size | communicator | call |
|---|---:|---:|---:|---:|---:|---:|---:|
| late sender | 1.200 ms | 22.2 % | 3 | 400 us | &#60;= 64 B | 0 | recv |

rank 1 waited 1.200 ms for messages of rank 0


### Ranks

| rank | late | last | caused | waited | useful | node |
|---|---:|---:|---:|---:|---:|---:|
| 0 | 0 us | 0 | 0 us | 0 us | 98.9 % | node |
| 1 | 0 us | 0 | 0 us | 1.200 ms | 54.4 % | node |
""")


@pytest.mark.parametrize("name", TEXTS)
def test_the_whole_text(name, directory):
    words, expected = TEXTS[name]
    assert text_of(directory, words) == expected.splitlines()
