/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "plugin/answer_bodies.h"

static void number(hb_emitter *out, const char *key, double value, bool is_float)
{
    hb_emit_key(out, key);
    hb_emit_num(out, (hb_num){value, is_float});
}

static void aggregates(hb_emitter *out, hb_arena *arena, const hb_diff_side *side)
{
    hb_u32s ops = {0};
    hb_op_stats stats = {0};
    hb_analysis *a = side->analysis;
    for (uint32_t i = 0; i < side->count; i++)
        hb_tree_collect(a, arena, side->nodes[i], &ops, NULL);
    if (side->count) hb_group_by_name(a, arena, &ops, &stats);
    hb_emit_open_key(out, "aggs", '[');
    for (uint32_t i = 0; i < stats.count; i++) {
        const hb_op_stat *s = &stats.items[i];
        hb_emit_open(out, '{');
        hb_emit_key(out, "name");
        hb_emit_str(out, hb_trace_text(a->trace, s->name));
        hb_emit_key(out, "calls");
        hb_emit_int(out, s->calls);
        number(out, "host_duration", s->host, s->floats & HB_FLOAT_HOST);
        number(out, "device_duration", s->device, s->floats & HB_FLOAT_DEVICE);
        number(out, "self_host_duration", s->self_host, s->floats & HB_FLOAT_SELF_HOST);
        number(out, "self_device_duration", s->self_device, s->floats & HB_FLOAT_SELF_DEVICE);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void side(hb_emitter *out, hb_arena *arena, const char *key, const hb_diff_side *s)
{
    double duration = 0, device = 0, total = 0;
    unsigned floats = 0;
    bool total_float = false;
    hb_str name = s->single  ? hb_node_name(s->analysis, &s->analysis->nodes[s->nodes[0]])
                  : s->count ? HB_STR("CompositeNodes")
                             : HB_STR("Blank");
    for (uint32_t i = 0; i < s->count; i++) {
        const hb_node *n = &s->analysis->nodes[s->nodes[i]];
        double length = n->no_time ? 0 : n->end - n->start;
        duration += length;
        double work = hb_work_of(s->analysis, n)->device;
        device += work;
        total += work != 0 ? work : length;
        floats |= n->floats;
        total_float |= (n->floats & (work != 0 ? HB_FLOAT_DEVICE : HB_FLOAT_HOST)) != 0;
    }
    hb_emit_open_key(out, key, '{');
    hb_emit_key(out, "name");
    hb_emit_str(out, name);
    number(out, "duration", duration, floats & HB_FLOAT_HOST);
    number(out, "device_duration", device, floats & HB_FLOAT_DEVICE);
    number(out, "total_duration", total, total_float);
    aggregates(out, arena, s);
    hb_emit_close(out, '}');
}

static void sides(hb_emitter *out, hb_arena *arena, const hb_diff *diff)
{
    side(out, arena, "left", &diff->left);
    side(out, arena, "right", &diff->right);
}

void hb_answer_diff(hb_emitter *out, hb_arena *arena, const hb_diff *diff)
{
    hb_emit_open(out, '{');
    sides(out, arena, diff);
    hb_emit_open_key(out, "children", '[');
    for (uint32_t i = 0; i < diff->children.count; i++)
        hb_answer_diff(out, arena, &diff->children.items[i]);
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
}

/* "0-3-1": child 1 of child 3; only as Python writes it. */
static const hb_diff *find(const hb_diff *diff, const char *path)
{
    if (*path++ != '0') return NULL;
    while (*path == '-') {
        char *end;
        if (path[1] < '0' || path[1] > '9' || (path[1] == '0' && path[2] >= '0' && path[2] <= '9'))
            return NULL;
        unsigned long i = strtoul(path + 1, &end, 10);
        if (i >= diff->children.count) return NULL;
        diff = &diff->children.items[i];
        path = end;
    }
    return *path ? NULL : diff;
}

hb_result hb_answer_diff_node(hb_emitter *out, hb_arena *arena, const hb_diff *root,
                              const char *path)
{
    const hb_diff *diff = find(root, path);
    if (!diff) return hb_fail(HB_ERROR_NOT_FOUND, "no node '%s' in the comparison", path);
    hb_emit_open(out, '{');
    sides(out, arena, diff);
    hb_emit_pair(out, "path", path);
    hb_emit_open_key(out, "children", '[');
    for (uint32_t i = 0; i < diff->children.count; i++) {
        hb_buf text;
        hb_buf_init(&text, SIZE_MAX / 2);
        hb_buf_printf(&text, "%s-%u", path, i);
        hb_emit_open(out, '{');
        sides(out, arena, &diff->children.items[i]);
        hb_emit_pair(out, "path", hb_buf_text(&text));
        hb_emit_close(out, '}');
        hb_buf_free(&text);
    }
    hb_emit_close(out, ']');
    hb_emit_close(out, '}');
    return HB_OK;
}
