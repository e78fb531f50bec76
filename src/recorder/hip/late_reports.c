/* SPDX-License-Identifier: MIT */
#include "hip/late_reports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"

#define MOST_BYTES ((size_t)1 << 30) /* of a session */

typedef struct late {
    struct late *next; /* newer */
    const hb_session *session;
    hb_late_wants wants;
    uint64_t progress;
    bool waits;
    hb_buf records;
} late;

static hb_bare_lock lock = HB_BARE_LOCK_INIT(LATE_REPORTS); /* of all below */
static late *oldest;
static _Atomic int num_waiting; /* read without the lock by those who report */

static late *find(const hb_session *session)
{
    late *l = oldest;
    while (l && l->session != session)
        l = l->next;
    return l;
}

static late *whose(uint64_t work)
{
    late *l = oldest;
    while (l && (!l->waits || work < l->wants.first_work || work > l->wants.last_work))
        l = l->next;
    return l;
}

bool hb_late_open(const hb_session *session, const hb_late_wants *wants)
{
    late *l = calloc(1, sizeof *l);
    if (!l) return false;
    l->session = session;
    l->wants = *wants;
    l->waits = true;
    hb_buf_init(&l->records, MOST_BYTES);
    hb_bare_lock_take(&lock);
    late **at = &oldest;
    while (*at)
        at = &(*at)->next;
    *at = l;
    atomic_fetch_add(&num_waiting, 1);
    hb_bare_lock_give(&lock);
    return true;
}

bool hb_late_reports_pending(void)
{
    return atomic_load_explicit(&num_waiting, memory_order_relaxed) != 0;
}

/* Without memory the report is lost, and stays missing. */
static void append(late *l, const hb_record_work *work, enum hb_record_type type, size_t bytes)
{
    hb_record *r = (hb_record *)(void *)hb_buf_reserve(&l->records, bytes);
    if (!r) return;
    memcpy(r, work, bytes);
    r->type = (uint8_t)type;
    r->units = (uint16_t)(bytes / 8);
    r->start = hb_ticks();
    r->end = 0;
    l->records.size += bytes;
}

bool hb_late_take(const hb_record_work *work, enum hb_record_type type, size_t bytes)
{
    hb_bare_lock_take(&lock);
    late *l = whose(work->work);
    if (l && work->kind) append(l, work, type, bytes);
    hb_bare_lock_give(&lock);
    return l != NULL;
}

void hb_late_arrived(uint64_t work, bool certain)
{
    hb_bare_lock_take(&lock);
    late *l = whose(work);
    uint64_t *count = l ? certain ? &l->wants.missing : &l->wants.expected : NULL;
    if (count && *count) --*count;
    if (l) l->progress++;
    hb_bare_lock_give(&lock);
}

bool hb_late_awaits(const hb_session *session, hb_late_wants *wants, uint64_t *progress)
{
    hb_bare_lock_take(&lock);
    const late *l = find(session);
    bool waits = l && l->waits;
    if (waits) {
        *wants = l->wants;
        *progress = l->progress;
    }
    hb_bare_lock_give(&lock);
    return waits;
}

void hb_late_close(const hb_session *session)
{
    hb_bare_lock_take(&lock);
    late *l = find(session);
    if (l && l->waits) {
        l->waits = false;
        atomic_fetch_sub(&num_waiting, 1);
    }
    hb_bare_lock_give(&lock);
}

const char *hb_late_records(const hb_session *session, size_t *bytes, uint64_t *missing)
{
    hb_bare_lock_take(&lock);
    const late *l = find(session);
    *bytes = l ? l->records.size : 0;
    *missing = l ? l->wants.missing : 0;
    const char *records = l ? l->records.data : NULL;
    hb_bare_lock_give(&lock);
    return records;
}

void hb_late_forget(const hb_session *session)
{
    hb_late_close(session);
    hb_bare_lock_take(&lock);
    late **at = &oldest, *l;
    while (*at && (*at)->session != session)
        at = &(*at)->next;
    if ((l = *at)) *at = l->next;
    hb_bare_lock_give(&lock);
    if (l) hb_buf_free(&l->records);
    free(l);
}

const hb_session *hb_late_first(void)
{
    hb_bare_lock_take(&lock);
    const late *l = oldest;
    while (l && !l->waits)
        l = l->next;
    const hb_session *session = l ? l->session : NULL;
    hb_bare_lock_give(&lock);
    return session;
}

/* The sessions are the parent's; the memory is given up. */
void hb_late_after_fork(void)
{
    hb_bare_lock_after_fork(&lock);
    oldest = NULL;
    atomic_store(&num_waiting, 0);
}
