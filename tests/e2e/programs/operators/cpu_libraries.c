/* SPDX-License-Identifier: MIT
 *
 * Calls libraries for CPUs and prints what they answer. It knows nothing of hipboard.
 */
#define FFTW_NO_Complex
#include <cblas.h>
#include <fftw3.h>
#include <lapacke.h>
#include <stdio.h>

extern void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                   const float *alpha, const float *a, const int *lda, const float *b,
                   const int *ldb, const float *beta, float *c, const int *ldc);

enum { M = 64, N = 48, K = 32, ORDER = 200, POINTS = 1024 };

static float a[M * K], b[K * N], c[M * N];
static double x[M], matrix[ORDER * ORDER];

static void multiply(void)
{
    int m = M, n = N, k = K;
    float one = 1;
    for (int i = 0; i < M * K; i++)
        a[i] = 1;
    for (int i = 0; i < K * N; i++)
        b[i] = 2;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 0.5F, a, k, b, n, 0, c, n);
    printf("%g\n", c[0]);
    sgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &k, &one, c, &m);
    printf("%g\n", c[0]);
}

static void make_small_calls(void)
{
    double sum = 0;
    for (int i = 0; i < M; i++)
        x[i] = i;
    for (int i = 0; i < 1000; i++)
        sum += cblas_ddot(M, x, 1, x, 1);
    printf("%g\n", sum);
}

static void factorise(void)
{
    static int pivots[ORDER];
    for (int i = 0; i < ORDER * ORDER; i++)
        matrix[i] = (i * 7919 % 1000) / 1000.0;
    for (int i = 0; i < ORDER; i++)
        matrix[i * (ORDER + 1)] += ORDER;
    int info = LAPACKE_dgetrf(LAPACK_COL_MAJOR, ORDER, ORDER, matrix, ORDER, pivots);
    printf("%d %.9g\n", info, matrix[ORDER * ORDER - 1]);
}

/* The second plan may get the first one's address. */
static void transform(void)
{
    fftw_complex *data = fftw_alloc_complex(POINTS);
    for (int points = POINTS; points >= POINTS / 2; points /= 2) {
        fftw_plan plan = fftw_plan_dft_1d(points, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
        for (int i = 0; i < POINTS; i++)
            data[i][0] = i % 3, data[i][1] = 0;
        fftw_execute(plan);
        printf("%.6g\n", data[1][0]);
        fftw_destroy_plan(plan);
    }
    fftw_free(data);
}

int main(void)
{
    multiply();
    make_small_calls();
    factorise();
    transform();
    return 0;
}
