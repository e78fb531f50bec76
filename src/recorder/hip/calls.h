/* SPDX-License-Identifier: MIT
 *
 * A HIP call on its thread, from enter to exit, as the runtime's hooks report it: becomes a record,
 * and for allocations a memory event. Both eras of hooks use this.
 */
#ifndef HB_HIP_CALLS_H
#define HB_HIP_CALLS_H

#include <stdatomic.h>

#include "hip/call_layouts.h"
#include "hip/hip_runtime.h"
#include "record/record.h"

#define HB_CALLS_MAX_DEPTH    8
#define HB_HIP_API_DATA_BYTES 1024 /* room for hip_api_data_t where the runtime wants ours */

/** A call that runs now. A launch needs the first line of the cache only. */
typedef struct hb_frame {
    const hb_hip_call *call;
    uint64_t correlation;
    uint64_t start;         /* ticks */
    hb_record_call *record; /* NULL: nothing is recorded of it */
    const char *stack;      /* where it was called */
    uint64_t work;          /* the first piece of device work that it made */
    uint32_t cid;
    uint32_t epoch; /* the session of `record` */
    struct hb_call_is {
        bool quick;      /* a launch that goes the short way, launches.h */
        bool placed;     /* its record is */
        bool unsure;     /* whether it makes any work */
        bool promised;   /* records of its work, beyond a launch's one */
        bool untimed;    /* times of its work are not asked for */
        bool work_asked; /* for back-ends that need it, as the next: work of it was made */
        bool per_thread; /* the function means the thread's own stream by none */
        bool no_timing;  /* times of its work would be asked for, and can't be */
        bool on_host;    /* frees: it is pinned memory */
    } is;
    _Atomic uint64_t *counted; /* which of hb_calls's sums has this call's work in it */
    struct hb_timing_event *timing;
    void *ptr;    /* what was allocated, or is freed */
    size_t bytes; /* and its size */
    int device;   /* and where */
    _Alignas(16) char data[HB_HIP_API_DATA_BYTES];
} hb_frame;

enum { HB_CALLS_KNOWN_STREAMS = 16, HB_CALLS_SITES = 32, HB_CALLS_KNOWN_STACKS = 256 };

/** A stream that the thread has made work on, as hb_busy_streams_add() knows. */
typedef struct hb_known_stream {
    uint64_t stream;
    uint32_t generation; /* hb_calls_stream_generation for which it holds; 0: none */
    int16_t device;
} hb_known_stream;

/** What is known of a function's launches of a kernel on a stream: a line of the cache. Two parts
 * lie as in hb_record_launch. */
typedef struct hb_launch_site {
    _Alignas(64) const void *function;
    uint32_t generation; /* hb_launch_generation for which it holds; 0: nothing */
    uint32_t name;       /* of the HIP function */
    uint64_t stream;     /* from here */
    int32_t error;       /* 0 */
    int16_t device;
    uint16_t cid;    /* to here, */
    uint32_t kernel; /* and from here */
    uint16_t vgprs, sgprs;
    uint32_t lds_bytes; /* without what is dynamic */
    uint32_t scratch_bytes;
    uint16_t agprs;
} hb_launch_site;

#define HB_NOT_QUICK UINT32_MAX /* no session */

/** A thread's. Never freed, found again by the thread that takes over its hb_thread. */
typedef struct hb_calls {
    /* A launch needs these, the first frame and a site: each a line of the cache. `quick`: the
     * session in which the thread's next call, if it is a usual launch, may go the short way;
     * `usual`: what that is outside of calls. */
    _Alignas(64) uint32_t quick;
    uint32_t usual;
    uint32_t depth;
    _Atomic uint32_t epoch;    /* the session of the frames, and of the captures */
    uint64_t correlation;      /* the last one */
    _Atomic uint64_t launches; /* by the short way */
    bool ours;                 /* hipboard itself calls HIP: not to be recorded */
    _Alignas(64) hb_frame frames[HB_CALLS_MAX_DEPTH];
    _Alignas(64) hb_launch_site sites[HB_CALLS_SITES]; /* by hash */
    struct hb_calls *next;                             /* of all */
    uint32_t owner;                                    /* hb_thread.number */
    _Atomic uint32_t capturing;                        /* streams that it puts into graphs */
    _Atomic uint32_t joined; /* it works on a stream of another capture, hb_captures_ended by then;
                              * 0: it does not */
    uint32_t captured;       /* launches, since the last graph's end */
    hb_known_stream streams[HB_CALLS_KNOWN_STREAMS]; /* by hash */
    uint32_t launch, picked,
        random; /* of each hb_calls_sampling launches: the next, the timed one */
    /* calls; pieces of device work, and such as a copy may or may not make; runs of graphs.
     * The thread itself counts. */
    _Atomic uint64_t seen, made, arrived, expected, completed, replays;
    /* hashes of call stacks that the thread has written in that session, by themselves */
    uint32_t stacks_epoch;
    uint64_t stacks[HB_CALLS_KNOWN_STACKS];
} hb_calls;

