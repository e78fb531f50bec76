/* SPDX-License-Identifier: MIT
 *
 * What the files that make up the trace writer share. An event is written in four parts: its head
 * and name, its row, its times, its args.
 */
#ifndef HB_WRITE_JSON_PARTS_H
#define HB_WRITE_JSON_PARTS_H

#include "io/out.h"
#include "rules/categories.h"
#include "trace/devices.h"
#include "trace/source.h"
#include "trace/trace.h"
#include "write/fwdbwd_flows.h"
#include "write/id_remap.h"
#include "write/json_names.h"
#include "write/memory_homes.h"
#include "write/memory_stacks.h"
#include "write/nesting.h"
#include "write/op_rates.h"
#include "write/shown_steps.h"
#include "write/write.h"

enum {
    HB_MAX_DEVICES = 1024, /* higher ids are a program's mistake */
    /* The row of an operator that stands for none: the page of the plugin goes blank in the
     * Operator view of a trace in which no operator has time of its own, since there is none, or
     * each is nothing but a call of the runtime. */
    HB_NO_OPERATOR_TID = 2000000000,
};

/** A row of the trace view: the text from the name to the time, ready to be copied. */
typedef struct hb_row_text {
    int64_t pid, tid;
    uint32_t len; /* 0: nothing yet */
    char text[84];
} hb_row_text;

/* Where the writer of the top level is. */
typedef enum hb_member_part { HB_MEMBER_KEY, HB_MEMBER_VALUE, HB_MEMBER_END } hb_member_part;

typedef struct hb_writer {
    hb_out out;
    hb_source *source;
    const hb_trace_info *info;
    hb_names *names;
    bool kineto; /* the dialect; else tensorboard */
    int64_t pid; /* of the process's rows, see hb_process_row() */
    const char *trace_name;
    int64_t base_ns;
    uint64_t ev_idx; /* "Ev Idx" of the next host event */
    hb_row_text row; /* the last one used */
    hb_flows flows;
    hb_steps steps;
    hb_id_remap remap;
    hb_nest scopes;                 /* of the thread being written */
    hb_nests modules;               /* of all threads */
    hb_memory_stacks memory_stacks; /* Kineto's dialect only */
    hb_op_rates rates;              /* tensorboard's only */
    int32_t max_device;
    bool has_stacks;          /* some scope was written with its call stack */
    bool calls_are_operators; /* HIP calls, where a program marks no operators */
    bool lists_operators;     /* some operator has time of its own, see HB_NO_OPERATOR_TID */
    int64_t no_operator_ns;   /* else: when the one is that stands for none */
    hb_memory_homes homes;    /* tensorboard's only; the moments: where others stand for none */
    hb_id_remap bare;         /* else those in these scopes, or in none: steps' */
    hb_write_stats stats;
    void (*member)(void *context, hb_member_part part); /* before each part of one; or NULL */
    void *context;
} hb_writer;

/* json_rows.c. The number of the process's rows. Those of a GPU have the GPU's number, which in a
 * container may be the process's, too: then it is one beyond all processes of Linux. */
int64_t hb_process_row(const hb_trace_info *info, bool kineto);

/* json_trace.c. To be freed also when opening failed. */
hb_result hb_writer_open(hb_writer *w, hb_source *source, hb_sink *sink,
                         const hb_write_options *options);
void hb_writer_free(hb_writer *w);

/* json_header.c: everything around traceEvents. */
void hb_write_header(hb_writer *w);
void hb_write_footer(hb_writer *w);

/* json_rows.c: names of rows; spans and markers at the end. */
void hb_write_row_names(hb_writer *w);
void hb_write_spans(hb_writer *w);
/** The span's length: long enough for the plugin to cut it into buckets of a microsecond. */
int64_t hb_span_ns(const hb_writer *w);

