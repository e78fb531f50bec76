/* SPDX-License-Identifier: MIT
 *
 * Calls of AMD's libraries as programs make them, without their headers: BLAS, GRAPH, FFT, MATH or
 * MIOPEN is defined. Each prints what it returned; 0 is success everywhere.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int hipMalloc(void **, size_t);
int hipDeviceSynchronize(void);

static void *memory;
static int failures;

static void said(const char *call, int status)
{
    printf("%s %d\n", call, status);
    failures += status != 0;
}

#define CALL(function, ...) said(#function, function(__VA_ARGS__))

#ifdef BLAS
typedef void *handle;
int rocblas_create_handle(handle *);
int rocblas_sgemm(handle, int, int, int, int, int, const float *, const void *, int, const void *,
                  int, const float *, void *, int);
int rocblas_gemm_ex(handle, int, int, int, int, int, const void *, const void *, int, int,
                    const void *, int, int, const void *, const void *, int, int, void *, int, int,
                    int, int, int32_t, uint32_t);
int rocblas_sgemm_strided_batched(handle, int, int, int, int, int, const float *, const void *, int,
                                  int64_t, const void *, int, int64_t, const float *, void *, int,
                                  int64_t, int);
int rocblas_saxpy(handle, int, const float *, const void *, int, void *, int);
int rocblas_sgemv(handle, int, int, int, const float *, const void *, int, const void *, int,
                  const float *, void *, int);
int rocblas_sgemv_strided_batched(handle, int, int, int, const float *, const void *, int, int64_t,
                                  const void *, int, int64_t, const float *, void *, int, int64_t,
                                  int);
int rocblas_sger(handle, int, int, const float *, const void *, int, const void *, int, void *,
                 int);
int rocblas_ssymm(handle, int, int, int, int, const float *, const void *, int, const void *, int,
                  const float *, void *, int);
int rocblas_ssyrk(handle, int, int, int, int, const float *, const void *, int, const float *,
                  void *, int);
int rocblas_strmm(handle, int, int, int, int, int, int, const float *, const void *, int,
                  const void *, int, void *, int);
int rocblas_strsm(handle, int, int, int, int, int, int, const float *, const void *, int, void *,
                  int);
int rocblas_sdot(handle, int, const void *, int, const void *, int, void *);
int rocblas_snrm2(handle, int, const void *, int, void *);
int rocblas_sscal(handle, int, const float *, void *, int);
int rocblas_scopy(handle, int, const void *, int, void *, int);
int rocblas_destroy_handle(handle);
int hipblasCreate(handle *);
int hipblasSgemm(handle, int, int, int, int, int, const float *, const void *, int, const void *,
                 int, const float *, void *, int);

static void others(handle h)
{
    enum { NONE = 111, TRANSPOSED = 112, UPPER = 121, NON_UNIT = 131, LEFT = 141, RIGHT };
    const float one = 1, zero = 0;
    CALL(rocblas_sgemv, h, TRANSPOSED, 40, 24, &one, memory, 48, memory, 2, &zero, memory, 1);
    CALL(rocblas_sgemv, h, NONE, 40, 24, &one, memory, 48, memory, 2, &zero, memory, 1);
    CALL(rocblas_sgemv_strided_batched, h, TRANSPOSED, 40, 24, &one, memory, 40, 960, memory, 1, 40,
         &zero, memory, 1, 24, 3);
    CALL(rocblas_sger, h, 40, 24, &one, memory, 1, memory, 2, memory, 40);
    CALL(rocblas_ssymm, h, LEFT, UPPER, 40, 24, &one, memory, 40, memory, 40, &zero, memory, 40);
    CALL(rocblas_ssyrk, h, UPPER, NONE, 40, 24, &one, memory, 40, &zero, memory, 40);
    CALL(rocblas_strmm, h, LEFT, UPPER, NONE, NON_UNIT, 40, 24, &one, memory, 40, memory, 40,
         memory, 40);
    CALL(rocblas_strsm, h, LEFT, UPPER, NONE, NON_UNIT, 40, 24, &one, memory, 40, memory, 40);
    CALL(rocblas_strsm, h, RIGHT, UPPER, NONE, NON_UNIT, 40, 24, &one, memory, 24, memory, 40);
    CALL(rocblas_sdot, h, 4096, memory, 1, memory, 2, memory);
    CALL(rocblas_snrm2, h, 4096, memory, 1, memory);
    CALL(rocblas_sscal, h, 4096, &one, memory, 1);
    CALL(rocblas_scopy, h, 4096, memory, 1, memory, 1);
}

int main(void)
{
    const int none = 111, transposed = 112, f16 = 150, f32 = 151;
    const float one = 1, zero = 0;
    handle h, hb;
    said("hipMalloc", hipMalloc(&memory, 1 << 22));
    CALL(rocblas_create_handle, &h);
    CALL(rocblas_sgemm, h, none, transposed, 256, 128, 64, &one, memory, 256, memory, 128, &zero,
         memory, 256);
    CALL(rocblas_gemm_ex, h, none, none, 96, 64, 32, &one, memory, f16, 96, memory, f16, 32, &zero,
         memory, f16, 96, memory, f16, 96, f32, 0, 0, 0);
    CALL(rocblas_sgemm_strided_batched, h, none, none, 32, 16, 8, &one, memory, 32, 256, memory, 8,
         128, &zero, memory, 32, 512, 5);
    CALL(rocblas_saxpy, h, 32768, &one, memory, 1, memory, 1);
    others(h);
    CALL(hipblasCreate, &hb);
    CALL(hipblasSgemm, hb, none, none, 64, 48, 40, &one, memory, 64, memory, 40, &zero, memory, 64);
    CALL(hipDeviceSynchronize);
    CALL(rocblas_destroy_handle, h);
    return failures != 0;
}
#endif

#ifdef GRAPH
typedef void *handle;
int rocblas_create_handle(handle *);
int rocblas_set_stream(handle, void *);
int rocblas_sgemm(handle, int, int, int, int, int, const float *, const void *, int, const void *,
                  int, const float *, void *, int);
int hipStreamCreate(void **);
int hipStreamBeginCapture(void *, int);
int hipStreamEndCapture(void *, void **);
int hipGraphInstantiate(void **, void *, void **, char *, size_t);
int hipGraphLaunch(void *, void *);
int hipStreamSynchronize(void *);

static void multiply(handle h, int n)
{
    const float one = 1, zero = 0;
    CALL(rocblas_sgemm, h, 111, 111, n, n, n, &one, memory, n, memory, n, &zero, memory, n);
}

/* One call as it is, which loads the kernels; three into a graph, which runs four times. */
int main(void)
{
    void *stream, *graph, *exec;
    handle h;
    said("hipMalloc", hipMalloc(&memory, 1 << 22));
    CALL(hipStreamCreate, &stream);
    CALL(rocblas_create_handle, &h);
    CALL(rocblas_set_stream, h, stream);
    multiply(h, 64);
    CALL(hipStreamSynchronize, stream);
    CALL(hipStreamBeginCapture, stream, 2);
    for (int i = 0; i < 3; i++)
        multiply(h, 64);
    CALL(hipStreamEndCapture, stream, &graph);
    CALL(hipGraphInstantiate, &exec, graph, NULL, NULL, 0);
    for (int i = 0; i < 4; i++)
        CALL(hipGraphLaunch, exec, stream);
    CALL(hipStreamSynchronize, stream);
    return failures != 0;
}
#endif

