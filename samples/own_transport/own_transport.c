/* SPDX-License-Identifier: MIT
 *
 * Ranks that communicate by a transport of their own, here two processes and a socket: what
 * <hipboard/comm.h> is for. TensorBoard's Distributed view and `hipboard ranks` tell who waits for
 * whom: rank 1 takes its time.
 *
 *     own_transport && hipboard ranks runs/own_transport
 */
#include <hipboard/comm.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, GRADIENTS = 4096, STEPS = 6, CONTROL_TAG = 1 };

static int rank, peer; /* peer: the socket to the other rank */

static bool send_all(const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t n = write(peer, at, size);
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool receive_all(void *data, size_t size)
{
    for (char *at = data; size;) {
        ssize_t n = read(peer, at, size);
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Every rank's sum. The annotation's name says what is done, for whoever looks for it. */
static bool all_reduce(float *values, int count)
{
    float theirs[GRADIENTS];
    bool whole = false;
    HB_COLLECTIVE("own:all_reduce", HB_COMM_WORLD, HB_FLOAT32, count, count)
    {
        size_t size = (size_t)count * sizeof *values;
        whole = rank == 0 ? send_all(values, size) && receive_all(theirs, size)
                          : receive_all(theirs, size) && send_all(values, size);
        for (int i = 0; i < count; i++)
            values[i] += theirs[i];
    }
    return whole;
}

/* Rank 0 says whether to go on. */
static bool goes_on(bool more)
{
    bool whole = false;
    if (rank == 0) {
        HB_SEND(1, CONTROL_TAG, sizeof more) whole = send_all(&more, sizeof more);
    } else {
        HB_RECV(0, CONTROL_TAG, sizeof more) whole = receive_all(&more, sizeof more);
    }
    return whole && more;
}

static void compute(float *gradients)
{
    HB_OP("compute", HB_INPUTS(HB_TENSOR(HB_FLOAT32, GRADIENTS))) {
        usleep(rank == 1 ? 8000 : 2000);
        for (int i = 0; i < GRADIENTS; i++)
            gradients[i] = (float)(rank + 1);
    }
}

static int train(void)
{
    static float gradients[GRADIENTS];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    char worker[32];
    bool right = true;
    int steps = 0;
    snprintf(worker, sizeof worker, "here_%d", rank);
    o.record_shapes = true;
    o.distributed = (hb_distributed_info){.backend = "gloo", .rank = rank, .world_size = RANKS};
    o.on_trace_ready = hb_tensorboard_trace_handler("runs/own_transport", worker, 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return 1;
    do {
        compute(gradients);
        right = all_reduce(gradients, GRADIENTS) && gradients[GRADIENTS - 1] == 3;
        hb_profiler_step(prof);
    } while (goes_on(++steps < STEPS) && right);
    hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return right && steps == STEPS ? 0 : 1;
}

int main(void)
{
    int ends[RANKS], status = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    pid_t other = fork();
    if (other < 0) return 1;
    rank = other == 0;
    peer = ends[rank];
    close(ends[!rank]);
    int failed = train();
    if (rank == 1) return failed;
    waitpid(other, &status, 0);
    return failed || status;
}
