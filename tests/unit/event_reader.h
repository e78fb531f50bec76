/* SPDX-License-Identifier: MIT
 *
 * Reads an event file back, for tests: checks every frame, unpacks every event.
 */
#ifndef HB_TEST_EVENT_READER_H
#define HB_TEST_EVENT_READER_H

#include <event.pb-c.h>
#include <hipboard/event_log.h>
#include <hparams.pb-c.h>

#include "base/crc32c.h"
#include "test_dir.h"

typedef struct event_list {
    Hb__Event **events;
    size_t count;
    size_t torn; /* bytes after the last whole record */
} event_list;

static inline uint64_t little_endian(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

/* The record at `p`, or NULL when it is torn. */
static inline Hb__Event *read_event(const unsigned char *p, size_t size, size_t *used)
{
    if (size < 16) return NULL;
    uint64_t length = little_endian(p, 8);
    assert_int_equal(little_endian(p + 8, 4), hb_crc32c_masked(p, 8));
    if (length > size - 16) return NULL;
    assert_int_equal(little_endian(p + 12 + length, 4), hb_crc32c_masked(p + 12, length));
    *used = 16 + length;
    Hb__Event *event = hb__event__unpack(NULL, length, p + 12);
    assert_non_null(event);
    return event;
}

static inline event_list read_bytes(const void *data, size_t size)
{
    event_list list = {0};
    const unsigned char *p = data;
    size_t capacity = 0, used = 0;
    Hb__Event *event;
    while ((event = read_event(p, size, &used))) {
        if (list.count == capacity) {
            capacity = 2 * capacity + 16;
            list.events = realloc(list.events, capacity * sizeof *list.events);
            assert_non_null(list.events);
        }
        list.events[list.count++] = event;
        p += used;
        size -= used;
    }
    list.torn = size;
    return list;
}

static inline event_list read_events(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(size + 1);
    assert_int_equal(fread(data, 1, size, file), size);
    fclose(file);
    event_list list = read_bytes(data, size);
    free(data);
    return list;
}

/* Closes the log and reads all that it wrote. */
static inline event_list close_and_read(hb_event_log *log)
{
    char path[600];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    assert_int_equal(hb_event_log_close(log), HB_OK);
    event_list list = read_events(path);
    assert_int_equal(list.torn, 0);
    return list;
}

static inline void free_events(event_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        hb__event__free_unpacked(list->events[i], NULL);
    free(list->events);
    *list = (event_list){0};
}

/* The only value of the i-th event; the first event is the file's version. */
static inline const Hb__Summary__Value *value_of(const event_list *list, size_t i)
{
    assert_true(i < list->count);
    const Hb__Event *event = list->events[i];
    assert_int_equal(event->what_case, HB__EVENT__WHAT_SUMMARY);
    assert_int_equal(event->summary->n_value, 1);
    return event->summary->value[0];
}

/* What the i-th event tells the HParams plugin under a tag; to be freed. */
static inline Hb__HParamsPluginData *hparams_of(const event_list *list, size_t i, const char *tag)
{
    const Hb__Summary__Value *value = value_of(list, i);
    assert_string_equal(value->tag, tag);
    const Hb__SummaryMetadata__PluginData *data = value->metadata->plugin_data;
    assert_string_equal(data->plugin_name, "hparams");
    Hb__HParamsPluginData *content =
        hb__hparams_plugin_data__unpack(NULL, data->content.len, data->content.data);
    assert_non_null(content);
    return content;
}

#endif
