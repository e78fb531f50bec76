/* SPDX-License-Identifier: MIT
 *
 * nn.Modules: who contains whom, from the frames' ids, and how long each took, from the call trees.
 */
#include "plugin/analysis.h"

enum { MAX_DEPTH = 900 }; /* Python's recursion ends about here */

typedef struct module module;
struct module {
    hb_string_id name;
    hb_key id;
    HB_VEC(module *) children;
};

typedef HB_VEC(module *) module_list;

typedef struct builder {
    hb_analysis *a;
    hb_dict event_of; /* Python id -> row of the last such frame */
    hb_dict index_of; /* Python id -> position in frames */
    HB_VEC(struct frame {
        hb_key id;
        bool has_children;
    })
    frames;
    hb_dict parent_of; /* module's Python id -> its parent module's, HB_KEY_NONE */
    HB_VEC(hb_key) parents;
    hb_dict child_list; /* -> index in lists */
    HB_VEC(HB_VEC(hb_key)) lists;
} builder;

static hb_key parent_key(const hb_analysis *a, const hb_row *row)
{
    return hb_id_key(a->trace, hb_trace_function(a->trace, row)->parent);
}

static hb_key module_key(const hb_analysis *a, const hb_row *row)
{
    return hb_id_key(a->trace, hb_trace_function(a->trace, row)->module);
}

static struct frame *frame_of(builder *b, hb_key id)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&b->a->arena, &b->index_of, id, &added);
    if (added) {
        e->value = b->frames.count;
        *HB_PUSH(&b->a->arena, &b->frames) = (struct frame){id, false};
    }
    return &b->frames.items[e->value];
}

static void note_frames(builder *b)
{
    hb_analysis *a = b->a;
    for (uint32_t i = 0; i < a->num_events; i++) {
        if (a->events[i].type != HB_TYPE_FUNCTION && a->events[i].type != HB_TYPE_MODULE) continue;
        uint32_t row_index = a->events[i].row;
        const hb_row *row = hb_trace_row(a->trace, row_index);
        if (hb_key_tag(hb_row_key(a->trace, row)) == HB_KEY_TAG_CONTAINER ||
            hb_key_tag(parent_key(a, row)) == HB_KEY_TAG_CONTAINER)
            hb_reject_trace(a, "event %u: a Python id is a container", row_index);
        hb_dict_set(&a->arena, &b->event_of, hb_row_key(a->trace, row), row_index);
        frame_of(b, hb_row_key(a->trace, row));
        frame_of(b, parent_key(a, row))->has_children = true;
    }
}

static void set_parent(builder *b, hb_key child, hb_key parent, bool only_new)
{
    bool added;
    hb_dict_entry *e = hb_dict_add(&b->a->arena, &b->parent_of, child, &added);
    if (added) {
        e->value = b->parents.count;
        *HB_PUSH(&b->a->arena, &b->parents) = parent;
    } else if (!only_new) {
        b->parents.items[e->value] = parent;
    }
}

/* From each leaf up: consecutive modules on the way are child and parent. A way that was gone
 * before with the same module behind is not gone again. */
static void climb(builder *b, hb_key leaf, hb_dict *seen)
{
    hb_analysis *a = b->a;
    uint32_t module_row = HB_NO_ROW;
    bool added;
    const hb_dict_entry *e = hb_dict_get(&b->event_of, leaf);
    while (e) {
        uint32_t row_index = e->value;
        const hb_row *row = hb_trace_row(a->trace, row_index);
        if (hb_trace_function(a->trace, row)->module) {
            if (module_row != HB_NO_ROW)
                set_parent(b, hb_row_key(a->trace, hb_trace_row(a->trace, module_row)),
                           hb_row_key(a->trace, row), false);
            module_row = row_index;
            set_parent(b, hb_row_key(a->trace, row), HB_KEY_NONE, true);
        }
        hb_dict_add(&a->arena, seen, (uint64_t)row_index << 32 | module_row, &added);
        if (!added) break;
        e = hb_dict_get(&b->event_of, parent_key(a, row));
    }
}

static void list_children(builder *b)
{
    hb_arena *arena = &b->a->arena;
    bool added;
    for (uint32_t i = 0; i < b->parent_of.entries.count; i++) {
        hb_key parent = b->parents.items[b->parent_of.entries.items[i].value];
        hb_dict_entry *e = hb_dict_add(arena, &b->child_list, parent, &added);
        if (added) {
            e->value = b->lists.count;
            memset(HB_PUSH(arena, &b->lists), 0, sizeof *b->lists.items);
        }
        *HB_PUSH(arena, &b->lists.items[e->value]) = b->parent_of.entries.items[i].key;
    }
}

