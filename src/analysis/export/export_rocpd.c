/* SPDX-License-Identifier: MIT
 *
 * rocpd, the database that rocprofv3 of ROCm 7 writes: schema 3.0.0, tables for each process, whose
 * names end in its guid, and views over all of them.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/event_facts.h"
#include "export/exporter.h"
#include "export/rocpd_rows.h"
#include "export/rocpd_views.h"
#include "import/agents.h"

/* ---- the process ---- */

static uint64_t hash_text(const char *text, uint64_t seed)
{
    for (; text && *text; text++)
        seed = (seed ^ (unsigned char)*text) * 1099511628211u;
    return seed;
}

static void name_process(hb_rocpd_out *r)
{
    /* Parts of one process differ by their beginning: whoever merges them needs that. */
    uint64_t seed = 14695981039346656037u + r->processes + (uint64_t)r->info->start_ns;
    uint64_t a = hash_text(r->info->trace_id, seed);
    uint64_t b = hash_text(r->info->host_name, a ^ (uint64_t)r->info->pid);
    snprintf(r->guid, sizeof r->guid, "%08x-%04x-7%03x-8%03x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(b >> 48 & 0xfff),
             (unsigned long long)(b & UINT64_C(0xffffffffffff)));
    snprintf(r->suffix, sizeof r->suffix, "_%s", r->guid);
    for (char *c = r->suffix; *c; c++)
        if (*c == '-') *c = '_';
}

/* "rank": 3, of the JSON that tells of the job; -1: it does not. */
static long long number_in(const char *json, const char *key)
{
    const char *at = json ? strstr(json, key) : NULL;
    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static void add_info(hb_rocpd_out *r, const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(r->db, hb_rocpd_with_suffix(r, sql), -1, &s, NULL) != SQLITE_OK)
        hb_rocpd_leave(r);
    sqlite3_bind_text(s, 1, first ? first : "", -1, SQLITE_STATIC);
    if (second) sqlite3_bind_text(s, 2, second, -1, SQLITE_STATIC);
    int code = sqlite3_step(s);
    sqlite3_finalize(s);
    if (code != SQLITE_DONE) hb_rocpd_leave(r);
}

static void add_agents(hb_rocpd_out *r)
{
    int32_t last = -1;
    for (size_t i = 0; i < r->info->num_streams; i++)
        last = HB_MAX(last, r->info->streams[i].device);
    for (size_t i = 0; i < r->info->num_devices; i++)
        last = HB_MAX(last, r->info->devices[i].id);
    add_info(r,
             "INSERT INTO rocpd_info_agent@(id, nid, pid, type, absolute_index, logical_index, "
             "type_index, name, product_name) VALUES (0, 1, 1, 'CPU', 0, 0, 0, ?1, '')",
             "", NULL);
    for (int32_t id = 0; id <= HB_MIN(last, 1023); id++) {
        char sql[900], json[500] = "{}";
        const hb_device_info none = {.id = id, .name = "", .arch = ""}, *d = &none;
        for (size_t i = 0; i < r->info->num_devices; i++)
            if (r->info->devices[i].id == id) d = &r->info->devices[i];
        int32_t cus = hb_import_cus_of_one(d);
        if (d != &none)
            snprintf(json, sizeof json,
                     "{\"cu_count\":%d,\"max_waves_per_cu\":%d,\"wave_front_size\":%d,"
                     "\"lds_size_in_kb\":%d,\"gfx_target_version\":%d,\"workgroup_max_size\":%d,"
                     "\"max_engine_clk_fcompute\":%d,\"mem_banks\":[{\"size_in_bytes\":%llu,"
                     "\"width\":%d,\"mem_clk_max\":%d}]}",
                     (int)(d->num_cus * cus),
                     (int)(d->max_threads_per_cu / HB_MAX(d->warp_size, 1) / cus),
                     (int)d->warp_size, (int)(d->max_shared_mem_per_cu / 1024),
                     (int)(d->compute_major * 10000 + d->compute_minor * 100),
                     (int)d->max_threads_per_block, (int)(d->clock_khz / 1000),
                     (unsigned long long)d->total_global_mem, (int)d->memory_bus_bits,
                     (int)(d->memory_khz / 1000));
        snprintf(sql, sizeof sql,
                 "INSERT INTO rocpd_info_agent@(id, nid, pid, type, absolute_index, "
                 "logical_index, type_index, name, product_name, extdata) VALUES (%d, 1, 1, "
                 "'GPU', %d, %d, %d, ?1, ?2, '%s')",
                 (int)id + 1, (int)id + 1, (int)id + 1, (int)id, json);
        add_info(r, sql, d->arch ? d->arch : "", d->name ? d->name : "");
    }
}

