/* SPDX-License-Identifier: MIT
 *
 * What a HIP runtime answers, and what hipboard makes of it: memory, pools, copies, devices,
 * kernels and streams. The runtime here says what the test has told it.
 */
#include "hip_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "gpu/occupancy.h"
#include "hip/busy_streams.h"
#include "hip/call_copies.h"
#include "hip/calls_runtime.h"
#include "hip/kernels.h"
#include "hip/known_devices.h"
#include "hip/mempools.h"
#include "record/strings.h"

enum { UNKNOWN_VALUE = 1, NOT_READY = 600 }; /* errors of HIP */

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- memory ---- */

static hipPointerAttribute_t memory;
static int memory_error, last_error, times_asked_for_error;

static int tell_memory(void *attributes, const void *address)
{
    (void)address;
    memcpy(attributes, &memory, sizeof memory);
    if (memory_error) last_error = memory_error;
    return memory_error;
}

static int peek_at_error(void)
{
    return last_error;
}

static int take_error(void)
{
    int error = last_error;
    last_error = 0;
    times_asked_for_error++;
    return error;
}

static hb_hip hip_of_memory(int release)
{
    last_error = memory_error = times_asked_for_error = 0;
    return (hb_hip){.release = release,
                    .pointer_get_attributes = tell_memory,
                    .peek_at_last_error = peek_at_error,
                    .get_last_error = take_error};
}

static void memory_is_where_its_release_says(void **state)
{
    (void)state;
    static const struct {
        int release, kind;
        bool managed, on_device, on_host;
    } cases[] = {
        {599, 0, false, false, true}, {599, 1, false, true, false},  {599, 2, false, false, false},
        {599, 0, true, true, false},  {600, 0, false, false, false}, {600, 1, false, false, true},
        {600, 2, false, true, false}, {600, 1, true, true, false},   {700, 2, false, true, false},
        {700, 3, true, true, false},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_hip_memory found;
        hb_hip hip = hip_of_memory(cases[i].release);
        memset(&memory, 0, sizeof memory);
        memcpy(&memory, &cases[i].kind, sizeof cases[i].kind);
        memory.device = 3;
        memory.isManaged = cases[i].managed;
        assert_true(hb_hip_memory_of(&hip, at(64), &found));
        assert_int_equal(found.device, 3);
        assert_int_equal(found.on_device, cases[i].on_device);
        assert_int_equal(found.on_host, cases[i].on_host);
    }
}

/* Of its device nobody says anything: then it is the first. */
static void memory_that_is_not_known_is_nowhere(void **state)
{
    (void)state;
    hb_hip_memory found;
    hb_hip hip = hip_of_memory(700);
    memset(&memory, 0, sizeof memory);
    memory.device = -1;
    assert_true(hb_hip_memory_of(&hip, at(64), &found));
    assert_int_equal(found.device, 0);
    memory.device = 5;
    memory_error = UNKNOWN_VALUE;
    assert_false(hb_hip_memory_of(&hip, at(64), &found));
    assert_int_equal(found.device, 0);
    hip.pointer_get_attributes = NULL;
    assert_false(hb_hip_memory_of(&hip, at(64), &found));
}

/* Since HIP 7 an error stays until it is asked for: the program's must stay, and ours must not. */
static void asking_about_memory_leaves_the_programs_error(void **state)
{
    (void)state;
    bool unsure = false;
    hb_hip hip = hip_of_memory(700);
    memset(&memory, 0, sizeof memory);
    memcpy(&memory, &(int){2}, sizeof(int)); /* a device's */
    assert_true(hb_hip_is_device_memory(&hip, at(64), &unsure));
    assert_false(unsure);
    memory_error = UNKNOWN_VALUE;
    assert_false(hb_hip_is_device_memory(&hip, at(64), &unsure));
    assert_false(unsure);
    assert_int_equal(last_error, 0);
    memory_error = 0;
    last_error = 2;
    assert_false(hb_hip_is_device_memory(&hip, at(64), &unsure));
    assert_true(unsure);
    assert_int_equal(last_error, 2);
    hip.release = 699; /* which keeps none */
    times_asked_for_error = 0;
    unsure = false;
    assert_true(hb_hip_is_device_memory(&hip, at(64), &unsure));
    memory_error = UNKNOWN_VALUE;
    assert_false(hb_hip_is_device_memory(&hip, at(64), &unsure));
    assert_false(unsure);
    assert_int_equal(times_asked_for_error, 0);
}

