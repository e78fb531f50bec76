/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: a log directory asked as the plugin is asked.
 */
#include "base/c_locale.h"
#include "routes/routes_logdir.h"

hb_result hb_logdir_query(hb_logdir *logdir, const char *text, char **json, size_t *size)
{
    hb_url url;
    hb_buf buf;
    if (!logdir || !text || !json) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *json = NULL;
    HB_TRY(hb_url_parse(&url, text));
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_emitter out = {&buf, false};
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_query_logdir(logdir, &url, &out);
    hb_leave_c_locale(before);
    hb_url_free(&url);
    return hb_buf_hand_out(&buf, result, json, size);
}
