/* SPDX-License-Identifier: MIT */
#include "hip/hook_versions.h"

#include "hip/hook_layout.h"

/* Tests run with 5.2.3, 5.7.1, 6.4.3 and 7.2.4; the others are as AMD's headers say, of all patch
 * releases alike. */
static const hb_hook_version versions[] = {
    {502, 832, 334, true},   {506, 840, 364, false},  {507, 840, 364, false},
    {600, 1520, 379, false}, {601, 1520, 380, false}, {602, 1520, 400, false},
    {604, 1520, 419, false}, {701, 1520, 445, false}, {702, 1520, 450, false},
};

static const hb_hook_version *row_of(int release)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(versions); i++)
        if (versions[i].release == release) return &versions[i];
    return NULL;
}

static void list_releases(hb_buf *why)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(versions); i++)
        hb_buf_printf(why, "%s%d.%d", i ? ", " : "", versions[i].release / 100,
                      versions[i].release % 100);
}

static bool refuse_unknown(const hb_hip *hip, hb_buf *why)
{
    hb_buf_printf(why, "HIP %d.%d is not one of the releases whose hooks hipboard knows (",
                  hb_hip_release(hip) / 100, hb_hip_release(hip) % 100);
    list_releases(why);
    hb_buf_str(why, "), and its code does not show how they are laid out");
    return false;
}

/* The same in all processes with this runtime, and asked for several times in each. */
static hb_hook_version measure(const hb_hip *hip)
{
    static const void *library;
    static hb_hook_version measured;
    if (library != hip->library)
        measured = (hb_hook_version){.release = hb_hip_release(hip),
                                     .api_data_size = hb_hook_layout_api_data_size(hip),
                                     .num_functions = hb_hook_layout_num_functions(hip)};
    library = hip->library;
    return measured;
}

/* Where the code does not show the size, the functions have to be those of the release. */
static bool agrees(const hb_hook_version *row, const hb_hook_version *measured)
{
    return measured->api_data_size ? row->api_data_size == measured->api_data_size
                                   : row->num_functions == measured->num_functions;
}

bool hb_hook_version_of(const hb_hip *hip, hb_hook_version *version, hb_buf *why)
{
    enum { FIRST_WITH_TRACER = 504 };
    const hb_hook_version *row = row_of(hb_hip_release(hip));
    if (row && row->by_record) {
        *version = *row; /* nothing of that size is written to */
        return true;
    }
    if (hb_hip_release(hip) < FIRST_WITH_TRACER) return refuse_unknown(hip, why);
    *version = measure(hip);
    if (row && !agrees(row, version)) {
        hb_buf_printf(why,
                      "this runtime calls itself HIP %d.%d, but its hooks are not laid out so (%u "
                      "functions, %u bytes a call; expected: %u, %u)",
                      row->release / 100, row->release % 100, version->num_functions,
                      version->api_data_size, row->num_functions, row->api_data_size);
        return false;
    }
    if (row) version->api_data_size = row->api_data_size;
    return version->api_data_size && version->num_functions ? true : refuse_unknown(hip, why);
}
