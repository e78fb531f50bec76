/* SPDX-License-Identifier: MIT */
#include "normalize/normalize.h"

#include <math.h>

#include "base/json_members.h"
#include "rules/name_class.h"
#include "trace/devices.h"
#include "trace/edges.h"
#include "trace/key_set.h"
#include "trace/link.h"
#include "trace/processes.h"

typedef struct normalizer {
    hb_arena arena;
    hb_trace *trace;
    hb_dict calls;        /* correlation -> row */
    hb_key_set owners;    /* External ids of operators */
    hb_dict scopes_by_id; /* External id -> row of a step or another scope */
    hb_u32s seekers;      /* rows of calls with work whose operator is not known */
    bool *found;          /* of the seekers */
    HB_VEC(double) sms;   /* of the devices in order; 0: not known */
    uint8_t *scopes;      /* by name: is_scope() + 1; 0: not asked yet */
    bool no_memory;
} normalizer;

static hb_row *row_at(const normalizer *u, uint32_t i)
{
    return hb_column_at(&u->trace->rows, i);
}

static hb_str name_of(const normalizer *u, const hb_row *row)
{
    return hb_trace_text(u->trace, row->name);
}

/* ---- changes, which are counted ---- */

static void set_kind(normalizer *u, hb_row *row, hb_kind kind)
{
    u->trace->num_mended += row->kind != kind;
    row->kind = (uint8_t)kind;
}

static void set_owner(normalizer *u, hb_row *row, hb_id id)
{
    u->trace->num_mended += row->id != id;
    row->id = id;
}

/* ---- events that would lose the file ---- */

static bool has_times(const normalizer *u, const hb_row *row)
{
    if (HB_LIKELY(!hb_row_odd_times(u->trace, row))) {
        unsigned needed = row->kind == HB_KIND_MEMORY ? HB_ROW_TS : HB_ROW_TS | HB_ROW_DUR;
        return (row->flags & needed) == needed &&
               (row->kind == HB_KIND_MEMORY || row->duration >= 0);
    }
    double ts = hb_plugin_ts(u->trace, row), dur = hb_plugin_dur(u->trace, row);
    bool timed = row->flags & HB_ROW_TS && isfinite(ts);
    if (row->kind == HB_KIND_MEMORY) return timed;
    return timed && row->flags & HB_ROW_DUR && dur >= 0 && isfinite(ts + dur);
}

static bool is_step(const normalizer *u, const hb_row *row)
{
    return hb_row_is_step(u->trace, row);
}

static bool has_step_number(hb_str name)
{
    uint32_t digits = hb_step_digits(name);
    return digits > 0 && HB_STEP_PREFIX_SIZE + digits == name.len;
}

static bool is_host(const hb_row *row)
{
    return row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION ||
           row->kind == HB_KIND_PYTHON || row->kind == HB_KIND_FUNCTION;
}

/* False without memory. */
static bool set_thread(hb_trace *trace, hb_row *row, hb_key key)
{
    uint32_t tid = hb_trace_key(trace, key);
    uint32_t track = tid == UINT32_MAX ? tid : hb_trace_track(trace, hb_row_pid(trace, row), tid);
    if (track == UINT32_MAX) return false;
    row->track = track;
    return true;
}