static module *make_module(builder *b, hb_key id, int depth)
{
    hb_analysis *a = b->a;
    if (depth > MAX_DEPTH) hb_reject_trace(a, "modules are nested more than %d deep", MAX_DEPTH);
    const hb_row *row = hb_trace_row(a->trace, hb_dict_get(&b->event_of, id)->value);
    module *m = HB_NEW_ARRAY(&a->arena, module, 1);
    m->name = row->name;
    m->id = module_key(a, row);
    if (hb_key_tag(m->id) == HB_KEY_TAG_CONTAINER) hb_reject_trace(a, "a module id is a container");
    const hb_dict_entry *e = hb_dict_get(&b->child_list, id);
    for (uint32_t i = 0; e && i < b->lists.items[e->value].count; i++)
        *HB_PUSH(&a->arena, &m->children) =
            make_module(b, b->lists.items[e->value].items[i], depth + 1);
    return m;
}

static bool same_module(const module *m, const module *n)
{
    if (m->name != n->name || m->id != n->id || m->children.count != n->children.count)
        return false;
    for (uint32_t i = 0; i < m->children.count; i++)
        if (!same_module(m->children.items[i], n->children.items[i])) return false;
    return true;
}

static uint64_t module_hash(const module *m)
{
    uint64_t h = (uint64_t)m->name * 0x9e3779b97f4a7c15u ^ m->id;
    for (uint32_t i = 0; i < m->children.count; i++)
        h = (h ^ module_hash(m->children.items[i])) * 0xd6e8feb86659fd93u + i;
    return h ^ h >> 29;
}

/* Equal roots are one; a chain of hashes leads to those that may be equal. */
static void add_unique(hb_analysis *a, hb_dict *roots, module_list *list, module *m)
{
    bool added;
    for (uint64_t h = module_hash(m);; h++) {
        hb_dict_entry *e = hb_dict_add(&a->arena, roots, h, &added);
        if (added) {
            e->value = list->count;
            *HB_PUSH(&a->arena, list) = m;
        }
        if (added || same_module(list->items[e->value], m)) return;
    }
}

static module_list build_hierarchy(hb_analysis *a)
{
    builder b = {.a = a};
    hb_dict seen = {0}, roots = {0};
    module_list list = {0};
    note_frames(&b);
    for (uint32_t i = 0; i < b.frames.count; i++)
        if (!b.frames.items[i].has_children) climb(&b, b.frames.items[i].id, &seen);
    list_children(&b);
    for (uint32_t i = 0; i < b.parent_of.entries.count; i++) {
        const hb_dict_entry *e = &b.parent_of.entries.items[i];
        if (b.parents.items[e->value] == HB_KEY_NONE)
            add_unique(a, &roots, &list, make_module(&b, e->key, 0));
    }
    return list;
}

static bool node_earlier(const void *context, const void *x, const void *y)
{
    const hb_node *nodes = context;
    const hb_node *m = &nodes[*(const uint32_t *)x], *n = &nodes[*(const uint32_t *)y];
    return m->start != n->start ? m->start < n->start : m->row < n->row;
}

/* Of all threads, by time. */
static hb_u32s lightning_nodes(hb_analysis *a)
{
    hb_u32s list = {0};
    for (uint32_t i = 1; i < a->num_nodes; i++)
        if (a->nodes[i].class == HB_CLASS_PL_MODULE) *HB_PUSH(&a->arena, &list) = i;
    hb_sort(&a->arena, list.items, list.count, sizeof *list.items, node_earlier, a->nodes);
    return list;
}

/* Lightning has no frames: a module's parent is in its dotted name. */
static module_list build_from_names(hb_analysis *a)
{
    hb_dict by_name = {0};
    module_list all = {0}, roots = {0};
    hb_u32s nodes = lightning_nodes(a);
    bool added;
    for (uint32_t i = 0; i < nodes.count; i++) {
        hb_string_id text = a->nodes[nodes.items[i]].name;
        hb_dict_entry *e = hb_dict_add(&a->arena, &by_name, text, &added);
        if (!added) continue;
        module *m = HB_NEW_ARRAY(&a->arena, module, 1);
        m->name = text;
        m->id = hb_key_int(0);
        e->value = all.count;
        *HB_PUSH(&a->arena, &all) = m;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        hb_str name = hb_trace_text(a->trace, all.items[i]->name);
        const char *dot = memrchr(name.s, '.', name.len);
        hb_string_id parent =
            dot ? hb_texts_find(&a->trace->strings, name.s, (size_t)(dot - name.s)) : 0;
        const hb_dict_entry *e = parent ? hb_dict_get(&by_name, parent) : NULL;
        *HB_PUSH(&a->arena, e ? (module_list *)(void *)&all.items[e->value]->children : &roots) =
            all.items[i];
    }
    return roots;
}

/* ---- times ---- */

