/* SPDX-License-Identifier: MIT
 *
 * The trace's top level: a blank, an opening brace, and each key in its place and indentation.
 */
#include <stdio.h>

#include "write/json_parts.h"

static void out_text(hb_out *out, const char *text)
{
    hb_out_bytes(out, text, strlen(text));
}

static void out_number(hb_out *out, int64_t value)
{
    hb_out_done(out, hb_put_i64(hb_out_room(out, HB_OUT_ROOM), value));
}

static void out_string(hb_out *out, const char *text)
{
    hb_out_json(out, text ? text : "", text ? strlen(text) : 0);
}

/* `text` is a literal that introduces the number. */
static void out_field(hb_out *out, const char *text, uint64_t value)
{
    out_text(out, text);
    hb_out_done(out, hb_put_u64(hb_out_room(out, HB_OUT_ROOM), value));
}

/* `space` stands before the key. */
static void begin_member(hb_writer *w, const char *space, const char *key)
{
    out_text(&w->out, space);
    if (w->member) w->member(w->context, HB_MEMBER_KEY);
    out_string(&w->out, key);
    HB_OUT(&w->out, ": ");
    if (w->member) w->member(w->context, HB_MEMBER_VALUE);
}

static void end_member(hb_writer *w)
{
    if (w->member) w->member(w->context, HB_MEMBER_END);
}

/* ---- devices ---- */

/* No torch has these, and each is left out where it is not known. */
static void write_clocks(hb_out *out, const hb_device_info *device)
{
    if (device->arch && *device->arch) {
        HB_OUT(out, ",\n      \"gcnArchName\": ");
        out_string(out, device->arch);
    }
    if (device->clock_khz > 0) out_field(out, ", \"clockRate\": ", (uint32_t)device->clock_khz);
    if (device->memory_khz > 0)
        out_field(out, ", \"memoryClockRate\": ", (uint32_t)device->memory_khz);
    if (device->memory_bus_bits > 0)
        out_field(out, ", \"memoryBusWidth\": ", (uint32_t)device->memory_bus_bits);
}

#define KNOWN(key, value)        \
    {                            \
        key, value, (value) != 0 \
    }

/* What other tools did not tell is left out; torch's own dialect has all. */
static void write_device(hb_out *out, const hb_device_info *device, bool kineto)
{
    HB_OUT(out, "\n    {\n      \"id\": ");
    out_number(out, device->id);
    HB_OUT(out, ", \"name\": ");
    out_string(out, device->name);
    /* 0 would cost the file: the plugin divides by it. */
    if (device->total_global_mem)
        out_field(out, ", \"totalGlobalMem\": ", device->total_global_mem);
    const uint32_t major = (uint32_t)HB_MAX(device->compute_major, 0);
    const struct {
        const char *key;
        uint64_t value;
        bool known;
    } fields[] = {
        {",\n      \"computeMajor\": ", major, major > 0},
        {", \"computeMinor\": ", (uint32_t)device->compute_minor, major > 0},
        KNOWN(",\n      \"maxThreadsPerBlock\": ", (uint32_t)device->max_threads_per_block),
        KNOWN(", \"maxThreadsPerMultiprocessor\": ", (uint32_t)device->max_threads_per_cu),
        KNOWN(",\n      \"regsPerBlock\": ", (uint32_t)device->regs_per_block),
        KNOWN(", \"warpSize\": ", (uint32_t)device->warp_size),
        KNOWN(",\n      \"sharedMemPerBlock\": ", device->shared_mem_per_block),
        KNOWN(", \"numSms\": ", (uint32_t)device->num_cus),
        KNOWN("\n    , \"maxSharedMemoryPerMultiProcessor\": ", device->max_shared_mem_per_cu),
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(fields); i++)
        if (kineto || fields[i].known) out_field(out, fields[i].key, fields[i].value);
    if (!kineto) write_clocks(out, device);
    HB_OUT(out, "\n    }");
}

/* A device that is used but was not described. Without a size the plugin compares nothing to it. */
static void write_unknown_device(hb_out *out, int32_t id)
{
    HB_OUT(out, "\n    {\n      \"id\": ");
    out_number(out, id);
    HB_OUT(out, ", \"name\": \"\"\n    }");
}

/* The plugin takes an entry by its position and loses the file when there is none for a device that
 * memory is reported of. */
static void write_devices_by_position(hb_writer *w)
{
    int32_t last = w->max_device;
    for (size_t i = 0; i < w->info->num_devices; i++)
        last = HB_MAX(last, w->info->devices[i].id);
    last = HB_MIN(last, HB_MAX_DEVICES - 1);
    for (int32_t id = 0; id <= last; id++) {
        const hb_device_info *device = hb_find_device(w->info, id);
        if (id) HB_OUT(&w->out, ",");
        if (device)
            write_device(&w->out, device, false);
        else
            write_unknown_device(&w->out, id);
    }
}

static void write_devices(hb_writer *w)
{
    begin_member(w, "\n    ", "deviceProperties");
    HB_OUT(&w->out, "[");
    if (!w->kineto && w->info->num_devices)
        write_devices_by_position(w);
    else
        for (size_t i = 0; i < w->info->num_devices; i++) {
            if (i) HB_OUT(&w->out, ",");
            write_device(&w->out, &w->info->devices[i], w->kineto);
        }
    HB_OUT(&w->out, "]");
    end_member(w);
    HB_OUT(&w->out, ",\n    ");
}

