/* SPDX-License-Identifier: MIT */
#include "export/rocpd_rows.h"

#include <stdio.h>

#include "export/event_facts.h"
#include "export/rocpd_schema.h"

enum statement {
    ADD_STRING,
    ADD_EVENT,
    ADD_REGION,
    ADD_KERNEL,
    ADD_COPY,
    ADD_MEMORY,
    ADD_ARG,
    ADD_SYMBOL,
    ADD_PMC,
    ADD_PMC_EVENT,
    ADD_THREAD,
    ADD_QUEUE,
    ADD_STREAM,
    ADD_TRACK,
    ADD_SAMPLE,
    STATEMENTS
};

_Noreturn void hb_rocpd_leave(hb_rocpd_out *r)
{
    int code = r->db ? sqlite3_errcode(r->db) : SQLITE_NOMEM;
    hb_arena_leave(&r->arena, code == SQLITE_NOMEM ? HB_ERROR_NO_MEMORY : HB_ERROR_IO, "%s: %s",
                   r->publish.path, r->db ? sqlite3_errmsg(r->db) : "out of memory");
}

static void run(hb_rocpd_out *r, const char *sql)
{
    if (sqlite3_exec(r->db, sql, NULL, NULL, NULL) != SQLITE_OK) hb_rocpd_leave(r);
}

static int64_t string_of(hb_rocpd_out *r, hb_str text);

/* ---- tables ---- */

static const char *const statements[STATEMENTS] = {
    [ADD_STRING] = "INSERT INTO rocpd_string@(id, string) VALUES (?, ?)",
    [ADD_EVENT] = "INSERT INTO rocpd_event@(id, category_id, stack_id, parent_stack_id, "
                  "correlation_id, extdata) VALUES (?, ?, ?, 0, 0, ?)",
    [ADD_REGION] = "INSERT INTO rocpd_region@(nid, pid, tid, start, end, name_id, event_id) "
                   "VALUES (1, 1, ?, ?, ?, ?, ?)",
    [ADD_KERNEL] = "INSERT INTO rocpd_kernel_dispatch@(nid, pid, tid, agent_id, kernel_id, "
                   "dispatch_id, queue_id, stream_id, start, end, private_segment_size, "
                   "group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
                   "grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id) VALUES "
                   "(1, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)",
    [ADD_COPY] = "INSERT INTO rocpd_memory_copy@(nid, pid, tid, start, end, name_id, "
                 "dst_agent_id, src_agent_id, size, queue_id, stream_id, region_name_id, event_id) "
                 "VALUES (1, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)",
    [ADD_MEMORY] = "INSERT INTO rocpd_memory_allocate@(nid, pid, tid, agent_id, type, level, "
                   "start, end, address, size, event_id) VALUES (1, 1, ?, ?, ?, 'REAL', ?, ?, ?, "
                   "?, ?)",
    [ADD_ARG] = "INSERT INTO rocpd_arg@(event_id, position, type, name, value) VALUES "
                "(?, ?, ?, ?, ?)",
    [ADD_SYMBOL] = "INSERT INTO rocpd_info_kernel_symbol@(id, nid, pid, code_object_id, "
                   "kernel_name, display_name, arch_vgpr_count, accum_vgpr_count, sgpr_count) "
                   "VALUES (?, 1, 1, 1, ?2, ?2, ?, ?, ?)",
    [ADD_PMC] = "INSERT INTO rocpd_info_pmc@(id, nid, pid, name, symbol, units, value_type) "
                "VALUES (?1, 1, 1, ?2, ?2, ?3, 'ABS')",
    [ADD_PMC_EVENT] = "INSERT INTO rocpd_pmc_event@(event_id, pmc_id, value) VALUES (?, ?, ?)",
    [ADD_THREAD] = "INSERT INTO rocpd_info_thread@(id, nid, pid, tid, name) VALUES "
                   "(?, 1, 1, ?, ?)",
    [ADD_QUEUE] = "INSERT INTO rocpd_info_queue@(id, nid, pid, name) VALUES (?1, 1, 1, 'Queue ' "
                  "|| ?1)",
    [ADD_STREAM] = "INSERT INTO rocpd_info_stream@(id, nid, pid, name) VALUES (?1, 1, 1, "
                   "'Stream ' || ?1)",
    [ADD_TRACK] = "INSERT INTO rocpd_track@(id, nid, pid, tid, name_id) VALUES (?, 1, 1, ?, ?)",
    [ADD_SAMPLE] = "INSERT INTO rocpd_sample@(track_id, timestamp, event_id) VALUES (?, ?, ?)",
};

