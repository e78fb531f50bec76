/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <sys/stat.h>

#include <hipboard/page.h>

#include "cut_inputs.h"
#include "inputs.h"
#include "options.h"
#include "progress.h"
#include "selection.h"

typedef struct request {
    const char *output;
    uint64_t max_size;
    selection selection;
    int status;
} request;

static void left_out(void *context, const char *path, const char *reason)
{
    request *r = context;
    (void)path; /* the reason names it */
    progress_clear();
    fprintf(stderr, "hipboard report: left out: %s\n", reason);
    r->status = EXIT_FAILED;
}

static hb_result write_page(request *r, char *const *paths, size_t count)
{
    hb_page *page;
    hb_open_options open = progress_options();
    hb_page_options page_options = HB_PAGE_OPTIONS_INIT;
    hb_report_options options = HB_REPORT_OPTIONS_INIT;
    page_options.open = &open;
    options.max_size = r->max_size;
    options.left_out = left_out;
    options.context = r;
    hb_result result = hb_page_open((const char *const *)paths, count, &page_options, &page);
    if (result != HB_OK) return result;
    result = hb_page_write_report(page, r->output, &options);
    hb_page_close(page);
    return result;
}

static bool make(request *r, char *const *paths, size_t count)
{
    hb_result result = write_page(r, paths, count);
    progress_clear();
    if (result != HB_OK) fprintf(stderr, "hipboard report: %s\n", hb_last_error());
    return result == HB_OK;
}

static bool make_of_part(request *r, const arguments *args)
{
    cut_inputs cut = {0};
    bool made = cut_inputs_make(&cut, "report", args->words, (size_t)args->count, &r->selection) &&
                make(r, &cut.pack, 1);
    if (cut.left_out) r->status = EXIT_FAILED;
    cut_inputs_free(&cut);
    return made;
}

/* Tables and the page itself are never left out. */
static void tell_size(const request *r)
{
    struct stat st;
    if (!r->max_size || stat(r->output, &st) != 0 || (uint64_t)st.st_size <= r->max_size) return;
    fprintf(stderr,
            "hipboard report: %s has %llu bytes, more than --max-size: it is as small as a report "
            "of this gets. Name fewer traces, or less of them: --steps, --time\n",
            r->output, (unsigned long long)st.st_size);
}

static int run(arguments *args)
{
    request r = {.output = "report.html", .selection = SELECT_ALL, .status = EXIT_FINE};
    if (!parse_options(&cmd_report, args, &r)) return args->status;
    bool made = is_selected(&r.selection) ? make_of_part(&r, args)
                                          : make(&r, args->words, (size_t)args->count);
    if (!made) return EXIT_FAILED;
    printf("%s\n", r.output);
    tell_size(&r);
    return r.status;
}

static const option_spec options[] = {
    {'o', "output", "FILE", "the page (default report.html); replaced if it exists", INTO(output)},
    {0, "max-size", "SIZE",
     "bytes of the file (default 10M; K, M, G: times 1024): where a timeline does not fit, it "
     "shows the whole in outline, and some steps in full",
     INTO_BY(take_size, max_size)},
    CHOICE_OPTIONS,
    {0},
};

const command cmd_report = {
    .name = "report",
    .summary = "write a page for a browser, which needs nothing else",
    .synopsis = "[-o FILE] [OPTIONS] PATH...",
    .about = "Writes one file that shows traces in a browser: overview, steps, operators, kernels, "
             "GPUs, timeline, memory, modules, ranks, runs side by side. It can be mailed, asks "
             "for nothing from any network, and shows the same numbers years later. PATH is a "
             "trace file, plain or gzipped, a log directory or a run's directory.",
    .options = options,
    .notes = "Numbers are those of `hipboard view`. Exit status 1 when a trace was left out, or "
             "nothing could be written.",
    .least = 1,
    .most = MANY,
    .wanted = "no trace or log directory is given",
    .run = run,
};
