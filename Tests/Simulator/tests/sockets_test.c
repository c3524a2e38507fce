// What the daemon relies on in sockets and pipes, tried in one thread.
#include "stand_in.h"
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FAILS(call, code) (errno = 0, (call) == -1 && errno == (code))

static struct sockaddr_un at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    return address;
}

static int listening(const char *path, int backlog) {
    struct sockaddr_un address = at(path);
    int number = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(bind(number, (void *)&address, sizeof address) == 0);
    CHECK(listen(number, backlog) == 0);
    return number;
}

static unsigned state(int number) {
    struct pollfd one = {number, POLLIN | POLLOUT | POLLRDHUP, 0};
    poll(&one, 1, 0);
    return (unsigned)one.revents;
}

static int listener;
static uint32_t newest = 100;
static int connected(uint32_t window) {
    connection_open(++newest, "/s", 1001, 1002, 77, window);
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void backlogs(void) {
    int number = listening("/backlog", 1);
    CHECK(FAILS(accept4(number, NULL, NULL, 0), EAGAIN));
    CHECK(state(number) == 0);
    for (uint32_t i = 1; i <= 3; i++) connection_open(i, "/backlog", 1001, 1002, 77, 100);
    // As Linux: one more than the backlog says.
    CHECK(last_told(REPORT_REFUSED) && told_word(last_told(REPORT_REFUSED), 0) == 3);
    CHECK(state(number) == POLLIN);
    int first = accept4(number, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    CHECK(first >= 0 && told_word(last_told(REPORT_ACCEPTED), 0) == 1);
    CHECK(fcntl(first, F_GETFD) == FD_CLOEXEC);
    struct ucred peer;
    socklen_t length = sizeof peer;
    CHECK(getsockopt(first, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == 1001 && peer.gid == 1002 && peer.pid == 77);
    // There is room again for one, and for no more.
    for (uint32_t i = 4; i <= 5; i++) connection_open(i, "/backlog", 1001, 1002, 77, 100);
    CHECK(told_word(last_told(REPORT_REFUSED), 0) == 5 && told_count == 3);
    int room = descriptor_limit(0);
    descriptor_limit(descriptors_open());
    CHECK(FAILS(accept4(number, NULL, NULL, 0), EMFILE));
    descriptor_limit(room);
    CHECK(state(number) == POLLIN);
    forget_told();
    close(number);
    // Those that were never accepted.
    CHECK(told_count == 2 && told_word(&told[0], 0) == 2 && told[0].bytes[4] == 2 && told_word(&told[1], 0) == 4);
    CHECK(close(first) == 0);
}

static void connecting(void) {
    struct sockaddr_un here = at("/s"), nowhere = at("/nowhere"), file = at("/file"), closed = at("/closed");
    int own = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK(state(own) == (POLLOUT | POLLHUP));
    CHECK(FAILS(connect(own, (void *)&nowhere, sizeof nowhere), ENOENT));
    CHECK(FAILS(connect(own, (void *)&file, sizeof file), ECONNREFUSED));
    close(listening("/closed", 5));
    CHECK(FAILS(connect(own, (void *)&closed, sizeof closed), ECONNREFUSED));
    int again = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(FAILS(bind(again, (void *)&closed, sizeof closed), EADDRINUSE));
    CHECK(FAILS(listen(again, 5), EINVAL));
    close(again);
    CHECK(FAILS(send(own, "x", 1, MSG_NOSIGNAL), ENOTCONN) && FAILS(recv(own, "x", 1, 0), EINVAL));
    CHECK(connect(own, (void *)&here, sizeof here) == 0 && FAILS(connect(own, (void *)&here, sizeof here), EISCONN));
    int other = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    char bytes[8];
    CHECK(send(own, "hello", 5, 0) == 5 && recv(other, bytes, 8, 0) == 5 && memcmp(bytes, "hello", 5) == 0);
    struct sockaddr_un name;
    socklen_t length = sizeof name;
    CHECK(getsockname(other, (void *)&name, &length) == 0 && strcmp(name.sun_path, "/s") == 0 && length == 2 + 3);
    length = sizeof name;
    CHECK(getpeername(other, (void *)&name, &length) == 0 && length == 2);
    int value = -1;
    length = sizeof value;
    CHECK(getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1);
    CHECK(getsockopt(own, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 0);
    CHECK(FAILS(getsockopt(own, SOL_SOCKET, 77, &value, &length), ENOPROTOOPT));
    close(own), close(other);
    connection_open(9, "/nowhere", 0, 0, 1, 1);
    CHECK(told_word(last_told(REPORT_REFUSED), 0) == 9);
    int private = listening("/private", 5);
    connection_open(10, "/private", 1001, 0, 1, 1);
    CHECK(told_word(last_told(REPORT_REFUSED), 0) == 10);
    connection_open(11, "/private", 1000, 0, 1, 1);
    CHECK(state(private) == POLLIN);
    close(private);
}

static void splitting(void) {
    int number = connected(100);
    char sent[5000], got[5000];
    draw_bytes(sent, sizeof sent);
    settings[SETTING_SPLIT] = 700;
    int parts = 0, several = 0;
    for (int round = 0; round < 50; round++) {
        size_t done = 0, put = 0;
        while (done < sizeof sent) {
            if (put < sizeof sent && (put == done || draw_below(2))) {
                size_t part = 1 + draw_below(sizeof sent - put);
                connection_bytes(newest, sent + put, part, NULL, 0);
                put += part;
            }
            int unread;
            CHECK(ioctl(number, FIONREAD, &unread) == 0 && unread > 0);
            ssize_t peeked = recv(number, got + done, sizeof got - done, MSG_PEEK);
            CHECK(peeked >= unread);
            ssize_t part = recv(number, got + done, sizeof got - done, 0);
            CHECK(part >= peeked);
            CHECK(told_word(last_told(REPORT_TAKEN), 1) == (uint32_t)part);
            if (part < (ssize_t)(put - done)) several++;
            done += (size_t)part, parts++;
        }
        CHECK(memcmp(sent, got, sizeof sent) == 0);
        CHECK(FAILS(recv(number, got, 1, 0), EAGAIN));
        forget_told();
    }
    CHECK(several > 100 && parts > several);
    settings[SETTING_SPLIT] = 0;
    close(number);
}

static void windows(void) {
    int number = connected(10);
    CHECK(state(number) == POLLOUT);
    CHECK(send(number, "0123456789abcdef", 16, MSG_NOSIGNAL) == 10);
    CHECK(last_told(REPORT_SENT)->length == 14 && memcmp(last_told(REPORT_SENT)->bytes + 4, "0123456789", 10) == 0);
    CHECK(FAILS(send(number, "abcdef", 6, MSG_DONTWAIT | MSG_NOSIGNAL), EAGAIN));
    CHECK(state(number) == 0);
    connection_window(newest, 5);
    CHECK(state(number) == POLLOUT);
    CHECK(write(number, "abcdef", 6) == 5);
    close(number);
}

static void endings(void) {
    char bytes[8];
    int number = connected(100);
    connection_bytes(newest, "last", 4, NULL, 0);
    connection_ends(newest, 0);
    CHECK(state(number) == (POLLIN | POLLOUT | POLLRDHUP));
    CHECK(read(number, bytes, 8) == 4 && read(number, bytes, 8) == 0 && read(number, bytes, 8) == 0);
    CHECK(send(number, "answer", 6, MSG_NOSIGNAL) == 6);
    forget_told();
    shutdown(number, SHUT_WR);
    CHECK(last_told(REPORT_CLOSED)->bytes[4] == 1 && told_count == 1);
    close(number);
    CHECK(told_count == 1);

    number = connected(100);
    connection_ends(newest, 1);
    CHECK(state(number) == (POLLIN | POLLOUT | POLLRDHUP | POLLHUP));
    CHECK(read(number, bytes, 8) == 0 && FAILS(send(number, "x", 1, MSG_NOSIGNAL), EPIPE));
    close(number);

    number = connected(100);
    connection_bytes(newest, "rest", 4, NULL, 0);
    connection_ends(newest, 2);
    CHECK(state(number) == (POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR));
    CHECK(read(number, bytes, 8) == 4 && FAILS(recv(number, bytes, 8, 0), ECONNRESET) && read(number, bytes, 8) == 0);
    CHECK(FAILS(send(number, "x", 1, MSG_NOSIGNAL), EPIPE));
    close(number);

    // What the client is told of the daemon's ends.
    number = connected(100);
    forget_told();
    shutdown(number, SHUT_WR);
    CHECK(last_told(REPORT_CLOSED)->bytes[4] == 0 && FAILS(send(number, "x", 1, MSG_NOSIGNAL), EPIPE));
    connection_bytes(newest, "unread", 6, NULL, 0);
    close(number);
    CHECK(last_told(REPORT_CLOSED)->bytes[4] == 2);
    // Nobody is there any more.
    connection_bytes(newest, "x", 1, NULL, 0), connection_window(newest, 1), connection_ends(newest, 1);
}

static ssize_t receive(int number, void *bytes, size_t length, int flags, int *numbers, int room, int *count, int *seen) {
    union { char space[CMSG_SPACE(sizeof(int) * 253)]; struct cmsghdr align; } control;
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room ? control.space : NULL};
    message.msg_controllen = room ? CMSG_LEN(sizeof(int) * (size_t)room) : 0;
    ssize_t got = recvmsg(number, &message, flags);
    *count = 0;
    *seen = message.msg_flags;
    struct cmsghdr *header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header) memcpy(numbers, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    if (header) *count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    return got;
}

static void descriptors_in(void) {
    int number = connected(100), numbers[253], count, seen, before = descriptors_open();
    char bytes[100];
    connection_bytes(newest, "plain", 5, NULL, 0);
    connection_bytes(newest, "with", 4, (int[]){PASSED_FILE, PASSED_EMPTY}, 2);
    connection_bytes(newest, "more", 4, (int[]){PASSED_LARGE}, 1);
    connection_bytes(newest, "end", 3, NULL, 0);
    // A look says that there are some, and takes none.
    CHECK(receive(number, bytes, 100, MSG_PEEK, NULL, 0, &count, &seen) == 9 && seen & MSG_CTRUNC && files_open == 3);
    CHECK(recv(number, bytes, 5, MSG_PEEK) == 5 && files_open == 3);
    CHECK(receive(number, bytes, 6, MSG_CMSG_CLOEXEC, numbers, 253, &count, &seen) == 6 && count == 2 && !(seen & MSG_CTRUNC));
    CHECK(descriptors_open() == before + 2 && fcntl(numbers[1], F_GETFD) == FD_CLOEXEC);
    CHECK(read(numbers[0], bytes, 100) == 100 && read(numbers[1], bytes, 100) == 0);
    close(numbers[0]), close(numbers[1]);
    CHECK(files_open == 1);
    // The rest of that message and the next one together, and no further.
    CHECK(receive(number, bytes, 100, 0, numbers, 253, &count, &seen) == 7 && count == 1 && memcmp(bytes, "ithmore", 7) == 0);
    CHECK(fcntl(numbers[0], F_GETFD) == 0);
    close(numbers[0]);
    CHECK(read(number, bytes, 100) == 3);
    // No room, no numbers, nobody who asks.
    for (int way = 0; way < 3; way++) {
        connection_bytes(newest, "xy", 2, (int[]){PASSED_FILE, PASSED_FILE, PASSED_FILE}, 3);
        int limit = descriptor_limit(0);
        if (way == 1) descriptor_limit(descriptors_open() + 1);
        if (way == 2) CHECK(read(number, bytes, 100) == 2);
        else CHECK(receive(number, bytes, 100, 0, numbers, way ? 253 : 1, &count, &seen) == 2 && count == 1 && seen & MSG_CTRUNC);
        descriptor_limit(limit);
        if (way < 2) close(numbers[0]);
        CHECK(files_open == 0);
    }
    int all[PASSED_KINDS];
    for (int i = 0; i < PASSED_KINDS; i++) all[i] = i;
    passed_give("given", 5);
    connection_bytes(newest, "x", 1, all, PASSED_KINDS);
    CHECK(receive(number, bytes, 1, 0, numbers, 253, &count, &seen) == 1 && count == PASSED_KINDS);
    CHECK(state(numbers[PASSED_SILENT_PIPE]) == 0);
    CHECK(state(numbers[PASSED_BROKEN_PIPE]) == (POLLOUT | POLLERR));
    is_over_expected = true;
    // SIGPIPE ends the process unless it is ignored.
    if (setjmp(over) == 0) write(numbers[PASSED_BROKEN_PIPE], "x", 1), ended = 0;
    CHECK(ended == -SIGPIPE);
    signal(SIGPIPE, SIG_IGN);
    CHECK(FAILS(write(numbers[PASSED_BROKEN_PIPE], "x", 1), EPIPE));
    CHECK(FAILS(read(numbers[PASSED_BROKEN_PIPE], bytes, 1), EBADF));
    CHECK(FAILS(read(numbers[PASSED_WRITE_ONLY], bytes, 1), EBADF));
    CHECK(state(numbers[PASSED_SOCKET]) == POLLOUT && send(numbers[PASSED_SOCKET], "x", 1, 0) == 1);
    size_t length = 0;
    static char large[100000];
    for (ssize_t got; (got = read(numbers[PASSED_PIPE], large, sizeof large)) > 0;) length += (size_t)got;
    CHECK(length == 65536 && state(numbers[PASSED_PIPE]) == POLLHUP);
    CHECK(fcntl(numbers[PASSED_PIPE], F_GETFL) == O_RDONLY && pipe_control(descriptor(numbers[PASSED_PIPE]), F_GETPIPE_SZ, 0) == 65536);
    for (int i = 0; i < PASSED_KINDS; i++) CHECK(close(numbers[i]) == 0);
    // What is never read is closed with the connection.
    passed_give("given", 5);
    connection_bytes(newest, "x", 1, all, PASSED_KINDS);
    close(number);
    CHECK(files_open == 0 && descriptors_open() == before - 1);
}

static void descriptors_out(void) {
    int number = connected(3), file = descriptor_install(disk_unnamed("content", 7, O_RDONLY), 0, true);
    union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = {0};
    struct iovec part = {"line\n", 5};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    *CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &file, sizeof file);
    forget_told();
    CHECK(sendmsg(number, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 3 && told_count == 2);
    CHECK(told[0].kind == REPORT_DESCRIPTOR && told_word(&told[0], 1) == 7 && memcmp(told[0].bytes + 8, "content", 7) == 0);
    CHECK(told[1].kind == REPORT_SENT && told[1].length == 7);
    // What does not go takes nothing along.
    CHECK(FAILS(sendmsg(number, &message, MSG_NOSIGNAL | MSG_DONTWAIT), EAGAIN) && told_count == 2);
    CHECK(descriptor(file)->references == 1 && FAILS(ioctl(file, FIONREAD, &number), EOPNOTSUPP));
    int pair[2], got, count, seen;
    char bytes[8];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(sendmsg(pair[0], &message, 0) == 5);
    close(file);
    CHECK(files_open == 1 && receive(pair[1], bytes, 8, 0, &got, 1, &count, &seen) == 5 && read(got, bytes, 8) == 7);
    close(got), close(pair[0]), close(pair[1]), close(number);
    CHECK(files_open == 0);
}

static int blocked_pair[2];
static void comes_late(void) { CHECK(write(blocked_pair[1], "late", 4) == 4); }
static void goes(void) { close(blocked_pair[1]); }
static void is_closed_meanwhile(void) { close(blocked_pair[0]), close(blocked_pair[1]); }

static void pipes(void) {
    char bytes[8];
    static char large[70000];
    int limit = descriptor_limit(0), open = descriptors_open();
    for (int room = 0; room < 2; room++) {
        descriptor_limit(open + room);
        CHECK(FAILS(pipe2(blocked_pair, 0), EMFILE) && FAILS(socketpair(AF_UNIX, SOCK_STREAM, 0, blocked_pair), EMFILE));
        CHECK(descriptors_open() == open);
    }
    descriptor_limit(limit);
    CHECK(pipe2(blocked_pair, O_CLOEXEC) == 0);
    meanwhile = comes_late;
    CHECK(read(blocked_pair[0], bytes, 8) == 4);
    meanwhile = goes;
    CHECK(read(blocked_pair[0], bytes, 8) == 0);
    close(blocked_pair[0]);
    CHECK(pipe2(blocked_pair, O_NONBLOCK) == 0 && FAILS(read(blocked_pair[0], bytes, 8), EAGAIN));
    CHECK(write(blocked_pair[1], large, 65000) == 65000 && state(blocked_pair[1]) == 0);
    // A page goes at once or not at all; more goes in part.
    CHECK(FAILS(write(blocked_pair[1], large, 4096), EAGAIN) && write(blocked_pair[1], large, 5000) == 536);
    close(blocked_pair[0]), close(blocked_pair[1]);
    socketpair(AF_UNIX, SOCK_STREAM, 0, blocked_pair);
    meanwhile = is_closed_meanwhile;
    // Both ends are closed under the reader, whose own end lives until its call is over.
    CHECK(recv(blocked_pair[0], bytes, 8, 0) == 0);
}

int main(void) {
    random_begin(7);
    listener = listening("/s", 100);
    int before = descriptors_open();
    void (*const all[])(void) = {backlogs, connecting, splitting, windows, endings, descriptors_in, descriptors_out, pipes};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]();
        CHECK(descriptors_open() == before);
        forget_told();
    }
    say(failures ? "%d failures\n" : "sockets: all is as it should be\n", failures);
    real_call(SYS_exit_group, failures > 0, 0, 0, 0, 0, 0);
}
