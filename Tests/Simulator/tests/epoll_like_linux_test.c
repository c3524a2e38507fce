// The real epoll and the simulated one get the same sockets, pipes and eventfds and the same calls, drawn at random, and tell the same.
#include "stand_in.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THINGS = 6, BYTES = 64 };
static int simulated[THINGS], real[THINGS], epolls[2];

static long outcome(long result) { return result < 0 ? -errno : result; }

static void begin(void) {
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, simulated);
    pipe2(simulated + 2, O_NONBLOCK);
    for (int i = 4; i < THINGS; i++) simulated[i] = eventfd(0, EFD_NONBLOCK);
    real_call(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, (long)real, 0, 0);
    real_call(SYS_pipe2, (long)(real + 2), O_NONBLOCK, 0, 0, 0, 0);
    for (int i = 4; i < THINGS; i++) real[i] = (int)real_call(SYS_eventfd2, 0, EFD_NONBLOCK, 0, 0, 0, 0);
    epolls[0] = epoll_create1(0);
    epolls[1] = (int)real_call(SYS_epoll_create1, 0, 0, 0, 0, 0, 0);
}

static int by_data(const void *left, const void *right) {
    const struct epoll_event *one = left, *other = right;
    return (one->data.u64 > other->data.u64) - (one->data.u64 < other->data.u64);
}

struct Answer { long result; uint64_t told[THINGS * 2]; };

static struct Answer tried(bool is_real, int way, int thing, unsigned events, int length) {
    struct Answer answer = {0};
    int *things = is_real ? real : simulated, number = things[thing];
    long epoll = epolls[is_real];
    uint64_t words[BYTES / 8] = {1};
    if (way < 30) {
        // An eventfd takes eight bytes at least.
        long size = thing < 4 ? length : 8;
        answer.result = is_real ? real_call(SYS_write, number, (long)words, size, 0, 0, 0) : outcome(write(number, words, (size_t)size));
    } else if (way < 50) {
        long size = thing < 4 ? length : 8;
        answer.result = is_real ? real_call(SYS_read, number, (long)words, size, 0, 0, 0) : outcome(read(number, words, (size_t)size));
    } else if (way < 70) {
        struct epoll_event event = {.events = events, .data.u64 = (uint64_t)thing};
        int operation = 1 + way % 3;
        answer.result = is_real ? real_call(SYS_epoll_ctl, epoll, operation, number, (long)&event, 0, 0)
            : outcome(epoll_ctl((int)epoll, operation, number, &event));
    } else if (way < 71) {
        answer.result = is_real ? real_call(SYS_close, number, 0, 0, 0, 0, 0) : outcome(close(number));
        things[thing] = -1;
    } else if (way < 73 && thing < 2) {
        answer.result = is_real ? real_call(SYS_shutdown, number, length % 3, 0, 0, 0, 0) : outcome(shutdown(number, length % 3));
    } else {
        struct epoll_event told[THINGS];
        answer.result = is_real ? real_call(SYS_epoll_wait, epoll, (long)told, THINGS, 0, 0, 0)
            : outcome(epoll_wait((int)epoll, told, THINGS, 0));
        if (answer.result > 0) qsort(told, (size_t)answer.result, sizeof *told, by_data);
        for (int i = 0; i < answer.result; i++) answer.told[2 * i] = told[i].data.u64, answer.told[2 * i + 1] = told[i].events;
    }
    return answer;
}

int main(int count, char **words) {
    long calls = 0, rounds = count > 1 ? atol(words[1]) : 3000;
    // SIGPIPE of the real calls too.
    struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } ignored = {SIG_IGN, 0, NULL, 0};
    real_call(SYS_rt_sigaction, SIGPIPE, (long)&ignored, 0, 8, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    for (long seed = 1; seed <= rounds && !failures; seed++) {
        random_begin((uint64_t)seed);
        begin();
        bool has_edges = seed % 2;
        for (int step = 0; step < 80 && !failures; step++) {
            static const unsigned asked[] = {EPOLLIN, EPOLLOUT, EPOLLIN | EPOLLOUT, EPOLLIN | EPOLLRDHUP, 0};
            int way = (int)draw_below(100), thing = (int)draw_below(THINGS), length = 1 + (int)draw_below(BYTES - 1);
            unsigned events = asked[draw_below(5)];
            if (draw_below(4) == 0) events |= EPOLLONESHOT;
            if (has_edges && draw_below(2)) events |= EPOLLET;
            // Linux tells of room when a whole buffer is free, and of a pipe's only at its borders. The simulated one does at each read.
            if (events & EPOLLET && thing < 4) events &= ~(unsigned)EPOLLOUT;
            if (simulated[thing] < 0) continue;
            calls++;
            struct Answer expected = tried(true, way, thing, events, length), got = tried(false, way, thing, events, length);
            if (memcmp(&expected, &got, sizeof got) == 0) continue;
            failures++;
            say("seed %ld step %d way %d thing %d events %x length %d\n", seed, step, way, thing, events, length);
            for (int i = 0; i < 2; i++) {
                struct Answer *each = i ? &got : &expected;
                say("  %s: %ld:", i ? "simulated" : "Linux", each->result);
                for (int j = 0; j < each->result && way >= 73; j++) say(" %d %x", (int)each->told[2 * j], (unsigned)each->told[2 * j + 1]);
                say("\n");
            }
        }
        for (int i = 0; i < THINGS; i++) {
            if (simulated[i] >= 0) close(simulated[i]), real_call(SYS_close, real[i], 0, 0, 0, 0, 0);
        }
        close(epolls[0]);
        real_call(SYS_close, epolls[1], 0, 0, 0, 0, 0);
    }
    say("epoll like Linux: %ld calls, %d failures\n", calls, failures);
    real_call(SYS_exit_group, failures > 0, 0, 0, 0, 0, 0);
}
