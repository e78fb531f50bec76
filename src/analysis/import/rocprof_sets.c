/* SPDX-License-Identifier: MIT */
#include "import/rocprof_sets.h"

#include <dirent.h>
#include <stdlib.h>

typedef struct hb_rocprof_members {
    HB_VEC(hb_rocprof_member) all;
} members;

/* ---- names ---- */

/* Behind the words that tell what is in a table, from their end on. */
static size_t without_words(const char *name, size_t n)
{
    static const char *const words[] = {
        "_trace",    "_collection",   "_info",      "_api",     "_ext",        "_core",
        "_amd",      "_runtime",      "_compiler",  "_counter", "_agent",      "_kernel",
        "_copy",     "_hip",          "_hsa",       "_marker",  "_allocation", "_memory",
        "_scratch",  "_rccl",         "_roctx",     "_ompt",    "_rocdecode",  "_rocjpeg",
        "_sampling", "_finalize_ext", "_image_ext", "_host",    "_pc",
    };
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < HB_ARRAY_LEN(words); i++) {
            size_t k = strlen(words[i]);
            /* The first word of a name has nothing before it. */
            if (n == k - 1 && memcmp(name, words[i] + 1, n) == 0) return 0;
            if (n <= k || memcmp(name + n - k, words[i], k) != 0) continue;
            n -= k;
            found = true;
        }
    }
    return n;
}

/* How long the end of a text is that numbers a process: "_0", ".rank12", "-p_3"; 0: there is none.
 */
static size_t number_at_end(const char *text, size_t n)
{
    static const char *const words[] = {"rank", "proc", "pid", "r", "p"};
    size_t at = n;
    while (at && hb_rocprof_is_digit(text[at - 1]))
        at--;
    if (at == n) return 0;
    size_t before = at && hb_rocprof_separates(text[at - 1]) ? at - 1 : at;
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++) {
        size_t k = strlen(words[i]);
        if (before <= k || memcmp(text + before - k, words[i], k) != 0) continue;
        if (hb_rocprof_separates(text[before - k - 1])) return n - (before - k - 1);
    }
    return before < at ? n - before : 0;
}

static hb_rocprof_member member_of(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0) n -= 3;
    if (n > 4 && memcmp(name + n - 4, ".csv", 4) == 0) n -= 4;
    size_t suffix = 0, stem = without_words(name, n);
    if (stem == n && (suffix = number_at_end(name, n)) > 0) {
        stem = without_words(name, n - suffix);
        if (stem == n - suffix) stem = n, suffix = 0; /* of a name that tells nothing */
    }
    hb_rocprof_member m = {
        name, name[stem] == '_' && stem ? stem + 1 : stem, {name + n - suffix, (uint32_t)suffix}};
    return m;
}

/* "0_" of "run_0_": what tells processes apart, not tables. */
static bool is_of_a_process(const char *rest, size_t n)
{
    char text[64] = "_";
    if (n < 2 || n > sizeof text - 2) return false;
    memcpy(text + 1, rest, n - 1); /* the last is a separator */
    return number_at_end(text, n) == n;
}

/* ---- what lies in a directory ---- */

static bool is_table(const char *name)
{
    hb_str text = {name, (uint32_t)strlen(name)};
    return hb_str_ends(text, ".csv") || hb_str_ends(text, ".csv.gz");
}

/* The names of a directory's tables, one after the other; how many bytes all of them have. */
static size_t list_names(const char *path, char *names, size_t room)
{
    size_t used = 0;
    DIR *dir = opendir(*path ? path : ".");
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name) + 1;
        if (!is_table(entry->d_name)) continue;
        if (used + n <= room) memcpy(names + used, entry->d_name, n);
        used += n;
    }
    closedir(dir);
    return used;
}

static bool by_name(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const hb_rocprof_member *)a)->name, ((const hb_rocprof_member *)b)->name) < 0;
}

static void list_members(hb_arena *arena, const char *path, members *list)
{
    char *names = NULL;
    size_t size = 0, found;
    for (; (found = list_names(path, names, size)) > size; size = found)
        names = hb_arena_alloc(arena, found);
    for (size_t at = 0; at < found; at += strlen(names + at) + 1)
        *HB_PUSH(arena, &list->all) = member_of(names + at);
    hb_sort(arena, list->all.items, list->all.count, sizeof *list->all.items, by_name, NULL);
}

