// What the daemon relies on in what its loop waits on, and in who it is, tried in one thread.
#include "stand_in.h"
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#define FAILS(call, code) (errno = 0, (call) == -1 && errno == (code))
#define MS 1000000

static int epoll;
static struct epoll_event found[8];
static int watch(int operation, int number, unsigned events) {
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)number + 7000};
    return epoll_ctl(epoll, operation, number, &event);
}
static int looked(void) { return epoll_wait(epoll, found, 8, 0); }
static bool tells(unsigned events, int number) {
    return looked() == 1 && found[0].events == events && found[0].data.u64 == (uint64_t)number + 7000;
}

static void levels_and_edges(void) {
    int pair[2];
    char bytes[8];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    CHECK(watch(EPOLL_CTL_MOD, pair[0], EPOLLIN) == -1 && errno == ENOENT);
    CHECK(watch(EPOLL_CTL_ADD, pair[0], EPOLLIN) == 0 && FAILS(watch(EPOLL_CTL_ADD, pair[0], EPOLLIN), EEXIST));
    CHECK(FAILS(watch(EPOLL_CTL_ADD, epoll, EPOLLIN), EINVAL) && FAILS(watch(EPOLL_CTL_ADD, 900, EPOLLIN), EBADF));
    int file = descriptor_install(disk_unnamed("x", 1, O_RDONLY), 0, false);
    CHECK(FAILS(watch(EPOLL_CTL_ADD, file, EPOLLIN), EPERM));
    close(file);
    CHECK(looked() == 0);
    write(pair[1], "ab", 2);
    CHECK(tells(EPOLLIN, pair[0]) && tells(EPOLLIN, pair[0]));
    // On an edge: once for each change.
    CHECK(watch(EPOLL_CTL_MOD, pair[0], EPOLLIN | EPOLLOUT | EPOLLET) == 0);
    CHECK(tells(EPOLLIN | EPOLLOUT, pair[0]) && looked() == 0);
    write(pair[1], "c", 1);
    CHECK(tells(EPOLLIN | EPOLLOUT, pair[0]) && looked() == 0);
    read(pair[0], bytes, 8);
    CHECK(looked() == 0);
    write(pair[1], "d", 1);
    CHECK(tells(EPOLLIN | EPOLLOUT, pair[0]) && looked() == 0);
    CHECK(watch(EPOLL_CTL_MOD, pair[0], EPOLLIN | EPOLLONESHOT) == 0);
    CHECK(tells(EPOLLIN, pair[0]) && looked() == 0);
    CHECK(watch(EPOLL_CTL_MOD, pair[0], EPOLLIN) == 0 && tells(EPOLLIN, pair[0]));
    // What is not asked for is told all the same, when it is the end.
    CHECK(watch(EPOLL_CTL_MOD, pair[0], 0) == 0 && looked() == 0);
    close(pair[1]);
    CHECK(tells(EPOLLHUP, pair[0]));
    CHECK(watch(EPOLL_CTL_DEL, pair[0], 0) == 0 && looked() == 0 && FAILS(watch(EPOLL_CTL_DEL, pair[0], 0), ENOENT));
    // It stays for as long as any number leads to it, and no longer.
    watch(EPOLL_CTL_ADD, pair[0], EPOLLIN);
    int copy = dup(pair[0]);
    close(pair[0]);
    CHECK(looked() == 1);
    close(copy);
    CHECK(looked() == 0);
}

static void all_in_turn(void) {
    int events[4], seen[4] = {0};
    for (int i = 0; i < 4; i++) watch(EPOLL_CTL_ADD, events[i] = eventfd(1, 0), EPOLLIN);
    for (int round = 0; round < 200; round++) {
        CHECK(epoll_wait(epoll, found, 1, 0) == 1);
        for (int i = 0; i < 4; i++) seen[i] += found[0].data.u64 == (uint64_t)events[i] + 7000;
    }
    for (int i = 0; i < 4; i++) CHECK(seen[i] > 20);
    for (int i = 0; i < 4; i++) close(events[i]);
}

