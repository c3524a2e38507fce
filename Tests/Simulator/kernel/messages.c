// What goes over sockets: bytes, and descriptors along with them (SCM_RIGHTS); and the options of sockets.
#include "streams.h"
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

bool socket_waits_not(const struct Socket *socket, int flags) {
    return flags & MSG_DONTWAIT || socket->open->flags & O_NONBLOCK;
}

// Where faults look for a socket's path.
static const char *place(const struct Socket *socket) { return socket->name_length && socket->name[0] ? socket->name : "socket"; }

// MARK: Receiving

ssize_t socket_receive(struct Socket *socket, void *bytes, size_t length, int flags, struct Open **opens, int *count) {
    *count = 0;
    int error = fault_for(CALL_SOCKET, place(socket), &length);
    if (error) return error;
    if (socket->type != SOCK_STREAM) not_simulated("recv", socket->type);
    if (socket->state != SOCKET_CONNECTED) return -EINVAL;
    while (!socket->in.length) {
        if (socket->error) {
            error = -socket->error;
            socket->error = 0;
            return error;
        }
        if (socket->ends_in) return 0;
        if (socket_waits_not(socket, flags)) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    size_t taken = stream_take(&socket->in, bytes, length, flags & MSG_PEEK, opens, count);
    if (flags & MSG_PEEK) return (ssize_t)taken;
    if (socket->has_client) {
        uint32_t told[2] = {socket->client, (uint32_t)taken};
        report(REPORT_TAKEN, told, sizeof told);
    } else if (socket->peer) {
        open_changed(socket->peer->open, EPOLLOUT);
    }
    return (ssize_t)taken;
}

// Gives the descriptors numbers and writes them where the caller has room; lets go of the others.
static void hand_over(struct msghdr *message, struct Open **opens, int count, bool close_on_exec) {
    size_t room = message->msg_control ? message->msg_controllen : 0;
    message->msg_controllen = 0;
    if (!count) return;
    size_t most = room > sizeof(struct cmsghdr) ? (room - sizeof(struct cmsghdr)) / sizeof(int) : 0;
    struct cmsghdr *header = message->msg_control;
    int done = 0;
    while (done < count && (size_t)done < most) {
        int number = descriptor_install(opens[done], 0, close_on_exec);
        if (number < 0) break;
        memcpy(CMSG_DATA(header) + (size_t)done * sizeof number, &number, sizeof number);
        done++;
    }
    if (done > 0) {
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)done);
        size_t space = CMSG_SPACE(sizeof(int) * (size_t)done);
        message->msg_controllen = space < room ? space : room;
    }
    if (done < count) message->msg_flags |= MSG_CTRUNC;
    for (int i = done; i < count; i++) open_release(opens[i]);
}

static size_t length_of(const struct msghdr *message) {
    size_t length = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) length += message->msg_iov[i].iov_len;
    return length;
}

static long receive_message(struct Socket *socket, struct msghdr *message, int flags) {
    if (flags & ~(MSG_DONTWAIT | MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_NOSIGNAL)) not_simulated("recvmsg", flags);
    if (message->msg_iovlen > IOV_MAX) return -EMSGSIZE;
    struct Open *opens[PASSED_MOST];
    int count = 0;
    size_t length = length_of(message);
    bool is_one = message->msg_iovlen == 1;
    char *bytes = is_one ? message->msg_iov[0].iov_base : malloc(length + 1);
    ssize_t got = socket_receive(socket, bytes, length, flags, opens, &count);
    if (!is_one) {
        char *from = bytes;
        for (size_t i = 0, left = got > 0 ? (size_t)got : 0; left > 0; i++) {
            size_t part = left < message->msg_iov[i].iov_len ? left : message->msg_iov[i].iov_len;
            memcpy(message->msg_iov[i].iov_base, from, part);
            from += part, left -= part;
        }
        free(bytes);
    }
    if (got < 0) return got;
    message->msg_flags = 0;
    message->msg_namelen = 0;
    hand_over(message, opens, count, flags & MSG_CMSG_CLOEXEC);
    return got;
}

EXPORT ssize_t recvmsg(int number, struct msghdr *message, int flags) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return answer(error);
    struct Open *held = socket->open;
    held->references++;
    long result = receive_message(socket, message, flags);
    open_release(held);
    return answer(result);
}

EXPORT ssize_t recvfrom(int number, void *bytes, size_t length, int flags, struct sockaddr *address, socklen_t *size) {
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (address) *size = 0;
    return recvmsg(number, &message, flags);
}

