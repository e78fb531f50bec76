/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"
#include "text.h"

static volatile sig_atomic_t interrupted;
static struct timespec started;
static bool shown;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static double elapsed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

/* What is printed the usual way steers no terminal; see terminal.h. */
static void steer(const char *sequence)
{
    fflush(stderr);
    if (write(STDERR_FILENO, sequence, strlen(sequence)) < 0) return; /* nobody to tell */
}

/* `done` counts inflated bytes, `size` those of the file: of a gzip stream no share is known. */
static bool report(void *context, const char *path, uint64_t done, uint64_t size)
{
    bool inflated = ends_with(path, ".gz");
    (void)context;
    if (interrupted) return false;
    if (elapsed() < 1 || !isatty(STDERR_FILENO)) return true;
    shown = true;
    steer("\r");
    if (size && !inflated)
        fprintf(stderr, "%s: %3.0f %%", path, 100.0 * (double)done / (double)size);
    else
        fprintf(stderr, "%s: %.0f MB", path, (double)done / 1e6);
    return true;
}

bool progress_interrupted(void)
{
    return interrupted;
}

void progress_clear(void)
{
    if (shown) steer("\r\033[K");
    shown = false;
}

hb_open_options progress_options(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    hb_open_options options = HB_OPEN_OPTIONS_INIT;
    catch_signal(SIGINT, &action, NULL);
    clock_gettime(CLOCK_MONOTONIC, &started);
    options.progress = report;
    return options;
}
