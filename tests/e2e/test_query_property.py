# SPDX-License-Identifier: MIT
"""`hipboard query` answers as the installed plugin does, for random log directories."""
import json
import os
import random
import subprocess

import pytest

import plugin_in_process
import random_traces
from support import BUILD

SEEDS = int(os.environ.get("HB_PROPERTY_SEEDS", "60"))
FIRST = int(os.environ.get("HB_PROPERTY_FIRST", "1"))


def query(logdir, url):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "query", logdir, url],
                          capture_output=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.decode())


def differences(logdir):
    plugin = plugin_in_process.Plugin(logdir)
    for url in plugin_in_process.questions(plugin):
        status, expected = plugin.get(url)
        answer, error = query(logdir, url)
        if status != 200 and not error:
            yield f"{url}: the plugin answers {status}, hipboard {json.dumps(answer)[:300]}"
        elif status == 200 and error:
            yield f"{url}: hipboard fails: {error}"
        elif status == 200 and not plugin_in_process.same(expected, answer):
            yield f"{url}:\n  {json.dumps(expected)[:3000]}\n  {json.dumps(answer)[:3000]}"


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
