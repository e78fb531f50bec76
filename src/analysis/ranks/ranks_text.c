/* SPDX-License-Identifier: MIT
 *
 * A study for people: one screen, for any number of ranks.
 */
#include <math.h>
#include <stdio.h>

#include "doc/doc_writer.h"
#include "doc/phrases.h"
#include "ranks/study.h"

typedef struct writer {
    hb_rank_study *s;
    hb_doc doc;
} writer;

const char *hb_wait_kind_words(hb_wait_kind kind)
{
    static const char *const words[] = {"wait for all", "wait at barrier", "early root",
                                        "late sender", "late receiver"};
    return words[kind];
}

const char *hb_late_because_word(hb_late_because because)
{
    static const char *const words[] = {"inconclusive", "compute",   "data loading",
                                        "device slow",  "host late", "message"};
    return words[because];
}

/* ---- texts ---- */

HB_PRINTF(2, 3) static const char *text(writer *w, const char *how, ...)
{
    char made[1200];
    va_list args;
    va_start(args, how);
    int n = vsnprintf(made, sizeof made, how, args);
    va_end(args);
    size_t size = (size_t)HB_MIN(n, (int)sizeof made - 1) + 1;
    char *copy = HB_NEW_ARRAY(&w->s->results, char, size);
    memcpy(copy, made, size);
    return copy;
}

static const char *quantity(writer *w, double value, hb_unit unit)
{
    hb_buf buf;
    hb_buf_init(&buf, 64);
    hb_put_quantity(&buf, value, unit);
    const char *made = text(w, "%s", hb_buf_text(&buf));
    hb_buf_free(&buf);
    return made;
}

static const char *ns(writer *w, double value)
{
    return quantity(w, value / 1e3, HB_UNIT_US);
}

static const char *percent(writer *w, double part)
{
    return text(w, "%.1f %%", 100 * part);
}

static int cut(const char *s, size_t most)
{
    return (int)hb_utf8_cut(s, strlen(s), most);
}

/* Of a name of whatever length. */
static const char *name(writer *w, hb_str s)
{
    enum { MOST = 48 };
    if (s.len <= MOST) return text(w, "%.*s", (int)s.len, s.s);
    return text(w, "%.*s...", hb_study_cut(s, MOST - 3), s.s);
}

static const char *bytes(writer *w, int64_t n)
{
    return n < 0 ? "" : n == 0 ? "0" : text(w, "<= %s", quantity(w, (double)n, HB_UNIT_BYTES));
}

/* "3, 17-20, 400": as many as fit. */
static const char *rank_list(writer *w)
{
    char made[90];
    size_t used = 0;
    const int64_t *r = w->s->missing.items;
    for (uint32_t i = 0, end; i < w->s->missing.count; i = end) {
        for (end = i + 1; end < w->s->missing.count && r[end] == r[end - 1] + 1;)
            end++;
        if (used > sizeof made - 50) {
            snprintf(made + used, sizeof made - used, ", ...");
            break;
        }
        used += (size_t)snprintf(made + used, sizeof made - used,
                                 end - i > 1 ? "%s%lld-%lld" : "%s%lld", used ? ", " : "",
                                 (long long)r[i], (long long)r[end - 1]);
    }
    return text(w, "%s", made);
}

static void line(writer *w, const char *s)
{
    hb_doc_line(&w->doc, HB_TONE_PLAIN, s);
}

static void put(writer *w, hb_grid *g, const char *s)
{
    *HB_PUSH(&w->s->results, &g->cells) = (hb_grid_cell){s, HB_TONE_PLAIN};
}

/* ---- what there is ---- */

static void print_head(writer *w)
{
    hb_rank_study *s = w->s;
    const char *steps = s->steps ? text(w, "%u step%s%s", s->steps, hb_plural(s->steps),
                                        s->made_steps ? " (what repeats in the collectives)" : "")
                                 : "no steps";
    hb_doc_heading(&w->doc,
                   text(w, "%u rank%s on %u node%s, %s", s->num_ranks, hb_plural(s->num_ranks),
                        s->num_nodes, hb_plural(s->num_nodes), steps));
    line(w, text(w, "%llu collective%s of %llu communicator%s, %llu message%s, of %u trace%s",
                 (unsigned long long)s->meetings, hb_plural(s->meetings),
                 (unsigned long long)s->communicators, hb_plural(s->communicators),
                 (unsigned long long)s->messages, hb_plural(s->messages), s->cycles.count,
                 hb_plural(s->cycles.count)));
    if (s->missing.count)
        line(w, text(w, "Missing: %u of %lld ranks: %s", s->missing.count, (long long)s->world,
                     rank_list(w)));
    if (s->partial)
        line(w, text(w, "%llu collectives are not of all members: what there is, is compared",
                     (unsigned long long)s->partial));
    if (s->unmatched)
        line(w, text(w, "%llu messages have no other end in these traces",
                     (unsigned long long)s->unmatched));
}

