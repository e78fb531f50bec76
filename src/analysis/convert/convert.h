/* SPDX-License-Identifier: MIT
 *
 * What a conversion knows and decides of each event: the prepass reads it, the plan decides, the
 * edits are made when the file is read again. The texts of events are never held in memory.
 */
#ifndef HB_CONVERT_CONVERT_H
#define HB_CONVERT_CONVERT_H

#include <hipboard/convert.h>

#include "base/hash_map.h"
#include "read/json_reader.h"
#include "trace/key_set.h"

typedef enum hb_change {
#define HB_MEND(id, key, unknown, text) HB_CHANGE_##id,
#include "rules/mends.def"
    HB_CHANGE_COUNT
} hb_change;

typedef enum hb_plan_role {
    HB_PLAN_OTHER,
    HB_PLAN_NODE,  /* an operator or another scope of the plugin's trees */
    HB_PLAN_SCOPE, /* an annotation that becomes one */
    HB_PLAN_STEP,
    HB_PLAN_MODULE,
    HB_PLAN_CALL,
    HB_PLAN_WORK, /* kernel, copy, fill */
    HB_PLAN_GPU_ANNOTATION,
    HB_PLAN_GPU_STEP,
    HB_PLAN_MEMORY,
    HB_PLAN_ARROW, /* the device end of a flow */
    HB_PLAN_FLOW,  /* forward_backward */
    HB_PLAN_SPAN,  /* the profiler's own, and names of rows: in every part */
} hb_plan_role;

enum hb_item_flags {
    HB_ITEM_HIDE = 1 << 0,     /* gets a category of our own, which viewers draw */
    HB_ITEM_DURATION = 1 << 1, /* dur is to be written */
    HB_ITEM_ID = 1 << 2,       /* so is ext */
    HB_ITEM_NO_ID = 1 << 3,    /* the id becomes null */
    HB_ITEM_OPERATOR = 1 << 4, /* one whose calls count */
    HB_ITEM_SEEKS = 1 << 5,    /* a call with work, whose operator is still looked for */
    HB_ITEM_CORR = 1 << 6,     /* corr is to be written */
    HB_ITEM_TID = 1 << 7,      /* so is tid */
};

enum { HB_PART_ALL = 0xffff, HB_PART_NONE = 0xfffe, HB_NO_ID = 0 };

#define HB_ABSENT INT64_MIN

typedef struct hb_item {
    double ts, dur;
    int64_t ext, corr, tid; /* HB_ABSENT; corr of an arrow: its id; of a step: its number */
    hb_string_id name;      /* of nodes */
    int32_t device;
    uint32_t size; /* of the text */
    uint16_t part;
    uint8_t role, flags;
} hb_item;

typedef struct hb_move {
    int64_t from, to; /* External ids */
} hb_move;

/** Scopes of which the plugin makes one: indices of items. */
typedef struct hb_merged {
    uint32_t outer, inner;
} hb_merged;

/** Operators that the plugin does not see, or whose calls it forgets, and who gets those. */
typedef struct hb_moves {
    hb_dict index;            /* External id -> index in `to` */
    HB_VEC(int64_t) to;       /* External ids */
    HB_VEC(hb_merged) merged; /* of equal names: the outer one's calls are forgotten */
    HB_VEC(hb_move) hidden;   /* of operators that are hidden: moves if no other has the id */
} hb_moves;

enum { HB_PLAN_DEVICES = 64 };

/** What is added to Unix times: offset + drift * (time - at). */
typedef struct hb_plan_line {
    int64_t at, offset;
    double drift;
} hb_plan_line;

typedef struct hb_plan {
    const char *input;
    const hb_convert_options *options;
    hb_arena arena; /* from hb_plan_nesting() on */
    hb_trace trace; /* the top-level members and names */
    hb_column items;
    hb_column pids;     /* of the items: indices of trace.keys; only for hb_plan_processes() */
    hb_dict calls;      /* correlation -> call */
    hb_key_set owners;  /* External ids of operators */
    hb_dict far_owners; /* those among them that are no hb_key */
    hb_dict scopes;     /* External id -> a step or another scope of the plugin's trees */
    hb_moves moves;
    int64_t devices[HB_PLAN_DEVICES]; /* that do work, ascending; [i] becomes numbers[i] */
    int numbers[HB_PLAN_DEVICES];
    int num_devices, num_properties, max_memory_device;
    bool more_devices; /* than are told apart: all keep their numbers */
    int sms[HB_PLAN_DEVICES];
    double *cuts; /* where the parts begin; [num_parts] is the end */
    uint32_t num_parts;
    bool amd_calls, foreign_calls;
    uint64_t counts[HB_CHANGE_COUNT];
    hb_read_report report;
    hb_plan_line lines[2];
    unsigned num_lines; /* 0: times stay as they are */
    int64_t base;       /* baseTimeNanoseconds */
    hb_buf clock;       /* what "hipboard_clock" becomes; empty: it stays */
    hb_buf steps;       /* a trace of the steps that were found, behind the file's events */
    hb_buf counters;    /* members of kernels' args, each behind a comma */
    hb_buf counted;     /* which kernel has which of them */
} hb_plan;

