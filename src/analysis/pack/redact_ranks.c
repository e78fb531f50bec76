/* SPDX-License-Identifier: MIT
 *
 * Digests of ranks: what tells who it was stands in front of each, then the list of names that the
 * rest has by number, and which is copied as it is. See plugin_format/hbranks.md.
 */
#include <string.h>

#include "base/bytes.h"
#include "digest/rank_digest.h"
#include "pack/redact_files.h"
#include "ranks/rank_file.h"
#include "read/text_window.h"

typedef struct digest {
    hb_redactor *redactor;
    const unsigned char *at, *end;
    hb_buf *out, text;
} digest;

static const hb_str no_key = {"", 0};

static bool next_text(digest *d, hb_str *text)
{
    uint64_t size;
    if (!hb_varint_get(&d->at, d->end, &size) || size > (uint64_t)(d->end - d->at)) return false;
    *text = (hb_str){(const char *)d->at, (uint32_t)size};
    d->at += size;
    return true;
}

static void put_text(digest *d, const char *text, size_t size)
{
    hb_buf_varint(d->out, size);
    hb_buf_append(d->out, text, size);
}

static bool take_text(digest *d, hb_str key)
{
    hb_str text;
    if (!next_text(d, &text)) return false;
    d->text.size = 0;
    hb_redact_text(d->redactor, key, text, &d->text);
    put_text(d, d->text.data ? d->text.data : "", d->text.size);
    return true;
}

/* A trace's file, or with `suffix` its worker: as the trace is called in the pack. */
static bool take_file(digest *d, const char *suffix)
{
    hb_str name;
    hb_buf file;
    if (!next_text(d, &name)) return false;
    hb_buf_init(&file, SIZE_MAX / 4);
    hb_buf_append(&file, name.s, name.len);
    hb_buf_str(&file, suffix);
    hb_str whole = {file.data ? file.data : "", (uint32_t)file.size};
    d->text.size = 0;
    if (d->redactor->learning)
        hb_redactor_learn_file_name(d->redactor, whole);
    else
        hb_redact_file_name(d->redactor, whole, &d->text);
    size_t behind = d->text.size ? strlen(suffix) : 0;
    put_text(d, d->text.data ? d->text.data : "", d->text.size - behind);
    d->out->failed |= file.failed;
    hb_buf_free(&file);
    return true;
}

/* False when it is none. */
static bool redact_digest(digest *d)
{
    enum { NUMBERS = 9 }; /* behind the origin's texts */
    uint64_t names, number;
    if (!take_text(d, HB_STR("host_name")) || !take_file(d, ".pt.trace.json") ||
        !take_file(d, "") || !take_text(d, no_key))
        return false;
    for (int i = 0; i < NUMBERS; i++) {
        if (!hb_varint_get(&d->at, d->end, &number)) return false;
        hb_buf_varint(d->out, number);
    }
    if (!hb_varint_get(&d->at, d->end, &names)) return false;
    hb_buf_varint(d->out, names);
    for (uint64_t i = 0; i < names; i++)
        if (!take_text(d, no_key)) return false;
    hb_buf_append(d->out, d->at, (size_t)(d->end - d->at));
    return true;
}

/* Appends the file's head and all digests up to one that is damaged. */
static bool redact_records(hb_redactor *redactor, hb_rank_records *records, hb_buf *file)
{
    hb_buf one;
    hb_str bytes;
    hb_rank_stamp stamp;
    bool whole = true;
    digest d = {.redactor = redactor, .out = &one};
    hb_buf_init(&one, SIZE_MAX / 4);
    hb_buf_init(&d.text, SIZE_MAX / 4);
    hb_rank_file_head(file);
    while (whole && hb_rank_records_next(records, &stamp, &bytes)) {
        d.at = (const unsigned char *)bytes.s;
        d.end = d.at + bytes.len;
        one.size = 0;
        whole = redact_digest(&d);
        if (whole) hb_rank_file_record(file, (hb_rank_stamp){0}, one.data, one.size);
    }
    file->failed |= one.failed || d.text.failed;
    hb_buf_free(&one);
    hb_buf_free(&d.text);
    return whole && !records->cut && !records->damaged;
}

static hb_result open_records(hb_rank_records *records, const char *path, hb_text *text)
{
    while (hb_text_more(text, 0))
        continue;
    if (text->result != HB_OK) return hb_fail(text->result, "%s: %s", path, text->error);
    if (text->size > UINT32_MAX)
        return hb_fail(HB_ERROR_UNSUPPORTED, "%s: digests of more than 4 GiB", path);
    return hb_rank_records_open(records, path, (hb_str){text->data, (uint32_t)text->size});
}

hb_result hb_redact_ranks(hb_redactor *redactor, const char *path, hb_sink *to, bool *cut)
{
    hb_text text;
    hb_buf file;
    hb_rank_records records;
    HB_TRY(hb_text_open(&text, path, HB_TEXT_PLAIN));
    hb_buf_init(&file, SIZE_MAX / 4);
    hb_result result = open_records(&records, path, &text);
    *cut = result == HB_OK && !redact_records(redactor, &records, &file);
    if (file.failed || redactor->failed) result = hb_no_memory();
    if (result == HB_OK && !redactor->learning) result = to->write(to, file.data, file.size);
    hb_buf_free(&file);
    hb_text_close(&text);
    return result;
}
