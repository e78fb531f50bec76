/* SPDX-License-Identifier: MIT */
#include "write/pftrace_packets.h"

enum { OWN_CLOCK = 64, BOOTTIME = 6, REALTIME = 1, CLEAR_AFTER = 8 << 20 };

static char *put_varint(char *p, uint64_t value)
{
    return (char *)hb_varint_put((unsigned char *)p, value);
}

/* A packet of two parts: fields, then what is the value of a last one, which may be long. */
static void put_packet(hb_pf_file *f, const char *fields, size_t size, const void *tail,
                       size_t tail_size)
{
    char *p = hb_out_room(&f->out, HB_OUT_ROOM), *begin = p;
    *p++ = 0x0a;
    p = put_varint(p, size + tail_size);
    hb_out_done(&f->out, p);
    f->bytes += (size_t)(p - begin) + size + tail_size;
    hb_out_bytes(&f->out, fields, size);
    if (tail_size) hb_out_bytes(&f->out, tail, tail_size);
}

hb_string_id hb_pf_text(hb_pf_file *f, hb_str text)
{
    hb_string_id id = hb_texts_add(&f->texts, text.s ? text.s : "", text.len);
    if (!id) hb_arena_leave(f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

/* ---- rows ---- */

void hb_pf_describe(hb_pf_file *f, uint64_t uuid, uint64_t parent, hb_str name,
                    const hb_message *inside, const char *buffer)
{
    char descriptor[2048], packet[2200];
    hb_message d = HB_MESSAGE_IN(descriptor), p = HB_MESSAGE_IN(packet);
    hb_message_number(&d, 1, uuid);
    if (parent) hb_message_number(&d, 5, parent);
    if (name.len) hb_message_bytes(&d, 2, name.s, HB_MIN(name.len, 500u));
    size_t size = inside ? (size_t)(inside->at - buffer) : 0;
    if (inside && !inside->full && (size_t)(d.end - d.at) > size) {
        memcpy(d.at, buffer, size);
        d.at += size;
    }
    hb_message_number(&p, 10, 1);
    hb_message_inside(&p, 60, descriptor, &d);
    put_packet(f, packet, (size_t)(p.at - packet), NULL, 0);
}

hb_pf_row hb_pf_new_row(hb_pf_file *f, uint64_t uuid)
{
    return (hb_pf_row){.uuid = uuid, .sequence = ++f->num_rows + 1};
}

static void put_clock(hb_message *to, uint64_t id, int64_t time, bool counts_on)
{
    char clock[64];
    hb_message c = HB_MESSAGE_IN(clock);
    hb_message_number(&c, 1, id);
    hb_message_number(&c, 2, (uint64_t)time);
    if (counts_on) hb_message_number(&c, 3, 1);
    hb_message_inside(to, 1, clock, &c);
}

/* Its tables are empty, and its clock counts on from the row's last time. The clock since boot is
 * given Unix time: what the trace was recorded by is known no longer. */
static void put_state(hb_pf_file *f, hb_pf_row *row)
{
    char snapshot[256], defaults[128], event[64], packet[600];
    hb_message s = HB_MESSAGE_IN(snapshot), d = HB_MESSAGE_IN(defaults), e = HB_MESSAGE_IN(event);
    hb_message p = HB_MESSAGE_IN(packet);
    put_clock(&s, BOOTTIME, row->clock, false);
    put_clock(&s, REALTIME, row->clock, false);
    put_clock(&s, OWN_CLOCK, row->clock, true);
    hb_message_number(&s, 2, BOOTTIME);
    hb_message_number(&e, 11, row->uuid);
    hb_message_inside(&d, 11, event, &e);
    hb_message_number(&d, 58, OWN_CLOCK);
    hb_message_number(&p, 10, row->sequence);
    hb_message_number(&p, 13, 1);
    hb_message_inside(&p, 6, snapshot, &s);
    hb_message_inside(&p, 59, defaults, &d);
    put_packet(f, packet, (size_t)(p.at - packet), NULL, 0);
}

void hb_pf_ready(hb_pf_file *f, hb_pf_row *row, int64_t time)
{
    if (!row->open) row->clock = time;
    if (row->open && f->bytes - row->cleared_at < CLEAR_AFTER) return;
    put_state(f, row);
    row->open = true;
    row->cleared_at = f->bytes;
    row->num_names = 0;
    memset(&row->names, 0, sizeof row->names);
    memset(row->recent, 0, sizeof row->recent);
}

/* The number of a text, for what follows. */
static void put_text(hb_pf_file *f, const hb_pf_row *row, uint32_t table, uint64_t number, hb_str s)
{
    char head[64], id[16];
    hb_message h = HB_MESSAGE_IN(head);
    char *p = id;
    *p++ = 0x08;
    p = put_varint(p, number);
    *p++ = 0x12;
    p = put_varint(p, s.len);
    size_t id_size = (size_t)(p - id), entry_size = id_size + s.len;
    char inner[16], *q = inner;
    q = put_varint(q, (uint64_t)table << 3 | 2);
    q = put_varint(q, entry_size);
    hb_message_number(&h, 10, row->sequence);
    hb_message_number(&h, 13, 2);
    hb_message_varint(&h, 12 << 3 | 2);
    hb_message_varint(&h, (size_t)(q - inner) + entry_size);
    memcpy(h.at, inner, (size_t)(q - inner));
    h.at += q - inner;
    memcpy(h.at, id, id_size);
    h.at += id_size;
    put_packet(f, head, (size_t)(h.at - head), s.s, s.len);
}

static uint64_t number_of(hb_pf_file *f, hb_pf_row *row, uint32_t table, hb_string_id text)
{
    bool added;
    hb_dict_entry *entry = hb_dict_add(f->arena, &row->names, (uint64_t)table << 32 | text, &added);
    if (added) {
        entry->value = ++row->num_names;
        put_text(f, row, table, entry->value, hb_texts_get(&f->texts, text));
    }
    return entry->value;
}

uint64_t hb_pf_intern(hb_pf_file *f, hb_pf_row *row, uint32_t table, hb_string_id text)
{
    uint64_t key = (uint64_t)table << 32 | text;
    uint32_t i = (text * 3 + table) % HB_PF_RECENT;
    if (row->recent[i].key != key || !row->recent[i].number) {
        row->recent[i].number = number_of(f, row, table, text);
        row->recent[i].key = key;
    }
    return row->recent[i].number;
}

void hb_pf_event(hb_pf_file *f, hb_pf_row *row, int64_t time, const char *event,
                 const hb_message *message)
{
    char fields[48], *p = fields;
    size_t size = (size_t)(message->at - event);
    *p++ = 8 << 3;
    p = put_varint(p, time > row->clock ? (uint64_t)time - (uint64_t)row->clock : 0);
    *p++ = 10 << 3;
    p = put_varint(p, row->sequence);
    *p++ = 13 << 3;
    *p++ = 2;
    *p++ = 11 << 3 | 2;
    p = put_varint(p, size);
    row->clock = HB_MAX(row->clock, time);
    size_t fields_size = (size_t)(p - fields);
    char *room = hb_out_room(&f->out, sizeof fields + 16 + size), *to = room;
    *to++ = 0x0a;
    to = put_varint(to, fields_size + size);
    memcpy(to, fields, sizeof fields); /* all of them: a size that is known */
    memcpy(to + fields_size, event, size);
    to += fields_size + size;
    hb_out_done(&f->out, to);
    f->bytes += (size_t)(to - room);
}