/* json_host.c, json_inputs.c, json_device.c */
void hb_write_scope(hb_writer *w, const hb_trace_event *event);
void hb_write_module(hb_writer *w, const hb_trace_event *event);
void hb_write_memory(hb_writer *w, const hb_trace_event *event);
/* json_moments.c */
void hb_write_scalar(hb_writer *w, const hb_trace_event *event);
void hb_write_counter(hb_writer *w, const hb_trace_event *event);
void hb_write_user_flow(hb_writer *w, const hb_trace_event *event);
/** An arrow's number as JSON: viewers count in doubles, so larger ones are texts. */
char *hb_put_flow_id(char *p, uint64_t id);
/** Its phase as Chrome's format has it. */
char hb_flow_letter(hb_flow_phase phase);
/* json_args.c: a scope's own values, each with ", " behind it; others, each with it before. */
void hb_write_args(hb_out *out, const hb_trace_event *event);
void hb_write_more_args(hb_out *out, const hb_trace_event *event);
/* An operator's inputs, each a JSON list. */
void hb_write_concrete_inputs(hb_out *out, const hb_op_args *op);
void hb_write_input_types(hb_out *out, const hb_op_args *op);
void hb_write_input_strides(hb_out *out, const hb_op_args *op);
void hb_write_input_dims(hb_out *out, const hb_op_args *op);
/** The tensors among the inputs, those of lists one by one, at most `max`; returns their number. */
uint32_t hb_flatten_tensors(const hb_op_args *op, hb_input *flat, uint32_t max);
void hb_write_runtime(hb_writer *w, const hb_trace_event *event);
void hb_write_kernel(hb_writer *w, const hb_trace_event *event);
void hb_write_transfer(hb_writer *w, const hb_trace_event *event);
void hb_write_device_annotation(hb_writer *w, const hb_trace_event *event);
/** A call that is written as an operator, too, and the id that calls and work get. */
bool hb_call_is_operator(const hb_writer *w, const hb_trace_event *event);
uint64_t hb_written_external_id(const hb_writer *w, const hb_trace_event *event);
/** In Kineto's dialect a communication is called as torch calls it. */
const hb_trace_event *hb_scope_as_torch_s(const hb_writer *w, const hb_trace_event *event,
                                          hb_trace_event *scope);
/** Whether the work's call is in the trace: it ends an ac2g flow. */
bool hb_work_has_call(const hb_trace_event *work);
/** As it is written: one nanosecond earlier and two longer, so that viewers draw it around its
 * first kernel. False: not at all. */
bool hb_widen_annotation(const hb_writer *w, const hb_trace_event *event, hb_trace_event *wider);
unsigned hb_written_device_type(const hb_writer *w, hb_device_type type);
int32_t hb_written_device_id(const hb_writer *w, const hb_memory_args *memory);

/* placement.c: where a scope stands in the plugin's tree. */
typedef struct hb_place {
    hb_category category;
    int64_t end_ns; /* a step's is moved when it is empty */
    bool in_tree;   /* its end must be exact as a double too */
    hb_str own;     /* the program's own category, which takes `category`'s place; or empty */
} hb_place;
hb_place hb_place_scope(hb_writer *w, const hb_trace_event *event);
hb_place hb_place_module(hb_writer *w, const hb_trace_event *event);

/* prepass.c: the passes before the first byte. */
hb_result hb_prepass(hb_writer *w);
/** Then: operators that stand for none, written behind all events: how many, and each. */
static inline bool hb_lacks_operators(const hb_writer *w)
{
    return !w->kineto && !w->lists_operators && !w->homes.moments.count;
}
static inline size_t hb_num_made_operators(const hb_writer *w)
{
    return w->homes.moments.count + hb_lacks_operators(w);
}
hb_trace_event hb_made_operator(const hb_writer *w, size_t index);

/* ---- parts of an event ---- */

/** The texts of events up to their names. */
hb_str hb_complete_head(hb_category category);
hb_str hb_instant_head(hb_category category);
hb_str hb_counter_head(hb_category category);

/** Head and name; HB_OUT_ROOM bytes are left at the pointer returned. */
char *hb_put_head(hb_out *out, hb_str head, hb_str name);

/** Thread ids are never negative in a trace: Kineto takes the absolute value. */
static inline uint64_t hb_row_number(int64_t tid)
{
    return tid == INT64_MIN ? 0 : tid < 0 ? (uint64_t)-tid : (uint64_t)tid;
}

/** `,"pid":..,"tid":..,"ts":` of a row. */
char *hb_put_new_row(hb_row_text *row, char *p, int64_t pid, int64_t tid);
static inline char *hb_put_row(hb_row_text *row, char *p, int64_t pid, int64_t tid)
{
    if (HB_UNLIKELY(row->pid != pid || row->tid != tid || row->len == 0))
        return hb_put_new_row(row, p, pid, tid);
    memcpy(p, row->text, sizeof row->text); /* of known size, hence fast; the rest is overwritten */
    return p + row->len;
}

/** Time since the base, not before it. */
static inline uint64_t hb_since_base(const hb_writer *w, int64_t ns)
{
    return ns > w->base_ns ? (uint64_t)(ns - w->base_ns) : 0;
}

/** An X event up to and including the opening of its args. */
char *hb_put_duration_event(hb_writer *w, const hb_trace_event *event, const hb_place *place,
                            int64_t pid);

static inline char *hb_put_args_end(char *p)
{
    return HB_PUT(p, "\n    }\n  },");
}

void hb_write_flow(hb_writer *w, bool start, uint64_t id, hb_category category,
                   const hb_trace_event *event, int64_t pid);

#endif