static const char *contradictions(writer *w)
{
    const hb_rank_study *s = w->s;
    return text(w, "%llu collectives were left before all had come, by up to %s",
                (unsigned long long)s->violations, ns(w, (double)s->worst_violation));
}

static void print_durations(writer *w)
{
    const hb_rank_study *s = w->s;
    if (s->clocks_corrected)
        line(w, text(w,
                     "Clocks of nodes do not agree: %s; these tell more only to %s: only how long "
                     "ranks stayed is compared",
                     contradictions(w), ns(w, (double)s->clock_bound)));
    else if (s->violations)
        line(w, text(w, "Clocks of nodes do not agree: %s; only how long ranks stayed is compared",
                     contradictions(w)));
    else
        line(w, text(w,
                     "Clocks are known to %s, and ranks are not that far apart: only how long they "
                     "stayed in collectives is compared",
                     ns(w, (double)s->clock_bound)));
}

static void print_clocks(writer *w)
{
    hb_rank_study *s = w->s;
    if (s->num_nodes < 2) return;
    if (s->by_durations)
        print_durations(w);
    else if (s->clocks_corrected)
        line(w, text(w, "Clocks of nodes did not agree: %s; corrected by them, to within %s",
                     contradictions(w), ns(w, (double)s->clock_bound)));
    else if (s->clocks_told)
        line(w, text(w, "Clocks of nodes agree within %s", ns(w, (double)s->clock_bound)));
    else if (s->violations)
        line(w, text(w, "Clocks as they were written: %s", contradictions(w)));
    else if (!s->clock_bound)
        line(w, "Clocks as they were written; nothing checks all of them");
    else
        line(w, text(w, "Clocks as they were written, which collectives prove to within %s",
                     ns(w, (double)s->clock_bound)));
}

static void print_notes(writer *w)
{
    enum { MOST = 4 };
    hb_rank_study *s = w->s;
    for (uint32_t i = 0; i < s->notes.count && i < MOST; i++)
        line(w, text(w, "Note: %.*s", cut(s->notes.items[i], 160), s->notes.items[i]));
    if (s->notes.count > MOST) line(w, text(w, "Note: %u more", s->notes.count - MOST));
}

/* ---- efficiency ---- */

static void print_efficiency(writer *w)
{
    const hb_rank_study *s = w->s;
    const hb_efficiency *e = &s->efficiency;
    hb_doc_heading(&w->doc, "Efficiency");
    line(w,
         text(w,
              "parallel %s = load balance %s x communication %s (serialization %s x transfer %s)",
              percent(w, e->parallel), percent(w, e->balance), percent(w, e->communication),
              percent(w, e->serialization), percent(w, e->transfer)));
    if (!s->has_steps || !s->blocks.count) return;
    const hb_study_block *slow = &s->blocks.items[0], *fast = slow;
    for (uint32_t i = 1; i < s->blocks.count; i++) {
        if (s->blocks.items[i].longest > slow->longest) slow = &s->blocks.items[i];
        if (s->blocks.items[i].longest < fast->longest) fast = &s->blocks.items[i];
    }
    line(w, text(w, "steps take %s (step %lld) to %s (step %lld)", ns(w, fast->longest),
                 (long long)fast->number, ns(w, slow->longest), (long long)slow->number));
    if (s->change.found)
        line(w, text(w, "from step %lld on a step takes %s instead of %s",
                     (long long)s->change.number, ns(w, s->change.after), ns(w, s->change.before)));
}

/* ---- who ---- */