static void without_the_functions_for_it_nothing_is_sure_of_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        bool unsure = false;
        hb_hip hip = hip_of_memory(700);
        memcpy(&memory, &(int){2}, sizeof(int));
        if (i == 0) hip.pointer_get_attributes = NULL;
        if (i == 1) hip.peek_at_last_error = NULL;
        if (i == 2) hip.get_last_error = NULL;
        assert_false(hb_hip_is_device_memory(&hip, at(64), &unsure));
        assert_true(unsure);
    }
}

/* ---- copies ---- */

enum { HOST_ADDRESS = 0x1000, FIRST_DEVICE = 0x2000, SECOND_DEVICE = 0x3000, STRANGE = 0x4000 };

static int tell_place(void *attributes, const void *address)
{
    hipPointerAttribute_t a = {.device = address == at(SECOND_DEVICE)};
    int kind = address == at(HOST_ADDRESS) ? 1 : 2;
    memcpy(&a, &kind, sizeof kind);
    memcpy(attributes, &a, sizeof a);
    return address == at(STRANGE) ? UNKNOWN_VALUE : 0;
}

static int num_devices, devices_error;

static int count_devices(int *count)
{
    *count = num_devices;
    return devices_error;
}

static hb_hip hip_of_copies(void)
{
    hb_hip hip = hip_of_memory(602);
    hip.pointer_get_attributes = tell_place;
    hip.get_device_count = count_devices;
    num_devices = 2;
    return hip;
}

static void a_copys_direction_is_that_of_its_kind_or_addresses(void **state)
{
    (void)state;
    static const struct {
        int kind;
        uint64_t from, to;
        uint8_t direction;
    } cases[] = {
        {0, FIRST_DEVICE, FIRST_DEVICE, HB_COPY_WITHIN_HOST},
        {1, FIRST_DEVICE, FIRST_DEVICE, HB_WORK_HTOD},
        {2, FIRST_DEVICE, FIRST_DEVICE, HB_WORK_DTOH},
        {3, HOST_ADDRESS, HOST_ADDRESS, HB_WORK_DTOD},
        {4, HOST_ADDRESS, FIRST_DEVICE, HB_WORK_HTOD},
        {4, FIRST_DEVICE, HOST_ADDRESS, HB_WORK_DTOH},
        {4, FIRST_DEVICE, SECOND_DEVICE, HB_WORK_DTOD},
        {4, HOST_ADDRESS, HOST_ADDRESS, HB_COPY_WITHIN_HOST},
        {4, STRANGE, FIRST_DEVICE, HB_WORK_HTOD}, /* any memory of the host's */
        {-1, FIRST_DEVICE, FIRST_DEVICE, HB_COPY_WITHIN_HOST},
    };
    hb_hip hip = hip_of_copies();
    hb_calls_runtime.hip = &hip;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_record_copy r = {.src = cases[i].from, .dst = cases[i].to};
        r.kind = (int16_t)cases[i].kind;
        if (hb_copy_direction(&r) != cases[i].direction) fail_msg("case %zu", i);
    }
    hip.release = 700;
    last_error = UNKNOWN_VALUE; /* the program's, which asking would take */
    hb_record_copy r = {.src = FIRST_DEVICE, .dst = HOST_ADDRESS, .kind = 4};
    assert_int_equal(hb_copy_direction(&r), 0);
}

static void a_copy_without_a_kind_is_what_its_function_says(void **state)
{
    (void)state;
    static const struct {
        const char *function;
        int kind;
    } cases[] = {{"hipMemcpyHtoD", 1}, {"hipMemcpyHtoDAsync", 1}, {"hipMemcpyDtoH", 2},
                 {"hipMemcpyDtoD", 3}, {"hipMemcpyPeer", 4},      {"hipMemsetD8", -1}};
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        assert_int_equal(hb_copy_kind_of(hb_hip_call_named(cases[i].function)), cases[i].kind);
}

static void a_copy_within_devices_tells_both(void **state)
{
    (void)state;
    static const struct {
        int kind, known, from, to;
    } cases[] = {{3, -1, 0, 1},   {3, 5, 5, -1},   {3, 0, 0, -1},
                 {1, -1, -1, -1}, {2, -1, -1, -1}, {4, -1, -1, -1}};
    hb_hip hip = hip_of_copies();
    hb_calls_runtime.hip = &hip;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_record_copy r = {.src = FIRST_DEVICE, .dst = SECOND_DEVICE, .to_device = -1};
        r.kind = (int16_t)cases[i].kind;
        r.from_device = (int16_t)cases[i].known;
        hb_copy_find_devices(&r);
        assert_int_equal(r.from_device, cases[i].from);
        assert_int_equal(r.to_device, cases[i].to);
    }
}

