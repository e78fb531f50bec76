/* SPDX-License-Identifier: MIT
 *
 * What the program said about itself by hb_hparams(): kept for the process, since it may be said
 * before there is a profiler.
 */
#ifndef HB_PROFILER_HPARAMS_H
#define HB_PROFILER_HPARAMS_H

#include "summary/summary_tags.h"

/** Logs what is `known` of a run and the program's own settings. Later ones are refused until
 * hb_settings_reopen(). */
hb_result hb_settings_log(hb_event_log *log, hb_profile_settings known);
void hb_settings_reopen(void);

/** Once per process. */
void hb_settings_watch_forks(void);

#endif
