/* What the peers share: a clock, and the order of figures. */
#pragma once
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

/* Seconds. */
static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the values; 0 when there are none. */
static inline double quantile(double *values, long count, double fraction) {
    if (count == 0) return 0;
    qsort(values, (size_t)count, sizeof *values, by_value);
    long position = (long)(fraction * (double)count);
    return values[position < count ? position : count - 1];
}
