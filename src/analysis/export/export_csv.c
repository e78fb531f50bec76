/* SPDX-License-Identifier: MIT
 *
 * rocprofv3's tables: a directory of files that begin by the process's number. They say times only,
 * not of which day: each has the time of the recording's end as its own.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "export/event_facts.h"
#include "export/exporter.h"
#include "import/agents.h"
#include "io/out.h"
#include "io/publish.h"

typedef enum table { AGENTS, KERNELS, CALLS, RANGES, COPIES, MEMORY, COUNTERS, TABLES } table;

#define QUOTED(name) "\"" name "\""
#define TIMES        QUOTED("Start_Timestamp") "," QUOTED("End_Timestamp")
#define CALL_COLUMNS                                                                    \
    QUOTED("Domain")                                                                    \
    "," QUOTED("Function") "," QUOTED("Process_Id") "," QUOTED("Thread_Id") "," QUOTED( \
        "Correlation_Id") "," TIMES "\n"

static const struct {
    const char *name, *columns;
} tables[TABLES] = {
    [AGENTS] = {"agent_info",
                "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Simd_Per_Cu\","
                "\"Max_Waves_Per_Simd\",\"Max_Waves_Per_Cu\",\"Wave_Front_Size\","
                "\"Lds_Size_In_Kb\",\"Gfx_Target_Version\",\"Workgroup_Max_Size\",\"Name\","
                "\"Product_Name\"\n"},
    [KERNELS] = {"kernel_trace",
                 "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\","
                 "\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\"," TIMES
                 ",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\","
                 "\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\","
                 "\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n"},
    [CALLS] = {"hip_api_trace", CALL_COLUMNS},
    [RANGES] = {"marker_api_trace", CALL_COLUMNS},
    [COPIES] = {"memory_copy_trace", "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\","
                                     "\"Destination_Agent_Id\",\"Correlation_Id\"," TIMES "\n"},
    [MEMORY] = {"memory_allocation_trace",
                "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\","
                "\"Correlation_Id\"," TIMES "\n"},
    [COUNTERS] = {"counter_collection",
                  "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\","
                  "\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\","
                  "\"Workgroup_Size\",\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\","
                  "\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\"," TIMES
                  "\n"},
};

typedef struct part {
    hb_publish publish;
    hb_out out;
    char *path;
    int64_t end; /* of its process */
} part;

typedef struct csv {
    hb_exporter base;
    const char *directory;
    bool replace;
    part *parts; /* all that were written */
    size_t num_parts;
    /* the present process */
    part *open[TABLES];
    const hb_trace_info *info;
    hb_export_counts *counts;
    hb_result result;
    bool agents;
    int64_t end, dispatch, totals[65];
} csv;

/* ---- files ---- */

/* Pointers into the list hold while its process is written: there is room for all of its tables. */
static hb_result make_room(csv *c)
{
    part *parts = realloc(c->parts, (c->num_parts + TABLES) * sizeof *parts);
    if (!parts) return hb_no_memory();
    c->parts = parts;
    memset(parts + c->num_parts, 0, TABLES * sizeof *parts);
    memset(c->open, 0, sizeof c->open);
    return HB_OK;
}

static hb_result open_part(csv *c, table t)
{
    part *p = &c->parts[c->num_parts++];
    if (asprintf(&p->path, "%s/%lld_%s.csv", c->directory, (long long)c->info->pid,
                 tables[t].name) < 0) {
        p->path = NULL;
        return hb_no_memory();
    }
    HB_TRY(hb_publish_open(&p->publish, p->path, c->replace));
    HB_TRY(hb_out_open(&p->out, &p->publish.sink));
    hb_out_bytes(&p->out, tables[t].columns, strlen(tables[t].columns));
    c->open[t] = p;
    return HB_OK;
}

/* NULL after a failure. */
static hb_out *out_of(csv *c, table t)
{
    if (!c->open[t] && c->result == HB_OK) c->result = open_part(c, t);
    return c->result == HB_OK ? &c->open[t]->out : NULL;
}

/* ---- fields ---- */

static void put_text(hb_out *o, hb_str text)
{
    HB_OUT(o, "\"");
    for (uint32_t i = 0; i < text.len;) {
        uint32_t begin = i;
        while (i < text.len && text.s[i] != '"' && i - begin < 65536)
            i++;
        hb_out_bytes(o, text.s + begin, i - begin);
        if (i < text.len && text.s[i] == '"') {
            HB_OUT(o, "\"\"");
            i++;
        }
    }
    HB_OUT(o, "\",");
}

