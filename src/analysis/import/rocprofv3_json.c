/* SPDX-License-Identifier: MIT
 *
 * rocprofv3's JSON (--output-format json), of ROCm 6.2 and newer: one object a process. Records
 * name kernels, agents and calls by numbers whose tables stand before them in all files that were
 * seen; members are looked up first and read in the order that is needed.
 */
#include <stdlib.h>

#include "import/agents.h"
#include "import/rocprofv3.h"
#include "import/rows_shared.h"
#include "import/whole_file.h"

/* ---- what stands where ---- */

typedef enum member {
    METADATA,
    AGENTS,
    COUNTERS,
    STRINGS,
    KERNEL_SYMBOLS,
    BUFFER_RECORDS,
    CALLBACK_RECORDS,
    MEMBERS
} member;

static const char *const member_names[] = {
    [METADATA] = "metadata",
    [AGENTS] = "agents",
    [COUNTERS] = "counters",
    [STRINGS] = "strings",
    [KERNEL_SYMBOLS] = "kernel_symbols",
    [BUFFER_RECORDS] = "buffer_records",
    [CALLBACK_RECORDS] = "callback_records",
};

static hb_string_id intern(hb_rocprofv3 *r, const hb_value *v)
{
    if (!v->escaped)
        return hb_import_text(r->arena, &r->p->rows, (hb_str){v->s, (uint32_t)v->size});
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 4);
    hb_value_decode(v, &text);
    hb_string_id id = 0;
    if (!text.failed)
        id = hb_texts_add(&r->import->texts, text.data ? text.data : "", text.size);
    hb_buf_free(&text);
    if (!id) hb_arena_leave(r->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

int64_t hb_rocprofv3_handle(hb_rocprofv3 *r)
{
    hb_value key;
    bool first = true;
    int64_t handle = -1;
    if (*r->c.at != '{') return hb_json_read_number(&r->c);
    hb_json_enter(&r->c, '{');
    if (hb_json_next_is(&r->c, &first, HB_STR("handle"))) handle = hb_json_read_number(&r->c);
    while (hb_json_next_member(&r->c, &first, &key)) {
        if (hb_value_is(&key, "handle"))
            handle = hb_json_read_number(&r->c);
        else
            (void)hb_json_read(&r->c);
    }
    return handle;
}

/* ---- tables ---- */

static uint64_t machine_of(hb_str id)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.s[i]) * 1099511628211u;
    return id.len ? hash | 1 : 0;
}

static void read_node(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        hb_value v = hb_json_read(&r->c);
        if (hb_value_is(&key, "hostname")) r->p->host = hb_import_copy_value(r->import, &v);
        if (hb_value_is(&key, "machine_id"))
            r->p->machine = machine_of(hb_import_text_of(r->import, &v));
    }
}

/* The program alone: what it was given may be secret. */
static void read_command(hb_rocprofv3 *r)
{
    bool first = true;
    if (!hb_json_enter(&r->c, '[')) return;
    HB_EACH_ELEMENT(&r->c)
    {
        hb_value v = hb_json_read(&r->c);
        hb_str program = hb_import_text_of(r->import, &v);
        const char *slash = program.len ? memrchr(program.s, '/', program.len) : NULL;
        if (slash) program.len -= (uint32_t)(slash + 1 - program.s);
        if (slash) program.s = slash + 1;
        if (first) r->p->program = hb_import_copy_text(r->import, program);
        first = false;
    }
}

static void read_metadata(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "node"))
            read_node(r);
        else if (hb_value_is(&key, "command"))
            read_command(r);
        else if (hb_value_is(&key, "pid"))
            r->p->pid = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "fini_time"))
            r->p->clock_end = hb_json_read_number(&r->c);
        else
            (void)hb_json_read(&r->c);
    }
}

