/* SPDX-License-Identifier: MIT
 *
 * A rank as launchers tell it, the names of its traces, and what is said of backends.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/hipboard.h>

#include "base/files.h"
#include "base/launcher.h"
#include "forks_with_threads.h"
#include "profiler/distributed.h"
#include "profiler/write_turns.h"

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "PMIX_RANK",
    "FLUX_TASK_RANK",
    "FLUX_JOB_SIZE",
    "FLUX_TASK_LOCAL_ID",
    "PALS_RANKID",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "MY_RANK",
    HB_LAUNCHER_RANK_FROM,
    HB_LAUNCHER_FIRST,
};

static int no_launcher(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

/* "A=1 B=2" into the environment, and what is found of it. */
static hb_launch_info with(const char *settings)
{
    char copy[400], *rest = copy;
    hb_launch_info info = HB_LAUNCH_INFO_INIT;
    no_launcher(NULL);
    snprintf(copy, sizeof copy, "%s", settings);
    for (char *one; (one = strsep(&rest, " "));) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        setenv(one, value, 1);
    }
    (void)hb_launch_info_get(&info);
    return info;
}

/* What it has no room for is left alone. */
static void a_smaller_structure_of_an_older_program_is_filled(void **state)
{
    hb_launch_info info = {0};
    (void)state;
    assert_int_equal(hb_launch_info_get(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_launch_info_get(&info), HB_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(hb_last_error(), "struct_size"));
    no_launcher(NULL);
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    info.struct_size = offsetof(hb_launch_info, world_size);
    info.world_size = 77;
    assert_int_equal(hb_launch_info_get(&info), HB_OK);
    assert_string_equal(info.launcher, "PMI");
    assert_true(info.rank == 2 && info.world_size == 77);
    assert_int_equal(info.struct_size, offsetof(hb_launch_info, world_size));
    info.struct_size = sizeof info.struct_size;
    info.rank = 66;
    assert_int_equal(hb_launch_info_get(&info), HB_OK);
    assert_int_equal(info.rank, 66);
    no_launcher(NULL);
}

static void each_launcher_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *launcher;
        int64_t rank, size, local_rank, node;
    } cases[] = {
        {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
         "OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=5",
         "Open MPI", 5, 8, 1, 1},
        {"MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_SIZE=4", "MVAPICH", 3, 4, -1, -1},
        {"PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=4", "PMI", 2, 4, 2, 0},
        {"PMIX_RANK=2", "PMIx", 2, -1, -1, -1},
        {"PMIX_RANK=2 SLURM_STEP_NUM_TASKS=6 SLURM_LOCALID=0 SLURM_NODEID=1", "PMIx", 2, 6, 0, 1},
        {"FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2 FLUX_TASK_LOCAL_ID=0", "Flux", 1, 2, 0, -1},
        {"PALS_RANKID=9 PMI_SIZE=16", "PALS", 9, 16, -1, -1},
        {"SLURM_PROCID=7 SLURM_NTASKS=8 SLURM_LOCALID=3 SLURM_NODEID=1", "Slurm", 7, 8, 3, 1},
        {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1", "torchrun", 1, 2, 1, -1},
        /* an mpirun in an allocation: every rank inherits Slurm's 0 */
        {"SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_ID=0 OMPI_COMM_WORLD_RANK=3 "
         "OMPI_COMM_WORLD_SIZE=4",
         "Open MPI", 3, 4, -1, -1},
        /* a batch script: Slurm's numbers, and no step */
        {"SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=64", NULL, -1, -1, -1, -1},
        /* no numbers, and a size that can't be */
        {"OMPI_COMM_WORLD_RANK=first RANK=1 WORLD_SIZE=4", "torchrun", 1, 4, -1, -1},
        {"PMI_RANK=4 PMI_SIZE=4", "PMI", 4, -1, -1, -1},
        {"PMI_RANK=3x RANK=1 WORLD_SIZE=2147483647", "torchrun", 1, 2147483647, -1, -1},
        {"RANK=1 WORLD_SIZE=2147483648", "torchrun", 1, -1, -1, -1},
        {"RANK=0 WORLD_SIZE=1 LOCAL_RANK=-1", "torchrun", 0, 1, -1, -1},
        /* nodes by their ranks, where nothing tells them, and where that would be below 0 */
        {"RANK=11 WORLD_SIZE=12 LOCAL_RANK=3 LOCAL_WORLD_SIZE=4", "torchrun", 11, 12, 3, 2},
        {"RANK=4 WORLD_SIZE=12 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4", "torchrun", 4, 12, 0, 1},
        {"RANK=1 WORLD_SIZE=12 LOCAL_RANK=3 LOCAL_WORLD_SIZE=4", "torchrun", 1, 12, 3, -1},
        {"RANK=4 WORLD_SIZE=12 LOCAL_RANK=0 LOCAL_WORLD_SIZE=0", "torchrun", 4, 12, 0, -1},
        {"RANK=4 WORLD_SIZE=12 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1", "torchrun", 4, 12, 0, 4},
        {"RANK=4 WORLD_SIZE=12 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 GROUP_RANK=7", "torchrun", 4, 12, 0,
         7},
        {"HIPBOARD_RANK_FROM=MY_RANK MY_RANK=6 WORLD_SIZE=6", "the named variable", 6, -1, -1, -1},
        {"HIPBOARD_RANK_FROM=MY_RANK MY_RANK=6 WORLD_SIZE=7", "the named variable", 6, 7, -1, -1},
        {"HIPBOARD_RANK_FROM=MY_RANK MY_RANK=x PMI_RANK=1 PMI_SIZE=8", "PMI", 1, 8, -1, -1},
        {"HIPBOARD_RANK_FROM=MY_RANK MY_RANK=6 PMI_RANK=1 PMI_SIZE=8", "the named variable", 6, 8,
         -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_launch_info info = with(cases[i].settings);
        bool right = info.rank == cases[i].rank && info.world_size == cases[i].size &&
                     info.local_rank == cases[i].local_rank && info.node == cases[i].node;
        if (!right)
            fail_msg("%s: rank %d of %d, local %d, node %d", cases[i].settings, (int)info.rank,
                     (int)info.world_size, (int)info.local_rank, (int)info.node);
        if (cases[i].launcher)
            assert_string_equal(info.launcher, cases[i].launcher);
        else
            assert_null(info.launcher);
    }
}

static void distributed_info_comes_of_it(void **state)
{
    (void)state;
    hb_distributed_info info;
    with("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2");
    assert_int_equal(hb_distributed_from_environment(&info), HB_OK);
    assert_string_equal(info.backend, "mpi");
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.world_size, 2);
    with("PMIX_RANK=3");
    assert_int_equal(hb_distributed_from_environment(&info), HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "rank 3, and not of how many"));
    no_launcher(NULL);
    assert_int_equal(hb_distributed_from_environment(&info), HB_ERROR_NOT_FOUND);
}

