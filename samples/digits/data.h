/* SPDX-License-Identifier: MIT
 *
 * The data set: 1797 handwritten digits of 8x8 pixels, see README.md for where they come from.
 */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { DIGIT_SIDE = 8, DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE, DIGIT_CLASSES = 10 };

struct digit {
    float pixels[DIGIT_PIXELS]; /* 0 (paper) to 1 (ink), row by row */
    uint8_t label;
};

struct dataset {
    struct digit *digits;
    size_t count;
    float mean, deviation; /* of all training pixels; what images are normalised by */
};

/** Reads a gzipped CSV file of 64 pixels (0 to 16) and a label (0 to 9) a line, and splits it:
 * every fifth line is held back. Always the same fifth, so results can be compared. Both sets are
 * freed with dataset_free(). A file that cannot be read ends the program with its name and line. */
void dataset_load(const char *path, struct dataset *train, struct dataset *held_back);

void dataset_free(struct dataset *set);

#endif
