/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target without a fuzzer: over every file of the directories named, then over inputs
 * made by a fixed random sequence. So each build runs each target.
 *
 *     fuzz_x_replay [-n INPUTS] [-v ROUNDS] DIRECTORY...
 *
 * -v: numbers of each file, where it has many some, are replaced in turn by ROUNDS values that no
 * index may become.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LARGEST_RANDOM = 4096 };

/* ---- one number of a text replaced ---- */

static const char *const values[] = {
    "64",
    "-65",
    "63",
    "-1",
    "127",
    "128",
    "255",
    "65536",
    "2147483647",
    "-64",
    "1e300",
    "4294967295",
    "-2147483649",
    "2305843009213693951",
    "\"493459\"",
    "true",
    "null",
    "NaN",
    "[]",
    "{\"a\": 64}",
    "18446744073709551616",
};
enum { VALUES = sizeof values / sizeof *values };

static int is_part(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Where the number at or behind `from` begins, and its end; a number is a value, not part of a
 * text. */
static size_t find_number(const uint8_t *data, size_t size, size_t from, size_t *end)
{
    for (size_t i = from ? from : 1; i < size; i++) {
        if (!is_part(data[i]) || !strchr(":,[ ", data[i - 1]) || data[i - 1] == 0) continue;
        for (*end = i; *end < size && is_part(data[*end]);)
            ++*end;
        if (*end < size && data[*end] && strchr(",]} \n", data[*end])) return i;
        i = *end;
    }
    return size;
}

static size_t count_numbers(const uint8_t *data, size_t size)
{
    size_t end = 0, count = 0;
    while (find_number(data, size, end, &end) < size)
        count++;
    return count;
}

static void replay_values(const uint8_t *data, size_t size, int rounds)
{
    enum { MANY = 40 };
    uint8_t *changed = malloc(size + 64);
    size_t end = 0, number = size /* not the first ones of all files */,
           stride = 1 + count_numbers(data, size) / MANY;
    for (size_t at; (at = find_number(data, size, end, &end)) < size; number++)
        for (int round = 0; number % stride == 0 && round < rounds; round++) {
            const char *value = values[(number + (size_t)round * 5) % VALUES];
            size_t n = strlen(value);
            memcpy(changed, data, at);
            memcpy(changed + at, value, n);
            memcpy(changed + at + n, data + end, size - end);
            LLVMFuzzerTestOneInput(changed, at + n + size - end);
        }
    free(changed);
}

/* ---- files ---- */

static int rounds;

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return 0; /* "." and ".." are directories, which open but do not read */
    uint8_t *data = malloc(1 << 24);
    size_t size = fread(data, 1, 1 << 24, file);
    int read = !ferror(file);
    fclose(file);
    if (read) LLVMFuzzerTestOneInput(data, size);
    if (read) replay_values(data, size, rounds);
    free(data);
    return read;
}

static int replay_directory(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += replay_file(name);
    }
    closedir(dir);
    return count;
}

/* Small values are frequent, since counts and kinds are small. */
static void replay_random(long inputs)
{
    uint64_t random = 1;
    for (long i = 0; i < inputs; i++) {
        uint8_t data[LARGEST_RANDOM];
        size_t size = (size_t)(i * 7919 % LARGEST_RANDOM);
        for (size_t k = 0; k < size; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            data[k] = (uint8_t)(random >> 33 & 3 ? random >> 56 & 15 : random >> 56);
        }
        LLVMFuzzerTestOneInput(data, size);
    }
}

int main(int argc, char **argv)
{
    int files = 0;
    long inputs = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            inputs = atol(argv[++i]);
        else if (strcmp(argv[i], "-v") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
        else
            files += replay_directory(argv[i]);
    replay_random(inputs);
    printf("%d files and %ld random inputs\n", files, inputs);
    return 0;
}