/* ---- pools ---- */

enum { DEFAULT_POOL = 7, MANY_POOLS = 70, MOST_POOLS = 64 };
#define MOST_RESERVED ((uint64_t)1 << 48)

static uint64_t reserved[MANY_POOLS + 1], in_use[MANY_POOLS + 1];
static int reserved_error, in_use_error, default_error;

static int tell_pool(void *pool, int attribute, void *value)
{
    size_t i = (uintptr_t)pool;
    bool now_reserved = attribute == hipMemPoolAttrReservedMemCurrent;
    assert_true(now_reserved || attribute == hipMemPoolAttrUsedMemCurrent);
    memcpy(value, now_reserved ? &reserved[i] : &in_use[i], sizeof reserved[i]);
    return now_reserved ? reserved_error : in_use_error;
}

static int tell_default_pool(void **pool, int device)
{
    (void)device;
    *pool = at(DEFAULT_POOL);
    return default_error;
}

static const hb_hip with_pools = {.mem_pool_get_attribute = tell_pool,
                                  .device_get_mem_pool = tell_default_pool};

static int begin_pools(void **state)
{
    (void)state;
    hb_pools_forget();
    reserved_error = in_use_error = default_error = 0;
    for (int i = 0; i <= MANY_POOLS; i++) {
        reserved[i] = 1000;
        in_use[i] = 400;
    }
    return 0;
}

static void pools_keep_what_they_reserve_beyond_what_is_used(void **state)
{
    (void)state;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    hb_pools_use(&with_pools, 0, 1);
    hb_pools_use(&with_pools, 0, 1);
    hb_pools_use(&with_pools, 0, 2);
    hb_pools_use(&with_pools, 1, 3);
    hb_pools_use(&with_pools, 2, 0);
    reserved[2] = 5000;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 600 + 4600);
    assert_int_equal(hb_pools_kept(&with_pools, 1), 600);
    assert_int_equal(hb_pools_kept(&with_pools, 2), 600); /* the device's own */
    reserved[DEFAULT_POOL] = 0;
    assert_int_equal(hb_pools_kept(&with_pools, 2), 0);
    hb_pools_forget();
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    hb_pools_use(&with_pools, 0, 1);
    hb_pools_after_fork(); /* in a child, whose they are not */
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
}

static void what_a_pool_can_not_have_is_not_believed(void **state)
{
    (void)state;
    hb_pools_use(&with_pools, 0, 1);
    in_use[1] = 0;
    reserved[1] = MOST_RESERVED;
    assert_true(hb_pools_kept(&with_pools, 0) == (int64_t)MOST_RESERVED);
    reserved[1] = MOST_RESERVED + 1;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    reserved[1] = 1000;
    in_use[1] = 1001;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    in_use[1] = 0;
    reserved_error = UNKNOWN_VALUE;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    reserved_error = 0;
    in_use_error = UNKNOWN_VALUE;
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
}

static void a_pool_that_is_gone_is_not_asked(void **state)
{
    (void)state;
    hb_pools_drop(1); /* there is none */
    for (uint64_t i = 1; i <= 4; i++) {
        hb_pools_use(&with_pools, 0, i);
        reserved[i] = 400 + ((uint64_t)1 << i);
    }
    hb_pools_drop(5);
    assert_int_equal(hb_pools_kept(&with_pools, 0), 2 + 4 + 8 + 16);
    hb_pools_drop(2);
    assert_int_equal(hb_pools_kept(&with_pools, 0), 2 + 8 + 16);
    hb_pools_drop(3);
    assert_int_equal(hb_pools_kept(&with_pools, 0), 2 + 16);
    hb_pools_drop(1);
    hb_pools_drop(4);
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
}

static void more_pools_than_there_is_room_for_are_left_out(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= MANY_POOLS; i++)
        hb_pools_use(&with_pools, 0, i);
    assert_int_equal(hb_pools_kept(&with_pools, 0), MOST_POOLS * 600);
}

