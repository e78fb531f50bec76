# SPDX-License-Identifier: MIT
"""compare.py RECORD.json CYCLE.json CYCLE_GZ.json TORCH.json: hipboard's figures beside torch's."""
import json
import sys


def load(path):
    with open(path) as file:
        return json.load(file)


def row(what, unit, ours, theirs=None, more_is_better=False):
    factor = ""
    if theirs:
        ratio = ours / theirs if more_is_better else theirs / ours
        factor = f"{ratio:.3g}x"
    print(f"{what:44} {ours:12.4g} {'' if theirs is None else format(theirs, '12.4g'):>12} "
          f"{unit:12} {factor:>8}")


def scopes(record, torch):
    counter = record["two counter reads"]["off"]
    scope = record["scope, literal name"]
    row("two counter reads", "ns", counter)
    row("empty loop", "ns", record["empty loop"]["off"], torch["loop"])
    for name in ("_RecordFunctionFast", "record_function"):
        row(f"scope, off - {name}", "ns", scope["off"], torch[name]["off"])
        row(f"scope, on - {name}", "ns", scope["on"], torch[name]["on"])
    added = {key: torch["cpu_op"][key] - torch["cpu_op"]["off"] for key in ("on", "shapes")}
    row("operator, added by recording", "ns",
        record["operator"]["on"] - record["operator"]["off"], added["on"])
    shapes = record["operator with shapes"]
    row("operator with shapes, added by recording", "ns", shapes["on"] - shapes["off"],
        added["shapes"])
    row("memory event", "ns", record["memory event"]["on"])
    row("scope, on, 2 threads at once", "ns", scope["two_threads"])
    print(f"{'a recorded scope is':44} {scope['on'] / counter:12.3g} counter reads of two")


def exports(cycles, torch):
    for ours, kind, name in zip(cycles, ("json", "gz"), ("JSON", "gz")):
        theirs = torch[kind]
        row(f"end of a cycle, caller blocked ({name})", "ms/M events",
            1e6 * ours["blocked_ms"] / ours["events"],
            1e9 * theirs["stop_seconds"] / theirs["events"])
        row(f"export to {name}", "M events/s", ours["events_per_s"] / 1e6,
            theirs["events"] / theirs["export_seconds"] / 1e6, more_is_better=True)
        row(f"size of {name}", "bytes/event", 1e6 * ours["file_mb"] / ours["events"],
            theirs["bytes"] / theirs["events"])
        row(f"writer's memory over the records ({name})", "MB", ours["writer_mb"])


def main(record_path, json_path, gz_path, torch_path):
    torch = load(torch_path)
    print(f"{'':44} {'hipboard':>12} {'torch':>12} {'':12} {'better':>8}   "
          f"(torch {torch['version']})")
    scopes(load(record_path), torch)
    exports((load(json_path), load(gz_path)), torch)


main(*sys.argv[1:])