/* A scope of a host thread, of any kind. */
static inline bool hb_item_is_scope(const hb_item *item)
{
    return item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_MODULE;
}

static inline hb_item *hb_plan_item(const hb_plan *plan, uint32_t i)
{
    return hb_column_at(&plan->items, i);
}

/** Any number, or a quoted one. */
bool hb_plain_number(const hb_value *value, double *result);
/** Whether the plugin can add it up: Python takes true and false for 1 and 0, and what is not there
 * is none. */
bool hb_adds_up(const hb_value *value);
int64_t hb_plain_int(const hb_raw_event *raw, hb_slot slot);

/** Reads the file for the first time. */
hb_result hb_plan_prepass(hb_plan *plan);
/** Finds steps, where the options ask for it and there are none: they become further items, and a
 * member tells how they were found. `read` has who takes them. */
hb_result hb_plan_find_steps(hb_plan *plan, hb_read_options *read);
/** Joins the counters of another run to the trace's kernels, where the options name one. */
hb_result hb_plan_counters(hb_plan *plan);
/** Puts those of an event of the file, by its place in it, into its text. */
void hb_put_counters(const hb_plan *plan, uint32_t item, hb_buf *event);
/** Finds out what is to be added to all times. */
hb_result hb_plan_shift(hb_plan *plan);
/** A time of the file, in ns, after that. */
int64_t hb_plan_shifted(const hb_plan *plan, int64_t ns);
/** A time as it stands in the file, in ns. */
bool hb_plan_time(const hb_value *value, int64_t *ns);
bool hb_plan_is_old_clock(const hb_plan *plan, hb_str key);
/** Tells apart what several processes give the same number. */
hb_result hb_plan_processes(hb_plan *plan);
/** Fills plan->calls. */
void hb_plan_index_calls(hb_plan *plan);
/** Fills plan->owners and plan->scopes, by what is not hidden. */
void hb_plan_index_owners(hb_plan *plan);
/** Whether an operator that is not hidden has the External id, or a scope that becomes one. */
bool hb_plan_has_owner(const hb_plan *plan, int64_t id);
/** Whether a scope is written as an operator. */
bool hb_plan_becomes_operator(const hb_plan *plan, const hb_item *scope);
/** Hides and trims scopes until they are trees, and steps until none outlasts the next. */
void hb_plan_nesting(hb_plan *plan);
void hb_plan_links(hb_plan *plan);
/** Who gets which calls instead of their own operators; once all moves are known. */
void hb_plan_resolve_moves(hb_plan *plan);
/** The id that calls of `id` get; `id` itself where they stay. */
int64_t hb_plan_moved(const hb_plan *plan, int64_t id);
void hb_plan_move_calls(hb_plan *plan);
/** Hides the steps that the one before outlasts. Whether there were any. */
bool hb_plan_hide_steps(hb_plan *plan);
void hb_plan_devices(hb_plan *plan);
/** The new number of a device; -1: none. */
int hb_plan_number(const hb_plan *plan, int64_t device);
/** Whether these are a list of objects, or an empty one, as deviceProperties must be. */
bool hb_is_list_of_objects(hb_str json);
/** Whether some events are in no file, or in another one than their neighbours. */
bool hb_plan_is_cut(const hb_plan *plan);
/** Divides the events among the files to be written. */
hb_result hb_plan_parts(hb_plan *plan);

/** Appends the event as it is to be written. False: it cannot be kept. */
bool hb_edit_event(hb_plan *plan, const hb_item *item, const hb_raw_event *raw, hb_str text,
                   bool defective, uint32_t part, hb_buf *out);

/* The scanner takes an odd escape this close to the end for a cut one; texts here are whole. */
enum { HB_SCAN_SLACK = 8 };

/** For texts that were reported before. */
void hb_ignore_defect(void *context, hb_json_defect defect, const char *at);

/** Appends JSON with its strings escaped anew; `raw` says which of them were repaired. Behind it
 * are HB_TEXT_ZEROS zeros, which are not counted. */
bool hb_clean_json(const hb_raw_event *raw, hb_str json, hb_buf *out);
/** Likewise an event, which is `again` then. Decisions are made by it: as it stood, its texts may
 * be none, or others. */
bool hb_clean_event(const hb_raw_event *raw, hb_str text, hb_buf *out, hb_raw_event *again);

#endif
