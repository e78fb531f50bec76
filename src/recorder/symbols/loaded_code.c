/* SPDX-License-Identifier: MIT
 *
 * All is read through /proc: it needs none of the dynamic linker's locks, in which a fork() of
 * another thread could leave a child stuck, and what is unmapped meanwhile is an error of read().
 */
#include "symbols/loaded_code.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "base/files.h"
#include "base/str.h"

/* ---- build ids ---- */

enum { MOST_HEADERS = 64, MOST_NOTES = 4096 };

static bool read_memory(int mem, uint64_t address, void *to, size_t bytes)
{
    return pread(mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* The id in a note segment, or NULL. */
static const unsigned char *find_id(const unsigned char *notes, size_t size, size_t align,
                                    uint32_t *id_size)
{
    ElfW(Nhdr) note;
    for (size_t at = 0; at + sizeof note <= size;) {
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, desc = name + HB_ROUND_UP(note.n_namesz, align);
        if (desc > size || note.n_descsz > size - desc) return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0) {
            *id_size = note.n_descsz;
            return notes + desc;
        }
        at = desc + HB_ROUND_UP(note.n_descsz, align);
    }
    return NULL;
}

/* Of the module whose file's beginning is mapped at `start`. */
static void put_build_id(hb_buf *to, int mem, uint64_t start)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) headers[MOST_HEADERS];
    unsigned char notes[MOST_NOTES];
    if (!read_memory(mem, start, &head, sizeof head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof *headers ||
        head.e_phnum > MOST_HEADERS ||
        !read_memory(mem, start + head.e_phoff, headers, head.e_phnum * sizeof *headers))
        return;
    for (int i = 0; i < head.e_phnum; i++) {
        const ElfW(Phdr) *p = &headers[i];
        uint32_t n;
        /* At its place in the file, from the beginning of which the code is mapped. */
        if (p->p_type != PT_NOTE || p->p_filesz > MOST_NOTES ||
            !read_memory(mem, start + p->p_offset, notes, p->p_filesz))
            continue;
        const unsigned char *id = find_id(notes, p->p_filesz, p->p_align == 8 ? 8 : 4, &n);
        if (!id) continue;
        hb_buf_printf(to, "build-id %llx ", (unsigned long long)start);
        for (uint32_t k = 0; k < n; k++)
            hb_buf_printf(to, "%02x", id[k]);
        hb_buf_str(to, "\n");
        return;
    }
}

/* ---- mapped files ---- */

static bool read_all(int fd, hb_buf *to)
{
    enum { PART = 1 << 16 };
    for (;;) {
        char *at = hb_buf_reserve(to, PART);
        ssize_t n = at ? read(fd, at, PART) : -1;
        if (n <= 0) return n == 0;
        to->size += (size_t)n;
    }
}

/* A line of /proc/PID/maps: "start-end perms offset device inode   /path". */
typedef struct mapping {
    hb_str line, path; /* with their newline; path.s NULL: of no file */
    unsigned long long start, end, offset;
    bool is_code;
} mapping;

static bool next_mapping(hb_str *text, mapping *m)
{
    char perms[8] = "";
    const char *newline = text->len ? memchr(text->s, '\n', text->len) : NULL;
    if (!newline) return false;
    *m = (mapping){.line = {text->s, (uint32_t)(newline + 1 - text->s)}};
    *text = (hb_str){newline + 1, text->len - m->line.len};
    const char *slash = memchr(m->line.s, '/', m->line.len);
    if (slash && slash > m->line.s && slash[-1] == ' ')
        m->path = (hb_str){slash, (uint32_t)(newline + 1 - slash)};
    if (sscanf(m->line.s, "%llx-%llx %7s %llx", &m->start, &m->end, perms, &m->offset) != 4)
        m->path.s = NULL;
    m->is_code = perms[2] == 'x';
    return true;
}

/* The mappings of each file that has code, which stand together. Data may come and go. */
static void put_mappings(hb_buf *to, int mem, hb_str maps)
{
    mapping m;
    hb_str file = {0};
    size_t begun = to->size;
    bool has_code = false;
    while (next_mapping(&maps, &m)) {
        bool goes_on =
            m.path.s && file.s && m.path.len == file.len && memcmp(m.path.s, file.s, file.len) == 0;
        if (!goes_on) {
            if (!has_code) to->size = begun;
            begun = to->size;
            has_code = false;
        }
        file = m.path;
        if (!file.s) continue;
        has_code |= m.is_code;
        hb_buf_append(to, m.line.s, m.line.len);
        if (m.offset == 0 && !goes_on) put_build_id(to, mem, m.start);
    }
    if (!has_code) to->size = begun;
}

void hb_put_loaded_code(hb_buf *to)
{
    hb_buf maps;
    hb_buf_init(&maps, to->max);
    int fd = hb_open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    int mem = hb_open_file("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0 && mem >= 0 && read_all(fd, &maps))
        put_mappings(to, mem, (hb_str){maps.data, (uint32_t)maps.size});
    if (fd >= 0) close(fd);
    if (mem >= 0) close(mem);
    hb_buf_free(&maps);
}

static bool find_path(hb_str maps, uint64_t address, char path[PATH_MAX])
{
    mapping m;
    while (next_mapping(&maps, &m)) {
        if (address < m.start || address >= m.end) continue;
        if (!m.path.s || m.path.len > PATH_MAX) return false;
        memcpy(path, m.path.s, m.path.len - 1);
        path[m.path.len - 1] = '\0';
        return true;
    }
    return false;
}

bool hb_mapped_path(const void *address, char path[PATH_MAX])
{
    enum { MOST_MAPS = 64 << 20 };
    hb_buf maps;
    hb_buf_init(&maps, MOST_MAPS);
    int fd = hb_open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    bool found = fd >= 0 && read_all(fd, &maps) &&
                 find_path((hb_str){maps.data, (uint32_t)maps.size}, (uintptr_t)address, path);
    if (fd >= 0) close(fd);
    hb_buf_free(&maps);
    return found;
}