static int late;
static void adds(void) { eventfd_write(late, 3); }

static void counters(void) {
    uint64_t value;
    char bytes[8];
    late = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK(FAILS(read(late, &value, 8), EAGAIN) && FAILS(read(late, bytes, 4), EINVAL));
    value = 2;
    CHECK(write(late, &value, 8) == 8 && write(late, &value, 8) == 8 && read(late, &value, 8) == 8 && value == 4);
    value = UINT64_MAX;
    CHECK(FAILS(write(late, &value, 8), EINVAL));
    value = UINT64_MAX - 1;
    CHECK(write(late, &value, 8) == 8);
    watch(EPOLL_CTL_ADD, late, EPOLLIN | EPOLLOUT);
    CHECK(tells(EPOLLIN, late) && FAILS(eventfd_write(late, 1), EAGAIN));
    CHECK(eventfd_read(late, &value) == 0 && tells(EPOLLOUT, late));
    watch(EPOLL_CTL_MOD, late, EPOLLIN);
    // Woken before the time is over; else at that time, and not before.
    nanoseconds start = now;
    meanwhile = adds;
    CHECK(epoll_wait(epoll, found, 8, 50) == 1 && now == start);
    read(late, &value, 8);
    CHECK(epoll_wait(epoll, found, 8, 50) == 0 && now == start + 50 * MS);
    struct pollfd polls[3] = {{late, POLLIN, 0}, {-1, POLLIN, 9}, {800, POLLIN, 0}};
    CHECK(poll(polls, 2, 20) == 0 && now == start + 70 * MS && polls[1].revents == 0);
    meanwhile = adds;
    CHECK(poll(polls, 2, -1) == 1 && polls[0].revents == POLLIN);
    CHECK(poll(polls + 2, 1, -1) == 1 && polls[2].revents == POLLNVAL);
    close(late);
    late = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    CHECK(eventfd_read(late, &value) == 0 && value == 1 && eventfd_read(late, &value) == 0 && FAILS(eventfd_read(late, &value), EAGAIN));
    close(late);
}

static void timers(void) {
    uint64_t times;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    watch(EPOLL_CTL_ADD, timer, EPOLLIN);
    nanoseconds start = now;
    CHECK(timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {0, 300 * MS}}, NULL) == 0);
    struct itimerspec left;
    now += 100 * MS;
    CHECK(timerfd_gettime(timer, &left) == 0 && left.it_value.tv_nsec == 200 * MS);
    CHECK(epoll_wait(epoll, found, 8, 1000) == 1 && now == start + 300 * MS);
    CHECK(read(timer, &times, 8) == 8 && times == 1 && FAILS(read(timer, &times, 8), EAGAIN));
    CHECK(epoll_wait(epoll, found, 8, 1000) == 0 && now == start + 1300 * MS);
    timerfd_settime(timer, 0, &(struct itimerspec){{0, 10 * MS}, {0, 25 * MS}}, NULL);
    now += 46 * MS;
    CHECK(read(timer, &times, 8) == 8 && times == 3);
    CHECK(epoll_wait(epoll, found, 8, -1) == 1 && now == start + 1355 * MS);
    // An epoll within another waits for its timers too.
    int outer = epoll_create1(0);
    timerfd_settime(timer, 0, &(struct itimerspec){.it_value = {0, MS}}, NULL);
    struct epoll_event inner = {.events = EPOLLIN};
    CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &inner) == 0 && epoll_wait(outer, found, 8, -1) == 1);
    close(outer), close(timer);
    // The wall clock jumps: times go with it, spans do not.
    int wall = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK), span = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    struct timespec soon = {(now + shift) / 1000000000 + 60, 0};
    timerfd_settime(wall, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &(struct itimerspec){.it_value = soon}, NULL);
    timerfd_settime(span, 0, &(struct itimerspec){.it_value = {60, 0}}, NULL);
    shift += 3600ll * 1000000000;
    CHECK(FAILS(read(wall, &times, 8), ECANCELED) && FAILS(read(span, &times, 8), EAGAIN));
    timerfd_settime(wall, TFD_TIMER_ABSTIME, &(struct itimerspec){.it_value = soon}, NULL);
    CHECK(read(wall, &times, 8) == 8 && times == 1);
    close(wall), close(span);
}

