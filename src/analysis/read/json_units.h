/* SPDX-License-Identifier: MIT
 *
 * Reading a text unit by unit. A unit is an event or a top-level member. When the window ends
 * inside a unit, more text is fetched and the unit is read again from its start; nothing but `pos`
 * survives from one try to the next. So reading may begin at any event, and several threads can
 * share a text.
 */
#ifndef HB_READ_JSON_UNITS_H
#define HB_READ_JSON_UNITS_H

#include "read/event_layouts.h"
#include "read/json_reader.h"

typedef struct hb_reader {
    hb_text *text;
    hb_trace *trace;
    const hb_read_options *options;
    hb_read_report *report;
    hb_scan scan;
    hb_event_sink sink;
    hb_layouts *layouts; /* of the thread; NULL: none */
    size_t pos;          /* of the present unit in the window */
    uint64_t next_check; /* offset at which memory and progress are looked at again */
    size_t max_bytes;
    hb_read_note pending[4]; /* the unit's defects, counted when it is taken */
    uint32_t num_pending;
    uint64_t num_events; /* taken, and objects */
    uint64_t searched;   /* bytes looked through for events */
    bool in_list;        /* of events */
    bool moved;          /* behind what is damaged: pos is at another unit */
    bool cut;            /* nothing more can be read */
} hb_reader;

/** `layouts`: of earlier traces, too. */
void hb_reader_init(hb_reader *reader, hb_text *text, hb_trace *trace, hb_layouts *layouts,
                    const hb_read_options *options, hb_read_report *report);
void hb_reader_free(hb_reader *reader);

/** Goes on at `offset` of a seekable text, with a window that is empty yet. */
void hb_reader_seek(hb_reader *reader, uint64_t offset);

static inline const char *hb_reader_at(const hb_reader *r)
{
    return r->text->data + r->pos;
}

static inline uint64_t hb_reader_offset(const hb_reader *r)
{
    return r->text->offset + r->pos;
}

static inline void hb_reader_move_to(hb_reader *r, const char *p)
{
    r->pos = (size_t)(p - r->text->data);
}

/** After a failure in the unit at pos: true when it is worth another try. */
bool hb_reader_more(hb_reader *reader);

/** The first character at or after pos that is no space, 0 at the end of the text. */
char hb_reader_peek(hb_reader *reader);

/** What a failure of hb_reader.scan in the unit at pos means for the file. HB_OK when reading goes
 * on: at pos, with `moved` set, where another event or the list of them was found behind what is
 * damaged; or not at all, with `cut` set, and what came before is kept. */
hb_result hb_reader_failed(hb_reader *reader);
/** As if `what` had been expected at pos. */
hb_result hb_reader_expected(hb_reader *reader, const char *what);

void hb_reader_note(hb_reader *reader, hb_json_defect defect, uint64_t offset);
/** Counts the defects of a unit that was taken. */
void hb_reader_take_defects(hb_reader *reader);

/** Between units: memory, progress, the wish to stop. */
hb_result hb_reader_check_bounds(hb_reader *reader);

/** pos is behind the opening bracket of the list of events, and then behind the closing one. */
hb_result hb_read_events(hb_reader *reader);

/* Bytes of text that an event may need to be taken without a decision. */
enum { HB_MAX_PLAIN_EVENT = 8 << 20 };

/** pos is at an event. Takes events up to one that begins at or behind `limit`, and true; or up to
 * one whose taking needs a decision: the last one, one that is odd, or one too long to wait for.
 * Then false, with `*result` not HB_OK when memory ran out. */
bool hb_read_plain_events(hb_reader *reader, uint64_t limit, hb_result *result);

/* What a search may cost, as each brace in a text could begin a long event that is none. */
enum { HB_MAX_SEARCH = 256 << 20 };

/** Moves to what looks like an event and begins between `from` and `limit`. False when there is
 * none; pos is anywhere then. */
bool hb_find_event(hb_reader *reader, uint64_t from, uint64_t limit);

/** Moves to the name of the list of events, from pos on. */
bool hb_find_list(hb_reader *reader);

#endif
