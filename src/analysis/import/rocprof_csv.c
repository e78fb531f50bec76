/* SPDX-License-Identifier: MIT
 *
 * Which files are a set: those of a directory whose names begin alike before what they hold, as
 * "4711_" of "4711_kernel_trace.csv". Whether they belong to it at all their columns tell.
 */
#include "import/rocprof_csv.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/whole_file.h"

/* ---- headers ---- */

static bool is_named(hb_str field, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, "|"), k = 0;
        while (k < n && k < field.len) {
            char c = field.s[k];
            if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
            if ((c == '-' ? '_' : c) != names[k]) break;
            k++;
        }
        if (k == n && field.len == n) return true;
        names += n + (names[n] == '|');
    }
    return false;
}

static bool has(const hb_rocprof_header *h, hb_rocprof_column column)
{
    return h->at[column] >= 0;
}

static hb_rocprof_kind kind_of(const hb_rocprof_header *h)
{
    bool timed = has(h, HB_ROCPROF_START) && has(h, HB_ROCPROF_END);
    if (has(h, HB_ROCPROF_COUNTER) && has(h, HB_ROCPROF_VALUE)) return HB_ROCPROF_COUNTERS;
    if (has(h, HB_ROCPROF_NAME) && timed) return HB_ROCPROF_KERNELS;
    if (has(h, HB_ROCPROF_FUNCTION) && timed) return HB_ROCPROF_CALLS;
    if (has(h, HB_ROCPROF_DIRECTION) && timed) return HB_ROCPROF_COPIES;
    if (has(h, HB_ROCPROF_SIZE) && has(h, HB_ROCPROF_ADDRESS) && timed) return HB_ROCPROF_MEMORY;
    if (has(h, HB_ROCPROF_AGENT_TYPE) && has(h, HB_ROCPROF_NODE)) return HB_ROCPROF_AGENTS;
    if (has(h, HB_ROCPROF_OPERATION) && has(h, HB_ROCPROF_FLAGS)) return HB_ROCPROF_OTHERS;
    if (has(h, HB_ROCPROF_EXEC_MASK)) return HB_ROCPROF_OTHERS;
    if (has(h, HB_ROCPROF_TOTAL)) return HB_ROCPROF_STATISTICS;
    return HB_ROCPROF_NONE;
}

static void read_header(hb_rocprof_header *header, const hb_str *fields, uint32_t count)
{
    static const char *const names[] = {
#define NAMES(key, names) names,
        HB_ROCPROF_COLUMNS(NAMES)
#undef NAMES
    };
    memset(header, 0, sizeof *header);
    for (int c = 0; c < HB_ROCPROF_COLUMN_COUNT; c++)
        header->at[c] = -1;
    for (uint32_t i = 0; i < count; i++) {
        int c = 0;
        while (c < HB_ROCPROF_COLUMN_COUNT && !is_named(fields[i], names[c]))
            c++;
        if (c < HB_ROCPROF_COLUMN_COUNT)
            header->at[c] = (int)i;
        else if (i < 64)
            header->counters |= UINT64_C(1) << i;
    }
    header->kind = kind_of(header);
}

static hb_rocprof_kind probed_kind(const hb_import_probe *probe)
{
    hb_str fields[64];
    hb_rocprof_header header;
    const char *line = memchr(probe->head, '\n', probe->size);
    if (!line) return HB_ROCPROF_NONE;
    uint32_t n = hb_csv_first_row(probe->head, probe->size, fields, HB_ARRAY_LEN(fields));
    read_header(&header, fields, n);
    return n > 2 ? header.kind : HB_ROCPROF_NONE;
}

bool hb_rocprof_csv_probe(const hb_import_probe *probe)
{
    hb_rocprof_kind kind = probed_kind(probe);
    return kind != HB_ROCPROF_NONE && kind < HB_ROCPROF_STATISTICS;
}

bool hb_rocprof_stats_probe(const hb_import_probe *probe)
{
    return probed_kind(probe) == HB_ROCPROF_STATISTICS;
}

/* ---- sets ---- */

/* "4711_" of "4711_hip_api_trace.csv": less the words that tell what is in it. */
static size_t stem_of(const char *name)
{
    static const char *const words[] = {
        ".gz",         ".csv",     "_trace",    "_collection",   "_info",      "_api",
        "_ext",        "_core",    "_amd",      "_runtime",      "_compiler",  "_counter",
        "_agent",      "_kernel",  "_copy",     "_hip",          "_hsa",       "_marker",
        "_allocation", "_memory",  "_scratch",  "_rccl",         "_roctx",     "_ompt",
        "_rocdecode",  "_rocjpeg", "_sampling", "_finalize_ext", "_image_ext", "_host",
        "_pc",
    };
    size_t n = strlen(name);
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
    return name[n] == '_' ? n + 1 : n;
}

typedef struct member {
    const char *name;
    size_t stem;
} member;