static void read_agents(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '[')) return;
    HB_EACH_ELEMENT(&r->c)
    {
        const char *begin = r->c.at;
        int64_t handle = -1, type = 0, index = -1;
        hb_value name = {0}, arch = {0};
        if (!hb_json_enter(&r->c, '{')) continue;
        HB_EACH_MEMBER(&r->c, key)
        {
            if (hb_value_is(&key, "id"))
                handle = hb_rocprofv3_handle(r);
            else if (hb_value_is(&key, "type"))
                type = hb_json_read_number(&r->c);
            else if (hb_value_is(&key, "logical_node_type_id"))
                index = hb_json_read_number(&r->c);
            else if (hb_value_is(&key, "product_name"))
                name = hb_json_read(&r->c);
            else if (hb_value_is(&key, "name"))
                arch = hb_json_read(&r->c);
            else
                (void)hb_json_read(&r->c);
        }
        int32_t gpu = type == 2 && index >= 0 && index < 1024 ? (int32_t)index : -1;
        *HB_PUSH(r->arena, &r->gpus) = gpu;
        hb_id_index_set(r->arena, &r->agents, (uint64_t)handle, r->gpus.count);
        if (gpu >= 0)
            hb_import_add_gpu(r->import, r->p, gpu, hb_import_text_of(r->import, &name),
                              hb_import_text_of(r->import, &arch),
                              (hb_str){begin, (uint32_t)(r->c.at - begin)});
    }
}

static void read_symbol(hb_rocprofv3 *r)
{
    hb_value key, name = {0};
    int64_t id = -1;
    hb_rocprofv3_symbol s = {0, -1, -1, -1};
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "kernel_id"))
            id = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "arch_vgpr_count"))
            s.vgprs = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "accum_vgpr_count"))
            s.agprs = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "sgpr_count"))
            s.sgprs = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "formatted_kernel_name"))
            name = hb_json_read(&r->c);
        else
            (void)hb_json_read(&r->c);
    }
    if (id < 0 || name.type != HB_JSON_STRING) return;
    s.name = intern(r, &name);
    *HB_PUSH(r->arena, &r->symbol_list) = s;
    hb_id_index_set(r->arena, &r->symbols, (uint64_t)id, r->symbol_list.count);
}

static void read_symbols(hb_rocprofv3 *r)
{
    if (!hb_json_enter(&r->c, '[')) return;
    HB_EACH_ELEMENT(&r->c)
    {
        if (hb_json_enter(&r->c, '{')) read_symbol(r);
    }
}

static void read_kind(hb_rocprofv3 *r)
{
    hb_value key;
    hb_rocprofv3_kind *k = HB_PUSH(r->arena, &r->kinds);
    memset(k, 0, sizeof *k);
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "operations") && hb_json_enter(&r->c, '[')) {
            HB_EACH_ELEMENT(&r->c)
            {
                hb_value v = hb_json_read(&r->c);
                *HB_PUSH(r->arena, &k->operations) = intern(r, &v);
            }
        } else if (hb_value_is(&key, "kind")) {
            hb_value v = hb_json_read(&r->c);
            k->category = intern(r, &v);
            k->part = hb_import_part_of(hb_import_text_of(r->import, &v));
        } else if (!hb_value_is(&key, "operations")) {
            (void)hb_json_read(&r->c);
        }
    }
}

/* {"key": 12, "value": "text of a marker"} */
static void read_marker(hb_rocprofv3 *r)
{
    hb_value key, text = {0};
    int64_t id = -1;
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "key"))
            id = hb_json_read_number(&r->c);
        else if (hb_value_is(&key, "value"))
            text = hb_json_read(&r->c);
        else
            (void)hb_json_read(&r->c);
    }
    if (id >= 0 && text.type == HB_JSON_STRING)
        hb_id_index_set(r->arena, &r->markers, (uint64_t)id, intern(r, &text));
}

static void read_strings(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        bool kinds = hb_value_is(&key, "buffer_records"), markers = hb_value_is(&key, "marker_api");
        if (!(kinds || markers)) {
            (void)hb_json_read(&r->c);
            continue;
        }
        if (!hb_json_enter(&r->c, '[')) continue;
        HB_EACH_ELEMENT(&r->c)
        {
            if (!hb_json_enter(&r->c, '{')) continue;
            if (kinds)
                read_kind(r);
            else
                read_marker(r);
        }
    }
}

