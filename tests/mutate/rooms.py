# SPDX-License-Identifier: MIT
"""Which tests are asked whether they notice a fault in a room: programs of the unit suite, then
files of tests/e2e, those that are fast first."""

ROOMS = {
    "base": (["base", "crc32c", "read", "writer", "query", "compare", "table", "limits", "publish",
              "event_log"], ["test_commands.py", "test_odd_files.py", "test_check.py"]),
    "trace": (["read", "chunks", "query", "table", "insights", "cycle_trace", "convert", "writer"],
              ["test_odd_files.py", "test_check.py"]),
    "read": (["read", "chunks", "query", "convert", "compare"],
             ["test_odd_files.py", "test_check.py", "test_commands.py"]),
    "report": (["query", "table", "profile_summary", "cycle_numbers"],
               ["test_texts.py", "test_memory.py", "test_view.py", "test_table.py",
                "test_query_property.py"]),
    "query": (["query", "insights", "table", "read", "compare"],
              ["test_texts.py", "test_commands.py", "test_odd_files.py", "test_check.py",
               "test_steps.py", "test_view.py", "test_view_insights.py", "test_view_ranks.py", "test_memory.py",
               "test_stacks.py", "test_query_property.py"]),
    "compare": (["compare", "rank_test", "sequence"], ["test_texts_compare.py", "test_compare.py"]),
    "analyze": (["query", "insights", "table", "cycle_numbers", "cycle_advice", "compare",
                 "code_object", "occupancy"],
                ["test_odd_files.py", "test_view.py", "test_view_insights.py", "test_view_ranks.py",
                 "test_memory.py", "test_stacks.py", "test_table.py", "test_query_property.py"]),
    "convert": (["convert", "fuzz_convert"], ["test_convert.py", "test_check.py"]),
    "write": (["writer", "writer_golden", "gzip", "publish", "event_file", "event_log",
               "event_queue", "histogram", "summary", "profile_summary", "convert"],
              ["test_trace_format.py", "test_convert.py", "test_event_log.py"]),
    "record": (["record", "turns", "stack", "profiler", "limits", "life"], ["test_samples.py"]),
    "profiler": (["profiler", "run_log", "schedule", "cycle_trace", "live_tables", "git_commit",
                  "life", "limits"], ["test_samples.py", "test_record.py", "test_cycle_log.py"]),
    "device": (["calls", "missing", "capture", "unchanged", "hip_calls", "launches", "surroundings",
                "occupancy", "code_metadata"], ["test_gpu.py", "test_info.py"]),
    "tools": ([], ["test_texts.py", "test_texts_compare.py", "test_commands.py", "test_terminal.py", "test_odd_files.py", "test_check.py",
                   "test_steps.py", "test_view.py", "test_view_insights.py", "test_view_ranks.py",
                   "test_stacks.py", "test_memory.py", "test_convert.py", "test_compare.py"]),
}

FOLDERS = {"tools": "tools/hipboard"}


def folder(room):
    return FOLDERS.get(room, f"src/{room}")
