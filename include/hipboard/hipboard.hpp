/* SPDX-License-Identifier: MIT
 *
 * hipboard for C++17: scopes that end with their block, failures as exceptions, callables as
 * handlers. Header-only; everything comes down to hipboard.h, which says what the calls do. Tables
 * and stacks of a cycle are in analysis.hpp.
 *
 *     auto options = hipboard::default_options();
 *     options.schedule = hipboard::schedule().wait(1).warmup(1).active(3).repeat(2);
 *     options.on_trace_ready = hb_tensorboard_trace_handler("runs/mine", nullptr, 0);
 *     hipboard::profiler prof(options);
 *     prof.start();
 *     for (auto &batch : loader) {
 *         auto scope = hipboard::record_function("train_batch");
 *         train(batch);
 *         scope.end();
 *         prof.step();
 *     }
 *     prof.stop();
 */
#ifndef HIPBOARD_HPP
#define HIPBOARD_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif

#include <hipboard/hipboard.h>

/* Without exceptions (-fno-exceptions) failures are results of the calls that have one, and a
 * profiler that could not be made is false. */
#ifdef __cpp_exceptions
#define HIPBOARD_EXCEPTIONS 1
#else
#define HIPBOARD_EXCEPTIONS 0
#endif

namespace hipboard {

/* ------------------------------------------------------------------------------------------- */
/* Errors                                                                                      */
/* ------------------------------------------------------------------------------------------- */

#if HIPBOARD_EXCEPTIONS
/** A call of hipboard failed; what() is its hb_last_error(). */
class error : public std::runtime_error {
  public:
    explicit error(hb_result code) : std::runtime_error(hb_last_error()), code_(code) {}
    hb_result code() const noexcept
    {
        return code_;
    }

  private:
    hb_result code_;
};

namespace detail {
/* A callback's exception, carried over the C frames between it and the call that led to it. */
inline thread_local std::exception_ptr thrown;

inline void rethrow()
{
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
}

template <class Body> hb_result guarded(Body &&body) noexcept
{
    try {
        body();
        return HB_OK;
    } catch (const error &e) {
        if (!thrown) thrown = std::current_exception();
        return e.code();
    } catch (...) {
        if (!thrown) thrown = std::current_exception();
        return HB_ERROR_STATE;
    }
}

/* One call's callbacks: what they throw belongs to it, and nothing that was thrown before does. */
class callbacks {
  public:
    callbacks() noexcept : before_(std::exchange(thrown, nullptr)) {}
    callbacks(const callbacks &) = delete;
    callbacks &operator=(const callbacks &) = delete;
    ~callbacks()
    {
        thrown = before_;
    }

  private:
    std::exception_ptr before_;
};
} // namespace detail

/** When `result` is not HB_OK, throws what a callback threw during the call, or else an error. */
inline hb_result check(hb_result result)
{
    std::exception_ptr thrown = std::exchange(detail::thrown, nullptr);
    if (result == HB_OK) return result;
    if (thrown) std::rethrow_exception(thrown);
    throw error(result);
}
#else
namespace detail {
inline void rethrow() noexcept {}

template <class Body> hb_result guarded(Body &&body) noexcept
{
    body();
    return HB_OK;
}

class callbacks {
  public:
    callbacks() noexcept {}
};
} // namespace detail

inline hb_result check(hb_result result) noexcept
{
    return result;
}
#endif

/* ------------------------------------------------------------------------------------------- */
/* Recording                                                                                   */
/* ------------------------------------------------------------------------------------------- */

/** An open scope that ends with the block it is in. It can be moved, to another thread too. */
class [[nodiscard]] scope {
  public:
    scope() noexcept = default;
    explicit scope(hb_scope handle) noexcept : handle_(handle) {}
    scope(scope &&other) noexcept : handle_(std::exchange(other.handle_, hb_scope{})) {}
    scope &operator=(scope &&other) noexcept
    {
        end();
        handle_ = std::exchange(other.handle_, hb_scope{});
        return *this;
    }
    ~scope()
    {
        end();
    }