/* Threads with names become threads with numbers. */
static bool number_thread(normalizer *u, hb_row *row)
{
    hb_key key = hb_row_tid_key(u->trace, row);
    if (hb_key_tag(key) == HB_KEY_TAG_INT) return true;
    if (hb_key_tag(key) != HB_KEY_TAG_TEXT) return false;
    if (!set_thread(u->trace, row, hb_key_int(-1000000 - (int64_t)hb_key_string(key))))
        hb_arena_leave(&u->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return true;
}

static bool is_container(hb_key key)
{
    return hb_key_tag(key) == HB_KEY_TAG_CONTAINER;
}

static bool has_odd_stack(const hb_trace *trace, const hb_row *row)
{
    bool has = row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION ||
               row->kind == HB_KIND_PYTHON;
    hb_string_id stack = has ? hb_trace_op(trace, row)->stack : 0;
    const char *text = hb_trace_text(trace, stack).s;
    return *text == '[' || *text == '{';
}

/* One that a part of the event's place, links or stack is. */
static bool has_container(const normalizer *u, const hb_row *row)
{
    const hb_trace *t = u->trace;
    return is_container(hb_row_tid_key(t, row)) || is_container(hb_row_pid_key(t, row)) ||
           is_container(hb_row_key(t, row)) || has_odd_stack(t, row) ||
           (row->kind == HB_KIND_MEMORY && is_container(hb_trace_memory(t, row)->addr)) ||
           ((hb_row_is_work(row) || hb_row_is_call(row)) &&
            is_container(hb_row_correlation_key(t, row)));
}

static bool mend_memory(normalizer *u, const hb_row *row)
{
    hb_memory_row *m = hb_column_at(&u->trace->memory, row->extra);
    if (m->allocated_state == HB_NUMBER_BAD) m->allocated_state = HB_NUMBER_NONE;
    if (m->reserved_state == HB_NUMBER_BAD) m->reserved_state = HB_NUMBER_NONE;
    return m->bytes_state != HB_NUMBER_BAD;
}

/* Whether the plugin could digest the event, perhaps after it was mended. */
static bool is_fit(normalizer *u, hb_row *row)
{
    if (!has_times(u, row) || has_container(u, row)) return false;
    if (is_step(u, row) && (!has_step_number(name_of(u, row)) || hb_plugin_dur(u->trace, row) == 0))
        return false;
    if (row->kind == HB_KIND_MEMORY && !mend_memory(u, row)) return false;
    /* The plugin measures all by the profiler's own span. */
    if (row->kind == HB_KIND_SPAN && hb_plugin_dur(u->trace, row) < 1) return false;
    return (!is_host(row) && row->kind != HB_KIND_MEMORY) || number_thread(u, row);
}

static bool is_whole_flow(const normalizer *u, const hb_row *row)
{
    return row->flags & HB_ROW_HAS_ID && row->flags & HB_ROW_HAS_TS &&
           !is_container(hb_row_key(u->trace, row));
}

static void forgive(normalizer *u, hb_row *row)
{
    if (row->kind == HB_KIND_FLOW ? !is_whole_flow(u, row)
                                  : row->kind != HB_KIND_OTHER && !is_fit(u, row))
        set_kind(u, row, HB_KIND_OTHER);
    enum { FATAL = HB_ROW_ARGS_ODD | HB_ROW_NOT_OBJECT | HB_ROW_MEMORY_X };
    u->trace->num_mended += (row->flags & FATAL) != 0;
    row->flags &= (uint16_t)~FATAL;
    row->flags |= HB_ROW_NAME | HB_ROW_CAT;
}

/* ---- one vocabulary ---- */

/* Names are few, rows are many. */
static bool is_scope(const normalizer *u, const hb_row *row)
{
    uint8_t *known = &u->scopes[row->name];
    if (!*known) *known = 1 + hb_is_library_scope(name_of(u, row));
    return *known > 1;
}

static void rename_kind(normalizer *u, hb_row *row)
{
    if (row->kind == HB_KIND_CALL) set_kind(u, row, HB_KIND_RUNTIME);
    if (row->kind != HB_KIND_ANNOTATION) return;
    bool gpu = hb_row_is_of(u->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION);
    if (gpu && is_step(u, row)) set_kind(u, row, HB_KIND_OTHER);
    if (!gpu && is_scope(u, row)) set_kind(u, row, HB_KIND_OPERATOR);
}

/* ---- several processes ---- */

static hb_id_role role_of(const hb_row *row)
{
    if (row->kind == HB_KIND_RUNTIME) return HB_ID_CALL;
    if (hb_row_is_work(row)) return HB_ID_WORK;
    return row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_PYTHON ? HB_ID_SCOPE : HB_ID_OTHER;
}

static bool has_device_row(const hb_row *row)
{
    return hb_row_is_call(row) || hb_row_is_work(row);
}

static int64_t id_of(hb_key key)
{
    return hb_key_tag(key) == HB_KEY_TAG_INT ? hb_key_value(key) : HB_ID_ABSENT;
}

static bool has_external_id(const hb_row *row)
{
    return row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION ||
           row->kind == HB_KIND_PYTHON || has_device_row(row);
}

static void get_ids(void *context, uint32_t event, hb_ids *ids)
{
    const normalizer *u = context;
    const hb_row *row = row_at(u, event);
    ids->role = (uint8_t)role_of(row);
    if (has_external_id(row)) ids->ext = id_of(hb_row_key(u->trace, row));
    if (has_device_row(row)) ids->corr = id_of(hb_row_correlation_key(u->trace, row));
    ids->tid = id_of(hb_row_tid_key(u->trace, row));
    ids->pid = hb_row_pid_key(u->trace, row);
    ids->ts = (double)row->start;
}

/* Want of memory is told when the caller has freed what it holds. */
static hb_id make_id(normalizer *u, int64_t value)
{
    hb_id id = hb_trace_id(u->trace, hb_key_int(value));
    u->no_memory |= id == HB_ID_FAILURE;
    return id;
}

static void set_ids(void *context, uint32_t event, const hb_ids *ids)
{
    normalizer *u = context;
    hb_row *row = row_at(u, event);
    if (has_external_id(row) && ids->ext != HB_ID_ABSENT) row->id = make_id(u, ids->ext);
    if (has_device_row(row) && ids->corr != HB_ID_ABSENT) {
        hb_device_row *d = hb_column_at(&u->trace->devices, row->extra);
        d->correlation = make_id(u, ids->corr);
    }
    if (ids->tid == HB_ID_ABSENT || ids->tid == id_of(hb_row_tid_key(u->trace, row))) return;
    u->no_memory |= !set_thread(u->trace, row, hb_key_int(ids->tid));
}

static void separate_processes(normalizer *u)
{
    uint64_t changed;
    hb_id_events events = {u->trace->rows.count, get_ids, set_ids, u};
    if (hb_separate_processes(&events, &changed) != HB_OK || u->no_memory)
        hb_arena_leave(&u->arena, HB_ERROR_NO_MEMORY, "out of memory");
    u->trace->num_mended += (uint32_t)HB_MIN(changed, UINT32_MAX - u->trace->num_mended);
}

/* ---- links ---- */

/* PyTorch's operators, not the scopes that count as such. */
static bool owns(const normalizer *u, const hb_row *row)
{
    return row->kind == HB_KIND_OPERATOR && row->id != HB_ID_NONE && row->id != HB_ID_ZERO &&
           !is_step(u, row) && !is_scope(u, row);
}

/* The plugin's trees have these, too, and calls that are in none of PyTorch's operators. */
static bool is_other_scope(const normalizer *u, const hb_row *row)
{
    bool node = row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_PYTHON || is_step(u, row);
    return node && row->id != HB_ID_NONE && row->id != HB_ID_ZERO && !owns(u, row);
}

static bool is_in_its_scope(const normalizer *u, const hb_row *call)
{
    const hb_dict_entry *e = call->id ? hb_dict_get(&u->scopes_by_id, call->id) : NULL;
    const hb_row *scope = e ? row_at(u, e->value) : NULL;
    return scope && hb_row_tid(u->trace, scope) == hb_row_tid(u->trace, call) &&
           scope->start <= call->start && call->start + call->duration / 2 <= hb_row_end(scope);
}

/* Writers count External ids up, so that bits take less than a table. */
static void expect_owners(normalizer *u)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < u->trace->rows.count; i++) {
        const hb_row *row = row_at(u, i);
        hb_key key = hb_row_key(u->trace, row);
        if (row->kind != HB_KIND_OPERATOR || hb_key_tag(key) != HB_KEY_TAG_INT) continue;
        low = HB_MIN(low, hb_key_value(key));
        high = HB_MAX(high, hb_key_value(key));
    }
    uint64_t limit = (uint64_t)u->trace->rows.count * 64; /* bits: 8 bytes a row */
    hb_key_set_expect(&u->arena, &u->owners, low, high, limit);
}

