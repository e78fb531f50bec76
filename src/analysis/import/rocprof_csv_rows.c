/* SPDX-License-Identifier: MIT
 *
 * Rows of rocprof's tables. Tables of kernels, copies and memory do not tell their process: they
 * are of the one whose calls lie beside them. Agents are numbered with the processors: where no
 * table tells which are GPUs, those are that ran kernels or took part in copies as a device.
 */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "base/json_scan.h"
#include "import/agents.h"
#include "import/rocprof_csv.h"
#include "import/rows_shared.h"

enum { PROCESSOR = 1, FIRST_GPU = 2 }; /* what agents are looked up as */

static int64_t number(const hb_rocprof_set *s, hb_rocprof_column column)
{
    return hb_csv_int(&s->csv, s->header.at[column]);
}

static hb_str text(const hb_rocprof_set *s, hb_rocprof_column column)
{
    return hb_csv_text(&s->csv, s->header.at[column]);
}

static bool has(const hb_rocprof_set *s, hb_rocprof_column column)
{
    return s->header.at[column] >= 0;
}

/* Of the present row, which may have more than there are columns. */
static uint32_t num_fields(const hb_rocprof_set *s)
{
    return HB_MIN(s->csv.count, s->header.count);
}

static uint32_t count_of(const hb_rocprof_set *s, hb_rocprof_column column)
{
    return (uint32_t)HB_MIN(HB_MAX(number(s, column), 0), (int64_t)UINT32_MAX);
}

/* ---- processes ---- */

static hb_rocprof_process *add_process(hb_rocprof_set *s, hb_string_id guid, int64_t pid)
{
    const char *version = has(s, HB_ROCPROF_BLOCK) && !has(s, HB_ROCPROF_COUNTER) ? "1" : "";
    hb_rocprof_process *process = HB_PUSH(s->arena, &s->processes);
    memset(process, 0, sizeof *process);
    process->p = hb_import_add_process(s->import, "rocprof CSV", version);
    process->p->pid = HB_MAX(pid, 0);
    process->p->machine = s->machine;
    process->p->machine_is_guessed = true;
    process->p->rank = s->rank;
    process->p->host = s->host;
    process->p->name = s->name;
    process->guid = guid;
    process->has_pid = pid >= 0;
    return process;
}