typedef struct sums {
    hb_class class;
    hb_dict pairs; /* name -> first of a chain in stats */
    HB_VEC(struct sum {
        hb_module_stat stat;
        uint32_t next; /* index + 1, same name */
    })
    stats;
} sums;

static struct sum *find_sum(const sums *s, hb_string_id name, hb_key id)
{
    const hb_dict_entry *e = hb_dict_get(&s->pairs, name);
    for (uint32_t i = e ? e->value : 0; i; i = s->stats.items[i - 1].next)
        if (s->stats.items[i - 1].stat.module_id == id) return &s->stats.items[i - 1];
    return NULL;
}

static struct sum *add_sum(hb_analysis *a, sums *s, hb_string_id name, hb_key id)
{
    bool added;
    struct sum *made = HB_PUSH(&a->arena, &s->stats);
    *made = (struct sum){.stat = {.name = name, .module_id = id}};
    hb_dict_entry *e = hb_dict_add(&a->arena, &s->pairs, name, &added);
    made->next = added ? 0 : e->value;
    e->value = s->stats.count;
    return made;
}

static void sum_node(hb_analysis *a, sums *s, const hb_node *n)
{
    hb_key id = s->class == HB_CLASS_PL_MODULE ? hb_key_int(0)
                                               : module_key(a, hb_trace_row(a->trace, n->row));
    if (hb_key_tag(id) == HB_KEY_TAG_CONTAINER) hb_reject_trace(a, "a module id is a container");
    struct sum *sum = find_sum(s, n->name, id);
    if (!sum) sum = add_sum(a, s, n->name, id);
    hb_module_stat *stat = &sum->stat;
    stat->occurences++;
    for (uint32_t c = n->first_child; c; c = a->nodes[c].next)
        stat->operators += hb_is_operator(a, &a->nodes[c]);
    stat->self_host += hb_self_host(a, n);
    stat->host += n->end - n->start;
    stat->self_device += hb_work_of(a, n)->self_device;
    stat->device += hb_work_of(a, n)->device;
    stat->floats |= n->floats;
}

static void sum_tree(hb_analysis *a, sums *s, uint32_t parent)
{
    for (uint32_t c = a->nodes[parent].first_child; c; c = a->nodes[c].next) {
        const hb_node *n = &a->nodes[c];
        if (n->class == HB_CLASS_BACKWARD) continue;
        if (n->class == s->class) sum_node(a, s, n);
        sum_tree(a, s, c);
    }
}

/* What all modules are called is dropped wherever it stands. */
static hb_string_id shown_name(hb_analysis *a, hb_string_id name)
{
    const hb_str prefix = hb_known_text(HB_KNOWN_MODULE);
    const size_t n = prefix.len;
    hb_str s = hb_trace_text(a->trace, name);
    char *text = hb_arena_alloc(&a->arena, s.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < s.len;) {
        bool skip = s.len - i >= n && memcmp(s.s + i, prefix.s, n) == 0;
        if (!skip) text[size++] = s.s[i];
        i += skip ? n : 1;
    }
    return hb_intern(a, text, size);
}

static bool stat_before(const void *context, const void *x, const void *y)
{
    const hb_analysis *a = context;
    hb_str s = hb_trace_text(a->trace, ((const hb_module_stat *)x)->name);
    hb_str u = hb_trace_text(a->trace, ((const hb_module_stat *)y)->name);
    int order = memcmp(s.s, u.s, HB_MIN(s.len, u.len));
    return order ? order < 0 : s.len < u.len;
}

static hb_module_stat *make_stats(hb_analysis *a, const sums *s, module **modules, uint32_t count)
{
    hb_module_stat *stats = HB_NEW_ARRAY(&a->arena, hb_module_stat, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const module *m = modules[i];
        const struct sum *sum = find_sum(s, m->name, m->id);
        if (!sum) {
            hb_str name = hb_trace_text(a->trace, m->name);
            hb_reject_trace(a, "module '%.*s' is in no call tree", (int)name.len, name.s);
        }
        stats[i] = sum->stat;
        stats[i].name = shown_name(a, m->name);
        stats[i].children = make_stats(a, s, m->children.items, m->children.count);
        stats[i].num_children = m->children.count;
    }
    return stats;
}

void hb_analyze_modules(hb_analysis *a)
{
    sums s = {.class = a->lightning ? HB_CLASS_PL_MODULE : HB_CLASS_MODULE};
    module_list roots = a->lightning ? build_from_names(a) : build_hierarchy(a);
    if (!roots.count) return;
    for (uint32_t i = 0; i < a->threads.count; i++)
        if (!a->threads.items[i].gone) sum_tree(a, &s, a->threads.items[i].root);
    a->modules = make_stats(a, &s, roots.items, roots.count);
    a->num_modules = roots.count;
    hb_sort(&a->arena, a->modules, a->num_modules, sizeof *a->modules, stat_before, a);
}