    /** Ends it before its block does. */
    void end() noexcept
    {
        if (handle_.record) hb_scope_end(&handle_);
        handle_ = hb_scope{};
    }

  private:
    hb_scope handle_{};
};

/** torch.profiler.record_function. */
inline scope record_function(const char *name) noexcept
{
    return HB_ENABLED() ? scope(hb_record_function(name)) : scope();
}
inline scope record_function(const std::string &name) noexcept
{
    return record_function(name.c_str());
}
/** record_function(HB_SITE("train_batch")): the literal is looked up once for its place in the
 * program, not in each call; HB_SCOPE() does that, too, where a scope ends with its block. */
inline scope record_function(hb_site *site) noexcept
{
    return HB_ENABLED() ? scope(hb_record_function_site(site)) : scope();
}
#define HB_SITE(literal)                                \
    ([]() noexcept -> hb_site * {                       \
        static hb_site hb_site_here_{"" literal, 0, 0}; \
        return &hb_site_here_;                          \
    }())

/** A typed value of a scope: arg("bytes", n), arg("path", path). Texts are read while the scope is
 * begun. */
inline hb_arg arg(const char *key, const char *value) noexcept
{
    return hb_arg_string(key, value);
}
inline hb_arg arg(const char *key, const std::string &value) noexcept
{
    return hb_arg_string(key, value.c_str());
}
/** Numbers, bool and enums, as the numbers that they are; what only converts to one is none. */
template <class Number,
          class = std::enable_if_t<std::is_arithmetic_v<Number> || std::is_enum_v<Number>>>
hb_arg arg(const char *key, Number value) noexcept
{
    if constexpr (std::is_enum_v<Number>)
        return arg(key, static_cast<std::underlying_type_t<Number>>(value));
    else if constexpr (std::is_same_v<Number, bool>)
        return hb_arg_bool(key, value);
    else if constexpr (std::is_floating_point_v<Number>)
        return hb_arg_double(key, static_cast<double>(value));
    else if constexpr (std::is_unsigned_v<Number>)
        return hb_arg_uint(key, value);
    else
        return hb_arg_int(key, value);
}

/** With values, and in a category of its own (hb_scope_info.category) or nullptr. */
inline scope record_function(const char *name, std::initializer_list<hb_arg> args,
                             const char *category = nullptr) noexcept
{
    if (!HB_ENABLED()) return scope();
    hb_scope_info info{};
    info.struct_size = sizeof info;
    info.category = category;
    info.args = args.begin();
    info.num_args = args.size();
    return scope(hb_scope_begin(name, &info));
}

/** One input of an operator. Numbers in braces are copied; an array that is passed by its address
 * is read while the operator is begun, and belongs to the caller. */
class input {
  public:
    static input none() noexcept
    {
        return input(HB_INPUT_NONE);
    }
    static input tensor(hb_dtype dtype, std::initializer_list<std::int64_t> dims)
    {
        input in(HB_INPUT_TENSOR, dims);
        in.c_.dtype = dtype;
        return in;
    }
    static input tensor(hb_dtype dtype, const std::int64_t *dims, std::size_t count) noexcept
    {
        input in(HB_INPUT_TENSOR);
        in.c_.dtype = dtype;
        return in.borrow(dims, count);
    }
    static input integers(std::initializer_list<std::int64_t> values)
    {
        return input(HB_INPUT_INT_LIST, values);
    }
    static input integers(const std::int64_t *values, std::size_t count) noexcept
    {
        return input(HB_INPUT_INT_LIST).borrow(values, count);
    }
#ifdef __cpp_lib_span
    static input tensor(hb_dtype dtype, std::span<const std::int64_t> dims) noexcept
    {
        return tensor(dtype, dims.data(), dims.size());
    }
    static input integers(std::span<const std::int64_t> values) noexcept
    {
        return integers(values.data(), values.size());
    }
#endif
    static input integer(std::int64_t value) noexcept
    {
        input in(HB_INPUT_INT);
        in.c_.i = value;
        return in;
    }
    static input boolean(bool value) noexcept
    {
        input in(HB_INPUT_BOOL);
        in.c_.i = value;
        return in;
    }
    static input number(double value) noexcept
    {
        input in(HB_INPUT_FLOAT);
        in.c_.f = value;
        return in;
    }