/* `sql` with the process's suffix for each '@'. */
char *hb_rocpd_with_suffix(hb_rocpd_out *r, const char *sql)
{
    size_t n = strlen(sql) + 1, suffix = strlen(r->suffix);
    for (const char *c = sql; *c; c++)
        n += *c == '@' ? suffix : 0;
    char *text = hb_arena_alloc(&r->arena, n), *to = text;
    for (; *sql; sql++)
        if (*sql == '@')
            to = mempcpy(to, r->suffix, suffix);
        else
            *to++ = *sql;
    return text;
}

static void create_table(hb_rocpd_out *r, const char *name, const char *columns)
{
    char sql[2048];
    bool metadata = strcmp(name, "metadata") == 0;
    snprintf(sql, sizeof sql,
             "CREATE TABLE rocpd_%s%s (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, %s%s%s%s)",
             name, r->suffix, metadata ? "" : "guid TEXT DEFAULT '", metadata ? "" : r->guid,
             metadata ? "" : "' NOT NULL, ", columns);
    run(r, sql);
}

void hb_rocpd_create_tables(hb_rocpd_out *r)
{
#define CREATE(name, columns) create_table(r, name, columns);
    HB_ROCPD_TABLES(CREATE)
#undef CREATE
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v3(r->db, hb_rocpd_with_suffix(r, statements[i]), -1,
                               SQLITE_PREPARE_PERSISTENT, &r->add[i], NULL) != SQLITE_OK)
            hb_rocpd_leave(r);
    }
    (void)string_of(r, HB_STR("")); /* 1: of regions that rename no kernel */
}

/* ---- rows ---- */

typedef struct row {
    hb_rocpd_out *r;
    sqlite3_stmt *s;
    int column;
} row;

static row new_row(hb_rocpd_out *r, enum statement which)
{
    return (row){r, r->add[which], 0};
}

static void put_int(row *w, int64_t value)
{
    sqlite3_bind_int64(w->s, ++w->column, value);
}

static void put_null(row *w)
{
    sqlite3_bind_null(w->s, ++w->column);
}

static void put_text(row *w, hb_str text)
{
    sqlite3_bind_text(w->s, ++w->column, text.s ? text.s : "", (int)text.len, SQLITE_STATIC);
}

static void put_word(row *w, const char *text)
{
    put_text(w, (hb_str){text, (uint32_t)strlen(text)});
}

static void put_double(row *w, double value)
{
    sqlite3_bind_double(w->s, ++w->column, value);
}

static void add(row *w)
{
    int code = sqlite3_step(w->s);
    sqlite3_reset(w->s);
    if (code != SQLITE_DONE) hb_rocpd_leave(w->r);
}

/* The id of a text, which becomes a row when it is new. */
static int64_t string_of(hb_rocpd_out *r, hb_str text)
{
    uint32_t before = r->texts.count;
    hb_string_id id = hb_texts_add(&r->texts, text.s ? text.s : "", text.len);
    if (!id) hb_arena_leave(&r->arena, HB_ERROR_NO_MEMORY, "out of memory");
    if (r->texts.count == before) return id;
    row w = new_row(r, ADD_STRING);
    put_int(&w, id);
    put_text(&w, text);
    add(&w);
    return id;
}

static int64_t word_of(hb_rocpd_out *r, const char *text)
{
    return string_of(r, (hb_str){text, (uint32_t)strlen(text)});
}

static bool is_new(hb_rocpd_out *r, hb_dict *dict, uint64_t key)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(&r->arena, dict, key, &added);
    if (added) entry->value = dict->entries.count;
    return added;
}

/* Of a thread that is told twice, the last name. */
static const char *thread_name(hb_rocpd_out *r, int64_t tid)
{
    if (!r->thread_names.slots.size)
        for (size_t i = 0; i < r->info->num_threads; i++)
            hb_dict_set(&r->arena, &r->thread_names, (uint64_t)r->info->threads[i].tid,
                        (uint32_t)i);
    const hb_dict_entry *entry = hb_dict_get(&r->thread_names, (uint64_t)tid);
    return entry ? r->info->threads[entry->value].name : NULL;
}

static int64_t thread_of(hb_rocpd_out *r, int64_t tid)
{
    if (!is_new(r, &r->threads, (uint64_t)tid)) return tid;
    row w = new_row(r, ADD_THREAD);
    put_int(&w, tid);
    put_int(&w, tid);
    const char *name = thread_name(r, tid);
    if (name && *name)
        put_word(&w, name);
    else
        put_null(&w);
    add(&w);
    return tid;
}