static hb_string_id guid_of(hb_rocprof_set *s)
{
    hb_str guid = text(s, HB_ROCPROF_GUID);
    if (!guid.len) return 0;
    hb_string_id id = hb_texts_add(&s->import->texts, guid.s, guid.len);
    if (!id) hb_arena_leave(s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* Calls name the process of what was read before, whose tables do not; counters that lie apart are
 * of another run. */
static bool names_it(const hb_rocprof_set *s, const hb_rocprof_process *process)
{
    return !process->has_pid && (s->header.kind != HB_ROCPROF_COUNTERS || s->of_root);
}

static hb_rocprof_process *process_of(hb_rocprof_set *s)
{
    hb_string_id guid = guid_of(s);
    int64_t pid = number(s, HB_ROCPROF_PROCESS);
    for (uint32_t i = s->processes.count; i-- > 0;) {
        hb_rocprof_process *process = &s->processes.items[i];
        bool same = guid ? process->guid == guid : pid < 0 || process->p->pid == pid;
        if (same && (pid < 0 || process->has_pid)) return process;
        if ((guid && process->guid != guid) || pid < 0 || !names_it(s, process)) continue;
        process->p->pid = pid;
        process->has_pid = true;
        return process;
    }
    return add_process(s, guid, pid >= 0 ? pid : guid ? -1 : s->pid);
}

/* ---- agents ---- */

/* The agent as rocprofiler-sdk's JSON has it: the columns have its members' names. */
static hb_str agent_json(hb_rocprof_set *s, const hb_str *names)
{
    hb_buf json;
    hb_buf_init(&json, 1 << 20);
    const char *separator = "{";
    for (uint32_t i = 0; i < num_fields(s); i++) {
        if (hb_csv_int(&s->csv, (int)i) < 0 || s->csv.fields[i].s[0] == '0') continue;
        hb_buf_str(&json, separator);
        separator = ",";
        hb_buf_str(&json, "\"");
        for (uint32_t k = 0; k < names[i].len; k++) {
            char c = (char)tolower((unsigned char)names[i].s[k]);
            if (isalnum((unsigned char)c) || c == '_') hb_buf_append(&json, &c, 1);
        }
        hb_buf_printf(&json, "\":%lld", (long long)hb_csv_int(&s->csv, (int)i));
    }
    hb_buf_str(&json, *separator == ',' ? "}" : "{}");
    char *text = hb_arena_alloc(s->arena, json.size + HB_SCAN_PADDING);
    if (json.size) memcpy(text, json.data, json.size);
    hb_str result = {text, (uint32_t)json.size};
    hb_buf_free(&json);
    return result;
}

static hb_str agent_text(hb_rocprof_set *s, const hb_str *names, const char *name)
{
    for (uint32_t i = 0; i < num_fields(s); i++)
        if (names[i].len == strlen(name) && strncasecmp(names[i].s, name, names[i].len) == 0)
            return (hb_str){hb_import_copy_text(s->import, s->csv.fields[i]), s->csv.fields[i].len};
    return (hb_str){"", 0};
}

static void read_agent(hb_rocprof_set *s, const hb_str *names)
{
    bool gpu = hb_str_is(text(s, HB_ROCPROF_AGENT_TYPE), "GPU");
    int64_t id = number(s, HB_ROCPROF_LOGICAL_NODE);
    if (id < 0) id = number(s, HB_ROCPROF_NODE);
    if (id < 0 || hb_id_index_get(&s->agents, (uint64_t)id)) return;
    s->has_agents = true;
    hb_id_index_set(s->arena, &s->agents, (uint64_t)id,
                    gpu ? FIRST_GPU + s->gpus.count : PROCESSOR);
    if (gpu)
        *HB_PUSH(s->arena, &s->gpus) =
            (hb_rocprof_gpu){agent_text(s, names, "product_name"), agent_text(s, names, "name"),
                             agent_json(s, names)};
}

/* "Agent 4", "GPU 0", 4 or a quote alone; -1: none, or a processor. Without a table of agents it is
 * the agent's number, which hb_import_number_gpus() makes a GPU's. */
static int32_t gpu_of(hb_rocprof_set *s, hb_str agent)
{
    bool is_gpu = hb_str_begins(agent, "GPU ");
    if (hb_str_begins(agent, "CPU ") || !agent.len) return -1;
    const char *digits = agent.s;
    for (uint32_t i = 0; i < agent.len; i++)
        if (agent.s[i] == ' ') digits = agent.s + i + 1;
    if (digits == agent.s + agent.len || *digits < '0' || *digits > '9') return -1;
    long id = strtol(digits, NULL, 10);
    if (id < 0 || id > 1000000) return -1;
    s->has_agents |= is_gpu;
    if (is_gpu || !s->has_agents) return (int32_t)id;
    return (int32_t)hb_id_index_get(&s->agents, (uint64_t)id) - FIRST_GPU;
}

/* ---- kernels ---- */

static bool same_text(const hb_import *import, hb_string_id id, hb_str name)
{
    hb_str known = hb_texts_get(&import->texts, id);
    return known.len == name.len && memcmp(known.s, name.s, name.len) == 0;
}

/* "gemm(float*) [clone .kd]" */
static hb_str clean_name(hb_str name)
{
    if (hb_str_ends(name, " [clone .kd]")) name.len -= 12;
    if (hb_str_ends(name, ".kd")) name.len -= 3;
    return name;
}

/* Kernels' numbers save looking up long names, but are a process's own. */
static hb_string_id kernel_name(hb_rocprof_set *s)
{
    hb_str name = clean_name(text(s, HB_ROCPROF_NAME));
    int64_t id = number(s, HB_ROCPROF_KERNEL);
    hb_string_id known = id >= 0 ? hb_id_index_get(&s->kernels, (uint64_t)id) : 0;
    if (known && same_text(s->import, known, name)) return known;
    if (!name.len) name = HB_STR("(kernel without name)");
    known = hb_texts_add(&s->import->texts, name.s, name.len);
    if (!known) hb_arena_leave(s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    if (id >= 0) hb_id_index_set(s->arena, &s->kernels, (uint64_t)id, known);
    return known;
}

static uint32_t launch_of(hb_rocprof_set *s, hb_import_process *p, int32_t gpu)
{
    hb_import_launch l;
    memset(&l, 0, sizeof l);
    l.kind = HB_EVENT_KERNEL;
    l.device = gpu;
    l.lds_bytes = count_of(s, HB_ROCPROF_LDS);
    l.scratch_bytes = count_of(s, HB_ROCPROF_SCRATCH);
    if (has(s, HB_ROCPROF_GRID_X)) {
        uint64_t items[3], threads[3];
        for (int i = 0; i < 3; i++) {
            items[i] = count_of(s, (hb_rocprof_column)(HB_ROCPROF_GRID_X + i));
            threads[i] = count_of(s, (hb_rocprof_column)(HB_ROCPROF_BLOCK_X + i));
        }
        hb_import_set_grid(&l, items, threads);
    }
    l.has_resources = number(s, HB_ROCPROF_VGPRS) >= 0;
    if (l.has_resources) {
        l.vgprs = count_of(s, HB_ROCPROF_VGPRS);
        l.agprs = count_of(s, HB_ROCPROF_AGPRS);
        l.sgprs = count_of(s, HB_ROCPROF_SGPRS);
    }
    return hb_import_distinct(s->arena, &p->rows.launches, &l);
}

/* NULL: it has no times, or no GPU. */
static hb_import_work *add_kernel(hb_rocprof_set *s, hb_rocprof_process *process)
{
    hb_import_rows *rows = &process->p->rows;
    int64_t start = number(s, HB_ROCPROF_START), end = number(s, HB_ROCPROF_END);
    int32_t gpu = gpu_of(s, text(s, HB_ROCPROF_AGENT));
    if (!hb_import_times(rows, start, &end)) return NULL;
    if (gpu < 0) {
        rows->notes[HB_IMPORT_BAD_ROWS]++;
        return NULL;
    }
    hb_import_work *work = hb_import_push(s->arena, &rows->works);
    work->start = start;
    work->end = end;
    work->correlation = (uint64_t)HB_MAX(number(s, HB_ROCPROF_CORRELATION), 0);
    work->name = kernel_name(s);
    work->launch = launch_of(s, process->p, gpu);
    work->lane = hb_import_lane_at(s->arena, rows, gpu, number(s, HB_ROCPROF_QUEUE),
                                   number(s, HB_ROCPROF_STREAM));
    int64_t dispatch = number(s, HB_ROCPROF_DISPATCH);
    if (dispatch >= 0)
        hb_id_index_set(s->arena, &process->dispatches, (uint64_t)dispatch, rows->works.count);
    return work;
}

static void add_value(hb_rocprof_set *s, hb_rocprof_process *process, hb_import_work *work,
                      hb_str name, hb_str value)
{
    char *end;
    double v = value.len ? strtod(value.s, &end) : 0;
    if (!value.len || end == value.s) return;
    hb_string_id id = hb_import_text(s->arena, &process->p->rows, name);
    hb_import_add_value(s->arena, &process->p->rows, work, id, v);
    process->p->serialised = true;
}

/* v1 and v2 have a column for each counter. */
static void read_kernel(hb_rocprof_set *s, const hb_str *names)
{
    hb_rocprof_process *process = process_of(s);
    hb_import_work *work = add_kernel(s, process);
    bool wide = has(s, HB_ROCPROF_BLOCK) && !(s->import->dropped & HB_IMPORT_COUNTERS);
    for (uint32_t i = 0; work && wide && i < s->header.num_counters; i++) {
        uint16_t at = s->header.counters[i];
        if (at < s->csv.count) add_value(s, process, work, names[at], s->csv.fields[at]);
    }
}

static void read_counter(hb_rocprof_set *s)
{
    hb_rocprof_process *process = process_of(s);
    int64_t dispatch = number(s, HB_ROCPROF_DISPATCH);
    uint32_t row = dispatch >= 0 ? hb_id_index_get(&process->dispatches, (uint64_t)dispatch) : 0;
    hb_import_work *work =
        row ? hb_column_at(&process->p->rows.works, row - 1) : add_kernel(s, process);
    if (!work || hb_import_drops(s->import, process->p, HB_IMPORT_COUNTERS)) return;
    add_value(s, process, work, text(s, HB_ROCPROF_COUNTER), text(s, HB_ROCPROF_VALUE));
}

/* ---- others ---- */

static enum hb_import_part part_of(hb_rocprof_set *s, hb_rocprof_process *process)
{
    hb_str domain = text(s, HB_ROCPROF_DOMAIN);
    if (s->category && same_text(s->import, s->category, domain)) return s->part;
    s->category = hb_import_text(s->arena, &process->p->rows, domain);
    s->part = hb_import_part_of(domain);
    return s->part;
}

static void read_call(hb_rocprof_set *s)
{
    hb_rocprof_process *process = process_of(s);
    hb_import_rows *rows = &process->p->rows;
    int64_t start = number(s, HB_ROCPROF_START), end = number(s, HB_ROCPROF_END);
    enum hb_import_part part = part_of(s, process);
    bool range = part == HB_IMPORT_RANGES;
    if (hb_import_drops(s->import, process->p, part) || !hb_import_times(rows, start, &end)) return;
    hb_str name = text(s, HB_ROCPROF_FUNCTION);
    int64_t tid = number(s, HB_ROCPROF_THREAD);
    hb_import_host *host = hb_import_push(s->arena, range ? &rows->scopes : &rows->calls);
    *host = (hb_import_host){
        .start = start,
        .end = end,
        .correlation = range ? 0 : (uint64_t)HB_MAX(number(s, HB_ROCPROF_CORRELATION), 0),
        .name = hb_import_text(s->arena, rows, name),
        .thread = hb_import_thread_of(s->arena, rows, tid >= 0 ? tid : process->p->pid, 0),
        .flags = hb_import_is_minor(name) ? HB_IMPORT_MINOR : 0,
    };
}

/* Which of the two are GPUs the direction tells. */
static void read_copy(hb_rocprof_set *s)
{
    hb_rocprof_process *process = process_of(s);
    hb_import_rows *rows = &process->p->rows;
    int64_t start = number(s, HB_ROCPROF_START), end = number(s, HB_ROCPROF_END);
    if (hb_import_drops(s->import, process->p, HB_IMPORT_COPIES) ||
        !hb_import_times(rows, start, &end))
        return;
    hb_import_launch l;
    hb_str direction = text(s, HB_ROCPROF_DIRECTION);
    bool from_host = hb_import_has_word(direction, "HOST_TO_");
    bool to_host = hb_import_has_word(direction, "_TO_HOST");
    memset(&l, 0, sizeof l);
    hb_import_set_copy(&l, from_host ? -1 : gpu_of(s, text(s, HB_ROCPROF_FROM)),
                       to_host ? -1 : gpu_of(s, text(s, HB_ROCPROF_TO)), 0, false);
    if (l.from < 0 && l.to < 0) l.device = -1;
    hb_import_work *work = hb_import_push(s->arena, &rows->works);
    work->start = start;
    work->end = end;
    work->correlation = (uint64_t)HB_MAX(number(s, HB_ROCPROF_CORRELATION), 0);
    work->launch = hb_import_distinct(s->arena, &rows->launches, &l);
    work->lane = hb_import_lane_at(s->arena, rows, l.device, -1, number(s, HB_ROCPROF_STREAM));
}

static void read_memory(hb_rocprof_set *s)
{
    hb_rocprof_process *process = process_of(s);
    hb_import_rows *rows = &process->p->rows;
    int64_t start = number(s, HB_ROCPROF_START), end = number(s, HB_ROCPROF_END);
    bool frees = hb_import_has_word(text(s, HB_ROCPROF_OPERATION), "FREE");
    if (hb_import_drops(s->import, process->p, HB_IMPORT_MEMORY) ||
        !hb_import_times(rows, start, &end))
        return;
    hb_import_memory *m = hb_import_push(s->arena, &rows->memory);
    m->time = frees ? start : end;
    m->address = (uint64_t)HB_MAX(number(s, HB_ROCPROF_ADDRESS), 0);
    m->bytes = frees ? 0 : HB_MAX(number(s, HB_ROCPROF_SIZE), 0);
    m->thread = hb_import_thread_of(s->arena, rows, process->p->pid, 0);
    m->device = gpu_of(s, text(s, HB_ROCPROF_AGENT));
    m->frees = frees;
}

static void read_row(hb_rocprof_set *s, const hb_str *names)
{
    switch (s->header.kind) {
    case HB_ROCPROF_AGENTS: read_agent(s, names); break;
    case HB_ROCPROF_KERNELS: read_kernel(s, names); break;
    case HB_ROCPROF_CALLS: read_call(s); break;
    case HB_ROCPROF_COPIES: read_copy(s); break;
    case HB_ROCPROF_MEMORY: read_memory(s); break;
    case HB_ROCPROF_COUNTERS: read_counter(s); break;
    default: process_of(s)->p->rows.notes[HB_IMPORT_NOT_SHOWN]++; break;
    }
}

/* A row that was cut off has no times: it is counted as such. */
void hb_rocprof_read_rows(hb_rocprof_set *s)
{
    uint32_t n = num_fields(s);
    hb_str *names = HB_NEW_ARRAY(s->arena, hb_str, n + 1);
    for (uint32_t i = 0; i < n; i++)
        names[i] = (hb_str){hb_import_copy_text(s->import, s->csv.fields[i]), s->csv.fields[i].len};
    s->category = 0;
    while (hb_csv_next(&s->csv)) {
        read_row(s, names);
        if (s->csv.rows % 65536 == 0 && !hb_import_progress(s->import, s->csv.rows))
            hb_arena_leave(s->arena, HB_ERROR_STATE, "%s: stopped", s->csv.path);
    }
}

/* Copies within the host's memory are shown at the first GPU. */
static void place_host_copies(hb_import_rows *rows)
{
    for (uint32_t i = 1; i < rows->lanes.items.count; i++) {
        hb_import_lane *lane = hb_column_at(&rows->lanes.items, i);
        lane->device = HB_MAX(lane->device, 0);
    }
    for (uint32_t i = 1; i < rows->launches.items.count; i++) {
        hb_import_launch *l = hb_column_at(&rows->launches.items, i);
        l->device = HB_MAX(l->device, 0);
    }
}

void hb_rocprof_finish(hb_rocprof_set *s)
{
    for (uint32_t i = 0; i < s->processes.count; i++) {
        hb_import_process *p = s->processes.items[i].p;
        for (uint32_t k = 0; k < s->gpus.count; k++) {
            const hb_rocprof_gpu *gpu = &s->gpus.items[k];
            hb_import_add_gpu(s->import, p, (int32_t)k, gpu->name, gpu->arch, gpu->json);
        }
        if (s->has_agents)
            place_host_copies(&p->rows);
        else
            hb_import_number_gpus(s->arena, &p->rows);
    }
}

void hb_rocprof_set_free(hb_rocprof_set *s)
{
    for (uint32_t i = 0; i < s->processes.count; i++)
        hb_id_index_free(s->arena, &s->processes.items[i].dispatches);
    hb_id_index_free(s->arena, &s->agents);
    hb_id_index_free(s->arena, &s->kernels);
}
