/* SPDX-License-Identifier: MIT
 *
 * The asking side: one process by its socket, or all of a job by a file.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profiler/control_file.h"
#include "profiler/control_socket.h"

enum { PATIENCE_MS = 10000 }; /* for the first answer: a process that is stopped gives none */

static int64_t unix_ms(void)
{
    return hb_clock_ns(CLOCK_REALTIME) / 1000000;
}

static hb_result check_option(const char *name, int64_t value)
{
    if (value >= 0 && value <= INT32_MAX) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, "trigger: %s %lld: expected 0 to 2147483647", name,
                   (long long)value);
}

static hb_result copy_text(char *to, size_t size, const char *from)
{
    if (!from) return HB_OK;
    if (strlen(from) >= size || strpbrk(from, "\n#"))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "trigger: \"%.60s\": expected less than %zu bytes without '#' in one line",
                       from, size);
    strcpy(to, from);
    return HB_OK;
}

static hb_result make_request(const hb_trigger_options *options, hb_request *r)
{
    hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_TRIGGER_OPTIONS_INIT"));
    HB_TRY(check_option("steps", o.steps));
    HB_TRY(check_option("time_ms", o.time_ms));
    HB_TRY(check_option("roundup", o.roundup));
    HB_TRY(check_option("delay_ms", o.delay_ms));
    *r = HB_REQUEST_INIT;
    r->steps = o.steps;
    r->duration_ms = o.steps ? 0 : o.time_ms;
    r->roundup = HB_MAX(o.roundup, 1);
    r->start_ms = o.delay_ms ? unix_ms() + o.delay_ms : 0;
    HB_TRY(copy_text(r->reason, sizeof r->reason, o.reason));
    return copy_text(r->log_file, sizeof r->log_file, o.log_file);
}

hb_result hb_trigger_all(const char *log_dir, const hb_trigger_options *options)
{
    hb_request request;
    if (!log_dir || !*log_dir)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "trigger: no log directory is given");
    HB_TRY(make_request(options, &request));
    char host[65];
    hb_host_name(host, sizeof host);
    snprintf(request.id, sizeof request.id, "%.40s-%d-%lld", host, (int)getpid(),
             (long long)unix_ms());
    return hb_control_file_put(log_dir, &request);
}

/* ---- one process ---- */

typedef struct conversation {
    int fd;
    int64_t pid;
    char text[2048];
    size_t size;
} conversation;

static hb_result no_answer(const conversation *c, const char *why)
{
    return hb_fail(HB_ERROR_IO, "process %lld %s", (long long)c->pid, why);
}

/* The next line, without its end. */
static hb_result hear(conversation *c, int timeout_ms, char *line, size_t size)
{
    for (;;) {
        char *end = memchr(c->text, '\n', c->size);
        if (end) {
            size_t n = (size_t)(end - c->text);
            snprintf(line, size, "%.*s", (int)n, c->text);
            c->size -= n + 1;
            memmove(c->text, end + 1, c->size);
            return HB_OK;
        }
        if (c->size == sizeof c->text) return no_answer(c, "answered with no line");
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int ready = poll(&p, 1, timeout_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return no_answer(c, "does not answer: is it stopped?");
        ssize_t n = recv(c->fd, c->text + c->size, sizeof c->text - c->size, 0);
        if (n <= 0) return no_answer(c, "has ended, or closed its control socket");
        c->size += (size_t)n;
    }
}

static hb_result hear_of_acceptance(conversation *c, char *line, size_t size)
{
    HB_TRY(hear(c, PATIENCE_MS, line, size));
    if (strcmp(line, "hipboard 1") == 0) HB_TRY(hear(c, PATIENCE_MS, line, size));
    if (strncmp(line, "accepted", 8) == 0) return HB_OK;
    const char *why = strncmp(line, "error ", 6) == 0 ? line + 6 : line;
    return hb_fail(HB_ERROR_STATE, "process %lld: %.900s", (long long)c->pid, why);
}

static hb_result hear_of_trace(conversation *c, char *line, size_t size)
{
    HB_TRY(hear(c, -1, line, size));
    if (strncmp(line, "written ", 8) == 0) return HB_OK;
    const char *why = strncmp(line, "error ", 6) == 0 ? line + 6 : line;
    return hb_fail(HB_ERROR_STATE, "process %lld: %.900s", (long long)c->pid, why);
}

static hb_result talk(conversation *c, const hb_request *request, bool wait, char *answer,
                      size_t size)
{
    hb_buf text;
    char line[sizeof c->text];
    hb_buf_init(&text, HB_REQUEST_MAX + 64);
    hb_buf_str(&text, HB_CONTROL_GREETING);
    hb_request_put(&text, request);
    hb_buf_str(&text, "\n");
    bool sent =
        !text.failed && send(c->fd, text.data, text.size, MSG_NOSIGNAL) == (ssize_t)text.size;
    hb_buf_free(&text);
    if (!sent) return no_answer(c, "does not take the request");
    HB_TRY(hear_of_acceptance(c, line, sizeof line));
    const char *said = line[8] == ' ' ? line + 9 : "";
    if (wait) {
        HB_TRY(hear_of_trace(c, line, sizeof line));
        said = line + 8;
    }
    if (answer && size) snprintf(answer, size, "%s", said);
    return HB_OK;
}

hb_result hb_trigger_process(int64_t pid, const char *log_dir, const hb_trigger_options *options,
                             bool wait, char *answer, size_t size)
{
    hb_request request;
    if (answer && size) *answer = '\0';
    HB_TRY(make_request(options, &request));
    conversation c = {.fd = hb_control_connect(pid, log_dir), .pid = pid};
    if (c.fd < 0) return HB_ERROR_NOT_FOUND;
    hb_result result = talk(&c, &request, wait, answer, size);
    close(c.fd);
    return result;
}
