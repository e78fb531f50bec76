/* SPDX-License-Identifier: MIT */
#include "library_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINK_PATH = sizeof((library_links *)0)->dir + 16 };

static void name_link(const library_links *links, unsigned i, char path[LINK_PATH])
{
    snprintf(path, LINK_PATH, "%s/%u", links->dir, i);
}

static bool make_dir(library_links *links)
{
    if (*links->dir) return true;
    snprintf(links->dir, sizeof links->dir, "/tmp/hipboard-XXXXXX");
    if (mkdtemp(links->dir)) return true;
    *links->dir = '\0';
    return false;
}

/* To the directory: from there the library finds those that it needs. */
bool link_library(library_links *links, char library[PATH_MAX])
{
    char link[LINK_PATH], path[PATH_MAX];
    if (!strpbrk(library, " :;$")) return true;
    if (!make_dir(links)) return false;
    char *slash = strrchr(library, '/');
    name_link(links, links->count, link);
    snprintf(path, sizeof path, "%s%s", link, slash);
    *slash = '\0';
    if (symlink(library, link) != 0) return false;
    links->count++;
    memcpy(library, path, strlen(path) + 1);
    return true;
}

void remove_library_links(const library_links *links)
{
    char link[LINK_PATH];
    if (!*links->dir) return;
    for (unsigned i = 0; i < links->count; i++) {
        name_link(links, i, link);
        unlink(link);
    }
    rmdir(links->dir);
}