typedef HB_VEC(member) members;

static bool by_name(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const member *)a)->name, ((const member *)b)->name) < 0;
}

static bool is_table(const char *name)
{
    hb_str text = {name, (uint32_t)strlen(name)};
    return hb_str_ends(text, ".csv") || hb_str_ends(text, ".csv.gz");
}

/* The names of a directory's tables, one after the other; those beyond `size` are left out. */
static size_t list_tables(const char *directory, char *names, size_t size)
{
    size_t used = 0;
    DIR *dir = opendir(*directory ? directory : ".");
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name) + 1;
        if (!is_table(entry->d_name) || used + n > size) continue;
        memcpy(names + used, entry->d_name, n);
        used += n;
    }
    closedir(dir);
    return used;
}

/* Those of its directory; of a file with another kind of name it alone. */
static void find_members(hb_import *import, const char *directory, const char *name, members *list)
{
    static const size_t most = 1 << 20;
    char *names = hb_arena_alloc(&import->arena, most);
    size_t used = is_table(name) ? list_tables(directory, names, most) : 0;
    if (!used) {
        *HB_PUSH(&import->arena, list) = (member){name, stem_of(name)};
        return;
    }
    for (size_t at = 0; at < used; at += strlen(names + at) + 1)
        *HB_PUSH(&import->arena, list) = (member){names + at, stem_of(names + at)};
    hb_sort(&import->arena, list->items, list->count, sizeof(member), by_name, NULL);
}

/* The shortest beginning that a name of the directory has, and this one, too. */
static const member *root_of(const members *list, const char *name, size_t stem)
{
    const member *root = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        const member *m = &list->items[i];
        if (strncmp(name, m->name, m->stem) != 0 || m->stem > stem) continue;
        if (!root || m->stem < root->stem) root = m;
    }
    return root;
}

/* "4711_": a process; -1: something else. */
static int64_t pid_of(const member *root)
{
    char *end;
    if (!root->stem || root->name[0] < '0' || root->name[0] > '9') return -1;
    long long pid = strtoll(root->name, &end, 10);
    return *end == '_' && end - root->name < 12 ? pid : -1;
}

/* ---- the files ---- */

typedef struct file {
    const char *path;
    hb_rocprof_kind kind;
    bool of_root; /* its name has nothing more before its kind than the others' have */
} file;

typedef HB_VEC(file) files;

static void find_files(hb_import *import, const char *path, files *list, int64_t *pid)
{
    enum { HEAD = 16384 };
    members all = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *directory = hb_arena_alloc(&import->arena, (size_t)(name - path) + 1);
    char *head = hb_arena_alloc(&import->arena, HEAD + 1);
    memcpy(directory, path, (size_t)(name - path));
    find_members(import, directory, name, &all);
    const member *root = root_of(&all, name, stem_of(name));
    if (!root) return; /* it was removed */
    *pid = pid_of(root);
    for (uint32_t i = 0; i < all.count; i++) {
        const member *m = &all.items[i];
        if (root_of(&all, m->name, m->stem) != root) continue;
        size_t n = strlen(directory) + strlen(m->name) + 1;
        char *full = hb_arena_alloc(&import->arena, n);
        snprintf(full, n, "%s%s", directory, m->name);
        memset(head, 0, HEAD);
        hb_import_probe probe = {full, head, hb_file_head(full, head, HEAD)};
        *HB_PUSH(&import->arena, list) = (file){full, probed_kind(&probe), m->stem == root->stem};
    }
}

static void close_set(void *context)
{
    hb_rocprof_set *set = context;
    hb_csv_close(&set->csv);
    hb_rocprof_set_free(set);
}

static void read_file(hb_rocprof_set *set, const file *f)
{
    if (!hb_import_take(set->import, f->path)) return;
    set->import->path = f->path;
    hb_csv_open(&set->csv, set->arena, f->path);
    set->of_root = f->of_root;
    if (hb_csv_next(&set->csv)) {
        read_header(&set->header, set->csv.fields, set->csv.count);
        hb_rocprof_read_rows(set);
    }
    hb_csv_close(&set->csv);
}

void hb_rocprof_csv_open(hb_import *import, const char *path)
{
    files list = {0};
    hb_rocprof_set *set = hb_arena_alloc(&import->arena, sizeof *set);
    set->import = import;
    set->arena = &import->arena;
    hb_import_guard(import, close_set, set);
    set->machine = UINT64_MAX - import->num_processes; /* no hash of one that is told */
    find_files(import, path, &list, &set->pid);
    for (int kind = HB_ROCPROF_AGENTS; kind < HB_ROCPROF_STATISTICS; kind++)
        for (uint32_t i = 0; i < list.count; i++)
            if ((int)list.items[i].kind == kind) read_file(set, &list.items[i]);
    hb_rocprof_finish(set);
    hb_import_unguard(import);
}
