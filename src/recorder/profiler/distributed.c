/* SPDX-License-Identifier: MIT */
#include "profiler/distributed.h"

#include <string.h>

#include "base/launcher.h"
#include "rules/backends.h"

/* ---- backends ---- */

/* "cpu:gloo,cuda:nccl", as torch writes several. */
static bool are_several(const char *text)
{
    while (*text) {
        size_t device = strcspn(text, ":,"), word;
        if (!device || text[device] != ':') return false;
        text += device + 1;
        word = strcspn(text, ",");
        if (!hb_backend_of((hb_str){text, word})) return false;
        text += word + (text[word] == ',');
    }
    return true;
}

static hb_result understand_backend(const char **backend)
{
    const char *word = *backend;
    if (!word || !*word) return HB_OK;
    const char *meant = hb_backend_of((hb_str){word, strlen(word)});
    if (meant) *backend = meant;
    if (meant || are_several(word)) return HB_OK;
    return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                   "distributed: backend \"%.80s\" is none that readers of traces know: nccl (RCCL "
                   "too), mpi, gloo, ucc, xccl, hccl, or several as \"cpu:gloo,cuda:nccl\"",
                   word);
}

/* ---- the launcher's word ---- */

hb_result hb_launch_info_get(hb_launch_info *info)
{
    hb_launcher l;
    if (!info || info->struct_size < sizeof info->struct_size)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "hb_launch_info: struct_size is not set");
    bool found = hb_launcher_find(&l);
    hb_launch_info all = {
        .struct_size = info->struct_size,
        .launcher = l.name,
        .rank = l.rank,
        .world_size = l.size,
        .local_rank = l.local_rank,
        .local_size = l.local_size,
        .node = l.node,
        .first_process = hb_launcher_is_first_process(),
    };
    memcpy(info, &all, HB_MIN(info->struct_size, sizeof all));
    if (found) return HB_OK;
    return hb_fail(HB_ERROR_NOT_FOUND,
                   "no launcher has told this process its rank; HIPBOARD_RANK_FROM may name the "
                   "variable that holds it");
}

hb_result hb_distributed_from_environment(hb_distributed_info *info)
{
    hb_launcher l;
    if (!info) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "hb_distributed_info: it is NULL");
    *info = (hb_distributed_info){0};
    if (!hb_launcher_find(&l))
        return hb_fail(HB_ERROR_NOT_FOUND,
                       "no launcher has told this process its rank; HIPBOARD_RANK_FROM may name "
                       "the variable that holds it");
    if (l.size < 0)
        return hb_fail(HB_ERROR_NOT_FOUND, "%s tells that this is rank %lld, and not of how many",
                       l.name, (long long)l.rank);
    *info = (hb_distributed_info){.backend = l.backend, .rank = l.rank, .world_size = l.size};
    return HB_OK;
}

/* Helpers that a rank starts are no ranks. */
static bool is_rank_of_many(hb_launcher *l)
{
    return hb_launcher_find(l) && l->size > 1 && hb_launcher_is_first_process();
}

hb_result hb_distributed_complete(const hb_distributed_info *given, hb_distributed_info *info)
{
    hb_launcher l;
    *info = *given;
    if (given->world_size == 0 && is_rank_of_many(&l)) {
        info->rank = l.rank;
        info->world_size = l.size;
        if (!info->backend || !*info->backend) info->backend = l.backend;
    }
    if (info->world_size == 0) return understand_backend(&info->backend);
    if (info->world_size < 0 || info->rank < 0 || info->rank >= info->world_size)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "distributed: rank %lld of world_size %lld; it must be 0..world_size-1",
                       (long long)info->rank, (long long)info->world_size);
    return understand_backend(&info->backend);
}

/* ---- distributedInfo, as Python's json.dumps writes it ---- */

static void member(hb_buf *b, const char *name, const char *text)
{
    if (!text) text = "";
    hb_buf_printf(b, "\"%s\": ", name);
    hb_buf_json_string(b, text, strlen(text));
}

static void group(hb_buf *b, const hb_process_group *g)
{
    hb_buf_str(b, "{");
    member(b, "pg_name", g->name);
    hb_buf_str(b, ", ");
    member(b, "pg_desc", g->description ? g->description : "undefined");
    hb_buf_str(b, ", ");
    member(b, "backend_config", g->backend_config);
    hb_buf_printf(b, ", \"pg_size\": %zu, \"ranks\": [", g->num_ranks);
    for (size_t i = 0; g->ranks && i < g->num_ranks; i++)
        hb_buf_printf(b, "%s%lld", i ? ", " : "", (long long)g->ranks[i]);
    hb_buf_str(b, "]}");
}

hb_result hb_distributed_json(const hb_distributed_info *info, char **json)
{
    *json = NULL;
    if (info->world_size == 0) return HB_OK;
    hb_buf b;
    hb_buf_init(&b, (size_t)16 << 20);
    hb_buf_str(&b, "{");
    member(&b, "backend", info->backend);
    hb_buf_printf(&b, ", \"rank\": %lld, \"world_size\": %lld, \"pg_count\": %zu, \"pg_config\": [",
                  (long long)info->rank, (long long)info->world_size,
                  info->groups ? info->num_groups : 0);
    for (size_t i = 0; info->groups && i < info->num_groups; i++) {
        if (i) hb_buf_str(&b, ", ");
        group(&b, &info->groups[i]);
    }
    hb_buf_str(&b, "]");
    if (info->nccl_version) {
        hb_buf_str(&b, ", ");
        member(&b, "nccl_version", info->nccl_version);
    }
    hb_buf_str(&b, "}");
    if (!hb_buf_text(&b)[0]) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for distributedInfo");
    *json = b.data;
    return HB_OK;
}
