/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target without a fuzzer: over every file of the directories named, then over inputs
 * made by a fixed random sequence. So each build runs each target.
 *
 *     fuzz_x_replay [-n INPUTS] DIRECTORY...
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { LARGEST_RANDOM = 4096 };

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return 0; /* "." and ".." are directories, which open but do not read */
    uint8_t *data = malloc(1 << 24);
    size_t size = fread(data, 1, 1 << 24, file);
    int read = !ferror(file);
    fclose(file);
    if (read) LLVMFuzzerTestOneInput(data, size);
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
        else
            files += replay_directory(argv[i]);
    replay_random(inputs);
    printf("%d files and %ld random inputs\n", files, inputs);
    return 0;
}
