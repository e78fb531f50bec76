/* SPDX-License-Identifier: MIT
 *
 * The formats, and how a file's is found: by its content alone.
 */
#include <stdlib.h>

#include "base/files.h"
#include "import/import_set.h"
#include "import/sqlite_file.h"
#include "import/whole_file.h"
#include "read/zstd_stream.h"

static bool begins(const hb_import_probe *probe, const char *magic, size_t size)
{
    return probe->size >= size && memcmp(probe->head, magic, size) == 0;
}

static bool is_sqlite(const hb_import_probe *probe)
{
    return begins(probe, "SQLite format 3", 16);
}

static bool is_perf(const hb_import_probe *probe)
{
    return begins(probe, "PERFILE2", 8);
}

/* Only where it could not be looked into. */
static bool is_zstd(const hb_import_probe *probe)
{
    return hb_begins_as_zstd(probe->head, probe->size);
}

/* Of JAX and TensorFlow: JSON of Chrome without categories, and JAX's copy of it for Perfetto. */
static bool is_xla_viewer(const hb_import_probe *probe)
{
    hb_str head = {probe->head, (uint32_t)probe->size};
    return probe->head[0] == '{' &&
           (hb_str_has(head, "\"highres-ticks\"") || hb_str_has(head, "\"process_sort_index\"")) &&
           (hb_str_has(head, "\"/host:CPU\"") || hb_str_has(head, "\"/device:"));
}

static bool is_tracy(const hb_import_probe *probe)
{
    return begins(probe, "tlZ\4", 4) || begins(probe, "tZst", 4) || begins(probe, "tr\xfdP", 4);
}

/* The first that fits. */
static const hb_import_format formats[] = {
#ifdef HB_WITH_SQLITE
    {"rocpd", hb_rocpd_probe, hb_rocpd_open, NULL},
    {"RPD", hb_rpd_probe, hb_rpd_open, NULL},
    {"rocprof", hb_rocprof1_db_probe, hb_rocprof1_db_open, NULL},
    {"nsys", hb_nsys_probe, hb_nsys_open, NULL},
    {"SQLite", is_sqlite, NULL,
     "a SQLite database without tables that are known; read are those of rocprofv3 and rocprof-sys "
     "(rocpd), of rocmProfileData (RPD), of rocprof and of nsys"},
#else
    {"SQLite", is_sqlite, NULL,
     "a SQLite database, for which this hipboard was built without libsqlite3: build it with meson "
     "setup -Dsqlite=enabled"},
#endif
    {"rocprofv3 JSON", hb_rocprofv3_json_probe, hb_rocprofv3_json_open, NULL},
    {"rocprof JSON", hb_rocprof1_json_probe, hb_rocprof1_json_open, NULL},
    {"ONNX Runtime", hb_onnx_probe, hb_onnx_open, NULL},
    {"Chrome JSON", hb_chrome_json_probe, hb_chrome_json_open, NULL},
    {"rocprof CSV", hb_rocprof_csv_probe, hb_rocprof_csv_open, NULL},
    {"statistics", hb_rocprof_stats_probe, NULL,
     "statistics, without the time of any event: the tool's table of events lies beside it, as "
     "*_kernel_trace.csv, or is written with --kernel-trace --hip-trace"},
    {"Tracy CSV", hb_tracy_probe, hb_tracy_open, NULL},
    {"Tracy's sums", hb_tracy_sums_probe, NULL,
     "sums of tracy-csvexport, without the time of any zone: tracy-csvexport -u writes each of "
     "them"},
    {"XPlane", hb_xplane_probe, hb_xplane_open, NULL},
    {"Perfetto", hb_perfetto_probe, hb_perfetto_open, NULL},
    {"XLA's trace viewer", is_xla_viewer, NULL,
     "what XLA's trace viewer shows, without what is behind it: the .xplane.pb beside it is read"},
    {"zstd", is_zstd, NULL,
     "compressed by zstd, and there is no libzstd.so.1: install it (Debian: libzstd1), or unpack "
     "the file by zstd -d"},
    {"perf.data", is_perf, NULL,
     "perf's samples of the processor, which have no GPU work: perf report or perf script reads "
     "them"},
    {"Tracy", is_tracy, NULL,
     "Tracy's own format: tracy-csvexport -u makes a table of it, which is read"},
};

#ifdef HB_WITH_SQLITE
typedef struct table_search {
    char name[64];
    bool whole, found;
} table_search;

static void note_table(void *context, const char *table)
{
    table_search *search = context;
    search->found |= !search->whole || strcmp(table, search->name) == 0;
}

/* Of "CREATE TABLE OPS (" that is one of just this name. */
static table_search search_for(const char *prefix)
{
    static const char create[] = "CREATE TABLE ";
    bool whole = strncmp(prefix, create, sizeof create - 1) == 0;
    const char *name = whole ? prefix + sizeof create - 1 : prefix;
    table_search search = {.whole = whole};
    memcpy(search.name, name, HB_MIN(strcspn(name, " "), sizeof search.name - 1));
    return search;
}

/* The schema stands at the beginning, but for databases that were changed much. */
bool hb_import_has_table(const hb_import_probe *probe, const char *prefix)
{
    hb_sqlite *db;
    table_search search = search_for(prefix);
    if (!is_sqlite(probe)) return false;
    if (memmem(probe->head, probe->size, prefix, strlen(prefix))) return true;
    if (hb_sqlite_open(probe->path, NULL, NULL, &db) != HB_OK) return false;
    (void)hb_sqlite_tables(db, search.name, note_table, &search);
    hb_sqlite_close(db);
    return search.found;
}
#endif

const hb_import_format *hb_import_format_of(const char *path)
{
    const hb_import_format *found = NULL;
    char *head = calloc(1, HB_IMPORT_HEAD_SIZE + HB_SCAN_PADDING);
    if (!head) return NULL;
    hb_import_probe probe = {path, head, hb_file_head(path, head, HB_IMPORT_HEAD_SIZE)};
    for (size_t i = 0; !found && i < HB_ARRAY_LEN(formats); i++)
        if (formats[i].probe(&probe)) found = &formats[i];
    free(head);
    return found;
}

bool hb_import_knows(const char *path)
{
    return path && hb_import_format_of(path) != NULL;
}