static void put_word(hb_out *o, const char *text)
{
    put_text(o, (hb_str){text, (uint32_t)strlen(text)});
}

static void put_int(hb_out *o, int64_t value, const char *behind)
{
    hb_out_done(o, hb_put_i64(hb_out_room(o, HB_MAX_NUMBER), value));
    hb_out_bytes(o, behind, 1);
}

static void put_agent(const csv *c, hb_out *o, int32_t gpu)
{
    char text[40];
    /* Agents count the processor, too. */
    if (c->agents)
        snprintf(text, sizeof text, "Agent %d", (int)gpu + 1);
    else if (gpu < 0)
        snprintf(text, sizeof text, "CPU 0");
    else
        snprintf(text, sizeof text, "GPU %d", (int)gpu);
    put_word(o, text);
}

static void put_times(csv *c, hb_out *o, int64_t start, int64_t end, const char *behind)
{
    put_int(o, start, ",");
    put_int(o, end, behind);
    c->end = HB_MAX(c->end, HB_MAX(start, end));
}

/* ---- rows ---- */

static void put_call(csv *c, const hb_trace_event *e, table t, const char *domain)
{
    hb_out *o = out_of(c, t);
    if (!o) return;
    const hb_runtime_args *call = &e->runtime;
    if (t == CALLS)
        c->counts->notes[HB_EXPORT_CALL_ARGS] += call->has_grid || call->ptr || call->bytes;
    put_word(o, domain);
    put_text(o, e->name);
    put_int(o, c->info->pid, ",");
    put_int(o, e->tid, ",");
    put_int(o, t == CALLS ? (int64_t)e->correlation : 0, ",");
    put_times(c, o, e->start_ns, HB_MAX(e->end_ns, e->start_ns), "\n");
    c->counts->events++;
}

static void put_scope(csv *c, const hb_trace_event *e)
{
    const hb_op_args *op = &e->op;
    if (hb_is_made_up(e)) return;
    c->counts->notes[HB_EXPORT_INPUTS] +=
        op->num_inputs || op->flops > 0 || op->sequence_number || op->stack.len;
    c->counts->notes[HB_EXPORT_ANNOTATIONS] += e->kind == HB_EVENT_USER_ANNOTATION;
    put_call(c, e, RANGES, "MARKER_CORE_API");
}

static void put_memory(csv *c, const hb_trace_event *e)
{
    const hb_memory_args *m = &e->memory;
    int32_t gpu = m->device_type == HB_DEVICE_CPU ? -1 : m->device_id;
    int64_t *total = &c->totals[gpu < 0 || gpu > 63 ? 64 : gpu];
    if (e->flags & HB_TEV_OUT_OF_MEMORY) {
        c->counts->notes[HB_EXPORT_FAILED]++;
        return;
    }
    hb_out *o = out_of(c, MEMORY);
    if (!o) return;
    *total += m->bytes;
    c->counts->notes[HB_EXPORT_TOTALS] += *total != m->total_allocated;
    put_word(o, "MEMORY_ALLOCATION");
    put_word(o, m->bytes < 0 ? "MEMORY_ALLOCATION_FREE" : "MEMORY_ALLOCATION_ALLOCATE");
    put_agent(c, o, gpu);
    put_int(o, m->bytes < 0 ? 0 : m->bytes, ",");
    HB_OUT(o, "\"0x");
    char address[32];
    int n = snprintf(address, sizeof address, "%016llx\",0,", (unsigned long long)m->addr);
    hb_out_bytes(o, address, (size_t)n);
    put_times(c, o, e->start_ns, e->start_ns, "\n");
    c->counts->events++;
}

static void put_known(hb_out *o, bool known, uint32_t value)
{
    if (known)
        put_int(o, value, ",");
    else
        HB_OUT(o, ",");
}

static void put_resources(hb_out *o, const hb_kernel_args *k)
{
    put_int(o, k->lds_bytes, ",");
    put_int(o, k->scratch_bytes, ",");
    put_known(o, k->has_resources, k->vgprs);
    put_known(o, k->has_resources, k->agprs);
    put_known(o, k->has_resources, k->sgprs);
}