static void a_runtime_without_pools_is_not_asked_about_them(void **state)
{
    (void)state;
    static const hb_hip none = {.device_get_mem_pool = tell_default_pool};
    static const hb_hip of_programs = {.mem_pool_get_attribute = tell_pool};
    hb_pools_use(&none, 0, 1);
    hb_pools_use(&of_programs, 0, 0);
    default_error = UNKNOWN_VALUE;
    hb_pools_use(&with_pools, 0, 0);
    assert_int_equal(hb_pools_kept(&with_pools, 0), 0);
    hb_pools_use(&of_programs, 0, 1);
    assert_int_equal(hb_pools_kept(&of_programs, 0), 600);
}

/* ---- devices ---- */

static int name_error, size_error, place_error, properties_error;

static int tell_number(int *value, int attribute, int device)
{
    bool no = attribute == hipDeviceAttributeIntegrated && device == 1;
    *value = no ? 0 : attribute + 100 * device;
    return attribute == hipDeviceAttributeWarpSize && device == 1 ? UNKNOWN_VALUE : 0;
}

static int tell_name(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "device %d", device);
    return name_error;
}

static int tell_size(size_t *bytes, int device)
{
    *bytes = (size_t)(64 + device) << 30;
    return size_error;
}

static int tell_place_on_bus(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:%02x:00.0", device + 0xc1);
    return place_error;
}

static int tell_properties(void *properties, int device)
{
    enum { ARCH_UP_TO_HIP_5 = 396 };
    (void)device;
    strcpy((char *)properties + ARCH_UP_TO_HIP_5, "gfx90a:sramecc+:xnack-");
    return properties_error;
}

/* In this program there is no function of HIP 6 and later. */
static hb_hip hip_of_devices(void)
{
    name_error = size_error = place_error = properties_error = devices_error = 0;
    return (hb_hip){.library = NULL,
                    .get_device_count = count_devices,
                    .device_get_attribute = tell_number,
                    .device_get_name = tell_name,
                    .device_total_mem = tell_size,
                    .device_get_pci_bus_id = tell_place_on_bus,
                    .get_device_properties = tell_properties};
}

static void a_device_is_described_by_the_headers_attributes(void **state)
{
    (void)state;
    hb_hip_device d;
    hb_hip hip = hip_of_devices();
    assert_true(hb_hip_device_get(&hip, 0, &d));
    assert_string_equal(d.name, "device 0");
    assert_string_equal(d.arch, "gfx90a:sramecc+:xnack-");
    assert_string_equal(d.pci, "0000:c1:00.0");
    assert_true(d.total_global_mem == (uint64_t)64 << 30);
    assert_int_equal(d.compute_major, hipDeviceAttributeComputeCapabilityMajor);
    assert_int_equal(d.compute_minor, hipDeviceAttributeComputeCapabilityMinor);
    assert_int_equal(d.max_threads_per_block, hipDeviceAttributeMaxThreadsPerBlock);
    assert_int_equal(d.max_threads_per_cu, hipDeviceAttributeMaxThreadsPerMultiProcessor);
    assert_int_equal(d.regs_per_block, hipDeviceAttributeMaxRegistersPerBlock);
    assert_int_equal(d.warp_size, hipDeviceAttributeWarpSize);
    assert_int_equal(d.num_cus, hipDeviceAttributeMultiprocessorCount);
    assert_int_equal(d.shared_mem_per_block, hipDeviceAttributeMaxSharedMemoryPerBlock);
    assert_int_equal(d.shared_mem_per_cu, hipDeviceAttributeMaxSharedMemoryPerMultiprocessor);
    assert_int_equal(d.clock_khz, hipDeviceAttributeClockRate);
    assert_int_equal(d.memory_khz, hipDeviceAttributeMemoryClockRate);
    assert_int_equal(d.memory_bus_bits, hipDeviceAttributeMemoryBusWidth);
    assert_true(d.integrated);
    assert_true(hb_hip_device_get(&hip, 1, &d));
    assert_int_equal(d.warp_size, 0); /* which it can't tell */
    assert_false(d.integrated);
    assert_int_equal(d.num_cus, 100 + hipDeviceAttributeMultiprocessorCount);
}

