/* SPDX-License-Identifier: MIT
 *
 * Calls of AMD's libraries as programs make them, without their headers: amd_calls blas|fft|rand.
 * Each prints what it returned; 0 is success everywhere.
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
int rocblas_destroy_handle(handle);
int hipblasCreate(handle *);
int hipblasSgemm(handle, int, int, int, int, int, const float *, const void *, int, const void *,
                 int, const float *, void *, int);

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
    CALL(hipblasCreate, &hb);
    CALL(hipblasSgemm, hb, none, none, 64, 48, 40, &one, memory, 64, memory, 40, &zero, memory, 64);
    CALL(hipDeviceSynchronize);
    CALL(rocblas_destroy_handle, h);
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
