// SPDX-License-Identifier: MIT
//
// A user's C++ program, outside the tree: user FILE writes one trace to FILE. What it finds wrong
// on the way is its exit status.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <hipboard/analysis.hpp>

static std::size_t allocations;

void *operator new(std::size_t size)
{
    allocations++;
    void *memory = std::malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace {

void work()
{
    auto outer = hipboard::record_function("outer");
    try {
        auto inner = hipboard::record_function(std::string("inner"));
        throw std::runtime_error("leaves the scope");
    } catch (const std::runtime_error &) {
    }
    auto moved = std::move(outer);
    auto mm = hipboard::op(
        "aten::mm",
        {hipboard::input::tensor(HB_FLOAT32, {2, 3}), hipboard::input::tensor(HB_FLOAT32, {3, 4})},
        {hb_flops_mm(2, 3, 4)});
}

void require(bool condition, const char *what)
{
    if (!condition) throw std::logic_error(what);
}

void trace(const char *path)
{
    hipboard::profiler prof;
    prof.start();
    work();
    prof.stop();
    std::vector<std::string> names;
    prof.events([&](const hb_event &event) { names.push_back(event.name); });
    require(names == std::vector<std::string>{"outer", "inner", "aten::mm"}, "events in order");
    require(hipboard::table(prof, "count", 1).find("aten::mm") == std::string::npos,
            "a limited table");
    require(hipboard::table(prof).find("aten::mm") != std::string::npos, "a table");
    try {
        hipboard::table(prof, "nonsense");
        throw std::logic_error("a sort key that is none was taken");
    } catch (const hipboard::error &) {
    }
    prof.export_chrome_trace(path, HB_DIALECT_KINETO);
}

void handlers_are_callables()
{
    std::vector<std::int64_t> steps;
    auto options = hipboard::default_options();
    options.schedule = hipboard::schedule().wait(1).active(1).repeat(2);
    options.on_trace_ready =
        hipboard::handler([&](hipboard::profiler_ref prof) { steps.push_back(prof.step_num()); });
    hipboard::profiler prof(options);
    prof.start();
    for (int i = 0; i < 6; i++)
        prof.step();
    prof.stop();
    require(steps == std::vector<std::int64_t>{2, 4}, "handler called at the ends of cycles");
}

void exceptions_come_through()
{
    auto options = hipboard::default_options();
    options.on_trace_ready =
        hipboard::handler([](hipboard::profiler_ref) { throw std::out_of_range("mine"); });
    hipboard::profiler prof(options);
    prof.start();
    try {
        prof.stop();
    } catch (const std::out_of_range &) {
        return;
    }
    throw std::logic_error("the handler's exception was lost");
}

void an_exception_stays_with_its_profiler()
{
    auto options = hipboard::default_options();
    options.on_trace_ready =
        hipboard::handler([](hipboard::profiler_ref) { throw std::out_of_range("the first's"); });
    {
        hipboard::profiler first(options);
        first.start();
    } /* its handler throws in the destructor */
    hipboard::profiler second;
    second.start();
    work();
    second.stop();
    second.events([](const hb_event &) {});
    try {
        hipboard::table(second, "nonsense");
        throw std::logic_error("a sort key that is none was taken");
    } catch (const hipboard::error &) {
    }
}

void operators_take_any_number_of_dimensions_and_no_memory()
{
    const std::int64_t dims[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    auto options = hipboard::default_options();
    options.record_shapes = true;
    hipboard::profiler prof(options);
    prof.start();
    hipboard::op("ten", {hipboard::input::tensor(HB_FLOAT32, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})})
        .end();
    std::size_t before = allocations;
    hipboard::op("borrowed",
                 {hipboard::input::tensor(HB_FLOAT32, dims, 10), hipboard::input::integers({1, 1})})
        .end();
    require(allocations == before, "no memory for an operator");
    prof.stop();
    hb_key_averages_options groups = HB_KEY_AVERAGES_OPTIONS_INIT;
    hb_table_options style = HB_TABLE_OPTIONS_INIT;
    groups.group_by_input_shape = true;
    style.max_shapes_column_width = 100;
    std::string table = hipboard::table(prof, groups, style);
    require(table.find("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]") != std::string::npos, "dimensions");
    require(table.find("[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], []]") != std::string::npos,
            "borrowed ones");
}

void wrong_options_throw()
{
    auto options = hipboard::default_options();
    options.schedule = hipboard::schedule().active(0).wait(1);
    try {
        hipboard::profiler prof(options);
    } catch (const hipboard::error &e) {
        require(std::string(e.what()).find("active") != std::string::npos, "the error names it");
        return;
    }
    throw std::logic_error("a schedule without active steps was taken");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    try {
        trace(argv[1]);
        handlers_are_callables();
        exceptions_come_through();
        an_exception_stays_with_its_profiler();
        wrong_options_throw();
        operators_take_any_number_of_dimensions_and_no_memory();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
