/* SPDX-License-Identifier: MIT
 *
 * A program with pools of its own: each allocation has a size that tells which it is.
 */
#include <stddef.h>
#include <stdio.h>

void *pool_alloc(void *pool, size_t count, size_t size);
int pool_alloc_to(void **out, size_t bytes);
void *pool_resize(void *at, size_t bytes);
void pool_free(void *at);
void *arena_alloc(int device, size_t bytes);

int main(void)
{
    void *a = pool_alloc(NULL, 3, 1000), *b = NULL;
    int status = pool_alloc_to(&b, 500);
    a = pool_resize(a, 7000);
    printf("%d %d\n", status, pool_alloc_to(&b, 1u << 30));
    pool_free(b);
    arena_alloc(2, 64);
    pool_free(a);
    pool_free(NULL);
    int unknown;
    pool_free(&unknown); /* of nobody: it is not told of */
    return 0;
}
