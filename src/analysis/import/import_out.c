/* SPDX-License-Identifier: MIT
 *
 * Processes that were read, as sources, as files, and as traces in memory without a file. The last
 * two are the writer's work, so that they agree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "import/added_scopes.h"
#include "import/describe.h"
#include "import/import_read.h"
#include "write/write.h"

static hb_result copy_steps(const hb_found_steps *from, hb_found_steps *to)
{
    *to = *from;
    to->items = calloc(from->count + 1, sizeof *to->items);
    to->loops = from->loops ? strdup(from->loops) : NULL;
    if (!to->items || (from->loops && !to->loops)) {
        hb_found_steps_free(to);
        return hb_no_memory();
    }
    if (from->count) memcpy(to->items, from->items, from->count * sizeof *to->items);
    return HB_OK;
}

/* They are looked for once. */
static hb_result find_steps(hb_import *import, hb_import_process *p, hb_source *source,
                            hb_found_steps *found)
{
    *found = (hb_found_steps){0};
    if (!*p->steps) {
        HB_TRY(hb_find_steps(source, &import->steps, &p->found));
        memcpy(p->steps, p->found.rule, sizeof p->steps);
        HB_TRY(hb_describe_steps(p));
    }
    return copy_steps(&p->found, found);
}

hb_result hb_import_source(hb_import *import, size_t index, hb_source **source)
{
    hb_import_process *p = import->processes[index];
    hb_found_steps found;
    HB_TRY(hb_import_rows_source(p, source));
    hb_result result = find_steps(import, p, *source, &found);
    if (result == HB_OK) result = hb_put_steps(source, &found);
    hb_found_steps_free(&found);
    if (result == HB_OK)
        result = hb_add_scopes(source, import->options.modules, import->options.kernel_operators);
    if (result == HB_OK) return HB_OK;
    (*source)->close(*source);
    *source = NULL;
    return result;
}

size_t hb_import_count(const hb_import *import)
{
    return import ? import->num_processes : 0;
}

/* The steps are looked for when they are asked for. */
const hb_imported *hb_import_get(const hb_import *import, size_t index)
{
    hb_source *source;
    if (index >= hb_import_count(import)) return NULL;
    hb_import_process *p = import->processes[index];
    if (!*p->steps && hb_import_source((hb_import *)(uintptr_t)import, index, &source) == HB_OK)
        source->close(source);
    return &p->shown;
}

static hb_result write_source(hb_import *import, hb_source *source, const char *path)
{
    hb_write_stats stats;
    hb_write_options options = {.gzip = import->options.gzip, .replace = import->options.replace};
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_write_trace_file(source, path, &options, &stats);
    hb_leave_c_locale(before);
    if (result == HB_OK) hb_write_warn(path, &stats);
    return result;
}

hb_result hb_import_write(hb_import *import, size_t index, const char *directory, char **path)
{
    hb_source *source;
    char *file;
    if (path) *path = NULL;
    if (!directory || index >= hb_import_count(import))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no directory, or no process %zu", index);
    const hb_import_process *p = import->processes[index];
    HB_TRY(hb_import_source(import, index, &source));
    if (asprintf(&file, "%s/%s.%lld.pt.trace.json%s", directory, p->worker, (long long)p->file_time,
                 import->options.gzip ? ".gz" : "") < 0)
        file = NULL;
    hb_result result = file ? write_source(import, source, file) : hb_no_memory();
    source->close(source);
    if (result == HB_OK && path)
        *path = file;
    else
        free(file);
    return result;
}

hb_result hb_import_to_memory_file(hb_import *import, size_t index, int *fd,
                                   char path[HB_IMPORT_FILE_PATH])
{
    hb_source *source;
    hb_write_options options = {.replace = true, .trace_name = ""};
    HB_TRY(hb_import_source(import, index, &source));
    *fd = memfd_create("hipboard-import", MFD_CLOEXEC);
    hb_result result = *fd < 0 ? hb_fail_errno(HB_ERROR_IO, errno, "no file in memory") : HB_OK;
    snprintf(path, HB_IMPORT_FILE_PATH, "/proc/self/fd/%d", *fd);
    if (result == HB_OK) result = hb_write_trace_file(source, path, &options, NULL);
    source->close(source);
    if (result != HB_OK && *fd >= 0) close(*fd);
    return result;
}

hb_result hb_import_to_trace(hb_import *import, size_t index, hb_trace *trace)
{
    hb_source *source;
    HB_TRY(hb_import_source(import, index, &source));
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_write_to_trace(source, HB_WRITE_TENSORBOARD, trace);
    hb_leave_c_locale(before);
    source->close(source);
    return result;
}
