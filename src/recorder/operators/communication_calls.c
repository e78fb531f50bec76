/* SPDX-License-Identifier: MIT
 *
 * A group of calls begins at its end: there its kernels are launched. One call in a group is
 * recorded there as itself; of several the end of the group is the communication, and the calls are
 * told of within it.
 */
#include "operators/communication_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/reported_calls.h"
#include "operators/communicators.h"
#include "record/communication.h"
#include "record/record.h"
#include "record/strings.h"

enum { SUCCESS = 0, IN_PROGRESS = 7, MOST_HELD = 4096, MOST_MADE = 4096 };

#define ERROR_NAME     "rccl error"
#define ERROR_CATEGORY "rccl"

static bool is_error(int result)
{
    return result != SUCCESS && result != IN_PROGRESS;
}

static uint64_t handle_of(const hb_operator *o, const hb_call *call)
{
    const hb_op_entry *row = o->row;
    return row->comm == HB_OP_NO_PARAM ? 0 : (uint64_t)hb_op_value(row, call->words, row->comm);
}

/* ---- counting ---- */

bool hb_communication_counts(const hb_op_entry *row)
{
    return row->kind == HB_OP_COLLECTIVE || row->joins != HB_OP_NO_PARAM ||
           (row->comm != HB_OP_NO_PARAM && row->forgets != HB_OP_NO_PARAM);
}

/* state[1]: which one of its communicator, or of its parent's parts, it is. */
void hb_communication_note(hb_operator *o, hb_call *call)
{
    const hb_op_entry *row = o->row;
    bool splits = row->joins != HB_OP_NO_PARAM && row->comm != HB_OP_NO_PARAM;
    call->state[1] = 0;
    if (row->kind == HB_OP_COLLECTIVE || splits) {
        hb_communicator *c = hb_communicator_of(handle_of(o, call));
        if (!c) return;
        call->state[1] = splits
                             ? atomic_fetch_add_explicit(&c->children, 1, memory_order_relaxed)
                             : atomic_fetch_add_explicit(&c->collectives, 1, memory_order_relaxed);
        call->state[1]++;
    }
    if (row->comm != HB_OP_NO_PARAM && row->forgets == row->comm)
        hb_communicator_forget(handle_of(o, call));
}

/* ---- what is known of a call ---- */

static int64_t elements_of(const hb_op_description *d, uint32_t i)
{
    int64_t n = 1;
    if (i >= d->num_tensors || !d->tensors[i].known) return -1;
    for (int k = 0; k < d->tensors[i].num_dims; k++)
        n *= d->tensors[i].dims[k];
    return n;
}

static hb_comm_info info_of(hb_operator *o, const hb_call *call)
{
    const hb_op_entry *row = o->row;
    const hb_op_outside outside = {hb_describe_outside, hb_describe_work, hb_communicator_ranks,
                                   &o->describers};
    hb_op_description d;
    hb_communicator *c = hb_communicator_of(handle_of(o, call));
    if (c) hb_communicator_ask(c, &o->describers);
    hb_op_describe(row, call->words, &outside, &d);
    bool receives = row->kind == HB_OP_RECEIVE;
    int64_t peer = row->peer < 0 || !c ? -1 : hb_op_value(row, call->words, row->peer);
    if (peer >= 0) peer = hb_communicator_rank(c, peer);
    return (hb_comm_info){
        .struct_size = sizeof(hb_comm_info),
        .group = c ? hb_communicator_group(c) : HB_COMM_UNKNOWN,
        .type = d.num_tensors && d.tensors[0].known ? d.tensors[0].type : HB_NONE,
        .in = receives ? -1 : elements_of(&d, 0),
        .out = receives ? elements_of(&d, 0) : elements_of(&d, 1),
        .bytes = -1,
        .source = receives ? peer : -1,
        .dest = receives ? -1 : peer,
        .tag = HB_COMM_NO_TAG,
        .sequence = call->state[1] ? call->state[1] : HB_COMM_UNCOUNTED,
    };
}

/* ---- groups ---- */

static void hold(hb_operator *o, const hb_call *call, hb_held_calls *held)
{
    hb_held_call *added = held->calls.count == MOST_HELD ? NULL : HB_APPEND(&held->calls);
    if (!added) {
        hb_lost_add(HB_LOST_TOO_BIG);
        return;
    }
    const hb_communicator *c = hb_communicator_of(handle_of(o, call));
    *added = (hb_held_call){o->name, c ? c->id : 0, info_of(o, call)};
}

