/* SPDX-License-Identifier: MIT
 *
 * Trains a network on handwritten digits and records some of its steps with hipboard. Start reading
 * at train_epoch() and next_step(): the loop of a PyTorch program with torch.profiler, in C.
 */
#include "data.h"
#include "die.h"
#include "hip.h"
#include "loader.h"
#include "model.h"
#include "options.h"
#include "ranks.h"
#include "report.h"
#include "sgd.h"
#include "upload.h"

#include <hipboard/event_log.h>
#include <math.h>
#include <unistd.h>

#define MOMENTUM          0.9f
#define REQUIRED_ACCURACY 0.95

enum { EVALUATION_BATCH = 60 };

/* Batches are made on the host; all else is where the kernels are. Both may be the same. */
struct devices {
    struct device host, compute;
};

struct trainer {
    struct net *net;
    struct loss loss;
    struct sgd sgd;
    struct loader *loader;
    struct uploader *uploader;
    hb_profiler *prof;
    const struct options *options;
    const struct ranks *ranks;
    struct training_result *result;
    double step_start; /* by report_clock() */
};

/* Steps 0 to 9 find the caches cold. Then, twice: one step is let go by, one warms the profiler up,
 * and six are recorded. */
static hb_schedule schedule(void)
{
    return hb_schedule_make(.skip_first = 10, .wait = 1, .warmup = 1, .active = 6, .repeat = 2);
}

/* To be made before the GPU is started, and before other threads: only then can hipboard ask every
 * HIP runtime for the times of what it runs. */
static hb_profiler *profiler_create(const struct options *options)
{
    unsigned flags = (options->gzip ? HB_GZIP : 0u) | (options->kineto ? HB_DIALECT_KINETO : 0u);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | (options->hip ? HB_ACTIVITY_HIP : 0u);
    o.schedule = schedule();
    o.on_trace_ready = hb_tensorboard_trace_handler(options->logdir, NULL, flags);
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = true;
    o.with_stack = options->with_stack;

    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof) die("profiler: %s", hb_last_error());
    return prof;
}

/* Metadata belongs to one cycle and so is given to each, while it warms up. */
static void describe_cycle(hb_profiler *prof, const struct options *options)
{
    char json[160];
    if (hb_profiler_current_action(prof) != HB_ACTION_WARMUP) return;
    snprintf(json, sizeof json,
             "{\"lr\": %g, \"momentum\": %g, \"batch_size\": %lld, \"seed\": %llu}",
             (double)options->lr, (double)MOMENTUM, (long long)options->batch_size,
             (unsigned long long)options->seed);
    hb_profiler_add_metadata(prof, "model", "DigitNet");
    hb_profiler_add_metadata_json(prof, "hyperparameters", json);
}

/* Forward, backward and update on one batch, which is consumed. Returns the loss. */
static float train_batch(struct trainer *t, struct batch *batch)
{
    float mean = 0;
    sgd_zero_grad(&t->sgd);
    HB_RECORD_FUNCTION("forward") {
        struct tensor scores = net_forward(t->net, tensor_move(&batch->images));
        mean = loss_forward(&t->loss, scores, &batch->labels);
    }
    HB_RECORD_FUNCTION("backward") {
        net_backward(t->net, loss_backward(&t->loss, &batch->labels));
    }
    ranks_average(t->ranks, t->net);
    sgd_step(&t->sgd);
    batch_free(batch);
    if (!isfinite(mean)) die("training has diverged: the loss is not finite; try a smaller --lr");
    hb_scalar("loss", mean);
    return mean;
}

/* A trace that cannot be written is said but does not spoil the training. */
static void check(struct trainer *t, hb_result result)
{
    if (result == HB_OK) return;
    fprintf(stderr, "digits: profiler: %s\n", hb_last_error());
    t->result->trace_failed = true;
}

/* Tells --report of the cycle that has just been recorded, if one has. */
static void end_cycle(struct trainer *t)
{
    const struct backend *kernels = t->net->parameters[0].value.device->kernels;
    if (!report_has_cycle()) return;
    if (kernels->report_times) kernels->report_times();
    report_cycle_end(t->prof);
}

