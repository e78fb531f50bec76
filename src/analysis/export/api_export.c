/* SPDX-License-Identifier: MIT */
#include <hipboard/export.h>

#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "export/exporter.h"
#include "export/select_events.h"
#include "export/split_export.h"
#include "import/import_set.h"

/* With what it points to. */
typedef struct whole {
    hb_exported shown;
    hb_export_note notes[HB_EXPORT_NOTE_COUNT + HB_IMPORT_NOTE_COUNT];
    const char *path; /* of the only file */
    hb_arena arena;   /* holds those of several */
} whole;

static hb_result open_exporter(const char *output, const hb_export_options *o,
                               hb_exporter **exporter)
{
    switch (o->format) {
    case HB_EXPORT_PFTRACE: return hb_export_to_pftrace(output, o->replace, exporter);
#ifdef HB_WITH_SQLITE
    case HB_EXPORT_ROCPD: return hb_export_to_rocpd(output, o->replace, exporter);
#else
    case HB_EXPORT_ROCPD:
        return hb_fail(HB_ERROR_UNSUPPORTED, "built without libsqlite3: rocpd is not written");
#endif
    case HB_EXPORT_CSV: return hb_export_to_csv(output, o->replace, exporter);
    default: return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no format %d", (int)o->format);
    }
}

/* ---- one file ---- */

static hb_result add_process(hb_import *import, size_t index, const hb_export_options *o,
                             hb_exporter *exporter, hb_export_counts *counts)
{
    hb_source *source;
    hb_event_choice choice = {o->first_step, o->last_step, o->start_us, o->end_us};
    HB_TRY(hb_import_source(import, index, &source));
    hb_result result = hb_select_events(&source, &choice, false);
    if (result == HB_OK) result = exporter->add(exporter, source, counts);
    source->close(source);
    return result;
}

/* A process may lack the steps that another one has. */
static hb_result add_all(hb_import *import, const hb_export_options *o, hb_exporter *exporter,
                         hb_export_counts *counts, uint64_t *processes)
{
    hb_result last = HB_OK;
    for (size_t i = 0; i < hb_import_count(import); i++) {
        hb_result result = add_process(import, i, o, exporter, counts);
        if (result != HB_OK && result != HB_ERROR_NOT_FOUND) return result;
        if (result == HB_OK) ++*processes;
        last = result;
    }
    return *processes ? HB_OK : last;
}

static hb_result write_one(hb_import *import, const char *output, const hb_export_options *o,
                           whole *w, hb_export_counts *counts)
{
    hb_exporter *exporter;
    HB_TRY(open_exporter(output, o, &exporter));
    hb_result result = add_all(import, o, exporter, counts, &w->shown.processes);
    if (result == HB_OK) result = exporter->finish(exporter);
    exporter->close(exporter);
    w->path = strdup(output);
    if (!w->path) return hb_no_memory();
    w->shown.paths = &w->path;
    w->shown.num_paths = 1;
    return result;
}

/* ---- several ---- */

static hb_result open_sources(hb_import *import, const hb_export_options *o, hb_source **sources,
                              size_t *count)
{
    hb_result last = HB_OK;
    hb_event_choice choice = {o->first_step, o->last_step, o->start_us, o->end_us};
    for (size_t i = 0; i < hb_import_count(import); i++) {
        hb_source *source;
        HB_TRY(hb_import_source(import, i, &source));
        last = hb_select_events(&source, &choice, true);
        if (last == HB_OK)
            sources[(*count)++] = source;
        else
            source->close(source);
        if (last != HB_OK && last != HB_ERROR_NOT_FOUND) return last;
    }
    return *count ? HB_OK : last;
}

static hb_result try_to_split(hb_split *split, hb_arena *arena)
{
    if (hb_arena_try(arena)) hb_write_split(split);
    return hb_arena_outcome(arena);
}

static hb_result write_several(hb_import *import, const char *output, const hb_export_options *o,
                               whole *w, hb_export_counts *counts)
{
    hb_split split = {.arena = &w->arena, .output = output, .options = o, .open = open_exporter};
    split.sources = calloc(hb_import_count(import) + 1, sizeof *split.sources);
    if (!split.sources) return hb_no_memory();
    hb_result result = open_sources(import, o, split.sources, &split.num_sources);
    if (result == HB_OK) result = try_to_split(&split, &w->arena);
    for (size_t i = 0; i < split.num_sources; i++)
        split.sources[i]->close(split.sources[i]);
    free(split.sources);
    *counts = split.counts;
    w->shown.processes = split.num_sources;
    w->shown.paths = split.paths.items;
    w->shown.num_paths = split.paths.count;
    return result;
}

/* ---- what is told ---- */

static const char *const texts[] = {
#define TEXT(key, text) text,
    HB_EXPORT_NOTES(TEXT)
#undef TEXT
};

static void add_note(whole *w, const char *text, uint64_t count)
{
    for (size_t i = 0; i < w->shown.num_notes; i++)
        if (strcmp(w->notes[i].text, text) == 0) {
            w->notes[i].count += count;
            return;
        }
    if (w->shown.num_notes < HB_ARRAY_LEN(w->notes))
        w->notes[w->shown.num_notes++] = (hb_export_note){text, count};
}

/* What was lost when it was read, and when it was written. */
static void fill(whole *w, const hb_import *import, const hb_export_counts *counts)
{
    w->shown.events = counts->events;
    w->shown.notes = w->notes;
    for (size_t i = 0; i < hb_import_count(import); i++) {
        const hb_imported *p = hb_import_get(import, i);
        for (size_t k = 0; k < p->num_notes; k++)
            if (!p->notes[k].unknown) add_note(w, p->notes[k].text, p->notes[k].count);
    }
    for (size_t i = 0; i < HB_EXPORT_NOTE_COUNT; i++)
        if (counts->notes[i]) add_note(w, texts[i], counts->notes[i]);
}

static hb_result write_all(hb_import *import, const char *output, const hb_export_options *o,
                           whole *w)
{
    hb_export_counts counts = {0};
    bool several = hb_export_is_split(o);
    hb_result result = (several ? write_several : write_one)(import, output, o, w, &counts);
    fill(w, import, &counts);
    return result;
}

hb_result hb_export(const char *input, const char *output, const hb_export_options *options,
                    hb_exported **exported)
{
    hb_export_options o = HB_EXPORT_OPTIONS_INIT;
    hb_import_options in = HB_IMPORT_OPTIONS_INIT;
    hb_import *import;
    if (exported) *exported = NULL;
    if (!input || !output) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no input or no output");
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_EXPORT_OPTIONS_INIT"));
    in.progress = o.progress;
    in.context = o.context;
    HB_TRY(hb_import_open_any(input, &in, &import));
    whole *w = calloc(1, sizeof *w);
    locale_t before = hb_enter_c_locale();
    hb_result result = w ? write_all(import, output, &o, w) : hb_no_memory();
    hb_leave_c_locale(before);
    hb_import_close(import);
    if (result == HB_OK && exported)
        *exported = &w->shown;
    else if (w)
        hb_exported_free(&w->shown);
    return result;
}

void hb_exported_free(hb_exported *exported)
{
    whole *w = (whole *)exported;
    if (!w) return;
    hb_arena_free(&w->arena);
    free((char *)(uintptr_t)w->path);
    free(w);
}
