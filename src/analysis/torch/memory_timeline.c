/* SPDX-License-Identifier: MIT
 *
 * torch tells parameters, gradients and so on apart by following tensors through operators. A trace
 * does not name tensors, so that everything is in torch's category for memory that it knows nothing
 * else about.
 */
#include "torch/memory_timeline.h"

/* torch's numbers. */
enum { PREEXISTING = 1, CREATE, INCREMENT_VERSION, DESTROY };
enum { UNKNOWN = 7, CATEGORIES = 8 };

typedef struct moment {
    int64_t ns; /* Unix time; -1: before all */
    int action;
    double bytes; /* of the allocation */
} moment;

typedef HB_VEC(moment) moments;

static bool before(const void *context, const void *x, const void *y)
{
    const moment *a = x, *b = y;
    (void)context;
    return a->ns != b->ns ? a->ns < b->ns : a->action < b->action;
}

static void add(hb_arena *arena, moments *to, int64_t ns, int action, double bytes)
{
    *HB_PUSH(arena, to) = (moment){ns, action, bytes + 0.0}; /* not -0 */
}

static moments moments_of(const hb_allocations *a, uint32_t device)
{
    moments m = {0};
    for (uint32_t i = 0; i < a->num_changes; i++) {
        const hb_memory_change *c = &a->changes[i];
        if (c->device != device) continue;
        if (c->held) {
            add(a->arena, &m, -1, PREEXISTING, c->bytes);
            continue;
        }
        if (c->bytes > 0) {
            add(a->arena, &m, c->ns, c->again ? INCREMENT_VERSION : CREATE, c->bytes);
            continue;
        }
        add(a->arena, &m, c->ns, DESTROY, -c->bytes);
        if (!c->joined) add(a->arena, &m, -1, PREEXISTING, -c->bytes);
    }
    hb_sort(a->arena, m.items, m.count, sizeof *m.items, before, NULL);
    return m;
}

/* ---- every change ---- */

static void put_record(hb_buf *to, const moment *m, double bytes)
{
    hb_buf_printf(to, "%s[%lld, %d, %.0f, %d]", to->size > 1 ? ", " : "", (long long)m->ns,
                  m->action, bytes + 0.0, UNKNOWN);
}

static void put_raw(const moments *m, hb_buf *to)
{
    hb_buf_str(to, "[");
    for (uint32_t i = 0; i < m->count; i++) {
        const moment *x = &m->items[i];
        if (x->action == INCREMENT_VERSION || x->action == DESTROY) put_record(to, x, -x->bytes);
        if (x->action != DESTROY) put_record(to, x, x->bytes);
    }
    hb_buf_str(to, "]");
}

/* ---- bytes by time ---- */

/* int(ns / 1000) of Python, whose quotient is a double: a microsecond's last nanoseconds may belong
 * to the next. */
static int64_t whole_us(int64_t ns)
{
    return ns == -1 ? -1 : (int64_t)((double)(ns / 1000) + (double)(ns % 1000) / 1000);
}

static double change_of(const moment *m)
{
    switch (m->action) {
    case DESTROY: return -m->bytes;
    case INCREMENT_VERSION: return 0;
    default: return m->bytes;
    }
}

/* What was there before all gets the first time that there is. */
static int64_t first_time(const moments *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->items[i].ns != -1) return whole_us(m->items[i].ns);
    return -1;
}

static bool ends_a_time(const moments *m, uint32_t i)
{
    return i + 1 == m->count || whole_us(m->items[i + 1].ns) != whole_us(m->items[i].ns);
}

static void put_times(const moments *m, hb_buf *to)
{
    int64_t first = first_time(m);
    const char *comma = "";
    for (uint32_t i = 0; i < m->count; i++) {
        if (!ends_a_time(m, i)) continue;
        int64_t us = whole_us(m->items[i].ns);
        hb_buf_printf(to, "%s%lld", comma, (long long)(us < 0 ? first : us));
        comma = ", ";
    }
}

static void put_sizes(const moments *m, hb_buf *to)
{
    const char *comma = "";
    double bytes = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        bytes += change_of(&m->items[i]);
        if (!ends_a_time(m, i)) continue;
        hb_buf_printf(to, "%s[0", comma);
        for (int k = 0; k < CATEGORIES - 1; k++)
            hb_buf_str(to, ", 0");
        hb_buf_printf(to, ", %.0f]", bytes + 0.0);
        comma = ", ";
    }
}

void hb_report_memory_timeline(const hb_allocations *a, uint32_t device, bool raw, hb_buf *to)
{
    moments m = moments_of(a, device);
    if (raw) {
        put_raw(&m, to);
        return;
    }
    hb_buf_str(to, "[[");
    put_times(&m, to);
    hb_buf_str(to, "], [");
    put_sizes(&m, to);
    hb_buf_str(to, "]]");
}