static void what_a_device_does_not_tell_is_left_out(void **state)
{
    (void)state;
    hb_hip_device d;
    hb_hip hip = hip_of_devices();
    place_error = properties_error = UNKNOWN_VALUE;
    assert_true(hb_hip_device_get(&hip, 0, &d));
    assert_string_equal(d.pci, "");
    assert_string_equal(d.arch, "");
    hip.device_get_pci_bus_id = NULL;
    hip.get_device_properties = NULL;
    assert_true(hb_hip_device_get(&hip, 0, &d));
    name_error = UNKNOWN_VALUE;
    assert_false(hb_hip_device_get(&hip, 0, &d));
    name_error = 0;
    size_error = UNKNOWN_VALUE;
    assert_false(hb_hip_device_get(&hip, 0, &d));
    for (int i = 0; i < 3; i++) {
        hip = hip_of_devices();
        if (i == 0) hip.device_get_attribute = NULL;
        if (i == 1) hip.device_get_name = NULL;
        if (i == 2) hip.device_total_mem = NULL;
        assert_false(hb_hip_device_get(&hip, 0, &d));
    }
}

static void devices_are_looked_at_once(void **state)
{
    (void)state;
    int count;
    hb_hip hip = hip_of_devices();
    (void)hb_known_devices(&count);
    assert_int_equal(count, 0);
    num_devices = 3;
    hb_known_devices_look(&hip);
    num_devices = 5;
    hb_known_devices_look(&hip);
    const hb_hip_device *devices = hb_known_devices(&count);
    assert_int_equal(count, 3);
    for (int i = 0; i < count; i++)
        assert_true(devices[i].total_global_mem == (uint64_t)(64 + i) << 30);
}

static const char *tell_error_name(int error)
{
    return error == UNKNOWN_VALUE ? "hipErrorInvalidValue" : NULL;
}

static void an_error_without_a_name_has_none(void **state)
{
    (void)state;
    hb_hip hip = {.get_error_name = tell_error_name};
    assert_string_equal(hb_hip_error_name(&hip, UNKNOWN_VALUE), "hipErrorInvalidValue");
    assert_string_equal(hb_hip_error_name(&hip, 7), "");
    hip.get_error_name = NULL;
    assert_string_equal(hb_hip_error_name(&hip, UNKNOWN_VALUE), "");
}

/* ---- kernels ---- */

static const char *kernel_name;
static hipFuncAttributes of_kernel;
static int kernel_error, times_asked;

static int tell_kernel(void *attributes, const void *host_function)
{
    (void)host_function;
    times_asked++;
    memcpy(attributes, &of_kernel, sizeof of_kernel);
    return kernel_error;
}

static int tell_of_kernel(int *value, int attribute, void *function)
{
    (void)function;
    switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = of_kernel.numRegs; break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)of_kernel.sharedSizeBytes; break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)of_kernel.localSizeBytes; break;
    default: fail_msg("attribute %d is asked for", attribute);
    }
    return kernel_error;
}

static const char *name_kernel(void *function)
{
    (void)function;
    return kernel_name;
}

static const char *name_host_kernel(const void *function, void *stream)
{
    (void)function;
    assert_ptr_equal(stream, at(9));
    return kernel_name;
}

static char *make_plain(const char *name, char *buffer, size_t *size, int *status)
{
    (void)buffer, (void)size;
    *status = 0;
    return strcmp(name, "_Zbad") == 0 ? NULL : strdup("plain(int)");
}

static const hb_hip with_kernels = {.func_get_attributes = tell_kernel,
                                    .func_get_attribute = tell_of_kernel,
                                    .kernel_name = name_kernel,
                                    .kernel_name_by_host = name_host_kernel,
                                    .demangle = make_plain};

static void assert_kernel(const hb_kernel *k, const char *name, int vgprs, int lds, int scratch)
{
    assert_string_equal(hb_strings_get(k->name).s, name);
    assert_int_equal(k->vgprs, vgprs);
    assert_int_equal(k->sgprs, HB_REGISTERS_UNKNOWN);
    assert_int_equal(k->agprs, HB_REGISTERS_UNKNOWN);
    assert_int_equal(k->lds_bytes, lds);
    assert_int_equal(k->scratch_bytes, scratch);
}