static bool communicates(const hb_op_entry *row)
{
    return row->kind == HB_OP_COLLECTIVE || row->kind == HB_OP_SEND || row->kind == HB_OP_RECEIVE;
}

/* The ends of groups that began before they were recorded are passed over. */
bool hb_communication_is_due(hb_operator *o, const hb_call *call, hb_held_calls *held)
{
    const hb_op_entry *row = o->row;
    if (row->kind == HB_OP_GROUP_BEGIN) held->depth++;
    if (row->kind == HB_OP_GROUP_BEGIN) return false;
    if (row->kind == HB_OP_GROUP_END) return held->depth > 0 && --held->depth == 0;
    if (!communicates(row) || !held->depth) return true;
    hold(o, call, held);
    return false;
}

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, HB_MAX(more, 0), sum)) *sum = INT64_MAX;
}

/* Sums; what differs is not told. Its number is that of its last collective. */
static hb_comm_info info_of_group(const hb_held_calls *held)
{
    hb_comm_info sum = held->calls.items[0].info;
    sum.bytes = sum.in = sum.out = 0;
    sum.source = sum.dest = -1;
    sum.sequence = HB_COMM_UNCOUNTED;
    for (uint32_t i = 0; i < held->calls.count; i++) {
        const hb_comm_info *one = &held->calls.items[i].info;
        bool same = held->calls.items[i].communicator == held->calls.items[0].communicator;
        add(&sum.bytes, hb_comm_bytes(one));
        add(&sum.in, one->in);
        add(&sum.out, one->out);
        if (one->sequence != HB_COMM_UNCOUNTED) sum.sequence = one->sequence;
        if (!same) sum.group = HB_COMM_UNKNOWN;
        if (one->type != sum.type) sum.type = HB_NONE;
    }
    if (sum.group == HB_COMM_UNKNOWN) sum.sequence = HB_COMM_UNCOUNTED;
    if (sum.type == HB_NONE) sum.in = sum.out = -1;
    return sum;
}

static void tell_of_parts(const hb_held_calls *held, const void *caller)
{
    for (uint32_t i = 0; i < held->calls.count; i++) {
        const hb_held_call *one = &held->calls.items[i];
        hb_scope scope = hb_comm_record(one->name, &one->info, true, HB_FRAME, caller);
        hb_scope_end(&scope);
    }
}

static hb_scope begin_group(hb_operator *o, hb_held_calls *held, const void *caller)
{
    hb_scope scope;
    if (held->calls.count == 0) return hb_record_operator(o->name, NULL, HB_FRAME, caller);
    if (held->calls.count == 1) {
        scope = hb_comm_record(held->calls.items[0].name, &held->calls.items[0].info, false,
                               HB_FRAME, caller);
    } else {
        hb_comm_info info = info_of_group(held);
        scope = hb_comm_record(o->name, &info, false, HB_FRAME, caller);
        tell_of_parts(held, caller);
    }
    held->calls.count = 0;
    return scope;
}

/* ---- a session's first ---- */

static atomic_bool is_told; /* orders nothing */

static void put_version(hb_buf *json, const hb_operator *o)
{
    int version = 0;
    if (!o->describers.comm_version || o->describers.comm_version(&version) != SUCCESS) return;
    int unit = version < 10000 ? 1000 : 10000; /* 2.8 is 2800 or so, 2.9 is 20900 */
    hb_buf_printf(json, "\"version\": \"%d.%d.%d\", ", version / unit, version % unit / 100,
                  version % 100);
}

/* At once, so that it is known also when the program is killed. */
static HB_COLD void tell(const hb_operator *o)
{
    hb_buf json;
    if (atomic_exchange(&is_told, true)) return;
    hb_buf_init(&json, 256);
    hb_buf_str(&json, "{");
    put_version(&json, o);
    hb_buf_str(&json, "\"recorded\": true");
    if (hb_is_reported(o->row->symbol)) hb_buf_str(&json, ", \"reported_by\": \"rocprofiler-sdk\"");
    hb_buf_str(&json, "}");
    const char *text = hb_buf_text(&json);
    if (!json.failed)
        hb_record_metadata_entry(hb_strings_intern(HB_METADATA_RCCL, strlen(HB_METADATA_RCCL)),
                                 hb_strings_intern(text, strlen(text)));
    hb_buf_free(&json);
}

void hb_communications_start(void)
{
    atomic_store_explicit(&is_told, false, memory_order_relaxed);
}

