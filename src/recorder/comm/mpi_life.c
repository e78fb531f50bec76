/* SPDX-License-Identifier: MIT
 *
 * Where MPI begins and ends, and the communicators' names and ends.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

#include "comm/mpi_clocks.h"
#include "comm/mpi_communicators.h"
#include "comm/mpi_visit.h"
#include "comm/mpi_words.h"

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;

static atomic_bool has_begun, uses_sessions;

/* Numbers that are wrong mean that the table's row is: then nothing may be looked into. */
static bool agrees_with_launcher(void)
{
    typedef int (*size_fn)(hb_word, int *);
    hb_launch_info launch = HB_LAUNCH_INFO_INIT;
    int size = -1;
    size_fn size_of = (size_fn)hb_mpi_real("PMPI_Comm_size");
    if (size_of(hb_mpi.comm_world, &size) != 0 || size < 1) return false;
    return hb_launch_info_get(&launch) != HB_OK || launch.world_size < 1 ||
           launch.world_size == size;
}

static bool is_concurrent(void)
{
    typedef int (*query_fn)(int *);
    int level = hb_mpi.thread_multiple;
    query_fn query = (query_fn)hb_mpi_real("PMPI_Query_thread");
    return query(&level) != 0 || level >= hb_mpi.thread_multiple;
}

static void begin(void)
{
    atomic_store(&has_begun, true);
    if (!hb_mpi_is_known()) return;
    if (!agrees_with_launcher()) {
        hb_mpi_give_up("MPI tells of another number of ranks than the launcher");
        return;
    }
    hb_mpi_depth++;
    hb_mpi_is_concurrent = is_concurrent();
    hb_mpi_comms_begin();
    hb_mpi_clocks_begin();
    hb_mpi_depth--;
    atomic_store(&hb_mpi_runs, true);
}

/* `hipboard record` asks for it by its name: whether MPI's calls are recorded, or why not, as a
 * JSON object; NULL: MPI has not begun. */
HB_EXPORT const char *hb_mpi_note(void);
const char *hb_mpi_note(void)
{
    static char text[400];
    if (!atomic_load(&has_begun) && !atomic_load(&uses_sessions)) return NULL;
    if (hb_mpi_is_known())
        snprintf(text, sizeof text, "{\"library\": \"%s\", \"recorded\": true}", hb_mpi.name);
    else
        snprintf(text, sizeof text, "{\"recorded\": false, \"why\": \"%s\"}", hb_mpi_why_not());
    return text;
}

/* ---- Init, Finalize, Abort ---- */

static inline int through_Init(HB_P2, int (*fn)(HB_P2))
{
    static hb_site site = {.name = "MPI_Init"};
    if (hb_mpi_depth) return fn(a, b);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    int result = fn(a, b);
    hb_mpi_depth--;
    if (result == 0) begin();
    hb_scope_end(&scope);
    return result;
}

static inline int through_Init_thread(HB_P4, int (*fn)(HB_P4))
{
    static hb_site site = {.name = "MPI_Init_thread"};
    if (hb_mpi_depth) return fn(a, b, c, d);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    int result = fn(a, b, c, d);
    hb_mpi_depth--;
    if (result == 0) begin();
    hb_scope_end(&scope);
    return result;
}

static int finalize(const char *name)
{
    static hb_site site = {.name = "MPI_Finalize"};
    int (*fn)(void) = (int (*)(void))hb_mpi_real(name);
    if (hb_mpi_depth) return fn();
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    atomic_store(&hb_mpi_runs, false); /* handles mean nothing any more */
    hb_mpi_depth++;
    hb_mpi_clocks_end();
    int result = fn();
    hb_mpi_depth--;
    hb_scope_end(&scope);
    return result;
}

HB_EXPORT int MPI_Finalize(void);
HB_EXPORT int PMPI_Finalize(void);
int MPI_Finalize(void)
{
    return finalize("MPI_Finalize");
}
int PMPI_Finalize(void)
{
    return finalize("PMPI_Finalize");
}

/* ---- sessions: MPI without MPI_Init ---- */

static atomic_int num_sessions;

static void begin_session(hb_word session)
{
    typedef int (*pset_fn)(hb_word, const char *, hb_word *);
    hb_launch_info launch = HB_LAUNCH_INFO_INIT;
    hb_word group = 0;
    if (!hb_mpi_is_known() || atomic_load(&has_begun)) return;
    pset_fn pset = (pset_fn)hb_mpi_real("PMPI_Group_from_session_pset");
    if (pset(session, "mpi://WORLD", &group) != 0) return;
    int size = hb_mpi_comms_begin_with(hb_mpi_handle((hb_word)&group, 0));
    if (size >= 0 && hb_launch_info_get(&launch) == HB_OK && launch.world_size >= 1 &&
        launch.world_size != size) {
        hb_mpi_give_up("MPI tells of another number of ranks than the launcher");
        return;
    }
    atomic_store(&hb_mpi_runs, true);
}

