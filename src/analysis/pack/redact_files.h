/* SPDX-License-Identifier: MIT
 *
 * Whole files without what a teammate need not know. While the redactor learns nothing is written.
 */
#ifndef HB_PACK_REDACT_FILES_H
#define HB_PACK_REDACT_FILES_H

#include "io/sink.h"
#include "pack/redactor.h"

/** Reads JSON, gzipped or not, and writes it with its strings redacted; all else stays as it
 * stands, also where it is no JSON. */
hb_result hb_redact_json(hb_redactor *redactor, const char *path, hb_sink *to);

/** A file of TensorBoard's events. What is behind a damaged record is left out; *cut tells. */
hb_result hb_redact_events(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut);

/** A file of ranks' digests, the same. HB_ERROR_FORMAT, HB_ERROR_UNSUPPORTED: it is none that is
 * known. */
hb_result hb_redact_ranks(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut);

/** Any other text, line by line. */
hb_result hb_redact_lines(hb_redactor *redactor, const char *path, hb_sink *to);

#endif
