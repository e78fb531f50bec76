/* SPDX-License-Identifier: MIT */
#include <hipboard/export.h>

#include <stdlib.h>

#include "base/c_locale.h"
#include "export/exporter.h"
#include "export/select_events.h"
#include "import/import_set.h"

/* With what it points to. */
typedef struct whole {
    hb_exported shown;
    hb_export_note notes[HB_EXPORT_NOTE_COUNT + HB_IMPORT_NOTE_COUNT];
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

static hb_result add_process(hb_import *import, size_t index, const hb_export_options *o,
                             hb_exporter *exporter, hb_export_counts *counts)
{
    hb_source *source;
    hb_event_choice choice = {o->first_step, o->last_step, o->start_us, o->end_us};
    HB_TRY(hb_import_source(import, index, &source));
    hb_result result = hb_select_events(&source, &choice);
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
    hb_exporter *exporter;
    hb_export_counts counts = {0};
    HB_TRY(open_exporter(output, o, &exporter));
    hb_result result = add_all(import, o, exporter, &counts, &w->shown.processes);
    if (result == HB_OK) result = exporter->finish(exporter);
    exporter->close(exporter);
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
    else
        free(w);
    return result;
}

void hb_exported_free(hb_exported *exported)
{
    free(exported);
}