#ifdef FFT
int rocfft_setup(void);
int rocfft_plan_create(void **, int, int, int, size_t, const size_t *, size_t, const void *);
int rocfft_execute(const void *, void **, void **, void *);
int rocfft_plan_destroy(void *);
int hipfftPlan1d(void **, int, int, int);
int hipfftExecC2C(void *, void *, void *, int);
int rocrand_create_generator(void **, int);
int rocrand_generate_uniform(void *, float *, size_t);
int rocrand_generate_normal(void *, float *, size_t, float, float);

int main(void)
{
    const size_t lengths[] = {1024};
    const int c2c = 0x29, philox = 402;
    void *plan, *hip_plan, *generator;
    said("hipMalloc", hipMalloc(&memory, 1 << 22));
    CALL(rocfft_setup);
    CALL(rocfft_plan_create, &plan, 0, 0, 0, 1, lengths, 4, NULL);
    CALL(rocfft_execute, plan, &memory, NULL, NULL);
    CALL(rocfft_execute, plan, &memory, NULL, NULL);
    CALL(rocfft_plan_destroy, plan);
    CALL(hipfftPlan1d, &hip_plan, 512, c2c, 16);
    CALL(hipfftExecC2C, hip_plan, memory, memory, -1);
    CALL(rocrand_create_generator, &generator, philox);
    CALL(rocrand_generate_uniform, generator, memory, 65536);
    CALL(rocrand_generate_normal, generator, memory, 4096, 0, 1);
    CALL(hipDeviceSynchronize);
    return failures != 0;
}
#endif

#ifdef MATH
typedef void *handle;
int rocblas_create_handle(handle *);
int rocsolver_sgetrf(handle, int, int, void *, int, void *, void *);
int rocsparse_create_handle(handle *);
int rocsparse_create_mat_descr(void **);
int rocsparse_scsrmv(handle, int, int, int, int, const float *, const void *, const void *,
                     const void *, const void *, void *, const void *, const float *, void *);
