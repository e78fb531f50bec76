/* SPDX-License-Identifier: MIT
 *
 * A job's ranks by their digests: who makes the others wait, and each rank in each step.
 */
#include <dirent.h>
#include <hipboard/ranks.h>
#include <math.h>
#include <stdlib.h>

#include "base/files.h"
#include "page/page_views.h"

static const hb_page_column late_columns[] = {
    {"Rank", HB_CELL_COUNT},          {"Host", HB_CELL_TEXT},
    {"Came last", HB_CELL_COUNT},     {"Collectives", HB_CELL_COUNT},
    {"Others waited", HB_CELL_TIME},  {"Share of waiting", HB_CELL_PERCENT},
    {"A step without", HB_CELL_TIME}, {"Because", HB_CELL_TEXT},
    {"Operator", HB_CELL_TEXT}};
static const hb_page_table late_table = HB_PAGE_TABLE("Late ranks", late_columns);

static const char *because(hb_late_because why)
{
    switch (why) {
    case HB_LATE_COMPUTE: return "its operators take longer";
    case HB_LATE_LOADING: return "its data come later";
    case HB_LATE_DEVICE: return "its device takes longer";
    case HB_LATE_HOST: return "its host does what no operator tells of";
    case HB_LATE_MESSAGE: return "it waits for messages itself";
    case HB_LATE_INCONCLUSIVE: break;
    }
    return "not known";
}

static hb_result put_late(hb_rank_study *study, hb_emitter *out)
{
    const hb_late_rank *list;
    size_t count;
    HB_TRY(hb_rank_study_late(study, &list, &count));
    hb_table_begin(out, "late", &late_table);
    for (size_t i = 0; i < count; i++) {
        const hb_late_rank *l = &list[i];
        hb_table_row(out, &late_table, (double)l->rank, l->host, (double)l->times_last,
                     (double)l->collectives, l->caused_us, 100 * l->share, -l->gain_us,
                     because(l->because), l->operator_name);
    }
    hb_table_end(out);
    if (hb_rank_study_inconclusive(study))
        hb_emit_pair(out, "inconclusive", hb_rank_study_inconclusive(study));
    return HB_OK;
}

/* ---- cells ---- */

static void put_numbers(hb_emitter *out, const char *key, const int64_t *list, size_t count)
{
    hb_emit_open_key(out, key, '[');
    for (size_t i = 0; i < count; i++)
        hb_emit_int(out, (double)list[i]);
    hb_emit_close(out, ']');
}

/* Whole nanoseconds as microseconds: more digits mean nothing, and there may be a million. */
static void put_measure(hb_emitter *out, const char *key, const hb_rank_cells *cells, size_t offset)
{
    hb_emit_open_key(out, key, '[');
    for (size_t i = 0; i < cells->num_ranks * cells->num_steps; i++) {
        const char *cell = (const char *)&cells->cells[i];
        hb_emit_finite(out, round(*(const double *)(const void *)(cell + offset) * 1e3) / 1e3);
    }
    hb_emit_close(out, ']');
}

static hb_result put_cells(hb_rank_study *study, hb_emitter *out)
{
    hb_rank_cells cells;
    HB_TRY(hb_rank_study_cells(study, &cells));
    hb_emit_open_key(out, "cells", '{');
    hb_emit_bool(out, "marked", cells.marked);
    put_numbers(out, "ranks", cells.ranks, cells.num_ranks);
    put_numbers(out, "steps", cells.steps, cells.num_steps);
    hb_emit_open_key(out, "workers", '[');
    for (size_t i = 0; i < cells.num_ranks; i++)
        hb_emit_text(out, cells.workers[i]);
    hb_emit_close(out, ']');
    put_measure(out, "time", &cells, offsetof(hb_rank_cell, time_us));
    put_measure(out, "communication", &cells, offsetof(hb_rank_cell, communication_us));
    put_measure(out, "caused", &cells, offsetof(hb_rank_cell, caused_us));
    hb_emit_close(out, '}');
    return HB_OK;
}

/* ---- who sends to whom ---- */

static const hb_page_column message_columns[] = {{"From", HB_CELL_COUNT},
                                                 {"To", HB_CELL_COUNT},
                                                 {"Messages", HB_CELL_COUNT},
                                                 {"Bytes", HB_CELL_BYTES},
                                                 {"Time", HB_CELL_TIME}};
static const hb_page_table messages_table = HB_PAGE_TABLE("Messages", message_columns);

static const hb_page_column collective_columns[] = {
    {"Rank", HB_CELL_COUNT},  {"Collective", HB_CELL_TEXT}, {"Group", HB_CELL_TEXT},
    {"Calls", HB_CELL_COUNT}, {"Bytes", HB_CELL_BYTES},     {"Time", HB_CELL_TIME}};
