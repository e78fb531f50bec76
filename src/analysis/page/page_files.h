/* SPDX-License-Identifier: MIT
 *
 * The page itself, joined out of page/web by join.py when hipboard is built.
 */
#ifndef HB_PAGE_PAGE_FILES_H
#define HB_PAGE_PAGE_FILES_H

#include "base/base.h"

/** "index.html", "page.js" and "page.css" as servers give them away; a report is "report.head", its
 * title, "report.style", plain HTML, its data and "report.script". */
typedef struct hb_page_file {
    const char *name, *type;
    const unsigned char *gzip; /* compressed */
    size_t gzip_size, size;
} hb_page_file;

extern const hb_page_file hb_page_files[];
extern const size_t hb_num_page_files;

/** Appends a file's text. HB_ERROR_NOT_FOUND: there is no such file. */
hb_result hb_page_file_text(const char *name, hb_buf *buf, const char **type);

/** Bytes of a report without its data. */
size_t hb_page_frame_size(void);

#endif
