/* SPDX-License-Identifier: MIT */
#include "import/rocpd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_members.h"
#include "import/agents.h"

/* ---- tables ---- */

static void leave(hb_arena *arena, hb_result result)
{
    if (result != HB_OK) hb_arena_leave(arena, result, "%s", hb_last_error());
}

static void put_table(const hb_rocpd *r, const char *name, char *table, size_t size)
{
    snprintf(table, size, "rocpd_%s%s", name, r->suffix);
}

hb_sqlite_rows hb_rocpd_select(hb_rocpd *r, const char *name, const char *columns)
{
    char table[256];
    hb_sqlite_rows rows;
    put_table(r, name, table, sizeof table);
    leave(r->arena, hb_sqlite_select(r->db, table, columns, &rows));
    return rows;
}

void hb_rocpd_done(hb_rocpd *r, hb_sqlite_rows *rows)
{
    leave(r->arena, hb_sqlite_done(rows));
}

static bool has_column(hb_rocpd *r, const char *name, const char *column)
{
    char table[256];
    put_table(r, name, table, sizeof table);
    return hb_sqlite_has(r->db, table, column);
}

hb_str hb_rocpd_json(hb_rocpd *r, const hb_sqlite_rows *rows, int column)
{
    hb_str text = hb_sqlite_text(rows, column), zeros = {"", 0};
    if (text.len <= 2) return zeros; /* {} */
    r->json.size = 0;
    char *copy = hb_buf_reserve(&r->json, (size_t)text.len + HB_SCAN_PADDING);
    if (!copy) leave(r->arena, hb_no_memory());
    memcpy(copy, text.s, text.len);
    memset(copy + text.len, 0, HB_SCAN_PADDING);
    hb_str json = {copy, text.len};
    return hb_json_value(json).type == HB_JSON_OBJECT ? json : zeros;
}

static uint64_t id_of(const hb_sqlite_rows *rows, int column)
{
    return (uint64_t)hb_sqlite_int(rows, column);
}

static uint32_t find(const hb_id_index *index, const hb_sqlite_rows *rows, int column)
{
    return hb_sqlite_is_null(rows, column) ? 0 : hb_id_index_get(index, id_of(rows, column));
}

hb_string_id hb_rocpd_string(const hb_rocpd *r, const hb_sqlite_rows *rows, int column)
{
    return find(&r->strings, rows, column);
}

hb_string_id hb_rocpd_category(const hb_rocpd *r, const hb_sqlite_rows *rows, int column)
{
    hb_string_id text = find(&r->categories, rows, column);
    return text ? text : hb_rocpd_string(r, rows, column);
}

int64_t hb_rocpd_id(const hb_sqlite_rows *rows, int column)
{
    return hb_sqlite_is_null(rows, column) ? -1 : HB_MAX(hb_sqlite_int(rows, column), 0);
}

static int64_t id_at(const hb_sqlite_rows *rows, int column)
{
    return column < 0 ? -1 : hb_rocpd_id(rows, column);
}

hb_rocpd_track hb_rocpd_place(const hb_rocpd *r, const hb_sqlite_rows *rows, hb_rocpd_columns c)
{
    uint32_t i = r->by_tracks ? find(&r->tracks, rows, c.track) : 0;
    if (i) return r->track_list.items[i - 1];
    return (hb_rocpd_track){id_at(rows, c.pid), id_at(rows, c.tid), id_at(rows, c.agent),
                            id_at(rows, c.queue), id_at(rows, c.stream)};
}

static uint32_t find_id(const hb_id_index *index, int64_t id)
{
    return id < 0 ? 0 : hb_id_index_get(index, (uint64_t)id);
}

hb_import_process *hb_rocpd_process(hb_rocpd *r, int64_t id)
{
    uint32_t i = find_id(&r->processes, id);
    if (i) return r->process_list.items[i - 1];
    r->process_list.items[0]->rows.notes[HB_IMPORT_BAD_ROWS]++;
    return NULL;
}

uint32_t hb_rocpd_thread(hb_rocpd *r, hb_import_process *p, int64_t id)
{
    uint32_t i = find_id(&r->threads, id);
    int64_t tid = i ? r->thread_list.items[i - 1].tid : HB_MAX(id, 0);
    return hb_import_thread_of(r->arena, &p->rows, tid, i ? r->thread_list.items[i - 1].name : 0);
}

int32_t hb_rocpd_gpu(const hb_rocpd *r, int64_t id)
{
    uint32_t i = find_id(&r->agents, id);
    return i ? r->agent_list.items[i - 1] : -1;
}

