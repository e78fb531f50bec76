/* SPDX-License-Identifier: MIT
 *
 * Deflate that knows what repeats. In a trace an event's text is that of an earlier event of the
 * same kind and name, but for a few digits. So there are no chains to search: an event is laid over
 * the last one with the same name and arguments, or name, or first lines, and over the one before
 * it; equal stretches become matches, digits that differ literals. What fits neither, as in text
 * that is no trace, is looked for by its first bytes.
 *
 * The result is plain deflate, for any bytes. Takes 1 MiB, whatever the stream's length.
 */
#ifndef HB_IO_EVENT_DEFLATE_H
#define HB_IO_EVENT_DEFLATE_H

#include "io/sink.h"

typedef struct hb_event_deflate hb_event_deflate;

/** NULL without memory. */
hb_event_deflate *hb_event_deflate_new(hb_sink *below);
void hb_event_deflate_free(hb_event_deflate *d);

/** What `below` said; once it failed, nothing more is written. */
hb_result hb_event_deflate_write(hb_event_deflate *d, const void *data, size_t size);

/** Writes what there is, so that another coder can go on: the stream then stands at a whole byte.
 */
hb_result hb_event_deflate_flush(hb_event_deflate *d);

/** From here on writes to `below`, at a whole byte; what was coded before may still be pointed to.
 */
void hb_event_deflate_redirect(hb_event_deflate *d, hb_sink *below);

/** Writes what is left and the end of the stream, at a whole byte. */
hb_result hb_event_deflate_finish(hb_event_deflate *d);

#endif
