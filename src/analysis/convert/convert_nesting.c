/* SPDX-License-Identifier: MIT
 *
 * The plugin's trees of calls, one a thread: what would fall out of them, and whose calls would go
 * with it.
 */
#include <math.h>

#include "convert/convert.h"

enum {
    MAX_DEPTH = 150, /* the plugin was seen to survive 190 nodes and to hang at 200 */
};

/* µs; what rounding to doubles and to whole microseconds can do. */
#define ROUNDING 1.0

typedef struct open_node {
    uint32_t item;
    double end;
    uint32_t only_child; /* when it has exactly one */
    uint32_t children;
} open_node;

typedef struct forest {
    hb_plan *plan;
    open_node stack[MAX_DEPTH];
    int depth;
    bool reorders; /* what was trimmed may come in another place now */
} forest;

static hb_item *item_of(const forest *f, const open_node *node)
{
    return hb_plan_item(f->plan, node->item);
}

/* Of items' numbers. Those that are equal stay in the file's order. */
static bool is_before(const void *plan, const void *a, const void *b)
{
    const hb_item *x = hb_plan_item(plan, *(const uint32_t *)a);
    const hb_item *y = hb_plan_item(plan, *(const uint32_t *)b);
    if (x->tid != y->tid) return x->tid < y->tid;
    if (x->ts != y->ts) return x->ts < y->ts;
    return x->ts + x->dur > y->ts + y->dur;
}

static bool is_node(const hb_item *item)
{
    return hb_item_is_scope(item) && !(item->flags & HB_ITEM_HIDE);
}

static bool is_id(int64_t ext)
{
    return ext != HB_ABSENT && ext != HB_NO_ID;
}

/* Calls of `from` become calls of `to`. Those without an id are nobody's. */
static void move_calls(hb_plan *plan, int64_t from, int64_t to)
{
    if (!is_id(from) || !is_id(to) || from == to) return;
    *HB_PUSH(&plan->arena, &plan->moves.to) = to;
    hb_dict_set(&plan->arena, &plan->moves.index, (uint64_t)from, plan->moves.to.count - 1);
}

static bool is_operator(const hb_item *item)
{
    return item->flags & HB_ITEM_OPERATOR;
}

static bool may_be_operator(const hb_item *item)
{
    return is_operator(item) || item->role == HB_PLAN_SCOPE;
}

/* The plugin merges an operator with its only child of the same name and forgets its calls. */
static void close_node(forest *f)
{
    const open_node *node = &f->stack[--f->depth];
    if (node->children != 1) return;
    const hb_item *outer = item_of(f, node), *inner = hb_plan_item(f->plan, node->only_child);
    if (may_be_operator(outer) && may_be_operator(inner) && outer->name == inner->name)
        *HB_PUSH(&f->plan->arena, &f->plan->moves.merged) =
            (hb_merged){node->item, node->only_child};
}

/* Which can have calls. */
static const hb_item *enclosing_operator(const forest *f)
{
    for (int i = f->depth; i > 0; i--) {
        const hb_item *item = item_of(f, &f->stack[i - 1]);
        if (is_operator(item) && is_id(item->ext)) return item;
    }
    return NULL;
}

static void hide(forest *f, hb_item *item, hb_change change)
{
    const hb_item *around = enclosing_operator(f);
    item->flags |= HB_ITEM_HIDE;
    f->plan->counts[change]++;
    if (around)
        *HB_PUSH(&f->plan->arena, &f->plan->moves.hidden) = (hb_move){item->ext, around->ext};
}

static void trim(hb_item *item, double end)
{
    item->dur = end - item->ts;
    while (item->ts + item->dur > end)
        item->dur = nextafter(item->dur, 0);
    item->flags |= HB_ITEM_DURATION;
}

/* Whether it had to be trimmed. */
static bool add_node(forest *f, uint32_t index)
{
    hb_item *item = hb_plan_item(f->plan, index);
    bool trimmed = false;
    while (f->depth && f->stack[f->depth - 1].end <= item->ts)
        close_node(f);
    open_node *parent = f->depth ? &f->stack[f->depth - 1] : NULL;
    if (parent && item->ts + item->dur > parent->end) {
        if (item->ts + item->dur > parent->end + ROUNDING) {
            hide(f, item, HB_CHANGE_CROSS);
            return false;
        }
        trim(item, parent->end);
        trimmed = true;
        f->plan->counts[HB_CHANGE_TRIM]++;
    }
    if (f->depth == MAX_DEPTH) {
        hide(f, item, HB_CHANGE_DEEP);
        return trimmed;
    }
    if (parent) {
        parent->only_child = index;
        parent->children++;
    }
    f->stack[f->depth++] = (open_node){.item = index, .end = item->ts + item->dur};
    return trimmed;
}

static bool begin_together(const forest *f, uint32_t a, uint32_t b)
{
    const hb_item *x = hb_plan_item(f->plan, a), *y = hb_plan_item(f->plan, b);
    return x->tid == y->tid && x->ts == y->ts;
}

static void build(forest *f, const uint32_t *nodes, uint32_t count)
{
    int64_t tid = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hb_item *item = hb_plan_item(f->plan, nodes[i]);
        if (i && item->tid != tid)
            while (f->depth)
                close_node(f);
        tid = item->tid;
        if (add_node(f, nodes[i]))
            f->reorders |= (i && begin_together(f, nodes[i - 1], nodes[i])) ||
                           (i + 1 < count && begin_together(f, nodes[i], nodes[i + 1]));
    }
    while (f->depth)
        close_node(f);
}

/* A chain of moves, from one whose end is not known: the moves in it, and the one that it comes to.
 */
