/* SPDX-License-Identifier: MIT
 *
 * Writes the unit tests' sample trace into the directory of the first argument: in both dialects,
 * plain and gzipped. Built by meson; the library's inside is not installed.
 */
#include <stdio.h>

#include "../../unit/sample_trace.h"
#include "write/write.h"

static int write_sample(const char *dir, const char *name, hb_write_dialect dialect, bool gzip)
{
    static sample_trace sample;
    char path[4096];
    hb_write_options options = {.dialect = dialect, .gzip = gzip};
    sample_trace_init(&sample);
    snprintf(path, sizeof path, "%s/%s.pt.trace.json%s", dir, name, gzip ? ".gz" : "");
    if (hb_write_trace_file(&sample.source.source, path, &options, NULL) == HB_OK) return 0;
    fprintf(stderr, "%s\n", hb_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    return write_sample(argv[1], "tensorboard/vm_100.1", HB_WRITE_TENSORBOARD, false) |
           write_sample(argv[1], "tensorboard/vm_101.1", HB_WRITE_TENSORBOARD, true) |
           write_sample(argv[1], "kineto/vm_100.1", HB_WRITE_KINETO, false) |
           write_sample(argv[1], "kineto/vm_101.1", HB_WRITE_KINETO, true);
}
