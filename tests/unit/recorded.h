/* SPDX-License-Identifier: MIT
 *
 * For tests of recording: a profiler, and its cycle's events copied into an array.
 */
#ifndef HB_TEST_RECORDED_H
#define HB_TEST_RECORDED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

typedef struct recorded_event {
    hb_event e;
    char name[256]; /* e.name is not valid any more */
} recorded_event;

typedef struct recorded {
    recorded_event *events;
    size_t n, capacity;
} recorded;

static bool recorded_add(const hb_event *event, void *arg)
{
    recorded *r = arg;
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 64;
        r->events = realloc(r->events, r->capacity * sizeof *r->events);
    }
    recorded_event *to = &r->events[r->n++];
    to->e = *event;
    size_t size = event->name_size < sizeof to->name - 1 ? event->name_size : sizeof to->name - 1;
    memcpy(to->name, event->name, size);
    to->name[size] = '\0';
    return true;
}

static inline recorded recorded_of(hb_profiler *prof)
{
    recorded r = {0};
    if (hb_profiler_events(prof, recorded_add, &r) != HB_OK) abort();
    return r;
}

static inline void recorded_free(recorded *r)
{
    free(r->events);
    *r = (recorded){0};
}

/* The first event of that name, or NULL. */
static inline const hb_event *recorded_find(const recorded *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->events[i].name, name) == 0) return &r->events[i].e;
    return NULL;
}

static inline size_t recorded_count(const recorded *r, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += strcmp(r->events[i].name, name) == 0;
    return n;
}

/* Everything on, records in memory, one cycle from start to stop. */
static inline hb_profiler *record_all(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) abort();
    return prof;
}

/* What handlers of one profiler or several saw: how often one was called, where, and the names of
 * its cycles' events, a blank behind each. */
typedef struct handler_notes {
    unsigned calls;
    bool by_program; /* the last one was called in the thread that steps */
    char names[4096];
    pthread_t program;
} handler_notes;

static inline bool seen_add_name(const hb_event *event, void *arg)
{
    handler_notes *s = arg;
    size_t n = strlen(s->names);
    snprintf(s->names + n, sizeof s->names - n, "%s ", event->name);
    return true;
}

/* A handler's function; its context is a handler_notes. */
static inline hb_result seen_note(hb_profiler *prof, void *context)
{
    handler_notes *s = context;
    s->calls++;
    s->by_program = pthread_equal(s->program, pthread_self());
    return hb_profiler_events(prof, seen_add_name, s);
}

#endif
