/* SPDX-License-Identifier: MIT
 *
 * A library's function, for bench_operators.
 */
int bench_multiply(int m, int n, int k, const float *a, const float *b, float *c);

int bench_multiply(int m, int n, int k, const float *a, const float *b, float *c)
{
    return a || b || c ? m * n * k : 0;
}
