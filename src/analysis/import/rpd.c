/* SPDX-License-Identifier: MIT
 *
 * RPD of rocmProfileData, schema 2: a SQLite database of calls (rocpd_api) and what ran on GPUs
 * (rocpd_op), joined by rocpd_api_ops. Work of one call may be many kernels, as a graph's. What the
 * program marked are calls named UserMarker; torch's operators come so.
 */
#include <stdio.h>
#include <stdlib.h>

#include "import/demangle.h"
#include "import/id_index.h"
#include "import/import_set.h"
#include "import/rows_shared.h"
#include "import/sqlite_file.h"

/* A row of rocpd_api. */
typedef struct rpd_call {
    uint16_t process;
    bool range, kept;
    bool items;   /* its grid counts work-items */
    uint32_t row; /* of calls or scopes */
    hb_import_launch launch;
} rpd_call;

typedef struct rpd {
    hb_import *import;
    hb_arena *arena;
    hb_sqlite *db;
    hb_id_index strings, calls, ops; /* calls: + 1 of `call_list`; ops: of calls */
    HB_VEC(hb_import_process *) processes;
    hb_column call_list;
    uint64_t first_call, first_op; /* sessions count from multiples of 2^32 */
} rpd;

static void leave(const rpd *r, hb_result result)
{
    if (result != HB_OK) hb_arena_leave(r->arena, result, "%s", hb_last_error());
}

static hb_sqlite_rows select_rows(const rpd *r, const char *table, const char *columns)
{
    hb_sqlite_rows rows;
    leave(r, hb_sqlite_select(r->db, table, columns, &rows));
    return rows;
}

static hb_string_id string_of(const rpd *r, const hb_sqlite_rows *rows, int column)
{
    return hb_id_index_get(&r->strings, (uint64_t)hb_sqlite_int(rows, column));
}

static hb_str text_of(const rpd *r, hb_string_id id)
{
    return hb_texts_get(&r->import->texts, id);
}

static void read_strings(rpd *r)
{
    hb_sqlite_rows rows = select_rows(r, "rocpd_string", "id, string");
    while (hb_sqlite_next(&rows)) {
        hb_str text = hb_sqlite_text(&rows, 1);
        hb_string_id id = hb_texts_add(&r->import->texts, text.s, text.len);
        if (!id) leave(r, hb_no_memory());
        hb_id_index_set(r->arena, &r->strings, (uint64_t)hb_sqlite_int(&rows, 0), id);
    }
    leave(r, hb_sqlite_done(&rows));
}

/* ---- calls ---- */

static uint16_t process_of(rpd *r, int64_t pid)
{
    for (uint32_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i]->pid == pid) return (uint16_t)i;
    if (r->processes.count == UINT16_MAX) return 0;
    *HB_PUSH(r->arena, &r->processes) = hb_import_add_process(r->import, "RPD", "2");
    r->processes.items[r->processes.count - 1]->pid = pid;
    return (uint16_t)(r->processes.count - 1);
}

/* Of the recorder itself. */
static bool is_overhead(hb_str name)
{
    return hb_str_ends(name, "::writeRows") || hb_str_begins(name, "rpdflush") ||
           hb_str_is(name, "hcc_activity_callback");
}

/* "ptr=0x7f3ea0600000 | size=0x200000" */
static void take_args(hb_import_call_args *args, hb_str text)
{
    for (uint32_t i = 0; i < text.len;) {
        uint32_t begin = i, equal, end;
        for (equal = i; equal < text.len && text.s[equal] != '='; equal++)
            ;
        for (end = equal; end < text.len && text.s[end] != ' '; end++)
            ;
        if (equal < end)
            hb_import_take_arg(args, HB_STR(""), (hb_str){text.s + begin, equal - begin},
                               (hb_str){text.s + equal + 1, end - equal - 1});
        for (i = end; i < text.len && (text.s[i] == ' ' || text.s[i] == '|'); i++)
            ;
    }
}

