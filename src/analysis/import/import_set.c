/* SPDX-License-Identifier: MIT
 *
 * Files into processes, in order and with their times of day.
 */
#include "import/import_set.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/files.h"
#include "base/hash_map.h"
#include "import/describe.h"
#include "import/merge_passes.h"

/* ---- for openers ---- */

const char *hb_import_copy_text(hb_import *import, hb_str text)
{
    if (!text.len) return "";
    char *copy = hb_arena_alloc(&import->arena, (size_t)text.len + 1);
    return memcpy(copy, text.s, text.len);
}

hb_str hb_import_text_of(hb_import *import, const hb_value *value)
{
    hb_buf text;
    if (value->type != HB_JSON_STRING) return (hb_str){"", 0};
    if (!value->escaped) return (hb_str){value->s, (uint32_t)value->size};
    char *copy = hb_arena_alloc(&import->arena, value->size + 1); /* escapes are longer */
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_decode(value, &text);
    hb_str made = {copy, (uint32_t)text.size};
    bool failed = text.failed;
    if (text.size) memcpy(copy, text.data, text.size);
    hb_buf_free(&text);
    if (failed) hb_arena_leave(&import->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return made;
}

const char *hb_import_copy_value(hb_import *import, const hb_value *value)
{
    return hb_import_copy_text(import, hb_import_text_of(import, value));
}

hb_import_process *hb_import_add_process(hb_import *import, const char *format, const char *version)
{
    hb_import_process *p = calloc(1, sizeof *p);
    hb_import_process **list =
        p ? realloc(import->processes, (import->num_processes + 1) * sizeof *list) : NULL;
    if (list) import->processes = list;
    if (!list) free(p);
    if (!list) hb_arena_leave(&import->arena, HB_ERROR_NO_MEMORY, "out of memory");
    list[import->num_processes++] = p;
    *p = (hb_import_process){.format = format,
                             .version = version,
                             .path = import->path,
                             .host = "",
                             .program = "",
                             .id = "",
                             .name = "",
                             .rank = -1,
                             .world = -1};
    if (!hb_import_rows_init(&p->rows, &import->texts))
        hb_arena_leave(&import->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return p;
}

bool hb_import_progress(void *import, uint64_t rows)
{
    const hb_import *in = import;
    return !in->options.progress || in->options.progress(in->options.context, in->path, rows, 0);
}

void hb_import_guard(hb_import *import, void (*fn)(void *context), void *context)
{
    import->guard = fn;
    import->guarded = context;
}

void hb_import_unguard(hb_import *import)
{
    if (import->guard) import->guard(import->guarded);
    import->guard = NULL;
}

/* ---- options ---- */

static void take_drop(hb_import *import)
{
    static const struct {
        const char *name;
        unsigned part;
    } parts[] = {
        {"hip", HB_IMPORT_HIP},           {"hsa", HB_IMPORT_HSA},
        {"rccl", HB_IMPORT_RCCL},         {"ranges", HB_IMPORT_RANGES},
        {"memory", HB_IMPORT_MEMORY},     {"copies", HB_IMPORT_COPIES},
        {"counters", HB_IMPORT_COUNTERS},
    };
    for (const char *p = import->options.drop; p && *p;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < HB_ARRAY_LEN(parts) &&
               (strlen(parts[i].name) != n || memcmp(parts[i].name, p, n) != 0))
            i++;
        if (i == HB_ARRAY_LEN(parts))
            hb_arena_leave(&import->arena, HB_ERROR_INVALID_ARGUMENT,
                           "'%.*s' cannot be dropped: hip, hsa, rccl, ranges, copies, memory or "
                           "counters can",
                           (int)HB_MIN(n, 100), p);
        import->dropped |= parts[i].part;
        p += n + (p[n] == ',');
    }
}

/* ---- files ---- */

static bool is_taken(const hb_import *import, const struct stat *st)
{
    for (uint32_t i = 0; i < import->taken.count; i++)
        if (import->taken.items[i].device == (uint64_t)st->st_dev &&
            import->taken.items[i].inode == (uint64_t)st->st_ino)
            return true;
    return false;
}

bool hb_import_take(hb_import *import, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return true; /* who opens it will say so */
    if (is_taken(import, &st)) return false;
    *HB_PUSH(&import->arena, &import->taken) =
        (hb_import_file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    return true;
}

static void open_file(hb_import *import, const char *path, const hb_import_format *format)
{
    import->path = hb_import_copy_text(import, (hb_str){path, (uint32_t)strlen(path)});
    if (!format->open)
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT, "%s: %s", path, format->refusal);
    struct stat st;
    if (stat(path, &st) == 0 && is_taken(import, &st)) return;
    format->open(import, import->path);
    (void)hb_import_take(import, path);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* In a directory other files may lie, too. */
static void list_directory(const char *path, hb_buf *paths)
{
    char *copy = strdup(path);
    char *roots[] = {copy, NULL};
    FTS *fts = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name) : NULL;
    for (FTSENT *entry; fts && (entry = fts_read(fts));)
        if (entry->fts_info == FTS_F)
            hb_buf_append(paths, entry->fts_path, strlen(entry->fts_path) + 1);
    if (fts) fts_close(fts);
    free(copy);
}

static void open_listed(hb_import *import, const char *directory, const hb_buf *paths)
{
    size_t before = import->num_processes;
    for (size_t at = 0; at < paths->size; at += strlen(paths->data + at) + 1) {
        const hb_import_format *format = hb_import_format_of(paths->data + at);
        if (format && format->open) open_file(import, paths->data + at, format);
    }
    if (import->num_processes == before)
        hb_arena_leave(&import->arena, HB_ERROR_NOT_FOUND,
                       "%s: no file in it or below is of a format that is read", directory);
}

/* They are known by how tools name them. */
const char *hb_import_cure_for(const char *path)
{
    static const struct {
        const char *ending, *text;
    } cures[] = {
        {".nsys-rep",
         "Nsight Systems' own format: nsys export --type sqlite makes a database of it, which is "
         "read"},
        {".qdrep",
         "Nsight Systems' own format: nsys export --type sqlite makes a database of it, which is "
         "read"},
        {".otf2",
         "OTF2, which tells neither GPUs nor arguments: rocprofv3 --output-format rocpd, or "
         "pftrace, writes a trace that is read"},
        {".att", "a thread trace, of single instructions: ROCprof Compute Viewer shows it"},
        {".tracy", "Tracy's own format: tracy-csvexport -u makes a table of it, which is read"},
        {".hbspool", "what a recorded program has left: hipboard recover makes a trace of it"},
    };
    hb_str text = {path, (uint32_t)strlen(path)};
    for (size_t i = 0; i < HB_ARRAY_LEN(cures); i++)
        if (hb_str_ends(text, cures[i].ending)) return cures[i].text;
    return NULL;
}

static void open_path(hb_import *import, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        hb_result result = hb_fail_errno(HB_ERROR_NOT_FOUND, errno, "%s", path);
        hb_arena_leave(&import->arena, result, "%s", hb_last_error());
    }
    if (S_ISDIR(st.st_mode)) {
        list_directory(path, &import->paths);
        open_listed(import, path, &import->paths);
        hb_buf_free(&import->paths);
        return;
    }
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT,
                       "%s: is empty: its tool was killed before it wrote, or has nothing recorded",
                       path);
    static const hb_import_format chrome = {"Chrome JSON", NULL, hb_chrome_json_open, NULL};
    const hb_import_format *format = hb_import_format_of(path);
    if (!format && import->takes_any) format = &chrome;
    if (!format && hb_import_cure_for(path))
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT, "%s: %s", path, hb_import_cure_for(path));
    if (!format)
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT,
                       "%s: of no format that is read; traces of PyTorch's kind (.json) need no "
                       "import, `hipboard convert` mends them",
                       path);
    open_file(import, path, format);
}

