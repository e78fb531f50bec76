/* SPDX-License-Identifier: MIT */
#include "event.h"
#include "sim.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void sim_event_sleep(sim_event *event, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, &event->sequence, FUTEX_WAIT_PRIVATE, seen,
            timeout_ns == SIM_FOREVER ? NULL : &t, NULL, 0);
}

void sim_event_wake_all(sim_event *event)
{
    __atomic_add_fetch(&event->sequence, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &event->sequence, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
