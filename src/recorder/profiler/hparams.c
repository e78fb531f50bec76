/* SPDX-License-Identifier: MIT */
#include "profiler/hparams.h"

#include <stdlib.h>

#include "base/guard.h"
#include "base/process.h"
#include "tfevents/event_log_internal.h"

static struct {
    hb_lock lock;
    hb_hparam *hparams; /* these, their texts and the metrics' are from malloc */
    size_t num_hparams;
    char **metrics;
    size_t num_metrics;
    bool logged;
} settings = {.lock = HB_LOCK_INIT(SETTINGS)};

static void before_fork(void)
{
    hb_lock_hold_for_fork(&settings.lock);
}

static void in_parent(void)
{
    hb_lock_give_after_fork(&settings.lock);
}

/* The child has the list whole. */
static void in_child(void)
{
    hb_lock_init(&settings.lock, HB_LOCK_SETTINGS);
}

void hb_settings_watch_forks(void)
{
    hb_process_at_fork(HB_FORK_SETTINGS, (hb_fork_room){before_fork, in_parent, in_child});
}

/* One more element. NULL without memory. */
static void *grow(void **array, size_t *count, size_t size)
{
    void *grown = realloc(*array, (*count + 1) * size);
    if (!grown) return NULL;
    *array = grown;
    return memset((char *)grown + (*count)++ * size, 0, size);
}

static hb_result no_memory(const char *name)
{
    return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the setting '%s'", name);
}

static hb_hparam *find(const char *name)
{
    for (size_t i = 0; i < settings.num_hparams; i++)
        if (strcmp(settings.hparams[i].name, name) == 0) return &settings.hparams[i];
    return NULL;
}

static hb_hparam *add(const char *name)
{
    char *copy = strdup(name);
    hb_hparam *added =
        copy ? grow((void **)&settings.hparams, &settings.num_hparams, sizeof *added) : NULL;
    if (added)
        added->name = copy;
    else
        free(copy);
    return added;
}

static hb_result set(const hb_hparam *hparam)
{
    bool is_text = hparam->type == HB_HPARAM_TYPE_TEXT;
    char *text = is_text ? strdup(hparam->text) : NULL;
    hb_hparam *at = find(hparam->name);
    if (!at && (text || !is_text)) at = add(hparam->name);
    if (!at || (is_text && !text)) {
        free(text);
        return no_memory(hparam->name);
    }
    free((char *)(uintptr_t)at->text);
    const char *name = at->name;
    *at = *hparam;
    at->name = name;
    at->text = text;
    return HB_OK;
}

static hb_result add_metric(const char *metric)
{
    for (size_t i = 0; i < settings.num_metrics; i++)
        if (strcmp(settings.metrics[i], metric) == 0) return HB_OK;
    char *copy = strdup(metric);
    char **at = copy ? grow((void **)&settings.metrics, &settings.num_metrics, sizeof *at) : NULL;
    if (!at) {
        free(copy);
        return no_memory(metric);
    }
    *at = copy;
    return HB_OK;
}

static hb_result keep(const hb_hparam *hparams, size_t num_hparams, const char *const *metrics,
                      size_t num_metrics)
{
    for (size_t i = 0; i < num_hparams; i++)
        HB_TRY(set(&hparams[i]));
    for (size_t i = 0; i < num_metrics; i++)
        HB_TRY(add_metric(metrics[i]));
    if (!settings.logged) return HB_OK;
    return hb_fail(HB_ERROR_STATE,
                   "hb_hparams: the run's table is written when its first cycle is complete; "
                   "call it before");
}

hb_result hb_hparams(const hb_hparam *hparams, size_t num_hparams, const char *const *metrics,
                     size_t num_metrics)
{
    HB_GUARDED();
    HB_TRY(hb_event_log_check_hparams(hparams, num_hparams, metrics, num_metrics));
    hb_lock_take(&settings.lock);
    hb_result result = keep(hparams, num_hparams, metrics, num_metrics);
    hb_lock_give(&settings.lock);
    return result;
}

hb_result hb_settings_log(hb_event_log *log, hb_profile_settings known)
{
    hb_lock_take(&settings.lock);
    known.own = settings.hparams;
    known.num_own = settings.num_hparams;
    known.metrics = (const char *const *)settings.metrics;
    known.num_metrics = settings.num_metrics;
    hb_result result = hb_profile_log_settings(log, &known);
    settings.logged = true;
    hb_lock_give(&settings.lock);
    return result;
}

void hb_settings_reopen(void)
{
    hb_lock_take(&settings.lock);
    settings.logged = false;
    hb_lock_give(&settings.lock);
}