uint32_t hb_rocpd_event_place(const hb_rocpd *r, const hb_sqlite_rows *rows, int column)
{
    int64_t id = hb_sqlite_int(rows, column);
    bool there = id > 0 && id <= (int64_t)r->event_list.count;
    return r->events_are_sparse ? find(&r->events, rows, column) : there ? (uint32_t)id : 0;
}

hb_rocpd_event *hb_rocpd_event_of(const hb_rocpd *r, const hb_sqlite_rows *rows, int column)
{
    uint32_t i = hb_rocpd_event_place(r, rows, column);
    return i ? hb_column_at(&r->event_list, i - 1) : NULL;
}

/* ---- what rows refer to ---- */

static void read_strings(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "string", "id, string");
    while (hb_sqlite_next(&rows)) {
        hb_string_id text = hb_texts_add(&r->import->texts, hb_sqlite_text(&rows, 1).s,
                                         hb_sqlite_text(&rows, 1).len);
        if (!text) leave(r->arena, hb_no_memory());
        hb_id_index_set(r->arena, &r->strings, id_of(&rows, 0), text);
    }
    hb_rocpd_done(r, &rows);
}

/* Of schema 4, which has them apart from other texts. */
static void read_categories(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "info_category", "id, name");
    while (hb_sqlite_next(&rows)) {
        hb_str name = hb_sqlite_text(&rows, 1);
        hb_string_id text = hb_texts_add(&r->import->texts, name.s, name.len);
        if (!text) leave(r->arena, hb_no_memory());
        hb_id_index_set(r->arena, &r->categories, id_of(&rows, 0), text);
    }
    hb_rocpd_done(r, &rows);
}

static void read_tracks(hb_rocpd *r)
{
    r->by_tracks = has_column(r, "region", "track_id");
    if (!r->by_tracks) return;
    hb_sqlite_rows rows =
        hb_rocpd_select(r, "track", "id, pid, tid, agent_id, queue_id, stream_id");
    while (hb_sqlite_next(&rows)) {
        *HB_PUSH(r->arena, &r->track_list) =
            (hb_rocpd_track){hb_rocpd_id(&rows, 1), hb_rocpd_id(&rows, 2), hb_rocpd_id(&rows, 3),
                             hb_rocpd_id(&rows, 4), hb_rocpd_id(&rows, 5)};
        hb_id_index_set(r->arena, &r->tracks, id_of(&rows, 0), r->track_list.count);
    }
    hb_rocpd_done(r, &rows);
}

/* Equal for files of one machine; its own number stays with the file. */
static uint64_t machine_of(hb_str id)
{
    uint64_t hash = 14695981039346656037u;
    if (id.len == 0 || strspn(id.s, "0") == id.len) return 0;
    for (uint32_t i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.s[i]) * 1099511628211u;
    return hash | 1;
}

static void read_nodes(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "info_node", "id, hostname, machine_id");
    while (hb_sqlite_next(&rows)) {
        hb_rocpd_node *node = HB_PUSH(r->arena, &r->node_list);
        node->host = hb_import_copy_text(r->import, hb_sqlite_text(&rows, 1));
        node->machine = machine_of(hb_sqlite_text(&rows, 2));
        hb_id_index_set(r->arena, &r->nodes, id_of(&rows, 0), r->node_list.count);
    }
    hb_rocpd_done(r, &rows);
}

/* A number in a text of decimal digits, as environments have it. */
static int64_t number_of(hb_str environment, const char *const *names)
{
    for (; *names; names++) {
        hb_value v = hb_json_member(environment, *names);
        if (v.type != HB_JSON_STRING || v.size == 0 || v.size > 9) continue;
        if (strspn(v.s, "0123456789") >= v.size) return strtoll(v.s, NULL, 10);
    }
    return -1;
}

/* Of the environment, which may hold anything, these four numbers are all that is looked at. */
static void read_ranks(hb_import_process *p, hb_str environment)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", NULL};
    static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS",
                                         NULL};
    p->rank = number_of(environment, ranks);
    p->world = number_of(environment, worlds);
}

/* "/usr/bin/train" of "/usr/bin/train --token=..." */
static hb_str program_of(hb_str command)
{
    uint32_t n = 0, begin = 0;
    for (; n < command.len && command.s[n] != ' '; n++)
        if (command.s[n] == '/') begin = n + 1;
    return (hb_str){command.s + begin, n - begin};
}

