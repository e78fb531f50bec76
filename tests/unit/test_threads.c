/* SPDX-License-Identifier: MIT
 *
 * A thread's recording state: what it loses, whose it is when the thread has ended, its name.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/process.h"
#include "forks_with_threads.h"
#include "program.h"
#include "still_session.h"
#include "thread_states.h"

/* ---- in place of the C library ---- */

static bool no_memory, no_key;
static const void *within; /* a call while the thread gets its key's value: NULL, none */
static hb_thread *begun_within;

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (no_memory && size == sizeof(hb_thread)) return MAP_FAILED;
    return __real_mmap64(at, size, protection, flags, fd, offset);
}

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    if (within) begun_within = hb_thread_begin_at(within);
    return no_key ? ENOMEM : __real_pthread_setspecific(key, value);
}

/* ---- helpers ---- */

static int begin(void **state)
{
    (void)state;
    return begin_session(16 << 20, 0);
}

static int end(void **state)
{
    (void)state;
    return end_session();
}

static void end_here(worker *w)
{
    (void)w;
    pthread_exit(NULL);
}

static void start_without_state(worker *w, void (*work)(worker *))
{
    sem_init(&w->told, 0, 0);
    sem_init(&w->done, 0, 0);
    assert_int_equal(pthread_create(&w->thread, NULL, work_as_told, w), 0);
    do_on(w, work);
}

/* ---- losses ---- */

/* There a crash leaves them; other ones wait for who asks. */
static void what_a_call_loses_is_its_sessions_at_once(void **state)
{
    (void)state;
    record_one();
    hb_lost_add(HB_LOST_TOO_BIG);
    assert_int_equal(lost(HB_LOST_TOO_BIG), 0);
    assert_int_equal(hb_threads_take_lost(HB_LOST_TOO_BIG), 1);
    assert_int_equal(hb_threads_take_lost(HB_LOST_TOO_BIG), 0);
    hb_thread *t = hb_record_enter();
    hb_lost_add(HB_LOST_TOO_BIG);
    hb_lost_add(HB_LOST_TOO_BIG);
    assert_int_equal(lost(HB_LOST_TOO_BIG), 2);
    hb_session_stop(session);
    hb_lost_add(HB_LOST_TOO_BIG);
    assert_int_equal(lost(HB_LOST_TOO_BIG), 2);
    hb_thread_leave(t);
    assert_int_equal(hb_threads_take_lost(HB_LOST_TOO_BIG), 1);
    assert_int_equal(hb_threads_take_lost(HB_LOST_MEMORY), 0);
}

static void without_a_session_losses_are_kept_for_the_next(void **state)
{
    (void)state;
    hb_session_end(session);
    worker w;
    start_worker(&w);
    end_worker(&w);
    hb_thread *t = hb_thread_begin();
    t->epoch = 0;
    hb_lost_add(HB_LOST_TOO_BIG);
    hb_thread_leave(t);
    hb_session *next = begin_in(spool, 0);
    hb_session_count_early(next);
    assert_int_equal(hb_session_lost_of(next, HB_LOST_TOO_BIG), 1);
    end_in_spool(spool, next);
}

/* ---- the end of a thread ---- */

static pthread_key_t later;
static int recorded, forgotten;

/* TSan lets go of a thread before the fourth round. */
static void record_in_destructor(void *arg)
{
    intptr_t round = (intptr_t)arg;
    hb_scope scope = hb_record_function("in a destructor");
    recorded += scope.record != NULL;
    forgotten += hb_thread_tls == NULL;
    hb_scope_end(&scope);
    if (round < 3) pthread_setspecific(later, (void *)(round + 1));
}

static void ask_for_destructor(worker *w)
{
    (void)w;
    record_one();
    pthread_setspecific(later, (void *)1);
}

/* Those of other libraries may record after hipboard's own, in each round but the last; twice,
 * since the second thread has the first one's state. */
