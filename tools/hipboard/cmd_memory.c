/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "options.h"
#include "screen.h"
#include "table.h"
#include "text.h"

typedef struct request {
    const char *by, *device, *timeline;
    size_t files;
    bool several; /* are given */
    bool json;
    table_style style; /* whose top rows are JSON's, too */
} request;

/* A device's holders at one moment. */
typedef struct holders {
    const hb_memory_holder *list;
    size_t count;
    bool by_stack, has_frames;
    double whole; /* bytes that are 100 %; at the end also those that are older than the trace */
} holders;

static hb_result find_holders(const request *r, hb_memory_profile *profile, size_t device,
                              hb_memory_moment moment, double whole, holders *h)
{
    bool by_stack = r->by ? strcmp(r->by, "stack") == 0 : moment == HB_MEMORY_AT_END;
    *h = (holders){.by_stack = by_stack, .whole = whole};
    hb_result result = hb_memory_profile_holders(
        profile, device, moment, by_stack ? HB_BY_STACK : HB_BY_OPERATOR, &h->list, &h->count);
    for (size_t i = 0; result == HB_OK && i < h->count; i++) {
        h->has_frames |= h->list[i].stack_size > 0;
        if (moment == HB_MEMORY_AT_END && h->list[i].before) h->whole += h->list[i].bytes;
    }
    return result;
}

/* ---- text ---- */

/* The frames in one line, innermost first; from malloc. */
static char *join_frames(const hb_memory_holder *h)
{
    size_t size = 1;
    for (size_t i = 0; i < h->stack_size; i++)
        size += strlen(h->stack[i]) + 1;
    char *text = must(calloc(1, size)), *p = text;
    for (size_t i = 0; i < h->stack_size; i++)
        p += sprintf(p, "%s%s", i ? ";" : "", h->stack[i]);
    return text;
}

static const char *name_of(const hb_memory_holder *h, char before[256])
{
    if (h->before) {
        snprintf(before, 256, *h->name ? "(before the trace) %s" : "(before the trace)", h->name);
        return before;
    }
    if (!*h->name) return "(outside of all operators)";
    return *h->scopes ? h->scopes : h->name;
}

static void print_holders(const request *r, const holders *h)
{
    const column columns[] = {{"Bytes", COLUMN_BYTES},
                              {"Share", COLUMN_PERCENT},
                              {"Allocations", COLUMN_COUNT},
                              {"Largest", COLUMN_BYTES},
                              {h->by_stack ? "Scopes" : "Operator", COLUMN_TEXT},
                              {"Call stack", COLUMN_TEXT}};
    table t;
    table_init(&t, columns, 5 + h->has_frames);
    for (size_t i = 0; i < h->count; i++) {
        const hb_memory_holder *x = &h->list[i];
        char *frames = join_frames(x), before[256];
        double share = h->whole > 0 ? 100 * x->bytes / h->whole : NAN;
        table_add(&t, x->bytes, share, (double)x->allocations, x->largest_bytes, name_of(x, before),
                  frames);
        free(frames);
    }
    if (h->count) table_print(&t, &r->style);
    table_free(&t);
}