static int handled, sender;
static void handle(int number) { handled = number; }
static void handle_more(int number, siginfo_t *information, void *context) {
    (void)context;
    handled = number, sender = information->si_pid;
}
static void terminates(void) { signal_arrives(SIGTERM); }

static void signals(void) {
    sigset_t set, earlier;
    struct signalfd_siginfo information[3];
    sigemptyset(&set);
    sigaddset(&set, SIGTERM), sigaddset(&set, SIGHUP);
    CHECK(sigprocmask(SIG_BLOCK, &set, &earlier) == 0 && !sigismember(&earlier, SIGTERM));
    int number = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    watch(EPOLL_CTL_ADD, number, EPOLLIN);
    CHECK(looked() == 0 && FAILS(read(number, information, sizeof information), EAGAIN));
    meanwhile = terminates;
    CHECK(epoll_wait(epoll, found, 8, -1) == 1 && found[0].data.u64 == (uint64_t)number + 7000);
    signal_arrives(SIGTERM), signal_arrives(SIGHUP);
    CHECK(read(number, information, sizeof information) == 2 * sizeof *information);
    CHECK(information[0].ssi_signo == SIGHUP && information[1].ssi_signo == SIGTERM && information[1].ssi_pid == 1);
    CHECK(looked() == 0);
    // Unblocked, what waits comes to its handler at once.
    signal(SIGTERM, handle);
    kill(getpid(), SIGTERM);
    CHECK(!handled);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    CHECK(handled == SIGTERM && FAILS(read(number, information, sizeof information), EAGAIN));
    close(number);
    // A handler ends a wait.
    meanwhile = terminates;
    CHECK(FAILS(epoll_wait(epoll, found, 8, -1), EINTR));
    meanwhile = terminates;
    CHECK(FAILS(pause(), EINTR));
    signal(SIGHUP, SIG_IGN);
    signal_arrives(SIGHUP);
    signal_arrives(SIGCHLD);
    is_over_expected = true;
    ended = 0;
    if (setjmp(over) == 0) signal_arrives(SIGINT);
    CHECK(ended == -SIGINT);
    ended = 0;
    if (setjmp(over) == 0) signal_arrives(SIGKILL);
    CHECK(ended == -SIGKILL);
    is_over_expected = false;
    CHECK(FAILS(kill(1, 0), ESRCH) && kill(getpid(), 0) == 0);
    // A trap is the real kernel's, and its sender is called as the process is.
    struct sigaction action = {.sa_sigaction = handle_more, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND}, before;
    CHECK(sigaction(SIGABRT, &action, NULL) == 0);
    CHECK(raise(SIGABRT) == 0 && handled == SIGABRT && sender == getpid());
    CHECK(sigaction(SIGABRT, NULL, &before) == 0 && before.sa_handler == SIG_DFL);
    sigaction(SIGTRAP, &action, NULL);
    __asm__ volatile("int3");
    CHECK(handled == SIGTRAP);
}

static bool printed(int number, const char *text) {
    char all[200] = {0};
    size_t length = 0;
    for (int i = 0; i < told_count; i++) {
        if (told[i].kind != REPORT_OUTPUT || told_word(&told[i], 0) != (uint32_t)number) continue;
        memcpy(all + length, told[i].bytes + 4, told[i].length - 4);
        length += told[i].length - 4;
    }
    forget_told();
    return strcmp(all, text) == 0;
}