static inline int through_Session_init(HB_P3, int (*fn)(HB_P3))
{
    static hb_site site = {.name = "MPI_Session_init"};
    if (hb_mpi_depth) return fn(a, b, c);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    int result = fn(a, b, c);
    if (result == 0) {
        atomic_fetch_add(&num_sessions, 1);
        atomic_store(&uses_sessions, true);
        begin_session(hb_mpi_handle(c, 0));
    }
    hb_mpi_depth--;
    hb_scope_end(&scope);
    return result;
}

/* Handles mean nothing any more when the last one has ended. */
static inline int through_Session_finalize(HB_P1, int (*fn)(HB_P1))
{
    static hb_site site = {.name = "MPI_Session_finalize"};
    if (hb_mpi_depth) return fn(a);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    hb_mpi_comms_end_group();
    if (atomic_fetch_sub(&num_sessions, 1) == 1 && !atomic_load(&has_begun))
        atomic_store(&hb_mpi_runs, false);
    int result = fn(a);
    hb_mpi_depth--;
    hb_scope_end(&scope);
    return result;
}

static inline int through_Comm_create_from_group(HB_P5, int (*fn)(HB_P5))
{
    static hb_site site = {.name = "MPI_Comm_create_from_group"};
    if (!hb_mpi_looks()) return fn(a, b, c, d, e);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    int result = fn(a, b, c, d, e);
    if (result == 0) hb_mpi_comm_made_of_group(hb_mpi_handle(e, 0), (const char *)b);
    hb_mpi_depth--;
    hb_scope_end(&scope);
    return result;
}

/* ---- the end by force, and what the program asks of tools ---- */

/* No exit handler runs behind it, and nobody else writes what was recorded. */
static inline int through_Abort(HB_P2, int (*fn)(HB_P2))
{
    void (*finish)(void) = NULL;
    if (!hb_mpi_depth) finish = (void (*)(void))dlsym(RTLD_DEFAULT, "hb_capture_finish");
    if (finish) finish();
    return fn(a, b);
}

/* MPI leaves to tools what it does: 0 pauses, 1 goes on, 2 hands over what there is. The program's
 * further arguments, if any, are another tool's; there are as many as registers for them. */
static inline int through_Pcontrol(HB_P6, int (*fn)(HB_P6))
{
    void (*control)(int) = NULL;
    if (!hb_mpi_depth) control = (void (*)(int))dlsym(RTLD_DEFAULT, "hb_capture_control");
    if (control) control((int)a);
    return fn(HB_A6);
}

/* ---- communicators ---- */

static inline int free_by(HB_P1, int (*fn)(HB_P1))
{
    hb_word handle = hb_mpi_looks() ? hb_mpi_handle(a, 0) : 0;
    if (!handle) return fn(a);
    hb_mpi_depth++;
    int result = fn(a);
    hb_mpi_depth--;
    if (result == 0) hb_mpi_comm_freed(handle);
    return result;
}

static inline int through_Comm_set_name(HB_P2, int (*fn)(HB_P2))
{
    int result = fn(a, b);
    if (result == 0 && hb_mpi_looks()) hb_mpi_comm_named(a, (const char *)b);
    return result;
}

/* Only the group's members know of it: what they all know is its tag. */
static inline int through_Comm_create_group(HB_P4, int (*fn)(HB_P4))
{
    if (!hb_mpi_looks()) return fn(a, b, c, d);
    hb_mpi_depth++;
    int result = fn(a, b, c, d);
    hb_mpi_depth--;
    if (result == 0) hb_mpi_comm_made_apart(a, hb_mpi_handle(d, 0), (int)c);
    return result;
}

static inline int through_Comm_idup(HB_P3, int (*fn)(HB_P3))
{
    static hb_site site = {.name = "MPI_Comm_idup"};
    if (!hb_mpi_looks()) return fn(a, b, c);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    hb_mpi_depth++;
    int result = fn(a, b, c);
    hb_mpi_depth--;
    if (result == 0) hb_mpi_comm_awaited(a, b);
    hb_scope_end(&scope);
    return result;
}

#define BOTH(name, n, through)            \
    HB_MPI_EXPORT(MPI_##name, n, through) \
    HB_MPI_EXPORT(PMPI_##name, n, through)
BOTH(Init, 2, through_Init)
BOTH(Init_thread, 4, through_Init_thread)
BOTH(Abort, 2, through_Abort)
BOTH(Pcontrol, 6, through_Pcontrol)
BOTH(Session_init, 3, through_Session_init)
BOTH(Session_finalize, 1, through_Session_finalize)
BOTH(Comm_create_from_group, 5, through_Comm_create_from_group)
BOTH(Comm_free, 1, free_by)
BOTH(Comm_disconnect, 1, free_by)
BOTH(Comm_set_name, 2, through_Comm_set_name)
BOTH(Comm_create_group, 4, through_Comm_create_group)
BOTH(Comm_idup, 3, through_Comm_idup)
