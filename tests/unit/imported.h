/* SPDX-License-Identifier: MIT
 *
 * Files of other tools that a test makes in its directory, and what was imported of them.
 */
#ifndef HB_TEST_IMPORTED_H
#define HB_TEST_IMPORTED_H

#include <hipboard/analysis.h>
#include <hipboard/import.h>
#include <sys/stat.h>

#include "test_dir.h"

/** A path in the test's directory, for a while. */
static inline const char *in_dir(const char *name)
{
    static char paths[16][512];
    static unsigned turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static inline const char *keep_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = in_dir(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

static inline const char *keep_text(const char *name, const char *text)
{
    return keep_bytes(name, text, strlen(text));
}

static inline hb_import *import_with(const char *path, const hb_import_options *options)
{
    hb_import *import = NULL;
    if (hb_import_open(&path, 1, options, &import) != HB_OK) fail_msg("%s", hb_last_error());
    return import;
}

static inline void import_refused(const char *path, hb_result expected, const char *reason)
{
    hb_import *import = NULL;
    assert_int_equal(hb_import_open(&path, 1, NULL, &import), expected);
    assert_null(import);
    if (!strstr(hb_last_error(), reason)) fail_msg("no %s in %s", reason, hb_last_error());
}

static inline uint64_t note_of(const hb_imported *p, const char *key)
{
    for (size_t i = 0; i < p->num_notes; i++)
        if (strcmp(p->notes[i].key, key) == 0) return p->notes[i].count;
    return 0;
}

/** A process as it is written; to be freed. */
static inline char *written_text(hb_import *import, size_t index)
{
    static const size_t most = 1 << 24;
    char *path, *text = calloc(1, most);
    if (!text) abort();
    if (hb_import_write(import, index, in_dir("log"), &path) != HB_OK)
        fail_msg("%s", hb_last_error());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, most - 1, file);
    assert_true(n > 0 && n < most - 1);
    fclose(file);
    remove(path);
    hb_free(path);
    return text;
}

static inline uint64_t count_in(const char *text, const char *part)
{
    uint64_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

#define HAS(text, part) \
    if (!strstr(text, part)) fail_msg("no %s in %s", part, (text) ? (text) : "nothing")
#define HAS_NOT(text, part) \
    if (strstr(text, part)) fail_msg("%s in %s", part, (text) ? (text) : "nothing")

#endif