static void destructors_may_record_in_two_rounds(void **state)
{
    (void)state;
    assert_int_equal(pthread_key_create(&later, record_in_destructor), 0);
    (void)is_taken_by_new_threads(NULL);
    int before = count_states();
    for (int i = 1; i <= 2; i++) {
        worker w;
        start_worker(&w);
        do_on(&w, ask_for_destructor);
        end_worker(&w);
        assert_int_equal(recorded, 2 * i);
        assert_int_equal(forgotten, i);
        assert_int_equal(state_of(w.state), HB_THREAD_DEAD);
        assert_int_equal(hb_threads_take_lost(HB_LOST_MEMORY), 1);
    }
    assert_int_equal(count_states(), before);
    pthread_key_delete(later);
}

/* Unless it was given up before: then that was counted. */
static void a_call_that_a_threads_end_interrupts_is_lost(void **state)
{
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        worker w;
        start_worker(&w);
        do_on(&w, enter);
        if (silent) atomic_store(&w.state->silent, atomic_load(&w.state->busy));
        end_worker_by(&w, end_here);
        assert_int_equal(lost(HB_LOST_INTERRUPTED), 1);
        assert_int_equal(state_of(w.state), HB_THREAD_DEAD);
        assert_false(is_in_call(w.state));
    }
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 0);
}

static void soil(hb_thread *t)
{
    static char somewhere[8];
    t->epoch = 77;
    t->frame = 5;
    t->pos = t->end = somewhere;
    t->former = (hb_chunk *)(void *)somewhere;
    t->depth = 3;
    t->sequence = 4;
    t->call = somewhere;
    t->ends = 2;
    strcpy(t->name, "an old name");
}

/* Begins as a thread does that was never seen before. */
static void keep_state(worker *w)
{
    w->state = hb_thread_create();
    hb_thread *t = w->state;
    CHECK(t->tid == gettid());
}

static void a_state_that_is_used_again_has_nothing_of_the_thread_before(void **state)
{
    (void)state;
    worker first, w = {.state = NULL};
    start_worker(&first);
    uint32_t number = first.state->number;
    end_worker(&first);
    for (hb_thread *t = hb_threads_first(); t; t = t->next)
        if (state_of(t) == HB_THREAD_DEAD) soil(t);
    int before = count_states();
    start_without_state(&w, keep_state);
    const hb_thread *t = w.state;
    assert_int_equal(count_states(), before);
    assert_int_equal(state_of(t), HB_THREAD_LIVES);
    assert_int_equal(t->number, number + 1);
    assert_true(t->epoch == 0 && t->depth == 0 && t->sequence == 0 && t->ends == 0);
    assert_true(!t->pos && !t->end && !t->former && !t->call);
    assert_true(t->frame == HB_NO_FRAME);
    assert_string_equal(t->name, "");
    end_worker(&w);
}

static void begin_within(worker *w)
{
    within = at(HB_NO_FRAME - 1);
    w->state = hb_thread_create();
    within = NULL;
}

/* Of a malloc() that records, which setting the key's value calls. */
static void a_call_within_a_threads_first_is_no_later_one(void **state)
{
    (void)state;
    worker w;
    start_without_state(&w, begin_within);
    assert_null(begun_within);
    assert_int_equal(hb_threads_take_lost(HB_LOST_REENTRANT), 1);
    assert_non_null(w.state);
    assert_false(is_in_call(w.state));
    end_worker(&w);
}

static void record_without_key(worker *w)
{
    (void)w;
    no_key = true;
    record_one();
    CHECK(!hb_thread_tls);
    no_key = false;
}

