/* SPDX-License-Identifier: MIT
 *
 * Time on the simulated GPU, as HIP events tell it: durations are those that were asked for, work
 * of one stream follows, work of several overlaps, also from several threads and on several
 * devices.
 *
 * All work waits behind a gate that opens when the last of it is launched: so a host that is slow,
 * or stops in between, is not seen in the times.
 */
#include "hip_test.h"
#include "simhsa.h"

#include <pthread.h>
#include <semaphore.h>

#define KERNEL_MS 0.5f   /* of the kernel nop */
#define EXACT     0.002f /* floats of some milliseconds */

static hipModule_t modules[2];
static hipFunction_t nops[2]; /* on each device */

static float milliseconds(hipEvent_t from, hipEvent_t to)
{
    float ms = -1;
    HIP_OK(hipEventElapsedTime(&ms, from, to));
    return ms;
}

/* A stream with an event before and one behind its work. */
typedef struct timed_stream {
    hipStream_t stream;
    hipEvent_t begin, end;
} timed_stream;

static void open_stream(timed_stream *s)
{
    HIP_OK(hipStreamCreateWithFlags(&s->stream, hipStreamNonBlocking));
    HIP_OK(hipEventCreate(&s->begin));
    HIP_OK(hipEventCreate(&s->end));
}

static void close_stream(const timed_stream *s)
{
    HIP_OK(hipEventDestroy(s->begin));
    HIP_OK(hipEventDestroy(s->end));
    HIP_OK(hipStreamDestroy(s->stream));
}

static void launch_timed(const timed_stream *s, hipFunction_t kernel, int launches)
{
    HIP_OK(hipEventRecord(s->begin, s->stream));
    for (int i = 0; i < launches; i++)
        HIP_OK(launch(kernel, 256, s->stream, NULL));
    HIP_OK(hipEventRecord(s->end, s->stream));
}

/* ---- the gate ---- */

/* A stream in which a kernel runs until it is told to end, and the event that this is. */
typedef struct gate {
    hipStream_t stream;
    hipEvent_t opened;
} gate;

static sem_t open_it;

static void run_until_told(const simhsa_dispatch *dispatch)
{
    (void)dispatch;
    while (sem_wait(&open_it) != 0)
        ;
}

static gate shut_gate(void)
{
    gate g;
    int *out = NULL;
    simhsa_set_kernel("sum_table", run_until_told, 0);
    HIP_OK(hipStreamCreateWithFlags(&g.stream, hipStreamNonBlocking));
    HIP_OK(hipEventCreate(&g.opened));
    HIP_OK(launch(get_kernel(modules[0], "sum_table"), 256, g.stream, (void *[]){&out}));
    HIP_OK(hipEventRecord(g.opened, g.stream));
    return g;
}

static void open_behind(const gate *g, timed_stream *s)
{
    open_stream(s);
    HIP_OK(hipStreamWaitEvent(s->stream, g->opened, 0));
}

/* Returns when all that was behind it is over. */
static void open_gate(const gate *g)
{
    assert_int_equal(sem_post(&open_it), 0);
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipEventDestroy(g->opened));
    HIP_OK(hipStreamDestroy(g->stream));
    simhsa_set_kernel("sum_table", NULL, SIMHSA_DEFAULT_DURATION);
}

/* ---- one thread ---- */

static void assert_milliseconds(const timed_stream *s, float expected)
{
    float ms = milliseconds(s->begin, s->end);
    if (ms < expected - EXACT || ms > expected + EXACT) fail_msg("%f ms, not %f", ms, expected);
}

static void kernels_take_their_duration(void **state)
{
    (void)state;
    timed_stream s;
    gate g = shut_gate();
    open_behind(&g, &s);
    launch_timed(&s, nops[0], 10);
    open_gate(&g);
    assert_milliseconds(&s, 10 * KERNEL_MS);
    close_stream(&s);
}

