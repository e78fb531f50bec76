/* SPDX-License-Identifier: MIT */
#include "rules/worker_host.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

/* Of names that users give to torch's workers: each rank of all nodes may be called so. */
static bool is_no_host(hb_str name)
{
    static const char *const words[] = {"rank", "worker", "trainer", "process", "proc", "gpu"};
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++)
        if (strlen(words[i]) == name.len && strncasecmp(words[i], name.s, name.len) == 0)
            return true;
    return false;
}

/* Without the number at its end and `before` in front of it; as it is where it has none. */
static hb_str cut_number(hb_str name, char before)
{
    uint32_t n = name.len;
    while (n && isdigit((unsigned char)name.s[n - 1]))
        n--;
    bool cut = n < name.len && n > 1 && name.s[n - 1] == before;
    return (hb_str){name.s, cut ? n - 1 : name.len};
}

hb_str hb_worker_host(hb_str worker)
{
    hb_str none = {worker.s, 0}, host = cut_number(worker, '_');
    if (host.len == worker.len) host = cut_number(cut_number(worker, '-'), '_');
    bool numbered = memchr(host.s + host.len, '_', worker.len - host.len) != NULL;
    return numbered && !is_no_host(cut_number(host, '_')) ? host : none;
}