/* Nobody would tell of its end. */
static void a_thread_whose_key_cannot_be_set_gives_its_state_back(void **state)
{
    (void)state;
    worker w;
    (void)is_taken_by_new_threads(NULL);
    int before = count_states();
    start_without_state(&w, record_without_key);
    assert_int_equal(hb_threads_take_lost(HB_LOST_MEMORY), 1);
    assert_null(w.state);
    for (const hb_thread *t = hb_threads_first(); t; t = t->next) {
        assert_false(is_in_call(t));
        assert_int_equal(state_of(t), t == hb_thread_tls ? HB_THREAD_LIVES : HB_THREAD_DEAD);
    }
    do_on(&w, take_state);
    assert_int_equal(state_of(w.state), HB_THREAD_LIVES);
    assert_int_equal(count_states(), before);
    end_worker(&w);
}

/* Nothing else of the library has been called. */
static int begin_with_a_number(void)
{
    CHECK(hb_thread_number() == 1); /* 0 is none */
    return 0;
}

static int begin_with_a_name(void)
{
    hb_thread_name("from the beginning");
    CHECK(strcmp(hb_thread_tls->name, "from the beginning") == 0);
    return 0;
}

static void a_thread_may_begin_by_asking_for_its_number_or_with_a_name(void **state)
{
    (void)state;
    assert_int_equal(run_program(begin_with_a_number), 0);
    assert_int_equal(run_program(begin_with_a_name), 0);
}

static void do_without_state(worker *w)
{
    (void)w;
    CHECK(hb_thread_number() == 0);
    hb_thread_name("nobody's");
}

static int be_without_memory(void)
{
    worker w;
    spool = still_spool(NULL, 1 << 20);
    session = begin_in(spool, 0);
    CHECK(hb_thread_number() == 1);
    hb_thread *t = hb_record_enter_at(at(FRAME));
    no_memory = true;
    CHECK(!hb_thread_begin_at(at(FRAME)));
    CHECK(hb_thread_tls == t && lost(HB_LOST_MEMORY) == 1);
    hb_thread_leave(t);
    sem_init(&w.told, 0, 0);
    sem_init(&w.done, 0, 0);
    CHECK(pthread_create(&w.thread, NULL, work_as_told, &w) == 0);
    do_on(&w, do_without_state);
    CHECK(!w.state && hb_threads_take_lost(HB_LOST_MEMORY) == 2);
    no_memory = false;
    do_on(&w, take_state);
    CHECK(w.state && w.state->number == 2);
    end_worker(&w);
    end_in_spool(spool, session);
    close_test_spool(spool);
    return 0;
}

static void without_memory_for_its_state_a_thread_records_nothing(void **state)
{
    (void)state;
    assert_int_equal(run_program(be_without_memory), 0);
}

/* A child that no fork handler prepared sees it empty. */
static void whether_something_is_recorded_stands_in_memory_of_this_process(void **state)
{
    (void)state;
    uint32_t *word = hb_process_word();
    assert_ptr_equal(hb_live_epoch, word ? word : &hb_enabled_epoch);
    assert_int_equal(*hb_live_epoch, session->number);
    assert_int_equal(hb_enabled_epoch, session->number);
}

static void threads_have_numbers_of_their_own(void **state)
{
    (void)state;
    worker a, b;
    start_worker(&a);
    start_worker(&b);
    assert_int_equal(b.state->number, a.state->number + 1);
    assert_int_equal(hb_thread_number(), hb_thread_self()->number);
    assert_int_not_equal(hb_thread_number(), a.state->number);
    end_worker(&a);
    end_worker(&b);
}

/* ---- names ---- */

static const char *name_in_chunk(void)
{
    return hb_thread_tls->chunk->events.thread_name;
}

/* Also of what was recorded before, which is no session's any more when that has ended. */
static void a_name_is_at_once_that_of_the_present_chunk(void **state)
{
    (void)state;
    record_one();
    hb_thread_name("the first");
    assert_string_equal(name_in_chunk(), "the first");
    hb_thread_name(NULL);
    assert_string_equal(name_in_chunk(), "the first");
    hb_thread_name("1");
    assert_string_equal(name_in_chunk(), "1");
    hb_session_end(session);
    hb_thread_name("the second");
    assert_string_equal(name_in_chunk(), "1");
    assert_string_equal(hb_thread_tls->name, "the second");
    hb_session *next = begin_in(spool, 0);
    record_one();
    assert_string_equal(name_in_chunk(), "the second");
    end_in_spool(spool, next);
}

