/* SPDX-License-Identifier: MIT
 *
 * Whose the work of graphs is. An operator that is captured into a graph has done nothing yet: its
 * FLOPs are those of each run of the graph, and the kernels of a run are the operators' that
 * launched them as it was captured, in that order.
 */
#ifndef HB_REPLAY_GRAPH_REPLAYS_H
#define HB_REPLAY_GRAPH_REPLAYS_H

#include "base/base.h"
#include "record/session.h"
#include "trace/source.h"

enum { HB_GRAPH_TEXT_SIZE = 256 };

typedef struct hb_graph_replays {
    hb_buf nodes;    /* captured launches, thread after thread, in their order */
    hb_buf captured; /* what graphs are made of: stretches of nodes */
    hb_buf made;     /* which graphs executable ones are made of */
    hb_buf runs;
    hb_buf scopes;    /* those that captured launches lie in, by id */
    hb_buf owners;    /* ids of the operators that count such scopes' work */
    size_t taken;     /* nodes of which it is known what they belong to */
    uint64_t unknown; /* runs of which nothing is known */
    /* of the run that was asked for last */
    uint32_t text_first, text_count;
    char text[HB_GRAPH_TEXT_SIZE];
} hb_graph_replays;

/** A run of a graph. */
typedef struct hb_graph_run {
    double flops;          /* of all operators in it; 0: none has any */
    const char *operators; /* "rocblas_sgemm x3, hipblasGemmEx"; good until the next is asked for */
} hb_graph_run;

void hb_graph_replays_init(hb_graph_replays *g);
void hb_graph_replays_free(hb_graph_replays *g);

/** A thread's launches and deeds follow, in the order of their records. */
void hb_graph_replays_begin_thread(hb_graph_replays *g);
void hb_graph_replays_add_launch(hb_graph_replays *g, const hb_record_call *captured);
void hb_graph_replays_add(hb_graph_replays *g, const hb_record_graph *deed);
/** All were added. `host`: the session's scopes. */
hb_result hb_graph_replays_finish(hb_graph_replays *g, hb_source *host);

/** Whether some operator is captured at all. */
static inline bool hb_graph_replays_any(const hb_graph_replays *g)
{
    return g->nodes.size != 0;
}

/** Whether the operator of this id is captured: then its FLOPs are not its own. */
bool hb_graph_replays_holds(const hb_graph_replays *g, uint64_t id);

/** A piece of work of the run of that correlation was reported. */
void hb_graph_replays_reported(hb_graph_replays *g, uint64_t correlation);

/** Of graphs of which nobody knows how much they do: how much less was reported of some runs than
 * of others of the same graph. */
uint64_t hb_graph_replays_missing(const hb_graph_replays *g);

/** What the call of that correlation runs; false when it is not known, or not of operators. `text`
 * gives names their texts. */
typedef hb_str (*hb_name_text)(const void *context, uint32_t id);
bool hb_graph_replays_run(hb_graph_replays *g, uint64_t correlation, hb_name_text text,
                          const void *context, hb_graph_run *run);

/** The name's id of the operator that a kernel of a run belongs to; 0: not known. `scope`: of the
 * captured launch, where that is known; else 0. Those of one run are asked for in their order. */
uint32_t hb_graph_replays_operator(hb_graph_replays *g, uint64_t correlation, uint64_t scope,
                                   uint32_t kernel);

/** The name's id of the next kernel of a run that has none of its own, as HIP 5.2 reports them; 0:
 * not known. */
uint32_t hb_graph_replays_kernel(hb_graph_replays *g, uint64_t correlation);

/** Kernels will be asked for from the beginning again. */
void hb_graph_replays_rewind(hb_graph_replays *g);

#endif
