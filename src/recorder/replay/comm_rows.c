/* SPDX-License-Identifier: MIT */
#include "replay/comm_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "record/strings.h"

#define WORLD_NAME "0" /* as torch's default group is called */

/* ---- the job ---- */

/* The text is hipboard's own, with a blank behind each colon. */
static int64_t number_behind(const char *json, const char *key)
{
    const char *at = json ? strstr(json, key) : NULL;
    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

hb_comm_job hb_comm_job_of(const char *distributed_json)
{
    return (hb_comm_job){.rank = number_behind(distributed_json, "\"rank\": "),
                         .size = number_behind(distributed_json, "\"world_size\": ")};
}

/* ---- records ---- */

const hb_record_comm *hb_comm_of_record(const hb_record *r)
{
    bool is = r->type == HB_RECORD_OP && (r->flags & HB_RECORD_COMM) &&
              r->units >= (sizeof *r + sizeof(hb_record_comm)) / 8;
    return is ? (const hb_record_comm *)((const uint64_t *)r + r->units) - 1 : NULL;
}

hb_str hb_comm_group_text(const hb_spool_view *view, const hb_record_comm *comm)
{
    if (comm->group == HB_STRING_UNNAMED) return (hb_str){0};
    hb_str text = view->string(view, comm->group);
    return text.s && text.len ? text : HB_STR("\t"); /* lost: of no size */
}

/* ---- the annotation ---- */

/* A group whose text is lost is none of all ranks. */
static int64_t size_of(hb_str group, hb_comm_job job, hb_comm_group_words *words)
{
    *words = (hb_comm_group_words){0};
    if (!group.len) return job.size;
    return hb_comm_group_read(group, words) ? words->size : 0;
}

static hb_str text_of(const char *s)
{
    return (hb_str){s, (uint32_t)strlen(s)};
}

hb_str hb_comm_annotation(const hb_record_comm *comm, hb_str name, hb_str group, hb_comm_job job)
{
    hb_comm_group_words words;
    bool rccl = hb_collective_starts_kernel(name);
    const hb_collective_name *collective =
        comm->async || comm->in_group ? NULL : hb_collective_of(name);
    if (!collective || !*collective->plugin) return (hb_str){0};
    if (collective->waits == HB_COLLECTIVE_WAITS_GROUP) return text_of(collective->rccl);
    if (job.size < 2 || (job.has_rccl && !rccl)) return (hb_str){0};
    if (size_of(group, job, &words) != job.size) return (hb_str){0};
    hb_str plugin = text_of(rccl ? collective->rccl : collective->plugin);
    if (name.len == plugin.len && !memcmp(name.s, plugin.s, name.len))
        return (hb_str){0}; /* the call's own name is one */
    return plugin;
}

static hb_str torch_annotation(hb_str call)
{
    const hb_collective_name *collective = hb_collective_of(call);
    return collective && hb_collective_is_mpi_s(call) ? text_of(collective->mpi) : (hb_str){0};
}

/* The plugin sums sizes up of types whose names it knows, and these are not all. */
static hb_dtype sized_type(const hb_record_comm *comm, int64_t *elements)
{
    *elements = HB_MAX(comm->in, 0);
    if (comm->dtype == HB_FLOAT32 || comm->dtype == HB_INT32 || comm->dtype == HB_INT64 ||
        comm->dtype == HB_FLOAT16 || comm->dtype == HB_BFLOAT16)
        return (hb_dtype)comm->dtype;
    int64_t most = HB_MAX(comm->in, comm->out);
    if (most <= 0 && comm->bytes > 0) { /* of several types */
        *elements = comm->bytes;
        return HB_UINT8;
    }
    int64_t size = most > 0 && comm->bytes > 0 ? comm->bytes / most : 0;
    *elements *= size;
    return HB_UINT8;
}

static void set_input(hb_comm_row *row, hb_trace_event *event, const hb_record_comm *comm)
{
    row->input =
        (hb_input){.kind = HB_INPUT_TENSOR, .count = 1, .dims = row->dims, .strides = row->strides};
    row->input.dtype = sized_type(comm, &row->dims[0]);
    row->strides[0] = 1;
    event->op.inputs = &row->input;
    event->op.num_inputs = 1;
}

void hb_comm_make_annotation(hb_comm_row *row, hb_trace_event *event, const hb_record_comm *comm,
                             hb_str name)
{
    event->kind = HB_EVENT_USER_ANNOTATION;
    event->op.torch_name = torch_annotation(event->name);
    event->name = name;
    event->name_key = 0;
    set_input(row, event, comm);
}

/* ---- the call ---- */

static const char *const torch_types[] = {
    [HB_NONE] = "Byte",
    [HB_FLOAT32] = "Float",
    [HB_FLOAT64] = "Double",
    [HB_FLOAT16] = "Half",
    [HB_BFLOAT16] = "BFloat16",
    [HB_INT8] = "Char",
    [HB_UINT8] = "Byte",
    [HB_INT16] = "Short",
    [HB_INT32] = "Int",
    [HB_INT64] = "Long",
    [HB_BOOL] = "Bool",
    [HB_COMPLEX64] = "ComplexFloat",
    [HB_COMPLEX128] = "ComplexDouble",
    [HB_FLOAT8_E4M3FN] = "Float8_e4m3fn",
    [HB_FLOAT8_E5M2] = "Float8_e5m2",
    [HB_FLOAT8_E4M3FNUZ] = "Float8_e4m3fnuz",
    [HB_FLOAT8_E5M2FNUZ] = "Float8_e5m2fnuz",
};

typedef struct list {
    hb_comm_row *row;
    uint32_t count;
} list;

static void put(list *l, hb_arg arg)
{
    if (l->count < HB_COMM_ARGS) l->row->args[l->count++] = arg;
}

static void put_number(list *l, const char *key, int64_t value, bool there)
{
    if (there) put(l, hb_arg_int(key, value));
}

/* Room was reserved, so that texts do not move. */
static void put_text(list *l, const char *key, hb_str text)
{
    hb_buf *texts = &l->row->texts;
    const char *at = texts->data ? texts->data + texts->size : "";
    if (!texts->data) return;
    hb_buf_append(texts, text.s, text.len);
    hb_buf_append(texts, "", 1);
    put(l, hb_arg_string(key, at));
}

static void put_world(list *l, hb_comm_job job)
{
    int64_t shown[HB_COMM_SHOWN_RANKS];
    hb_buf *texts = &l->row->texts;
    if (!texts->data) return;
    for (int64_t i = 0; i < HB_MIN(job.size, (int64_t)HB_COMM_SHOWN_RANKS); i++)
        shown[i] = i;
    put_text(l, "Process Group Name", HB_STR(WORLD_NAME));
    put_text(l, "Process Group Description", HB_STR("default_pg"));
    const char *at = texts->data + texts->size;
    hb_comm_put_ranks(texts, shown, (size_t)job.size);
    hb_buf_append(texts, "", 1);
    put(l, hb_arg_string("Process Group Ranks", at));
}

static void put_group(list *l, hb_str group, hb_comm_job job)
{
    hb_comm_group_words words;
    int64_t size = size_of(group, job, &words);
    put_number(l, "Group size", size, size > 0);
    if (size <= 0) return;
    if (!group.len) {
        put_world(l, job);
        return;
    }
    put_text(l, "Process Group Name", words.name);
    put_text(l, "Process Group Description", words.description);
    if (words.ranks.len) put_text(l, "Process Group Ranks", words.ranks);
}

/* As torch writes it; where parts differ their sizes are not recorded. */
static void put_even_split(list *l)
{
    put(l, hb_arg_string("In split size", "[]"));
    put(l, hb_arg_string("Out split size", "[]"));
}

/* One number for a collective on all its ranks, which JSON's readers keep whole. */
static int64_t id_of(const hb_record_comm *comm, hb_str group, hb_comm_job job)
{
    enum { NUMBER_BITS = 21 };
    hb_comm_group_words words;
    if (size_of(group, job, &words) <= 0) return -1;
    hb_str name = group.len ? words.name : HB_STR(WORLD_NAME);
    return (int64_t)((uint64_t)hb_hash_bytes(name.s, name.len) << NUMBER_BITS |
                     (comm->sequence & ((1u << NUMBER_BITS) - 1)));
}

/* In torch's order; behind them what torch does not say. */
void hb_comm_make_call(hb_comm_row *row, hb_trace_event *event, const hb_record_comm *comm,
                       hb_str group, hb_comm_job job)
{
    const hb_collective_name *collective = hb_collective_of(event->name);
    bool is_message = !collective && (comm->dest >= 0 || comm->source >= 0);
    list l = {row, 0};
    row->texts.size = 0;
    (void)hb_buf_reserve(&row->texts, 1024 + (size_t)group.len);
    row->texts.size = 0;
    if (collective)
        put(&l, hb_arg_string("Collective name", hb_collective_key(event->name, collective)));
    else if (is_message)
        put(&l, hb_arg_string("Collective name", comm->dest >= 0 ? "send" : "recv"));
    if (comm->dtype < HB_ARRAY_LEN(torch_types) && (comm->in > 0 || comm->out > 0))
        put(&l, hb_arg_string("dtype", torch_types[comm->dtype]));
    /* Of a message torch says twice how large it is. */
    int64_t in = is_message && comm->in < 0 ? comm->out : comm->in;
    int64_t out = is_message && comm->out < 0 ? comm->in : comm->out;
    put_number(&l, "In msg nelems", in, in >= 0);
    put_number(&l, "Out msg nelems", out, out >= 0);
    if (is_message || hb_collective_splits_evenly(event->name)) put_even_split(&l);
    put_group(&l, group, job);
    put_number(&l, "Rank", job.rank, job.size > 0);
    put_number(&l, "Dst Rank", comm->dest, comm->dest >= 0);
    put_number(&l, "Src Rank", comm->source, comm->source >= 0);
    put_number(&l, "Seq", (int64_t)comm->sequence, comm->sequence != 0);
    int64_t id = comm->sequence ? id_of(comm, group, job) : -1;
    put_number(&l, "Comms Id", id, id >= 0);
    put(&l, hb_arg_bool("Is asynchronized op", comm->async));
    put_number(&l, "tag", comm->tag, comm->tag != HB_COMM_NO_TAG);
    put_number(&l, "bytes", comm->bytes, comm->bytes >= 0);
    event->flags |= HB_TEV_COMMUNICATION;
    if (event->kind == HB_EVENT_OP && hb_collective_starts_kernel(event->name))
        event->op.torch_name = HB_STR(HB_COLLECTIVE_SCOPE);
    event->op.args = row->args;
    event->op.num_args = l.count;
}
