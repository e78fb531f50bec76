/* SPDX-License-Identifier: MIT
 *
 * The events of a large plain file, read by several threads.
 *
 * The text is divided into chunks of equal size. A thread looks in its chunk for the first thing
 * that looks like the start of an event, and reads from there to the first event behind the chunk.
 * A guess, as strings and arguments can look like events: but reading begins at an event exactly
 * when reading the chunk before ended there. Chunks are taken in order, each only when the one
 * before ended where it began, and read again from the right place when it did not. So the trace is
 * the same, to the last number, as if one thread had read it.
 */
#ifndef HB_READ_JSON_CHUNKS_H
#define HB_READ_JSON_CHUNKS_H

#include "read/json_units.h"

/** pos is at the first event. Takes as many as the threads can agree on, perhaps none, and leaves
 * the rest, which has at least one. */
hb_result hb_read_chunks(hb_reader *reader);

#endif