static uint32_t follow(const hb_moves *moves, uint32_t from, uint8_t *seen, uint32_t *chain,
                       uint32_t *meets)
{
    uint32_t n = 0;
    *meets = from;
    while (*meets != UINT32_MAX && !seen[*meets]) {
        seen[*meets] = 1;
        chain[n++] = *meets;
        *meets = hb_dict_value(&moves->index, (uint64_t)moves->to.items[*meets]);
    }
    return n;
}

/* Each move gets the end of its chain. Ids that several operators share may lead round in a circle:
 * calls of an id in it stay with that id, others come to the first id of it that they reach. */
static void resolve(hb_moves *moves, uint8_t *seen, uint32_t *chain)
{
    for (uint32_t i = 0; i < moves->to.count; i++) {
        uint32_t meets, n = follow(moves, i, seen, chain, &meets), circle = n;
        for (uint32_t k = 0; meets != UINT32_MAX && k < n; k++)
            if (chain[k] == meets) circle = k;
        if (!n) continue;
        int64_t end = moves->to.items[chain[n - 1]];
        if (circle == n && meets != UINT32_MAX) end = moves->to.items[meets];
        for (uint32_t k = n; k-- > 0;)
            moves->to.items[chain[k]] = k > circle ? moves->to.items[chain[k - 1]] : end;
    }
}

void hb_plan_resolve_moves(hb_plan *plan)
{
    hb_moves *moves = &plan->moves;
    if (!moves->to.count) return;
    resolve(moves, HB_NEW_ARRAY(&plan->arena, uint8_t, moves->to.count),
            HB_NEW_ARRAY(&plan->arena, uint32_t, moves->to.count));
}

int64_t hb_plan_moved(const hb_plan *plan, int64_t id)
{
    uint32_t move = id == HB_ABSENT ? UINT32_MAX : hb_dict_value(&plan->moves.index, (uint64_t)id);
    return move == UINT32_MAX ? id : plan->moves.to.items[move];
}

void hb_plan_move_calls(hb_plan *plan)
{
    if (!plan->moves.to.count) return;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        hb_item *item = hb_plan_item(plan, i);
        int64_t id = item->role == HB_PLAN_CALL ? hb_plan_moved(plan, item->ext) : item->ext;
        if (id == item->ext) continue;
        item->ext = id;
        item->flags |= HB_ITEM_ID;
    }
}

static bool owns(const hb_item *item)
{
    bool scope = item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_STEP;
    return scope && !(item->flags & HB_ITEM_HIDE) && is_id(item->ext);
}

/* Writers count External ids up, so that bits take less than a table. */
static void expect_owners(hb_plan *plan)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (!owns(item) || !is_operator(item) || !hb_is_key_int(item->ext)) continue;
        low = HB_MIN(low, item->ext);
        high = HB_MAX(high, item->ext);
    }
    hb_key_set_expect(&plan->arena, &plan->owners, low, high, (uint64_t)plan->items.count * 64);
}

/* Of several of an id, one that may become an operator. */
static void index_scope(hb_plan *plan, uint32_t index)
{
    const hb_item *item = hb_plan_item(plan, index);
    uint32_t known = hb_dict_value(&plan->scopes, (uint64_t)item->ext);
    if (known == UINT32_MAX || item->role == HB_PLAN_SCOPE ||
        hb_plan_item(plan, known)->role != HB_PLAN_SCOPE)
        hb_dict_set(&plan->arena, &plan->scopes, (uint64_t)item->ext, index);
}

static bool becomes_node(const hb_plan *plan, const hb_item *item)
{
    return is_operator(item) || hb_plan_becomes_operator(plan, item);
}

void hb_plan_index_owners(hb_plan *plan)
{
    expect_owners(plan);
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (!owns(item)) continue;
        if (!is_operator(item))
            index_scope(plan, i);
        else if (hb_is_key_int(item->ext))
            hb_key_set_add(&plan->arena, &plan->owners, hb_key_int(item->ext));
        else
            hb_dict_set(&plan->arena, &plan->far_owners, (uint64_t)item->ext, i);
    }
    for (uint32_t i = 0; i < plan->moves.merged.count; i++) {
        const hb_item *outer = hb_plan_item(plan, plan->moves.merged.items[i].outer);
        const hb_item *inner = hb_plan_item(plan, plan->moves.merged.items[i].inner);
        if (becomes_node(plan, outer) && becomes_node(plan, inner))
            move_calls(plan, outer->ext, inner->ext);
    }
    for (uint32_t i = 0; i < plan->moves.hidden.count; i++) {
        const hb_move *move = &plan->moves.hidden.items[i];
        if (!hb_plan_has_owner(plan, move->from)) move_calls(plan, move->from, move->to);
    }
}

/* Whether they have to be nested again. */
static bool nest(hb_plan *plan)
{
    forest f = {.plan = plan};
    uint32_t count = 0;
    plan->moves.merged.count = 0;
    for (uint32_t i = 0; i < plan->items.count; i++)
        count += is_node(hb_plan_item(plan, i));
    uint32_t *nodes = HB_NEW_ARRAY(&plan->arena, uint32_t, count), n = 0;
    for (uint32_t i = 0; i < plan->items.count; i++)
        if (is_node(hb_plan_item(plan, i))) nodes[n++] = i;
    hb_sort(&plan->arena, nodes, count, sizeof *nodes, is_before, plan);
    build(&f, nodes, count);
    hb_arena_give_back(&plan->arena, nodes, count * sizeof *nodes);
    return f.reorders;
}

/* What is trimmed may have changed places with its parent, and what is in a step that is hidden has
 * another parent then: as it is written, the trees are looked at. Each round trims or hides. */
void hb_plan_nesting(hb_plan *plan)
{
    bool again;
    do {
        again = nest(plan);
        again |= hb_plan_hide_steps(plan);
    } while (again);
}
