/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a request to record: it is refused with words, or what it asks for is within bounds,
 * and the text that is made of it reads as the same request.
 */
#include <string.h>

#include "fuzz.h"
#include "profiler/request.h"

static void check_text(const char *text, size_t room)
{
    size_t n = strnlen(text, room);
    CHECK(n < room);
    for (size_t i = 0; i < n; i++)
        CHECK((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void check_request(const hb_request *r)
{
    CHECK(r->start_ms >= 0 && r->start_step >= -1 && r->roundup >= 1);
    CHECK(r->steps >= 0 && r->steps <= INT32_MAX);
    CHECK(r->duration_ms >= 0 && r->duration_ms <= INT32_MAX);
    check_text(r->id, sizeof r->id);
    check_text(r->reason, sizeof r->reason);
    check_text(r->log_file, sizeof r->log_file);
}

static void check_again(const hb_request *r)
{
    hb_buf text;
    hb_request again;
    hb_buf_init(&text, HB_REQUEST_MAX);
    hb_request_put(&text, r);
    CHECK(!text.failed && hb_request_parse(text.data, text.size, &again) == HB_OK);
    CHECK(again.start_ms == r->start_ms && again.start_step == r->start_step);
    CHECK(again.roundup == r->roundup && again.steps == r->steps);
    CHECK(again.duration_ms == r->duration_ms && again.details == r->details);
    CHECK(strcmp(again.id, r->id) == 0 && strcmp(again.log_file, r->log_file) == 0);
    CHECK(strcmp(again.reason, r->reason) == 0 && again.unknown == 0);
    hb_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hb_request r;
    hb_result result = hb_request_parse((const char *)data, size, &r);
    if (result != HB_OK) {
        CHECK(result == HB_ERROR_FORMAT && hb_last_error()[0]);
        return 0;
    }
    check_request(&r);
    check_again(&r);
    char *path = hb_request_path(r.log_file, 4711, 1);
    CHECK(path && strlen(path) == strlen(r.log_file) + 5);
    free(path);
    return 0;
}
