/* SPDX-License-Identifier: MIT */
#include "augment.h"

/* The data set was made by counting the ink in 4x4 blocks of a 32x32 scan. So are the variations:
 * 4x4 points of every pixel are looked up in the original and averaged. */
enum { SUBSAMPLES = 4, POINTS = DIGIT_SIDE * SUBSAMPLES };

/* How far hands differ: radians, factors and pixels. */
static const float max_turn = 0.22f, max_scale = 0.15f, max_slant = 0.15f, max_shift = 0.7f,
                   max_bend = 0.35f;

/* Where a point of the new image comes from: a linear map around the middle, and a shift that
 * varies over the image like a slow wave, which bends straight lines. */
struct warp {
    float xx, xy, yx, yy;
    float shift_x[POINTS], shift_y[POINTS]; /* of rows and of columns */
};

/* Point `i` of a row or column, in pixels from the middle. */
static float position(int i)
{
    return ((float)i - (POINTS - 1) / 2.0f) / SUBSAMPLES;
}

static void draw_wave(float shift[POINTS], struct rng *rng)
{
    float base = rng_uniform(rng, -max_shift, max_shift), bend = rng_uniform(rng, 0, max_bend);
    float phase = rng_uniform(rng, 0, 6.2832f), frequency = rng_uniform(rng, 0.4f, 0.9f);
    for (int i = 0; i < POINTS; i++)
        shift[i] = base + bend * sinf(frequency * position(i) + phase);
}

static void draw_warp(struct warp *warp, struct rng *rng)
{
    float turn = rng_uniform(rng, -max_turn, max_turn);
    float slant = rng_uniform(rng, -max_slant, max_slant);
    float wide = 1 + rng_uniform(rng, -max_scale, max_scale);
    float high = 1 + rng_uniform(rng, -max_scale, max_scale);
    float sine = sinf(turn), cosine = cosf(turn);
    warp->xx = wide * cosine;
    warp->xy = wide * (slant * cosine - sine);
    warp->yx = high * sine;
    warp->yy = high * (slant * sine + cosine);
    draw_wave(warp->shift_x, rng);
    draw_wave(warp->shift_y, rng);
}

/* Weights of the four pixels around a point `t` of the way from the second to the third: the cubic
 * that passes through the pixels (Catmull-Rom). */
static void cubic_weights(float weights[4], float t)
{
    weights[0] = 0.5f * t * (-1 + t * (2 - t));
    weights[1] = 0.5f * (2 + t * t * (-5 + 3 * t));
    weights[2] = 0.5f * t * (1 + t * (4 - 3 * t));
    weights[3] = 0.5f * t * t * (-1 + t);
}

/* The original's ink at a point in pixel units; there is none around it. */
static float ink_at(const float *image, float x, float y)
{
    int left = (int)floorf(x), top = (int)floorf(y);
    float across[4], down[4], sum = 0;
    cubic_weights(across, x - (float)left);
    cubic_weights(down, y - (float)top);
    for (int i = 0; i < 4; i++) {
        int row = top - 1 + i;
        if (row < 0 || row >= DIGIT_SIDE) continue;
        for (int j = 0; j < 4; j++) {
            int column = left - 1 + j;
            if (column < 0 || column >= DIGIT_SIDE) continue;
            sum += down[i] * across[j] * image[row * DIGIT_SIDE + column];
        }
    }
    return sum;
}

/* Ink at a point of the new image. */
static float warped_ink(const float *image, const struct warp *warp, int row, int column)
{
    const float middle = (DIGIT_SIDE - 1) / 2.0f;
    float x = position(column), y = position(row);
    return ink_at(image, middle + warp->xx * x + warp->xy * y + warp->shift_x[row],
                  middle + warp->yx * x + warp->yy * y + warp->shift_y[column]);
}

void augment(float *out, const float *in, struct rng *rng)
{
    struct warp warp;
    draw_warp(&warp, rng);
    for (int p = 0; p < DIGIT_PIXELS; p++) {
        float sum = 0;
        for (int s = 0; s < SUBSAMPLES * SUBSAMPLES; s++)
            sum += warped_ink(in, &warp, p / DIGIT_SIDE * SUBSAMPLES + s / SUBSAMPLES,
                              p % DIGIT_SIDE * SUBSAMPLES + s % SUBSAMPLES);
        float ink = sum / (SUBSAMPLES * SUBSAMPLES);
        out[p] = fminf(fmaxf(ink, 0), 1);
    }
}
