# SPDX-License-Identifier: MIT
"""A trace of any size: the events of one, again and again, each time later and with further ids.

    python3 tests/bench/longer_trace.py TRACE TIMES OUT

TRACE is one as torch.profiler writes it (export_chrome_trace(); table_beside_torch.py keeps one),
indented. What stands behind its last operator comes once, at the end."""
import re
import sys

NUMBERS = re.compile(rb'("ts": |"External id": |"Ev Idx": |"correlation": )(\d+)')


def cut(text):
    """What stands in front of the complete events, those, and the rest."""
    first, last = text.index(b'"ph": "X"'), text.rindex(b'"cat": "Trace"')
    return text.rindex(b"{", 0, first), text.rindex(b"{", 0, last)


def highest(text, name):
    return max(map(int, re.findall(name + rb'": (\d+)', text)), default=0)


def main(path, times, out):
    with open(path, "rb") as file:
        text = file.read()
    start, end = cut(text)
    events = text[start:end]
    steps = {name: highest(events, name[1:]) + 1 for name in
             (b'"External id', b'"Ev Idx', b'"correlation')}
    stamps = [int(m) for m in (re.search(rb'"ts": (\d+)', events)[1],
                               re.search(rb'"ts": (\d+)', events[events.rindex(b'"ts"'):])[1])]
    steps[b'"ts'] = stamps[1] - stamps[0] + 1000
    with open(out, "wb") as file:
        file.write(text[:end])
        for i in range(1, int(times)):
            add = {name + b'": ': i * step for name, step in steps.items()}
            file.write(NUMBERS.sub(lambda m, a=add: m[1] + b"%d" % (int(m[2]) + a[m[1]]), events))
        file.write(text[end:])


if __name__ == "__main__":
    main(*sys.argv[1:])
