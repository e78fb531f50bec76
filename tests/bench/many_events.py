# SPDX-License-Identifier: MIT
"""A trace of many short events: operators on four threads, one in another, with a name each of forty,
or each with a name of its own.

    python3 tests/bench/many_events.py EVENTS OUT [names]"""
import sys

EVENT = ('{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":1,"tid":%d,"ts":%d,"dur":%d,'
         '"args":{"External id":%d}}')
BLOCK = 40000


def block(first, count, distinct):
    return ",\n".join([EVENT % (i if distinct else i % 40, i // 2 % 4, 10 * (i // 2) + i % 2, 8 - 4 * (i % 2), i + 1)
                       for i in range(first, first + count)])


def main(events, out, kind=""):
    count = int(float(events))
    with open(out, "w") as file:
        file.write('{"schemaVersion":1,"deviceProperties":[],"traceEvents":[\n')
        for first in range(0, count, BLOCK):
            file.write(",\n" * (first > 0) + block(first, min(BLOCK, count - first), kind == "names"))
        file.write("\n]}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
