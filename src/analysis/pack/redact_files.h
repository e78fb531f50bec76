/* SPDX-License-Identifier: MIT
 *
 * Whole files without what a teammate need not know. While the redactor learns nothing is written.
 */
#ifndef HB_PACK_REDACT_FILES_H
#define HB_PACK_REDACT_FILES_H

#include "io/sink.h"
#include "pack/redactor.h"
#include "read/text_window.h"

/** Opens a text in which something is to be found. HB_ERROR_UNSUPPORTED: it is UTF-16 or UTF-32. */
hb_result hb_redactable_open(hb_text *text, const char *path);

/** Reads JSON, gzipped or not, and writes it with its strings redacted, and what stands between
 * them and is none; all else stays as it stands. HB_ERROR_UNSUPPORTED: it is UTF-16 or UTF-32. */
hb_result hb_redact_json(hb_redactor *redactor, const char *path, hb_sink *to);

/** A file of TensorBoard's events. What is behind a damaged record is left out; *cut tells. */
hb_result hb_redact_events(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut);

/** A file of ranks' digests, the same. HB_ERROR_FORMAT, HB_ERROR_UNSUPPORTED: it is none that is
 * known. */
hb_result hb_redact_ranks(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut);

/** Any other text, line by line; a private key is one. HB_ERROR_UNSUPPORTED: it is UTF-16 or
 * UTF-32. */
hb_result hb_redact_lines(hb_redactor *redactor, const char *path, hb_sink *to);

#endif
