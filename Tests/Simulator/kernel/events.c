// epoll. What is ready is looked up whenever somebody asks: nothing is kept that could be wrong.
#include "events.h"
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

struct Watch {
    struct Open *open;
    int number;
    uint32_t events;
    epoll_data_t data;
    bool is_news;                          // edge-triggered: something has happened since it was told last
};

struct Epoll {
    struct Watch *watches;
    int count, room;
    int turn;                              // whose turn it is to be told first
    struct Epoll *next;
};
static struct Epoll *epolls;
static int edges;                          // watches that were edge-triggered, ever: mostly there is none

static uint32_t ready_of(const struct Watch *watch) {
    uint32_t ready = watch->open->operations->ready(watch->open) & watch->events;
    return !(watch->events & EPOLLET) || watch->is_news ? ready : 0;
}

static unsigned epoll_ready(struct Open *open) {
    struct Epoll *epoll = open->object;
    for (int i = 0; i < epoll->count; i++) {
        if (ready_of(&epoll->watches[i])) return EPOLLIN | EPOLLRDNORM;
    }
    return 0;
}

static void epoll_closed(struct Open *open) {
    struct Epoll *epoll = open->object, **at = &epolls;
    while (*at != epoll) at = &(*at)->next;
    *at = epoll->next;
    free(epoll->watches);
    free(epoll);
}

const struct Operations epoll_operations = {"epoll", NULL, NULL, epoll_ready, epoll_closed};

nanoseconds ready_at(struct Open *open) {
    if (open->operations == &timer_operations) return timer_expiry(open);
    if (open->operations != &epoll_operations) return FOREVER;
    struct Epoll *epoll = open->object;
    nanoseconds first = FOREVER;
    for (int i = 0; i < epoll->count; i++) {
        nanoseconds at = ready_at(epoll->watches[i].open);
        if (at < first) first = at;
    }
    return first;
}

static void forget(struct Epoll *epoll, int position) {
    for (int i = position; i + 1 < epoll->count; i++) epoll->watches[i] = epoll->watches[i + 1];
    epoll->count--;
}

void events_forget(struct Open *open) {
    for (struct Epoll *epoll = epolls; epoll; epoll = epoll->next) {
        for (int i = epoll->count - 1; i >= 0; i--) {
            if (epoll->watches[i].open == open) forget(epoll, i);
        }
    }
}

// As the callback of Linux: nobody is told of what was not asked for.
void open_changed(struct Open *open, unsigned events) {
    readiness_changed();
    if (!open || !open->is_watched || !edges) return;
    for (struct Epoll *epoll = epolls; epoll; epoll = epoll->next) {
        for (int i = 0; i < epoll->count; i++) {
            struct Watch *watch = &epoll->watches[i];
            if (watch->open == open && watch->events & events) watch->is_news = true;
        }
    }
}

unsigned mode_of_kind(const struct Open *open) {
    const struct Operations *operations = open->operations;
    // What the disk has: files and directories.
    if (operations->kind[0] == 'f' || operations->kind[0] == 'd') return 0;
    if (operations->kind[0] == 's' && operations->kind[1] == 'o') return S_IFSOCK | 0777;
    if (operations->kind[0] == 'p') return S_IFIFO | 0600;
    // Standard output is a pipe to whoever keeps the journal.
    if (operations == &output_operations) return open->flags & O_ACCMODE ? S_IFIFO | 0600 : S_IFCHR | 0666;
    // The kernel's anonymous inodes have no type.
    return 0600;
}

long system_of_kind(const struct Open *open) {
    unsigned mode = mode_of_kind(open);
    return !mode ? 0 : S_ISFIFO(mode) ? PIPEFS_MAGIC : S_ISSOCK(mode) ? SOCKFS_MAGIC : S_ISCHR(mode) ? TMPFS_MAGIC : ANON_INODE_FS_MAGIC;
}

// MARK: What programs ask

EXPORT int epoll_create1(int flags) {
    seam();
    if (flags & ~EPOLL_CLOEXEC) return (int)answer(-EINVAL);
    int error = fault_for(CALL_SOCKET, "epoll", NULL);
    if (error) return (int)answer(error);
    struct Epoll *epoll = calloc(1, sizeof *epoll);
    epoll->next = epolls;
    epolls = epoll;
    struct Open *open = open_make(&epoll_operations, epoll, O_RDWR);
    int number = descriptor_install(open, 0, flags & EPOLL_CLOEXEC);
    if (number < 0) open_release(open);
    return (int)answer(number);
}

EXPORT int epoll_create(int size) { return size > 0 ? epoll_create1(0) : (int)answer(-EINVAL); }

