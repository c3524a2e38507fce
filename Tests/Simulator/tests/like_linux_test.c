// The same calls on a pair of real sockets and on a pair of simulated ones, drawn at random: each answers as the other.
#include "stand_in.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// What a call has answered, and what it has left in the caller's memory.
struct Answer {
    long result;
    int passed, flags;
    unsigned states[2];
    int unread[2];
    char bytes[512];
};

static int simulated[2], real[2], spare, real_spare;

static long ask(bool is_real, long number, long a, long b, long c, long d) {
    if (is_real) return real_call(number, a, b, c, d, 0, 0);
    errno = 0;
    long result = number == SYS_sendmsg ? sendmsg((int)a, (void *)b, (int)c) : number == SYS_recvmsg ? recvmsg((int)a, (void *)b, (int)c)
        : number == SYS_read ? read((int)a, (void *)b, (size_t)c) : number == SYS_write ? write((int)a, (void *)b, (size_t)c)
        : number == SYS_shutdown ? shutdown((int)a, (int)b) : number == SYS_close ? close((int)a)
        : number == SYS_poll ? poll((void *)a, (nfds_t)b, (int)c) : number == SYS_ioctl ? ioctl((int)a, (unsigned long)b, c)
        : number == SYS_getsockopt ? getsockopt((int)a, (int)b, (int)c, ((void **)d)[0], ((void **)d)[1]) : -1;
    return result < 0 ? -errno : result;
}

struct Choice { int way, end, length, descriptors, room, flags, how; char bytes[512]; };

static struct Choice drawn(void) {
    struct Choice choice = {
        .way = (int)draw_below(100), .end = (int)draw_below(2), .length = (int)draw_below(400), .descriptors = (int)draw_below(4),
        .room = (int)draw_below(6), .flags = MSG_DONTWAIT | MSG_NOSIGNAL, .how = (int)draw_below(3)};
    if (draw_below(2)) choice.descriptors = 0;
    if (draw_below(12) == 0) choice.length = 0;
    draw_bytes(choice.bytes, sizeof choice.bytes);
    return choice;
}

static struct Answer tried(bool is_real, const struct Choice *choice) {
    struct Answer answer = {0};
    int *ends = is_real ? real : simulated, number = ends[choice->end];
    union { char space[CMSG_SPACE(sizeof(int) * 8)]; struct cmsghdr align; } control = {0};
    size_t half = (size_t)choice->length / 2;
    struct iovec parts[2] = {{answer.bytes, half}, {answer.bytes + half, (size_t)choice->length - half}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control.space};
    if (choice->way < 45) {
        char sent[512];
        memcpy(sent, choice->bytes, sizeof sent);
        parts[0].iov_base = sent, parts[1].iov_base = sent + half;
        message.msg_controllen = choice->descriptors ? CMSG_SPACE(sizeof(int) * (size_t)choice->descriptors) : 0;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (header) *header = (struct cmsghdr){CMSG_LEN(sizeof(int) * (size_t)choice->descriptors), SOL_SOCKET, SCM_RIGHTS};
        for (int i = 0; i < choice->descriptors; i++) memcpy(CMSG_DATA(header) + 4 * i, is_real ? &real_spare : &spare, 4);
        answer.result = ask(is_real, SYS_sendmsg, number, (long)&message, choice->flags, 0);
    } else if (choice->way < 90) {
        bool peeks = choice->way >= 70 && choice->way < 78;
        if (choice->room > 0) message.msg_controllen = CMSG_LEN(sizeof(int) * (size_t)choice->room);
        else message.msg_control = NULL;
        answer.result = ask(is_real, SYS_recvmsg, number, (long)&message, choice->flags | MSG_CMSG_CLOEXEC | (peeks ? MSG_PEEK : 0), 0);
        answer.flags = answer.result < 0 ? 0 : message.msg_flags & ~MSG_CMSG_CLOEXEC;
        struct cmsghdr *header = answer.result < 0 ? NULL : CMSG_FIRSTHDR(&message);
        answer.passed = header ? (int)((header->cmsg_len - CMSG_LEN(0)) / 4) : 0;
        for (int i = 0; i < answer.passed; i++) {
            int got;
            memcpy(&got, CMSG_DATA(header) + 4 * i, 4);
            ask(is_real, SYS_close, got, 0, 0, 0);
        }
    } else if (choice->way < 94) {
        struct pollfd one = {number, POLLIN, 0};
        // Never waits.
        if (ask(is_real, SYS_poll, (long)&one, 1, 0, 0) == 1)
            answer.result = ask(is_real, SYS_read, number, (long)answer.bytes, choice->length, 0);
    } else if (choice->way < 96) {
        answer.result = ask(is_real, SYS_shutdown, number, choice->how, 0, 0);
    } else if (choice->way < 97) {
        int error = 0;
        socklen_t length = sizeof error;
        if (is_real) answer.result = real_call(SYS_getsockopt, number, SOL_SOCKET, SO_ERROR, (long)&error, (long)&length, 0);
        else answer.result = getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length);
        answer.passed = error;
    } else if (choice->way == 97) {
        answer.result = ask(is_real, SYS_close, number, 0, 0, 0);
        ends[choice->end] = -1;
    }
    for (int end = 0; end < 2; end++) {
        if (ends[end] < 0) continue;
        struct pollfd one = {ends[end], (short)(POLLIN | POLLOUT | POLLRDHUP), 0};
        ask(is_real, SYS_poll, (long)&one, 1, 0, 0);
        answer.states[end] = (unsigned)one.revents;
        ask(is_real, SYS_ioctl, ends[end], FIONREAD, (long)&answer.unread[end], 0);
    }
    return answer;
}

int main(int count, char **words) {
    long calls = 0, rounds = count > 1 ? atol(words[1]) : 3000;
    signal(SIGPIPE, SIG_IGN);
    spare = descriptor_install(disk_unnamed("x", 1, O_RDONLY), 0, true);
    real_spare = (int)real_call(SYS_dup, 2, 0, 0, 0, 0, 0);
    for (long seed = 1; seed <= rounds && !failures; seed++) {
        random_begin((uint64_t)seed);
        socketpair(AF_UNIX, SOCK_STREAM, 0, simulated);
        real_call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)real, 0, 0);
        for (int step = 0; step < 60 && !failures; step++) {
            struct Choice choice = drawn();
            if (simulated[choice.end] < 0) continue;
            calls++;
            struct Answer expected = tried(true, &choice), got = tried(false, &choice);
            if (memcmp(&expected, &got, sizeof got) == 0) continue;
            failures++;
            say("seed %ld step %d way %d end %d length %d descriptors %d room %d how %d\n", seed, step, choice.way, choice.end,
                choice.length, choice.descriptors, choice.room, choice.how);
            for (int i = 0; i < 2; i++) {
                struct Answer *each = i ? &got : &expected;
                say("  %s: result %ld passed %d flags %x states %x %x unread %d %d\n", i ? "simulated" : "Linux", each->result,
                    each->passed, (unsigned)each->flags, each->states[0], each->states[1], each->unread[0], each->unread[1]);
            }
        }
        for (int end = 0; end < 2; end++) {
            if (simulated[end] >= 0) close(simulated[end]), real_call(SYS_close, real[end], 0, 0, 0, 0, 0);
        }
        CHECK(descriptor(spare)->references == 1);
    }
    say("like Linux: %ld calls, %d failures\n", calls, failures);
    real_call(SYS_exit_group, failures > 0, 0, 0, 0, 0, 0);
}