static void index_rows(normalizer *u)
{
    expect_owners(u);
    for (uint32_t i = 0; i < u->trace->rows.count; i++) {
        const hb_row *row = row_at(u, i);
        if (owns(u, row)) hb_key_set_add(&u->arena, &u->owners, hb_row_key(u->trace, row));
        if (is_other_scope(u, row)) hb_dict_set(&u->arena, &u->scopes_by_id, row->id, i);
        if (row->kind != HB_KIND_RUNTIME) continue;
        hb_id correlation = hb_row_correlation(u->trace, row);
        if (correlation != HB_ID_NONE) hb_dict_set(&u->arena, &u->calls, correlation, i);
    }
}

/* A call that has its own correlation for an id has none. */
static bool has_link(const normalizer *u, const hb_row *row)
{
    return row->id != HB_ID_NONE && row->id != hb_row_correlation(u->trace, row) &&
           hb_key_set_has(&u->owners, hb_row_key(u->trace, row));
}

static void seek_owner(normalizer *u, const hb_row *work)
{
    hb_id correlation = hb_row_correlation(u->trace, work);
    const hb_dict_entry *e = correlation ? hb_dict_get(&u->calls, correlation) : NULL;
    if (!e || has_link(u, row_at(u, e->value))) return;
    if (has_link(u, work))
        set_owner(u, row_at(u, e->value), work->id);
    else
        *HB_PUSH(&u->arena, &u->seekers) = e->value;
}

