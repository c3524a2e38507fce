// poll: like epoll, without a memory.
#include "events.h"
#include <poll.h>
#include <sys/epoll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int look(struct pollfd *polls, nfds_t count, nanoseconds *until) {
    int found = 0;
    for (nfds_t i = 0; i < count; i++) {
        struct pollfd *each = &polls[i];
        each->revents = 0;
        if (each->fd < 0) continue;
        struct Open *open = descriptor(each->fd);
        // Files are always ready.
        unsigned ready = !open ? POLLNVAL
            : !open->operations->ready ? POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM : open->operations->ready(open);
        unsigned wanted = (unsigned short)each->events | POLLERR | POLLHUP | POLLNVAL;
        each->revents = (short)(ready & wanted);
        if (each->revents) found++;
        if (!open) continue;
        nanoseconds at = ready_at(open);
        if (at < *until) *until = at;
    }
    return found;
}

static long poll_until(struct pollfd *polls, nfds_t count, nanoseconds deadline) {
    if (count > (nfds_t)descriptor_limit(0)) return -EINVAL;
    unsigned handled = signals_handled;
    while (true) {
        bool is_last = monotonic_now() >= deadline;
        nanoseconds until = deadline;
        int found = look(polls, count, &until);
        if (found || is_last) return found;
        wait_on(&readiness, until);
        if (signals_handled != handled) return -EINTR;
    }
}

EXPORT int poll(struct pollfd *polls, nfds_t count, int timeout) {
    seam();
    return (int)answer(poll_until(polls, count, deadline_of((nanoseconds)timeout * 1000000)));
}

EXPORT int __poll_chk(struct pollfd *polls, nfds_t count, int timeout, size_t room) {
    if (room / sizeof *polls < count) abort();
    return poll(polls, count, timeout);
}

EXPORT int ppoll(struct pollfd *polls, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    if (mask) not_simulated("ppoll", (long)count);
    seam();
    nanoseconds span = timeout ? (nanoseconds)timeout->tv_sec * 1000000000 + timeout->tv_nsec : -1;
    return (int)answer(poll_until(polls, count, deadline_of(span)));
}