static void surroundings(void) {
    CHECK(getpid() == 4242 && gettid() == 4242 && syscall(SYS_gettid) == 4242 && geteuid() == 1000);
    char buffer[2000];
    struct passwd entry, *result;
    CHECK(getpwnam_r("kura", &entry, buffer, sizeof buffer, &result) == 0 && result && entry.pw_uid == 1000);
    CHECK(strcmp(entry.pw_dir, "/home/kura") == 0 && getpwnam_r("kura", &entry, buffer, 4, &result) == ERANGE);
    CHECK(getpwnam_r("nobody", &entry, buffer, sizeof buffer, &result) == 0 && !result);
    struct group group, *members;
    CHECK(getgrnam_r("readers", &group, buffer, sizeof buffer, &members) == 0 && members && group.gr_gid == 2000);
    CHECK(members && strcmp(group.gr_mem[1], "kura") == 0 && !group.gr_mem[2]);
    CHECK(getgrnam_r("readers", &group, buffer, 4, &members) == ERANGE);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == (rlim_t)descriptor_limit(0));
    CHECK(sysconf(_SC_OPEN_MAX) == descriptor_limit(0));
    limit.rlim_max++;
    CHECK(FAILS(setrlimit(RLIMIT_NOFILE, &limit), EPERM));
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 2 && sysconf(_SC_PAGESIZE) == 4096);
    limit = (struct rlimit){0, 0};
    CHECK(setrlimit(RLIMIT_CORE, &limit) == 0 && getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0);
    limit = (struct rlimit){3 * 4096, 3 * 4096};
    setrlimit(RLIMIT_MEMLOCK, &limit);
    char *pages = (char *)0x10000;
    CHECK(mlock(pages, 4096) == 0 && mlock(pages + 4096, 4096) == 0 && mlock(pages, 4096) == 0 && FAILS(mlock(pages, 3 * 4096), ENOMEM));
    CHECK(munlock(pages + 4096, 1) == 0 && mlock(pages, 2 * 4096) == 0);
    CHECK(FAILS(waitpid(-1, NULL, WNOHANG), ECHILD) && isatty(1) == 0 && isatty(77) == 0 && errno == EBADF);
    struct timex times = {0};
    CHECK(adjtimex(&times) == TIME_OK && times.time.tv_sec == wall_now() / 1000000000);
    cpu_set_t set;
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 2);
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
    forget_told();
    write(1, "a", 1), printf("b%d", 1), fputs("c", stdout), dprintf(1, "d%s", "e"), puts("f");
    fprintf(stderr, "no"), putc('g', stdout), fflush(stdout);
    syslog(3, "%d", 5);
    CHECK(read(0, buffer, 1) == 0 && FAILS(write(0, "x", 1), EBADF));
    CHECK(printed(1, "ab1cdef\ng"));
    syslog(3, "%d", 5);
    CHECK(printed(2, "5\n"));
    struct pollfd output = {2, POLLOUT, 0};
    CHECK(poll(&output, 1, 0) == 1);
    // The numbers above 2 alone.
    int number = eventfd(0, 0);
    CHECK(syscall(SYS_close_range, number, ~0u, 0) == 0 && FAILS(close(number), EBADF) && FAILS(syscall(SYS_pidfd_open, 1, 0), ENOSYS));
    is_over_expected = true;
    ended = 0;
    if (setjmp(over) == 0) syscall(SYS_mount, 0, 0, 0, 0, 0);
    CHECK(ended == 1000);
    is_over_expected = false;
}

int main(void) {
    random_begin(7);
    standard_start();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int before = descriptors_open();
    void (*const all[])(void) = {levels_and_edges, all_in_turn, counters, timers, signals};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]();
        CHECK(descriptors_open() == before);
    }
    close(epoll);
    surroundings();
    say(failures ? "%d failures\n" : "events: all is as it should be\n", failures);
    real_call(SYS_exit_group, failures > 0, 0, 0, 0, 0, 0);
}