static int64_t lane_of(hb_rocpd_out *r, hb_dict *dict, enum statement which, int64_t id)
{
    if (id < 0 || !is_new(r, dict, (uint64_t)id)) return HB_MAX(id, 0);
    row w = new_row(r, which);
    put_int(&w, id);
    add(&w);
    return id;
}

/* Queues that are not known are one for each stream: so streams stay what tells them apart. */
static int64_t queue_of(hb_rocpd_out *r, const hb_trace_event *e)
{
    return lane_of(r, &r->queues, ADD_QUEUE, HB_MAX(hb_queue_of(e), 0));
}

static int64_t stream_of(hb_rocpd_out *r, const hb_trace_event *e)
{
    return lane_of(r, &r->streams, ADD_STREAM, hb_stream_of(e));
}

/* Agent 0 is the processor. */
static int64_t agent_of(int32_t gpu)
{
    return gpu < 0 ? 0 : (int64_t)gpu + 1;
}

static int64_t add_event(hb_rocpd_out *r, const char *category, uint64_t stack, const char *json)
{
    row w = new_row(r, ADD_EVENT);
    put_int(&w, ++r->events);
    put_int(&w, word_of(r, category));
    put_int(&w, (int64_t)stack);
    put_word(&w, json ? json : "{}");
    add(&w);
    r->counts->events++;
    return r->events;
}

static void note_time(hb_rocpd_out *r, const hb_trace_event *e)
{
    r->end = HB_MAX(r->end, HB_MAX(e->start_ns, e->end_ns));
}

/* ---- the host ---- */

static void add_region(hb_rocpd_out *r, const hb_trace_event *e, hb_str name, int64_t event)
{
    row w = new_row(r, ADD_REGION);
    int64_t tid = thread_of(r, e->tid), name_id = string_of(r, name);
    put_int(&w, tid);
    put_int(&w, e->start_ns);
    put_int(&w, HB_MAX(e->end_ns, e->start_ns));
    put_int(&w, name_id);
    put_int(&w, event);
    add(&w);
    note_time(r, e);
}

static void add_scope(hb_rocpd_out *r, const hb_trace_event *e)
{
    const hb_op_args *op = &e->op;
    hb_buf json;
    if (hb_is_made_up(e)) return;
    r->counts->notes[HB_EXPORT_INPUTS] +=
        op->num_inputs || op->flops > 0 || op->sequence_number || op->stack.len;
    r->counts->notes[HB_EXPORT_ANNOTATIONS] += e->kind == HB_EVENT_USER_ANNOTATION;
    hb_buf_init(&json, 1 << 20);
    hb_buf_str(&json, "{\"message\":");
    hb_buf_json_string(&json, e->name.s, e->name.len);
    hb_buf_str(&json, "}");
    int64_t event = add_event(r, "MARKER_CORE_API", 0, hb_buf_text(&json));
    hb_buf_free(&json);
    add_region(r, e, HB_STR("roctxRangePushA"), event);
}

static void add_arg(hb_rocpd_out *r, int64_t event, int *position, const char *type,
                    const char *name, const char *value)
{
    row w = new_row(r, ADD_ARG);
    put_int(&w, event);
    put_int(&w, (*position)++);
    put_word(&w, type);
    put_word(&w, name);
    put_word(&w, value);
    add(&w);
}

static void add_pointer(hb_rocpd_out *r, int64_t event, int *position, const char *name,
                        uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    if (value) add_arg(r, event, position, "void*", name, text);
}

static void add_size(hb_rocpd_out *r, int64_t event, int *position, const char *name,
                     uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    if (value) add_arg(r, event, position, "unsigned long", name, text);
}

static void add_triple(hb_rocpd_out *r, int64_t event, int *position, const char *name,
                       const uint32_t value[3])
{
    char text[80];
    snprintf(text, sizeof text, "{z=%u, y=%u, x=%u}", value[2], value[1], value[0]);
    add_arg(r, event, position, "rocprofiler_dim3_t", name, text);
}