static void add_process_info(hb_rocpd_out *r)
{
    char sql[700];
    const hb_trace_info *info = r->info;
    snprintf(sql, sizeof sql,
             "INSERT INTO rocpd_metadata@(tag, value) VALUES ('schema_version', '3'), "
             "('uuid', '%s'), ('guid', '%s'), ('generator', ?1)",
             r->suffix, r->guid);
    add_info(r, sql, "hipboard", NULL);
    snprintf(sql, sizeof sql,
             "INSERT INTO rocpd_info_node@(id, hash, machine_id, system_name, hostname) VALUES "
             "(1, %lld, '%016llx%016llx', 'Linux', ?1)",
             (long long)(hash_text(info->host_name, 1469598103u) >> 2),
             (unsigned long long)hash_text(info->host_name, 77),
             (unsigned long long)hash_text(info->host_name, 78));
    add_info(r, sql, info->host_name, NULL);
    long long rank = number_in(info->distributed_json, "\"rank\": ");
    long long world = number_in(info->distributed_json, "\"world_size\": ");
    char environment[80] = "{}";
    if (rank >= 0 && world > 0)
        snprintf(environment, sizeof environment, "{\"RANK\":\"%lld\",\"WORLD_SIZE\":\"%lld\"}",
                 rank, world);
    snprintf(sql, sizeof sql,
             "INSERT INTO rocpd_info_process@(id, nid, ppid, pid, init, start, command, "
             "environment) VALUES (1, 1, 0, %lld, %lld, %lld, ?1, '%s')",
             (long long)info->pid, (long long)info->start_ns, (long long)info->start_ns,
             environment);
    add_info(r, sql, info->process_name, NULL);
    add_info(r, "INSERT INTO rocpd_info_code_object@(id, nid, pid, uri) VALUES (1, 1, 1, ?1)", "",
             NULL);
    add_agents(r);
}

static void set_end(hb_rocpd_out *r)
{
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE rocpd_info_process%s SET fini = %lld, end = %lld", r->suffix,
             (long long)r->end, (long long)r->end);
    if (sqlite3_exec(r->db, sql, NULL, NULL, NULL) != SQLITE_OK) hb_rocpd_leave(r);
}

static void put_pass(hb_rocpd_out *r, hb_source *source, hb_pass pass)
{
    hb_trace_event e;
    hb_result result = source->begin(source, pass);
    if (result != HB_OK) hb_arena_leave(&r->arena, result, "%s", hb_last_error());
    while (source->next(source, &e))
        hb_rocpd_add_event(r, &e);
}

static void write_process(hb_rocpd_out *r, hb_source *source)
{
    if (!hb_texts_init(&r->texts)) hb_arena_leave(&r->arena, HB_ERROR_NO_MEMORY, "out of memory");
    name_process(r);
    hb_rocpd_create_tables(r);
    add_process_info(r);
    put_pass(r, source, HB_PASS_TIMELINE);
    put_pass(r, source, HB_PASS_MODULES);
    put_pass(r, source, HB_PASS_SCALARS);
    put_pass(r, source, HB_PASS_DEVICE);
    set_end(r);
}

