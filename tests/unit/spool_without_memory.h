/* SPDX-License-Identifier: MIT
 *
 * Spools that are read while memory fails. For tests that are linked with --wrap of malloc, calloc
 * and realloc.
 */
#ifndef HB_TEST_SPOOL_WITHOUT_MEMORY_H
#define HB_TEST_SPOOL_WITHOUT_MEMORY_H

#include "spool_bytes.h"

static unsigned allocations, failing_allocation; /* the n-th of the process's; 0: none */

static inline bool allocation_fails(void)
{
    return ++allocations == failing_allocation;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

/* What is read without some of it would lack records, and seem to be all. */
static inline void assert_each_failing_allocation_is_told(const hb_buf *bytes)
{
    char path[PATH_MAX];
    struct stat st;
    hb_spool_file file;
    path_of_bytes(path);
    write_bytes(bytes, &st);
    for (unsigned n = 1;; n++) {
        allocations = 0;
        failing_allocation = n;
        hb_result result = hb_spool_file_open(&file, path, &st);
        unsigned asked = allocations;
        failing_allocation = 0;
        hb_spool_file_close(&file);
        if (asked < n) {
            assert_int_equal(result, HB_OK);
            assert_true(n > 3);
            return;
        }
        if (result != HB_ERROR_NO_MEMORY) fail_msg("%u. allocation of %u: %d", n, asked, result);
    }
}

#endif