static void read_counters(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '[')) return;
    HB_EACH_ELEMENT(&r->c)
    {
        int64_t id = -1;
        hb_value name = {0};
        if (!hb_json_enter(&r->c, '{')) continue;
        HB_EACH_MEMBER(&r->c, key)
        {
            if (hb_value_is(&key, "id"))
                id = hb_rocprofv3_handle(r);
            else if (hb_value_is(&key, "name"))
                name = hb_json_read(&r->c);
            else
                (void)hb_json_read(&r->c);
        }
        if (id >= 0 && name.type == HB_JSON_STRING)
            hb_id_index_set(r->arena, &r->counters, (uint64_t)id, intern(r, &name));
    }
}

/* ---- the file ---- */

/* MEMBERS: none that is read. */
static int member_of(const hb_value *key)
{
    int i = 0;
    while (i < MEMBERS && !hb_value_is(key, member_names[i]))
        i++;
    return i;
}

static void free_tables(hb_rocprofv3 *r)
{
    hb_id_index_free(r->arena, &r->agents);
    hb_id_index_free(r->arena, &r->symbols);
    hb_id_index_free(r->arena, &r->markers);
    hb_id_index_free(r->arena, &r->counters);
    hb_id_index_free(r->arena, &r->dispatches);
    r->gpus.count = r->symbol_list.count = r->kinds.count = 0;
}

static void close_file(void *context)
{
    hb_rocprofv3 *r = context;
    free_tables(r);
    free(r->text);
    r->text = NULL;
}

/* Tables before what names their rows, whatever the file's order is: what comes in order, as the
 * tool writes it, is read where it is met, all else in the end. */
static void read_process(hb_rocprofv3 *r)
{
    static void (*const read[MEMBERS])(hb_rocprofv3 * r) = {
        [METADATA] = read_metadata,
        [AGENTS] = read_agents,
        [COUNTERS] = read_counters,
        [STRINGS] = read_strings,
        [KERNEL_SYMBOLS] = read_symbols,
        [BUFFER_RECORDS] = hb_rocprofv3_read_buffers,
        [CALLBACK_RECORDS] = hb_rocprofv3_read_callbacks,
    };
    const char *places[MEMBERS] = {NULL};
    hb_value key;
    int next = 0;
    r->p = hb_import_add_process(r->import, "rocprofv3 JSON", "");
    HB_EACH_MEMBER(&r->c, key)
    {
        int i = member_of(&key);
        if (i == MEMBERS) {
            (void)hb_json_read(&r->c);
        } else if (i == next) {
            read[next++](r);
        } else {
            places[i] = r->c.at;
            (void)hb_json_read(&r->c);
        }
    }
    const char *end = r->c.at;
    for (int i = next; i < MEMBERS; i++) {
        if (!places[i]) continue;
        r->c.at = places[i];
        read[i](r);
    }
    r->c.at = end;
    free_tables(r);
}

static void read_file(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        bool tool = hb_value_is(&key, "rocprofiler-sdk-tool");
        if (!tool) (void)hb_json_read(&r->c);
        if (!tool || !hb_json_enter(&r->c, '[')) continue;
        HB_EACH_ELEMENT(&r->c)
        {
            if (hb_json_enter(&r->c, '{')) read_process(r);
        }
    }
}

bool hb_rocprofv3_json_probe(const hb_import_probe *probe)
{
    const char *p = probe->head;
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    if (*p++ != '{') return false;
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    return strncmp(p, "\"rocprofiler-sdk-tool\"", 22) == 0;
}

void hb_rocprofv3_json_open(hb_import *import, const char *path)
{
    size_t size;
    hb_rocprofv3 *r = hb_arena_alloc(&import->arena, sizeof *r);
    r->import = import;
    r->arena = &import->arena;
    hb_import_guard(import, close_file, r);
    hb_result result = hb_whole_file(path, &r->text, &size);
    if (result != HB_OK) hb_arena_leave(r->arena, result, "%s", hb_last_error());
    r->c = hb_json_cursor_at(r->text, size, r->arena, path);
    read_file(r);
    hb_import_unguard(import);
}
