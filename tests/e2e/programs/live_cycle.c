/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a sample, it tells of each cycle in memory before that is written, into
 * CYCLES_DIR/PID.1, /PID.2 and so on; started as "live_cycle FILE", it tells the same of a written trace.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hipboard/analysis.h>

static const char *shown(const char *text)
{
    return text ? text : "-";
}

static void tell_events(hb_trace_file *file, FILE *to)
{
    hb_file_event e;
    for (size_t i = 0; i < hb_trace_file_num_events(file); i++) {
        hb_trace_file_event(file, i, &e);
        if (!e.category || strchr("Mstf", e.phase)) continue; /* a cycle in memory has none */
        fprintf(to, "%c %s %s %s/%s %.17g %.17g %lld %lld %s %s\n", e.phase, e.category,
                shown(e.name), e.pid, e.tid, e.ts_us, e.dur_us, (long long)e.external_id,
                (long long)e.correlation, shown(e.input_dims), shown(e.call_stack));
    }
}

static void tell_times(hb_trace_file *file, FILE *to)
{
    const hb_step_stat *steps;
    const hb_kernel_stats *kernels;
    size_t n;
    if (hb_trace_file_steps(file, &steps, &n) != HB_OK) n = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(to, "step %s %.17g %.17g: %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n",
                steps[i].name, steps[i].start_us, steps[i].duration_us, steps[i].kernel_us,
                steps[i].memcpy_us, steps[i].memset_us, steps[i].communication_us,
                steps[i].runtime_us, steps[i].loader_us, steps[i].cpu_us, steps[i].other_us);
    if (hb_trace_file_kernels(file, &kernels, &n) != HB_OK) n = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(to, "kernel %s %llu %.17g %.17g %.17g\n", kernels[i].name,
                (unsigned long long)kernels[i].calls, kernels[i].total_us, kernels[i].blocks_per_sm,
                kernels[i].occupancy_percent);
}

static void tell_operators(hb_trace_file *file, FILE *to)
{
    const hb_operator_stat *ops;
    const hb_memory_stats_row *rows;
    const hb_module_stats *modules;
    size_t n;
    if (hb_trace_file_operators(file, true, &ops, &n) != HB_OK) n = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(to, "operator %s %s %llu %.17g %.17g %.17g %.17g\n", ops[i].name,
                ops[i].input_shapes, (unsigned long long)ops[i].calls, ops[i].host_us,
                ops[i].self_host_us, ops[i].device_us, ops[i].self_device_us);
    if (hb_trace_file_memory(file, &rows, &n) != HB_OK) n = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(to, "memory %s %s %llu %.17g %.17g\n", rows[i].device, rows[i].name,
                (unsigned long long)rows[i].calls, rows[i].allocated_bytes, rows[i].increase_bytes);
    if (hb_trace_file_modules(file, &modules, &n) != HB_OK) n = 0;
    for (size_t i = 0; i < n; i++)
        fprintf(to, "module %d %s %llu %llu %.17g %.17g\n", modules[i].depth, modules[i].name,
                (unsigned long long)modules[i].occurrences,
                (unsigned long long)modules[i].operators, modules[i].host_us, modules[i].device_us);
}

static void tell(hb_trace_file *file, FILE *to)
{
    static const char *const keys[] = {"deviceProperties", "distributedInfo", "host_name",
                                       "trace_id",         "with_stack",      "hipboard_lost"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        fprintf(to, "%s %s\n", keys[i], shown(hb_trace_file_metadata(file, keys[i])));
    tell_events(file, to);
    tell_times(file, to);
    tell_operators(file, to);
}

static unsigned dialect;

static hb_result tell_cycle(hb_profiler *prof, void *context)
{
    static int cycles;
    char path[4096];
    hb_trace_file *file;
    (void)context;
    hb_result result = hb_profiler_trace(prof, dialect, &file);
    if (result != HB_OK) return result;
    snprintf(path, sizeof path, "%s/%d.%d", getenv("CYCLES_DIR"), (int)getpid(), ++cycles);
    FILE *to = fopen(path, "w");
    if (to) tell(file, to);
    if (to) fclose(to);
    hb_trace_file_close(file);
    return HB_OK;
}

typedef hb_trace_handler ready_made(const char *dir, const char *worker_name, unsigned flags);

__attribute__((visibility("default"))) hb_trace_handler hb_tensorboard_trace_handler(
    const char *dir, const char *worker_name, unsigned flags)
{
    ready_made *real = (ready_made *)dlsym(RTLD_NEXT, "hb_tensorboard_trace_handler");
    hb_trace_handler mine = {tell_cycle, NULL, NULL};
    dialect = flags & HB_DIALECT_KINETO;
    return hb_trace_handler_chain(mine, real(dir, worker_name, flags));
}

int main(int argc, char **argv)
{
    hb_trace_file *file;
    if (argc != 2 || hb_trace_file_open(argv[1], NULL, &file) != HB_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? hb_last_error() : "live_cycle FILE");
        return 1;
    }
    tell(file, stdout);
    hb_trace_file_close(file);
    return 0;
}