static struct Epoll *epoll_of(int number, int *error) {
    struct Open *open = descriptor(number);
    *error = !open ? -EBADF : open->operations != &epoll_operations ? -EINVAL : 0;
    return *error ? NULL : open->object;
}

static int control(int number, int operation, int watched, struct epoll_event *event) {
    int error;
    struct Epoll *epoll = epoll_of(number, &error);
    struct Open *open = descriptor(watched);
    if (!open) return -EBADF;
    if (!epoll) return error;
    if (!mode_of_kind(open)) return -EPERM;
    if (open->object == epoll) return -EINVAL;
    if (operation != EPOLL_CTL_DEL && event->events & EPOLLEXCLUSIVE) not_simulated("epoll_ctl", event->events);
    if (operation != EPOLL_CTL_DEL && event->events & EPOLLET && open->operations == &epoll_operations) not_simulated("epoll_ctl", EPOLLET);
    int position = 0;
    while (position < epoll->count && (epoll->watches[position].number != watched || epoll->watches[position].open != open)) position++;
    bool is_known = position < epoll->count;
    switch (operation) {
    case EPOLL_CTL_ADD:
        if (is_known) return -EEXIST;
        if (epoll->count == epoll->room) {
            epoll->room = epoll->room ? epoll->room * 2 : 16;
            epoll->watches = realloc(epoll->watches, (size_t)epoll->room * sizeof *epoll->watches);
        }
        epoll->count++;
        open->is_watched = true;
        break;
    case EPOLL_CTL_MOD:
        if (!is_known) return -ENOENT;
        break;
    case EPOLL_CTL_DEL:
        if (!is_known) return -ENOENT;
        forget(epoll, position);
        return 0;
    default: return -EINVAL;
    }
    // The end is told unasked; but not by one that has been told once (EPOLLONESHOT), which asks for nothing until it is changed.
    epoll->watches[position] = (struct Watch){open, watched, event->events | EPOLLERR | EPOLLHUP, event->data, true};
    if (event->events & EPOLLET) edges++;
    // Another thread may wait for what this one adds.
    readiness_changed();
    return 0;
}

EXPORT int epoll_ctl(int number, int operation, int watched, struct epoll_event *event) {
    seam();
    // Before anything is looked up: a fault may hand the baton over.
    int error = operation == EPOLL_CTL_ADD ? fault_for(CALL_SOCKET, "epoll", NULL) : 0;
    if (error) return (int)answer(error);
    return (int)answer(control(number, operation, watched, event));
}

static int collect(struct Epoll *epoll, struct epoll_event *events, int most) {
    int found = 0;
    for (int i = 0; i < epoll->count && found < most; i++) {
        struct Watch *watch = &epoll->watches[(epoll->turn + i) % epoll->count];
        uint32_t ready = ready_of(watch);
        watch->is_news = false;
        if (!ready) continue;
        events[found++] = (struct epoll_event){.events = ready, .data = watch->data};
        if (watch->events & EPOLLONESHOT) watch->events &= EPOLLONESHOT | EPOLLET | EPOLLWAKEUP;
    }
    // Whoever is told first is the seed's choice, so that nobody is first for ever.
    if (found > 0) epoll->turn = (int)draw_below((uint64_t)epoll->count);
    return found;
}

static long wait_until(int number, struct epoll_event *events, int most, nanoseconds deadline) {
    int error;
    struct Epoll *epoll = epoll_of(number, &error);
    if (!epoll) return error;
    if (most <= 0) return -EINVAL;
    struct Open *open = descriptor(number);
    open->references++;
    unsigned handled = signals_handled;
    long result;
    while (true) {
        bool is_last = monotonic_now() >= deadline;
        result = collect(epoll, events, most);
        if (result || is_last) break;
        nanoseconds until = ready_at(open);
        wait_on(&readiness, until < deadline ? until : deadline);
        if (signals_handled == handled) continue;
        result = -EINTR;
        break;
    }
    open_release(open);
    return result;
}

EXPORT int epoll_wait(int number, struct epoll_event *events, int most, int timeout) {
    seam();
    return (int)answer(wait_until(number, events, most, deadline_of((nanoseconds)timeout * 1000000)));
}

EXPORT int epoll_pwait(int number, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
    if (mask) not_simulated("epoll_pwait", number);
    return epoll_wait(number, events, most, timeout);
}

EXPORT int epoll_pwait2(int number, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask) {
    if (mask) not_simulated("epoll_pwait2", number);
    seam();
    nanoseconds span = timeout ? (nanoseconds)timeout->tv_sec * 1000000000 + timeout->tv_nsec : -1;
    return (int)answer(wait_until(number, events, most, deadline_of(span)));
}