/* `call`: of the seekers. */
static void own(void *context, uint32_t call, uint32_t scope)
{
    normalizer *u = context;
    set_owner(u, row_at(u, u->seekers.items[call]), row_at(u, scope)->id);
    u->found[call] = true;
}

static hb_host_span span_of(const normalizer *u, uint32_t row_index, uint32_t item, bool is_call)
{
    const hb_row *row = row_at(u, row_index);
    return (hb_host_span){.start = row->start,
                          .end = hb_row_end(row),
                          .thread = (int64_t)hb_row_tid_key(u->trace, row),
                          .item = item,
                          .is_call = is_call};
}

static void find_owners(normalizer *u)
{
    size_t count = 0, n = 0;
    for (uint32_t i = 0; i < u->trace->rows.count; i++)
        count += owns(u, row_at(u, i));
    hb_host_span *spans = HB_NEW_ARRAY(&u->arena, hb_host_span, count + u->seekers.count);
    for (uint32_t i = 0; i < u->trace->rows.count; i++)
        if (owns(u, row_at(u, i))) spans[n++] = span_of(u, i, i, false);
    for (uint32_t i = 0; i < u->seekers.count; i++)
        spans[n++] = span_of(u, u->seekers.items[i], i, true);
    u->found = HB_NEW_ARRAY(&u->arena, bool, u->seekers.count);
    hb_find_owners(&u->arena, spans, n, own, u);
    for (uint32_t i = 0; i < u->seekers.count; i++)
        if (!u->found[i] && !is_in_its_scope(u, row_at(u, u->seekers.items[i])))
            set_owner(u, row_at(u, u->seekers.items[i]), HB_ID_NONE);
}

static void settle_ids(normalizer *u)
{
    for (uint32_t i = 0; i < u->trace->rows.count; i++) {
        hb_row *row = row_at(u, i);
        /* The plugin hands all calls without an id to the first module frame. */
        if (row->kind == HB_KIND_RUNTIME && row->id == HB_ID_NONE) row->id = HB_ID_ZERO;
        bool shared = row->kind == HB_KIND_OPERATOR && row->id != HB_ID_NONE && is_scope(u, row) &&
                      hb_key_set_has(&u->owners, hb_row_key(u->trace, row));
        if (shared) set_owner(u, row, HB_ID_NONE);
    }
}