static void next_step(struct trainer *t)
{
    check(t, hb_profiler_step(t->prof));
    describe_cycle(t->prof, t->options);
    if (!HB_ENABLED()) end_cycle(t);
    t->result->steps++;
    t->step_start = report_clock();
}

/* A rank whose input comes late, each step: who makes the others wait? */
static void be_slow(const struct trainer *t)
{
    if (t->options->slow_rank != t->ranks->rank) return;
    HB_DATA_LOADER("SlowDisk") {
        usleep(20000);
    }
}

/* Returns the mean loss. */
static double train_epoch(struct trainer *t)
{
    struct batch batch;
    double sum = 0, steps = (double)t->options->epochs * (double)loader_batches(t->loader);
    while (loader_next(t->loader, &batch)) {
        /* The rate falls evenly to zero, so that training ends calmly. */
        t->sgd.lr = t->options->lr * (float)(1 - (double)t->result->steps / steps);
        be_slow(t);
        uploader_send(t->uploader, &batch);
        float mean = train_batch(t, &batch);
        uploader_release(t->uploader);
        sum += mean;
        report_step(t->result->steps, report_clock() - t->step_start, mean);
        next_step(t);
    }
    return sum / (double)loader_batches(t->loader);
}

static void profiler_stop(struct trainer *t)
{
    const char *logdir = t->options->logdir;
    check(t, hb_profiler_stop(t->prof));
    end_cycle(t);
    long long cycles = hb_profiler_cycle(t->prof) + 1;
    if (cycles == 0)
        printf("no trace: %lld steps are too few to reach a recorded one\n",
               (long long)t->result->steps);
    else if (!t->result->trace_failed)
        printf("%lld traces in %s; see them with: tensorboard --logdir %s\n", cycles, logdir,
               logdir);
}

/* By what TensorBoard's HParams tab compares runs, beside what hipboard knows of them. */
static void describe_run(const struct options *options)
{
    const hb_hparam settings[] = {
        HB_HPARAM("batch", (double)options->batch_size),
        HB_HPARAM("lr", round((double)options->lr * 1e6) / 1e6), /* as typed, not as a float */
        HB_HPARAM_TEXT("gemm", options->hip          ? "hip"
                               : options->plain_gemm ? "plain"
                                                     : "ordered"),
        HB_HPARAM("workers", options->workers),
    };
    const char *const results[] = {"loss", "accuracy"};
    if (hb_hparams(settings, sizeof settings / sizeof *settings, results, 2) != HB_OK)
        die("settings: %s", hb_last_error());
}

/* Leaves the profiler stopped; its event file still takes results. */
static void train(hb_profiler *prof, struct net *net, struct devices *devices,
                  const struct dataset *set, const struct options *options,
                  const struct ranks *ranks, struct training_result *result)
{
    struct trainer t = {
        .prof = prof, .net = net, .options = options, .ranks = ranks, .result = result};
    t.loader = loader_create(&(struct loader_options){
        .set = set,
        .device = &devices->host,
        .epochs = options->epochs,
        .batch_size = (options->batch_size + ranks->count - 1) / ranks->count,
        .workers = options->workers,
        .seed = options->seed + (uint64_t)ranks->rank,
    });
    t.uploader = uploader_create(&devices->compute, options->batch_size);
    sgd_init(&t.sgd, net, options->lr, MOMENTUM);
    loss_init(&t.loss);
    /* A directory that can't be written to was said: training goes on, stop() fails. */
    hb_result started = hb_profiler_start(prof);
    if (started != HB_OK && started != HB_ERROR_IO) die("profiler: %s", hb_last_error());

    double start = t.step_start = report_clock();
    for (int64_t epoch = 1; epoch <= options->epochs; epoch++) {
        result->final_loss = train_epoch(&t);
        printf("epoch %2lld  mean loss %.4f\n", (long long)epoch, result->final_loss);
    }
    result->seconds = report_clock() - start;

    profiler_stop(&t);
    sgd_free(&t.sgd);
    uploader_destroy(t.uploader);
    loader_destroy(t.loader);
}