    /** As the C interface wants it; valid as long as this input. */
    hb_input c() const noexcept
    {
        hb_input in = c_;
        if (!in.dims) in.dims = more_.empty() ? few_.data() : more_.data();
        return in;
    }

  private:
    explicit input(hb_input_kind kind) noexcept
    {
        c_.kind = kind;
    }
    input(hb_input_kind kind, std::initializer_list<std::int64_t> dims) : input(kind)
    {
        c_.count = static_cast<std::uint32_t>(dims.size());
        if (dims.size() > few_.size())
            more_ = dims;
        else
            std::copy(dims.begin(), dims.end(), few_.begin());
    }
    input borrow(const std::int64_t *dims, std::size_t count) noexcept
    {
        c_.dims = dims;
        c_.count = static_cast<std::uint32_t>(count);
        return *this;
    }

    hb_input c_{}; /* dims: the caller's, or null */
    std::array<std::int64_t, 8> few_{};
    std::vector<std::int64_t> more_; /* when there are more */
};

/** What is known of an operator beside its inputs; see hb_op_info. */
struct op_details {
    double flops = 0;
    std::uint64_t sequence_number = 0, forward_thread = 0;
};

/** An operator. Inputs are read during the call only. Up to sixteen take no memory from the heap.
 */
inline scope op(const char *name, const input *inputs, std::size_t count,
                const op_details &details = {})
{
    if (!HB_ENABLED()) return scope();
    std::array<hb_input, 16> few;
    std::vector<hb_input> more(count > few.size() ? count : 0);
    hb_input *list = more.empty() ? few.data() : more.data();
    for (std::size_t i = 0; i < count; i++)
        list[i] = inputs[i].c();
    hb_op_info info{};
    info.inputs = list;
    info.num_inputs = count;
    info.flops = details.flops;
    info.sequence_number = details.sequence_number;
    info.forward_thread = details.forward_thread;
    return scope(hb_op(name, &info));
}
inline scope op(const char *name, std::initializer_list<input> inputs = {},
                const op_details &details = {})
{
    return op(name, inputs.begin(), inputs.size(), details);
}

/** A layer or other part of the program, made once and kept beside it. */
class nn_module {
  public:
    explicit nn_module(const char *class_name) : id_(hb_module_create(class_name)) {}
    /** Its frame, from here to the end of the scope. */
    scope call() const noexcept
    {
        return HB_ENABLED() ? scope(hb_module_call(id_)) : scope();
    }

  private:
    hb_module id_;
};
/* Its older name, which C++20 reads as a keyword where a line begins with it. */
using module = nn_module;

/* ------------------------------------------------------------------------------------------- */
/* Profiler                                                                                    */
/* ------------------------------------------------------------------------------------------- */

/** torch.profiler.schedule(), its arguments by name. */
class schedule {
  public:
    schedule &wait(std::int64_t steps)
    {
        return set(&hb_schedule_params::wait, steps);
    }
    schedule &warmup(std::int64_t steps)
    {
        return set(&hb_schedule_params::warmup, steps);
    }
    schedule &active(std::int64_t steps)
    {
        return set(&hb_schedule_params::active, steps);
    }
    schedule &repeat(std::int64_t cycles)
    {
        return set(&hb_schedule_params::repeat, cycles);
    }
    schedule &skip_first(std::int64_t steps)
    {
        return set(&hb_schedule_params::skip_first, steps);
    }
    schedule &skip_first_wait(bool skip)
    {
        return set(&hb_schedule_params::skip_first_wait, skip);
    }
    operator hb_schedule() const
    {
        return hb_schedule_from(&params_);
    }

  private:
    schedule &set(std::int64_t hb_schedule_params::*field, std::int64_t value)
    {
        params_.*field = value;
        return *this;
    }

