/* SPDX-License-Identifier: MIT
 *
 * A spool that some process left, read by rules that hold for any bytes: one pass from the file's
 * beginning to its end, sizes checked, nothing believed that has no sense. Nothing is written but
 * that a session is saved.
 */
#ifndef HB_RECORD_SPOOL_FILE_H
#define HB_RECORD_SPOOL_FILE_H

#include <sys/stat.h>

#include "record/session.h"

typedef struct hb_string_run {
    uint64_t offset, size; /* in the string table */
    char *bytes;           /* from malloc */
    bool damaged;          /* read only where no other has a string */
} hb_string_run;

typedef struct hb_found_session {
    hb_session session;
    uint64_t state_offset; /* of its state in the file */
    hb_records *records;
} hb_found_session;

typedef struct hb_spool_file {
    const char *path;
    int fd;
    uint64_t size;
    hb_spool_header head;
    hb_buf sessions; /* hb_found_session, by number */
    hb_buf names;    /* hb_string_run, by offset */
    hb_buf parts;    /* while it is read */
    char *code;      /* from malloc: of view.code */
    uint64_t code_number;
    int unread; /* errno of the first read that failed, or ENOMEM: then what seems damaged may be
                   whole */
    hb_spool_view view;
} hb_spool_file;

/** `seen`: what its name stood for when it was found. HB_ERROR_BUSY when its process lives, or it
 * is gone again; HB_ERROR_IO when it can't be read, HB_ERROR_NO_MEMORY. HB_ERROR_NOT_FOUND when it
 * holds nothing, as its process died while making it. Else what is wrong with it. To be closed
 * always. */
hb_result hb_spool_file_open(hb_spool_file *file, const char *path, const struct stat *seen);
void hb_spool_file_close(hb_spool_file *file);

/** So many bytes at an offset. */
bool hb_spool_file_read(hb_spool_file *file, uint64_t offset, void *to, size_t bytes);

/** HB_ERROR_IO when the disk did not give all that was asked for so far, HB_ERROR_NO_MEMORY when
 * there was no memory for some of it. */
hb_result hb_spool_file_was_read(const hb_spool_file *file);

/** It is a trace now: noted in the file, where that can be written. */
void hb_spool_file_mark_saved(hb_spool_file *file, hb_found_session *found);

/* ---- for readers of one version ---- */

/** Found: a session, a chunk's records, a piece of the string table. False without memory. */
bool hb_spool_file_add_session(hb_spool_file *file, const hb_session *session,
                               uint64_t state_offset);
bool hb_spool_file_add_part(hb_spool_file *file, const hb_events_info *info, const hb_part *part);
bool hb_spool_file_add_names(hb_spool_file *file, uint64_t string_offset, uint64_t offset,
                             uint64_t bytes);

/** hb_part.codec of records as they lie in a hot chunk. */
#define HB_CODEC_HOT 0xffu

/** spool_v2.c */
hb_result hb_spool_v2_read(hb_spool_file *file);

#endif