/* What a profiler's traces say of it, where the launcher has told `settings`; NULL: nothing. */
static void expect_job(const char *settings, bool is_first, hb_distributed_info given,
                       const char *expected)
{
    char first[20], *json;
    hb_distributed_info info;
    if (settings)
        with(settings);
    else
        no_launcher(NULL);
    snprintf(first, sizeof first, "%d", (int)getpid() + !is_first);
    setenv(HB_LAUNCHER_FIRST, first, 1);
    assert_int_equal(hb_distributed_complete(&given, &info), HB_OK);
    assert_int_equal(hb_distributed_json(&info, &json), HB_OK);
    if (expected && (!json || strncmp(json, expected, strlen(expected)) != 0))
        fail_msg("%s: %s", settings ? settings : "", json ? json : "nothing");
    if (!expected && json) fail_msg("%s: %s", settings ? settings : "", json);
    free(json);
}

static void what_the_program_says_goes_before_what_its_launcher_says(void **state)
{
    static const char two[] = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2";
    const hb_distributed_info nothing = {0}, gloo = {.backend = "gloo"}, empty = {.backend = ""},
                              own = {.backend = "nccl", .rank = 4, .world_size = 5},
                              own_of_none = {.rank = 4, .world_size = 5},
                              alone = {.rank = 0, .world_size = 1};
    (void)state;
    expect_job(two, true, nothing, "{\"backend\": \"mpi\", \"rank\": 1, \"world_size\": 2, ");
    expect_job(two, true, empty, "{\"backend\": \"mpi\", \"rank\": 1, \"world_size\": 2, ");
    expect_job(two, true, gloo, "{\"backend\": \"gloo\", \"rank\": 1, \"world_size\": 2, ");
    expect_job(two, true, own, "{\"backend\": \"nccl\", \"rank\": 4, \"world_size\": 5, ");
    expect_job(two, true, own_of_none, "{\"backend\": \"\", \"rank\": 4, \"world_size\": 5, ");
    expect_job(two, true, alone, "{\"backend\": \"\", \"rank\": 0, \"world_size\": 1, ");
    expect_job(two, false, nothing, NULL); /* a helper that a rank has started */
    expect_job(two, false, own, "{\"backend\": \"nccl\", \"rank\": 4, ");
    expect_job("PMI_RANK=0 PMI_SIZE=1", true, nothing, NULL);
    expect_job("PMIX_RANK=3", true, nothing, NULL);
    expect_job(NULL, true, nothing, NULL);
    expect_job(NULL, true, own, "{\"backend\": \"nccl\", \"rank\": 4, ");
}

