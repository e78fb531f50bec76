/* SPDX-License-Identifier: MIT
 *
 * A page that many threads ask while traces come, change and go.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <hipboard/page.h>

#include "test_dir.h"

enum { THREADS = 4, ROUNDS = 60, CYCLES = 3 };

static const char text[] = "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                           "\"ProfilerStep#1\",\"pid\":1,"
                           "\"tid\":1,\"ts\":0,\"dur\":100,\"args\":{}},{\"ph\":\"X\",\"cat\":"
                           "\"cpu_op\",\"name\":\"a\",\"pid\":"
                           "1,\"tid\":1,\"ts\":%d,\"dur\":50,\"args\":{}}]}";

static void path_of(int cycle, char path[300])
{
    snprintf(path, 300, "%s/w.%d.pt.trace.json", dir, cycle);
}

static void write_cycle(int cycle, int at)
{
    char path[300], part[300];
    path_of(cycle, path);
    snprintf(part, sizeof part, "%s/.part", dir);
    FILE *f = fopen(part, "w");
    assert_non_null(f);
    fprintf(f, text, at);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(part, path), 0);
}

static hb_page *open_page(bool live, uint64_t max_memory)
{
    const char *paths[] = {dir};
    hb_page *page;
    hb_page_options options = HB_PAGE_OPTIONS_INIT;
    options.live = live;
    options.max_memory = max_memory;
    assert_int_equal(hb_page_open(paths, 1, &options, &page), HB_OK);
    return page;
}

static hb_result ask(hb_page *page, const char *route, int cycle, hb_page_answer *answer)
{
    char address[400];
    const char *name = strrchr(dir, '/') + 1;
    snprintf(address, sizeof address, "%s?trace=%s%%2Fw%%2F%d", route, name, cycle);
    return hb_page_ask(page, address, answer);
}

typedef struct asker {
    hb_page *page;
    atomic_bool *done;
    unsigned seed;
    atomic_int answered;
    int refused;
} asker;

/* No assertion of cmocka's: they are for the main thread. */
static void *ask_on(void *context)
{
    static const char *const routes[] = {
        "hb/overview", "hb/steps", "hb/operators", "hb/timeline", "hb/progress",       "hb/changes",
        "hb/about",    "hb/ranks", "hb/memory",    "hb/compare",  "hb/timeline/slices"};
    asker *a = context;
    while (!atomic_load(a->done)) {
        hb_page_answer answer;
        unsigned r = (unsigned)rand_r(&a->seed);
        if (ask(a->page, routes[r % 11], 1 + (int)(r / 11 % CYCLES), &answer) == HB_OK) {
            atomic_fetch_add(&a->answered, 1);
            hb_free(answer.body);
        } else {
            a->refused++;
        }
    }
    return NULL;
}