static void named_kernels_have_their_own_duration(void **state)
{
    (void)state;
    timed_stream s;
    hipFunction_t reverse; /* SIMHSA_KERNEL_NS says 2 ms for rev* */
    int *a;
    HIP_OK(hipMalloc((void **)&a, 4096));
    HIP_OK(hipModuleGetFunction(&reverse, modules[0], "reverse"));
    gate g = shut_gate();
    open_behind(&g, &s);
    HIP_OK(hipEventRecord(s.begin, s.stream));
    HIP_OK(launch(reverse, 256, s.stream, (void *[]){&a}));
    HIP_OK(hipEventRecord(s.end, s.stream));
    open_gate(&g);
    assert_milliseconds(&s, 2);
    close_stream(&s);
    HIP_OK(hipFree(a));
}

static void streams_overlap(void **state)
{
    enum { KERNELS = 200 };
    (void)state;
    timed_stream s[3];
    float last_begin = 0, first_end = 1e9f;
    gate g = shut_gate();
    for (int i = 0; i < 3; i++)
        open_behind(&g, &s[i]);
    for (int i = 0; i < 3; i++)
        launch_timed(&s[i], nops[0], KERNELS); /* 100 ms: the gate may open late for one */
    open_gate(&g);
    for (int i = 0; i < 3; i++) {
        float begin = milliseconds(s[0].begin, s[i].begin),
              end = milliseconds(s[0].begin, s[i].end);
        assert_true(end - begin >= KERNELS * KERNEL_MS - 0.1f); /* floats */
        if (begin > last_begin) last_begin = begin;
        if (end < first_end) first_end = end;
    }
    assert_true(last_begin < first_end);
    for (int i = 0; i < 3; i++)
        close_stream(&s[i]);
}

static void a_stream_waits_for_an_event(void **state)
{
    (void)state;
    timed_stream first, second;
    gate g = shut_gate();
    open_behind(&g, &first);
    open_stream(&second);
    launch_timed(&first, nops[0], 10);
    HIP_OK(hipStreamWaitEvent(second.stream, first.end, 0));
    launch_timed(&second, nops[0], 1);
    open_gate(&g);
    assert_true(milliseconds(first.begin, second.end) >= 11 * KERNEL_MS);
    HIP_IS(hipSuccess, hipEventQuery(first.end));
    close_stream(&first);
    close_stream(&second);
}

static void copies_overlap_with_kernels(void **state)
{
    (void)state;
    enum { SIZE = 64 << 20 };
    timed_stream kernels, copies;
    void *pinned, *device;
    HIP_OK(hipHostMalloc(&pinned, SIZE, 0));
    HIP_OK(hipMalloc(&device, SIZE));
    gate g = shut_gate();
    open_behind(&g, &kernels);
    open_behind(&g, &copies);
    launch_timed(&kernels, nops[0], 60); /* 30 ms */
    HIP_OK(hipEventRecord(copies.begin, copies.stream));
    HIP_OK(hipMemcpyAsync(device, pinned, SIZE, hipMemcpyHostToDevice, copies.stream));
    HIP_OK(hipEventRecord(copies.end, copies.stream));
    open_gate(&g);
    /* 25 GB/s, the default, and the fixed part */
    assert_true(milliseconds(copies.begin, copies.end) >= SIZE / 25e6f);
    assert_true(milliseconds(kernels.begin, copies.begin) <
                milliseconds(kernels.begin, kernels.end));
    close_stream(&kernels);
    close_stream(&copies);
    HIP_OK(hipFree(device));
    HIP_OK(hipHostFree(pinned));
}

/* ---- threads ---- */

enum { THREADS = 4, STREAMS = 3, LAUNCHES = 200 };

typedef struct worker {
    pthread_t thread;
    hipEvent_t begin; /* of all work */
    int device;
    bool ok;
    timed_stream streams[STREAMS];
} worker;