hb_scope hb_communication_begin(hb_operator *o, const hb_call *call, hb_held_calls *held,
                                const void *caller)
{
    if (HB_UNLIKELY(!atomic_load_explicit(&is_told, memory_order_relaxed))) tell(o);
    if (o->row->kind == HB_OP_GROUP_END) return begin_group(o, held, caller);
    hb_comm_info info = info_of(o, call);
    return hb_comm_record(o->name, &info, false, HB_FRAME, caller);
}

/* ---- communicators that are made ---- */

/* The same on all members: what they were given, or for parts of one what they know of that. */
static uint64_t id_of(const hb_operator *o, const hb_call *call, const hb_communicator *parent)
{
    const hb_op_entry *row = o->row;
    uint64_t id = 0, here[2] = {0};
    if (row->key == HB_OP_NO_PARAM) { /* all members are in this process */
        static atomic_uint made;
        here[0] = (uint64_t)getpid();
        here[1] = atomic_fetch_add(&made, 1);
        return hb_communicator_hash(0, here, sizeof here);
    }
    const hb_op_param *key = &row->params[row->key];
    if (key->class == HB_OP_STRUCT) {
        const void *at = &call->words[key->place];
        if (key->place < HB_OP_REGISTERS) at = (const void *)(uintptr_t)call->words[key->place];
        return hb_communicator_hash(0, at, key->words * sizeof(uint64_t));
    }
    if (!parent || !parent->id) return 0;
    here[0] = call->state[1];
    here[1] = (uint64_t)hb_op_value(row, call->words, row->key);
    id = hb_communicator_hash(0, &parent->id, sizeof parent->id);
    return hb_communicator_hash(id, here, sizeof here);
}

static void join(hb_operator *o, const hb_call *call)
{
    const hb_op_entry *row = o->row;
    static atomic_uint joined;
    char name[48];
    uint64_t handle = handle_of(o, call);
    const hb_communicator *parent = handle ? hb_communicator_of(handle) : NULL;
    uint64_t at = call->words[row->params[row->joins].place], id = id_of(o, call, parent);
    int64_t many = row->many == HB_OP_NO_PARAM ? 1 : hb_op_value(row, call->words, row->many);
    if (parent)
        snprintf(name, sizeof name, "%.30s/split#%llu", parent->name,
                 (unsigned long long)call->state[1]);
    else
        snprintf(name, sizeof name, "rccl#%u", atomic_fetch_add(&joined, 1) + 1);
    for (int64_t i = 0; at && i < HB_MIN(many, (int64_t)MOST_MADE); i++)
        hb_communicator_joined(at + (uint64_t)i * sizeof(uint64_t), id, name);
}

/* ---- errors ---- */

static void tell_of_error(hb_operator *o, uint64_t handle, int error)
{
    hb_communicator *c = handle ? hb_communicator_of(handle) : NULL;
    const char *text = o->describers.comm_error ? o->describers.comm_error(error) : NULL;
    char group[24] = "";
    if (c && atomic_exchange(&c->told_of, error) == error) return; /* it is asked again and again */
    if (c && c->id) snprintf(group, sizeof group, "%016llx", (unsigned long long)c->id);
    unsigned long long last = c ? atomic_load_explicit(&c->collectives, memory_order_relaxed) : 0;
    const hb_arg args[] = {
        hb_arg_string("call", o->row->name),     hb_arg_int("error", error),
        hb_arg_string("text", text ? text : ""), hb_arg_string("communicator", group),
        hb_arg_uint("collectives so far", last),
    };
    const hb_scope_info info = {.struct_size = sizeof info,
                                .category = ERROR_CATEGORY,
                                .args = args,
                                .num_args = HB_ARRAY_LEN(args)};
    hb_scope scope = hb_scope_begin(ERROR_NAME, &info);
    hb_scope_end(&scope);
}

static void look_for_errors(hb_operator *o, const hb_call *call)
{
    const hb_op_entry *row = o->row;
    int result = (int)(uint32_t)call->results[0], error = SUCCESS;
    uint64_t handle = row->forgets == HB_OP_NO_PARAM ? handle_of(o, call) : 0;
    if (row->error != HB_OP_NO_PARAM && result == SUCCESS)
        (void)hb_op_peek(row, call->words[row->params[row->error].place], &error, sizeof error);
    if (is_error(result)) error = result;
    if (is_error(error) && HB_ENABLED()) tell_of_error(o, handle, error);
}

void hb_communication_leave(hb_operator *o, const hb_call *call)
{
    int result = (int)(uint32_t)call->results[0];
    if (o->row->joins != HB_OP_NO_PARAM && !is_error(result)) join(o, call);
    look_for_errors(o, call);
}