static const char *why(writer *w, const hb_late_rank *late)
{
    if (!late->operator_name || late->because == HB_LATE_INCONCLUSIVE)
        return text(w, "why: %s", hb_late_because_word(late->because));
    return text(w, "why: %s; %.*s takes %s longer than of the median rank, in a step",
                hb_late_because_word(late->because), cut(late->operator_name, 60),
                late->operator_name, quantity(w, late->operator_us, HB_UNIT_US));
}

static void print_late(writer *w)
{
    hb_rank_study *s = w->s;
    hb_doc_heading(&w->doc, "Who makes the others wait");
    if (*s->inconclusive) {
        line(w, text(w, "inconclusive: %s", s->inconclusive));
        return;
    }
    if (!s->late.count) line(w, "nobody, beyond what chance does");
    for (uint32_t i = 0; i < s->late.count && i < 4; i++) {
        const hb_late_rank *late = &s->late.items[i];
        line(w,
             text(w,
                  "rank %lld on %.*s: the last one at %llu of %llu collectives; others waited %s "
                  "for it, %s of all waiting",
                  (long long)late->rank, cut(late->host, 60), late->host,
                  (unsigned long long)late->times_last, (unsigned long long)late->collectives,
                  quantity(w, late->caused_us, HB_UNIT_US), percent(w, late->share)));
        line(w, text(w, "    %s; without that a step takes %s less", why(w, late),
                     quantity(w, late->gain_us, HB_UNIT_US)));
    }
    if (s->num_late > 4) line(w, text(w, "and %u more ranks", s->num_late - 4));
}

/* ---- tables ---- */

static void print_waits(writer *w)
{
    enum { MOST = 6 };
    static const char *const heads[] = {"time", "of all",       "waits", "longest",
                                        "size", "communicator", "call",  "what"};
    hb_rank_study *s = w->s;
    hb_grid g = {.heads = heads, .columns = 8, .left = 7u << 4};
    double whole = 0;
    for (uint32_t i = 0; i < s->num_ranks; i++)
        whole += s->ranks[i].whole;
    for (uint32_t i = 0; i < s->waits.count && i < MOST; i++) {
        const hb_wait_state *x = &s->waits.items[i];
        if (x->time <= 0) break;
        put(w, &g, ns(w, x->time));
        put(w, &g, whole > 0 ? percent(w, x->time / whole) : "");
        put(w, &g, text(w, "%llu", (unsigned long long)x->waits));
        put(w, &g, ns(w, x->longest));
        put(w, &g, bytes(w, x->bytes));
        put(w, &g, name(w, x->group));
        put(w, &g, name(w, x->operation));
        put(w, &g, hb_wait_kind_words(x->kind));
    }
    if (!g.cells.count) return;
    hb_doc_heading(&w->doc, "Waiting, of all ranks' time");
    hb_doc_grid(&w->doc, &s->results, &g);
    for (uint32_t i = 0; i < s->pairs.count && i < 2; i++)
        line(w, text(w, "rank %lld waited %s for messages of rank %lld",
                     (long long)s->pairs.items[i].to, ns(w, s->pairs.items[i].time),
                     (long long)s->pairs.items[i].from));
}

static void print_classes(writer *w)
{
    enum { MOST = 6 };
    static const char *const heads[] = {"calls", "ranks", "size",         "median",
                                        "skew",  "bus",   "communicator", "collective"};
    hb_rank_study *s = w->s;
    hb_grid g = {.heads = heads, .columns = 8, .left = 1u << 6 | 1u << 2};
    for (uint32_t i = 0; i < s->classes.count && i < MOST; i++) {
        const hb_collective_class *c = &s->classes.items[i];
        put(w, &g, text(w, "%llu", (unsigned long long)c->calls));
        put(w, &g, text(w, "%u", c->size));
        put(w, &g, bytes(w, c->bytes));
        put(w, &g, quantity(w, c->median_transfer, HB_UNIT_US));
        put(w, &g, quantity(w, c->median_skew, HB_UNIT_US));
        put(w, &g, c->bandwidth > 0 ? text(w, "%.3g GB/s", c->bandwidth) : "");
        put(w, &g, name(w, c->group));
        put(w, &g, name(w, c->operation));
    }
    if (!g.cells.count) return;
    hb_doc_heading(&w->doc, "Collectives: once all have come; skew: the last behind the first");
    hb_doc_grid(&w->doc, &s->results, &g);
}