EXPORT ssize_t recv(int number, void *bytes, size_t length, int flags) { return recvfrom(number, bytes, length, flags, NULL, NULL); }
EXPORT ssize_t __recv_chk(int number, void *bytes, size_t length, size_t room, int flags) {
    if (length > room) abort();
    return recv(number, bytes, length, flags);
}

// MARK: Sending

// What a client receives: the files at once and whole, since the client may read them at any time.
static void report_sent(struct Socket *socket, const void *bytes, size_t length, struct Open *const *opens, int count) {
    enum { MOST = 16 << 20 };
    for (int i = 0; i < count; i++) {
        char *content = malloc(MOST);
        ssize_t got = mode_of_kind(opens[i]) ? 0 : disk_content(opens[i], 0, content, MOST);
        uint32_t head[2] = {socket->client, got > 0 ? (uint32_t)got : 0};
        report_parts(REPORT_DESCRIPTOR, head, sizeof head, content, head[1]);
        free(content);
        open_release(opens[i]);
    }
    report_parts(REPORT_SENT, &socket->client, 4, bytes, length);
}

// As much as there is room for; -EAGAIN: none. Takes the references over when something went.
static ssize_t send_part(struct Socket *socket, const void *bytes, size_t length, struct Open *const *opens, int count) {
    struct Socket *peer = socket->peer;
    if (socket->state != SOCKET_CONNECTED) return -ENOTCONN;
    if (socket->ends_out || (peer && peer->ends_in)) return -EPIPE;
    if (!length) {
        for (int i = 0; i < count; i++) open_release(opens[i]);
        return 0;
    }
    size_t room = socket->has_client ? socket->window : peer->in.length < STREAM_ROOM ? STREAM_ROOM - peer->in.length : 0;
    if (!room) return -EAGAIN;
    size_t part = length < room ? length : room;
    if (socket->has_client) {
        socket->window -= part;
        report_sent(socket, bytes, part, opens, count);
    } else {
        stream_put(&peer->in, bytes, part, opens, count);
        open_changed(peer->open, EPOLLIN);
    }
    return (ssize_t)part;
}

// The references are the caller's still when this fails.
ssize_t socket_send(struct Socket *socket, const void *bytes, size_t length, int flags, struct Open *const *opens, int count) {
    int error = fault_for(CALL_SOCKET, place(socket), &length);
    if (error) return error;
    if (socket->type != SOCK_STREAM) return -ENOTCONN;
    size_t done = 0;
    do {
        ssize_t sent = send_part(socket, (const char *)bytes + done, length - done, opens, done ? 0 : count);
        if (sent >= 0) {
            done += (size_t)sent;
        } else if (done && (sent != -EAGAIN || socket_waits_not(socket, flags))) {
            break;
        } else if (sent == -EPIPE) {
            if (!(flags & MSG_NOSIGNAL)) signal_arrives(SIGPIPE);
            return sent;
        } else if (sent != -EAGAIN || socket_waits_not(socket, flags)) {
            return sent;
        } else {
            wait_on(&readiness, FOREVER);
        }
    } while (done < length);
    return (ssize_t)done;
}

// The descriptors that a message passes, with a reference each; how many, or -errno.
static int opens_in(const struct msghdr *message, struct Open **opens) {
    int count = 0, error = 0;
    struct msghdr *from = (struct msghdr *)message;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(from); header && !error; header = CMSG_NXTHDR(from, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) not_simulated("sendmsg", header->cmsg_type);
        int more = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (count + more > PASSED_MOST) error = -EINVAL;
        for (int i = 0; i < more && !error; i++) {
            int number;
            memcpy(&number, CMSG_DATA(header) + (size_t)i * sizeof number, sizeof number);
            struct Open *open = descriptor(number);
            if (!open) error = -EBADF;
            else open->references++, opens[count++] = open;
        }
    }
    for (int i = 0; i < count && error; i++) open_release(opens[i]);
    return error ? error : count;
}

// A datagram to a name. No socket of the process takes any.
static long send_to_name(const struct msghdr *message) {
    const struct sockaddr *address = message->msg_name;
    char name[109] = {0};
    int error, length = (int)message->msg_namelen - 2;
    if (length < 1 || length > 108 || address->sa_family != AF_UNIX) return -EINVAL;
    memcpy(name, address->sa_data, (size_t)length);
    if ((error = fault_for(CALL_SOCKET, name, NULL))) return error;
    return listener_of(name, length, 1000, 1000, &error) ? -EPROTOTYPE : error;
}

