/* SPDX-License-Identifier: MIT */
#include "import/rocprof1.h"

#include <stdlib.h>

#include "import/demangle.h"
#include "import/rows_shared.h"

hb_import_process *hb_rocprof1_process(hb_rocprof1 *r, int64_t pid)
{
    for (uint32_t i = 0; i < r->processes.count; i++)
        if (r->processes.items[i]->pid == pid) return r->processes.items[i];
    hb_import_process *p = hb_import_add_process(r->import, "rocprof", "1");
    *HB_PUSH(&r->import->arena, &r->processes) = p;
    p->pid = pid;
    return p;
}

/* From *at to the ")" that closes it, or to the end; *at comes to stand behind. A grid,
 * "({z(1) y(1) x(1})", lacks one. */
static hb_str take_value(hb_str text, uint32_t *at)
{
    uint32_t begin = *at, end = begin;
    bool braces = begin < text.len && text.s[begin] == '{';
    for (int depth = 1; end < text.len; end++) {
        if (braces && text.s[end] == '}') break;
        depth += (text.s[end] == '(') - (text.s[end] == ')');
        if (!braces && depth == 0) break;
    }
    *at = HB_MIN(end + (braces ? 2 : 1), text.len);
    return (hb_str){text.s + begin, end - begin};
}

/* "( dst(0x7f13d6a00000) src(0x741bb00) sizeBytes(24) kind(1) stream(1))" */
static void take_args(hb_import_call_args *args, hb_str text)
{
    uint32_t at = 0;
    while (at < text.len && (text.s[at] == '(' || text.s[at] == ' '))
        at++;
    while (at < text.len) {
        uint32_t name = at;
        while (at < text.len && text.s[at] != '(')
            at++;
        if (at == text.len) return;
        hb_str key = {text.s + name, at - name};
        at++;
        hb_import_take_arg(args, HB_STR(""), key, take_value(text, &at));
        while (at < text.len && text.s[at] == ' ')
            at++;
    }
}

hb_import_host *hb_rocprof1_add_host(hb_rocprof1 *r, const hb_rocprof1_event *e,
                                     enum hb_import_part part)
{
    hb_import_call_args args;
    hb_import_process *p = hb_rocprof1_process(r, e->pid);
    hb_arena *arena = &r->import->arena;
    bool range = part == HB_IMPORT_RANGES;
    int64_t end = e->end;
    if (hb_import_drops(r->import, p, part) || !hb_import_times(&p->rows, e->start, &end))
        return NULL;
    if (!e->name.len) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return NULL;
    }
    hb_import_host *host = hb_import_push(arena, range ? &p->rows.scopes : &p->rows.calls);
    *host = (hb_import_host){
        .start = e->start,
        .end = end,
        .correlation = range ? 0 : e->correlation,
        .name = hb_import_text(arena, &p->rows, e->name),
        .thread = hb_import_thread_of(arena, &p->rows, e->tid, 0),
        .flags = hb_import_is_minor(e->name) ? HB_IMPORT_MINOR : 0,
    };
    if (range || !e->args.len) return host;
    memset(&args, 0, sizeof args);
    take_args(&args, e->args);
    host->args = hb_import_add_args(arena, &p->rows, &args);
    return host;
}

hb_import_work *hb_rocprof1_add_work(hb_rocprof1 *r, const hb_rocprof1_event *e, bool copies)
{
    hb_import_launch l;
    hb_import_process *p = hb_rocprof1_process(r, e->pid);
    hb_arena *arena = &r->import->arena;
    int64_t end = e->end;
    if ((copies && hb_import_drops(r->import, p, HB_IMPORT_COPIES)) ||
        !hb_import_times(&p->rows, e->start, &end))
        return NULL;
    memset(&l, 0, sizeof l);
    l.kind = HB_EVENT_KERNEL;
    l.device = (int32_t)HB_MIN(HB_MAX(e->device, 0), (int64_t)1000000);
    if (copies) hb_import_set_named_copy(&l, e->name, l.device);
    hb_import_work *work = hb_import_push(arena, &p->rows.works);
    work->start = e->start;
    work->end = end;
    work->correlation = e->correlation;
    work->name = copies ? 0 : hb_import_kernel_name(arena, &r->import->texts, e->name);
    work->launch = hb_import_distinct(arena, &p->rows.launches, &l);
    work->lane = hb_import_lane_at(arena, &p->rows, l.device, e->queue, e->stream);
    return work;
}

void hb_rocprof1_finish(hb_rocprof1 *r)
{
    for (uint32_t i = 0; i < r->processes.count; i++) {
        hb_import_number_gpus(&r->import->arena, &r->processes.items[i]->rows);
        hb_import_memory_of_calls(r->import, r->processes.items[i]);
    }
}
