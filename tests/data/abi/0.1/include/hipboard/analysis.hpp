/* SPDX-License-Identifier: MIT
 *
 * hipboard's analysis for C++17: the last cycle's table, stacks and memory, for use in a handler or
 * after stop(). Header-only; everything comes down to analysis.h, which says what the calls do, and
 * is in the library hipboard-analysis.
 *
 *     prof.stop();
 *     std::cout << hipboard::table(prof, "self_cpu_time_total", 10);
 */
#ifndef HIPBOARD_ANALYSIS_HPP
#define HIPBOARD_ANALYSIS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <hipboard/analysis.h>
#include <hipboard/hipboard.hpp>

namespace hipboard {

/** torch's export_stacks(). */
inline hb_result export_stacks(profiler_ref prof, const std::string &path,
                               const char *metric = nullptr)
{
    return check(hb_export_stacks(prof.handle(), path.c_str(), metric));
}

/** torch's export_memory_timeline(). */
inline hb_result export_memory_timeline(profiler_ref prof, const std::string &path,
                                        const char *device = nullptr)
{
    return check(hb_export_memory_timeline(prof.handle(), path.c_str(), device));
}

/** torch's key_averages().table() of the last cycle; empty where it fails without exceptions. */
inline std::string table(profiler_ref prof, const hb_key_averages_options &groups,
                         const hb_table_options &style)
{
    hb_key_averages *averages = nullptr;
    char *text = nullptr;
    std::size_t size = 0;
    if (check(hb_profiler_key_averages(prof.handle(), &groups, &averages)) != HB_OK) return {};
    std::unique_ptr<hb_key_averages, void (*)(hb_key_averages *)> owner(averages,
                                                                        hb_key_averages_destroy);
    if (check(hb_key_averages_table(averages, &style, &text, &size)) != HB_OK) return {};
    std::unique_ptr<char, void (*)(void *)> text_owner(text, hb_free);
    return std::string(text, size);
}

inline std::string table(profiler_ref prof, const char *sort_by = nullptr,
                         std::uint64_t row_limit = 0)
{
    hb_key_averages_options groups = HB_KEY_AVERAGES_OPTIONS_INIT;
    hb_table_options style = HB_TABLE_OPTIONS_INIT;
    groups.sort_by = sort_by;
    style.row_limit = row_limit;
    return table(prof, groups, style);
}

} // namespace hipboard

#endif /* HIPBOARD_ANALYSIS_HPP */