static long send_message(struct Socket *socket, const struct msghdr *message, int flags) {
    if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL)) not_simulated("sendmsg", flags);
    if (message->msg_iovlen > IOV_MAX) return -EMSGSIZE;
    if (message->msg_name && socket->type == SOCK_STREAM) return socket->state == SOCKET_CONNECTED ? -EISCONN : -EOPNOTSUPP;
    if (message->msg_name) return send_to_name(message);
    struct Open *opens[PASSED_MOST];
    int count = opens_in(message, opens);
    if (count < 0) return count;
    size_t length = length_of(message);
    bool is_one = message->msg_iovlen == 1;
    char *bytes = is_one ? message->msg_iov[0].iov_base : malloc(length + 1), *to = bytes;
    for (size_t i = 0; i < message->msg_iovlen && !is_one; i++) to = mempcpy(to, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    ssize_t sent = socket_send(socket, bytes, length, flags, opens, count);
    for (int i = 0; i < count && sent < 0; i++) open_release(opens[i]);
    if (!is_one) free(bytes);
    return sent;
}

EXPORT ssize_t sendmsg(int number, const struct msghdr *message, int flags) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return answer(error);
    struct Open *held = socket->open;
    held->references++;
    long result = send_message(socket, message, flags);
    open_release(held);
    return answer(result);
}

EXPORT ssize_t sendto(int number, const void *bytes, size_t length, int flags, const struct sockaddr *address, socklen_t size) {
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_name = (void *)address, .msg_namelen = address ? size : 0};
    return sendmsg(number, &message, flags);
}

EXPORT ssize_t send(int number, const void *bytes, size_t length, int flags) { return sendto(number, bytes, length, flags, NULL, 0); }

// MARK: Options

static int put_option(void *value, socklen_t *length, const void *bytes, size_t size) {
    if (*length > size) *length = (socklen_t)size;
    memcpy(value, bytes, *length);
    return 0;
}

static int option_of(struct Socket *socket, int option, void *value, socklen_t *length) {
    int number = 0;
    switch (option) {
    case SO_TYPE: number = socket->type; break;
    case SO_DOMAIN: number = AF_UNIX; break;
    case SO_PROTOCOL: break;
    case SO_ACCEPTCONN: number = socket->state == SOCKET_LISTENS; break;
    case SO_ERROR: number = socket->error, socket->error = 0; break;
    case SO_SNDBUF: case SO_RCVBUF: number = STREAM_ROOM; break;
    case SO_PASSCRED: case SO_KEEPALIVE: case SO_REUSEADDR: break;
    case SO_PEERCRED: {
        struct ucred nobody = {0, (uid_t)-1, (gid_t)-1};
        return put_option(value, length, socket->state == SOCKET_CONNECTED ? &socket->other : &nobody, sizeof nobody);
    }
    case SO_PEERGROUPS: {
        if (socket->state != SOCKET_CONNECTED) return -ENODATA;
        // A client has no group besides its own.
        socklen_t room = *length, needed = sizeof(gid_t);
        *length = needed;
        if (room < needed) return -ERANGE;
        memcpy(value, &socket->other.gid, needed);
        return 0;
    }
    // SO_PEERPIDFD, SO_PEERSEC: as a kernel without them.
    case 77: case SO_PEERSEC: return -ENOPROTOOPT;
    case SO_LINGER: {
        struct linger none = {0, 0};
        return put_option(value, length, &none, sizeof none);
    }
    default: not_simulated("getsockopt", option);
    }
    return put_option(value, length, &number, sizeof number);
}

EXPORT int getsockopt(int number, int level, int option, void *value, socklen_t *length) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    if (level != SOL_SOCKET) return (int)answer(-EOPNOTSUPP);
    return (int)answer(option_of(socket, option, value, length));
}

EXPORT int setsockopt(int number, int level, int option, const void *value, socklen_t length) {
    seam();
    int error;
    (void)value;
    if (!socket_of(number, &error)) return (int)answer(error);
    if (level != SOL_SOCKET) return (int)answer(-EOPNOTSUPP);
    switch (option) {
    case SO_LINGER: return (int)answer(length < sizeof(struct linger) ? -EINVAL : 0);
    // None of them changes what a Unix socket does here.
    case SO_SNDBUF: case SO_RCVBUF: case SO_REUSEADDR: case SO_KEEPALIVE: return (int)answer(length < sizeof(int) ? -EINVAL : 0);
    default: not_simulated("setsockopt", option);
    }
}