int rocsparse_create_csr_descr(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int,
                               int, int);
int rocsparse_create_dnvec_descr(void **, int64_t, void *, int);
int rocsparse_spmv(handle, int, const void *, const void *, const void *, const void *,
                   const void *, int, int, int, size_t *, void *);
int rocsparse_destroy_spmat_descr(const void *);
int hipblasLtCreate(handle *);
int hipblasLtMatmulDescCreate(void **, int, int);
int hipblasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
int hipblasLtMatmulPreferenceCreate(void **);
int hipblasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t);
int hipblasLtMatmulAlgoGetHeuristic(handle, void *, void *, void *, void *, void *, void *, int,
                                    void *, int *);
int hipblasLtMatmul(handle, void *, const void *, const void *, void *, const void *, void *,
                    const void *, const void *, void *, void *, void *, const void *, void *,
                    size_t, void *);
int hipblasLtMatrixLayoutDestroy(void *);

static void sparse(void)
{
    enum { NONE = 111, F32 = 151, I32 = 2, ROWS = 40, COLUMNS = 50, ENTRIES = 200 };
    enum { BY_ROWS = 3, COMPUTE = 3 };
    const float one = 1, zero = 0;
    void *descr, *matrix, *x, *y;
    handle h;
    size_t bytes = 0;
    CALL(rocsparse_create_handle, &h);
    CALL(rocsparse_create_mat_descr, &descr);
    CALL(rocsparse_scsrmv, h, NONE, ROWS, COLUMNS, ENTRIES, &one, descr, memory, memory, memory,
         NULL, memory, &zero, memory);
    CALL(rocsparse_create_csr_descr, &matrix, ROWS, COLUMNS, ENTRIES, memory, memory, memory, I32,
         I32, 0, F32);
    CALL(rocsparse_create_dnvec_descr, &x, COLUMNS, memory, F32);
    CALL(rocsparse_create_dnvec_descr, &y, ROWS, memory, F32);
    CALL(rocsparse_spmv, h, NONE, &one, matrix, x, &zero, y, F32, BY_ROWS, COMPUTE, &bytes, memory);
    CALL(rocsparse_destroy_spmat_descr, matrix);
}

static void products(void)
{
    enum { F32 = 0, F16 = 2, COMPUTE_F32 = 2, WORKSPACE = 1, MOST = 4 };
    const float one = 1, zero = 0;
    const uint64_t bytes = 1 << 20;
    static _Alignas(16) char found[MOST][256];
    void *desc, *a, *b, *c, *preference;
    handle h;
    int count = 0;
    CALL(hipblasLtCreate, &h);
    CALL(hipblasLtMatmulDescCreate, &desc, COMPUTE_F32, F32);
    CALL(hipblasLtMatrixLayoutCreate, &a, F16, 512, 128, 512);
    CALL(hipblasLtMatrixLayoutCreate, &b, F16, 128, 256, 128);
    CALL(hipblasLtMatrixLayoutCreate, &c, F16, 512, 256, 512);
    CALL(hipblasLtMatmulPreferenceCreate, &preference);
    CALL(hipblasLtMatmulPreferenceSetAttribute, preference, WORKSPACE, &bytes, sizeof bytes);
    CALL(hipblasLtMatmulAlgoGetHeuristic, h, desc, a, b, c, c, preference, MOST, found, &count);
    for (int i = 0; i < 2; i++)
        CALL(hipblasLtMatmul, h, desc, &one, memory, a, memory, b, &zero, memory, c, memory, c,
             found[0], memory, bytes, NULL);
    CALL(hipblasLtMatrixLayoutDestroy, a);
}

int main(void)
{
    handle h;
    said("hipMalloc", hipMalloc(&memory, 1 << 22));
    CALL(rocblas_create_handle, &h);
    CALL(rocsolver_sgetrf, h, 96, 96, memory, 96, memory, memory);
    sparse();
    products();
    CALL(hipDeviceSynchronize);
    return failures != 0;
}
#endif

#ifdef MIOPEN
typedef void *handle;
int miopenCreate(handle *);
int miopenCreateTensorDescriptor(handle *);
int miopenCreateConvolutionDescriptor(handle *);
int miopenCreateActivationDescriptor(handle *);
int miopenSet4dTensorDescriptor(handle, int, int, int, int, int);
int miopenInitConvolutionDescriptor(handle, int, int, int, int, int, int, int);
int miopenSetActivationDescriptor(handle, int, double, double, double);
int miopenActivationForward(handle, handle, const void *, handle, const void *, const void *,
                            handle, void *);
