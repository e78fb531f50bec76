/* SPDX-License-Identifier: MIT
 *
 * The helper process hipboard-symbolizer: found, started, asked, ended.
 */
#ifndef HB_SYMBOLS_SYMBOLIZER_PROCESS_H
#define HB_SYMBOLS_SYMBOLIZER_PROCESS_H

#include <sys/types.h>

#include "base/files.h"
#include "base/str.h"

typedef struct hb_symbolizer_process {
    pid_t pid;
    hb_kept_file pipe; /* both ways; none: not running */
    hb_buf answers;    /* received; `taken` of it are used up */
    size_t taken;
    int patience_ms;  /* for an answer; may be changed */
    char reason[256]; /* why it is not running */
} hb_symbolizer_process;

/** Starts one that knows of this code (hb_put_loaded_code()). False, with the reason, when there is
 * none, it does not start, or is of another version. */
bool hb_symbolizer_start(hb_symbolizer_process *process, hb_str loaded_code);

bool hb_symbolizer_is_running(const hb_symbolizer_process *process);

/** Sends lines. False when it does not take them. */
bool hb_symbolizer_send(hb_symbolizer_process *process, const char *text, size_t size);

/** Its next line, without the newline, valid until the next call; s is NULL when it is gone or has
 * not answered for long. */
hb_str hb_symbolizer_answer(hb_symbolizer_process *process);

/** Ends it, whatever it does. Of one that is not running: nothing. */
void hb_symbolizer_end(hb_symbolizer_process *process);

#endif
