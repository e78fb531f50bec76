# SPDX-License-Identifier: MIT
"""Which files of tests/e2e are asked whether they notice a fault in a room, where no test of meson's
did. Those of them that execute the line are, whatever their order here."""
from pathlib import Path

VIEWS = ["test_whole_outputs.py", "test_page_whole.py", "test_texts.py", "test_texts_ranks.py", "test_view.py",
         "test_view_insights.py", "test_view_ranks.py", "test_memory.py", "test_stacks.py", "test_steps.py", "test_table.py",
         "test_query_property.py", "test_odd_files.py"]
COMMANDS = [*VIEWS, "test_command_line.py", "test_command_surroundings.py", "test_commands.py", "test_check.py", "test_convert.py", "test_texts_compare.py",
            "test_compare.py", "test_null_arguments.py"]
IMPORTS = ["test_whole_files.py", "test_import.py", "test_export.py", "test_null_arguments.py"]
RECORDED = ["test_record.py", "test_cycle_log.py", "test_trigger.py"]
WRITTEN = ["test_whole_files.py", "test_trace_format.py", "test_convert.py", "test_event_log.py"]
RANKS = ["test_texts_ranks.py", "test_rank_files.py", "test_rank_study.py"]
PAGE = ["test_page_whole.py", "test_page_timeline.py", "test_page_answers.py"]
SHOWN = ["test_report.py", "test_serve.py"] # in a browser

ROOMS = {
    # common
    "base": COMMANDS,
    "rules": [*VIEWS, *WRITTEN],
    "gpu": [*VIEWS, "test_gpu.py"],
    "io": WRITTEN,
    "ops": ["test_op_headers.py", "test_operators.py"],
    "trace": ["test_odd_files.py", "test_check.py"],
    "steps": ["test_steps.py", "test_operators.py", "test_import.py"],
    "write": [*WRITTEN, "test_annotations.py", "test_twin.py", "test_export.py"],
    "digest": ["test_rank_digests.py", *RANKS, *RECORDED],
    # recorder
    "symbols": ["test_stacks.py", "test_sampling.py", "test_operators.py", "test_record.py"],
    "record": [*RECORDED, "test_operators.py", "test_stacks.py"],
    "pace": ["test_record.py", "test_schedule.py"],
    "sampling": ["test_sampling.py"],
    "interpose": ["test_record.py", "test_operators.py"],
    "operators": ["test_operators.py", "test_small_libraries.py", "test_rccl.py", "test_rocprofiler.py"],
    "comm": ["test_mpi.py", "test_clocks.py", "test_rccl.py"],
    "openmp": ["test_openmp.py"],
    "hip": [*RECORDED, "test_rocprofiler.py", "test_info.py"],
    "replay": [*RECORDED, "test_sampling.py", "test_annotations.py", "test_rccl.py"],
    "telemetry": ["test_telemetry.py"],
    "tfevents": WRITTEN,
    "summary": [*RECORDED, "test_memory.py", "test_profile_summary.py"],
    "profiler": [*RECORDED, "test_surroundings.py", "test_launch.py", "test_rccl.py", "test_rank_files.py"],
    # analysis
    "read": ["test_odd_files.py", "test_check.py", "test_commands.py", "test_convert.py",
             "test_texts.py", "test_query_property.py"],
    "import": IMPORTS,
    "export": IMPORTS,
    "normalize": [*VIEWS, "test_convert.py", "test_check.py"],
    "timeline": PAGE,
    "doc": COMMANDS,
    "plugin": VIEWS,
    "torch": VIEWS,
    "insight": VIEWS,
    "logdir": [*COMMANDS, "test_pack.py"],
    "ranks": [*RANKS, "test_rank_numbers.py", "test_rank_lateness.py", "test_rank_stories.py",
              "test_rank_digests.py", "test_view_ranks.py", "test_clocks.py", "test_null_arguments.py"],
    "compare": ["test_whole_outputs.py", "test_texts_compare.py", "test_compare.py"],
    "check": COMMANDS,
    "convert": ["test_whole_files.py", "test_convert.py", "test_convert_parts.py", "test_check.py", "test_view.py", "test_null_arguments.py"],
    "pack": ["test_pack.py", "test_null_arguments.py"],
    "routes": COMMANDS,
    "api": [*COMMANDS, *IMPORTS, "test_rank_digests.py", "test_page_answers.py", "test_telemetry.py",
            "test_op_headers.py", "test_info.py"],
    "page": [*PAGE, "test_whole_outputs.py", "test_rank_numbers.py", "test_null_arguments.py", *SHOWN],
    "tools": ["test_kokkos.py", "test_recorded_process.py", "test_launch.py", *COMMANDS, *IMPORTS, *RANKS, *RECORDED, "test_terminal.py", "test_pack.py",
              "test_rank_digests.py", "test_serve.py", "test_report.py", "test_info.py"],
}

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"tools": "tools/hipboard"}


def folder(room):
    [found] = [FOLDERS[room]] if room in FOLDERS else [
        path.relative_to(ROOT).as_posix() for path in ROOT.glob(f"src/*/{room}")]
    return found