/** How a back-end reports calls. */
typedef struct hb_calls_source {
    uint32_t num_functions;               /* numbers of functions are below this */
    const char *(*name_of)(uint32_t cid); /* NULL: there is none of that number */
    bool unexpanded;                      /* as hb_hip_call_unexpanded() */
    bool interposed;                      /* some calls may be made unseen */
    bool short_launches;                  /* kernels are told with their work, HB_RECORD_DISPATCH */
    bool by_correlation;                  /* a launch's work is reported under its correlation */
} hb_calls_source;

/** Which runtime's calls these are; once, before the first callback. */
bool hb_calls_init(const hb_hip *hip, const hb_calls_source *source);
uint32_t hb_calls_num_functions(void);
/** The row of a function number. */
const hb_hip_call *hb_calls_row(uint32_t cid);

static inline bool hb_call_is_launch(const hb_hip_call *call)
{
    return call->kind >= HB_CALL_LAUNCH_HOST && call->kind <= HB_CALL_LAUNCH_ITEMS;
}

/** hipboard's own calls of the runtime stand between these two. */
bool hb_calls_enter_own(void);
void hb_calls_leave_own(bool before);

/** The kernels' times are asked for of one in so many launches of a thread; 0: of all. */
extern _Atomic uint32_t hb_calls_sampling;

/** Whether the launch that begins now on the calling thread, inside of hb_calls_push(), is not one
 * of those. */
bool hb_calls_pass_over_times(void);

/** Whether the calling thread is one of the program's: a call of it was recorded once. */
bool hb_calls_of_program(void);

/** Takes a frame for a call that begins now; NULL when it is not to be recorded. `stack`: HB_FRAME
 * of the function that the runtime or the program calls. */
hb_frame *hb_calls_push(uint32_t cid, const char *stack);

/** The same with hb_call_may_make_work(). */
hb_frame *hb_calls_push_work(uint32_t cid, const char *stack);

/** The innermost call's frame; NULL outside of calls, and in those of hipboard's own. */
static inline hb_frame *hb_calls_innermost(void)
{
    hb_thread *t = hb_thread_tls;
    return t ? t->call : NULL;
}

/** The frame of the call that is about to end; NULL when push gave none for it. */
static inline hb_frame *hb_calls_top(uint32_t cid)
{
    hb_frame *f = hb_calls_innermost();
    return f && f->cid == cid ? f : NULL;
}

/** `args`: the arguments as the runtime laid them out. */
void hb_call_begin(hb_frame *frame, const char *args);
/** Ends the call and gives the frame back. `error`: what it returned. */
void hb_call_end(hb_frame *frame, const char *args, int error);

/** What a call of kind HB_CALL_DESTROY_STREAMS means, which is heard outside of sessions, too,
 * while the streams' work is awaited. */
void hb_call_destroys_streams(const hb_hip_call *call, const char *args);

/** A copy of the running call's record, as much as a copy's has; false when there is none (any
 * more: its session may end at any moment). */
bool hb_call_record(const hb_frame *frame, hb_record_copy *copy);

/** The innermost call of this thread made a piece of device work that will be reported under
 * `work` (not 0). */
void hb_call_made_work(uint64_t work);

/** The same where a call of any kind may make some, which is reported under its correlation. */
void hb_call_may_make_work(hb_frame *frame);

/** Work is about to be made by the innermost call of this thread, `frame`, or outside of all that
 * are seen: its device is waited for at the end. */
void hb_work_announced(const hb_frame *frame);

/** The runtime says that this call has made a piece of work which will be reported; */
void hb_call_made_certainly(hb_frame *frame);
/** and, before hb_call_end(), that it made none beside those. */
void hb_call_made_no_more(hb_frame *frame);
/** A run of a graph by this thread has made so much more work that will be reported. */
void hb_graph_made(uint64_t works);

/** A piece of device work was reported, by any thread; of kind 0: one that is not kept. */
void hb_work_report(const hb_record_work *work);
/** The same of a kernel that the report tells all of. */
void hb_dispatch_report(const hb_record_dispatch *dispatch);
/** One that hb_call_made_work() or a launch counted as made; or not `certain`: some other. */
void hb_work_arrived(bool certain);

/** Sums over all threads. */
typedef struct hb_call_counts {
    uint64_t seen, made, arrived, expected, completed, replays;
    uint32_t capturing; /* in the running session; between two of them no capture is heard */
} hb_call_counts;
hb_call_counts hb_calls_count(void);

/** No call has a higher id up to now, those of sessions to come have. */
uint64_t hb_calls_last_id(void);

/** A session has ended: gives the lowest id that calls of the next one may have. Where work is
 * reported under these, what comes of lower ones from now on is an earlier session's, or nobody's.
 */
uint64_t hb_calls_end_session(void);

/** Those that work was made on, hb_busy_streams_forget(): a thread's next work tells its stream
 * again. */
void hb_calls_forget_streams(void);

/** This process itself has called HIP while it was recorded: not only the one that it was forked
 * from. */
bool hb_calls_heard(void);

/** In a forked child. */
void hb_calls_after_fork(void);

#endif