static const char *bytes_text(double bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; unit + 1 < sizeof units / sizeof *units && fabs(bytes) >= 1024; unit++)
        bytes /= 1024;
    snprintf(text, 32, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

static void print_device(const request *r, const hb_memory_device *d, const holders *peak,
                         const holders *end)
{
    char a[32], b[32];
    printf("%s: %llu allocations of %s", d->name, (unsigned long long)d->allocations,
           bytes_text(d->allocated_bytes, a));
    printf(", %llu freed (%s)", (unsigned long long)d->frees, bytes_text(d->freed_bytes, a));
    if (d->unknown_frees)
        printf(", %llu of them from before the trace", (unsigned long long)d->unknown_frees);
    printf("; %s at its start, %s at its end\n\n", bytes_text(d->start_bytes, a),
           bytes_text(d->end_bytes, b));
    printf("Peak: %s after %.3f ms, of which %s were allocated within the trace\n",
           bytes_text(d->peak_bytes, a), d->peak_us / 1000, bytes_text(d->peak_held_bytes, b));
    print_holders(r, peak);
    printf("\nStill there at the end: %llu allocations of %s\n", (unsigned long long)d->left,
           bytes_text(d->left_bytes, a));
    print_holders(r, end);
}

/* ---- JSON ---- */

static void put_holders(const request *r, const char *key, const holders *h)
{
    printf(", \"%s\": [", key);
    for (size_t i = 0; i < h->count && (!r->style.top || i < r->style.top); i++) {
        const hb_memory_holder *x = &h->list[i];
        printf("%s\n    {\"name\": ", i ? "," : "");
        print_json_string(x->name);
        printf(", \"scopes\": ");
        print_json_string(x->scopes);
        printf(", \"stack\": [");
        for (size_t k = 0; k < x->stack_size; k++) {
            if (k) printf(", ");
            print_json_string(x->stack[k]);
        }
        printf("], \"allocations\": %llu, \"bytes\": %.0f, \"largest_bytes\": %.0f, "
               "\"first_us\": %.3f, \"before\": %s}",
               (unsigned long long)x->allocations, x->bytes, x->largest_bytes, x->first_us,
               x->before ? "true" : "false");
    }
    printf("]");
}

static void put_device(const request *r, const hb_memory_device *d, const holders *peak,
                       const holders *end)
{
    printf("\n  {\"device\": ");
    print_json_string(d->name);
    printf(", \"start_bytes\": %.0f, \"end_bytes\": %.0f, \"peak_bytes\": %.0f, "
           "\"peak_us\": %.3f, \"peak_held_bytes\": %.0f",
           d->start_bytes, d->end_bytes, d->peak_bytes, d->peak_us, d->peak_held_bytes);
    printf(", \"allocations\": %llu, \"frees\": %llu, \"unknown_frees\": %llu, "
           "\"allocated_bytes\": %.0f, \"freed_bytes\": %.0f",
           (unsigned long long)d->allocations, (unsigned long long)d->frees,
           (unsigned long long)d->unknown_frees, d->allocated_bytes, d->freed_bytes);
    printf(", \"left\": %llu, \"left_bytes\": %.0f", (unsigned long long)d->left, d->left_bytes);
    put_holders(r, "held_at_peak", peak);
    put_holders(r, "held_at_end", end);
    printf("}");
}

/* ---- files ---- */

static hb_result show_device(const request *r, hb_memory_profile *profile, size_t index,
                             size_t *shown)
{
    hb_memory_device d;
    holders peak, end;
    hb_result result = hb_memory_profile_device(profile, index, &d);
    if (result == HB_OK && r->device && strcmp(r->device, d.name) != 0) return HB_OK;
    if (result == HB_OK)
        result = find_holders(r, profile, index, HB_MEMORY_AT_PEAK, d.peak_bytes, &peak);
    if (result == HB_OK)
        result = find_holders(r, profile, index, HB_MEMORY_AT_END, d.left_bytes, &end);
    if (result != HB_OK) return result;
    if (*shown) fputs(r->json ? "," : "\n", stdout);
    if (r->json)
        put_device(r, &d, &peak, &end);
    else
        print_device(r, &d, &peak, &end);
    ++*shown;
    return HB_OK;
}

static void begin_file(const request *r, const input *from)
{
    if (r->json) {
        printf("{\"file\": ");
        print_json_string(from->file.path);
        printf(", \"devices\": [");
    } else if (from->in_logdir || r->several) {
        printf("%s%s\n", r->files > 1 ? "\n" : "", from->file.path);
    }
}

static hb_result show(void *context, hb_trace_file *file, const input *from)
{
    request *r = context;
    hb_memory_profile *profile;
    size_t shown = 0;
    r->files++;
    hb_result result = hb_memory_profile_create(file, &profile);
    if (result != HB_OK) return result;
    begin_file(r, from);
    for (size_t i = 0; result == HB_OK && i < hb_memory_profile_num_devices(profile); i++)
        result = show_device(r, profile, i, &shown);
    if (r->json)
        puts("]}");
    else if (!shown && result == HB_OK)
        printf("%s: no memory events%s%s\n", from->file.path, r->device ? " of " : "",
               r->device ? r->device : "");
    hb_memory_profile_destroy(profile);
    return result;
}

static hb_result print_timeline(hb_trace_file *file, const char *device)
{
    char *json;
    size_t size;
    hb_result result = hb_memory_timeline(file, device, false, &json, &size);
    if (result != HB_OK) return result;
    fwrite(json, 1, size, stdout);
    hb_free(json);
    return HB_OK;
}

/* By --device as hb_memory_timeline() takes it; without one the first GPU, else the CPU. */
static bool is_of_timeline(const char *wanted, const char *name, bool gpu_before)
{
    bool cpu = strcmp(name, "cpu") == 0;
    if (!wanted) return !cpu && !gpu_before;
    if (cpu || strncmp(wanted, "cpu", 3) == 0) return cpu && strncmp(wanted, "cpu", 3) == 0;
    const char *number = strchr(wanted, ':'), *ours = strchr(name, ':');
    return ours && strcmp(number ? number : ":0", ours) == 0;
}

/* torch follows tensors through operators, and so knows more of what is older than the recording.
 */
static void tell_what_is_older(hb_trace_file *file, const char *wanted, const char *path)
{
    hb_memory_profile *profile;
    hb_memory_device d;
    bool gpu = false;
    if (hb_memory_profile_create(file, &profile) != HB_OK) return;
    for (size_t i = 0; hb_memory_profile_device(profile, i, &d) == HB_OK; i++) {
        bool shown = is_of_timeline(wanted, d.name, gpu);
        gpu |= strcmp(d.name, "cpu") != 0;
        if (!shown || !(d.start_bytes > 0)) continue;
        fprintf(stderr,
                "hipboard memory: %s: %.0f bytes of %s were allocated before the recording began; "
                "the timeline has what was freed since (%llu frees), torch's also what operators "
                "read of the rest, which a trace does not tell\n",
                path, d.start_bytes, d.name, (unsigned long long)d.unknown_frees);
    }
    hb_memory_profile_destroy(profile);
}

static hb_result write_timeline(void *context, hb_trace_file *file, const input *from)
{
    const request *r = context;
    tell_what_is_older(file, r->device, from->file.path);
    if (strcmp(r->timeline, "-") == 0) return print_timeline(file, r->device);
    return hb_memory_timeline_write(file, r->timeline, r->device);
}

/* ---- the command line ---- */

static int run(arguments *args)
{
    request r = {.style = {.top = 20, .line_width = screen_columns(), .bold = screen_is_styled()}};
    if (!parse_options(&cmd_memory, args, &r)) return args->status;
    r.several = args->count > 1;
    return r.timeline ? each_input("memory", args, INPUTS_ONE, write_timeline, &r)
                      : each_input("memory", args, 0, show, &r);
}

static const option_spec options[] = {
    {0, "by", "operator|stack",
     "group by operator, or by the scopes around it and the call stack (the peak is by operator, "
     "the end by stack)",
     INTO(by)},
    {0, "device", "NAME", "only that one: cpu, cuda:0, ...", INTO(device)},
    {0, "top", "N", "rows of each table (20); 0: all", INTO(style.top)},
    {0, "json", NULL, "everything, in bytes and us", INTO(json)},
    {0, "timeline", "FILE",
     "instead, what torch.profiler's export_memory_timeline() writes, of one trace and device (the "
     "first GPU, else the CPU): FILE.json[.gz] bytes over time, FILE.raw.json.gz every change, "
     "FILE.html a page with a chart, - the first to standard output",
     INTO(timeline)},
    {0},
};

const command cmd_memory = {
    .name = "memory",
    .summary = "show who held memory at its peak, what was left, and bytes over time",
    .synopsis = "[OPTIONS] PATH...",
    .about = "Shows for each device who held its memory when most was allocated, and what was "
             "still allocated at the end. PATHs are trace files of any writer (- reads standard "
             "input) and log directories.",
    .options = options,
    .notes =
        "All memory of a timeline has torch's category \"unknown\": a trace does not tell "
        "parameters from gradients. Nor does it name tensors: of those older than the recording "
        "the timeline has what was freed in it, and says on stderr how much there was.",
    .least = 1,
    .most = MANY,
    .wanted = "no file or log directory is given",
    .run = run,
};
