// The clocks. They go on by what calls take, and leap to what comes next when nobody can run.
#include "kernel.h"
#include <sys/time.h>
#include <time.h>

static const nanoseconds second = 1000000000;
static nanoseconds monotonic, wall_offset;

void clock_start(nanoseconds since_boot, nanoseconds since_1970) {
    monotonic = since_boot;
    wall_offset = since_1970 - since_boot;
}

nanoseconds monotonic_now(void) { return monotonic; }
nanoseconds wall_now(void) { return monotonic + wall_offset; }
void clock_tick(nanoseconds by) { monotonic += by; }
void clock_shift(nanoseconds by) { wall_offset += by; }

void clock_advance(nanoseconds to) {
    if (to > monotonic) monotonic = to;
}

static struct timespec as_timespec(nanoseconds time) {
    return (struct timespec){.tv_sec = time / second, .tv_nsec = time % second};
}

static nanoseconds of_timespec(const struct timespec *time) { return (nanoseconds)time->tv_sec * second + time->tv_nsec; }

// MARK: What programs ask

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!this_thread) kernel_start();
    // Not a seam: what looks at the time again and again must see it go on, and nothing more.
    clock_tick(25);
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: *time = as_timespec(wall_now()); return 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME: *time = as_timespec(monotonic); return 0;
    // What has been used of a processor cannot be known; a part of the time is as good as anything.
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID: *time = as_timespec(monotonic / 4); return 0;
    default: return (int)answer(-EINVAL);
    }
}

EXPORT int clock_getres(clockid_t clock, struct timespec *time) {
    (void)clock;
    if (time) *time = (struct timespec){.tv_nsec = 1};
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    clock_tick(25);
    *time = (struct timeval){.tv_sec = wall_now() / second, .tv_usec = wall_now() % second / 1000};
    return 0;
}

EXPORT time_t time(time_t *into) {
    time_t now = wall_now() / second;
    if (into) *into = now;
    return now;
}

static void sleep_until(nanoseconds until) {
    seam();
    while (monotonic_now() < until) spend(until - monotonic_now());
}

EXPORT int nanosleep(const struct timespec *span, struct timespec *left) {
    sleep_until(monotonic_now() + of_timespec(span));
    if (left) *left = (struct timespec){0};
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span, struct timespec *left) {
    nanoseconds until = of_timespec(span);
    if (!(flags & TIMER_ABSTIME)) until += monotonic_now();
    else if (clock == CLOCK_REALTIME) until -= wall_offset;
    sleep_until(until);
    if (left) *left = (struct timespec){0};
    return 0;
}

EXPORT int usleep(useconds_t microseconds) {
    sleep_until(monotonic_now() + (nanoseconds)microseconds * 1000);
    return 0;
}

EXPORT unsigned sleep(unsigned seconds) {
    sleep_until(monotonic_now() + seconds * second);
    return 0;
}
