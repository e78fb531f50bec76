/* SPDX-License-Identifier: MIT */
#include "ops/op_list.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/str.h"

#define OWN           "libraries"
#define COMMUNICATION "communication"
#define WITHOUT       "without=communication"
#define LOADERS       "loaders"
#define LAUNCHES      "launches"
#define TORCH_NAMES   "names=torch"

/* Hipboard's own table of libraries that communicate between ranks. */
#define COMMUNICATION_TABLE "rccl.ops"

/* And of functions that read files. */
#define LOADERS_TABLE "io.ops"

/* And of HIP's calls that tell of steps. */
#define LAUNCHES_TABLE "launches.ops"

typedef struct reading {
    hb_op_table *table;
    const char *own;
    bool without;             /* communication */
    const hb_op_texts *texts; /* of its files; NULL: they are read */
    hb_op_error_fn error;
    void *context;
} reading;

/* Behind an entry. */
static const char *next_of(const char *list, hb_str *entry)
{
    size_t size = strcspn(list, ":\n");
    *entry = (hb_str){list, (uint32_t)size};
    return list + size + (list[size] != '\0');
}

static bool has(const char *list, const char *word)
{
    hb_str entry;
    for (const char *at = list; *at;) {
        at = next_of(at, &entry);
        if (hb_str_is(entry, word)) return true;
    }
    return false;
}

static int is_table(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && hb_path_ends(entry->d_name, ".ops");
}

/* Which word of a list stands for a table. */
static const char *word_of(const char *name)
{
    if (strcmp(name, LOADERS_TABLE) == 0) return LOADERS;
    if (strcmp(name, LAUNCHES_TABLE) == 0) return LAUNCHES;
    return strcmp(name, COMMUNICATION_TABLE) == 0 ? COMMUNICATION : OWN;
}

/* OWN: with communication, unless that is left out. */
static bool is_wanted(const reading *r, const char *word, const char *name)
{
    const char *of = word_of(name);
    bool with = strcmp(word, OWN) == 0 && strcmp(of, COMMUNICATION) == 0 && !r->without;
    return with || strcmp(word, of) == 0;
}

/* Addresses that own tables name are read without care, so they are the installer's, or ours. */
static bool is_trusted(const char *path, uid_t installer)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) &&
           (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == installer);
}

static hb_result read_own(const reading *r, const char *word)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct dirent **list;
    struct stat st;
    uid_t installer = stat(r->own, &st) == 0 ? st.st_uid : 0;
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(r->own, '/') - r->own), r->own);
    int n = scandir(dir, &list, is_table, alphasort);
    hb_result result = n < 0 ? hb_fail(HB_ERROR_IO, "'%s' can't be listed", dir) : HB_OK;
    for (int i = 0; i < n; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        bool fits = length > 0 && (size_t)length < sizeof path;
        bool wanted = is_wanted(r, word, list[i]->d_name);
        if (result == HB_OK && fits && wanted && is_trusted(path, installer))
            result = hb_op_table_read_file(r->table, path, false, r->error, r->context);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return result;
}

static const char *const own_words[] = {OWN, COMMUNICATION, LOADERS, LAUNCHES};

/* What the entry is of hipboard's own tables; NULL: none of them. */
static const char *own_word(hb_str entry)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(own_words); i++)
        if (hb_str_is(entry, own_words[i])) return own_words[i];
    return NULL;
}

bool hb_op_list_has_own(const char *list)
{
    hb_str entry;
    for (const char *at = list; *at;) {
        at = next_of(at, &entry);
        if (own_word(entry)) return true;
    }
    return false;
}

static bool is_path(hb_str entry)
{
    return entry.len && !hb_str_is(entry, TORCH_NAMES) && !hb_str_is(entry, WITHOUT) &&
           !own_word(entry);
}

static struct hb_op_text *find_text(const hb_op_texts *texts, hb_str path)
{
    for (uint32_t i = 0; i < texts->files.count; i++)
        if (hb_str_is(path, texts->files.items[i].path)) return &texts->files.items[i];
    return NULL;
}

static hb_result read_path(const reading *r, hb_str entry)
{
    struct hb_op_text *kept = r->texts ? find_text(r->texts, entry) : NULL;
    if (kept)
        return hb_op_table_read(r->table, kept->path, hb_buf_text(&kept->text), kept->text.size,
                                true, r->error, r->context);
    char *path = strndup(entry.s, entry.len);
    if (!path) return hb_no_memory();
    hb_result result = hb_op_table_read_file(r->table, path, true, r->error, r->context);
    free(path);
    return result;
}

static hb_result read_entry(const reading *r, hb_str entry)
{
    const char *own = own_word(entry);
    if (own) return read_own(r, own);
    return is_path(entry) ? read_path(r, entry) : HB_OK;
}

static void name_by_alias(hb_op_table *table)
{
    for (uint32_t i = 0; i < table->rows.count; i++)
        if (table->rows.items[i]->alias) table->rows.items[i]->name = table->rows.items[i]->alias;
}

hb_result hb_op_list_read_kept(hb_op_table *table, const char *list, const char *own,
                               const hb_op_texts *texts, hb_op_error_fn error, void *context)
{
    reading r = {table, own, has(list, WITHOUT), texts, error, context};
    hb_str entry;
    for (const char *at = list; *at;) {
        at = next_of(at, &entry);
        HB_TRY(read_entry(&r, entry));
    }
    if (has(list, TORCH_NAMES)) name_by_alias(table);
    return HB_OK;
}

hb_result hb_op_list_read(hb_op_table *table, const char *list, const char *own,
                          hb_op_error_fn error, void *context)
{
    return hb_op_list_read_kept(table, list, own, NULL, error, context);
}

/* ---- what is kept of files ---- */

static hb_result keep(hb_op_texts *texts, hb_str entry)
{
    char *path = strndup(entry.s, entry.len);
    hb_buf text;
    hb_result result = path ? hb_op_table_load(path, &text) : hb_no_memory();
    struct hb_op_text *kept = result == HB_OK ? find_text(texts, entry) : NULL;
    if (kept) {
        hb_buf_free(&kept->text);
        kept->text = text;
    } else if (result == HB_OK && (kept = HB_APPEND(&texts->files))) {
        *kept = (struct hb_op_text){path, text};
        return HB_OK;
    } else if (result == HB_OK) {
        hb_buf_free(&text);
        result = hb_no_memory();
    }
    free(path);
    return result;
}

hb_result hb_op_texts_keep(hb_op_texts *texts, const char *list)
{
    hb_str entry;
    for (const char *at = list; *at;) {
        at = next_of(at, &entry);
        if (is_path(entry)) HB_TRY(keep(texts, entry));
    }
    return HB_OK;
}
