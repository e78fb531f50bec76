/* SPDX-License-Identifier: MIT
 *
 * Whether the process that wrote a file still lives: its number alone may be another's by now.
 */
#ifndef HB_RECORD_PROCESS_ID_H
#define HB_RECORD_PROCESS_ID_H

#include <stddef.h>

#include "record/format.h"

hb_process_id hb_process_id_here(void);

/** This one's, as it was started: its file's without the directory. */
void hb_process_name(char *name, size_t size);

typedef enum hb_process_life {
    HB_PROCESS_DEAD,
    HB_PROCESS_ALIVE,
    HB_PROCESS_UNKNOWN, /* of another container, or no /proc: only its lock can tell */
} hb_process_life;

hb_process_life hb_process_life_of(const hb_process_id *id);

#endif