static void print_places(writer *w)
{
    enum { MOST = 4 };
    static const char *const heads[] = {"late", "waits", "useful", "ranks", "unlike others", ""};
    hb_rank_study *s = w->s;
    static const char *const titles[] = {"Nodes", "Switches", "Places on a node"};
    hb_grid g = {.heads = heads, .columns = 6};
    if (s->num_places < 2) return;
    for (uint32_t i = 0; i < s->num_places && i < MOST; i++) {
        const hb_study_node *p = &s->places[i];
        put(w, &g, ns(w, p->late));
        put(w, &g, ns(w, p->waited));
        put(w, &g, ns(w, p->useful));
        put(w, &g, text(w, "%u", p->ranks));
        put(w, &g, p->outlier > 5 ? text(w, "by %.0f deviations", p->outlier) : "");
        put(w, &g, name(w, p->name));
    }
    hb_doc_heading(&w->doc, text(w, "%s, the latest of %u: behind the median at a collective",
                                 titles[s->options.by], s->num_places));
    hb_doc_grid(&w->doc, &s->results, &g);
}

/* Every rank where they are few, else quantiles and the extremes. */
static void put_rank(writer *w, hb_grid *g, const hb_study_rank *r)
{
    put(w, g, ns(w, r->part.entered ? r->part.late / (double)r->part.entered : 0));
    put(w, g, text(w, "%llu", (unsigned long long)r->part.last));
    put(w, g, ns(w, r->part.caused));
    put(w, g, ns(w, r->part.waited + r->part.messages));
    put(w, g, r->whole > 0 ? percent(w, 1 - r->role[HB_ROLE_COMMUNICATION] / r->whole) : "");
    put(w, g, name(w, r->host));
    put(w, g, text(w, "%lld", (long long)r->rank));
}

static bool waits_less(const void *context, const void *x, const void *y)
{
    const hb_study_rank *ranks = context;
    return ranks[*(const uint32_t *)x].part.waited < ranks[*(const uint32_t *)y].part.waited;
}

static void print_ranks(writer *w)
{
    enum { FEW = 8, EDGE = 3 };
    static const char *const heads[] = {"late",   "last", "caused", "waited",
                                        "useful", "node", "rank"};
    hb_rank_study *s = w->s;
    hb_grid g = {.heads = heads, .columns = 7, .left = 1u << 5};
    uint32_t n = s->num_ranks, *order = HB_NEW_ARRAY(&s->results, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n > FEW) hb_sort(&s->results, order, n, sizeof *order, waits_less, s->ranks);
    for (uint32_t i = 0; i < n; i++) {
        bool shown = n <= FEW || i < EDGE || i == n / 2 || i + EDGE >= n;
        if (shown) put_rank(w, &g, &s->ranks[order[i]]);
    }
    hb_doc_heading(&w->doc, n <= FEW
                                ? "Ranks"
                                : "Ranks that wait least, the median one, those that wait most");
    hb_doc_grid(&w->doc, &s->results, &g);
}

static void print_one(writer *w)
{
    hb_rank_study *s = w->s;
    const hb_study_rank *r = NULL;
    for (uint32_t i = 0; i < s->num_ranks; i++)
        if (s->ranks[i].rank == s->options.rank) r = &s->ranks[i];
    if (s->options.rank < 0) return;
    hb_doc_heading(&w->doc, text(w, "Rank %lld", (long long)s->options.rank));
    if (!r) {
        line(w, "it is not in these traces");
        return;
    }
    static const char *const heads[] = {"late",   "last", "caused", "waited",
                                        "useful", "node", "rank"};
    hb_grid g = {.heads = heads, .columns = 7, .left = 1u << 5};
    put_rank(w, &g, r);
    hb_doc_grid(&w->doc, &s->results, &g);
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        if (r->role[role] > 0)
            line(w, text(w, "%s: %s", hb_role_title((hb_role)role), ns(w, r->role[role])));
}

void hb_study_write_text(hb_rank_study *s, bool markdown, hb_buf *out)
{
    writer w = {.s = s, .doc = {.buf = out, .markdown = markdown}};
    print_head(&w);
    print_clocks(&w);
    print_notes(&w);
    print_late(&w);
    print_efficiency(&w);
    print_waits(&w);
    print_classes(&w);
    print_places(&w);
    if (s->options.rank < 0) print_ranks(&w);
    print_one(&w);
}
