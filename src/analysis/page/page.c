/* SPDX-License-Identifier: MIT
 *
 * hipboard/page.h: what the page asks for, address by address.
 */
#include <stdlib.h>

#include "base/c_locale.h"
#include "base/memory_share.h"
#include "logdir/open_options.h"
#include "page/page_files.h"
#include "page/page_views.h"
#include "routes/url.h"

static const struct {
    const char *route;
    hb_page_view view;
} views[] = {{"hb/overview", hb_page_overview}, {"hb/plugin", hb_page_plugin},
             {"hb/steps", hb_page_steps},       {"hb/operators", hb_page_operators},
             {"hb/kernels", hb_page_kernels},   {"hb/roofline", hb_page_roofline},
             {"hb/gpu", hb_page_gpu},           {"hb/memory", hb_page_memory},
             {"hb/modules", hb_page_modules},   {"hb/stacks", hb_page_stacks},
             {"hb/timeline", hb_page_tracks}};

/* Of a part of it. */
static const struct {
    const char *route;
    hb_page_question question;
} questions[] = {{"hb/timeline/find", hb_page_find_slices},
                 {"hb/timeline/sums", hb_page_sum_slices},
                 {"hb/timeline/rows", hb_page_place_rows},
                 {"hb/timeline/counters", hb_page_counters}};

static const char html_type[] = "text/html; charset=utf-8";
static const char json_type[] = "application/json; charset=utf-8";
static const char binary_type[] = "application/octet-stream";

/* ---- open and close ---- */

static hb_result copy_paths(hb_page *page, const char *const *paths, size_t count)
{
    page->paths = calloc(count, sizeof *page->paths);
    if (!page->paths) return hb_no_memory();
    for (size_t i = 0; i < count; i++) {
        page->paths[page->num_paths] = strdup(paths[i]);
        if (!page->paths[page->num_paths++]) return hb_no_memory();
    }
    return HB_OK;
}

static hb_result take_options(hb_page *page, const hb_page_options *options)
{
    hb_page_options o = HB_PAGE_OPTIONS_INIT;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_PAGE_OPTIONS_INIT"));
    page->live = o.live;
    page->max_memory = o.max_memory ? o.max_memory : hb_memory_share() / 2;
    HB_TRY(hb_open_options_take(o.open, &page->open));
    page->open.unify = true;
    return HB_OK;
}

hb_result hb_page_open(const char *const *paths, size_t num_paths, const hb_page_options *options,
                       hb_page **page)
{
    if (!page || !paths || !num_paths)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path is given");
    *page = NULL;
    hb_page *made = calloc(1, sizeof *made);
    if (!made) return hb_no_memory();
    pthread_mutex_init(&made->several, NULL);
    pthread_mutex_init(&made->finding, NULL);
    pthread_mutex_init(&made->lock, NULL);
    hb_result result = take_options(made, options);
    if (result == HB_OK) result = copy_paths(made, paths, num_paths);
    if (result == HB_OK) result = hb_page_find(made);
    if (result != HB_OK)
        hb_page_close(made);
    else
        *page = made;
    return result;
}

void hb_page_close(hb_page *page)
{
    if (!page) return;
    hb_page_forget(page);
    for (size_t i = 0; i < page->num_paths; i++)
        free(page->paths[i]);
    free(page->paths);
    pthread_mutex_destroy(&page->several);
    pthread_mutex_destroy(&page->finding);
    pthread_mutex_destroy(&page->lock);
    free(page);
}

size_t hb_page_num_traces(hb_page *page)
{
    if (!page) return 0;
    pthread_mutex_lock(&page->lock);
    size_t count = page->num_traces;
    pthread_mutex_unlock(&page->lock);
    return count;
}

/* ---- answers ---- */

static hb_result put_slices(hb_page_trace *trace, const hb_url *url, hb_buf *buf)
{
    hb_timeline *timeline;
    hb_slice_window window;
    HB_TRY(hb_page_timeline(trace, &timeline));
    HB_TRY(hb_page_window(timeline, url, &window));
    hb_page_put_slices(timeline, &window, buf);
    return HB_OK;
}