/* ---- metadata ---- */

static void begin_entry(hb_writer *w, const char *key)
{
    begin_member(w, "\n      ", key);
}

static void end_entry(hb_writer *w)
{
    end_member(w);
    HB_OUT(&w->out, ",");
}

static void write_string_entry(hb_writer *w, const char *key, const char *value)
{
    if (!value) return;
    begin_entry(w, key);
    out_string(&w->out, value);
    end_entry(w);
}

static void write_number_entry(hb_writer *w, const char *key, uint64_t value)
{
    if (value == 0) return;
    begin_entry(w, key);
    out_number(&w->out, (int64_t)value);
    end_entry(w);
}

static void write_json_entry(hb_writer *w, const char *key, const char *json)
{
    if (!json) return;
    begin_entry(w, key);
    out_text(&w->out, json);
    end_entry(w);
}

static bool is_decimal(const char *text)
{
    size_t whole = strspn(text, "0123456789");
    if (whole == 0 || (whole > 1 && text[0] == '0')) return false;
    if (text[whole] == '\0') return true;
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    return fraction > 0 && text[whole + 1 + fraction] == '\0';
}

/* Kineto writes "4.1" as the number 4.1; "1.2.0" could not be. */
static void write_version_entry(hb_writer *w, const char *key, const char *version)
{
    if (!key || !version) return;
    if (is_decimal(version))
        write_json_entry(w, key, version);
    else
        write_string_entry(w, key, version);
}

/* A user's key must not repeat one of the trace's own. */
static bool is_reserved(const char *key)
{
    static const char *const keys[] = {
        "schemaVersion",       "deviceProperties",    "trace_id",
        "with_stack",          "hip_driver_version",  "profile_memory",
        "hip_runtime_version", "record_shapes",       "distributedInfo",
        "with_modules",        "with_flops",          "host_name",
        "displayTimeUnit",     "baseTimeNanoseconds", "traceName",
        "traceEvents",         "Framework",
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(keys); i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

static void write_user_metadata(hb_writer *w)
{
    const hb_trace_info *info = w->info;
    for (size_t i = 0; i < info->num_metadata; i++) {
        const hb_metadata *entry = &info->metadata[i];
        char renamed[64];
        snprintf(renamed, sizeof renamed, "user_%s", entry->key);
        write_json_entry(w, is_reserved(entry->key) ? renamed : entry->key, entry->json);
    }
}

/* The order is that of PyTorch's hash map. */
static void write_metadata(hb_writer *w)
{
    const hb_trace_info *info = w->info;
    write_string_entry(w, "trace_id", info->trace_id);
    write_number_entry(w, "with_stack", info->with_stack);
    write_number_entry(w, "hip_driver_version", (uint32_t)info->hip_driver_version);
    write_number_entry(w, "profile_memory", info->profile_memory);
    write_number_entry(w, "hip_runtime_version", (uint32_t)info->hip_runtime_version);
    write_number_entry(w, "record_shapes", info->record_shapes);
    write_json_entry(w, "distributedInfo", info->distributed_json);
    write_number_entry(w, "with_modules", info->with_modules);
    write_number_entry(w, "with_flops", info->with_flops);
    write_version_entry(w, info->tracer_key, info->tracer_version);
    write_user_metadata(w);
    write_number_entry(w, "hipboard_flattened_scopes", w->stats.flattened);
    write_number_entry(w, "hipboard_unnested_scopes", w->stats.unnested);
    write_number_entry(w, "hipboard_hidden_steps", w->stats.hidden_steps + w->stats.hidden_slices);
    if (w->pid != info->pid) write_number_entry(w, "hipboard_pid", (uint64_t)info->pid);
    write_string_entry(w, "host_name", info->host_name);
}

void hb_write_header(hb_writer *w)
{
    hb_out *out = &w->out;
    begin_member(w, " {\n    ", "schemaVersion");
    HB_OUT(out, "1");
    end_member(w);
    HB_OUT(out, ",");
    write_devices(w);
    write_metadata(w);
    begin_member(w, "\n    ", "displayTimeUnit");
    HB_OUT(out, "\"ms\"");
    end_member(w);
    begin_member(w, ",\n    ", "baseTimeNanoseconds");
    out_number(out, w->base_ns);
    end_member(w);
    if (!w->kineto) {
        begin_member(w, ",\n    ", "traceName");
        out_string(out, w->trace_name);
        end_member(w);
    }
    HB_OUT(out, ",\n    \"traceEvents\": [\n    ");
}

/* The plugin cuts the text at its last bracket to add counters, so in its dialect the name, which
 * may hold one, comes before. */
void hb_write_footer(hb_writer *w)
{
    if (!w->kineto) {
        HB_OUT(&w->out, "\n  ] }");
        return;
    }
    begin_member(w, "\n  ],", "traceName");
    out_string(&w->out, w->trace_name);
    end_member(w);
    HB_OUT(&w->out, " }");
}