static void add_call(rpd *r, const hb_sqlite_rows *rows, uint64_t id)
{
    rpd_call *call = hb_import_push(r->arena, &r->call_list);
    if (!r->calls.count) r->first_call = id;
    hb_id_index_set(r->arena, &r->calls, id - r->first_call, r->call_list.count);
    call->process = process_of(r, hb_sqlite_int(rows, 1));
    hb_import_process *p = r->processes.items[call->process];
    hb_string_id name = string_of(r, rows, 5), args = string_of(r, rows, 6);
    int64_t start = hb_sqlite_int(rows, 3), end = hb_sqlite_int(rows, 4);
    hb_str api = text_of(r, name);
    call->range = hb_str_is(api, "UserMarker");
    call->items = hb_import_has_word(api, "ExtModuleLaunch");
    if (call->range) name = args;
    if (!name || !text_of(r, name).len) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (is_overhead(api)) {
        p->rows.notes[HB_IMPORT_OVERHEAD]++;
        return;
    }
    if (hb_import_drops(r->import, p, call->range ? HB_IMPORT_RANGES : HB_IMPORT_HIP) ||
        !hb_import_times(&p->rows, start, &end))
        return;
    hb_column *column = call->range ? &p->rows.scopes : &p->rows.calls;
    hb_import_host *host = hb_import_push(r->arena, column);
    *host = (hb_import_host){
        .start = start,
        .end = end,
        .correlation = call->range ? 0 : r->call_list.count,
        .name = name,
        .thread = hb_import_thread_of(r->arena, &p->rows, hb_sqlite_int(rows, 2), 0),
        .flags = hb_import_is_minor(api) ? HB_IMPORT_MINOR : 0,
    };
    call->kept = true;
    call->row = column->count - 1;
    if (call->range || !args || !text_of(r, args).len) return;
    hb_import_call_args given;
    memset(&given, 0, sizeof given);
    take_args(&given, text_of(r, args));
    host->args = hb_import_add_args(r->arena, &p->rows, &given);
}

static void read_calls(rpd *r)
{
    hb_sqlite_rows rows =
        select_rows(r, "rocpd_api", "id, pid, tid, start, end, apiName_id, args_id");
    while (hb_sqlite_next(&rows))
        add_call(r, &rows, (uint64_t)hb_sqlite_int(&rows, 0));
    leave(r, hb_sqlite_done(&rows));
}

static rpd_call *call_of(const rpd *r, const hb_sqlite_rows *rows, int column)
{
    uint64_t id = (uint64_t)hb_sqlite_int(rows, column);
    uint32_t i = r->calls.count ? hb_id_index_get(&r->calls, id - r->first_call) : 0;
    return i ? hb_column_at(&r->call_list, i - 1) : NULL;
}

/* '' stands for a number that is not known. */
static uint64_t size_of(const hb_sqlite_rows *rows, int column)
{
    return (uint64_t)HB_MAX(hb_sqlite_int(rows, column), 0);
}

static void read_launches(rpd *r)
{
    hb_sqlite_rows rows =
        select_rows(r, "rocpd_kernelapi",
                    "api_ptr_id, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ, "
                    "groupSegmentSize, privateSegmentSize");
    while (hb_sqlite_next(&rows)) {
        rpd_call *call = call_of(r, &rows, 0);
        if (!call) continue;
        uint64_t items[3], threads[3];
        for (int i = 0; i < 3; i++) {
            threads[i] = HB_MIN(size_of(&rows, 4 + i), (uint64_t)UINT32_MAX);
            items[i] = HB_MIN(size_of(&rows, 1 + i), (uint64_t)UINT32_MAX);
            if (!call->items) items[i] *= threads[i];
        }
        hb_import_set_grid(&call->launch, items, threads);
        call->launch.lds_bytes = (uint32_t)size_of(&rows, 7);
        call->launch.scratch_bytes = (uint32_t)size_of(&rows, 8);
    }
    leave(r, hb_sqlite_done(&rows));
}

