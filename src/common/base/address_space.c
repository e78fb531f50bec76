/* SPDX-License-Identifier: MIT */
#include "base/address_space.h"

#include <errno.h>
#include <sys/mman.h>

/* Memory that can be touched is filled at once where all is locked. */
void *hb_address_space(size_t size, int protection)
{
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    int error = errno;
    (void)munlock(p, size); /* what is not locked stays so */
    errno = error;
    if (protection == PROT_NONE || mprotect(p, size, protection) == 0) return p;
    error = errno;
    munmap(p, size);
    errno = error;
    return NULL;
}
