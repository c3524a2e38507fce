// Descriptors that are one number: eventfd counts what is written to it, timerfd how often a time has come.
#include "events.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static int opened(const struct Operations *operations, void *object, bool waits_not, bool close_on_exec) {
    struct Open *open = open_make(operations, object, O_RDWR | (waits_not ? O_NONBLOCK : 0));
    int number = descriptor_install(open, 0, close_on_exec);
    if (number < 0) open_release(open);
    return number;
}

static void object_freed(struct Open *open) { free(open->object); }

// MARK: eventfd

struct Event {
    uint64_t count;
    bool gives_one;                        // EFD_SEMAPHORE
};

static ssize_t event_read(struct Open *open, void *bytes, size_t length) {
    struct Event *event = open->object;
    if (length < 8) return -EINVAL;
    while (!event->count) {
        if (open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    uint64_t value = event->gives_one ? 1 : event->count;
    event->count -= value;
    memcpy(bytes, &value, 8);
    open_changed(open, EPOLLOUT);
    return 8;
}

static ssize_t event_write(struct Open *open, const void *bytes, size_t length) {
    struct Event *event = open->object;
    uint64_t value;
    if (length < 8) return -EINVAL;
    memcpy(&value, bytes, 8);
    if (value == UINT64_MAX) return -EINVAL;
    while (event->count > UINT64_MAX - 1 - value) {
        if (open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    event->count += value;
    open_changed(open, EPOLLIN);
    return 8;
}

static unsigned event_ready(struct Open *open) {
    struct Event *event = open->object;
    return (event->count > 0 ? EPOLLIN : 0) | (event->count < UINT64_MAX - 1 ? EPOLLOUT : 0);
}

const struct Operations event_operations = {"eventfd", event_read, event_write, event_ready, object_freed};

EXPORT int eventfd(unsigned count, int flags) {
    seam();
    if (flags & ~(EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) return (int)answer(-EINVAL);
    int error = fault_for(CALL_SOCKET, "eventfd", NULL);
    if (error) return (int)answer(error);
    struct Event *event = calloc(1, sizeof *event);
    *event = (struct Event){count, flags & EFD_SEMAPHORE};
    return (int)answer(opened(&event_operations, event, flags & EFD_NONBLOCK, flags & EFD_CLOEXEC));
}

ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
EXPORT int eventfd_read(int number, eventfd_t *value) { return read(number, value, 8) == 8 ? 0 : -1; }
EXPORT int eventfd_write(int number, eventfd_t value) { return write(number, &value, 8) == 8 ? 0 : -1; }

// MARK: timerfd

struct Timer {
    clockid_t clock;
    bool is_wall;                          // goes by the wall clock, and with it when that jumps
    bool is_called_off, calls_off;         // TFD_TIMER_CANCEL_ON_SET
    nanoseconds shift;                     // wall less monotonic, when it was set
    nanoseconds next, interval;            // 0: not set
    uint64_t expired;
};

static nanoseconds now_of(const struct Timer *timer) { return timer->is_wall ? wall_now() : monotonic_now(); }
static nanoseconds span_of(struct timespec time) { return (nanoseconds)time.tv_sec * 1000000000 + time.tv_nsec; }
static struct timespec timespec_of(nanoseconds span) { return (struct timespec){span / 1000000000, span % 1000000000}; }

static void settle(struct Open *open) {
    struct Timer *timer = open->object;
    nanoseconds now = now_of(timer);
    if (timer->calls_off && wall_now() - monotonic_now() != timer->shift) timer->is_called_off = true;
    if (!timer->next || now < timer->next) return;
    uint64_t times = timer->interval ? 1 + (uint64_t)((now - timer->next) / timer->interval) : 1;
    timer->expired += times;
    timer->next = timer->interval ? timer->next + (nanoseconds)times * timer->interval : 0;
    open_changed(open, EPOLLIN);
}

nanoseconds timer_expiry(struct Open *open) {
    struct Timer *timer = open->object;
    return timer->next ? monotonic_now() + (timer->next - now_of(timer)) : FOREVER;
}

static ssize_t timer_read(struct Open *open, void *bytes, size_t length) {
    struct Timer *timer = open->object;
    if (length < 8) return -EINVAL;
    while (true) {
        settle(open);
        if (timer->is_called_off) {
            timer->shift = wall_now() - monotonic_now();
            timer->is_called_off = false;
            timer->expired = 0;
            return -ECANCELED;
        }
        if (timer->expired) break;
        if (open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, timer_expiry(open));
    }
    memcpy(bytes, &timer->expired, 8);
    timer->expired = 0;
    return 8;
}

static ssize_t timer_write(struct Open *open, const void *bytes, size_t length) {
    (void)open, (void)bytes, (void)length;
    return -EINVAL;
}

static unsigned timer_ready(struct Open *open) {
    struct Timer *timer = open->object;
    settle(open);
    return timer->expired || timer->is_called_off ? EPOLLIN : 0;
}

const struct Operations timer_operations = {"timerfd", timer_read, timer_write, timer_ready, object_freed};

EXPORT int timerfd_create(clockid_t clock, int flags) {
    seam();
    if (flags & ~(TFD_CLOEXEC | TFD_NONBLOCK)) return (int)answer(-EINVAL);
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME) not_simulated("timerfd_create", clock);
    int error = fault_for(CALL_SOCKET, "timerfd", NULL);
    if (error) return (int)answer(error);
    struct Timer *timer = calloc(1, sizeof *timer);
    timer->clock = clock;
    return (int)answer(opened(&timer_operations, timer, flags & TFD_NONBLOCK, flags & TFD_CLOEXEC));
}

static struct Timer *timer_of(int number, int *error) {
    struct Open *open = descriptor(number);
    *error = !open ? -EBADF : open->operations != &timer_operations ? -EINVAL : 0;
    if (!*error) settle(open);
    return *error ? NULL : open->object;
}

static void tell(const struct Timer *timer, struct itimerspec *value) {
    value->it_interval = timespec_of(timer->interval);
    value->it_value = timespec_of(timer->next ? timer->next - now_of(timer) : 0);
}

EXPORT int timerfd_settime(int number, int flags, const struct itimerspec *value, struct itimerspec *earlier) {
    seam();
    int error;
    struct Timer *timer = timer_of(number, &error);
    if (!timer) return (int)answer(error);
    if (flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) return (int)answer(-EINVAL);
    const struct timespec *times[2] = {&value->it_value, &value->it_interval};
    for (int i = 0; i < 2; i++) {
        if (times[i]->tv_sec < 0 || times[i]->tv_nsec < 0 || times[i]->tv_nsec >= 1000000000) return (int)answer(-EINVAL);
    }
    if (earlier) tell(timer, earlier);
    nanoseconds span = span_of(value->it_value);
    bool is_absolute = flags & TFD_TIMER_ABSTIME;
    // A span is not changed by a jump of the wall clock, a time is.
    timer->is_wall = timer->clock == CLOCK_REALTIME && is_absolute;
    timer->next = !span ? 0 : is_absolute ? span : now_of(timer) + span;
    timer->interval = span_of(value->it_interval);
    timer->expired = 0;
    timer->is_called_off = false;
    timer->calls_off = timer->is_wall && flags & TFD_TIMER_CANCEL_ON_SET;
    timer->shift = wall_now() - monotonic_now();
    readiness_changed();
    return 0;
}

EXPORT int timerfd_gettime(int number, struct itimerspec *value) {
    seam();
    int error;
    struct Timer *timer = timer_of(number, &error);
    if (timer) tell(timer, value);
    return (int)answer(error);
}
