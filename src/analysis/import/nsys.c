/* SPDX-License-Identifier: MIT
 *
 * Nsight Systems' reports as `nsys export --type sqlite` makes them. Times count from the session's
 * start, whose Unix time is told. Ids of threads hold their process: the machine's number, 24 bits
 * of the process's, 24 of the thread's. The environment, the program's output and other programs
 * are in such files, too: they are not looked at.
 */
#include <stdlib.h>

#include "import/id_index.h"
#include "import/import_set.h"
#include "import/rows_shared.h"
#include "import/sqlite_file.h"

enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60 }; /* types of events */
enum { LARGEST = 1023 };

typedef struct nsys_process {
    uint64_t key; /* machine and process */
    hb_import_process *p;
} nsys_process;

typedef struct nsys {
    hb_import *import;
    hb_arena *arena;
    hb_sqlite *db;
    hb_id_index strings, thread_names;
    HB_VEC(nsys_process) processes;
    const char *version;
    int64_t last; /* time */
} nsys;

static void leave(const nsys *n, hb_result result)
{
    if (result != HB_OK) hb_arena_leave(n->arena, result, "%s", hb_last_error());
}

static hb_sqlite_rows select_rows(const nsys *n, const char *table, const char *columns)
{
    hb_sqlite_rows rows;
    leave(n, hb_sqlite_select(n->db, table, columns, &rows));
    return rows;
}

static uint64_t id_in(const hb_sqlite_rows *rows, int column)
{
    return (uint64_t)hb_sqlite_int(rows, column);
}

static hb_string_id string_of(const nsys *n, const hb_sqlite_rows *rows, int column)
{
    return hb_sqlite_is_null(rows, column) ? 0 : hb_id_index_get(&n->strings, id_in(rows, column));
}

static uint32_t size_in(const hb_sqlite_rows *rows, int column)
{
    int64_t size = hb_sqlite_int(rows, column);
    return (uint32_t)HB_MIN(HB_MAX(size, 0), (int64_t)UINT32_MAX);
}

/* A GPU's number, or another one that is small. */
static int32_t small_in(const hb_sqlite_rows *rows, int column)
{
    return (int32_t)HB_MIN(HB_MAX(hb_sqlite_int(rows, column), 0), (int64_t)LARGEST);
}

static hb_import_process *process_of(nsys *n, uint64_t global)
{
    uint64_t key = global >> 24;
    for (uint32_t i = 0; i < n->processes.count; i++)
        if (n->processes.items[i].key == key) return n->processes.items[i].p;
    hb_import_process *p = hb_import_add_process(n->import, "nsys", n->version);
    *HB_PUSH(n->arena, &n->processes) = (nsys_process){key, p};
    p->pid = (int64_t)(key & 0xffffff);
    return p;
}

static uint32_t thread_of(const nsys *n, hb_import_process *p, uint64_t global)
{
    return hb_import_thread_of(n->arena, &p->rows, (int64_t)(global & 0xffffff),
                               hb_id_index_get(&n->thread_names, global));
}

/* ---- names ---- */

static void read_strings(nsys *n)
{
    hb_sqlite_rows rows = select_rows(n, "StringIds", "id, value");
    while (hb_sqlite_next(&rows)) {
        hb_str text = hb_sqlite_text(&rows, 1);
        hb_string_id id = hb_texts_add(&n->import->texts, text.s, text.len);
        if (!id) leave(n, hb_no_memory());
        hb_id_index_set(n->arena, &n->strings, id_in(&rows, 0), id);
    }
    leave(n, hb_sqlite_done(&rows));
    rows = select_rows(n, "ThreadNames", "globalTid, nameId");
    while (hb_sqlite_next(&rows)) {
        hb_string_id name = string_of(n, &rows, 1);
        if (name) hb_id_index_set(n->arena, &n->thread_names, id_in(&rows, 0), name);
    }
    leave(n, hb_sqlite_done(&rows));
}

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000" */
static hb_string_id call_name(nsys *n, hb_string_id name)
{
    hb_str text = hb_texts_get(&n->import->texts, name);
    uint32_t k = text.len;
    while (k && text.s[k - 1] >= '0' && text.s[k - 1] <= '9')
        k--;
    if (k == text.len || k < 3 || memcmp(text.s + k - 2, "_v", 2) != 0) return name;
    hb_string_id plain = hb_texts_add(&n->import->texts, text.s, k - 2);
    if (!plain) leave(n, hb_no_memory());
    return plain;
}