static void kernels_take_what_the_runtime_says(void **state)
{
    (void)state;
    of_kernel = (hipFuncAttributes){.numRegs = 24, .sharedSizeBytes = 512, .localSizeBytes = 16};
    kernel_error = 0;
    kernel_name = "_Z5plaini";
    assert_kernel(hb_kernel_of(&with_kernels, at(0x100), true, at(9)), "plain(int)", 24, 512, 16);
    assert_kernel(hb_kernel_of(&with_kernels, at(0x200), false, at(9)), "plain(int)", 24, 512, 16);
    kernel_name = "_Zbad"; /* stays as it is */
    assert_kernel(hb_kernel_of(&with_kernels, at(0x300), false, NULL), "_Zbad", 24, 512, 16);
    of_kernel.numRegs = 0;
    kernel_name = "c";
    assert_kernel(hb_kernel_of(&with_kernels, at(0x400), false, NULL), "c", HB_REGISTERS_UNKNOWN,
                  512, 16);
    of_kernel.numRegs = (int)HB_REGISTERS_UNKNOWN + 1;
    assert_kernel(hb_kernel_of(&with_kernels, at(0x500), true, at(9)), "c", HB_REGISTERS_UNKNOWN,
                  512, 16);
    kernel_error = UNKNOWN_VALUE;
    of_kernel.numRegs = 24;
    assert_kernel(hb_kernel_of(&with_kernels, at(0x600), true, at(9)), "c", HB_REGISTERS_UNKNOWN, 0,
                  0);
    assert_kernel(hb_kernel_of(&with_kernels, at(0x700), false, NULL), "c", HB_REGISTERS_UNKNOWN, 0,
                  0);
    kernel_error = 0;
}

static void kernels_of_which_no_name_is_told_have_none(void **state)
{
    (void)state;
    static const hb_hip silent;
    for (uint64_t i = 0; i < 2; i++) {
        const hb_kernel *k = hb_kernel_of(&silent, at(0x1000 + i), i == 1, at(9));
        assert_int_equal(k->name, HB_STRING_UNNAMED);
        assert_int_equal(k->vgprs, HB_REGISTERS_UNKNOWN);
    }
    kernel_name = NULL; /* of one it knows no name, but the rest */
    of_kernel = (hipFuncAttributes){.numRegs = 24, .sharedSizeBytes = 512};
    for (uint64_t i = 0; i < 2; i++) {
        const hb_kernel *k = hb_kernel_of(&with_kernels, at(0x1010 + i), i == 1, at(9));
        assert_int_equal(k->name, HB_STRING_UNNAMED);
        assert_int_equal(k->vgprs, 24);
        assert_int_equal(k->lds_bytes, 512);
    }
}

/* A kernel that was unloaded may have left its address to another. */
static void kernels_are_asked_about_again_when_they_may_be_others(void **state)
{
    (void)state;
    kernel_name = "first";
    times_asked = 0;
    const hb_kernel *k = hb_kernel_of(&with_kernels, at(0x2000), true, at(9));
    assert_ptr_equal(hb_kernel_of(&with_kernels, at(0x2000), true, at(9)), k);
    assert_int_equal(times_asked, 1);
    hb_kernels_outdate();
    assert_ptr_equal(hb_kernel_of(&with_kernels, at(0x2000), true, at(9)), k); /* still the same */
    assert_int_equal(times_asked, 2);
    hb_kernels_outdate();
    of_kernel.localSizeBytes++;
    assert_ptr_not_equal(hb_kernel_of(&with_kernels, at(0x2000), true, at(9)), k);
    hb_kernels_outdate();
    kernel_name = "second";
    const hb_kernel *other = hb_kernel_of(&with_kernels, at(0x2000), true, at(9));
    assert_string_equal(hb_strings_get(other->name).s, "second");
    hb_kernels_outdate(); /* back to one that was there before */
    kernel_name = "first";
    of_kernel.localSizeBytes--;
    assert_ptr_equal(hb_kernel_of(&with_kernels, at(0x2000), true, at(9)), k);
}

static void kernels_by_name_are_plain_and_kept(void **state)
{
    (void)state;
    static const char mangled[] = "_Z5plaini";
    uint32_t id = hb_kernel_name(&with_kernels, mangled);
    assert_string_equal(hb_strings_get(id).s, "plain(int)");
    assert_int_equal(hb_kernel_name(&with_kernels, mangled), id);
    assert_int_equal(hb_kernel_intern(make_plain, ""), HB_STRING_UNNAMED);
    assert_int_equal(hb_kernel_intern(make_plain, NULL), HB_STRING_UNNAMED);
    assert_string_equal(hb_strings_get(hb_kernel_intern(NULL, mangled)).s, mangled);
}

/* ---- streams ---- */

enum { STREAMS = 8, MOST_STREAMS = 1024 };

static int answers[STREAMS], queries[STREAMS], synchronized[STREAMS], sync_error;
static int set_device, bad_device;

static int query(void *stream)
{
    size_t i = (uintptr_t)stream / 0x100;
    if (i >= STREAMS) return NOT_READY;
    queries[i]++;
    assert_int_equal(set_device, i % 2);
    return answers[i];
}

