/* SPDX-License-Identifier: MIT
 *
 * OpenMP's parallel regions and waits at barriers as operators, and its threads' names. The runtime
 * loads this library where OMP_TOOL_LIBRARIES names it; runtimes without OMPT, as gcc's, do not.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "openmp/ompt_abi.h"

enum { MOST_OPEN = 16, PLACE = 128 };

enum kind { REGION, PART, BARRIER };

/* What a thread is in, from without to within; deeper ones are counted only. */
static __thread struct {
    unsigned depth;
    enum kind kinds[MOST_OPEN];
    hb_scope scopes[MOST_OPEN];
} in;

/* The innermost of its kind, with what was left open in it. */
static void pop(enum kind kind)
{
    unsigned depth = in.depth;
    while (depth && depth <= MOST_OPEN && in.kinds[depth - 1] != kind)
        depth--;
    if (!depth) return;
    if (--depth < MOST_OPEN) hb_scope_end(&in.scopes[depth]);
    in.depth = depth;
}

/* A region's worker waits at its end for the next one: that is no wait of this one. */
static bool is_worker(void)
{
    for (unsigned i = in.depth < MOST_OPEN ? in.depth : MOST_OPEN; i-- > 0;)
        if (in.kinds[i] != BARRIER) return in.kinds[i] == PART;
    return false;
}

/* ---- as operators ---- */

/* For addr2line: the file, and where it goes on in that. */
static void name_place(char text[PLACE], const void *address)
{
    Dl_info info;
    if (!address || !dladdr(address, &info) || !info.dli_fname) {
        text[0] = '\0';
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(text, PLACE, "%.90s+0x%zx", slash ? slash + 1 : info.dli_fname,
             (size_t)((const char *)address - (const char *)info.dli_fbase));
}

static hb_scope begin(hb_site *site, unsigned threads, const void *address)
{
    static const hb_op_info none;
    char place[PLACE];
    hb_arg args[2];
    size_t count = 0;
    if (!HB_ENABLED()) return hb_scope_none_();
    name_place(place, address);
    if (threads) args[count++] = hb_arg_uint("threads", threads);
    if (*place) args[count++] = hb_arg_string("place", place);
    return hb_scope_begin_site(site, &(hb_scope_info){.struct_size = sizeof(hb_scope_info),
                                                      .op = &none,
                                                      .args = args,
                                                      .num_args = count});
}

static void push(enum kind kind, hb_site *site, unsigned threads, const void *address)
{
    if (in.depth < MOST_OPEN) {
        in.kinds[in.depth] = kind;
        in.scopes[in.depth] = begin(site, threads, address);
    }
    in.depth++;
}

static hb_site region = {.name = "omp parallel"};

/* ---- OMPT's calls ---- */

static void on_thread(int type, hb_ompt_data *thread)
{
    static atomic_uint workers;
    char name[32];
    (void)thread;
    if (type != HB_OMPT_WORKER) return;
    snprintf(name, sizeof name, "OpenMP %u", atomic_fetch_add(&workers, 1) + 1);
    hb_thread_name(name);
}

static void on_region(hb_ompt_data *task, const void *frame, hb_ompt_data *parallel,
                      unsigned threads, int flags, const void *address)
{
    (void)task, (void)frame, (void)flags;
    parallel->value = (uint64_t)(uintptr_t)address; /* for its workers */
    push(REGION, &region, threads, address);
}

static void on_region_end(hb_ompt_data *parallel, hb_ompt_data *task, int flags,
                          const void *address)
{
    (void)parallel, (void)task, (void)flags, (void)address;
    pop(REGION);
}

static void begin_part(const hb_ompt_data *parallel, unsigned threads)
{
    const void *address = parallel ? (const void *)(uintptr_t)parallel->value : NULL;
    push(PART, &region, threads, address);
}

/* The first thread of a region is the one that began it. */
static void on_part(int endpoint, hb_ompt_data *parallel, hb_ompt_data *task, unsigned threads,
                    unsigned index, int flags)
{
    (void)task;
    if ((flags & HB_OMPT_INITIAL_TASK) || index == 0) return;
    if (endpoint == HB_OMPT_BEGIN)
        begin_part(parallel, threads);
    else
        pop(PART);
}

static bool is_barrier(int sync)
{
    return sync == HB_OMPT_BARRIER || sync == HB_OMPT_BARRIER_IMPLICIT ||
           sync == HB_OMPT_BARRIER_EXPLICIT || sync == HB_OMPT_BARRIER_OF_RUNTIME ||
           sync == HB_OMPT_BARRIER_OF_LOOP || sync == HB_OMPT_BARRIER_OF_REGION;
}

/* A worker at what is its last barrier, or may be: runtimes before OpenMP 5.1 tell only behind it
 * which one it was. There its part goes on where the region does. */
static void stop_worker(int endpoint, const hb_ompt_data *parallel)
{
    if (endpoint == HB_OMPT_BEGIN)
        pop(PART);
    else if (parallel)
        begin_part(parallel, 0);
}

static void on_sync(int sync, int endpoint, hb_ompt_data *parallel, hb_ompt_data *task,
                    const void *address)
{
    static hb_site barrier = {.name = "omp barrier"};
    static __thread bool stopped;
    bool last = sync == HB_OMPT_BARRIER_OF_REGION || sync == HB_OMPT_BARRIER_IMPLICIT;
    (void)task;
    if (!is_barrier(sync)) return;
    if (last && (stopped || is_worker())) {
        stopped = endpoint == HB_OMPT_BEGIN;
        stop_worker(endpoint, sync == HB_OMPT_BARRIER_IMPLICIT ? parallel : NULL);
    } else if (endpoint == HB_OMPT_BEGIN)
        push(BARRIER, &barrier, 0, address);
    else if (endpoint == HB_OMPT_END)
        pop(BARRIER);
}

/* ---- becoming its tool ---- */

static int begin_tool(hb_ompt_look_up look_up, int device, hb_ompt_data *tool)
{
    hb_ompt_set_callback set = (hb_ompt_set_callback)look_up("ompt_set_callback");
    (void)device, (void)tool;
    if (!set) return 0;
    set(HB_OMPT_THREAD_BEGIN, (hb_ompt_callback)on_thread);
    set(HB_OMPT_PARALLEL_BEGIN, (hb_ompt_callback)on_region);
    set(HB_OMPT_PARALLEL_END, (hb_ompt_callback)on_region_end);
    set(HB_OMPT_IMPLICIT_TASK, (hb_ompt_callback)on_part);
    set(HB_OMPT_SYNC_REGION, (hb_ompt_callback)on_sync);
    return 1;
}

static void end_tool(hb_ompt_data *tool)
{
    (void)tool;
}

__attribute__((visibility("default"))) hb_ompt_tool *ompt_start_tool(unsigned version,
                                                                     const char *runtime);
hb_ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static hb_ompt_tool tool = {begin_tool, end_tool, {0}};
    (void)version, (void)runtime;
    return &tool;
}

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;