static void add_process(hb_rocpd *r, const hb_sqlite_rows *rows)
{
    hb_import_process *p = hb_import_add_process(r->import, "rocpd", r->version);
    uint32_t node = find(&r->nodes, rows, 1);
    p->pid = hb_sqlite_int(rows, 2);
    p->clock_end = HB_MAX(hb_sqlite_int(rows, 3), hb_sqlite_int(rows, 4));
    p->program = hb_import_copy_text(r->import, program_of(hb_sqlite_text(rows, 5)));
    if (node) {
        p->host = r->node_list.items[node - 1].host;
        p->machine = r->node_list.items[node - 1].machine;
    }
    p->id = r->suffix;
    read_ranks(p, hb_rocpd_json(r, rows, 6));
    *HB_PUSH(r->arena, &r->process_list) = p;
    hb_id_index_set(r->arena, &r->processes, id_of(rows, 0), r->process_list.count);
}

/* Each has an id of its own: that one stands there again is damage, and no other process. */
static void read_processes(hb_rocpd *r)
{
    hb_sqlite_rows rows =
        hb_rocpd_select(r, "info_process", "id, nid, pid, fini, end, command, environment");
    while (hb_sqlite_next(&rows))
        if (r->process_list.count < UINT16_MAX && !find(&r->processes, &rows, 0))
            add_process(r, &rows);
    hb_rocpd_done(r, &rows);
}

static void read_threads(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "info_thread", "id, tid, name");
    while (hb_sqlite_next(&rows)) {
        hb_str name = hb_sqlite_text(&rows, 2);
        hb_import_thread *thread = HB_PUSH(r->arena, &r->thread_list);
        thread->tid = hb_sqlite_int(&rows, 1);
        thread->name = 0;
        if (name.len && !(thread->name = hb_texts_add(&r->import->texts, name.s, name.len)))
            leave(r->arena, hb_no_memory());
        hb_id_index_set(r->arena, &r->threads, id_of(&rows, 0), r->thread_list.count);
    }
    hb_rocpd_done(r, &rows);
}

/* A GPU's number among the GPUs is what HIP calls it, unless the program saw some of them only. */
static void read_agents(hb_rocpd *r)
{
    hb_sqlite_rows rows =
        hb_rocpd_select(r, "info_agent", "id, pid, type, type_index, name, product_name, extdata");
    while (hb_sqlite_next(&rows)) {
        bool is_gpu = hb_str_is(hb_sqlite_text(&rows, 2), "GPU");
        int64_t index = hb_sqlite_int(&rows, 3);
        int32_t gpu = is_gpu && index >= 0 && index < 1024 ? (int32_t)index : -1;
        *HB_PUSH(r->arena, &r->agent_list) = gpu;
        hb_id_index_set(r->arena, &r->agents, id_of(&rows, 0), r->agent_list.count);
        uint32_t owner = find(&r->processes, &rows, 1);
        hb_str json = hb_rocpd_json(r, &rows, 6);
        for (uint32_t i = 0; gpu >= 0 && i < r->process_list.count; i++)
            if (!owner || owner == i + 1)
                hb_import_add_gpu(r->import, r->process_list.items[i], gpu,
                                  hb_sqlite_text(&rows, 5), hb_sqlite_text(&rows, 4), json);
    }
    hb_rocpd_done(r, &rows);
}

/* The name of the code's symbol where there is none for people: without ".kd". */
static hb_str kernel_name(const hb_sqlite_rows *rows)
{
    hb_str name = hb_sqlite_text(rows, 1);
    if (!name.len) name = hb_sqlite_text(rows, 2);
    if (hb_str_ends(name, ".kd")) name.len -= 3;
    return name;
}

static void read_symbols(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(
        r, "info_kernel_symbol",
        "id, display_name, kernel_name, arch_vgpr_count, accum_vgpr_count, sgpr_count");
    while (hb_sqlite_next(&rows)) {
        hb_str name = kernel_name(&rows);
        hb_rocpd_symbol *symbol = HB_PUSH(r->arena, &r->symbol_list);
        *symbol = (hb_rocpd_symbol){
            .name = hb_texts_add(&r->import->texts, name.s, name.len),
            .vgprs = (uint32_t)hb_sqlite_int(&rows, 3),
            .agprs = (uint32_t)hb_sqlite_int(&rows, 4),
            .sgprs = (uint32_t)hb_sqlite_int(&rows, 5),
            .has_registers = !hb_sqlite_is_null(&rows, 3),
        };
        if (!symbol->name) leave(r->arena, hb_no_memory());
        hb_id_index_set(r->arena, &r->symbols, id_of(&rows, 0), r->symbol_list.count);
    }
    hb_rocpd_done(r, &rows);
}

/* ---- the file ---- */