/* ---- sets ---- */

static int compare(hb_str a, hb_str b)
{
    int order = memcmp(a.s, b.s, HB_MIN(a.len, b.len));
    return order || a.len == b.len ? order : a.len < b.len ? -1 : 1;
}

/* Whether a name begins and ends as one of a set does. */
static bool is_within(const hb_rocprof_member *m, const hb_rocprof_member *root)
{
    return compare(m->suffix, root->suffix) == 0 && m->stem >= root->stem &&
           memcmp(m->name, root->name, root->stem) == 0;
}

/* Of names that end alike, each beginning stands before those that begin with it. */
static bool by_beginning(const void *context, const void *a, const void *b)
{
    const hb_rocprof_member *all = context;
    const hb_rocprof_member *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
    int order = compare(x->suffix, y->suffix);
    hb_str one = {x->name, (uint32_t)x->stem}, other = {y->name, (uint32_t)y->stem};
    return order ? order < 0 : compare(one, other) < 0;
}

/* The shortest beginning that a name of the directory has, and this one, too. */
static uint32_t root_of(const members *list, const hb_u32s *beginnings, const hb_rocprof_member *of)
{
    uint32_t i = 0;
    for (; i + 1 < beginnings->count; i++) {
        size_t stem = list->all.items[beginnings->items[i]].stem;
        if (!is_of_a_process(of->name + stem, of->stem - stem)) break;
    }
    return beginnings->items[i];
}

/* In the order of beginnings, those that a name has are the last ones that others begin with. */
static void find_roots(hb_arena *arena, members *list)
{
    hb_u32s beginnings = {0};
    uint32_t *order = HB_NEW_ARRAY(arena, uint32_t, list->all.count);
    for (uint32_t i = 0; i < list->all.count; i++)
        order[i] = i;
    hb_sort(arena, order, list->all.count, sizeof *order, by_beginning, list->all.items);
    for (uint32_t i = 0; i < list->all.count; i++) {
        hb_rocprof_member *m = &list->all.items[order[i]];
        uint32_t *count = &beginnings.count;
        while (*count && !is_within(m, &list->all.items[beginnings.items[*count - 1]]))
            --*count;
        if (!*count || list->all.items[beginnings.items[*count - 1]].stem < m->stem)
            *HB_PUSH(arena, &beginnings) = order[i];
        m->root = root_of(list, &beginnings, m);
    }
}

/* Those of a set follow each other by name. */
static void join_sets(members *list)
{
    for (uint32_t i = list->all.count; i-- > 0;) {
        hb_rocprof_member *root = &list->all.items[list->all.items[i].root];
        list->all.items[i].next = root->first;
        root->first = i + 1;
    }
}

/* Each directory is listed once. */
static const members *members_in(hb_import *import, const char *directory)
{
    bool added;
    hb_arena *arena = &import->arena;
    hb_str path = {directory, (uint32_t)strlen(directory)};
    hb_string_id text = hb_texts_add(&import->texts, path.s, path.len);
    if (!text) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    hb_dict_entry *entry = hb_dict_add(arena, &import->directories, text, &added);
    if (!added) return import->tables.items[entry->value];
    entry->value = import->tables.count;
    members *list = hb_arena_alloc(arena, sizeof *list);
    *HB_PUSH(arena, &import->tables) = list;
    list_members(arena, directory, list);
    find_roots(arena, list);
    join_sets(list);
    return list;
}

static int compare_name(const void *key, const void *item)
{
    return strcmp(key, ((const hb_rocprof_member *)item)->name);
}

hb_rocprof_files hb_rocprof_files_of(hb_import *import, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *directory = hb_arena_alloc(&import->arena, (size_t)(name - path) + 1);
    memcpy(directory, path, (size_t)(name - path));
    const members *list = is_table(name) ? members_in(import, directory) : NULL;
    const hb_rocprof_member *own = NULL;
    if (list && list->all.count)
        own = bsearch(name, list->all.items, list->all.count, sizeof *own, compare_name);
    if (own) return (hb_rocprof_files){directory, list->all.items, &list->all.items[own->root]};
    hb_rocprof_member *alone = hb_arena_alloc(&import->arena, sizeof *alone);
    *alone = member_of(name);
    alone->first = 1;
    return (hb_rocprof_files){directory, alone, alone};
}
