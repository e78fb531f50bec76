/* SPDX-License-Identifier: MIT */
#include "pack/redact_files.h"
#include "read/encoding.h"

hb_result hb_redactable_open(hb_text *text, const char *path)
{
    HB_TRY(hb_text_open(text, path, HB_TEXT_AUTO));
    while (text->size < 4 && hb_text_more(text, 0))
        continue;
    unsigned width = hb_encoding_of(text->data, text->size).width;
    if (width == 1) return HB_OK;
    hb_text_close(text);
    return hb_fail(HB_ERROR_UNSUPPORTED, "it is UTF-%u, which is not redacted: make UTF-8 of it",
                   8 * width);
}