static hb_result ask_binary(hb_page *page, const hb_url *url, hb_buf *buf)
{
    hb_page_trace *trace;
    HB_TRY(hb_page_use(page, hb_url_get(url, "trace"), &trace));
    bool launches = strcmp(url->route, "hb/timeline/launches") == 0;
    hb_result result = launches ? hb_page_put_launches(trace, buf) : put_slices(trace, url, buf);
    hb_page_leave(trace);
    return result;
}

static hb_result ask_part(hb_page *page, const hb_url *url, hb_page_question question,
                          hb_emitter *out)
{
    hb_page_trace *trace;
    HB_TRY(hb_page_use(page, hb_url_get(url, "trace"), &trace));
    hb_result result = question(trace, url, out);
    hb_page_leave(trace);
    return result;
}

static hb_result ask_trace(hb_page *page, const hb_url *url, hb_emitter *out)
{
    hb_page_trace *trace;
    for (size_t i = 0; i < HB_ARRAY_LEN(questions); i++)
        if (strcmp(questions[i].route, url->route) == 0)
            return ask_part(page, url, questions[i].question, out);
    for (size_t i = 0; i < HB_ARRAY_LEN(views); i++) {
        if (strcmp(views[i].route, url->route) != 0) continue;
        HB_TRY(hb_page_use(page, hb_url_get(url, "trace"), &trace));
        hb_result result = views[i].view(trace, out);
        hb_page_leave(trace);
        return result;
    }
    return hb_fail(HB_ERROR_NOT_FOUND, "no route '%s'", url->route);
}

/* Of all traces, or how things are with one: nobody waits. */
static hb_result ask_page(hb_page *page, const hb_url *url, hb_emitter *out)
{
    const char *trace = hb_url_get(url, "trace");
    if (strcmp(url->route, "hb/about") == 0) return hb_page_about(page, out);
    if (strcmp(url->route, "hb/changes") == 0) return hb_page_changes(page, out);
    if (strcmp(url->route, "hb/progress") == 0) return hb_page_progress(page, trace, out);
    if (strcmp(url->route, "hb/compare") == 0) return hb_page_compare(page, out);
    if (strcmp(url->route, "hb/ranks") == 0) return hb_page_ranks(page, trace, out);
    return ask_trace(page, url, out);
}

static hb_result ask_json(hb_page *page, const hb_url *url, hb_emitter *out)
{
    hb_emit_open(out, '{');
    HB_TRY(ask_page(page, url, out));
    hb_emit_close(out, '}');
    return HB_OK;
}

static hb_result ask(hb_page *page, const hb_url *url, hb_buf *buf, const char **type)
{
    hb_emitter out = {buf, false};
    *type = json_type;
    if (strcmp(url->route, "hb/timeline/slices") == 0 ||
        strcmp(url->route, "hb/timeline/launches") == 0) {
        *type = binary_type;
        return ask_binary(page, url, buf);
    }
    if (strcmp(url->route, "hb/report") == 0) {
        *type = html_type;
        return hb_page_put_report(page, hb_url_get(url, "run"), buf);
    }
    if (strncmp(url->route, "hb/", 3) == 0) return ask_json(page, url, &out);
    return hb_page_file_text(*url->route ? url->route : "index.html", buf, type);
}

hb_result hb_page_ask(hb_page *page, const char *address, hb_page_answer *answer)
{
    hb_url url;
    hb_buf buf;
    if (!page || !address || !answer)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *answer = (hb_page_answer){0};
    HB_TRY(hb_url_parse(&url, address));
    hb_buf_init(&buf, SIZE_MAX / 2);
    locale_t before = hb_enter_c_locale();
    hb_result result = ask(page, &url, &buf, &answer->type);
    hb_leave_c_locale(before);
    hb_url_free(&url);
    return hb_buf_hand_out(&buf, result, &answer->body, &answer->size);
}