/* ---- the host ---- */

static hb_import_host *add_host(nsys *n, hb_import_process *p, hb_column *column, hb_string_id name,
                                uint64_t thread, int64_t start, int64_t end)
{
    if (!name) p->rows.notes[HB_IMPORT_BAD_ROWS]++;
    if (!name || !hb_import_times(&p->rows, start, &end)) return NULL;
    n->last = HB_MAX(n->last, end);
    hb_import_host *host = hb_import_push(n->arena, column);
    *host = (hb_import_host){
        .start = start, .end = end, .name = name, .thread = thread_of(n, p, thread)};
    return host;
}

static void read_calls(nsys *n)
{
    hb_string_id last = 0, plain = 0;
    hb_sqlite_rows rows = select_rows(n, "CUPTI_ACTIVITY_KIND_RUNTIME",
                                      "start, end, globalTid, correlationId, nameId");
    while (hb_sqlite_next(&rows)) {
        hb_import_process *p = process_of(n, id_in(&rows, 2));
        hb_string_id name = string_of(n, &rows, 4);
        if (hb_import_drops(n->import, p, HB_IMPORT_HIP)) continue;
        if (name && name != last) plain = call_name(n, last = name);
        hb_import_host *call = add_host(n, p, &p->rows.calls, name ? plain : 0, id_in(&rows, 2),
                                        hb_sqlite_int(&rows, 0), hb_sqlite_int(&rows, 1));
        if (call) call->correlation = (uint64_t)HB_MAX(hb_sqlite_int(&rows, 3), 0);
    }
    leave(n, hb_sqlite_done(&rows));
}

enum nvtx_column { N_START, N_END, N_TYPE, N_TEXT, N_TEXT_ID, N_THREAD };

static void add_range(nsys *n, const hb_sqlite_rows *rows)
{
    hb_import_process *p = process_of(n, id_in(rows, N_THREAD));
    hb_str text = hb_sqlite_text(rows, N_TEXT);
    hb_string_id name = string_of(n, rows, N_TEXT_ID);
    int64_t start = hb_sqlite_int(rows, N_START), type = hb_sqlite_int(rows, N_TYPE);
    bool ended = !hb_sqlite_is_null(rows, N_END);
    int64_t end = ended               ? hb_sqlite_int(rows, N_END)
                  : type == NVTX_MARK ? start
                                      : HB_MAX(n->last, start);
    bool known = type == NVTX_PUSH_POP || type == NVTX_START_END || type == NVTX_MARK ||
                 hb_sqlite_is_null(rows, N_TYPE);
    if (!known) return; /* names of domains and categories */
    if (hb_import_drops(n->import, p, HB_IMPORT_RANGES)) return;
    if (text.len) name = hb_import_text(n->arena, &p->rows, text);
    hb_import_host *range =
        add_host(n, p, &p->rows.scopes, name, id_in(rows, N_THREAD), start, end);
    if (range && !ended && type != NVTX_MARK) range->flags |= HB_IMPORT_UNFINISHED;
}

static void read_ranges(nsys *n)
{
    hb_sqlite_rows rows =
        select_rows(n, "NVTX_EVENTS", "start, end, eventType, text, textId, globalTid");
    while (hb_sqlite_next(&rows))
        add_range(n, &rows);
    leave(n, hb_sqlite_done(&rows));
}

/* ---- GPUs ---- */

/* What kernels, copies and fills begin with. */
#define WORK_COLUMNS "start, end, deviceId, streamId, correlationId, globalPid, "
enum work_column { W_START, W_END, W_GPU, W_STREAM, W_CORRELATION, W_PROCESS, W_OWN };