static void groups_are_told_of_each_in_full(void **state)
{
    static const int64_t first[] = {0, 2}, second[] = {1};
    const hb_process_group groups[] = {{.name = "default_pg", .ranks = first, .num_ranks = 2},
                                       {.name = "1",
                                        .description = "a \"pair\"",
                                        .backend_config = "cuda:nccl",
                                        .ranks = second,
                                        .num_ranks = 1},
                                       {.name = "none"}};
    hb_distributed_info info = {.backend = "rccl",
                                .rank = 2,
                                .world_size = 3,
                                .groups = groups,
                                .num_groups = 3,
                                .nccl_version = "2.18.3"};
    char *json;
    (void)state;
    no_launcher(NULL);
    assert_int_equal(hb_distributed_complete(&info, &info), HB_OK);
    assert_int_equal(hb_distributed_json(&info, &json), HB_OK);
    assert_string_equal(
        json, "{\"backend\": \"nccl\", \"rank\": 2, \"world_size\": 3, \"pg_count\": 3, "
              "\"pg_config\": [{\"pg_name\": \"default_pg\", \"pg_desc\": \"undefined\", "
              "\"backend_config\": \"\", \"pg_size\": 2, \"ranks\": [0, 2]}, {\"pg_name\": \"1\", "
              "\"pg_desc\": \"a \\\"pair\\\"\", \"backend_config\": \"cuda:nccl\", \"pg_size\": 1, "
              "\"ranks\": [1]}, {\"pg_name\": \"none\", \"pg_desc\": \"undefined\", "
              "\"backend_config\": \"\", \"pg_size\": 0, \"ranks\": []}], "
              "\"nccl_version\": \"2.18.3\"}");
    free(json);
    info.groups = NULL;
    info.nccl_version = NULL;
    assert_int_equal(hb_distributed_json(&info, &json), HB_OK);
    assert_string_equal(json, "{\"backend\": \"nccl\", \"rank\": 2, \"world_size\": 3, "
                              "\"pg_count\": 0, \"pg_config\": []}");
    free(json);
}