static void link(normalizer *u)
{
    index_rows(u);
    for (uint32_t i = 0; i < u->trace->rows.count; i++)
        if (hb_row_is_work(row_at(u, i))) seek_owner(u, row_at(u, i));
    if (u->seekers.count) find_owners(u);
    settle_ids(u);
}

/* ---- kernels ---- */

static bool take_sms(void *context, const hb_value *device)
{
    normalizer *u = context;
    hb_value sms = hb_json_member((hb_str){device->s, (uint32_t)device->size}, "numSms");
    *HB_PUSH(&u->arena, &u->sms) = sms.type == HB_JSON_INT ? hb_value_double(&sms) : 0;
    return true;
}

static void read_sms(normalizer *u)
{
    hb_str list = hb_trace_member(u->trace, "deviceProperties");
    if (hb_json_value(list).type == HB_JSON_ARRAY) hb_json_each(list, take_sms, u);
}

/* A kernel needs a device, and ratios that are numbers. */
static bool place_launch(hb_launch *l, hb_key pid)
{
    if (l->device_state == HB_NUMBER_INT && hb_key_tag(l->device) == HB_KEY_TAG_INT) return false;
    l->device = hb_key_tag(pid) == HB_KEY_TAG_INT ? pid : hb_key_int(0);
    l->device_state = HB_NUMBER_INT;
    return true;
}

static bool mend_ratio(uint8_t *state)
{
    bool bad = *state == HB_NUMBER_BAD;
    if (bad) *state = HB_NUMBER_NONE;
    return bad;
}

/* AMD's are not written. */
static bool add_blocks(const normalizer *u, hb_launch *l)
{
    int64_t device = hb_key_value(l->device);
    if (l->blocks_state != HB_NUMBER_NONE || device < 0 || device >= u->sms.count) return false;
    double blocks = hb_blocks_of_grid(hb_trace_text(u->trace, l->grid).s);
    if (!(blocks > 0) || !(u->sms.items[device] > 0)) return false;
    l->blocks_per_sm = blocks / u->sms.items[device];
    l->blocks_state = HB_NUMBER_FLOAT;
    return true;
}

static void mend_launch(normalizer *u, const hb_row *row)
{
    hb_device_row *d = hb_column_at(&u->trace->devices, row->extra);
    hb_launch l = *hb_trace_launch_of(u->trace, row);
    bool changed = place_launch(&l, hb_row_pid_key(u->trace, row));
    changed |= mend_ratio(&l.blocks_state);
    changed |= mend_ratio(&l.occupancy_state);
    changed |= add_blocks(u, &l);
    u->trace->num_mended += changed;
    if (changed) d->launch = hb_trace_launch(u->trace, &l);
    if (d->launch == UINT32_MAX) hb_arena_leave(&u->arena, HB_ERROR_NO_MEMORY, "out of memory");
}

static void normalize(normalizer *u)
{
    u->scopes = HB_NEW_ARRAY(&u->arena, uint8_t, u->trace->strings.count);
    read_sms(u);
    for (uint32_t i = 0; i < u->trace->rows.count; i++) {
        hb_row *row = row_at(u, i);
        forgive(u, row);
        rename_kind(u, row);
        if (row->kind == HB_KIND_KERNEL) mend_launch(u, row);
    }
    separate_processes(u);
    link(u);
}

hb_result hb_normalize(hb_trace *trace)
{
    normalizer u = {.trace = trace};
    if (hb_arena_try(&u.arena)) normalize(&u);
    hb_result result = hb_arena_outcome(&u.arena);
    hb_arena_free(&u.arena);
    hb_trace_unlink(trace);
    trace->normalized = result == HB_OK;
    return result;
}
