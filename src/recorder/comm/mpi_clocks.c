/* SPDX-License-Identifier: MIT */
#include "comm/mpi_clocks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/comm.h>

#include "comm/mpi_abi.h"
#include "comm/mpi_hash.h"

enum {
    EXCHANGES_LEAST = 32,
    POINTS = 2, /* when MPI begins and before it ends */
    REFERENCE = 0
};

/* For all nodes together: one that answers late is asked again, but not for ever. */
#define PATIENCE_NS INT64_C(100000000)
/* Near enough to ask no more. */
#define GOOD_NS     INT64_C(1000)

/* What rank 0 tells a node of it. */
typedef struct finding {
    int64_t local_ns, offset_ns, bound_ns;
    int64_t wall_ns, wall_bound_ns; /* of rank 0 */
} finding;

static struct clocks {
    bool measured; /* by this rank, as by all others */
    hb_word node,
        leaders; /* communicators, each in the first bytes; leaders': of one rank a node */
    int node_rank, num_nodes, place; /* place: of the leader among leaders */
    hb_clock_point points[POINTS];
    size_t num_points;
    hb_clock_told told;
} clocks;

/* ---- MPI ---- */

typedef int (*ask_fn)(hb_word, int *);
typedef int (*parent_fn)(hb_word *);
typedef int (*split_fn)(hb_word, int, int, hb_word *);
typedef int (*free_fn)(hb_word *);
typedef int (*send_fn)(const void *, int, hb_word, int, int, hb_word);
typedef int (*receive_fn)(void *, int, hb_word, int, int, hb_word, void *);
typedef int (*broadcast_fn)(void *, int, hb_word, int, hb_word);

static struct calls {
    ask_fn rank, size;
    split_fn split;
    send_fn send;
    receive_fn receive;
    broadcast_fn broadcast;
} mpi;

static void find_calls(void)
{
    mpi = (struct calls){
        (ask_fn)hb_mpi_real("PMPI_Comm_rank"),    (ask_fn)hb_mpi_real("PMPI_Comm_size"),
        (split_fn)hb_mpi_real("PMPI_Comm_split"), (send_fn)hb_mpi_real("PMPI_Send"),
        (receive_fn)hb_mpi_real("PMPI_Recv"),     (broadcast_fn)hb_mpi_real("PMPI_Bcast"),
    };
}

static hb_word handle_of(const hb_word *comm)
{
    return hb_mpi_handle((hb_word)comm, 0);
}

static void send(const void *bytes, size_t size, int to)
{
    (void)mpi.send(bytes, (int)size, hb_mpi.type_byte, to, 0, handle_of(&clocks.leaders));
}

static void receive(void *bytes, size_t size, int from)
{
    char status[64]; /* larger than any */
    (void)mpi.receive(bytes, (int)size, hb_mpi.type_byte, from, 0, handle_of(&clocks.leaders),
                      status);
}

/* ---- clocks ---- */

static int64_t now_on(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t now(void)
{
    return now_on(CLOCK_MONOTONIC);
}

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
}

/* Who has the same has the same clock: a kernel that was booted once, and a namespace of times. */
static uint64_t clock_identity(void)
{
    char text[256];
    read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    if (!text[0] && gethostname(text, sizeof text - 1) != 0) text[0] = '\0';
    uint64_t h = hb_mpi_hash(HB_MPI_HASH_SEED, text, strlen(text) + 1);
    ssize_t n = readlink("/proc/self/ns/time", text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return hb_mpi_hash(h, text, strlen(text));
}

/* Unix time less the clock's: of several readings the one that took shortest. */
static void read_wall(finding *f)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = now(), wall = now_on(CLOCK_REALTIME), after = now();
        if (after - before >= shortest) continue;
        shortest = after - before;
        f->wall_ns = wall - (before + after) / 2;
    }
    f->wall_bound_ns = shortest / 2 + 1;
}

/* ---- between leaders ---- */

/* Rank 0 asks for the time until an answer came fast enough. The clock was read at some time
 * between question and answer. */
static finding ask(int place)
{
    finding f = {.bound_ns = INT64_MAX};
    int64_t until = now() + PATIENCE_NS / clocks.num_nodes, more = 1, theirs;
    for (int i = 0; i < EXCHANGES_LEAST || (f.bound_ns > GOOD_NS && now() < until); i++) {
        int64_t asked = now();
        send(&more, sizeof more, place);
        receive(&theirs, sizeof theirs, place);
        int64_t answered = now(), half = (answered - asked) / 2 + 1;
        if (half < f.bound_ns) f = (finding){theirs, asked + half - theirs, half, 0, 0};
    }
    more = 0;
    send(&more, sizeof more, place);
    return f;
}