/* ---- times of day ---- */

static bool is_time(int64_t time)
{
    return time > 0 && time <= HB_IMPORT_LATEST;
}

/* A clock that leads to no time tells none. */
static void drop_odd_clock(hb_import_process *p)
{
    if (!p->clock_is_unix || (p->offset >= -HB_IMPORT_LATEST && p->offset <= HB_IMPORT_LATEST))
        return;
    p->clock_is_unix = false;
    p->offset = 0;
}

static int64_t end_of(const hb_import_process *p)
{
    return is_time(p->clock_end) ? HB_MAX(p->clock_end, p->rows.last) : p->rows.last;
}

static int64_t written_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    return HB_MIN(HB_MAX(hb_modified_ns(&st), 0), HB_IMPORT_LATEST);
}

static int64_t offset_by_file(const hb_import *import, const hb_import_process *p)
{
    int64_t end = import->options.end_time_ns;
    return (end ? end : written_at(p->path)) - end_of(p);
}

/* A process and where its file alone puts its clock. */
typedef struct placed {
    hb_import_process *process;
    int64_t offset;
} placed;

/* Of one clock are processes of one machine; where that is not told, of one file. */
static int compare_clocks(const hb_import_process *a, const hb_import_process *b)
{
    if (a->machine != b->machine) return a->machine < b->machine ? -1 : 1;
    if (a->machine || a->path == b->path) return 0;
    return (uintptr_t)a->path < (uintptr_t)b->path ? -1 : 1;
}

static bool placed_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const placed *a = x, *b = y;
    int order = compare_clocks(a->process, b->process);
    return order ? order < 0 : a->offset < b->offset;
}

/* Those of one clock, the soonest first. */
static void set_clocks_of(placed *list, uint32_t count)
{
    const int64_t minutes = INT64_C(600000000000);
    uint32_t near = 0;
    for (uint32_t i = 0; i < count; i++) {
        hb_import_process *p = list[i].process;
        bool may_differ = p->machine && p->machine_is_guessed;
        while (list[i].offset - list[near].offset >= minutes)
            near++;
        p->offset = list[may_differ ? near : 0].offset;
    }
}

