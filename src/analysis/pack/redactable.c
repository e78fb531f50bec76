/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "pack/redact_files.h"

/* Every second byte of what is UTF-16, or more, is 0 where its letters are of ASCII. */
static bool is_wide(const char *s, size_t size)
{
    bool marked = size >= 2 && (memcmp(s, "\xff\xfe", 2) == 0 || memcmp(s, "\xfe\xff", 2) == 0);
    return marked || (size >= 4 && (!s[0] != !s[1]) && (!s[2] != !s[3]));
}

hb_result hb_redactable_open(hb_text *text, const char *path)
{
    HB_TRY(hb_text_open(text, path, HB_TEXT_AUTO));
    while (text->size < 4 && hb_text_more(text, 0))
        continue;
    if (!is_wide(text->data, text->size)) return HB_OK;
    hb_text_close(text);
    return hb_fail(HB_ERROR_UNSUPPORTED, "it is UTF-16, which is not redacted: make UTF-8 of it");
}