static void read_copies(rpd *r)
{
    hb_sqlite_rows rows = select_rows(r, "rocpd_copyapi", "api_ptr_id, size, kind, dst, src");
    while (hb_sqlite_next(&rows)) {
        rpd_call *call = call_of(r, &rows, 0);
        if (!call || call->range || !call->kept) continue;
        hb_import_call_args args;
        hb_import_process *p = r->processes.items[call->process];
        memset(&args, 0, sizeof args);
        hb_import_take_arg(&args, HB_STR(""), HB_STR("sizeBytes"), hb_sqlite_text(&rows, 1));
        hb_import_take_arg(&args, HB_STR(""), HB_STR("kind"), hb_sqlite_text(&rows, 2));
        hb_import_take_arg(&args, HB_STR(""), HB_STR("dst"), hb_sqlite_text(&rows, 3));
        hb_import_take_arg(&args, HB_STR(""), HB_STR("src"), hb_sqlite_text(&rows, 4));
        hb_import_host *host = hb_column_at(&p->rows.calls, call->row);
        host->args = hb_import_add_args(r->arena, &p->rows, &args);
        call->launch.bytes = args.bytes;
    }
    leave(r, hb_sqlite_done(&rows));
}

/* torch's operators: their names without what stands behind them in the marker. */
static void read_operators(rpd *r)
{
    hb_sqlite_rows rows = select_rows(r, "ext_autogradapi", "api_ptr_id, autogradName_id");
    while (hb_sqlite_next(&rows)) {
        const rpd_call *call = call_of(r, &rows, 0);
        hb_string_id name = string_of(r, &rows, 1);
        if (!call || !call->range || !call->kept || !name || !text_of(r, name).len) continue;
        hb_import_process *p = r->processes.items[call->process];
        ((hb_import_host *)hb_column_at(&p->rows.scopes, call->row))->name = name;
    }
    leave(r, hb_sqlite_done(&rows));
}

/* ---- work ---- */

static void read_joins(rpd *r)
{
    hb_sqlite_rows rows = select_rows(r, "rocpd_api_ops", "op_id, api_id");
    while (hb_sqlite_next(&rows)) {
        const rpd_call *call = call_of(r, &rows, 1);
        uint64_t op = (uint64_t)hb_sqlite_int(&rows, 0);
        if (!call) continue;
        if (!r->ops.count) r->first_op = op;
        hb_id_index_set(
            r->arena, &r->ops, op - r->first_op,
            hb_id_index_get(&r->calls, (uint64_t)hb_sqlite_int(&rows, 1) - r->first_call));
    }
    leave(r, hb_sqlite_done(&rows));
}

enum op_column { O_ID, O_GPU, O_QUEUE, O_START, O_END, O_NAME, O_TYPE };

static void add_op(rpd *r, const hb_sqlite_rows *rows)
{
    uint64_t op = (uint64_t)hb_sqlite_int(rows, O_ID);
    uint32_t i = r->ops.count ? hb_id_index_get(&r->ops, op - r->first_op) : 0;
    const rpd_call *call = i ? hb_column_at(&r->call_list, i - 1) : NULL;
    hb_import_process *p = r->processes.items[call ? call->process : 0];
    hb_str type = text_of(r, string_of(r, rows, O_TYPE));
    hb_str name = text_of(r, string_of(r, rows, O_NAME));
    bool copies = hb_str_begins(type, "Copy") || hb_str_begins(type, "Fill");
    int64_t start = hb_sqlite_int(rows, O_START), end = hb_sqlite_int(rows, O_END);
    int32_t gpu = (int32_t)HB_MIN(size_of(rows, O_GPU), (uint64_t)1000000);
    if (hb_str_begins(type, "Barrier")) {
        p->rows.notes[HB_IMPORT_NOT_SHOWN]++;
        return;
    }
    if ((copies && hb_import_drops(r->import, p, HB_IMPORT_COPIES)) ||
        !hb_import_times(&p->rows, start, &end))
        return;
    hb_import_launch l;
    memset(&l, 0, sizeof l);
    if (call) l = call->launch;
    l.kind = HB_EVENT_KERNEL;
    l.device = gpu;
    if (copies)
        hb_import_set_named_copy(&l, type, gpu);
    else
        l.bytes = 0;
    hb_import_work *work = hb_import_push(r->arena, &p->rows.works);
    work->start = start;
    work->end = end;
    work->correlation = call && call->kept && !call->range ? i : 0; /* its row */
    work->name =
        copies ? 0 : hb_import_kernel_name(r->arena, &r->import->texts, name.len ? name : type);
    work->launch = hb_import_distinct(r->arena, &p->rows.launches, &l);
    work->lane = hb_import_lane_at(r->arena, &p->rows, gpu, hb_sqlite_int(rows, O_QUEUE), -1);
}