static void add_call_args(hb_rocpd_out *r, int64_t event, const hb_runtime_args *call)
{
    static const char *const kinds[] = {"HostToHost", "HostToDevice", "DeviceToHost",
                                        "DeviceToDevice", "Default"};
    int position = 0;
    if (call->has_grid) {
        add_triple(r, event, &position, "numBlocks", call->grid);
        add_triple(r, event, &position, "dimBlocks", call->block);
    }
    add_size(r, event, &position, "sharedMemBytes", call->shared_bytes);
    add_pointer(r, event, &position, "stream", call->stream);
    add_pointer(r, event, &position, call->kind.len ? "dst" : "ptr", call->ptr);
    add_pointer(r, event, &position, "src", call->src);
    add_size(r, event, &position, "sizeBytes", call->bytes);
    if (call->kind.len == 1 && call->kind.s[0] >= '0' && call->kind.s[0] <= '4')
        add_arg(r, event, &position, "hipMemcpyKind", "kind", kinds[call->kind.s[0] - '0']);
}

static void add_call(hb_rocpd_out *r, const hb_trace_event *e)
{
    int64_t event = add_event(r, hb_call_domain(e->name), e->correlation, NULL);
    add_region(r, e, e->name, event);
    add_call_args(r, event, &e->runtime);
}

static void add_memory(hb_rocpd_out *r, const hb_trace_event *e)
{
    const hb_memory_args *m = &e->memory;
    int32_t gpu = m->device_type == HB_DEVICE_CPU ? -1 : m->device_id;
    int64_t *total = &r->totals[gpu < 0 || gpu > 63 ? 64 : gpu];
    if (e->flags & HB_TEV_OUT_OF_MEMORY) {
        r->counts->notes[HB_EXPORT_FAILED]++;
        return;
    }
    int64_t event = add_event(r, "MEMORY_ALLOCATION", 0, NULL), tid = thread_of(r, e->tid);
    (void)__builtin_add_overflow(*total, m->bytes, total); /* then none of it is true anyway */
    r->counts->notes[HB_EXPORT_TOTALS] += *total != m->total_allocated;
    row w = new_row(r, ADD_MEMORY);
    put_int(&w, tid);
    put_int(&w, agent_of(gpu));
    put_word(&w, m->bytes < 0 ? "FREE" : "ALLOC");
    put_int(&w, e->start_ns);
    put_int(&w, e->start_ns);
    put_int(&w, (int64_t)m->addr);
    put_int(&w, HB_MAX(m->bytes, 0));
    put_int(&w, event);
    add(&w);
    note_time(r, e);
}

/* ---- device work ---- */

/* Of a kernel's name and registers, from 1; 0 stands for registers that are not known. */
static uint32_t registers_of(hb_rocpd_out *r, const hb_kernel_args *k)
{
    if (!k->has_resources) return 0;
    uint32_t vector = hb_pair_number(&r->arena, &r->vector_registers, k->vgprs, k->agprs);
    return hb_pair_number(&r->arena, &r->registers, vector, k->sgprs) + 1;
}

static int64_t symbol_of(hb_rocpd_out *r, const hb_trace_event *e)
{
    const hb_kernel_args *k = &e->kernel;
    uint32_t before = r->symbols.entries.count, name = (uint32_t)string_of(r, e->name);
    int64_t id = hb_pair_number(&r->arena, &r->symbols, name, registers_of(r, k)) + 1;
    if (id <= before) return id;
    row w = new_row(r, ADD_SYMBOL);
    put_int(&w, id);
    put_text(&w, e->name);
    if (k->has_resources) {
        put_int(&w, k->vgprs);
        put_int(&w, k->agprs);
        put_int(&w, k->sgprs);
    } else {
        for (int i = 0; i < 3; i++)
            put_null(&w);
    }
    add(&w);
    return id;
}

static int64_t pmc_of(hb_rocpd_out *r, hb_str name, hb_str unit)
{
    uint64_t key = (uint64_t)string_of(r, name) << 32 | (uint64_t)string_of(r, unit);
    bool added = is_new(r, &r->pmcs, key);
    int64_t id = hb_dict_get(&r->pmcs, key)->value;
    if (!added) return id;
    row w = new_row(r, ADD_PMC);
    put_int(&w, id);
    put_text(&w, name);
    put_text(&w, unit);
    add(&w);
    return id;
}

static void add_value(hb_rocpd_out *r, int64_t event, int64_t pmc, double value)
{
    row w = new_row(r, ADD_PMC_EVENT);
    put_int(&w, event);
    put_int(&w, pmc);
    put_double(&w, value);
    add(&w);
}

static void add_counters(hb_rocpd_out *r, const hb_trace_event *e, int64_t event)
{
    double value;
    for (uint32_t i = 0; i < e->num_args; i++) {
        if (!hb_counter_in(&e->args[i], &value)) continue;
        hb_str name = {e->args[i].key, (uint32_t)strlen(e->args[i].key)};
        add_value(r, event, pmc_of(r, name, HB_STR("")), value);
    }
}

