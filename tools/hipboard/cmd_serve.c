/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "options.h"
#include "serve.h"
#include "signals.h"

enum { TOKEN_BYTES = 16, PORT = 6007 /* behind TensorBoard's */ };

typedef struct request {
    const char *host;
    size_t port;
    uint64_t max_memory;
} request;

/* ---- the library that serves ---- */

typedef struct serve_calls {
    serve_begin_fn *begin;
    serve_end_fn *end;
} serve_calls;

static void tell_missing(void)
{
    fprintf(stderr,
            "hipboard serve: %s. Either it is not built yet (`ninja -C build`), or this hipboard "
            "was built without libmicrohttpd: install that (Debian: libmicrohttpd-dev) and build "
            "again. Until then `hipboard report` makes the same page as a file\n",
            hb_last_error());
}

static bool load(serve_calls *calls)
{
    char path[PATH_MAX];
    hb_result found = hb_part_path(SERVE_LIBRARY, path, sizeof path);
    if (found == HB_ERROR_NOT_FOUND)
        tell_missing();
    else if (found != HB_OK)
        fprintf(stderr, "hipboard serve: %s\n", hb_last_error());
    if (found != HB_OK) return false;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    calls->begin = library ? (serve_begin_fn *)dlsym(library, SERVE_BEGIN) : NULL;
    calls->end = library ? (serve_end_fn *)dlsym(library, SERVE_END) : NULL;
    if (calls->begin && calls->end) return true;
    fprintf(stderr, "hipboard serve: %s\n", dlerror());
    return false;
}

/* ---- until somebody ends it ---- */

static volatile sig_atomic_t ended;

static void on_end(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

/* Reading goes on for minutes at times; an end ends it. */
static bool go_on(void *context, const char *path, uint64_t done, uint64_t size)
{
    (void)context;
    (void)path;
    (void)done;
    (void)size;
    return !ended;
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* Blocked from here on, for threads that begin too; wait_for_end() takes them in. */
static void hold_ends(sigset_t *before)
{
    sigset_t set;
    struct sigaction action = {.sa_handler = on_end};
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        catch_signal(ends[i], &action, NULL);
        sigaddset(&set, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &set, before);
}

static void wait_for_end(const sigset_t *before)
{
    while (!ended)
        sigsuspend(before);
}

/* ---- the command ---- */

static bool make_token(char token[2 * TOKEN_BYTES + 1])
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static void tell_address(const request *r, unsigned port, const char *token)
{
    char name[256] = "";
    bool all = strcmp(r->host, "0.0.0.0") == 0 || strcmp(r->host, "::") == 0;
    bool six = !all && strchr(r->host, ':');
    if (all) gethostname(name, sizeof name - 1);
    printf("http://%s%s%s:%u/#token=%s\n", six ? "[" : "", all ? name : r->host, six ? "]" : "",
           port, token);
    fflush(stdout);
}

static int serve(const request *r, hb_page *page, const serve_calls *calls)
{
    char token[2 * TOKEN_BYTES + 1], reason[512];
    serve_settings settings = {page, r->host, (unsigned)r->port, token};
    server *s;
    unsigned port;
    sigset_t before;
    if (!make_token(token)) {
        fprintf(stderr, "hipboard serve: this machine gives no random numbers\n");
        return EXIT_FAILED;
    }
    hold_ends(&before);
    if (!calls->begin(&settings, &s, &port, reason, sizeof reason)) {
        fprintf(stderr, "hipboard serve: %s\n", reason);
        return EXIT_FAILED;
    }
    tell_address(r, port, token);
    wait_for_end(&before);
    calls->end(s);
    return EXIT_FINE;
}

static int run(arguments *args)
{
    request r = {.host = "127.0.0.1", .port = PORT};
    serve_calls calls;
    hb_page *page;
    hb_open_options open = HB_OPEN_OPTIONS_INIT;
    hb_page_options options = HB_PAGE_OPTIONS_INIT;
    if (!parse_options(&cmd_serve, args, &r)) return args->status;
    if (r.port > 65535) return usage_error("serve", "there is no port %zu", r.port);
    if (!load(&calls)) return EXIT_FAILED;
    open.progress = go_on;
    options.open = &open;
    options.max_memory = r.max_memory;
    options.live = true;
    if (hb_page_open((const char *const *)args->words, (size_t)args->count, &options, &page) !=
        HB_OK) {
        fprintf(stderr, "hipboard serve: %s\n", hb_last_error());
        return EXIT_FAILED;
    }
    int status = serve(&r, page, &calls);
    hb_page_close(page);
    return status;
}

static const option_spec options[] = {
    {'p', "port", "N", "where to listen (default 6007); 0: at any free one", INTO(port)},
    {0, "host", "ADDRESS",
     "of this machine: by which address others may ask, 0.0.0.0 for all of them (default "
     "127.0.0.1: programs on this machine only)",
     INTO(host)},
    {0, "max-memory", "SIZE",
     "of traces that nobody looks at just now (default a quarter of the machine's; K, M, G: times "
     "1024); what takes more is read again when it is asked for",
     INTO_BY(take_size, max_memory)},
    {0},
};

const command cmd_serve = {
    .name = "serve",
    .summary = "show traces in a browser, with new cycles as they come",
    .synopsis = "[OPTIONS] PATH...",
    .about = "Serves the page that `hipboard report` writes, for traces of any size: what is drawn "
             "is asked for piece by piece. Prints the address to open, and ends by an interrupt. "
             "Traces that come, change or go show within seconds. PATH is a log directory, a run's "
             "directory, a pack or a trace file; a directory may still be empty.",
    .options = options,
    .notes = "The address ends with a token, which is another one at each start: who does not know "
             "it sees no trace. Nothing is encrypted; for a machine far away use ssh: ssh -L "
             "6007:127.0.0.1:6007 MACHINE.",
    .least = 1,
    .most = MANY,
    .wanted = "no log directory or trace is given",
    .run = run,
};
