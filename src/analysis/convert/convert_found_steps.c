/* SPDX-License-Identifier: MIT
 *
 * Steps that the trace does not tell, found as in other tools' files (steps/find_steps.h), as
 * further events of the file. The file is read as a source for it, once more.
 */
#include <stdio.h>
#include <string.h>

#include "convert/convert.h"
#include "import/import_set.h"
#include "rules/name_class.h"
#include "steps/find_steps.h"

/* Beside all ids of the file's own. */
#define FIRST_EXTERNAL_ID (((int64_t)1 << 52) + ((int64_t)1 << 50))

static void put_us(hb_buf *to, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    hb_buf_printf(to, "%s%llu.%03u", ns < 0 ? "-" : "", (unsigned long long)(size / 1000),
                  (unsigned)(size % 1000));
}

/* The plugin compares ends as doubles: none may lie beyond the next one's start. */
static int64_t length_of(const hb_found_step *step, const hb_found_step *next, int64_t offset)
{
    int64_t length = HB_MAX(step->end_ns - step->start_ns, 1);
    if (!next) return length;
    double start = hb_ns_to_us(step->start_ns - offset), end = hb_ns_to_us(next->start_ns - offset);
    while (length > 1 && start + hb_ns_to_us(length) > end)
        length--;
    return length;
}

static void put_events(hb_plan *plan, const hb_import_process *process, const hb_found_steps *found)
{
    hb_buf *to = &plan->steps;
    char name[HB_STEP_NAME_SIZE];
    hb_buf_str(to, "{\"traceEvents\": [");
    for (size_t i = 0; i < found->count; i++) {
        const hb_found_step *step = &found->items[i];
        hb_step_name(name, step->number);
        hb_buf_printf(to,
                      "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", "
                      "\"pid\": %lld, \"tid\": %lld, \"ts\": ",
                      i ? ",\n" : "", name, (long long)process->pid, (long long)found->tid);
        put_us(to, step->start_ns - process->offset);
        hb_buf_str(to, ", \"dur\": ");
        put_us(to, length_of(step, i + 1 < found->count ? step + 1 : NULL, process->offset));
        hb_buf_printf(to, ", \"args\": {\"External id\": %lld, \"hipboard\": \"inferred\"}}",
                      (long long)(FIRST_EXTERNAL_ID + (int64_t)i));
    }
    hb_buf_str(to, "]}");
    plan->counts[HB_CHANGE_FOUND] = found->count;
}

static hb_result tell_how(hb_plan *plan, const hb_found_steps *found)
{
    hb_buf json;
    hb_buf_init(&json, (size_t)1 << 16);
    hb_found_steps_tell(found, &json);
    hb_str key = HB_STR(HB_METADATA_STEPS), text = {hb_buf_text(&json), (uint32_t)json.size};
    uint32_t before = plan->trace.members_before;
    bool fine = !json.failed && hb_trace_add_member(&plan->trace, key, text);
    plan->trace.members_before = before + 1;
    hb_buf_free(&json);
    return fine ? HB_OK : hb_no_memory();
}

static hb_result find_in(hb_plan *plan, hb_import *import, size_t index)
{
    hb_source *source;
    hb_found_steps found;
    const hb_step_wish wish = {.operators_are_calls = true};
    const hb_import_process *process = import->processes[index];
    HB_TRY(hb_import_rows_source(process, &source));
    hb_result result = hb_find_steps(source, &wish, &found);
    source->close(source);
    HB_TRY(result);
    if (found.count) {
        put_events(plan, process, &found);
        result = plan->steps.failed ? hb_no_memory() : tell_how(plan, &found);
    }
    hb_found_steps_free(&found);
    return result;
}

/* The process that launched most is the one whose steps they are. */
static size_t busiest(const hb_import *import)
{
    size_t best = 0;
    for (size_t i = 1; i < import->num_processes; i++) {
        const hb_imported *a = &import->processes[i]->shown, *b = &import->processes[best]->shown;
        if (a->kernels > b->kernels || (a->kernels == b->kernels && a->ranges > b->ranges))
            best = i;
    }
    return best;
}

static bool has_steps(const hb_plan *plan)
{
    for (uint32_t i = 0; i < plan->items.count; i++)
        if (hb_plan_item(plan, i)->role == HB_PLAN_STEP) return true;
    return false;
}

hb_result hb_plan_find_steps(hb_plan *plan, hb_read_options *read)
{
    hb_import *import;
    hb_trace ignored;
    hb_read_report report;
    if (!plan->options->find_steps || has_steps(plan)) return HB_OK;
    HB_TRY(hb_import_open_any(plan->input, NULL, &import));
    hb_buf_init(&plan->steps, (size_t)1 << 28);
    hb_result result = import->num_processes ? find_in(plan, import, busiest(import)) : HB_OK;
    hb_import_close(import);
    if (result != HB_OK || !plan->steps.size) return result;
    result = hb_read_trace_memory(plan->steps.data, plan->steps.size, read, &ignored, &report);
    hb_trace_free(&ignored);
    return result;
}
