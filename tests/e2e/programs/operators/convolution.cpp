// SPDX-License-Identifier: MIT
//
// A convolution and a product of matrices by oneDNN, of version 2 or 3.
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

static_assert(DNNL_VERSION_MAJOR == EXPECTED, "another oneDNN was found");

using namespace dnnl;
using tag = memory::format_tag;
using type = memory::data_type;

int main()
{
    engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    memory::desc from({2, 3, 8, 8}, type::f32, tag::nchw), weights({4, 3, 3, 3}, type::f32, tag::oihw),
        to({2, 4, 6, 6}, type::f32, tag::nchw), a({32, 64}, type::f32, tag::ab),
        b({64, 16}, type::f32, tag::ab), c({32, 16}, type::f32, tag::ab);
    memory x(from, cpu), w(weights, cpu), y(to, cpu), ma(a, cpu), mb(b, cpu), mc(c, cpu);
    float *p = static_cast<float *>(x.get_data_handle());
    float *q = static_cast<float *>(w.get_data_handle());
    for (int i = 0; i < 2 * 3 * 8 * 8; i++)
        p[i] = 1;
    for (int i = 0; i < 4 * 3 * 3 * 3; i++)
        q[i] = 2;
#if DNNL_VERSION_MAJOR == 2
    convolution_forward::primitive_desc conv(
        {prop_kind::forward_inference, algorithm::convolution_direct, from, weights, to, {1, 1},
         {0, 0}, {0, 0}},
        cpu);
    matmul::primitive_desc mm({a, b, c}, cpu);
#else
    convolution_forward::primitive_desc conv(cpu, prop_kind::forward_inference,
                                             algorithm::convolution_direct, from, weights, to,
                                             {1, 1}, {0, 0}, {0, 0});
    matmul::primitive_desc mm(cpu, a, b, c);
#endif
    convolution_forward(conv).execute(
        s, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
    matmul(mm).execute(s, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
    s.wait();
    std::printf("%g\n", static_cast<float *>(y.get_data_handle())[0]);
}