/* Files are written when a program has ended, one sooner than the other: of those of one machine
 * the soonest counts for all, so that they stay as they were beside each other. */
static void set_clocks(hb_import *import)
{
    placed *list = HB_NEW_ARRAY(&import->arena, placed, import->num_processes);
    uint32_t count = 0;
    for (size_t i = 0; i < import->num_processes; i++) {
        hb_import_process *p = import->processes[i];
        drop_odd_clock(p);
        if (!p->clock_is_unix) list[count++] = (placed){p, offset_by_file(import, p)};
    }
    hb_sort(&import->arena, list, count, sizeof *list, placed_before, NULL);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (compare_clocks(list[i].process, list[end].process) != 0) break;
        set_clocks_of(&list[i], end - i);
    }
}

/* ---- the whole ---- */

static bool is_empty(const hb_import_process *p)
{
    const hb_import_rows *r = &p->rows;
    return !r->calls.count && !r->scopes.count && !r->works.count && !r->memory.count &&
           !r->samples.count;
}

static void free_process(hb_import_process *p)
{
    hb_import_rows_free(&p->rows);
    hb_describe_free(p);
    hb_found_steps_free(&p->found);
    free(p);
}

/* Such are processes that only started others. */
static void drop_empty(hb_import *import, const char *path)
{
    size_t n = 0;
    uint64_t bad_times = 0;
    for (size_t i = 0; i < import->num_processes; i++) {
        bad_times += import->processes[i]->rows.notes[HB_IMPORT_BAD_TIMES];
        if (import->processes[i]->merged || is_empty(import->processes[i]))
            free_process(import->processes[i]);
        else
            import->processes[n++] = import->processes[i];
    }
    import->num_processes = n;
    if (!n && bad_times)
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT,
                       "%s: none of its %llu events has a time between 1970 and 2043", path,
                       (unsigned long long)bad_times);
    if (!n)
        hb_arena_leave(&import->arena, HB_ERROR_FORMAT,
                       "%s: nothing is in it: no call, kernel, range, allocation or sample", path);
}

static void open_all(hb_import *import, const char *const *paths, size_t num_paths)
{
    if (!hb_texts_init(&import->texts))
        hb_arena_leave(&import->arena, HB_ERROR_NO_MEMORY, "out of memory");
    take_drop(import);
    for (size_t i = 0; i < num_paths; i++)
        open_path(import, paths[i]);
    hb_merge_passes(import);
    drop_empty(import, paths[0]);
    for (size_t i = 0; i < import->num_processes; i++)
        hb_import_finish(&import->arena, &import->processes[i]->rows, import->options.rows);
    set_clocks(import);
    for (size_t i = 0; i < import->num_processes; i++)
        hb_describe(import, i);
}

static hb_result try_to_open(hb_import *import, const char *const *paths, size_t num_paths)
{
    if (hb_arena_try(&import->arena)) open_all(import, paths, num_paths);
    hb_import_unguard(import);
    hb_buf_free(&import->paths);
    return hb_arena_outcome(&import->arena);
}

static hb_result open_import(const char *const *paths, size_t num_paths, bool takes_any,
                             const hb_import_options *options, hb_import **import)
{
    hb_import_options o = HB_IMPORT_OPTIONS_INIT;
    if (!paths || !num_paths || !import)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path or no place for the result");
    *import = NULL;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_IMPORT_OPTIONS_INIT"));
    if (o.end_time_ns && !is_time(o.end_time_ns))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "end_time_ns %lld: it must be between 1970 and 2043, or 0",
                       (long long)o.end_time_ns);
    hb_import *made = calloc(1, sizeof *made);
    if (!made) return hb_no_memory();
    made->options = o;
    made->takes_any = takes_any;
    made->steps = (hb_step_wish){o.step, o.step_launch, o.step_gap_ns};
    hb_buf_init(&made->paths, SIZE_MAX / 2);
    locale_t before = hb_enter_c_locale();
    hb_result result = try_to_open(made, paths, num_paths);
    hb_leave_c_locale(before);
    if (result != HB_OK)
        hb_import_close(made);
    else
        *import = made;
    return result;
}

hb_result hb_import_open(const char *const *paths, size_t num_paths,
                         const hb_import_options *options, hb_import **import)
{
    return open_import(paths, num_paths, false, options, import);
}

hb_result hb_import_open_any(const char *path, const hb_import_options *options, hb_import **import)
{
    return open_import(&path, 1, true, options, import);
}

void hb_import_close(hb_import *import)
{
    if (!import) return;
    for (size_t i = 0; i < import->num_processes; i++)
        free_process(import->processes[i]);
    free(import->processes);
    hb_texts_free(&import->texts);
    hb_arena_free(&import->arena);
    free(import);
}
