/* SPDX-License-Identifier: MIT
 *
 * Reads an event file back, for tests: checks every frame, unpacks every event.
 */
#ifndef HB_TEST_EVENT_READER_H
#define HB_TEST_EVENT_READER_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event.pb-c.h>

#include "base/crc32c.h"

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

/* ---- a directory of the test's own ---- */

static inline void make_test_dir(char *path, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, size, "%s/hipboard-test-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
}

/* How many entries `dir` has; the path of the last one that is not `except` goes to `path`. */
static inline int list_dir(const char *dir, const char *except, char *path, size_t size)
{
    int count = 0;
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        if (entry->d_name[0] == '.') continue;
        count++;
        char full[1024];
        snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
        if (path && !(except && strcmp(full, except) == 0)) snprintf(path, size, "%s", full);
    }
    closedir(open_dir);
    return count;
}

static inline void remove_test_dir(const char *dir)
{
    char path[1024];
    while (list_dir(dir, NULL, path, sizeof path) > 0)
        assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

#endif