static void read_ops(rpd *r)
{
    hb_sqlite_rows rows =
        select_rows(r, "rocpd_op", "id, gpuId, queueId, start, end, description_id, opType_id");
    while (hb_sqlite_next(&rows))
        add_op(r, &rows);
    leave(r, hb_sqlite_done(&rows));
}

/* ---- samples ---- */

/* Numbers as text, each from its time until the next one; of the whole machine. */
static void add_sample(rpd *r, const hb_sqlite_rows *rows)
{
    char name[120], *behind;
    hb_import_process *p = r->processes.items[0];
    hb_str type = hb_sqlite_text(rows, 2), value = hb_sqlite_text(rows, 4);
    int64_t time = hb_sqlite_int(rows, 3), end = time;
    double number = strtod(value.s, &behind);
    if (hb_import_drops(r->import, p, HB_IMPORT_COUNTERS)) return;
    if (behind == value.s) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (!hb_import_times(&p->rows, time, &end)) return;
    int n = snprintf(name, sizeof name, "%.20s %lld %.80s", hb_sqlite_text(rows, 0).s,
                     (long long)hb_sqlite_int(rows, 1), type.s);
    hb_import_sample *sample = hb_import_push(r->arena, &p->rows.samples);
    sample->time = time;
    sample->name = hb_import_text(r->arena, &p->rows,
                                  (hb_str){name, (uint32_t)HB_MIN(n, (int)sizeof name - 1)});
    bool clock = hb_str_is(type, "sclk") || hb_str_is(type, "mclk");
    sample->unit = clock ? hb_import_text(r->arena, &p->rows, HB_STR("MHz")) : 0;
    sample->thread = hb_import_thread_of(r->arena, &p->rows, p->pid, 0);
    sample->value = number;
}

static void read_samples(rpd *r)
{
    hb_sqlite_rows rows =
        select_rows(r, "rocpd_monitor", "deviceType, deviceId, monitorType, start, value");
    while (hb_sqlite_next(&rows))
        add_sample(r, &rows);
    leave(r, hb_sqlite_done(&rows));
}

/* ---- the file ---- */

static void close_file(void *context)
{
    rpd *r = context;
    hb_id_index_free(r->arena, &r->strings);
    hb_id_index_free(r->arena, &r->calls);
    hb_id_index_free(r->arena, &r->ops);
    hb_column_free(&r->call_list);
    hb_sqlite_close(r->db);
    r->db = NULL;
}

bool hb_rpd_probe(const hb_import_probe *probe)
{
    return hb_import_has_table(probe, "rocpd_api_ops");
}

void hb_rpd_open(hb_import *import, const char *path)
{
    rpd *r = hb_arena_alloc(&import->arena, sizeof *r);
    *r = (rpd){.import = import, .arena = &import->arena};
    r->call_list.item_size = sizeof(rpd_call);
    hb_import_guard(import, close_file, r);
    leave(r, hb_sqlite_open(path, hb_import_progress, import, &r->db));
    read_strings(r);
    read_calls(r);
    if (!r->processes.count) (void)process_of(r, 0);
    read_launches(r);
    read_copies(r);
    read_operators(r);
    read_joins(r);
    read_ops(r);
    read_samples(r);
    for (uint32_t i = 0; i < r->processes.count; i++)
        hb_import_number_gpus(r->arena, &r->processes.items[i]->rows);
    for (uint32_t i = 0; i < r->processes.count; i++)
        hb_import_memory_of_calls(r->import, r->processes.items[i]);
    if (hb_sqlite_missed(r->db)) hb_warn("%s: %s", path, hb_sqlite_missed(r->db));
    hb_import_unguard(import);
}
