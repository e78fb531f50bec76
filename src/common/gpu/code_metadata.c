/* SPDX-License-Identifier: MIT */
#include "gpu/code_metadata.h"

#include <elf.h>

#define NT_AMDGPU_METADATA 32

enum { DEEPEST = 32 };

/* ---- the note ---- */

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

const void *hb_code_note(const void *notes, size_t size, size_t *note_size)
{
    static const char owner[] = "AMDGPU";
    const char *at = notes;
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, at, sizeof h);
        size_t name = padded(h.n_namesz), desc = padded(h.n_descsz), rest = size - sizeof h;
        if (name > rest || h.n_descsz > rest - name) return NULL;
        const char *text = at + sizeof h;
        if (h.n_type == NT_AMDGPU_METADATA && h.n_namesz == sizeof owner &&
            memcmp(text, owner, sizeof owner) == 0) {
            *note_size = h.n_descsz;
            return text + name;
        }
        size_t all = HB_MIN(name + desc, rest);
        at = text + all;
        size = rest - all;
    }
    return NULL;
}

/* ---- MessagePack ---- */

typedef struct reader {
    const uint8_t *at, *end;
    bool failed;
} reader;

enum kind { NOTHING, NUMBER, TEXT, ARRAY, MAP, OTHER };

typedef struct value {
    enum kind kind;
    uint64_t number;  /* NUMBER */
    uint64_t size;    /* TEXT: bytes, ARRAY: values, MAP: pairs, OTHER: bytes */
    const char *text; /* TEXT */
} value;

static uint64_t big_endian(reader *r, unsigned bytes)
{
    uint64_t n = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->failed = true;
        r->at = r->end;
        return 0;
    }
    while (bytes--)
        n = n << 8 | *r->at++;
    return n;
}

static value sized(enum kind kind, uint64_t size)
{
    return (value){.kind = kind, .size = size};
}

static value numbered(uint64_t number)
{
    return (value){.kind = NUMBER, .number = number};
}

static value long_form(reader *r, uint8_t tag)
{
    static const uint8_t extension[] = {1, 2, 4, 8, 16};
    switch (tag) {
    case 0xc0:
    case 0xc2:
    case 0xc3: return sized(OTHER, 0);
    case 0xc4:
    case 0xc5:
    case 0xc6: return sized(OTHER, big_endian(r, 1u << (tag - 0xc4)));
    case 0xc7:
    case 0xc8:
    case 0xc9: return sized(OTHER, big_endian(r, 1u << (tag - 0xc7)) + 1);
    case 0xca: return sized(OTHER, 4);
    case 0xcb: return sized(OTHER, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return numbered(big_endian(r, 1u << (tag - 0xcc)));
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return numbered(big_endian(r, 1u << (tag - 0xd0)));
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8: return sized(OTHER, (uint64_t)extension[tag - 0xd4] + 1);
    case 0xd9:
    case 0xda:
    case 0xdb: return sized(TEXT, big_endian(r, 1u << (tag - 0xd9)));
    case 0xdc:
    case 0xdd: return sized(ARRAY, big_endian(r, tag == 0xdc ? 2 : 4));
    case 0xde:
    case 0xdf: return sized(MAP, big_endian(r, tag == 0xde ? 2 : 4));
    default: r->failed = true; return sized(NOTHING, 0);
    }
}

static value short_or_long(reader *r, uint8_t tag)
{
    if (tag < 0x80) return numbered(tag);
    if (tag < 0x90) return sized(MAP, tag & 0x0f);
    if (tag < 0xa0) return sized(ARRAY, tag & 0x0f);
    if (tag < 0xc0) return sized(TEXT, tag & 0x1f);
    if (tag >= 0xe0) return numbered((uint64_t)(int8_t)tag);
    return long_form(r, tag);
}

/* The next value; of arrays and maps only how much is in them. */
static value next(reader *r)
{
    value v = short_or_long(r, (uint8_t)big_endian(r, 1));
    if (v.kind == TEXT || v.kind == OTHER) {
        if ((uint64_t)(r->end - r->at) < v.size) r->failed = true;
        v.text = (const char *)r->at;
        r->at += r->failed ? 0 : v.size;
    }
    return r->failed ? (value){0} : v;
}

/* All that is in `v`; each value takes at least a byte, so that this ends. */
static void skip(reader *r, const value *v, unsigned depth)
{
    uint64_t values = v->kind == ARRAY ? v->size : v->kind == MAP ? 2 * v->size : 0;
    if (values && depth == DEEPEST) r->failed = true;
    for (uint64_t i = 0; i < values && !r->failed; i++) {
        value inner = next(r);
        skip(r, &inner, depth + 1);
    }
}

static bool is(const value *v, const char *text)
{
    size_t n = strlen(text);
    return v->kind == TEXT && v->size == n && memcmp(v->text, text, n) == 0;
}

/* ---- kernels ---- */

static void take(hb_code_kernel *k, const value *key, const value *v)
{
    const struct {
        const char *key;
        uint32_t *to;
    } numbers[] = {
        {".vgpr_count", &k->vgprs},
        {".agpr_count", &k->agprs},
        {".sgpr_count", &k->sgprs},
        {".group_segment_fixed_size", &k->lds_bytes},
        {".private_segment_fixed_size", &k->scratch_bytes},
    };
    if (v->kind == TEXT && is(key, ".name")) {
        k->name = v->text;
        k->name_size = (uint32_t)v->size;
    }
    for (size_t i = 0; v->kind == NUMBER && i < HB_ARRAY_LEN(numbers); i++)
        if (is(key, numbers[i].key))
            *numbers[i].to = (uint32_t)HB_MIN(v->number, (uint64_t)UINT32_MAX);
    if (v->kind == NUMBER && is(key, ".agpr_count")) k->has_agprs = true;
}

static bool read_kernel(reader *r, hb_code_kernel *k)
{
    value map = next(r);
    *k = (hb_code_kernel){0};
    if (map.kind != MAP) {
        skip(r, &map, 0);
        return false;
    }
    for (uint64_t i = 0; i < map.size && !r->failed; i++) {
        value key = next(r), v = next(r);
        take(k, &key, &v);
        skip(r, &key, 0);
        skip(r, &v, 0);
    }
    return !r->failed && k->name_size;
}

bool hb_code_kernels(const void *note, size_t size,
                     void (*fn)(void *context, const hb_code_kernel *), void *context)
{
    reader r = {note, (const uint8_t *)note + size, false};
    hb_code_kernel kernel;
    value map = next(&r);
    if (map.kind != MAP) return false;
    for (uint64_t i = 0; i < map.size && !r.failed; i++) {
        value key = next(&r), v = next(&r);
        bool kernels = is(&key, "amdhsa.kernels") && v.kind == ARRAY;
        for (uint64_t k = 0; kernels && k < v.size && !r.failed; k++)
            if (read_kernel(&r, &kernel)) fn(context, &kernel);
        if (!kernels) skip(&r, &v, 0);
    }
    return !r.failed;
}
