/* SPDX-License-Identifier: MIT
 *
 * Any bytes as JSON from a user: refused with words, or made one line that a JSON parser of others
 * reads as well, and that comes out of a second time as it went in.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/json_line.h"
#include "fuzz.h"

static void check_line(hb_buf *line)
{
    hb_buf again;
    const char *text = hb_buf_text(line);
    for (const char *p = text; *p; p++)
        CHECK((unsigned char)*p >= ' ');
    cJSON *value = cJSON_ParseWithOpts(text, NULL, true);
    CHECK(value);
    cJSON_Delete(value);
    hb_buf_init(&again, SIZE_MAX / 2);
    CHECK(hb_json_line(&again, text, "again") == HB_OK);
    CHECK(strcmp(text, hb_buf_text(&again)) == 0);
    CHECK(hb_json_is_valid(text));
    hb_buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    hb_buf line;
    CHECK(text);
    memcpy(text, data, size);
    text[size] = 0;
    hb_buf_init(&line, SIZE_MAX / 2);
    hb_result result = hb_json_line(&line, text, "metadata");
    CHECK(result == HB_OK || result == HB_ERROR_FORMAT);
    CHECK(!hb_json_is_valid(text) || result == HB_OK);
    if (result == HB_OK)
        check_line(&line);
    else
        CHECK(strncmp(hb_last_error(), "metadata is not JSON at byte ", 29) == 0);
    hb_buf_free(&line);
    free(text);
    return 0;
}