static void add_kernel(hb_rocpd_out *r, const hb_trace_event *e)
{
    const hb_kernel_args *k = &e->kernel;
    int64_t event = add_event(r, "KERNEL_DISPATCH", e->correlation, NULL);
    int64_t symbol = symbol_of(r, e), queue = queue_of(r, e), stream = stream_of(r, e);
    row w = new_row(r, ADD_KERNEL);
    put_int(&w, thread_of(r, r->info->pid));
    put_int(&w, agent_of(e->device));
    put_int(&w, symbol);
    put_int(&w, ++r->dispatches);
    put_int(&w, queue);
    put_int(&w, stream);
    put_int(&w, e->start_ns);
    put_int(&w, HB_MAX(e->end_ns, e->start_ns));
    put_int(&w, k->scratch_bytes);
    put_int(&w, k->lds_bytes);
    for (int i = 0; i < 3; i++)
        put_int(&w, k->has_grid ? k->block[i] : 0);
    for (int i = 0; i < 3; i++)
        put_int(&w, k->has_grid ? (int64_t)k->grid[i] * k->block[i] : 0);
    put_int(&w, event);
    add(&w);
    note_time(r, e);
    add_counters(r, e, event);
}

static void add_copy(hb_rocpd_out *r, const hb_trace_event *e)
{
    const hb_copy_args *copy = &e->copy;
    bool fills = e->kind == HB_EVENT_MEMSET;
    bool peers = !fills && copy->kind && strcmp(copy->kind, "PtoP") == 0;
    int32_t from = peers ? copy->from_device : e->device, to = peers ? copy->to_device : e->device;
    if (!fills && hb_copies_from_host(copy)) from = -1;
    if (!fills && hb_copies_to_host(copy)) to = -1;
    int64_t event = add_event(r, "MEMORY_COPY", e->correlation, NULL);
    int64_t queue = queue_of(r, e), stream = stream_of(r, e);
    int64_t name = word_of(r, fills ? "MEMORY_FILL" : hb_copy_direction_name(copy));
    row w = new_row(r, ADD_COPY);
    put_int(&w, thread_of(r, r->info->pid));
    put_int(&w, e->start_ns);
    put_int(&w, HB_MAX(e->end_ns, e->start_ns));
    put_int(&w, name);
    put_int(&w, agent_of(to));
    put_int(&w, agent_of(from));
    put_int(&w, (int64_t)copy->bytes);
    put_int(&w, queue);
    put_int(&w, stream);
    put_int(&w, event);
    add(&w);
    note_time(r, e);
}

/* ---- numbers over time ---- */

static void add_sample(hb_rocpd_out *r, const hb_trace_event *e)
{
    hb_str unit = e->kind == HB_EVENT_COUNTER && e->counter.unit.len ? e->counter.unit : HB_STR("");
    int64_t name = string_of(r, e->name), tid = thread_of(r, e->tid);
    uint32_t before = r->tracks.entries.count;
    uint32_t thread = hb_dict_get(&r->threads, (uint64_t)tid)->value;
    int64_t track = hb_pair_number(&r->arena, &r->tracks, (uint32_t)name, thread) + 1;
    if (track > before) {
        row w = new_row(r, ADD_TRACK);
        put_int(&w, track);
        put_int(&w, tid);
        put_int(&w, name);
        add(&w);
    }
    int64_t event = add_event(r, "COUNTER", 0, NULL);
    row w = new_row(r, ADD_SAMPLE);
    put_int(&w, track);
    put_int(&w, e->start_ns);
    put_int(&w, event);
    add(&w);
    add_value(r, event, pmc_of(r, e->name, unit),
              e->kind == HB_EVENT_COUNTER ? e->counter.value : e->scalar);
    note_time(r, e);
}

void hb_rocpd_add_event(hb_rocpd_out *r, const hb_trace_event *e)
{
    switch (e->kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION: add_scope(r, e); break;
    case HB_EVENT_MEMORY: add_memory(r, e); break;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: add_call(r, e); break;
    case HB_EVENT_KERNEL: add_kernel(r, e); break;
    case HB_EVENT_MEMCPY:
    case HB_EVENT_MEMSET: add_copy(r, e); break;
    case HB_EVENT_MODULE: r->counts->notes[HB_EXPORT_MODULES]++; break;
    case HB_EVENT_FLOW: r->counts->notes[HB_EXPORT_FLOWS]++; break;
    case HB_EVENT_SCALAR:
    case HB_EVENT_COUNTER: add_sample(r, e); break;
    default: break;
    }
}