/* In a block, or with `blocks` in the grid; 0: not known, or more than a number holds. */
static int64_t work_items(const hb_kernel_args *k, bool blocks)
{
    int64_t product = k->has_grid ? 1 : 0;
    for (int i = 0; i < 3; i++) {
        if (__builtin_mul_overflow(product, (int64_t)k->block[i], &product)) return 0;
        if (blocks && __builtin_mul_overflow(product, (int64_t)k->grid[i], &product)) return 0;
    }
    return product;
}

static void put_counters(csv *c, const hb_trace_event *e)
{
    const hb_kernel_args *k = &e->kernel;
    double value;
    for (uint32_t i = 0; i < e->num_args; i++) {
        char number[40];
        hb_out *o = hb_counter_in(&e->args[i], &value) ? out_of(c, COUNTERS) : NULL;
        if (!o) continue;
        put_int(o, (int64_t)e->correlation, ",");
        put_int(o, c->dispatch, ",");
        put_agent(c, o, e->device);
        put_int(o, HB_MAX(hb_queue_of(e), 0), ",");
        put_int(o, c->info->pid, ",");
        HB_OUT(o, "0,");
        put_int(o, work_items(k, true), ",");
        HB_OUT(o, "0,"); /* of no code object's numbers */
        put_text(o, e->name);
        put_int(o, work_items(k, false), ",");
        put_resources(o, k);
        put_word(o, e->args[i].key);
        int n = snprintf(number, sizeof number, "%.17g,", value);
        hb_out_bytes(o, number, (size_t)n);
        put_times(c, o, e->start_ns, e->end_ns, "\n");
    }
}

static void put_kernel(csv *c, const hb_trace_event *e)
{
    hb_out *o = out_of(c, KERNELS);
    const hb_kernel_args *k = &e->kernel;
    if (!o) return;
    put_word(o, "KERNEL_DISPATCH");
    put_agent(c, o, e->device);
    if (hb_queue_of(e) >= 0)
        put_int(o, hb_queue_of(e), ",");
    else
        HB_OUT(o, ",");
    put_int(o, hb_stream_of(e), ",");
    HB_OUT(o, "0,");
    put_int(o, ++c->dispatch, ",");
    HB_OUT(o, ","); /* of no code object's numbers */
    put_text(o, e->name);
    put_int(o, (int64_t)e->correlation, ",");
    put_times(c, o, e->start_ns, HB_MAX(e->end_ns, e->start_ns), ",");
    put_resources(o, k);
    for (int i = 0; i < 3; i++)
        put_int(o, k->has_grid ? k->block[i] : 0, ",");
    for (int i = 0; i < 3; i++)
        put_int(o, k->has_grid ? (int64_t)k->grid[i] * k->block[i] : 0, i < 2 ? "," : "\n");
    put_counters(c, e);
    c->counts->events++;
}

static void put_copy(csv *c, const hb_trace_event *e)
{
    if (e->kind == HB_EVENT_MEMSET) {
        c->counts->notes[HB_EXPORT_FILLS]++;
        return;
    }
    hb_out *o = out_of(c, COPIES);
    const hb_copy_args *copy = &e->copy;
    if (!o) return;
    c->counts->notes[HB_EXPORT_COPY_SIZES] += copy->bytes > 0;
    bool peers = copy->kind && strcmp(copy->kind, "PtoP") == 0;
    put_word(o, "MEMORY_COPY");
    put_word(o, hb_copy_direction_name(copy));
    put_int(o, hb_stream_of(e), ",");
    put_agent(c, o, hb_copies_from_host(copy) ? -1 : peers ? copy->from_device : e->device);
    put_agent(c, o, hb_copies_to_host(copy) ? -1 : peers ? copy->to_device : e->device);
    put_int(o, (int64_t)e->correlation, ",");
    put_times(c, o, e->start_ns, HB_MAX(e->end_ns, e->start_ns), "\n");
    c->counts->events++;
}

