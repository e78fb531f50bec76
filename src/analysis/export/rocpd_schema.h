/* SPDX-License-Identifier: MIT
 *
 * rocpd's tables of schema 3.0.0, with the names and columns that AMD's readers know.
 */
#ifndef HB_EXPORT_ROCPD_SCHEMA_H
#define HB_EXPORT_ROCPD_SCHEMA_H

/* A table's name and its columns behind id, and guid but for metadata. */
#define HB_ROCPD_TABLES(X)                                                                      \
    X("metadata", "tag TEXT NOT NULL, value TEXT NOT NULL")                                     \
    X("string", "string TEXT NOT NULL UNIQUE ON CONFLICT ABORT")                                \
    X("info_node", "hash BIGINT NOT NULL UNIQUE, machine_id TEXT NOT NULL UNIQUE, "             \
                   "system_name TEXT, hostname TEXT, release TEXT, version TEXT, "              \
                   "hardware_name TEXT, domain_name TEXT")                                      \
    X("info_process", "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, init BIGINT, " \
                      "fini BIGINT, start BIGINT, end BIGINT, command TEXT, "                   \
                      "environment JSONB DEFAULT '{}' NOT NULL, extdata JSONB DEFAULT '{}' "    \
                      "NOT NULL")                                                               \
    X("info_thread", "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, tid INTEGER "   \
                     "NOT NULL, name TEXT, start BIGINT, end BIGINT, " EXTDATA)                 \
    X("info_agent", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, type TEXT, absolute_index "    \
                    "INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, "        \
                    "name TEXT, model_name TEXT, vendor_name TEXT, product_name TEXT, "         \
                    "user_name TEXT, " EXTDATA)                                                 \
    X("info_queue", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, " EXTDATA)          \
    X("info_stream", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, " EXTDATA)         \
    X("info_pmc", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, target_arch "  \
                  "TEXT, event_code INT, instance_id INTEGER, name TEXT NOT NULL, symbol TEXT " \
                  "NOT NULL, description TEXT, long_description TEXT DEFAULT '', component "    \
                  "TEXT, units TEXT DEFAULT '', value_type TEXT, block TEXT, expression TEXT, " \
                  "is_constant INTEGER, is_derived INTEGER, " EXTDATA)                          \
    X("info_code_object", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, uri "  \
                          "TEXT, load_base BIGINT, load_size BIGINT, load_delta BIGINT, "       \
                          "storage_type TEXT, " EXTDATA)                                        \
    X("info_kernel_symbol", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, code_object_id "       \
                            "INTEGER NOT NULL, kernel_name TEXT, display_name TEXT, "           \
                            "kernel_object INTEGER, kernarg_segment_size INTEGER, "             \
                            "kernarg_segment_alignment INTEGER, group_segment_size INTEGER, "   \
                            "private_segment_size INTEGER, sgpr_count INTEGER, "                \
                            "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, " EXTDATA)      \
    X("track", "nid INTEGER NOT NULL, pid INTEGER, tid INTEGER, name_id INTEGER, " EXTDATA)     \
    X("event", "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, "               \
               "correlation_id INTEGER, call_stack JSONB DEFAULT '{}' NOT NULL, line_info "     \
               "JSONB DEFAULT '{}' NOT NULL, " EXTDATA)                                         \
    X("arg", "event_id INTEGER NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL, name "  \
             "TEXT NOT NULL, value TEXT, " EXTDATA)                                             \
    X("pmc_event", "event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL DEFAULT 0.0, "        \
                   "extdata JSONB DEFAULT '{}'")                                                \
    X("region", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL, start "      \
                "BIGINT NOT NULL, end BIGINT NOT NULL, name_id INTEGER NOT NULL, event_id "     \
                "INTEGER, " EXTDATA)                                                            \
    X("sample",                                                                                 \
      "track_id INTEGER NOT NULL, timestamp BIGINT NOT NULL, event_id INTEGER, " EXTDATA)       \
    X("kernel_dispatch", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id "   \
                         "INTEGER NOT NULL, kernel_id INTEGER NOT NULL, dispatch_id INTEGER "   \
                         "NOT NULL, queue_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, "    \
                         "start BIGINT NOT NULL, end BIGINT NOT NULL, private_segment_size "    \
                         "INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER NOT "   \
                         "NULL, workgroup_size_y INTEGER NOT NULL, workgroup_size_z INTEGER "   \
                         "NOT NULL, grid_size_x INTEGER NOT NULL, grid_size_y INTEGER NOT "     \
                         "NULL, grid_size_z INTEGER NOT NULL, region_name_id INTEGER, "         \
                         "event_id INTEGER, " EXTDATA)                                          \
    X("memory_copy", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, start BIGINT "   \
                     "NOT NULL, end BIGINT NOT NULL, name_id INTEGER NOT NULL, dst_agent_id "   \
                     "INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address "         \
                     "INTEGER, size INTEGER NOT NULL, queue_id INTEGER, stream_id INTEGER, "    \
                     "region_name_id INTEGER, event_id INTEGER, " EXTDATA)                      \
    X("memory_allocate", "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id "   \
                         "INTEGER, type TEXT, level TEXT, start BIGINT NOT NULL, end BIGINT "   \
                         "NOT NULL, address INTEGER, size INTEGER NOT NULL, queue_id INTEGER, " \
                         "stream_id INTEGER, event_id INTEGER, " EXTDATA)

#define EXTDATA "extdata JSONB DEFAULT '{}' NOT NULL"

#endif
