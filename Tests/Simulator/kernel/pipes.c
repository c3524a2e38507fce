// Pipes; and calls that make two descriptors at once.
#include "streams.h"
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct Pipe {
    struct Stream stream;
    size_t room;
    struct Open *reader, *writer;          // NULL: closed
    bool is_held;                          // by a client, who neither reads nor writes
};

static struct Pipe *pipe_of(const struct Open *open) { return open->object; }

static ssize_t pipe_read(struct Open *open, void *bytes, size_t length) {
    struct Pipe *pipe = pipe_of(open);
    int error = fault_for(CALL_READ, "pipe", &length), count;
    if (error) return error;
    if (!length) return 0;
    while (!pipe->stream.length) {
        if (!pipe->writer && !pipe->is_held) return 0;
        if (open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    ssize_t taken = (ssize_t)stream_take(&pipe->stream, bytes, length, false, NULL, &count);
    open_changed(pipe->writer, EPOLLOUT);
    return taken;
}

static ssize_t pipe_write(struct Open *open, const void *bytes, size_t length) {
    struct Pipe *pipe = pipe_of(open);
    int error = fault_for(CALL_WRITE, "pipe", &length);
    if (error) return error;
    size_t done = 0;
    do {
        if (!pipe->reader) {
            if (done) break;
            signal_arrives(SIGPIPE);
            return -EPIPE;
        }
        size_t room = pipe->room - pipe->stream.length, part = length - done;
        // Up to PIPE_BUF goes at once or not at all.
        if (part > room) part = length <= PIPE_BUF ? 0 : room;
        if (part || done == length) {
            stream_put(&pipe->stream, (const char *)bytes + done, part, NULL, 0);
            done += part;
            open_changed(pipe->reader, EPOLLIN);
        } else if (open->flags & O_NONBLOCK) {
            return done ? (ssize_t)done : -EAGAIN;
        } else {
            wait_on(&readiness, FOREVER);
        }
    } while (done < length);
    return (ssize_t)done;
}

static ssize_t reads_not(struct Open *open, void *bytes, size_t length) {
    (void)open, (void)bytes, (void)length;
    return -EBADF;
}

static ssize_t writes_not(struct Open *open, const void *bytes, size_t length) { return reads_not(open, (void *)bytes, length); }

static unsigned pipe_readable(struct Open *open) {
    struct Pipe *pipe = pipe_of(open);
    return (pipe->stream.length ? EPOLLIN | EPOLLRDNORM : 0) | (pipe->writer || pipe->is_held ? 0 : EPOLLHUP);
}

static unsigned pipe_writable(struct Open *open) {
    struct Pipe *pipe = pipe_of(open);
    return (pipe->room - pipe->stream.length >= PIPE_PAGE ? EPOLLOUT | EPOLLWRNORM : 0) | (pipe->reader ? 0 : EPOLLERR);
}

static void pipe_closed(struct Open *open) {
    struct Pipe *pipe = pipe_of(open);
    if (pipe->reader == open) pipe->reader = NULL;
    if (pipe->writer == open) pipe->writer = NULL;
    if (pipe->reader || pipe->writer) return open_changed(pipe->reader ? pipe->reader : pipe->writer, ENDING);
    stream_end(&pipe->stream);
    free(pipe);
}

const struct Operations pipe_reader = {"pipe", pipe_read, writes_not, pipe_readable, pipe_closed};
const struct Operations pipe_writer = {"pipe", reads_not, pipe_write, pipe_writable, pipe_closed};

void pipe_made(struct Open *ends[2], int flags) {
    struct Pipe *pipe = calloc(1, sizeof *pipe);
    pipe->room = PIPE_ROOM;
    ends[0] = pipe->reader = open_make(&pipe_reader, pipe, O_RDONLY | (flags & O_NONBLOCK));
    ends[1] = pipe->writer = open_make(&pipe_writer, pipe, O_WRONLY | (flags & O_NONBLOCK));
}

// A pipe of which a client has the other end. What it writes is all there already; `holds`: it may write more, and never does.
struct Open *pipe_of_client(bool daemon_writes, const void *bytes, size_t length, bool holds) {
    struct Open *ends[2];
    pipe_made(ends, 0);
    struct Pipe *pipe = pipe_of(ends[0]);
    stream_put(&pipe->stream, bytes, length, NULL, 0);
    pipe->is_held = holds;
    open_release(ends[!daemon_writes]);
    return ends[daemon_writes];
}

long pipe_control(struct Open *open, int command, long argument) {
    if (open->operations != &pipe_reader && open->operations != &pipe_writer) return -EBADF;
    struct Pipe *pipe = pipe_of(open);
    if (command == F_GETPIPE_SZ) return (long)pipe->room;
    if (command != F_SETPIPE_SZ) return -EINVAL;
    size_t room = PIPE_PAGE;
    while (room < (size_t)argument) room *= 2;
    // pipe-max-size
    if (room > 1 << 20) return -EPERM;
    if (room < pipe->stream.length) return -EBUSY;
    pipe->room = room;
    return (long)room;
}

int pipe_unread(struct Open *open) { return (int)stream_arrived(&pipe_of(open)->stream); }

// MARK: What programs ask

// Installs both, or none.
static int install(struct Open *ends[2], int numbers[2], bool close_on_exec) {
    int first = descriptor_install(ends[0], 0, close_on_exec);
    int second = first < 0 ? first : descriptor_install(ends[1], 0, close_on_exec);
    if (first < 0) open_release(ends[0]);
    if (second < 0) open_release(ends[1]);
    if (second < 0 && first >= 0) descriptor_remove(first);
    if (second < 0) return second;
    numbers[0] = first, numbers[1] = second;
    return 0;
}

EXPORT int pipe2(int numbers[2], int flags) {
    seam();
    if (flags & ~(O_CLOEXEC | O_NONBLOCK)) not_simulated("pipe2", flags);
    struct Open *ends[2];
    pipe_made(ends, flags);
    return (int)answer(install(ends, numbers, flags & O_CLOEXEC));
}

EXPORT int pipe(int numbers[2]) { return pipe2(numbers, 0); }

EXPORT int socketpair(int domain, int type, int protocol, int numbers[2]) {
    seam();
    if (domain != AF_UNIX) return (int)answer(-EOPNOTSUPP);
    if (protocol) return (int)answer(-EPROTONOSUPPORT);
    if ((type & 0xF) != SOCK_STREAM) not_simulated("socketpair", type);
    int error = fault_for(CALL_SOCKET, "socketpair", NULL);
    if (error) return (int)answer(error);
    struct Socket *first = socket_made(SOCK_STREAM), *second = socket_made(SOCK_STREAM);
    struct Open *ends[2] = {socket_opened(first, type & SOCK_NONBLOCK), socket_opened(second, type & SOCK_NONBLOCK)};
    sockets_joined(first, second);
    return (int)answer(install(ends, numbers, type & SOCK_CLOEXEC));
}
