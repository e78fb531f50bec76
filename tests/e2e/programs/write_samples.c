/* SPDX-License-Identifier: MIT
 *
 * Writes traces into the directory of the first argument: the unit tests' sample in both dialects,
 * plain and gzipped, one that nests too deep for the plugin, one whose scopes touch. Built by
 * meson, since it uses what is not installed.
 */
#include <stdio.h>

#include "../../unit/sample_trace.h"
#include "write/write.h"

enum { DEEP_MODULES = 60, DEEP_SCOPES = 250, TOUCHING = 1000 };

static sample_trace sample;

static int write_sample(const char *dir, const char *name, hb_write_dialect dialect, bool gzip)
{
    char path[4096];
    hb_write_options options = {.dialect = dialect, .gzip = gzip};
    snprintf(path, sizeof path, "%s/%s.pt.trace.json%s", dir, name, gzip ? ".gz" : "");
    if (hb_write_trace_file(&sample.source.source, path, &options, NULL) == HB_OK) return 0;
    fprintf(stderr, "%s\n", hb_last_error());
    return 1;
}

/* Module frames in a step, scopes in the innermost; the names differ, or the plugin would merge
 * them. */
static void make_deep(void)
{
    static char names[DEEP_MODULES + DEEP_SCOPES][32];
    sample_trace_init(&sample);
    sample.count = 0;
    sample_scope(&sample, HB_EVENT_USER_ANNOTATION, "ProfilerStep#1", 10, 4900);
    for (int i = 0; i < DEEP_SCOPES; i++) {
        char *name = names[DEEP_MODULES + i];
        snprintf(name, sizeof names[0], "scope %d", i);
        sample_scope(&sample, HB_EVENT_OP, name, 200 + i, 4000 - 2 * i);
    }
    for (int i = 0; i < DEEP_MODULES; i++) {
        snprintf(names[i], sizeof names[0], "nn.Module: Layer_%d", i);
        sample_add(&sample, HB_EVENT_MODULE, names[i], 20 + i, 4500 - 2 * i)->module =
            (hb_module_args){.python_id = (uint64_t)i + 1, .parent_id = (uint64_t)i};
    }
    sample.source.count = sample.count;
}

/* Scopes that begin in the nanosecond in which the one before ends, each with a child and a
 * grandchild that end with it. */
static void make_touching(void)
{
    uint64_t random = 1;
    double at = 20;
    sample_trace_init(&sample);
    sample.count = 0;
    sample_scope(&sample, HB_EVENT_USER_ANNOTATION, "ProfilerStep#1", 10, 4900);
    for (int i = 0; i < TOUCHING; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double dur = 3 + (double)(random >> 54) / 1e3;
        for (int level = 0; level < 3; level++) {
            static const char *const names[] = {"outer", "inner", "innermost"};
            hb_trace_event *scope = sample_scope(&sample, HB_EVENT_OP, names[level], at + level, 0);
            scope->end_ns = sample.source.info.start_ns + (int64_t)((at + dur) * 1e3);
        }
        at += dur;
    }
    sample.source.count = sample.count;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    sample_trace_init(&sample);
    int failed = write_sample(argv[1], "tensorboard/full/vm_100.1", HB_WRITE_TENSORBOARD, false) |
                 write_sample(argv[1], "tensorboard/full/vm_101.1", HB_WRITE_TENSORBOARD, true) |
                 write_sample(argv[1], "kineto/vm_100.1", HB_WRITE_KINETO, false) |
                 write_sample(argv[1], "kineto/vm_101.1", HB_WRITE_KINETO, true);
    make_deep();
    failed |= write_sample(argv[1], "tensorboard/deep/vm_102.1", HB_WRITE_TENSORBOARD, true);
    make_touching();
    return failed |
           write_sample(argv[1], "tensorboard/touching/vm_103.1", HB_WRITE_TENSORBOARD, true);
}
