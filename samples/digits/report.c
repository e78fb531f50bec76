/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "die.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OPS = 64, MAX_MODULES = 32, MAX_STEPS = 64, MAX_CYCLES = 8, MAX_KERNELS = 32 };

struct op_count {
    const char *name;
    bool on_main_thread;
    int64_t calls;
    double flops;
};

struct module_count {
    char parent[32], name[32]; /* parent "": outermost */
    int64_t calls;
};

struct step_record {
    int64_t number;
    double seconds, loader_seconds, loss;
};

struct memory_count {
    int64_t allocations, frees, bytes_allocated, bytes_freed;
    int64_t peak_allocated, peak_reserved; /* of the totals after each event */
};

/* Microseconds in all: by the program's own events, and by hipboard. */
struct kernel_count {
    char name[32];
    int64_t timed_launches, recorded_launches;
    double timed, recorded;
};

struct cycle {
    struct kernel_count kernels[MAX_KERNELS];
    struct op_count ops[MAX_OPS];
    struct module_count modules[MAX_MODULES];
    struct step_record steps[MAX_STEPS];
    struct memory_count memory[HB_DEVICE_HIP + 1];
    int num_ops, num_modules, num_steps, num_kernels;
    int64_t loader_calls;
};

static struct {
    FILE *file; /* NULL: nothing is counted */
    const char *path;
    pthread_t main_thread;
    pthread_mutex_t lock; /* of the present cycle's ops and memory */
    struct cycle cycles[MAX_CYCLES];
    int num_cycles; /* complete ones; the present one follows them */
    double loader_seconds;
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

void report_enable(const char *path)
{
    report.path = path;
    report.file = fopen(path, "w");
    if (!report.file) die("cannot write the report: %s: %s", path, strerror(errno));
    report.main_thread = pthread_self();
}

bool report_enabled(void)
{
    return report.file;
}

double report_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool report_counts(void)
{
    return report.file && HB_ENABLED();
}

static struct cycle *present(void)
{
    if (report.num_cycles == MAX_CYCLES) die("--report holds at most %d cycles", MAX_CYCLES);
    return &report.cycles[report.num_cycles];
}

/* The entry for an operator on this kind of thread, made at its first call. */
static struct op_count *find_op(struct cycle *cycle, const char *name, bool on_main_thread)
{
    for (int i = 0; i < cycle->num_ops; i++) {
        struct op_count *op = &cycle->ops[i];
        if (op->on_main_thread == on_main_thread && strcmp(op->name, name) == 0) return op;
    }
    if (cycle->num_ops == MAX_OPS) die("--report holds at most %d operators", MAX_OPS);
    struct op_count *op = &cycle->ops[cycle->num_ops++];
    *op = (struct op_count){.name = name, .on_main_thread = on_main_thread};
    return op;
}

double report_op(const char *name, double flops)
{
    if (!report.file) return flops;
    pthread_mutex_lock(&report.lock);
    bool on_main_thread = pthread_equal(pthread_self(), report.main_thread);
    struct op_count *op = find_op(present(), name, on_main_thread);
    op->calls++;
    op->flops += flops;
    pthread_mutex_unlock(&report.lock);
    return flops;
}

static void count_memory(struct memory_count *m, int64_t change, int64_t allocated,
                         int64_t reserved)
{
    if (change > 0) {
        m->allocations++;
        m->bytes_allocated += change;
    } else {
        m->frees++;
        m->bytes_freed -= change;
    }
    if (allocated > m->peak_allocated) m->peak_allocated = allocated;
    if (reserved > m->peak_reserved) m->peak_reserved = reserved;
}

void report_memory(hb_device_type device, int64_t change, int64_t allocated, int64_t reserved)
{
    if (!report_counts()) return;
    pthread_mutex_lock(&report.lock);
    count_memory(&present()->memory[device], change, allocated, reserved);
    pthread_mutex_unlock(&report.lock);
}

void report_module(const char *parent, const char *name)
{
    if (!report_counts()) return;
    struct cycle *cycle = present();
    for (int i = 0; i < cycle->num_modules; i++) {
        struct module_count *module = &cycle->modules[i];
        if (strcmp(module->name, name) != 0) continue;
        module->calls++;
        return;
    }
    if (cycle->num_modules == MAX_MODULES) die("--report holds at most %d modules", MAX_MODULES);
    struct module_count *module = &cycle->modules[cycle->num_modules++];
    snprintf(module->parent, sizeof module->parent, "%s", parent);
    snprintf(module->name, sizeof module->name, "%s", name);
    module->calls = 1;
}

void report_loader(double seconds)
{
    if (!report_counts()) return;
    report.loader_seconds += seconds;
    present()->loader_calls++;
}

void report_step(int64_t number, double seconds, double loss)
{
    if (!report_counts()) return;
    struct cycle *cycle = present();
    if (cycle->num_steps == MAX_STEPS) die("--report holds at most %d steps", MAX_STEPS);
    cycle->steps[cycle->num_steps++] = (struct step_record){.number = number,
                                                            .seconds = seconds,
                                                            .loader_seconds = report.loader_seconds,
                                                            .loss = loss};
    report.loader_seconds = 0;
}

static struct kernel_count *find_kernel(struct cycle *cycle, const char *name)
{
    for (int i = 0; i < cycle->num_kernels; i++) {
        if (strcmp(cycle->kernels[i].name, name) == 0) return &cycle->kernels[i];
    }
    if (cycle->num_kernels == MAX_KERNELS) die("--report holds at most %d kernels", MAX_KERNELS);
    struct kernel_count *kernel = &cycle->kernels[cycle->num_kernels++];
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    return kernel;
}

void report_kernel_timed(const char *name, double microseconds)
{
    struct kernel_count *kernel = find_kernel(present(), name);
    kernel->timed_launches++;
    kernel->timed += microseconds;
}

static bool count_recorded_kernel(const hb_event *event, void *arg)
{
    if (event->kind != HB_EVENT_KERNEL) return true;
    struct kernel_count *kernel = find_kernel(arg, event->name);
    kernel->recorded_launches++;
    kernel->recorded += (double)(event->end_ns - event->start_ns) / 1e3;
    return true;
}

bool report_has_cycle(void)
{
    return report.file && present()->num_steps > 0;
}

void report_cycle_end(hb_profiler *prof)
{
    hb_profiler_events(prof, count_recorded_kernel, present());
    pthread_mutex_lock(&report.lock);
    report.num_cycles++;
    report.loader_seconds = 0;
    pthread_mutex_unlock(&report.lock);
}

/* Opens the next member of a JSON array: a comma before all but the first. */
static void write_separator(FILE *f, int *count)
{
    fputs((*count)++ ? ",\n      " : "\n      ", f);
}

static void write_steps(FILE *f, const struct cycle *cycle)
{
    double seconds = 0, loader = 0;
    int count = 0;
    fputs("    \"steps\": [", f);
    for (int i = 0; i < cycle->num_steps; i++) {
        const struct step_record *s = &cycle->steps[i];
        write_separator(f, &count);
        fprintf(f,
                "{\"number\": %lld, \"seconds\": %.9f, \"loader_seconds\": %.9f, \"loss\": %.6f}",
                (long long)s->number, s->seconds, s->loader_seconds, s->loss);
        seconds += s->seconds;
        loader += s->loader_seconds;
    }
    fprintf(f, "\n    ],\n    \"seconds\": %.9f,\n", seconds);
    fprintf(f, "    \"data_loader\": {\"calls\": %lld, \"seconds\": %.9f, \"share\": %.6f},\n",
            (long long)cycle->loader_calls, loader, seconds > 0 ? loader / seconds : 0);
}

static void write_ops(FILE *f, const struct cycle *cycle)
{
    int count = 0;
    fputs("    \"ops\": [", f);
    for (int i = 0; i < cycle->num_ops; i++) {
        const struct op_count *op = &cycle->ops[i];
        write_separator(f, &count);
        fprintf(f, "{\"name\": \"%s\", \"thread\": \"%s\", \"calls\": %lld, \"flops\": %.0f}",
                op->name, op->on_main_thread ? "main" : "loader", (long long)op->calls, op->flops);
    }
    fputs("\n    ],\n", f);
}

static void write_modules(FILE *f, const struct cycle *cycle, const char *parent)
{
    int count = 0;
    for (int i = 0; i < cycle->num_modules; i++) {
        const struct module_count *module = &cycle->modules[i];
        if (strcmp(module->parent, parent) != 0) continue;
        write_separator(f, &count);
        fprintf(f, "{\"name\": \"%s\", \"calls\": %lld, \"children\": [", module->name,
                (long long)module->calls);
        write_modules(f, cycle, module->name);
        fputs("]}", f);
    }
}

static void write_kernels(FILE *f, const struct cycle *cycle)
{
    int count = 0;
    fputs("    \"kernels\": [", f);
    for (int i = 0; i < cycle->num_kernels; i++) {
        const struct kernel_count *k = &cycle->kernels[i];
        write_separator(f, &count);
        fprintf(f,
                "{\"name\": \"%s\", \"launches\": %lld, \"event_us\": %.3f, "
                "\"trace_launches\": %lld, \"trace_us\": %.3f}",
                k->name, (long long)k->timed_launches, k->timed, (long long)k->recorded_launches,
                k->recorded);
    }
    fputs("\n    ],\n", f);
}

static void write_memory(FILE *f, const char *key, const struct memory_count *m)
{
    fprintf(f,
            "    \"%s\": {\"allocations\": %lld, \"frees\": %lld, \"bytes_allocated\": %lld, "
            "\"bytes_freed\": %lld, \"peak_allocated\": %lld, \"peak_reserved\": %lld}",
            key, (long long)m->allocations, (long long)m->frees, (long long)m->bytes_allocated,
            (long long)m->bytes_freed, (long long)m->peak_allocated, (long long)m->peak_reserved);
}

static void write_cycle(FILE *f, int number)
{
    const struct cycle *cycle = &report.cycles[number];
    fprintf(f, "%s\n   {\"cycle\": %d,\n", number ? "," : "", number);
    write_steps(f, cycle);
    write_ops(f, cycle);
    fputs("    \"modules\": [", f);
    write_modules(f, cycle, "");
    fputs("\n    ],\n", f);
    write_kernels(f, cycle);
    write_memory(f, "memory", &cycle->memory[HB_DEVICE_CPU]);
    fputs(",\n", f);
    write_memory(f, "device_memory", &cycle->memory[HB_DEVICE_HIP]);
    fputs("\n   }", f);
}

static void write_document(FILE *f, const struct options *o, const struct training_result *r)
{
    fprintf(f, "{\n  \"pid\": %ld,\n  \"device\": \"%s\",\n", (long)getpid(),
            r->device_name[0] ? r->device_name : "CPU");
    fprintf(f,
            "  \"options\": {\"epochs\": %lld, \"batch_size\": %lld, \"workers\": %d, \"lr\": %g, "
            "\"seed\": %llu},\n",
            (long long)o->epochs, (long long)o->batch_size, o->workers, (double)o->lr,
            (unsigned long long)o->seed);
    fprintf(f,
            "  \"training\": {\"digits\": %lld, \"steps\": %lld, \"seconds\": %.3f, "
            "\"final_loss\": %.6f},\n",
            (long long)r->train_digits, (long long)r->steps, r->seconds, r->final_loss);
    fprintf(f, "  \"evaluation\": {\"digits\": %lld, \"correct\": %lld, \"accuracy\": %.6f},\n",
            (long long)r->held_back_digits, (long long)r->correct,
            (double)r->correct / (double)r->held_back_digits);
    fputs("  \"cycles\": [", f);
    for (int i = 0; i < report.num_cycles; i++)
        write_cycle(f, i);
    fputs("\n  ]\n}\n", f);
}

void report_write(const struct options *options, const struct training_result *result)
{
    if (!report.file) return;
    write_document(report.file, options, result);
    bool failed = ferror(report.file);
    if (fclose(report.file) != 0 || failed)
        die("cannot write the report: %s: %s", report.path, strerror(errno));
    report.file = NULL;
}
