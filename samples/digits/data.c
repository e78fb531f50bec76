/* SPDX-License-Identifier: MIT */
#include "data.h"

#include "die.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

enum { PIXEL_MAX = 16, HOLD_BACK_EVERY = 5, LINE_BYTES = 512 };

/* Reads one number and the character after it; false unless it is 0 to `max` and followed by `end`
 * (or, where a line ends, by the end of the file). */
static bool parse_number(const char **text, long max, char end, long *value)
{
    char *stop;
    *value = strtol(*text, &stop, 10);
    if (stop == *text || *value < 0 || *value > max) return false;
    if (*stop != end && !(end == '\n' && *stop == '\0')) return false;
    *text = stop + 1;
    return true;
}

static bool parse_digit(const char *line, struct digit *digit)
{
    long value;
    for (int i = 0; i < DIGIT_PIXELS; i++) {
        if (!parse_number(&line, PIXEL_MAX, ',', &value)) return false;
        digit->pixels[i] = (float)value / PIXEL_MAX;
    }
    if (!parse_number(&line, DIGIT_CLASSES - 1, '\n', &value)) return false;
    digit->label = (uint8_t)value;
    return true;
}

static void append(struct dataset *set, const struct digit *digit)
{
    /* Grows at powers of two. */
    if ((set->count & (set->count - 1)) == 0) {
        size_t capacity = set->count ? 2 * set->count : 1;
        set->digits = realloc(set->digits, capacity * sizeof *set->digits);
        if (!set->digits) die("out of memory for %zu digits", capacity);
    }
    set->digits[set->count++] = *digit;
}

static void measure(struct dataset *set)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < set->count; i++) {
        for (int p = 0; p < DIGIT_PIXELS; p++) {
            double pixel = set->digits[i].pixels[p];
            sum += pixel;
            squares += pixel * pixel;
        }
    }
    double n = (double)set->count * DIGIT_PIXELS, mean = sum / n;
    set->mean = (float)mean;
    set->deviation = (float)sqrt(squares / n - mean * mean);
}

void dataset_load(const char *path, struct dataset *train, struct dataset *held_back)
{
    *train = *held_back = (struct dataset){0};
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file) die("cannot open the digits: %s: %s", path, errno ? strerror(errno) : "no memory");

    char line[LINE_BYTES];
    size_t number = 0;
    struct digit digit;
    while (gzgets(file, line, sizeof line)) {
        if (!parse_digit(line, &digit))
            die("%s:%zu: not 64 pixels of 0 to 16 and a label of 0 to 9", path, number + 1);
        append(number++ % HOLD_BACK_EVERY == HOLD_BACK_EVERY - 1 ? held_back : train, &digit);
    }
    int error;
    const char *reason = gzerror(file, &error);
    if (error != Z_OK && error != Z_STREAM_END) die("cannot read the digits: %s", reason);
    gzclose(file);
    if (!held_back->count) die("%s: %zu digits are too few to train and test", path, number);

    measure(train);
    held_back->mean = train->mean; /* what is held back must not help, not even here */
    held_back->deviation = train->deviation;
}

void dataset_free(struct dataset *set)
{
    free(set->digits);
    *set = (struct dataset){0};
}
