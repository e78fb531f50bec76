/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a request to `hipboard serve`, five lines: method, Host, Sec-Fetch-Site, token and
 * address. It is refused with a status and words, or the page answers; only who has the token hears
 * of traces, and nobody of a file beside them.
 */
#include <hipboard/page.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "serve_check.h"

#define TRACE                                                                              \
    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "          \
    "\"ProfilerStep#1\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 9}, {\"ph\": \"X\", " \
    "\"cat\": \"cpu_op\", \"name\": \"of_a_trace\", \"pid\": 1, \"tid\": 1, \"ts\": 1, "   \
    "\"dur\": 5}]}"
#define SECRET "of nobody's business"

/* ---- a log directory, and a file beside it ---- */

static char root[] = "/tmp/fuzz_serve_XXXXXX";
static hb_page *page;

static void path_of(const char *name, char path[64])
{
    snprintf(path, 64, "%s/%s", root, name);
}

static void write_file(const char *name, const char *text)
{
    char path[64];
    path_of(name, path);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void tidy(void)
{
    static const char *const names[] = {"runs/a.1.pt.trace.json", "runs/b.1.pt.trace.json",
                                        "secret", "runs", ""};
    char path[64];
    hb_page_close(page);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(names[i], path);
        remove(path);
    }
}

static void prepare(void)
{
    char path[64];
    const char *paths[] = {path};
    CHECK(mkdtemp(root));
    path_of("runs", path);
    CHECK(mkdir(path, 0700) == 0);
    write_file("runs/a.1.pt.trace.json", TRACE);
    write_file("runs/b.1.pt.trace.json", "{");
    write_file("secret", SECRET);
    CHECK(hb_page_open(paths, 1, NULL, &page) == HB_OK);
    atexit(tidy);
}

/* ---- requests ---- */

static bool holds(const hb_page_answer *answer, const char *text)
{
    return memmem(answer->body, answer->size, text, strlen(text)) != NULL;
}

static void check_answer(const char *address, bool admitted)
{
    hb_page_answer answer;
    char tag[SERVE_TAG];
    hb_result result = hb_page_ask(page, address, &answer);
    if (result != HB_OK) {
        CHECK(hb_last_error()[0]);
        return;
    }
    CHECK(answer.body && answer.type && !holds(&answer, SECRET));
    CHECK(admitted || (!holds(&answer, "of_a_trace") && !holds(&answer, "runs/a.1")));
    serve_tag(answer.body, answer.size, tag);
    CHECK(strlen(tag) == 18 && serve_has_tag(tag, tag));
    hb_free(answer.body);
}

static void check_request(const serve_request *r)
{
    serve_door door = {"127.0.0.1", "machine", "word"};
    serve_refusal refusal = serve_check(&door, r);
    bool knows = strcmp(r->token, door.token) == 0;
    if (refusal.status) {
        CHECK(refusal.status >= 400 && refusal.status < 500 && refusal.text[0]);
        return;
    }
    CHECK(strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0);
    CHECK(r->address[0] == '/' && *r->host && strlen(r->address) <= 4096);
    check_answer(r->address + 1, knows && strcmp(r->site, "cross-site") != 0);
}

/* The text up to the next line's end, which becomes its end. */
static const char *take_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *at = text;
    if (!page) prepare();
    memcpy(text, data, size);
    text[size] = 0;
    serve_request r;
    r.method = take_line(&at);
    r.host = take_line(&at);
    r.site = take_line(&at);
    r.token = take_line(&at);
    r.address = take_line(&at);
    check_request(&r);
    free(text);
    return 0;
}
