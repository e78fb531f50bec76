/* SPDX-License-Identifier: MIT */
#include "export/event_facts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"

const char *hb_call_domain(hb_str name)
{
    if (hb_str_begins(name, "hsa_")) return "HSA_CORE_API";
    if (hb_str_begins(name, "nccl") || hb_str_begins(name, "rccl")) return "RCCL_API";
    if (hb_str_begins(name, "__hip")) return "HIP_COMPILER_API";
    return "HIP_RUNTIME_API";
}

static bool is_kind(const hb_copy_args *copy, const char *kind)
{
    return copy->kind && strcmp(copy->kind, kind) == 0;
}

const char *hb_copy_direction_name(const hb_copy_args *copy)
{
    if (is_kind(copy, "HtoD")) return "MEMORY_COPY_HOST_TO_DEVICE";
    if (is_kind(copy, "DtoH")) return "MEMORY_COPY_DEVICE_TO_HOST";
    if (is_kind(copy, "HtoH")) return "MEMORY_COPY_HOST_TO_HOST";
    if (is_kind(copy, "DtoD") || is_kind(copy, "PtoP")) return "MEMORY_COPY_DEVICE_TO_DEVICE";
    return "MEMORY_COPY_NONE";
}

bool hb_copies_from_host(const hb_copy_args *copy)
{
    return is_kind(copy, "HtoD") || is_kind(copy, "HtoH");
}

bool hb_copies_to_host(const hb_copy_args *copy)
{
    return is_kind(copy, "DtoH") || is_kind(copy, "HtoH");
}

static const hb_arg *stream_arg(const hb_trace_event *work)
{
    for (uint32_t i = 0; i < work->num_args; i++)
        if (work->args[i].type == HB_ARG_INT && strcmp(work->args[i].key, "hip stream") == 0)
            return &work->args[i];
    return NULL;
}

int64_t hb_queue_of(const hb_trace_event *work)
{
    return stream_arg(work) ? work->tid : -1;
}

int64_t hb_stream_of(const hb_trace_event *work)
{
    const hb_arg *arg = stream_arg(work);
    return arg ? arg->i : work->tid;
}

bool hb_counter_in(const hb_arg *arg, double *value)
{
    if (arg->type == HB_ARG_DOUBLE)
        *value = arg->f;
    else if (arg->type == HB_ARG_INT && strcmp(arg->key, "hip stream") != 0)
        *value = (double)arg->i;
    else
        return false;
    return true;
}

bool hb_is_made_up(const hb_trace_event *scope)
{
    for (uint32_t i = 0; i < scope->op.num_args; i++)
        if (strcmp(scope->op.args[i].key, "hipboard") == 0) return true;
    return false;
}

bool hb_gpus_are_described(const hb_trace_info *info)
{
    int32_t last = -1;
    for (size_t i = 0; i < info->num_devices; i++)
        if (info->devices[i].id != (int32_t)i) return false;
    for (size_t i = 0; i < info->num_streams; i++)
        last = HB_MAX(last, info->streams[i].device);
    return info->num_devices > (size_t)(last < 0 ? 0 : last);
}

void hb_set_file_time(const char *path, int64_t ns)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
    if (ns > 0) (void)utimensat(AT_FDCWD, path, times, 0);
}
