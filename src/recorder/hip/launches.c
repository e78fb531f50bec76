/* SPDX-License-Identifier: MIT
 *
 * The long way of a launch: what is not known yet is asked of the runtime, and kept for the short
 * one.
 */
#include "hip/launches.h"

#include "gpu/occupancy.h"
#include "hip/call_stacks.h"
#include "hip/call_streams.h"
#include "hip/kernels.h"
#include "record/strings.h"

_Atomic uint32_t hb_launch_generation = 1;
_Atomic uint32_t hb_launch_quick_epoch;

/* ---- what the arguments say ---- */

/* Of a launch by a structure: that; it may be missing when the call will fail. */
static const char *config_of(const hb_hip_call *call, const char *args)
{
    static const char none[64];
    const char *config = hb_arg_pointer(hb_arg_word(args, call->src));
    return config ? config : none;
}

static void divide_into_blocks(hb_record_launch *r)
{
    for (int i = 0; i < 3; i++)
        if (r->block[i]) r->grid[i] = (r->grid[i] + r->block[i] - 1) / r->block[i];
}

static hb_launch_args read_arguments(const hb_hip_call *call, const char *args)
{
    bool has_config = hb_hip_call_has_config(call);
    const char *from = has_config ? config_of(call, args) : args;
    const uint32_t *extent = (const uint32_t *)(const void *)(has_config ? from : args + 8);
    return (hb_launch_args){.function = hb_arg_pointer(hb_arg_word(args, call->ptr)),
                            .stream = hb_arg_word(from, call->stream),
                            .grid = extent,
                            .block = extent + 3,
                            .stride = 1,
                            .lds = (uint32_t)hb_arg_number(from, call->bytes, 0)};
}

/* ---- what is known of kernel and stream ---- */

static const hb_kernel unknown_kernel = {.name = HB_STRING_UNNAMED,
                                         .vgprs = HB_REGISTERS_UNKNOWN,
                                         .sgprs = HB_REGISTERS_UNKNOWN,
                                         .agprs = HB_REGISTERS_UNKNOWN};

static const hb_kernel *find_kernel(const hb_frame *f, const hb_launch_site *s)
{
    const hb_kernel *kernel = hb_kernel_known(s->function);
    if (kernel || !s->function) return kernel;
    bool was = hb_calls_enter_own();
    kernel = hb_kernel_of(hb_calls_runtime.hip, s->function, f->call->kind == HB_CALL_LAUNCH_HOST,
                          hb_arg_pointer(s->stream));
    hb_calls_leave_own(was);
    return kernel;
}

static void set_kernel(hb_launch_site *s, const hb_kernel *k)
{
    s->kernel = k->name;
    s->vgprs = k->vgprs;
    s->sgprs = k->sgprs;
    s->agprs = k->agprs;
    s->lds_bytes = k->lds_bytes;
    s->scratch_bytes = k->scratch_bytes;
}

/* Only the runtime knows which stream is meant by none, and a device that is not known may be the
 * next time. */
static bool may_be_kept(const hb_launch_site *s)
{
    return !hb_stream_is_nameless(s->stream) && s->device >= 0 && s->function;
}

/* `generation` is from before: what moves it meanwhile makes the site outdated. */
static hb_launch_site look_up(hb_frame *f, const hb_launch_args *a)
{
    hb_launch_site s = {.function = a->function,
                        .stream = a->stream,
                        .name = hb_calls_runtime.names[f->cid],
                        .cid = (uint16_t)f->cid,
                        .generation =
                            atomic_load_explicit(&hb_launch_generation, memory_order_acquire)};
    s.device = hb_call_device_of(f, s.stream);
    const hb_kernel *kernel = find_kernel(f, &s);
    set_kernel(&s, kernel ? kernel : &unknown_kernel);
    if (kernel && may_be_kept(&s))
        *hb_launch_site_of(hb_thread_tls->calls, s.function, s.stream) = s;
    return s;
}

/* ---- the record ---- */

/* Of a kernel that is told with its work. */
static void put_short(hb_frame *f, const hb_launch_args *a)
{
    int16_t device = hb_call_device_of(f, a->stream);
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_launch *r = (hb_record_launch *)hb_record_reserve(t, HB_RECORD_SHORT_LAUNCH);
    if (r) {
        r->call.stream = a->stream;
        r->call.device = device;
        hb_launch_set_extent(r, a);
        if (f->call->kind == HB_CALL_LAUNCH_ITEMS) divide_into_blocks(r);
        r->dynamic_lds_bytes = a->lds;
        r->agprs = HB_REGISTERS_UNKNOWN;
        hb_call_fill(f, t, &r->call, HB_RECORD_LAUNCH, HB_RECORD_SHORT_LAUNCH, hb_call_flags(f));
        hb_call_take_in(f, t, &r->call, HB_RECORD_SHORT_LAUNCH);
    }
    hb_thread_leave(t);
}

static void put_whole(hb_frame *f, const hb_launch_args *a)
{
    hb_launch_site site = look_up(f, a);
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_launch *r = (hb_record_launch *)hb_record_reserve(t, sizeof *r);
    if (r) {
        hb_launch_fill(r, f, &site, a, hb_call_flags(f));
        if (f->call->kind == HB_CALL_LAUNCH_ITEMS) divide_into_blocks(r);
        hb_call_name_scopes(t, &r->call);
        hb_call_take_in(f, t, &r->call, sizeof *r);
    }
    hb_thread_leave(t);
}

void hb_launch_put(hb_frame *f, const char *args)
{
    hb_launch_args a = read_arguments(f->call, args);
    if (hb_calls_runtime.source.short_launches)
        put_short(f, &a);
    else
        put_whole(f, &a);
}

void hb_launches_go_quickly(bool possible)
{
    bool sampled = atomic_load_explicit(&hb_calls_sampling, memory_order_relaxed) > 1;
    bool quick = possible && !sampled && !hb_calls_want_stacks() && hb_enters_quickly();
    atomic_store(&hb_launch_quick_epoch,
                 quick ? __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE) : 0);
}

#define LIES_ALIKE(record, first, field)                                                \
    _Static_assert(offsetof(hb_launch_site, field) - offsetof(hb_launch_site, first) == \
                       offsetof(record, field) - offsetof(record, first),               \
                   "HB_COPY_PART")
LIES_ALIKE(hb_record_call, stream, error);
LIES_ALIKE(hb_record_call, stream, device);
LIES_ALIKE(hb_record_call, stream, cid);
LIES_ALIKE(hb_record_launch, kernel, vgprs);
LIES_ALIKE(hb_record_launch, kernel, sgprs);
LIES_ALIKE(hb_record_launch, kernel, lds_bytes);
LIES_ALIKE(hb_record_launch, kernel, scratch_bytes);
