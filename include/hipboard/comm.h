/* SPDX-License-Identifier: MIT
 *
 * hipboard/comm.h - communication between ranks, for programs with a transport of their own.
 *
 * MPI needs none of this: `hipboard record` and libhipboard-mpi take its calls by themselves. What
 * is marked here is written as those are: an operator with torch's keys of a collective, and for
 * collectives of all ranks that the plugin's Distributed view knows an annotation around it.
 *
 *     HB_COLLECTIVE("my_all_reduce", HB_COMM_WORLD, HB_FLOAT32, n, n) { exchange(gradients, n); }
 *     HB_SEND(next_rank, tag, bytes) { put(bytes); }
 */
#ifndef HIPBOARD_COMM_H
#define HIPBOARD_COMM_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks that communicate with each other; a small number for the life of the process. */
typedef uint32_t hb_comm_group;
#define HB_COMM_WORLD   ((hb_comm_group)0)  /* all ranks of the job */
#define HB_COMM_UNKNOWN ((hb_comm_group)-2) /* some of them */

/** Makes a group known. `name` tells groups of a job apart and must be the same on all members;
 * `ranks` are numbers in the job, or NULL where only their number is known, `description` a name
 * for people or NULL; backend_config is not looked at. Texts and ranks are copied. HB_COMM_UNKNOWN
 * when there is no memory, or after 65,535 groups. Any thread. */
HB_API hb_comm_group hb_comm_group_make(const hb_process_group *group);

/** Non-zero while calls of libraries that communicate are recorded: HB_ACTIVITY_COMM. What records
 * such calls by itself reads it through HB_COMM_ENABLED(); a program's own marks need not. */
extern HB_API uint32_t hb_communication_epoch;
#define HB_COMM_ENABLED() HB_UNLIKELY(__atomic_load_n(&hb_communication_epoch, __ATOMIC_RELAXED))

/** What is known of one communication. Numbers that do not apply: -1, tags HB_COMM_NO_TAG. */
typedef struct hb_comm_info {
    size_t struct_size;
    hb_comm_group group;
    hb_dtype type;        /* of its elements; HB_NONE: bytes */
    int64_t in, out;      /* elements that this rank gives and gets */
    int64_t bytes;        /* of the greater of the two; -1: elements times the type's size */
    int64_t source, dest; /* ranks in the job, of messages */
    int32_t tag;
    bool async; /* it goes on behind the call */
    /** Which one of its group it is, from 1, the same on all members; 0: this process counts those
     * that it records; HB_COMM_UNCOUNTED: it has no such number. Messages have none. */
    uint64_t sequence;
    /** Where it goes on behind its call: the id of an arrow from the call to where it is complete,
     * which hb_comm_complete() ends; 0: none. Ids as hb_flow()'s. */
    uint64_t flow;
} hb_comm_info;
#define HB_COMM_UNCOUNTED UINT64_MAX
#define HB_COMM_NO_TAG    INT32_MIN

/** A communication from here to hb_comm_end(), as an operator named `name`, from which it is known
 * what it does: "MPI_Allreduce", "my:all_reduce", "ncclAllReduce" reduce to all. */
HB_API hb_scope hb_comm_begin(const char *name, const hb_comm_info *info);
HB_API hb_scope hb_comm_begin_site(hb_site *site, const hb_comm_info *info);

/** Ends it. `info`: what is known now, in place of what was given at its beginning; or NULL. Only
 * the thread that began it may tell more. */
HB_API void hb_comm_end(hb_scope *scope, const hb_comm_info *info);

/** Communications that go on behind their calls, by the sites that these began at and their flows;
 * those whose flow is 0 are left out. hb_comm_complete(): the open scope has waited for them.
 * hb_comm_start(): they begin within it, where that is not the call of hb_comm_info.flow, as those
 * of MPI_Startall. */
typedef struct hb_comm_pending {
    hb_site *site;
    uint64_t flow;
} hb_comm_pending;
HB_API void hb_comm_start(const hb_comm_pending *pending, size_t count);
HB_API void hb_comm_complete(const hb_comm_pending *pending, size_t count);

/** This process's CLOCK_MONOTONIC at `local_ns`: with `offset_ns` added it is the reference's, up
 * to `bound_ns` either way. */
typedef struct hb_clock_point {
    int64_t local_ns, offset_ns, bound_ns;
} hb_clock_point;

/** How this process's clock stands to that of another rank, by whose times all are written. */
typedef struct hb_clock_told {
    size_t struct_size;
    int64_t reference_rank;
    int64_t wall_ns, wall_bound_ns; /* Unix time less CLOCK_MONOTONIC, of the reference */
    const hb_clock_point *points;   /* by local_ns; of several the first and the last make a line */
    size_t num_points;              /* at least 1 */
    bool shared;                    /* it is one and the same clock */
    bool always; /* times are corrected also where the bound is larger than the correction */
} hb_clock_told;

/** Times of traces that are written from now on, also of what is being recorded, are corrected to
 * the reference's clock; their metadata say how ("hipboard_clock"). A later call takes the place of
 * an earlier one: give the earlier points again. libhipboard-mpi calls this by itself, where
 * HIPBOARD_ALIGN asks for it. Any thread. HB_ERROR_INVALID_ARGUMENT, HB_ERROR_NO_MEMORY. */
HB_API hb_result hb_clock_tell(const hb_clock_told *told);

/** HB_COLLECTIVE("all_reduce", group, HB_FLOAT32, elements_in, elements_out) { ... }
 * The name must be a string literal; C only, as the two below. */
#define HB_COLLECTIVE(literal, comm_group, dtype, elements_in, elements_out)           \
    HB_SCOPED_(HB_BEGIN_COMM_("" literal, .group = (comm_group), .type = (dtype),      \
                              .in = (elements_in), .out = (elements_out), .bytes = -1, \
                              .source = -1, .dest = -1, .tag = HB_COMM_NO_TAG))
/** HB_SEND(to, tag, bytes) { ... }   HB_RECV(from, tag, bytes) { ... } */
#define HB_SEND(to, message_tag, size)                                                       \
    HB_SCOPED_(HB_BEGIN_COMM_("send", .in = (size), .out = 0, .bytes = (size), .source = -1, \
                              .dest = (to), .tag = (message_tag)))
#define HB_RECV(from, message_tag, size)                                                         \
    HB_SCOPED_(HB_BEGIN_COMM_("recv", .in = 0, .out = (size), .bytes = (size), .source = (from), \
                              .dest = -1, .tag = (message_tag)))
#define HB_BEGIN_COMM_(text, ...)                                                                  \
    __extension__({                                                                                \
        static hb_site hb_site_here_ = {text, 0, 0};                                               \
        hb_comm_begin_site(&hb_site_here_, &(const hb_comm_info){                                  \
                                               .struct_size = sizeof(hb_comm_info), __VA_ARGS__}); \
    })

#ifdef __cplusplus
}
#endif
#endif