/* Not a test function: cmocka's assertions are for the main thread. */
static void *work(void *argument)
{
    worker *w = argument;
    w->ok = hipSetDevice(w->device) == hipSuccess;
    for (int i = 0; i < STREAMS; i++) {
        timed_stream *s = &w->streams[i];
        w->ok = w->ok && !hipStreamCreateWithFlags(&s->stream, hipStreamNonBlocking) &&
                !hipStreamWaitEvent(s->stream, w->begin, 0) && !hipEventCreate(&s->begin) &&
                !hipEventCreate(&s->end) && !hipEventRecord(s->begin, s->stream);
    }
    for (int i = 0; w->ok && i < LAUNCHES; i++)
        w->ok = !launch(nops[w->device], 256, w->streams[i % STREAMS].stream, NULL);
    for (int i = 0; w->ok && i < STREAMS; i++)
        w->ok = !hipEventRecord(w->streams[i].end, w->streams[i].stream);
    return NULL;
}

static void threads_and_devices_overlap(void **state)
{
    (void)state;
    worker workers[THREADS] = {0};
    uint64_t before = simhsa_kernel_launches("nop");
    float longest = 0;
    gate g = shut_gate();
    for (int i = 0; i < THREADS; i++) {
        workers[i].device = i % 2;
        workers[i].begin = g.opened;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    open_gate(&g);
    HIP_OK(hipSetDevice(1));
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(simhsa_kernel_launches("nop") - before, THREADS * LAUNCHES);
    for (int i = 0; i < THREADS; i++) {
        assert_true(workers[i].ok);
        HIP_OK(hipSetDevice(workers[i].device));
        for (int j = 0; j < STREAMS; j++) {
            float ms = milliseconds(workers[i].streams[j].begin, workers[i].streams[j].end);
            if (ms > longest) longest = ms;
            close_stream(&workers[i].streams[j]);
        }
    }
    HIP_OK(hipSetDevice(0));
    /* 400 ms of kernels in twelve streams, and each of two devices has queues for all of its six.
     */
    const float busy = THREADS * LAUNCHES * KERNEL_MS;
    if (longest > busy * 3 / 4) fail_msg("%.1f ms of kernels took %.1f ms", busy, longest);
}

static void thousands_of_kernels_are_all_run(void **state)
{
    (void)state;
    enum { KERNELS = 20000 };
    hipStream_t stream;
    hipFunction_t table;
    int *out;
    uint64_t before = simhsa_kernel_launches("sum_table");
    simhsa_set_kernel("sum_table", NULL, 0);
    HIP_OK(hipModuleGetFunction(&table, modules[0], "sum_table"));
    HIP_OK(hipMalloc((void **)&out, 4));
    HIP_OK(hipStreamCreate(&stream));
    for (int i = 0; i < KERNELS; i++)
        HIP_OK(launch(table, 256, stream, (void *[]){&out}));
    HIP_OK(hipStreamSynchronize(stream));
    assert_int_equal(simhsa_kernel_launches("sum_table") - before, KERNELS);
    HIP_OK(hipStreamDestroy(stream));
    HIP_OK(hipFree(out));
}

static int set_up(void **state)
{
    (void)state;
    sem_init(&open_it, 0, 0);
    setenv("SIMHSA_GPUS", "2", 1);
    setenv("SIMHSA_KERNEL_NS", "500000,rev*=2000000", 1);
    /* By default the runtime has four hardware queues and lets the fifth stream share one: then two
     * whose overlap is awaited may be one queue's, as streams of the test before leave theirs late.
     */
    setenv("GPU_MAX_HW_QUEUES", "16", 1);
    for (int i = 0; i < 2; i++) {
        HIP_OK(hipSetDevice(i));
        modules[i] = load_module();
        nops[i] = get_kernel(modules[i], "nop");
        HIP_OK(launch(nops[i], 256, NULL, NULL)); /* sets up the device's first queue */
        HIP_OK(hipDeviceSynchronize());
    }
    HIP_OK(hipSetDevice(0));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return hipModuleUnload(modules[0]) || hipModuleUnload(modules[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_take_their_duration),
        cmocka_unit_test(named_kernels_have_their_own_duration),
        cmocka_unit_test(streams_overlap),
        cmocka_unit_test(a_stream_waits_for_an_event),
        cmocka_unit_test(copies_overlap_with_kernels),
        cmocka_unit_test(threads_and_devices_overlap),
        cmocka_unit_test(thousands_of_kernels_are_all_run),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