static void test_threads_ask_while_traces_come_and_go(void **state)
{
    (void)state;
    asker askers[THREADS];
    pthread_t threads[THREADS];
    atomic_bool done = false;
    write_cycle(1, 10);
    hb_page *page = open_page(true, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        askers[i] = (asker){page, &done, i, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &askers[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        char path[300];
        int cycle = 1 + i % CYCLES;
        path_of(cycle, path);
        if (i % 7 == 3)
            unlink(path);
        else
            write_cycle(cycle, i);
        usleep(50000);
    }
    write_cycle(1, 10); /* an answer is there for each */
    for (unsigned i = 0; i < THREADS; i++)
        while (!atomic_load(&askers[i].answered))
            usleep(1000);
    atomic_store(&done, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hb_page_close(page);
}

static void test_a_live_page_may_begin_empty(void **state)
{
    (void)state;
    const char *paths[] = {dir};
    hb_page *page = open_page(true, 0), *other;
    hb_page_answer answer;
    assert_int_equal(hb_page_num_traces(page), 0);
    assert_int_equal(hb_page_open(paths, 1, NULL, &other), HB_ERROR_NOT_FOUND);
    write_cycle(1, 10);
    for (int i = 0; i < 6000 && hb_page_num_traces(page) == 0; i++) {
        assert_int_equal(hb_page_ask(page, "hb/changes", &answer), HB_OK);
        hb_free(answer.body);
        usleep(50000);
    }
    assert_int_equal(ask(page, "hb/steps", 1, &answer), HB_OK);
    hb_free(answer.body);
    hb_page_close(page);
}

static uint64_t generation_of(hb_page *page, const char *route)
{
    static const char key[] = "\"generation\": ";
    hb_page_answer answer;
    assert_int_equal(hb_page_ask(page, route, &answer), HB_OK);
    const char *at = strstr(answer.body, key);
    assert_non_null(at);
    char *end;
    uint64_t generation = strtoull(at + strlen(key), &end, 10);
    assert_true(*end == ',' || *end == '}');
    hb_free(answer.body);
    return generation;
}

/* A page in a browser outlives the process that it asked: the next one's lists are others. */
static void test_a_live_page_is_not_taken_for_the_one_before(void **state)
{
    (void)state;
    write_cycle(1, 10);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        hb_page *page = open_page(true, 0);
        uint64_t now = generation_of(page, "hb/changes");
        assert_int_equal(generation_of(page, "hb/about"), now);
        assert_true(now > last && now < UINT64_C(1) << 53); /* exact in JavaScript */
        write_cycle(1, 20 + i);
        last = now;
        for (int k = 0; k < 6000 && last == now; k++) {
            usleep(50000);
            last = generation_of(page, "hb/changes");
        }
        assert_int_equal(last, now + 1);
        hb_page_close(page);
    }
}

static void test_what_is_forgotten_is_read_again(void **state)
{
    (void)state;
    write_cycle(1, 10);
    write_cycle(2, 20);
    hb_page *page = open_page(false, 1);
    for (int i = 0; i < 4; i++) {
        hb_page_answer answer;
        assert_int_equal(ask(page, "hb/operators", 1 + i % 2, &answer), HB_OK);
        assert_non_null(strstr(answer.body, "\"a\""));
        hb_free(answer.body);
    }
    /* Nothing is left of the first, and it cannot be read any more. */
    char path[300];
    hb_page_answer answer;
    path_of(1, path);
    assert_int_equal(unlink(path), 0);
    assert_int_not_equal(ask(page, "hb/operators", 1, &answer), HB_OK);
    assert_int_equal(ask(page, "hb/operators", 2, &answer), HB_OK);
    hb_free(answer.body);
    hb_page_close(page);
}

static uint64_t take_number(const unsigned char **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    do
        value |= (uint64_t)(**at & 0x7f) << shift;
    while (shift += 7, *(*at)++ & 0x80);
    return value;
}

/* Two threads draw what two threads did; what either did is there once. */
static void test_a_large_window_is_drawn_by_two(void **state)
{
    enum { SLICES = 220000, LANES = 2, HEAD = 4, PARTS = 5 };
    hb_page_answer answer;
    char path[300];
    (void)state;
    path_of(1, path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < SLICES; i++)
        fprintf(f,
                "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":%d,\"ts\":%d,"
                "\"dur\":2}",
                i ? ",\n" : "{\"traceEvents\":[", i % LANES, 2 * i);
    fputs("]}", f);
    assert_int_equal(fclose(f), 0);
    hb_page *page = open_page(false, 0);
    assert_int_equal(ask(page, "hb/timeline/slices", 1, &answer), HB_OK);
    const unsigned char *at = (const unsigned char *)answer.body, *end = at + answer.size;
    uint64_t lanes = 0, all = 0;
    for (int i = 0; i < HEAD; i++)
        lanes = take_number(&at);
    assert_int_equal(lanes, LANES);
    for (uint64_t lane = 0; lane < lanes; lane++) {
        uint64_t n = take_number(&at);
        assert_int_equal(n, SLICES / LANES);
        for (uint64_t i = 0; i < n * PARTS && at < end; i++)
            take_number(&at);
        all += n;
    }
    assert_int_equal(all, SLICES);
    assert_ptr_equal(at, end);
    hb_free(answer.body);
    hb_page_close(page);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads_ask_while_traces_come_and_go, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_a_live_page_may_begin_empty, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_live_page_is_not_taken_for_the_one_before, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_forgotten_is_read_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_large_window_is_drawn_by_two, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