static void add_work(nsys *n, hb_import_process *p, const hb_sqlite_rows *rows,
                     const hb_import_launch *l, hb_string_id name)
{
    int64_t start = hb_sqlite_int(rows, W_START), end = hb_sqlite_int(rows, W_END);
    if (!hb_import_times(&p->rows, start, &end)) return;
    n->last = HB_MAX(n->last, end);
    hb_import_work *work = hb_import_push(n->arena, &p->rows.works);
    work->start = start;
    work->end = end;
    work->correlation = (uint64_t)HB_MAX(hb_sqlite_int(rows, W_CORRELATION), 0);
    work->name = name;
    work->launch = hb_import_distinct(n->arena, &p->rows.launches, l);
    work->lane = hb_import_lane_at(n->arena, &p->rows, small_in(rows, W_GPU), -1,
                                   HB_MAX(hb_sqlite_int(rows, W_STREAM), 0));
}

enum kernel_column {
    K_GRID = W_OWN,
    K_BLOCK = K_GRID + 3,
    K_REGISTERS = K_BLOCK + 3,
    K_STATIC,
    K_DYNAMIC,
    K_LOCAL,
    K_NAME,
    K_SHORT
};

static void add_kernel(nsys *n, const hb_sqlite_rows *rows)
{
    hb_import_launch l;
    hb_import_process *p = process_of(n, id_in(rows, W_PROCESS));
    hb_string_id name = string_of(n, rows, K_NAME);
    memset(&l, 0, sizeof l);
    l.kind = HB_EVENT_KERNEL;
    l.device = small_in(rows, W_GPU);
    for (int i = 0; i < 3; i++) {
        l.grid[i] = size_in(rows, K_GRID + i);
        l.block[i] = size_in(rows, K_BLOCK + i);
    }
    l.has_grid = l.grid[0] && l.block[0];
    l.has_resources = !hb_sqlite_is_null(rows, K_REGISTERS);
    l.vgprs = size_in(rows, K_REGISTERS);
    l.lds_bytes = (uint32_t)HB_MIN((uint64_t)size_in(rows, K_STATIC) + size_in(rows, K_DYNAMIC),
                                   (uint64_t)UINT32_MAX);
    l.scratch_bytes = size_in(rows, K_LOCAL);
    if (!name) name = string_of(n, rows, K_SHORT);
    if (!name) name = hb_import_text(n->arena, &p->rows, HB_STR("(kernel without name)"));
    add_work(n, p, rows, &l, name);
}

static void read_kernels(nsys *n)
{
    hb_sqlite_rows rows =
        select_rows(n, "CUPTI_ACTIVITY_KIND_KERNEL",
                    WORK_COLUMNS "gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, "
                                 "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, "
                                 "demangledName, shortName");
    while (hb_sqlite_next(&rows))
        add_kernel(n, &rows);
    leave(n, hb_sqlite_done(&rows));
}

enum copy_column { C_BYTES = W_OWN, C_KIND, C_FROM, C_TO };

/* CUPTI's kinds of copies: which ends are the host's. */
static void set_copy(hb_import_launch *l, const hb_sqlite_rows *rows)
{
    enum { FROM_HOST = 1, TO_HOST = 2, NEITHER = 0, UNKNOWN = 4 };
    static const uint8_t ends[] = {UNKNOWN, FROM_HOST, TO_HOST, FROM_HOST, TO_HOST,
                                   NEITHER, NEITHER,   NEITHER, NEITHER,   FROM_HOST | TO_HOST,
                                   NEITHER, FROM_HOST, TO_HOST, NEITHER,   FROM_HOST | TO_HOST};
    int64_t kind = hb_sqlite_int(rows, C_KIND);
    uint8_t end = kind > 0 && kind < (int64_t)sizeof ends ? ends[kind] : (uint8_t)UNKNOWN;
    int32_t gpu = small_in(rows, W_GPU);
    int32_t from = hb_sqlite_is_null(rows, C_FROM) ? gpu : small_in(rows, C_FROM);
    int32_t to = hb_sqlite_is_null(rows, C_TO) ? gpu : small_in(rows, C_TO);
    hb_import_set_copy(l, end & FROM_HOST ? -1 : from, end & TO_HOST ? -1 : to,
                       (uint64_t)HB_MAX(hb_sqlite_int(rows, C_BYTES), 0), false);
    if (end & UNKNOWN) l->copy = HB_IMPORT_COPY_UNKNOWN;
    l->device = gpu;
}

