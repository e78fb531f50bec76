/* SPDX-License-Identifier: MIT
 *
 * How fast other tools' formats are written and read: launches and their kernels from a generator
 * that costs next to nothing go into each, and are read back.
 *
 *     bench_formats DIRECTORY [million events] [kernels]    kernels: without launches and arguments
 */
#include <hipboard/import.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/exporter.h"
#include "generated.h"
#include "write/pftrace.h"

static uint64_t count;
static workload_kind workload = KERNELS;

static hb_result count_bytes(hb_sink *sink, const void *data, size_t size)
{
    (void)sink;
    (void)data;
    (void)size;
    return HB_OK;
}

static void check(hb_result result)
{
    if (result == HB_OK) return;
    printf("%s\n", hb_last_error());
    exit(1);
}

static void print(const char *what, const char *format, double cpu, double bytes)
{
    printf("%-34s %-8s %8.2f M events/s %10.1f B/event %8ld MiB\n", what, format,
           (double)count / cpu / 1e6, bytes / (double)count, peak_kib() / 1024);
    fflush(stdout);
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void write_to_nothing(workload_kind of, const char *what)
{
    hb_sink sink = {count_bytes};
    generator g = make_generator(of, count);
    hb_pftrace_stats stats;
    double cpu = 1e9;
    g.source.info = &g.info;
    for (int round = 0; round < 3; round++) {
        double start = now(CLOCK_PROCESS_CPUTIME_ID);
        check(hb_write_pftrace(&g.source, &sink, &stats));
        cpu = HB_MIN(cpu, now(CLOCK_PROCESS_CPUTIME_ID) - start);
    }
    print(what, "pftrace", cpu, (double)stats.bytes);
}

typedef hb_result open_exporter(const char *output, bool replace, hb_exporter **exporter);

static void write_file(open_exporter *open, const char *format, const char *path)
{
    hb_exporter *exporter;
    hb_export_counts counts = {0};
    generator g = make_generator(workload, count);
    g.source.info = &g.info;
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    check(open(path, true, &exporter));
    check(exporter->add(exporter, &g.source, &counts));
    check(exporter->finish(exporter));
    exporter->close(exporter);
    print("written to a file", format, now(CLOCK_PROCESS_CPUTIME_ID) - start,
          (double)size_of(path));
}

/* Perfetto's slices are two packets each. */
static void print_packets(const char *path, double cpu)
{
    uint64_t packets = 0;
    FILE *file = fopen(path, "rb");
    while (file && getc(file) == 0x0a) {
        long size = 0;
        int byte, shift = 0;
        while ((byte = getc(file)) != EOF) {
            size |= (long)(byte & 127) << shift;
            shift += 7;
            if (byte < 128) break;
        }
        if (fseek(file, size, SEEK_CUR) != 0) break;
        packets++;
    }
    if (file) fclose(file);
    printf("%-34s %-8s %8.2f M packets/s\n", "read", "pftrace", (double)packets / cpu / 1e6);
    fflush(stdout);
}

static void read_file(const char *format, const char *path, const char *logdir)
{
    hb_import *import;
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    options.replace = true;
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    check(hb_import_open(&path, 1, &options, &import));
    double read = now(CLOCK_PROCESS_CPUTIME_ID) - start;
    print("read", format, read, (double)size_of(path));
    if (strcmp(format, "pftrace") == 0) print_packets(path, read);
    if (logdir) {
        char *written;
        check(hb_import_write(import, 0, logdir, &written));
        print("read, and written to a log dir", format, now(CLOCK_PROCESS_CPUTIME_ID) - start,
              (double)size_of(written));
        free(written);
    }
    hb_import_close(import);
}

/* In a process of its own, whose largest memory is its own. */
#define ALONE(call)                                     \
    do {                                                \
        int status;                                     \
        pid_t child = fork();                           \
        if (child == 0) {                               \
            call;                                       \
            exit(0);                                    \
        }                                               \
        if (waitpid(child, &status, 0) < 0 || status) { \
            return 1;                                   \
        }                                               \
    } while (0)

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *file;
        open_exporter *open;
    } formats[] = {
        {"pftrace", "bench.pftrace", hb_export_to_pftrace},
#ifdef HB_WITH_SQLITE
        {"rocpd", "bench.db", hb_export_to_rocpd},
#endif
        {"csv", "bench_csv", hb_export_to_csv},
    };
    if (argc < 2) {
        printf("bench_formats DIRECTORY [million events] [kernels]\n");
        return 1;
    }
    count = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e6);
    if (argc > 3) workload = BARE;
    printf("%llu events, %s; CPU time, one thread; largest memory\n", (unsigned long long)count,
           argc > 3 ? "all kernels" : "half of them launches");
    fflush(stdout);
    ALONE(write_to_nothing(BARE, "kernels without arguments, to nothing"));
    ALONE(write_to_nothing(KERNELS, "to nothing"));
    for (size_t i = 0; i < HB_ARRAY_LEN(formats); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], formats[i].file);
        ALONE(write_file(formats[i].open, formats[i].name, path));
        ALONE(read_file(formats[i].name, path, argv[1]));
    }
    return 0;
}
