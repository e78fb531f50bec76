/* SPDX-License-Identifier: MIT
 *
 * The command line.
 */
#ifndef DIGITS_OPTIONS_H
#define DIGITS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    int64_t epochs, batch_size;
    int workers;
    int slow_rank; /* -1: none */
    float lr;
    uint64_t seed;
    const char *data;   /* path of the data set */
    const char *code;   /* path of the GPU's kernels */
    const char *logdir; /* where traces go */
    const char *report; /* or NULL */
    bool hip;           /* compute on a GPU */
    bool plain_gemm;
    bool check_device;
    bool gzip, kineto, with_stack;
};

/** Fills `options`. Wrong arguments end the program with status 2 and a line that says which. */
void options_parse(struct options *options, int argc, char **argv);

#endif