static void a_long_name_is_cut_off(void **state)
{
    (void)state;
    hb_thread_name("0123456789012345678901234567890123456789");
    record_one();
    assert_string_equal(hb_thread_tls->name, "0123456789012345678901234567890");
    assert_string_equal(name_in_chunk(), hb_thread_tls->name);
}

static void no_name_is_given_within_a_call(void **state)
{
    (void)state;
    hb_thread_name("before");
    hb_thread *t = hb_record_enter();
    hb_thread_name("within");
    assert_string_equal(t->name, "before");
    assert_int_equal(lost(HB_LOST_REENTRANT), 1);
    hb_thread_leave(t);
}

static sigjmp_buf out;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

/* Of a text that is not there, by a program that gets over it. */
static void a_naming_that_was_jumped_out_of_is_gone(void **state)
{
    (void)state;
    struct sigaction jumps = {.sa_handler = jump_out}, before;
    void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(nothing != MAP_FAILED);
    record_one();
    assert_int_equal(sigaction(SIGSEGV, &jumps, &before), 0);
    if (sigsetjmp(out, 1) == 0) hb_thread_name(nothing);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    hb_scope scope = hb_record_function("after it");
    assert_non_null(scope.record);
    hb_scope_end(&scope);
    assert_int_equal(lost(HB_LOST_INTERRUPTED), 1);
    assert_int_equal(lost(HB_LOST_REENTRANT), 0);
    munmap(nothing, 4096);
}

/* ---- exit ---- */

static int exit_after(bool in_call)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    record_one();
    if (in_call) CHECK(hb_record_enter());
    exit(0);
}

static int exit_between_calls(void)
{
    return exit_after(false);
}

static int exit_in_a_call(void)
{
    return exit_after(true);
}

/* It may be a signal handler's: nothing is done that the call might have been at. What was recorded
 * is recovered. */
static void an_exit_in_a_call_saves_nothing(void **state)
{
    (void)state;
    assert_int_equal(run_program(exit_in_a_call), 0);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 0);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 1);
    assert_int_equal(run_program(exit_between_calls), 0);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 2);
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(exit_between_calls), PROGRAM(exit_in_a_call),
                                       PROGRAM(be_without_memory), PROGRAM(begin_with_a_number),
                                       PROGRAM(begin_with_a_name)};
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_SESSION(what_a_call_loses_is_its_sessions_at_once),
        IN_SESSION(without_a_session_losses_are_kept_for_the_next),
        IN_SESSION(destructors_may_record_in_two_rounds),
        IN_SESSION(a_call_that_a_threads_end_interrupts_is_lost),
        IN_SESSION(a_state_that_is_used_again_has_nothing_of_the_thread_before),
        IN_SESSION(a_call_within_a_threads_first_is_no_later_one),
        IN_SESSION(a_thread_whose_key_cannot_be_set_gives_its_state_back),
        IN_DIR(a_thread_may_begin_by_asking_for_its_number_or_with_a_name),
        IN_DIR(without_memory_for_its_state_a_thread_records_nothing),
        IN_SESSION(whether_something_is_recorded_stands_in_memory_of_this_process),
        IN_SESSION(threads_have_numbers_of_their_own),
        IN_SESSION(a_name_is_at_once_that_of_the_present_chunk),
        IN_SESSION(a_long_name_is_cut_off),
        IN_SESSION(no_name_is_given_within_a_call),
        IN_SESSION(a_naming_that_was_jumped_out_of_is_gone),
        IN_DIR(an_exit_in_a_call_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
