/* SPDX-License-Identifier: MIT
 *
 * The bytes of a trace, whatever holds them: a file, a compressed stream that a second thread
 * inflates, a pipe. A reader sees a window that slides forward; after its end stand zeros, so that
 * scanning needs no bounds checks.
 */
#ifndef HB_READ_TEXT_WINDOW_H
#define HB_READ_TEXT_WINDOW_H

#include "read/packed_file.h"

typedef enum hb_text_form {
    HB_TEXT_AUTO,  /* gzip or zstd when the bytes say so */
    HB_TEXT_PLAIN, /* as the plugin: the file's name decides */
    HB_TEXT_GZIP,
} hb_text_form;

enum { HB_TEXT_ZEROS = 64 };

typedef struct hb_inflater hb_inflater;

typedef struct hb_text {
    char *data;       /* the window */
    size_t size;      /* its bytes; followed by HB_TEXT_ZEROS zeros */
    uint64_t offset;  /* of data[0] in the (inflated) text */
    uint64_t total;   /* bytes of the file when known, else 0; for progress */
    bool eof;         /* nothing comes after the window */
    hb_result result; /* why a stream ended early */
    char error[160];

    /* private */
    int fd;
    bool owns_fd;
    bool seekable;    /* a plain file: any part of it can be read */
    uint64_t begin;   /* of the text in the file */
    uint64_t length;  /* of it there: less than the rest of the file in a pack */
    uint64_t read_at; /* where the next bytes come from */
    char *buffer;
    size_t capacity;
    hb_inflater *inflater;
} hb_text;

/** Opens `path`, "-" for standard input; also a member of a pack, "runs.hbpack/run/name". */
hb_result hb_text_open(hb_text *text, const char *path, hb_text_form form);

/** The same of a file that is open; it is closed with the text, or on failure. */
hb_result hb_text_open_file(hb_text *text, const hb_packed_file *file, const char *path,
                            hb_text_form form);

/** Text in memory, which must outlive the reading and is not written to. */
hb_result hb_text_open_memory(hb_text *text, const char *data, size_t size);

/** Drops the window's first `keep_from` bytes and adds more at its end. False when there is no
 * more; text->result then says whether that is an error. */
bool hb_text_more(hb_text *text, size_t keep_from);

/** Appends all that is left of it. HB_ERROR_LIMIT when `all` is full, HB_ERROR_NO_MEMORY; else why
 * the text ended early. `path` is for the reason. */
hb_result hb_text_read_all(hb_text *text, const char *path, hb_buf *all);

/** Of a seekable text: the window becomes empty, at `offset`. */
void hb_text_seek(hb_text *text, uint64_t offset);

/** Another window over the same seekable text, for another thread; closed before the whole. False
 * without memory. */
bool hb_text_open_part(hb_text *part, const hb_text *whole);

void hb_text_close(hb_text *text);

#endif