int miopenSoftmaxForward(handle, const void *, handle, const void *, const void *, handle, void *);
int miopenFindConvolutionForwardAlgorithm(handle, handle, const void *, handle, const void *,
                                          handle, handle, void *, int, int *, void *, void *,
                                          size_t, _Bool);
int miopenConvolutionForward(handle, const void *, handle, const void *, handle, const void *,
                             handle, int, const void *, handle, void *, void *, size_t);
int miopenFindConvolutionBackwardDataAlgorithm(handle, handle, const void *, handle, const void *,
                                               handle, handle, void *, int, int *, void *, void *,
                                               size_t, _Bool);
int miopenFindConvolutionBackwardWeightsAlgorithm(handle, handle, const void *, handle,
                                                  const void *, handle, handle, void *, int, int *,
                                                  void *, void *, size_t, _Bool);
int miopenConvolutionForwardGetSolution(handle, handle, handle, handle, handle, size_t, size_t *,
                                        void *);
int miopenConvolutionForwardCompileSolution(handle, handle, handle, handle, handle, uint64_t);
int miopenConvolutionForwardImmediate(handle, handle, const void *, handle, const void *, handle,
                                      handle, void *, void *, size_t, uint64_t);
int miopenConvolutionBackwardData(handle, const void *, handle, const void *, handle, const void *,
                                  handle, int, const void *, handle, void *, void *, size_t);
int miopenConvolutionBackwardWeights(handle, const void *, handle, const void *, handle,
                                     const void *, handle, int, const void *, handle, void *,
                                     void *, size_t);
int miopenOpTensor(handle, int, const void *, handle, const void *, const void *, handle,
                   const void *, const void *, handle, void *);

int main(void)
{
    enum { F32 = 1, RELU = 3, ADD = 0, SPACE = 1 << 20 };
    const float one = 1, zero = 0;
    handle h, x, w, y, c, a;
    union {
        int algorithm; /* the best one's */
        char room[4096];
    } results;
    struct {
        float time;
        size_t workspace;
        uint64_t id;
        int algorithm;
    } solutions[8] = {0};
    size_t found = 0;
    int count;
    said("hipMalloc", hipMalloc(&memory, 1 << 22));
    CALL(miopenCreate, &h);
    CALL(miopenCreateTensorDescriptor, &x);
    CALL(miopenCreateTensorDescriptor, &w);
    CALL(miopenCreateTensorDescriptor, &y);
    CALL(miopenCreateConvolutionDescriptor, &c);
    CALL(miopenCreateActivationDescriptor, &a);
    CALL(miopenSet4dTensorDescriptor, x, F32, 8, 16, 32, 32);
    CALL(miopenSet4dTensorDescriptor, w, F32, 32, 16, 3, 3);
    CALL(miopenSet4dTensorDescriptor, y, F32, 8, 32, 32, 32);
    CALL(miopenInitConvolutionDescriptor, c, 0, 1, 1, 1, 1, 1, 1);
    CALL(miopenSetActivationDescriptor, a, RELU, 0, 0, 0);
    CALL(miopenActivationForward, h, a, &one, x, memory, &zero, x, memory);
    CALL(miopenSoftmaxForward, h, &one, x, memory, &zero, x, memory);
    CALL(miopenFindConvolutionForwardAlgorithm, h, x, memory, w, memory, c, y, memory, 4, &count,
         &results, memory, SPACE, 0);
    CALL(miopenConvolutionForward, h, &one, x, memory, w, memory, c, results.algorithm, &zero, y,
         memory, memory, SPACE);
    CALL(miopenConvolutionForwardGetSolution, h, w, x, c, y, 8, &found, solutions);
    CALL(miopenConvolutionForwardCompileSolution, h, w, x, c, y, solutions[0].id);
    CALL(miopenConvolutionForwardImmediate, h, w, memory, x, memory, c, y, memory, memory, SPACE,
         solutions[0].id);
    CALL(miopenFindConvolutionBackwardDataAlgorithm, h, y, memory, w, memory, c, x, memory, 4,
         &count, &results, memory, SPACE, 0);
    CALL(miopenConvolutionBackwardData, h, &one, y, memory, w, memory, c, results.algorithm, &zero,
         x, memory, memory, SPACE);
    CALL(miopenFindConvolutionBackwardWeightsAlgorithm, h, y, memory, x, memory, c, w, memory, 4,
         &count, &results, memory, SPACE, 0);
    CALL(miopenConvolutionBackwardWeights, h, &one, y, memory, x, memory, c, results.algorithm,
         &zero, w, memory, memory, SPACE);
    CALL(miopenOpTensor, h, ADD, &one, x, memory, &one, x, memory, &zero, x, memory);
    return failures != 0;
}
#endif
