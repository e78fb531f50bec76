/* SPDX-License-Identifier: MIT
 *
 * What the tables of a set are, by their columns, and whose, by their names.
 */
#include "import/rocprof_csv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "import/rocprof_sets.h"
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

static void begin_header(hb_rocprof_header *header)
{
    memset(header, 0, sizeof *header);
    for (int c = 0; c < HB_ROCPROF_COLUMN_COUNT; c++)
        header->at[c] = -1;
}

/* The next columns. */
static void take_columns(hb_rocprof_header *header, const hb_str *fields, uint32_t count)
{
    static const char *const names[] = {
#define NAMES(key, names) names,
        HB_ROCPROF_COLUMNS(NAMES)
#undef NAMES
    };
    for (uint32_t i = 0; i < count; i++) {
        int c = 0;
        uint32_t at = header->count++;
        while (c < HB_ROCPROF_COLUMN_COUNT && !is_named(fields[i], names[c]))
            c++;
        if (c < HB_ROCPROF_COLUMN_COUNT)
            header->at[c] = (int)at;
        else if (at < HB_CSV_MAX_FIELDS)
            header->counters[header->num_counters++] = (uint16_t)at;
    }
}

/* Also of a table of more columns than are read: it is refused when it is. */
static hb_rocprof_kind probed_kind(const hb_import_probe *probe)
{
    hb_str fields[HB_CSV_MAX_FIELDS];
    hb_rocprof_header header;
    uint32_t n;
    const char *line = memchr(probe->head, '\n', probe->size);
    if (!line) return HB_ROCPROF_NONE;
    begin_header(&header);
    do {
        n = hb_csv_first_row(probe->head, probe->size, header.count, fields, HB_ARRAY_LEN(fields));
        take_columns(&header, fields, n);
    } while (n == HB_ARRAY_LEN(fields));
    return header.count > 2 ? kind_of(&header) : HB_ROCPROF_NONE;
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

/* ---- what names tell ---- */

/* "4711_": a process; -1: something else. */
static int64_t pid_of(const hb_rocprof_member *root)
{
    char *end;
    if (!root->stem || root->name[0] < '0' || root->name[0] > '9') return -1;
    long long pid = strtoll(root->name, &end, 10);
    return *end == '_' && end - root->name < 12 ? pid : -1;
}

/* Behind "rank" in a name; -1: nothing. */
static int64_t rank_in(const char *text, size_t n)
{
    for (size_t i = 0; i + 4 < n; i++) {
        if (strncasecmp(text + i, "rank", 4) != 0 || (i && isalnum((unsigned char)text[i - 1])))
            continue;
        const char *digits = text + i + 4;
        if (hb_rocprof_separates(*digits)) digits++;
        size_t left = (size_t)(text + n - digits), k = 0;
        int64_t rank = 0;
        for (; k < left && k < 9 && hb_rocprof_is_digit(digits[k]); k++)
            rank = rank * 10 + digits[k] - '0';
        if (k) return rank;
    }
    return -1;
}

/* The last part of a directory's path, less the slashes at its end. */
static hb_str last_part(const char *path, size_t n)
{
    while (n && path[n - 1] == '/')
        n--;
    size_t at = n;
    while (at && path[at - 1] != '/')
        at--;
    return (hb_str){path + at, (uint32_t)(n - at)};
}

/* As the manual has it for MPI: "node7.4711.0/node7/4711_...", of -d %h.%p.%rank%. */
static void read_directory(hb_rocprof_set *set, const char *directory)
{
    hb_str host = last_part(directory, strlen(directory));
    hb_str outer = last_part(directory, (size_t)(host.s - directory));
    set->rank = rank_in(host.s, host.len);
    if (set->rank < 0) set->rank = rank_in(outer.s, outer.len);
    if (outer.len <= host.len || memcmp(outer.s, host.s, host.len) != 0) return;
    const char *rest = outer.s + host.len, *end = outer.s + outer.len;
    if (!host.len || *rest++ != '.') return;
    set->host = hb_import_copy_text(set->import, host);
    char *behind, number[40];
    snprintf(number, sizeof number, "%.*s", (int)HB_MIN(end - rest, 39), rest);
    long long pid = strtoll(number, &behind, 10);
    if (pid != set->pid || *behind++ != '.' || !hb_rocprof_is_digit(*behind)) return;
    long long rank = strtoll(behind, &behind, 10);
    if (!*behind && rank >= 0) set->rank = rank;
}

/* Sets of one directory were written on one machine, or are taken as if: their times since boot are
 * comparable. */
static uint64_t machine_of(const hb_rocprof_set *set, const char *directory)
{
    struct stat st;
    uint64_t hash = 14695981039346656037u;
    for (const char *c = set->host; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    if (*set->host || stat(*directory ? directory : ".", &st) != 0) return hash | 1;
    return ((uint64_t)st.st_dev * 1099511628211u ^ (uint64_t)st.st_ino) * 1099511628211u | 1;
}

static void name_set(hb_rocprof_set *set, const char *directory, const hb_rocprof_member *root)
{
    hb_str stem = {root->name, (uint32_t)root->stem};
    while (stem.len && hb_rocprof_separates(stem.s[stem.len - 1]))
        stem.len--;
    read_directory(set, directory);
    int64_t rank = rank_in(stem.s, stem.len);
    if (rank < 0) rank = rank_in(root->suffix.s, root->suffix.len);
    if (rank >= 0) set->rank = rank;
    set->machine = machine_of(set, directory);
    size_t n = stem.len + root->suffix.len;
    char *name = hb_arena_alloc(set->arena, n + 1);
    memcpy(name, stem.s, stem.len);
    memcpy(name + stem.len, root->suffix.s, root->suffix.len);
    while (hb_rocprof_separates(*name))
        name++;
    set->name = name;
}

/* ---- the files ---- */

typedef struct file {
    const char *path;
    hb_rocprof_kind kind;
    bool of_root; /* its name has nothing more before its kind than the others' have */
} file;

typedef HB_VEC(file) files;

static void find_files(hb_rocprof_set *set, const char *path, files *list)
{
    hb_import *import = set->import;
    hb_rocprof_files in = hb_rocprof_files_of(import, path);
    if (!import->head)
        import->head = hb_arena_alloc(&import->arena, HB_IMPORT_HEAD_SIZE + HB_SCAN_PADDING);
    set->pid = pid_of(in.root);
    name_set(set, in.directory, in.root);
    for (uint32_t i = in.root->first; i; i = in.members[i - 1].next) {
        const hb_rocprof_member *m = &in.members[i - 1];
        size_t n = strlen(in.directory) + strlen(m->name) + 1;
        char *full = hb_arena_alloc(&import->arena, n);
        snprintf(full, n, "%s%s", in.directory, m->name);
        size_t size = hb_file_head(full, import->head, HB_IMPORT_HEAD_SIZE);
        memset(import->head + size, 0, HB_IMPORT_HEAD_SIZE + HB_SCAN_PADDING - size);
        hb_import_probe probe = {full, import->head, size};
        *HB_PUSH(&import->arena, list) =
            (file){full, probed_kind(&probe), m->stem == in.root->stem};
    }
}

static void close_set(void *context)
{
    hb_rocprof_set *set = context;
    hb_csv_close(&set->csv);
    hb_rocprof_set_free(set);
}

static void read_header(hb_rocprof_set *set)
{
    hb_rocprof_header *header = &set->header;
    if (set->csv.all > HB_CSV_MAX_FIELDS)
        hb_arena_leave(set->arena, HB_ERROR_LIMIT, "%s: has %u columns: %d are read", set->csv.path,
                       set->csv.all, HB_CSV_MAX_FIELDS);
    begin_header(header);
    take_columns(header, set->csv.fields, set->csv.count);
    header->kind = kind_of(header);
}

static void read_file(hb_rocprof_set *set, const file *f)
{
    if (!hb_import_take(set->import, f->path)) return;
    set->import->path = f->path;
    hb_csv_open(&set->csv, set->arena, f->path);
    set->of_root = f->of_root;
    if (hb_csv_next(&set->csv)) {
        read_header(set);
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
    set->host = set->name = "";
    find_files(set, path, &list);
    for (int kind = HB_ROCPROF_AGENTS; kind < HB_ROCPROF_STATISTICS; kind++)
        for (uint32_t i = 0; i < list.count; i++)
            if ((int)list.items[i].kind == kind) read_file(set, &list.items[i]);
    hb_rocprof_finish(set);
    hb_import_unguard(import);
}