static void ranks_are_within_their_world(void **state)
{
    static const struct {
        int64_t rank, size;
        bool may;
    } rows[] = {{0, 1, true},   {1, 1, false},  {4, 5, true},  {5, 5, false},
                {-1, 5, false}, {0, -1, false}, {-1, 0, true}, {7, 0, true}};
    (void)state;
    no_launcher(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hb_distributed_info given = {.rank = rows[i].rank, .world_size = rows[i].size};
        hb_distributed_info info;
        hb_result result = hb_distributed_complete(&given, &info);
        assert_int_equal(result, rows[i].may ? HB_OK : HB_ERROR_INVALID_ARGUMENT);
        if (!rows[i].may) assert_non_null(strstr(hb_last_error(), "it must be 0..world_size-1"));
    }
}

/* In a process of its own, which `settings` say to be a rank's first; then in a child of it. */
static void worker_is(const char *settings, const char *rank, bool child)
{
    char host[256], expected[400], name[320];
    int status;
    hb_host_name(host, sizeof host);
    fflush(NULL);
    pid_t first = fork();
    if (first == 0) {
        with(settings);
        snprintf(name, sizeof name, "%d", (int)getpid());
        setenv(HB_LAUNCHER_FIRST, name, 1);
        if (child && fork()) {
            wait(&status);
            _exit(WEXITSTATUS(status));
        }
        if (child)
            snprintf(expected, sizeof expected, "%s_%s-%d", host, rank, (int)getpid());
        else
            snprintf(expected, sizeof expected, "%s_%s", host, rank);
        hb_launcher_worker(name, sizeof name);
        _exit(strcmp(name, expected) != 0);
    }
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void workers_stand_in_rank_order(void **state)
{
    (void)state;
    worker_is("PMI_RANK=7 PMI_SIZE=8", "7", false);
    worker_is("PMI_RANK=7 PMI_SIZE=11", "07", false);
    worker_is("PMI_RANK=17 PMI_SIZE=1000", "017", false);
    worker_is("PMI_RANK=7 PMI_SIZE=11", "07", true);
    worker_is("PMIX_RANK=12", "12", false);
}

static void a_job_of_one_rank_is_named_as_any_program(void **state)
{
    (void)state;
    char name[320], expected[300], host[256];
    with("PMI_RANK=0 PMI_SIZE=1");
    hb_host_name(host, sizeof host);
    snprintf(expected, sizeof expected, "%s_%d", host, (int)getpid());
    hb_launcher_worker(name, sizeof name);
    assert_string_equal(name, expected);
}

static void backends_are_understood_or_refused(void **state)
{
    (void)state;
    static const char *const good[] = {
        "nccl", "RCCL", "openmpi", "MPICH", "gloo", "cpu:gloo,cuda:nccl", "", NULL};
    static const char *const bad[] = {"ncll", "tcp", "cpu:tcp", "cpu:gloo,nccl"};
    no_launcher(NULL);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.distributed = (hb_distributed_info){.backend = good[i], .world_size = 2};
        hb_profiler *prof = hb_profiler_create(&o);
        if (!prof) fail_msg("%s: %s", good[i] ? good[i] : "NULL", hb_last_error());
        hb_profiler_destroy(prof);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.distributed = (hb_distributed_info){.backend = bad[i], .world_size = 2};
        assert_null(hb_profiler_create(&o));
        assert_non_null(strstr(hb_last_error(), bad[i]));
    }
}

/* ---- nodes that write at once ---- */

static unsigned delay_of(int64_t ranks, int64_t a_node, unsigned node)
{
    char host[32];
    snprintf(host, sizeof host, "node%u", node);
    return hb_write_turn_delay_ms(&(hb_launcher){.size = ranks, .local_size = a_node}, host);
}