    hb_schedule_params params_{};
};

inline hb_profiler_options default_options() noexcept
{
    return HB_PROFILER_OPTIONS_INIT;
}

/** A profiler that somebody else owns; what handlers get. */
class profiler_ref {
  public:
    explicit profiler_ref(hb_profiler *handle) noexcept : handle_(handle) {}
    hb_profiler *handle() const noexcept
    {
        return handle_;
    }
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    std::int64_t step_num() const noexcept
    {
        return hb_profiler_step_num(handle_);
    }
    std::int64_t cycle() const noexcept
    {
        return hb_profiler_cycle(handle_);
    }
    hb_profiler_action current_action() const noexcept
    {
        return hb_profiler_current_action(handle_);
    }
    hb_result add_metadata(const std::string &key, const std::string &value)
    {
        return check(hb_profiler_add_metadata(handle_, key.c_str(), value.c_str()));
    }
    hb_result add_metadata_json(const std::string &key, const std::string &json)
    {
        return check(hb_profiler_add_metadata_json(handle_, key.c_str(), json.c_str()));
    }
    hb_result preset_metadata_json(const std::string &key, const std::string &json)
    {
        return check(hb_profiler_preset_metadata_json(handle_, key.c_str(), json.c_str()));
    }
    hb_result export_chrome_trace(const std::string &path, unsigned flags = 0)
    {
        return check(hb_export_chrome_trace(handle_, path.c_str(), flags));
    }
    hb_result export_tensorboard(const std::string &dir, unsigned flags = 0)
    {
        return check(hb_export_tensorboard(handle_, dir.c_str(), nullptr, flags));
    }

    /** Calls visit(const hb_event &) for the last cycle's events. */
    template <class Visit> hb_result events(Visit &&visit)
    {
        auto call = [](const hb_event *event, void *arg) {
            return detail::guarded([&] { (*static_cast<Visit *>(arg))(*event); }) == HB_OK;
        };
        detail::callbacks own;
        hb_result result = hb_profiler_events(handle_, call, std::addressof(visit));
        detail::rethrow();
        return check(result);
    }

  protected:
    hb_profiler *handle_;
};

/** A handler from any callable that takes a profiler_ref. What it throws comes out of the step() or
 * stop() that called it. */
template <class Callable> hb_trace_handler handler(Callable callable)
{
    hb_trace_handler result{};
    result.context = new Callable(std::move(callable));
    result.fn = [](hb_profiler *prof, void *context) {
        return detail::guarded([&] { (*static_cast<Callable *>(context))(profiler_ref(prof)); });
    };
    result.destroy = [](void *context) { delete static_cast<Callable *>(context); };
    return result;
}

/** torch.profiler.profile. Its end stops a running profiler; call stop() to hear of failures. */
class profiler : public profiler_ref {
  public:
    explicit profiler(const hb_profiler_options &options = default_options())
        : profiler_ref(hb_profiler_create(&options))
    {
#if HIPBOARD_EXCEPTIONS
        if (!handle_) throw error(HB_ERROR_INVALID_ARGUMENT);
#endif
    }
    profiler(profiler &&other) noexcept : profiler_ref(std::exchange(other.handle_, nullptr)) {}
    profiler &operator=(profiler &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    /** What a handler throws in here is lost, as destructors must not throw. */
    ~profiler()
    {
        detail::callbacks own;
        hb_profiler_destroy(handle_);
    }

    hb_result start()
    {
        detail::callbacks own;
        return check(hb_profiler_start(handle_));
    }
    hb_result step()
    {
        detail::callbacks own;
        return check(hb_profiler_step(handle_));
    }
    hb_result stop()
    {
        detail::callbacks own;
        return check(hb_profiler_stop(handle_));
    }
    hb_result flush()
    {
        detail::callbacks own;
        return check(hb_profiler_flush(handle_));
    }
    /** Triggers it, from any thread or signal handler; false when it is neither on_demand
     * nor a flight recorder, or not running. */
    bool dump(const char *reason = nullptr) noexcept
    {
        return hb_profiler_dump(handle_, reason) == HB_OK;
    }
};

} // namespace hipboard

#endif /* HIPBOARD_HPP */
