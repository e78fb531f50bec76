/* SPDX-License-Identifier: MIT
 *
 * TensorBoard's event files: records in TFRecord framing, appended to a file of one process's own.
 *
 * A record: 8 bytes length, 4 bytes masked CRC-32C of these, the data, 4 bytes masked CRC-32C of
 * the data; all little-endian. The data is a protobuf Event (plugin_format/event.proto).
 */
#ifndef HB_TFEVENTS_EVENT_FILE_H
#define HB_TFEVENTS_EVENT_FILE_H

#include "base/files.h"

/* ---- framing, in memory ---- */

#define HB_RECORD_HEADER 12
#define HB_RECORD_FOOTER 4

/** Begins a record at the buffer's end, to which its data is then appended. */
size_t hb_record_begin(hb_buf *buf);
/** Ends the record that began at `start`; takes it back when the buffer failed meanwhile. */
void hb_record_end(hb_buf *buf, size_t start);

/** Bytes of the complete records at the start of `data`. Trusts the lengths. */
size_t hb_record_whole(const char *data, size_t size);

/* ---- the file ---- */

/* Kept in memory when the file takes no more; then records are refused. */
#define HB_EVENT_FILE_BACKLOG ((size_t)8 << 20)

typedef struct hb_event_file {
    hb_kept_file file;
    hb_buf pending; /* of which `sent` bytes are in the file */
    size_t sent;
    uint64_t size; /* bytes in the file */
    bool stuck;    /* the last write failed; the next flush tries again */
    char path[4096];
} hb_event_file;

/** Makes `dir` and its parents if needed and a new file in it, with its first record. */
hb_result hb_event_file_open(hb_event_file *file, const char *dir, const char *suffix);
/** The same in an open directory, whatever its name is now; without one in `dir`. Where that fails,
 * records can be pending all the same, and hb_event_file_close() frees them. */
hb_result hb_event_file_open_in(hb_event_file *file, const hb_kept_file *in, const char *dir,
                                const char *suffix);

/** The buffer to append the next record to; it is written when enough has come together. NULL when
 * the file cannot be written and the backlog is full. */
hb_buf *hb_event_file_buffer(hb_event_file *file);

/** Writes what is pending. What could not be written stays pending, so that the file goes on
 * without a gap once there is room again. */
hb_result hb_event_file_flush(hb_event_file *file);

/** How many of the records that are pending are not in the file, or only in part. */
uint64_t hb_event_file_unsent(const hb_event_file *file);

/** Flushes, cuts off a record that is there in part only, closes and frees. */
hb_result hb_event_file_close(hb_event_file *file);

/** Closes and frees without writing: when the file was removed. */
void hb_event_file_abandon(hb_event_file *file);

/** In a fork handler of a child: closes without writing. The memory is freed later: the program's
 * allocator may be one whose locks were held when the process was copied, as AddressSanitizer's. */
void hb_event_file_forget(hb_event_file *file);

#endif