static hb_result try_to_write(hb_rocpd_out *r, hb_source *source)
{
    if (hb_arena_try(&r->arena)) write_process(r, source);
    return hb_arena_outcome(&r->arena);
}

static hb_result add_process(hb_exporter *exporter, hb_source *source, hb_export_counts *counts)
{
    hb_rocpd_out *r = (hb_rocpd_out *)exporter;
    hb_dict *const dicts[] = {&r->thread_names, &r->threads,          &r->queues,
                              &r->streams,      &r->tracks,           &r->pmcs,
                              &r->symbols,      &r->vector_registers, &r->registers};
    r->info = source->info;
    r->counts = counts;
    r->events = r->dispatches = r->end = 0;
    memset(r->totals, 0, sizeof r->totals);
    for (size_t i = 0; i < HB_ARRAY_LEN(dicts); i++)
        memset(dicts[i], 0, sizeof *dicts[i]);
    hb_result result = try_to_write(r, source);
    for (int i = 0; i < HB_ROCPD_STATEMENTS; i++) {
        sqlite3_finalize(r->add[i]);
        r->add[i] = NULL;
    }
    hb_texts_free(&r->texts);
    hb_arena_free(&r->arena);
    r->last_end = HB_MAX(r->last_end, r->end);
    r->processes += result == HB_OK;
    return result;
}

/* ---- the file ---- */

static hb_result fail(const hb_rocpd_out *r)
{
    return hb_fail(HB_ERROR_IO, "%s: %s", r->publish.path,
                   r->db ? sqlite3_errmsg(r->db) : "out of memory");
}

static uint64_t number_of(sqlite3 *db, const char *pragma)
{
    sqlite3_stmt *s;
    uint64_t number = 0;
    if (sqlite3_prepare_v2(db, pragma, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        number = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return number;
}

static uint64_t size(hb_exporter *exporter)
{
    hb_rocpd_out *r = (hb_rocpd_out *)exporter;
    return number_of(r->db, "PRAGMA page_count") * number_of(r->db, "PRAGMA page_size");
}

/* It appears under its name at once, and whole. */
static hb_result finish(hb_exporter *exporter)
{
    hb_rocpd_out *r = (hb_rocpd_out *)exporter;
    if (hb_rocpd_create_views(r->db) != SQLITE_OK ||
        sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        return fail(r);
    sqlite3_close(r->db);
    r->db = NULL;
    HB_TRY(hb_publish_commit(&r->publish));
    hb_set_file_time(r->publish.path, r->last_end);
    return HB_OK;
}

static void close_file(hb_exporter *exporter)
{
    hb_rocpd_out *r = (hb_rocpd_out *)exporter;
    sqlite3_close(r->db);
    hb_publish_free(&r->publish);
    free(r);
}

/* Nobody else writes the file: it needs no locks, which not every file system has. */
static hb_result open_database(hb_rocpd_out *r, const char *output, bool replace)
{
    static const char settings[] = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                                   "PRAGMA locking_mode=EXCLUSIVE; BEGIN";
    HB_TRY(hb_publish_open_by_name(&r->publish, output, replace, "a database"));
    if (sqlite3_open_v2(r->publish.temporary, &r->db, SQLITE_OPEN_READWRITE, "unix-none") !=
            SQLITE_OK ||
        sqlite3_exec(r->db, settings, NULL, NULL, NULL) != SQLITE_OK)
        return fail(r);
    return HB_OK;
}

hb_result hb_export_to_rocpd(const char *output, bool replace, hb_exporter **exporter)
{
    hb_rocpd_out *r = calloc(1, sizeof *r);
    if (!r) return hb_no_memory();
    r->base = (hb_exporter){add_process, size, finish, close_file};
    hb_result result = open_database(r, output, replace);
    if (result == HB_OK)
        *exporter = &r->base;
    else
        close_file(&r->base);
    return result;
}