static const hb_page_table collectives_table =
    HB_PAGE_TABLE("Collectives of each rank", collective_columns);

enum { MOST_TRAFFIC = 250000 }; /* rows; a thousand ranks that all send to 250 others */

static size_t count_messages(const hb_rank_traffic *list, size_t count)
{
    size_t n = 0;
    while (n < count && list[n].to >= 0)
        n++;
    return n;
}

static hb_result put_traffic(hb_rank_study *study, hb_emitter *out)
{
    const hb_rank_traffic *list;
    size_t count;
    HB_TRY(hb_rank_study_traffic(study, &list, &count));
    size_t messages = count_messages(list, count);
    hb_emit_bool(out, "traffic_cut", count > MOST_TRAFFIC);
    if (count > MOST_TRAFFIC) return HB_OK;
    hb_table_begin(out, "messages", &messages_table);
    for (size_t i = 0; i < messages; i++)
        hb_table_row(out, &messages_table, (double)list[i].from, (double)list[i].to,
                     (double)list[i].calls, list[i].bytes, list[i].time_us);
    hb_table_end(out);
    hb_table_begin(out, "collectives", &collectives_table);
    for (size_t i = messages; i < count; i++)
        hb_table_row(out, &collectives_table, (double)list[i].from, list[i].operation,
                     list[i].group, (double)list[i].calls, list[i].bytes, list[i].time_us);
    hb_table_end(out);
    return HB_OK;
}

/* All that `hipboard ranks --json` says. */
static hb_result put_report(hb_rank_study *study, hb_emitter *out)
{
    char *text;
    size_t size;
    HB_TRY(hb_rank_study_report(study, HB_RANKS_JSON, &text, &size));
    hb_emit_key(out, "report");
    hb_emit_raw(out, (hb_str){text, (uint32_t)size});
    hb_free(text);
    return HB_OK;
}

static void put_notes(hb_rank_study *study, hb_emitter *out)
{
    const char *const *notes;
    size_t count;
    hb_emit_open_key(out, "notes", '[');
    if (hb_rank_study_notes(study, &notes, &count) == HB_OK)
        for (size_t i = 0; i < count; i++)
            hb_emit_text(out, notes[i]);
    hb_emit_close(out, ']');
}

/* ---- what it is made of ---- */

static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static bool holds_digests(const char *directory)
{
    DIR *dir = opendir(directory);
    bool found = false;
    if (!dir) return false;
    for (struct dirent *entry; !found && (entry = readdir(dir));)
        found = hb_path_ends(entry->d_name, ".hbranks");
    closedir(dir);
    return found;
}

/* Where all lie, if digests lie there as well, which then need not be made; from malloc, or NULL.
 */
static char *stored_with(const hb_page_group *traces)
{
    const char *path = traces->items[0]->path;
    size_t size = directory_size(path);
    for (size_t i = 1; i < traces->count; i++)
        if (directory_size(traces->items[i]->path) != size ||
            memcmp(path, traces->items[i]->path, size) != 0)
            return NULL;
    char *directory = size ? strndup(path, size) : NULL;
    if (directory && holds_digests(directory)) return directory;
    free(directory);
    return NULL;
}

static hb_result add_traces(hb_rank_study *study, const hb_page_group *traces)
{
    char *directory = stored_with(traces);
    hb_result result = directory ? hb_rank_study_add(study, directory) : HB_OK;
    for (size_t i = 0; !directory && i < traces->count; i++) {
        result = hb_rank_study_add(study, traces->items[i]->path);
        if (result == HB_ERROR_NO_MEMORY || result == HB_ERROR_STATE) break;
        result = HB_OK; /* who reads it otherwise says why it cannot be read */
    }
    free(directory);
    return result;
}

hb_result hb_page_put_study(const hb_page_group *traces, hb_emitter *out)
{
    hb_rank_study *study;
    hb_rank_options options = HB_RANK_OPTIONS_INIT;
    const hb_open_options *open = &traces->page->open;
    options.max_memory = open->max_memory;
    options.progress = open->progress;
    options.context = open->context;
    HB_TRY(hb_rank_study_create(&options, &study));
    hb_result result = add_traces(study, traces);
    hb_emit_open_key(out, "study", '{');
    if (result == HB_OK) result = put_late(study, out);
    if (result == HB_OK) result = put_cells(study, out);
    if (result == HB_OK) result = put_traffic(study, out);
    if (result == HB_OK) result = put_report(study, out);
    put_notes(study, out);
    hb_emit_close(out, '}');
    hb_rank_study_destroy(study);
    return result == HB_ERROR_NOT_FOUND ? HB_OK : result; /* no rank is known: no cells */
}