static void nodes_that_are_many_begin_at_moments_of_their_own(void **state)
{
    enum { NODES = 1000, PARTS = 10 };
    unsigned in_part[PARTS] = {0};
    (void)state;
    for (unsigned node = 0; node < NODES; node++) {
        assert_int_equal(delay_of(63 * 8, 8, node), 0);
        assert_int_equal(delay_of(64 * 8 - 1, 8, node), 0);
        assert_int_equal(delay_of(4096, HB_LAUNCHER_UNKNOWN, node), 0); /* nobody tells of nodes */
        unsigned delay = delay_of(64 * 8, 8, node);
        assert_in_range(delay, 0, HB_WRITE_TURNS_WINDOW_MS - 1);
        assert_int_equal(delay, delay_of(9000 * 8, 8, node)); /* by its name alone: all its ranks */
        in_part[delay * PARTS / HB_WRITE_TURNS_WINDOW_MS]++;
    }
    for (unsigned part = 0; part < PARTS; part++) /* evenly, or nearly so */
        assert_in_range(in_part[part], NODES / PARTS / 2, NODES / PARTS * 2);
}

/* In place of the C library's, also for hipboard: another machine's directory. */
int statfs(const char *path, struct statfs *fs)
{
    *fs = (struct statfs){.f_type =
                              strncmp(path, "/far", 4) == 0 ? NFS_SUPER_MAGIC : EXT4_SUPER_MAGIC};
    return 0;
}

enum { A_NODES_WRITERS = 4 };

static atomic_bool fifth_writes;

static void *write_as_the_fifth(void *arg)
{
    (void)arg;
    int turn = hb_write_turn_take("/far/logs/w.pt.trace.json");
    atomic_store(&fifth_writes, true);
    bool own = turn >= 0 && fcntl(turn, F_GETFD) == FD_CLOEXEC;
    hb_write_turn_give(turn);
    return (void *)(intptr_t)own;
}

/* Ranks of other tests, and of the user's jobs, are counted as well. */
static void four_of_a_node_write_far_away_at_a_time(void **state)
{
    int turns[A_NODES_WRITERS];
    pthread_t fifth;
    void *own;
    (void)state;
    assert_int_equal(hb_write_turn_take("/far/logs/w.pt.trace.json"), -1); /* no job */
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_int_equal(hb_write_turn_take("/far/logs/w.pt.trace.json"), -1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_int_equal(hb_write_turn_take("/near/logs/w.pt.trace.json"), -1);
    assert_int_equal(hb_write_turn_take("w.pt.trace.json"), -1);
    for (int i = 0; i < A_NODES_WRITERS; i++)
        assert_true((turns[i] = hb_write_turn_take("/far/logs/w.pt.trace.json")) >= 0);
    assert_int_equal(pthread_create(&fifth, NULL, write_as_the_fifth, NULL), 0);
    usleep(100000);
    assert_false(atomic_load(&fifth_writes));
    hb_write_turn_give(turns[2]);
    assert_int_equal(pthread_join(fifth, &own), 0);
    assert_non_null(own);
    for (int i = 0; i < A_NODES_WRITERS; i++)
        if (i != 2) hb_write_turn_give(turns[i]);
    no_launcher(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_structure_of_an_older_program_is_filled),
        cmocka_unit_test(each_launcher_is_understood),
        cmocka_unit_test(distributed_info_comes_of_it),
        cmocka_unit_test(what_the_program_says_goes_before_what_its_launcher_says),
        cmocka_unit_test(groups_are_told_of_each_in_full),
        cmocka_unit_test(ranks_are_within_their_world),
        cmocka_unit_test(workers_stand_in_rank_order),
        cmocka_unit_test(a_job_of_one_rank_is_named_as_any_program),
        cmocka_unit_test(backends_are_understood_or_refused),
        cmocka_unit_test(nodes_that_are_many_begin_at_moments_of_their_own),
        cmocka_unit_test(four_of_a_node_write_far_away_at_a_time),
    };
    return cmocka_run_group_tests(tests, no_launcher, no_launcher);
}
