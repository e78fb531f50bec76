# SPDX-License-Identifier: MIT
"""twin.py DIR OPTION...: a small training step under torch.profiler; twin.c is the same with hipboard.

OPTIONs are record_shapes, profile_memory, with_stack, with_modules, with_flops, and verbose for
call stacks.
"""
import sys

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import (ProfilerActivity, profile, record_function, schedule,
                            tensorboard_trace_handler)

torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.linear(x)


def main(directory, options):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    batches = torch.utils.data.DataLoader(torch.ones(8, 3), batch_size=2)
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    with profile(activities=[ProfilerActivity.CPU],
                 schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
                 on_trace_ready=tensorboard_trace_handler(directory, worker_name="twin"),
                 experimental_config=_ExperimentalConfig(verbose="verbose" in options),
                 **{option: True for option in options if option != "verbose"}) as prof:
        for x in batches:
            with record_function("work"):
                torch.mm(a, b)
                torch.cat([a, a])
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()
            prof.add_metadata("note", "text")
            prof.add_metadata_json("numbers", "[1, 2]")
            prof.step()


main(sys.argv[1], sys.argv[2:])