static int synchronize(void *stream)
{
    synchronized[(uintptr_t)stream / 0x100]++;
    return sync_error;
}

static int choose_device(int device)
{
    set_device = device;
    return device == bad_device ? UNKNOWN_VALUE : 0;
}

static hb_hip hip_of_streams(int release)
{
    memset(answers, 0, sizeof answers);
    memset(queries, 0, sizeof queries);
    memset(synchronized, 0, sizeof synchronized);
    sync_error = 0;
    bad_device = -1;
    hb_busy_streams_forget();
    return (hb_hip){.release = release,
                    .stream_query = query,
                    .stream_synchronize = synchronize,
                    .set_device = choose_device};
}

static void add_streams(int n)
{
    for (int i = 0; i < n; i++)
        hb_busy_streams_add((uint64_t)i * 0x100, i % 2);
}

static void streams_are_asked_until_they_are_done(void **state)
{
    (void)state;
    hb_hip hip = hip_of_streams(602);
    assert_false(hb_busy_streams_watch());
    assert_false(hb_busy_streams_ask(&hip));
    add_streams(3);
    add_streams(3);                          /* known already */
    assert_false(hb_busy_streams_ask(&hip)); /* nobody watches */
    assert_int_equal(queries[0], 0);
    assert_true(hb_busy_streams_watch());
    answers[1] = NOT_READY;
    answers[2] = UNKNOWN_VALUE; /* what fails is done */
    assert_true(hb_busy_streams_ask(&hip));
    assert_true(hb_busy_streams_ask(&hip));
    answers[1] = 0;
    assert_false(hb_busy_streams_ask(&hip));
    assert_false(hb_busy_streams_ask(&hip));
    assert_int_equal(queries[0], 1);
    assert_int_equal(queries[1], 3);
    assert_int_equal(queries[2], 1);
}

static void a_stream_of_a_device_that_fails_is_done(void **state)
{
    (void)state;
    hb_hip hip = hip_of_streams(602);
    add_streams(2);
    bad_device = 1;
    answers[1] = NOT_READY;
    assert_true(hb_busy_streams_watch());
    assert_false(hb_busy_streams_ask(&hip));
    assert_int_equal(queries[1], 0);
}

static void streams_that_are_gone_are_not_asked(void **state)
{
    (void)state;
    hb_hip hip = hip_of_streams(602);
    add_streams(4);
    hb_busy_streams_gone(0x100);
    hb_busy_streams_gone(0x300);
    hb_busy_streams_gone(0x700); /* never there */
    assert_true(hb_busy_streams_watch());
    assert_false(hb_busy_streams_ask(&hip));
    for (int i = 0; i < 4; i++)
        assert_int_equal(queries[i], i % 2 == 0);
    hb_busy_streams_all_gone();
    assert_false(hb_busy_streams_watch());
}

static sem_t is_asked, may_answer;
static _Atomic bool was_destroyed, in_time;

static int query_slowly(void *stream)
{
    struct timespec latest;
    (void)stream;
    clock_gettime(CLOCK_REALTIME, &latest);
    latest.tv_sec += 20;
    sem_post(&is_asked);
    atomic_store(&in_time, sem_timedwait(&may_answer, &latest) == 0);
    usleep(50000); /* for who does not wait */
    return atomic_load(&was_destroyed) ? UNKNOWN_VALUE : NOT_READY;
}

static void *ask(void *arg)
{
    bool *busy = arg;
    hb_hip of_test = hip_of_streams(602);
    of_test.stream_query = query_slowly;
    hb_busy_streams_add(0x100, 0);
    (void)hb_busy_streams_watch();
    *busy = hb_busy_streams_ask(&of_test);
    return NULL;
}

/* Who destroys a stream waits while the runtime is asked about it, and only then. */
static void a_stream_is_not_destroyed_while_it_is_asked(void **state)
{
    (void)state;
    pthread_t thread;
    bool busy = false;
    sem_init(&is_asked, 0, 0);
    sem_init(&may_answer, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, ask, &busy), 0);
    sem_wait(&is_asked);
    hb_busy_streams_gone(0x200);
    sem_post(&may_answer);
    hb_busy_streams_gone(0x100);
    atomic_store(&was_destroyed, true);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&in_time));
    assert_true(busy);
    assert_false(hb_busy_streams_watch());
}