static void answer(void)
{
    int64_t more;
    for (receive(&more, sizeof more, REFERENCE); more; receive(&more, sizeof more, REFERENCE)) {
        int64_t time = now();
        send(&time, sizeof time, REFERENCE);
    }
}

static finding measure_as_leader(void)
{
    finding own = {.local_ns = now()}, f;
    if (clocks.place != REFERENCE) {
        answer();
        receive(&own, sizeof own, REFERENCE);
        return own;
    }
    read_wall(&own);
    for (int place = 1; place < clocks.num_nodes; place++) {
        f = ask(place);
        f.wall_ns = own.wall_ns;
        f.wall_bound_ns = own.wall_bound_ns;
        send(&f, sizeof f, place);
    }
    return own;
}

static finding measure(void)
{
    finding f = {0};
    if (clocks.node_rank == 0) f = measure_as_leader();
    (void)mpi.broadcast(&f, sizeof f, hb_mpi.type_byte, 0, handle_of(&clocks.node));
    return f;
}

static void add_point(void)
{
    finding f = measure();
    if (clocks.num_points == 0) {
        clocks.told.wall_ns = f.wall_ns;
        clocks.told.wall_bound_ns = f.wall_bound_ns;
    }
    clocks.points[clocks.num_points++] = (hb_clock_point){f.local_ns, f.offset_ns, f.bound_ns};
    clocks.told.points = clocks.points;
    clocks.told.num_points = clocks.num_points;
    (void)hb_clock_tell(&clocks.told);
}

/* ---- the whole ---- */

/* Those whom the program starts later have a world of their own, and not all of them may be
 * recorded. */
static bool is_wanted(bool *always)
{
    hb_launch_info launch = HB_LAUNCH_INFO_INIT;
    const char *wish = getenv("HIPBOARD_ALIGN");
    hb_word parent = 0;
    *always = wish && strcmp(wish, "force") == 0;
    if (!wish || (!*always && strcmp(wish, "measure") != 0) || !hb_mpi.type_byte) return false;
    if (hb_launch_info_get(&launch) != HB_OK || !launch.first_process) return false;
    if (((parent_fn)hb_mpi_real("PMPI_Comm_get_parent"))(&parent) != 0) return false;
    return handle_of(&parent) == hb_mpi.comm_null;
}

static bool split(hb_word comm, int colour, hb_word *made, int *rank, int *size)
{
    return mpi.split(comm, colour, 0, made) == 0 && mpi.rank(handle_of(made), rank) == 0 &&
           mpi.size(handle_of(made), size) == 0;
}

static void free_comm(hb_word *comm)
{
    if (*comm) (void)((free_fn)hb_mpi_real("PMPI_Comm_free"))(comm);
    *comm = 0;
}

/* A colour has 31 bits, of which ten thousand nodes would share some: two of them have enough. */
static bool find_nodes(void)
{
    const int bits = 0x7fffffff;
    uint64_t identity = clock_identity();
    hb_word half = 0;
    int size;
    bool made =
        split(hb_mpi.comm_world, (int)(identity >> 33), &half, &clocks.node_rank, &size) &&
        split(handle_of(&half), (int)(identity & bits), &clocks.node, &clocks.node_rank, &size) &&
        split(hb_mpi.comm_world, clocks.node_rank != 0, &clocks.leaders, &clocks.place,
              &clocks.num_nodes);
    free_comm(&half);
    /* Those who lead none have heard how many of them there are. */
    return made && mpi.broadcast(&clocks.num_nodes, sizeof clocks.num_nodes, hb_mpi.type_byte, 0,
                                 handle_of(&clocks.node)) == 0;
}

void hb_mpi_clocks_begin(void)
{
    bool always;
    if (!is_wanted(&always)) return;
    find_calls();
    if (!find_nodes()) return;
    clocks.measured = true;
    clocks.told = (hb_clock_told){.struct_size = sizeof clocks.told,
                                  .reference_rank = REFERENCE,
                                  .shared = clocks.num_nodes == 1,
                                  .always = always};
    add_point();
}

void hb_mpi_clocks_end(void)
{
    if (!clocks.measured) return;
    clocks.measured = false;
    if (!clocks.told.shared && clocks.num_points < POINTS) add_point();
    free_comm(&clocks.leaders);
    free_comm(&clocks.node);
}