static int64_t count_correct(struct net *net, struct batch *batch, struct device *device)
{
    struct tensor images =
        device->kernels->transfers ? op_to(&batch->images, device) : tensor_move(&batch->images);
    struct tensor scores = net_forward(net, images);
    net_forget(net);
    struct tensor best = op_argmax(&scores);
    const int64_t *label = batch->labels.data;
    int64_t guess[EVALUATION_BATCH], correct = 0;
    tensor_read(&best, guess);
    for (int64_t i = 0; i < best.dims[0]; i++)
        correct += guess[i] == label[i];
    tensor_free(&best);
    tensor_free(&scores);
    batch_free(batch);
    return correct;
}

static void evaluate(struct net *net, struct devices *devices, const struct dataset *set,
                     struct training_result *result)
{
    for (size_t first = 0; first < set->count; first += EVALUATION_BATCH) {
        size_t left = set->count - first;
        struct batch batch =
            batch_of(&devices->host, set, first, left < EVALUATION_BATCH ? left : EVALUATION_BATCH);
        result->correct += count_correct(net, &batch, &devices->compute);
    }
    result->held_back_digits = (int64_t)set->count;
}

static double accuracy_of(const struct training_result *result)
{
    return (double)result->correct / (double)result->held_back_digits;
}

static int judge(const struct training_result *result)
{
    double accuracy = accuracy_of(result);
    printf("trained on %lld digits for %lld steps in %.1f s\n", (long long)result->train_digits,
           (long long)result->steps, result->seconds);
    printf("accuracy on %lld held-back digits: %.2f %%\n", (long long)result->held_back_digits,
           100 * accuracy);
    if (accuracy >= REQUIRED_ACCURACY) return result->trace_failed ? EXIT_FAILURE : EXIT_SUCCESS;
    fprintf(stderr,
            "digits: %.2f %% is below the %.0f %% this network should reach: "
            "try more --epochs or another --lr\n",
            100 * accuracy, 100 * REQUIRED_ACCURACY);
    return EXIT_FAILURE;
}

static void devices_open(struct devices *devices, const struct options *options)
{
    const struct backend *kernels =
        options->hip ? hip_open(options->code) : cpu_backend_with(options->plain_gemm);
    devices->compute = (struct device){kernels, allocator_create(&kernels->memory)};
    devices->host = devices->compute;
    if (!kernels->transfers) return;
    devices->host.kernels = &cpu_backend;
    devices->host.memory = allocator_create(&kernels->transfers->host_memory);
    printf("computing on %s\n", hip_device_name());
}

static void devices_close(struct devices *devices)
{
    allocator_destroy(devices->compute.memory);
    if (!devices->compute.kernels->transfers) return;
    allocator_destroy(devices->host.memory);
    hip_close();
}

static int check_device(const struct options *options)
{
    hip_open(options->code);
    puts(hip_device_name());
    hip_close();
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options;
    struct ranks ranks = ranks_begin(&argc, &argv);
    struct dataset train_set, held_back;
    struct devices devices;
    struct net net;
    setvbuf(stdout, NULL, _IOLBF, 0); /* progress is seen at once, also through a pipe */
    options_parse(&options, argc, argv);
    if (options.hip && ranks.count > 1) die("ranks train on processors only: leave --device out");
    if (options.check_device) return check_device(&options);
    dataset_load(options.data, &train_set, &held_back);
    ranks_share(&ranks, &train_set);
    if (options.report) report_enable(options.report);
    describe_run(&options);
    hb_profiler *prof = profiler_create(&options);
    devices_open(&devices, &options);
    struct training_result result = {.train_digits = (int64_t)train_set.count,
                                     .device_name = options.hip ? hip_device_name() : ""};

    net_init(&net, &devices.compute, options.seed);
    train(prof, &net, &devices, &train_set, &options, &ranks, &result);
    evaluate(&net, &devices, &held_back, &result);
    hb_scalar("accuracy", accuracy_of(&result));
    hb_profiler_destroy(prof);
    int status = judge(&result);
    report_write(&options, &result);

    net_free(&net);
    devices_close(&devices);
    dataset_free(&train_set);
    dataset_free(&held_back);
    ranks_end();
    return status;
}