static void read_copies(nsys *n, const char *table, bool fills)
{
    hb_sqlite_rows rows =
        select_rows(n, table, WORK_COLUMNS "bytes, copyKind, srcDeviceId, dstDeviceId");
    while (hb_sqlite_next(&rows)) {
        hb_import_launch l;
        hb_import_process *p = process_of(n, id_in(&rows, W_PROCESS));
        int32_t gpu = small_in(&rows, W_GPU);
        if (hb_import_drops(n->import, p, HB_IMPORT_COPIES)) continue;
        memset(&l, 0, sizeof l);
        if (fills)
            hb_import_set_copy(&l, gpu, gpu, (uint64_t)HB_MAX(hb_sqlite_int(&rows, C_BYTES), 0),
                               true);
        else
            set_copy(&l, &rows);
        add_work(n, p, &rows, &l, 0);
    }
    leave(n, hb_sqlite_done(&rows));
}

/* ---- memory ---- */

static void add_memory(nsys *n, const hb_sqlite_rows *rows)
{
    enum { DEVICE_FIRST = 2, DEVICE_LAST = 6 }; /* kinds of memory that a GPU has */
    hb_import_process *p = process_of(n, id_in(rows, 1));
    int64_t time = hb_sqlite_int(rows, 0), end = time, kind = hb_sqlite_int(rows, 5);
    bool gpu = hb_sqlite_is_null(rows, 5) || (kind >= DEVICE_FIRST && kind <= DEVICE_LAST);
    if (hb_import_drops(n->import, p, HB_IMPORT_MEMORY) || !hb_import_times(&p->rows, time, &end))
        return;
    hb_import_memory *m = hb_import_push(n->arena, &p->rows.memory);
    m->time = time;
    m->address = id_in(rows, 3);
    m->frees = hb_sqlite_int(rows, 6) == 1;
    m->bytes = m->frees ? 0 : HB_MAX(hb_sqlite_int(rows, 4), 0);
    m->thread = hb_import_thread_of(n->arena, &p->rows, p->pid, 0);
    m->device = gpu ? small_in(rows, 2) : -1;
}

static void read_memory(nsys *n)
{
    hb_sqlite_rows rows =
        select_rows(n, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                    "start, globalPid, deviceId, address, bytes, memKind, memoryOperationType");
    while (hb_sqlite_next(&rows))
        add_memory(n, &rows);
    leave(n, hb_sqlite_done(&rows));
}

/* ---- what all are about ---- */

static void add_gpu(nsys *n, hb_import_process *p, const hb_sqlite_rows *rows, int32_t id)
{
    *HB_PUSH(n->arena, &p->rows.devices) = (hb_device_info){
        .id = id,
        .name = hb_import_copy_text(n->import, hb_sqlite_text(rows, 1)),
        .arch = "",
        .total_global_mem = (uint64_t)HB_MAX(hb_sqlite_int(rows, 2), 0),
        .num_cus = small_in(rows, 3),
        .compute_major = small_in(rows, 4),
        .compute_minor = small_in(rows, 5),
        .warp_size = small_in(rows, 6),
        .max_threads_per_block = (int32_t)(size_in(rows, 7) & 0xffff),
        .max_threads_per_cu = small_in(rows, 6) * small_in(rows, 8),
        .shared_mem_per_block = size_in(rows, 9),
        .max_shared_mem_per_cu = size_in(rows, 10),
    };
}

