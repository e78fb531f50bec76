/* SPDX-License-Identifier: MIT
 *
 * hipboard/page.h: what the page asks for, address by address.
 */
#include <stdlib.h>

#include "base/c_locale.h"
#include "logdir/open_options.h"
#include "page/page_files.h"
#include "page/page_views.h"
#include "routes/url.h"

static const struct {
    const char *route;
    hb_page_view view;
} views[] = {{"hb/steps", hb_page_steps},     {"hb/operators", hb_page_operators},
             {"hb/kernels", hb_page_kernels}, {"hb/gpu", hb_page_gpu},
             {"hb/memory", hb_page_memory},   {"hb/modules", hb_page_modules},
             {"hb/stacks", hb_page_stacks},   {"hb/timeline", hb_page_tracks}};

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

hb_result hb_page_open(const char *const *paths, size_t num_paths, const hb_open_options *options,
                       hb_page **page)
{
    if (!page || !paths || !num_paths)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path is given");
    *page = NULL;
    hb_page *made = calloc(1, sizeof *made);
    if (!made) return hb_no_memory();
    hb_result result = hb_open_options_take(options, &made->open);
    made->open.unify = true;
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
    free(page);
}

size_t hb_page_num_traces(const hb_page *page)
{
    return page ? page->num_traces : 0;
}

/* ---- answers ---- */

static hb_result find_trace(hb_page *page, const hb_url *url, hb_page_trace **trace)
{
    *trace = hb_page_trace_of(page, hb_url_get(url, "trace"));
    if (!*trace) return hb_url_get(url, "trace") ? HB_ERROR_NOT_FOUND : HB_ERROR_INVALID_ARGUMENT;
    return hb_page_read(page, *trace);
}

static hb_result time_of(const hb_url *url, const char *name, int64_t *time)
{
    const char *text = hb_url_get(url, name);
    char *end;
    if (!text) return HB_OK;
    *time = strtoll(text, &end, 10);
    if (*end || end == text || *time < 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s=%s is not a number of ns", name, text);
    return HB_OK;
}

static hb_result put_slices(hb_page_trace *trace, const hb_url *url, hb_buf *buf)
{
    hb_timeline *timeline;
    HB_TRY(hb_page_timeline(trace, &timeline));
    hb_slice_window window = {0, timeline->end - timeline->start + 1, 0};
    HB_TRY(time_of(url, "from", &window.from));
    HB_TRY(time_of(url, "to", &window.to));
    HB_TRY(time_of(url, "cell", &window.cell));
    if (window.to < window.from)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "the window ends before it begins");
    hb_page_put_slices(timeline, &window, buf);
    return HB_OK;
}

static hb_result ask_binary(hb_page *page, const hb_url *url, hb_buf *buf)
{
    hb_page_trace *trace;
    HB_TRY(find_trace(page, url, &trace));
    if (strcmp(url->route, "hb/timeline/launches") == 0) return hb_page_put_launches(trace, buf);
    return put_slices(trace, url, buf);
}

static hb_result ask_trace(hb_page *page, const hb_url *url, hb_emitter *out)
{
    hb_page_trace *trace;
    HB_TRY(find_trace(page, url, &trace));
    if (strcmp(url->route, "hb/overview") == 0) return hb_page_overview(page, trace, out);
    if (strcmp(url->route, "hb/ranks") == 0) return hb_page_ranks(page, trace, out);
    for (size_t i = 0; i < HB_ARRAY_LEN(views); i++)
        if (strcmp(views[i].route, url->route) == 0) return views[i].view(trace, out);
    return hb_fail(HB_ERROR_NOT_FOUND, "no route '%s'", url->route);
}

static hb_result ask_json(hb_page *page, const hb_url *url, hb_emitter *out)
{
    hb_emit_open(out, '{');
    if (strcmp(url->route, "hb/about") == 0)
        HB_TRY(hb_page_about(page, out));
    else if (strcmp(url->route, "hb/compare") == 0)
        HB_TRY(hb_page_compare(page, out));
    else
        HB_TRY(ask_trace(page, url, out));
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