static void put_agents(csv *c)
{
    hb_out *o = c->agents ? out_of(c, AGENTS) : NULL;
    if (!o) return;
    HB_OUT(o, "0,0,\"CPU\",0,0,0,0,0,0,0,0,\"\",\"\"\n");
    for (size_t i = 0; i < c->info->num_devices; i++) {
        const hb_device_info *d = &c->info->devices[i];
        int32_t wave = HB_MAX(d->warp_size, 1), cus = hb_import_cus_of_one(d);
        put_int(o, d->id + 1, ",");
        put_int(o, d->id + 1, ",");
        HB_OUT(o, "\"GPU\",");
        put_int(o, d->num_cus * cus, ",");
        HB_OUT(o, "0,0,");
        put_int(o, d->max_threads_per_cu / wave / cus, ",");
        put_int(o, d->warp_size, ",");
        put_int(o, (int64_t)(d->max_shared_mem_per_cu / 1024), ",");
        put_int(o, (int64_t)d->compute_major * 10000 + d->compute_minor * 100, ",");
        put_int(o, d->max_threads_per_block, ",");
        put_word(o, d->arch ? d->arch : "");
        put_word(o, d->name ? d->name : "");
        o->at--; /* the comma behind the last one */
        HB_OUT(o, "\n");
    }
}

/* ---- the exporter ---- */

static hb_result put_pass(csv *c, hb_source *source, hb_pass pass)
{
    hb_trace_event e;
    HB_TRY(source->begin(source, pass));
    while (c->result == HB_OK && source->next(source, &e)) {
        switch (e.kind) {
        case HB_EVENT_OP:
        case HB_EVENT_USER_ANNOTATION: put_scope(c, &e); break;
        case HB_EVENT_MEMORY: put_memory(c, &e); break;
        case HB_EVENT_RUNTIME:
        case HB_EVENT_SYNC: put_call(c, &e, CALLS, hb_call_domain(e.name)); break;
        case HB_EVENT_KERNEL: put_kernel(c, &e); break;
        case HB_EVENT_MEMCPY:
        case HB_EVENT_MEMSET: put_copy(c, &e); break;
        case HB_EVENT_MODULE: c->counts->notes[HB_EXPORT_MODULES]++; break;
        case HB_EVENT_FLOW: c->counts->notes[HB_EXPORT_FLOWS]++; break;
        default: c->counts->notes[HB_EXPORT_SAMPLES]++; break;
        }
    }
    return c->result;
}

/* Memory by time over all threads, as its totals are. */
static hb_result add(hb_exporter *exporter, hb_source *source, hb_export_counts *counts)
{
    csv *c = (csv *)exporter;
    size_t before = c->num_parts;
    HB_TRY(make_room(c));
    c->info = source->info;
    c->counts = counts;
    c->result = HB_OK;
    c->end = c->dispatch = 0;
    memset(c->totals, 0, sizeof c->totals);
    c->agents = hb_gpus_are_described(source->info);
    put_agents(c);
    HB_TRY(put_pass(c, source, HB_PASS_TIMELINE));
    HB_TRY(put_pass(c, source, HB_PASS_MODULES));
    HB_TRY(put_pass(c, source, HB_PASS_SCALARS));
    HB_TRY(put_pass(c, source, HB_PASS_DEVICE));
    for (size_t i = before; i < c->num_parts; i++) {
        c->parts[i].end = c->end;
        HB_TRY(hb_out_finish(&c->parts[i].out));
    }
    return HB_OK;
}

static uint64_t size(hb_exporter *exporter)
{
    const csv *c = (csv *)exporter;
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->num_parts; i++)
        bytes += c->parts[i].publish.bytes;
    return bytes;
}

static hb_result finish(hb_exporter *exporter)
{
    csv *c = (csv *)exporter;
    for (size_t i = 0; i < c->num_parts; i++) {
        HB_TRY(hb_publish_commit(&c->parts[i].publish));
        hb_set_file_time(c->parts[i].path, c->parts[i].end);
    }
    return HB_OK;
}

static void close_files(hb_exporter *exporter)
{
    csv *c = (csv *)exporter;
    for (size_t i = 0; i < c->num_parts; i++) {
        part *p = &c->parts[i];
        hb_out_free(&p->out);
        if (p->path) hb_publish_free(&p->publish);
        free(p->path);
    }
    free(c->parts);
    free(c);
}

hb_result hb_export_to_csv(const char *output, bool replace, hb_exporter **exporter)
{
    csv *c = calloc(1, sizeof *c);
    if (!c) return hb_no_memory();
    *c = (csv){.base = {add, size, finish, close_files}, .directory = output, .replace = replace};
    *exporter = &c->base;
    return HB_OK;
}
