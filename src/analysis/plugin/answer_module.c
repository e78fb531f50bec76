/* SPDX-License-Identifier: MIT */
#include "plugin/answer_bodies.h"

static void out_key(hb_emitter *out, const hb_trace *trace, hb_key key)
{
    if (key == HB_KEY_NONE) {
        hb_emit_null(out);
        return;
    }
    if (hb_key_tag(key) == HB_KEY_TAG_INT) {
        hb_buf number;
        hb_buf_init(&number, 64);
        hb_buf_key(&number, trace, key);
        hb_emit_raw(out, (hb_str){number.data, (uint32_t)number.size});
        hb_buf_free(&number);
        return;
    }
    hb_str s = hb_trace_text(trace, hb_key_string(key));
    if (*s.s == '"')
        hb_emit_str(out, (hb_str){s.s + 1, s.len - 1});
    else
        hb_emit_raw(out, s);
}

static void number(hb_emitter *out, const char *key, double value, bool is_float)
{
    hb_emit_key(out, key);
    hb_emit_num(out, (hb_num){value, is_float});
}

static void modules(hb_emitter *out, hb_analysis *a, const hb_module_stat *stats, uint32_t count)
{
    hb_emit_open(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        const hb_module_stat *m = &stats[i];
        hb_emit_open(out, '{');
        hb_emit_key(out, "name");
        hb_emit_str(out, hb_trace_text(a->trace, m->name));
        hb_emit_key(out, "id");
        out_key(out, a->trace, m->module_id);
        hb_emit_key(out, "occurences");
        hb_emit_int(out, m->occurences);
        hb_emit_key(out, "operators");
        hb_emit_int(out, m->operators);
        number(out, "host_duration", m->host, m->floats & HB_FLOAT_HOST);
        number(out, "self_host_duration", m->self_host, m->floats & HB_FLOAT_SELF_HOST);
        number(out, "device_duration", m->device, m->floats & HB_FLOAT_DEVICE);
        number(out, "self_device_duration", m->self_device, m->floats & HB_FLOAT_SELF_DEVICE);
        double device = m->device / m->occurences;
        hb_emit_key(out, "avg_duration");
        hb_emit_float(out, device > 0 ? device : m->host / m->occurences);
        hb_emit_key(out, "children");
        modules(out, a, m->children, m->num_children);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

hb_result hb_answer_module(hb_emitter *out, hb_analysis *a)
{
    static const struct {
        const char *name, *type, *key;
    } columns[] = {{"Module Name", "string", "name"},
                   {"Occurences", "number", "occurences"},
                   {"Operators", "number", "operators"},
                   {"Host Total Time", "number", "host_duration"},
                   {"Host Self Time", "number", "self_host_duration"},
                   {"Device Total Time", "number", "device_duration"},
                   {"Device Self Time", "number", "self_device_duration"}};
    if (!a->num_modules) return hb_fail(HB_ERROR_NOT_FOUND, "the trace has no modules");
    hb_emit_open(out, '{');
    hb_emit_open_key(out, "columns", '[');
    for (size_t i = 0; i < HB_ARRAY_LEN(columns); i++) {
        hb_emit_open(out, '{');
        hb_emit_pair(out, "name", columns[i].name);
        hb_emit_pair(out, "type", columns[i].type);
        hb_emit_pair(out, "key", columns[i].key);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
    hb_emit_key(out, "data");
    modules(out, a, a->modules, a->num_modules);
    hb_emit_close(out, '}');
    return HB_OK;
}

/* ---- tree ---- */

/* A mirror of a module lies on the thread of its first child. */
static void out_tid(hb_emitter *out, const hb_analysis *a, const hb_node *n)
{
    while (n->row == HB_NO_ROW && n->first_child)
        n = &a->nodes[n->first_child];
    if (n->row == HB_NO_ROW)
        hb_emit_int(out, 0);
    else
        out_key(out, a->trace, hb_row_tid_key(a->trace, hb_trace_row(a->trace, n->row)));
}

static void out_node(hb_emitter *out, const hb_analysis *a, uint32_t index, const int64_t *tid)
{
    const hb_node *n = &a->nodes[index];
    hb_emit_open(out, '{');
    hb_emit_key(out, "name");
    hb_emit_str(out, hb_node_name(a, n));
    hb_emit_key(out, "start_time");
    if (n->no_time)
        hb_emit_null(out);
    else
        hb_emit_num(out, (hb_num){n->start, n->start_float});
    hb_emit_key(out, "end_time");
    if (n->no_time)
        hb_emit_null(out);
    else
        hb_emit_num(out, (hb_num){n->end, n->end_float});
    hb_emit_pair(out, "type", hb_type_text((hb_type)n->type));
    hb_emit_key(out, "tid");
    if (tid)
        out_key(out, a->trace, hb_key_int(*tid));
    else
        out_tid(out, a, n);
    hb_emit_open_key(out, "children", '[');
    for (uint32_t c = n->first_child; c; c = a->nodes[c].next)
        out_node(out, a, c, NULL);
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
}

hb_result hb_answer_tree(hb_emitter *out, hb_analysis *a)
{
    const hb_tree_thread *t = hb_first_thread(a, a->lightning ? &a->pl_threads : &a->threads);
    if (!t) return hb_fail(HB_ERROR_NOT_FOUND, "the trace has no call tree");
    out_node(out, a, t->root, &t->tid);
    return HB_OK;
}
