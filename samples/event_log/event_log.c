/* SPDX-License-Identifier: MIT
 *
 * Logging without profiling: a small network learns the sine, once for each of three learning
 * rates. TensorBoard draws the three losses, shows how the weights spread, and compares the runs.
 */
#include <hipboard/event_log.h>
#include <math.h>
#include <stdio.h>

enum { HIDDEN = 16, WEIGHTS = 3 * HIDDEN + 1, POINTS = 64, EPOCHS = 400 };

/* The weights in, the biases and the weights out of each hidden unit, and the last bias. */
static double w[WEIGHTS];

static void initialize(void)
{
    unsigned random = 1;
    for (int i = 0; i < WEIGHTS; i++) {
        random = random * 1664525u + 1013904223u;
        w[i] = random / 2147483648.0 - 1;
    }
}

/* One step of gradient descent for one point; its squared error before. */
static double learn(double x, double y, double rate)
{
    double hidden[HIDDEN], out = w[3 * HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        hidden[i] = tanh(w[i] * x + w[HIDDEN + i]);
        out += w[2 * HIDDEN + i] * hidden[i];
    }
    double error = out - y;
    for (int i = 0; i < HIDDEN; i++) {
        double back = error * w[2 * HIDDEN + i] * (1 - hidden[i] * hidden[i]);
        w[i] -= rate * back * x;
        w[HIDDEN + i] -= rate * back;
        w[2 * HIDDEN + i] -= rate * error * hidden[i];
    }
    w[3 * HIDDEN] -= rate * error;
    return error * error;
}

static double learn_all(double rate)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        double x = 6.283185307179586 * (i * 37 % POINTS) / POINTS - 3.141592653589793;
        sum += learn(x, sin(x), rate);
    }
    return sum / POINTS;
}

static hb_result train(const char *run, double rate)
{
    hb_event_log *log = hb_event_log_open(run, NULL);
    if (!log) fprintf(stderr, "event_log: %s\n", hb_last_error()); /* and train all the same */

    hb_event_log_hparams(log, (hb_hparam[]){HB_HPARAM("rate", rate), HB_HPARAM("hidden", HIDDEN)},
                         2, (const char *[]){"loss"}, 1);
    initialize();
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        hb_event_log_scalar(log, "loss", epoch, learn_all(rate));
        if (epoch % 50 == 0) hb_event_log_histogram(log, "weights", epoch, w, WEIGHTS);
    }

    char text[100];
    snprintf(text, sizeof text, "| points | epochs | rate |\n|---|---|---|\n| %d | %d | %g |",
             POINTS, EPOCHS, rate);
    hb_event_log_text(log, "training", EPOCHS, text);
    return hb_event_log_close(log);
}

int main(void)
{
    const double rates[] = {0.001, 0.01, 0.1};
    const char *runs[] = {"runs/rate_0.001", "runs/rate_0.01", "runs/rate_0.1"};
    for (int i = 0; i < 3; i++) {
        if (train(runs[i], rates[i]) == HB_OK) continue;
        fprintf(stderr, "event_log: %s\n", hb_last_error());
        return 1;
    }
    return 0;
}
