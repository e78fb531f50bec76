/* SPDX-License-Identifier: MIT
 *
 * log_events DIR: logs into DIR what standard input says, one call a line, its arguments
 * separated by tabs:
 *
 *     scalar TAG STEP VALUE           count TAG N       N scalars, steps and values 0 to N - 1
 *     text TAG STEP TEXT              \n in TEXT is a newline
 *     histogram TAG STEP VALUE...
 *     hparam NAME number|text|bool VALUE, metric TAG, hparams     the last one logs
 *     chart CATEGORY TITLE lines|margin TAG..., layout            the last one logs
 *     session success|failure         end without close saying so
 *     flush                           prints the result
 *
 * Every line but flush must succeed. The last output is the result of close.
 */
#include <hipboard/event_log.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 64

static hb_event_log *event_log;

/* What hparams and layout log. Their strings live until the program ends. */
static hb_hparam hparams[MAX_PARTS];
static const char *metrics[MAX_PARTS];
static hb_chart charts[MAX_PARTS];
static hb_chart_category categories[MAX_PARTS];
static size_t num_hparams, num_metrics, num_charts, num_categories;

static void check(hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "log_events: %s\n", hb_last_error());
    exit(1);
}

static int split(char *line, char **parts)
{
    int n = 0;
    for (char *part; n < MAX_PARTS && (part = strsep(&line, "\t"));)
        parts[n++] = part;
    return n;
}

static char *with_newlines(char *text)
{
    for (char *at = text; (at = strstr(at, "\\n")); at++) {
        *at = '\n';
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    }
    return text;
}

static void log_histogram(char **parts, int n)
{
    double values[MAX_PARTS];
    for (int i = 3; i < n; i++)
        values[i - 3] = atof(parts[i]);
    check(hb_event_log_histogram(event_log, parts[1], atoll(parts[2]), values, (size_t)n - 3));
}

static void add_hparam(char **parts)
{
    const char *name = strdup(parts[1]), *value = strdup(parts[3]);
    hb_hparam number = HB_HPARAM(name, atof(value)), text = HB_HPARAM_TEXT(name, value);
    hb_hparam boolean = HB_HPARAM_BOOL(name, strcmp(value, "true") == 0);
    hparams[num_hparams++] = strcmp(parts[2], "number") == 0 ? number
                             : strcmp(parts[2], "text") == 0 ? text
                                                             : boolean;
}

static void add_chart(char **parts, int n)
{
    const char **tags = calloc((size_t)n, sizeof *tags);
    for (int i = 4; i < n; i++)
        tags[i - 4] = strdup(parts[i]);
    if (num_categories == 0 || strcmp(categories[num_categories - 1].title, parts[1]) != 0)
        categories[num_categories++] =
            (hb_chart_category){.title = strdup(parts[1]), .charts = &charts[num_charts]};
    categories[num_categories - 1].num_charts++;
    charts[num_charts++] = (hb_chart){.title = strdup(parts[2]),
                                      .tags = tags,
                                      .num_tags = (size_t)n - 4,
                                      .margin = strcmp(parts[3], "margin") == 0};
}

static void do_line(char *line)
{
    char *parts[MAX_PARTS] = {0};
    int n = split(line, parts);
    const char *what = parts[0];
    if (strcmp(what, "scalar") == 0)
        check(hb_event_log_scalar(event_log, parts[1], atoll(parts[2]), atof(parts[3])));
    else if (strcmp(what, "count") == 0)
        for (int i = 0; i < atoi(parts[2]); i++)
            check(hb_event_log_scalar(event_log, parts[1], i, i));
    else if (strcmp(what, "text") == 0)
        check(hb_event_log_text(event_log, parts[1], atoll(parts[2]), with_newlines(parts[3])));
    else if (strcmp(what, "histogram") == 0)
        log_histogram(parts, n);
    else if (strcmp(what, "hparam") == 0)
        add_hparam(parts);
    else if (strcmp(what, "metric") == 0)
        metrics[num_metrics++] = strdup(parts[1]);
    else if (strcmp(what, "hparams") == 0)
        check(hb_event_log_hparams(event_log, hparams, num_hparams, metrics, num_metrics));
    else if (strcmp(what, "chart") == 0)
        add_chart(parts, n);
    else if (strcmp(what, "layout") == 0)
        check(hb_event_log_layout(event_log, categories, num_categories));
    else if (strcmp(what, "session") == 0)
        check(hb_event_log_session_end(
            event_log, strcmp(parts[1], "success") == 0 ? HB_SESSION_SUCCESS : HB_SESSION_FAILURE));
    else if (strcmp(what, "flush") == 0)
        puts(hb_result_text(hb_event_log_flush(event_log)));
    else
        check(HB_ERROR_INVALID_ARGUMENT);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    event_log = hb_event_log_open(argv[1], NULL);
    if (!event_log) fprintf(stderr, "log_events: %s\n", hb_last_error());
    puts(event_log ? "open" : "not open"); /* a program without a log goes on */
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; (size = getline(&line, &capacity, stdin)) > 0;) {
        if (line[size - 1] == '\n') line[size - 1] = '\0';
        do_line(line);
    }
    free(line);
    puts(hb_result_text(hb_event_log_close(event_log)));
    return 0;
}