/* Drafts of a fourth schema keep threads and queues in tracks, and some of them times elsewhere. */
static void check_schema(hb_rocpd *r)
{
    static const struct {
        const char *table, *column, *instead;
    } needed[] = {
        {"region", "start", NULL},          {"region", "tid", "track_id"},
        {"kernel_dispatch", "start", NULL}, {"kernel_dispatch", "queue_id", "track_id"},
        {"memory_copy", "start", NULL},     {"event", "stack_id", NULL},
        {"string", "string", NULL},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(needed); i++)
        if (!has_column(r, needed[i].table, needed[i].column) &&
            !(needed[i].instead && has_column(r, needed[i].table, needed[i].instead)))
            hb_arena_leave(r->arena, HB_ERROR_FORMAT,
                           "%s: rocpd of schema %s, which is not read: rocpd_%s has no column %s; "
                           "convert it by the rocpd that wrote it: rocpd convert -f pftrace csv",
                           r->import->path, *r->version ? r->version : "unknown", needed[i].table,
                           needed[i].column);
}

static const char *read_version(hb_rocpd *r)
{
    const char *version = "";
    hb_sqlite_rows rows = hb_rocpd_select(r, "metadata", "tag, value");
    while (hb_sqlite_next(&rows))
        if (hb_str_is(hb_sqlite_text(&rows, 0), "schema_version"))
            version = hb_import_copy_text(r->import, hb_sqlite_text(&rows, 1));
    hb_rocpd_done(r, &rows);
    return version;
}

static void read_suffix(hb_rocpd *r)
{
    r->version = read_version(r);
    check_schema(r);
    read_strings(r);
    read_categories(r);
    read_tracks(r);
    read_nodes(r);
    read_processes(r);
    if (!r->process_list.count) return; /* nothing was recorded */
    read_threads(r);
    read_agents(r);
    read_symbols(r);
    hb_rocpd_read_events(r);
    hb_rocpd_read_values(r);
}

typedef struct rocpd_file {
    hb_import *import;
    hb_sqlite *db;
    hb_rocpd *part; /* being read */
    HB_VEC(const char *) suffixes;
} rocpd_file;

static void free_part(rocpd_file *f)
{
    hb_rocpd *r = f->part;
    f->part = NULL;
    if (!r) return;
    hb_id_index *const all[] = {&r->strings,    &r->nodes,   &r->processes,     &r->threads,
                                &r->agents,     &r->symbols, &r->events,        &r->counters,
                                &r->categories, &r->tracks,  &r->sample_tracks, &r->dispatches};
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++)
        hb_id_index_free(r->arena, all[i]);
    hb_column_free(&r->event_list);
    hb_buf_free(&r->json);
    free(r);
}

static void close_file(void *context)
{
    rocpd_file *f = context;
    free_part(f);
    hb_sqlite_close(f->db);
    f->db = NULL;
}

static void add_suffix(void *context, const char *table)
{
    rocpd_file *f = context;
    const char *suffix = table + strlen("rocpd_metadata");
    if (*suffix && *suffix != '_') return;
    *HB_PUSH(&f->import->arena, &f->suffixes) =
        hb_import_copy_text(f->import, (hb_str){suffix, (uint32_t)strlen(suffix)});
}

static void read_part(rocpd_file *f, const char *suffix)
{
    f->part = calloc(1, sizeof *f->part);
    if (!f->part) leave(&f->import->arena, hb_no_memory());
    *f->part =
        (hb_rocpd){.import = f->import, .arena = &f->import->arena, .db = f->db, .suffix = suffix};
    f->part->event_list.item_size = sizeof(hb_rocpd_event);
    hb_buf_init(&f->part->json, SIZE_MAX / 2);
    read_suffix(f->part);
    free_part(f);
}

bool hb_rocpd_probe(const hb_import_probe *probe)
{
    return hb_import_has_table(probe, "rocpd_info_");
}

void hb_rocpd_open(hb_import *import, const char *path)
{
    rocpd_file *f = hb_arena_alloc(&import->arena, sizeof *f);
    f->import = import;
    hb_import_guard(import, close_file, f);
    leave(&import->arena, hb_sqlite_open(path, hb_import_progress, import, &f->db));
    leave(&import->arena, hb_sqlite_tables(f->db, "rocpd_metadata", add_suffix, f));
    for (uint32_t i = 0; i < f->suffixes.count; i++)
        read_part(f, f->suffixes.items[i]);
    if (hb_sqlite_missed(f->db)) hb_warn("%s: %s", path, hb_sqlite_missed(f->db));
    hb_import_unguard(import);
}