/* One handle, as of the stream that none is given for, on each device. */
static void a_handle_is_another_stream_on_another_device(void **state)
{
    (void)state;
    hb_busy_streams_forget();
    hb_busy_streams_add(0x900, 0);
    hb_busy_streams_add(0x900, 1);
    hb_busy_streams_gone(0x900);
    assert_false(hb_busy_streams_watch());
    hb_busy_streams_add(0x900, 1);
    assert_true(hb_busy_streams_watch());
}

/* HIP 7 reports the work of streams only to who waits for them. */
static void since_hip_7_streams_that_are_done_are_waited_for(void **state)
{
    (void)state;
    hb_hip hip = hip_of_streams(699);
    add_streams(3);
    hb_busy_streams_collect(&hip);
    for (int i = 0; i < 3; i++)
        assert_int_equal(queries[i] + synchronized[i], 0);
    hip.release = 700;
    answers[1] = NOT_READY;
    answers[2] = UNKNOWN_VALUE;
    hb_busy_streams_collect(&hip);
    assert_int_equal(synchronized[0], 1);
    assert_int_equal(synchronized[1], 0); /* another thread has launched something since */
    assert_int_equal(synchronized[2], 0);
    hip.stream_synchronize = NULL;
    hb_busy_streams_collect(&hip);
    assert_int_equal(queries[0], 1);
}

static void streams_beyond_the_room_for_them_are_waited_for_by_their_device(void **state)
{
    (void)state;
    hb_busy_streams_forget();
    for (uint64_t i = 0; i < MOST_STREAMS; i++)
        hb_busy_streams_add(0x10000 + i, 3);
    hb_busy_streams_add(0x10000, 3); /* known */
    assert_true(hb_busy_streams_take_unknown() == 0);
    hb_busy_streams_add(0x20000, 5);
    hb_busy_streams_add_unknown(63);
    hb_busy_streams_add_unknown(63);
    assert_true(hb_busy_streams_take_unknown() == ((uint64_t)1 << 5 | (uint64_t)1 << 63));
    assert_true(hb_busy_streams_take_unknown() == 0);
    hb_busy_streams_add_unknown(0);
    hb_busy_streams_forget();
    assert_false(hb_busy_streams_watch());
    hb_busy_streams_add_unknown(0);
    assert_true(hb_busy_streams_watch());
    hb_busy_streams_forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_where_its_release_says),
        cmocka_unit_test(memory_that_is_not_known_is_nowhere),
        cmocka_unit_test(asking_about_memory_leaves_the_programs_error),
        cmocka_unit_test(without_the_functions_for_it_nothing_is_sure_of_memory),
        cmocka_unit_test(a_copys_direction_is_that_of_its_kind_or_addresses),
        cmocka_unit_test(a_copy_without_a_kind_is_what_its_function_says),
        cmocka_unit_test(a_copy_within_devices_tells_both),
        cmocka_unit_test_setup(pools_keep_what_they_reserve_beyond_what_is_used, begin_pools),
        cmocka_unit_test_setup(what_a_pool_can_not_have_is_not_believed, begin_pools),
        cmocka_unit_test_setup(a_pool_that_is_gone_is_not_asked, begin_pools),
        cmocka_unit_test_setup(more_pools_than_there_is_room_for_are_left_out, begin_pools),
        cmocka_unit_test_setup(a_runtime_without_pools_is_not_asked_about_them, begin_pools),
        cmocka_unit_test(a_device_is_described_by_the_headers_attributes),
        cmocka_unit_test(what_a_device_does_not_tell_is_left_out),
        cmocka_unit_test(devices_are_looked_at_once),
        cmocka_unit_test(an_error_without_a_name_has_none),
        cmocka_unit_test(kernels_take_what_the_runtime_says),
        cmocka_unit_test(kernels_of_which_no_name_is_told_have_none),
        cmocka_unit_test(kernels_are_asked_about_again_when_they_may_be_others),
        cmocka_unit_test(kernels_by_name_are_plain_and_kept),
        cmocka_unit_test(streams_are_asked_until_they_are_done),
        cmocka_unit_test(a_stream_of_a_device_that_fails_is_done),
        cmocka_unit_test(streams_that_are_gone_are_not_asked),
        cmocka_unit_test(a_stream_is_not_destroyed_while_it_is_asked),
        cmocka_unit_test(a_handle_is_another_stream_on_another_device),
        cmocka_unit_test(since_hip_7_streams_that_are_done_are_waited_for),
        cmocka_unit_test(streams_beyond_the_room_for_them_are_waited_for_by_their_device),
    };
    hb_record_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
