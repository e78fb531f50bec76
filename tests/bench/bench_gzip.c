/* SPDX-License-Identifier: MIT
 *
 *   bench_gzip TRACE...
 *
 * What compressing recordings takes, gzipped or not: by zlib alone, by hipboard's own coder alone,
 * and as traces are written, by whichever makes less when they are tried. Sizes in
 * kB and beside zlib's; speed in CPU time, in MB of JSON and in events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "io/gzip.h"

typedef struct counter {
    hb_sink sink;
    uint64_t bytes;
} counter;

static hb_result count(hb_sink *sink, const void *data, size_t size)
{
    (void)data;
    ((counter *)sink)->bytes += size;
    return HB_OK;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static char *read_all(const char *path, size_t *size)
{
    size_t room = (size_t)1 << 26;
    char *text = malloc(room);
    gzFile file = gzopen(path, "r");
    int n = 0;
    *size = 0;
    while (file && text && (n = gzread(file, text + *size, (unsigned)(room - *size) >> 1)) > 0) {
        *size += (size_t)n;
        if (room - *size > (size_t)1 << 25) continue;
        room *= 2;
        text = realloc(text, room);
    }
    if (!file || !text || n < 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    gzclose(file);
    return text;
}

static size_t events_in(const char *text, size_t size)
{
    size_t n = 0;
    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), "\"ph\"", 4)); at++)
        n++;
    return n;
}

/* Seconds. */
static double compress_once(hb_gzip_coder coder, const char *text, size_t size, uint64_t *made)
{
    counter to = {.sink.write = count};
    hb_gzip gzip;
    double start = cpu_seconds();
    hb_result result = hb_gzip_open(&gzip, &to.sink, NULL, 0, coder);
    if (result == HB_OK) result = gzip.sink.write(&gzip.sink, text, size);
    if (result == HB_OK) result = hb_gzip_finish(&gzip);
    double took = cpu_seconds() - start;
    hb_gzip_free(&gzip);
    if (result != HB_OK) exit(1);
    *made = to.bytes;
    return took;
}

int main(int argc, char **argv)
{
    static const struct {
        hb_gzip_coder coder;
        const char *name;
    } coders[] = {{HB_GZIP_ZLIB, "zlib"}, {HB_GZIP_EVENTS, "own"}, {HB_GZIP_SMALLER, "as written"}};
    enum { ROUNDS = 5 };
    for (int i = 1; i < argc; i++) {
        size_t size, events;
        char *text = read_all(argv[i], &size);
        const char *slash = strrchr(argv[i], '/');
        events = events_in(text, size);
        printf("%s: %.1f MB, %zu events\n", slash ? slash + 1 : argv[i], (double)size / 1e6,
               events);
        uint64_t by_zlib = 0;
        for (size_t c = 0; c < sizeof coders / sizeof *coders; c++) {
            double best = 0;
            uint64_t made = 0;
            for (int round = 0; round < ROUNDS; round++) {
                double took = compress_once(coders[c].coder, text, size, &made);
                if (round == 0 || took < best) best = took;
            }
            if (c == 0) by_zlib = made;
            printf("  %-10s %9.1f kB %6.3f x %8.0f MB/s %6.2f M events/s\n", coders[c].name,
                   (double)made / 1e3, (double)made / (double)by_zlib, (double)size / best / 1e6,
                   (double)events / best / 1e6);
        }
        free(text);
    }
    return 0;
}