/* CUDA may number a machine's GPUs otherwise than the machine does. */
static void read_gpus(nsys *n)
{
    hb_id_index numbers = {0};
    hb_sqlite_rows rows = select_rows(n, "TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId");
    while (hb_sqlite_next(&rows))
        hb_id_index_set(n->arena, &numbers, id_in(&rows, 0), (uint32_t)small_in(&rows, 1) + 1);
    leave(n, hb_sqlite_done(&rows));
    rows = select_rows(n, "TARGET_INFO_GPU",
                       "id, name, totalMemory, smCount, computeMajor, computeMinor, "
                       "threadsPerWarp, maxThreadsPerBlock, maxWarpsPerSm, maxShmemPerBlock, "
                       "maxShmemPerSm");
    while (hb_sqlite_next(&rows)) {
        uint32_t number = hb_id_index_get(&numbers, id_in(&rows, 0));
        for (uint32_t i = 0; i < n->processes.count; i++)
            add_gpu(n, n->processes.items[i].p, &rows,
                    number ? (int32_t)number - 1 : small_in(&rows, 0));
    }
    hb_id_index_free(n->arena, &numbers);
    leave(n, hb_sqlite_done(&rows));
}

/* Of the many programs of the machine those that were recorded. */
static void read_programs(nsys *n)
{
    hb_sqlite_rows rows = select_rows(n, "PROCESSES", "globalPid, name");
    while (hb_sqlite_next(&rows))
        for (uint32_t i = 0; i < n->processes.count; i++) {
            if (n->processes.items[i].key != id_in(&rows, 0) >> 24) continue;
            hb_str name = hb_sqlite_text(&rows, 1);
            const char *slash = name.len ? memrchr(name.s, '/', name.len) : NULL;
            if (slash) name = (hb_str){slash + 1, name.len - (uint32_t)(slash + 1 - name.s)};
            n->processes.items[i].p->program = hb_import_copy_text(n->import, name);
        }
    leave(n, hb_sqlite_done(&rows));
}

static void read_start(nsys *n)
{
    int64_t start = 0;
    hb_sqlite_rows rows = select_rows(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
    while (hb_sqlite_next(&rows))
        start = hb_sqlite_int(&rows, 0);
    leave(n, hb_sqlite_done(&rows));
    for (uint32_t i = 0; i < n->processes.count && start > 0; i++) {
        n->processes.items[i].p->clock_is_unix = true;
        n->processes.items[i].p->offset = start;
    }
}

/* That of the export's tables, where it is told. */
static void read_version(nsys *n)
{
    n->version = "";
    hb_sqlite_rows rows = select_rows(n, "META_DATA_EXPORT", "name, value");
    while (hb_sqlite_next(&rows))
        if (hb_str_is(hb_sqlite_text(&rows, 0), "EXPORT_SCHEMA_VERSION"))
            n->version = hb_import_copy_text(n->import, hb_sqlite_text(&rows, 1));
    leave(n, hb_sqlite_done(&rows));
}

static void count_syncs(nsys *n)
{
    hb_sqlite_rows rows = select_rows(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "globalPid");
    while (hb_sqlite_next(&rows))
        process_of(n, id_in(&rows, 0))->rows.notes[HB_IMPORT_NOT_SHOWN]++;
    leave(n, hb_sqlite_done(&rows));
}

static void close_file(void *context)
{
    nsys *n = context;
    hb_id_index_free(n->arena, &n->strings);
    hb_id_index_free(n->arena, &n->thread_names);
    hb_sqlite_close(n->db);
    n->db = NULL;
}

bool hb_nsys_probe(const hb_import_probe *probe)
{
    return hb_import_has_table(probe, "CUPTI_ACTIVITY_KIND_") ||
           hb_import_has_table(probe, "NVTX_EVENTS");
}

void hb_nsys_open(hb_import *import, const char *path)
{
    nsys *n = hb_arena_alloc(&import->arena, sizeof *n);
    *n = (nsys){.import = import, .arena = &import->arena};
    hb_import_guard(import, close_file, n);
    leave(n, hb_sqlite_open(path, hb_import_progress, import, &n->db));
    read_version(n);
    read_strings(n);
    read_calls(n);
    read_kernels(n);
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMCPY", false);
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMSET", true);
    read_memory(n);
    read_ranges(n);
    count_syncs(n);
    read_gpus(n);
    read_programs(n);
    read_start(n);
    if (hb_sqlite_missed(n->db)) hb_warn("%s: %s", path, hb_sqlite_missed(n->db));
    hb_import_unguard(import);
}
