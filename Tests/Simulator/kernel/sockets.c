// Unix sockets: their states, who listens where, how connections come and go. messages.c moves the bytes.
#include "streams.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>

static struct Socket *listeners;

static ssize_t read_socket(struct Open *open, void *bytes, size_t length) {
    struct Open *opens[PASSED_MOST];
    int count = 0;
    if (!length) return 0;
    ssize_t got = socket_receive(open->object, bytes, length, 0, opens, &count);
    // Whoever reads without asking for descriptors loses them.
    for (int i = 0; i < count; i++) open_release(opens[i]);
    return got;
}

static ssize_t write_socket(struct Open *open, const void *bytes, size_t length) {
    return socket_send(open->object, bytes, length, 0, NULL, 0);
}

// As unix_poll of Linux.
static unsigned socket_ready(struct Open *open) {
    struct Socket *socket = open->object;
    if (socket->state == SOCKET_LISTENS) return socket->first ? EPOLLIN | EPOLLRDNORM : 0;
    unsigned ready = 0;
    if (socket->error) ready |= EPOLLERR;
    if (socket->ends_in && socket->ends_out) ready |= EPOLLHUP;
    if (socket->ends_in) ready |= EPOLLRDHUP | EPOLLIN | EPOLLRDNORM;
    if (socket->in.length) ready |= EPOLLIN | EPOLLRDNORM;
    if (socket->state == SOCKET_NEW && socket->type == SOCK_STREAM) ready |= EPOLLHUP;
    // Linux counts a socket as writable while three quarters of its room are free. A client's window has none of that.
    bool has_room = socket->has_client ? socket->window > 0 : !socket->peer || socket->peer->in.length * 4 <= STREAM_ROOM;
    // Nobody is left to make room.
    if (has_room || socket->ends_out) ready |= EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
    return ready;
}

static void socket_free(struct Socket *socket) {
    stream_end(&socket->in);
    free(socket);
}

// The other end's process sees this end go.
static void part(struct Socket *socket) {
    struct Socket *peer = socket->peer;
    bool is_unread = socket->in.length > 0 || !socket->open;
    if (socket->has_client) {
        if (!socket->is_told || is_unread) client_told(socket, is_unread ? 2 : 1);
        client_remove(socket);
    }
    if (!peer) return;
    socket->peer = peer->peer = NULL;
    peer->ends_in = peer->ends_out = true;
    if (is_unread) peer->error = ECONNRESET;
    open_changed(peer->open, ENDING);
}

static void socket_closed(struct Open *open) {
    struct Socket *socket = open->object, *peer = socket->peer;
    for (struct Socket **at = &listeners; *at; at = &(*at)->next_listener) {
        if (*at != socket) continue;
        *at = socket->next_listener;
        break;
    }
    while (socket->first) {
        struct Socket *waiting = socket->first;
        socket->first = waiting->next;
        part(waiting);
        socket_free(waiting);
    }
    // An end that nobody has, and nobody will.
    bool is_orphan = peer && peer->is_nobodys;
    part(socket);
    if (is_orphan) socket_free(peer);
    socket_free(socket);
}

const struct Operations socket_operations = {"socket", read_socket, write_socket, socket_ready, socket_closed};

struct Socket *socket_made(int type) {
    struct Socket *made = calloc(1, sizeof *made);
    made->type = type;
    return made;
}

struct Open *socket_opened(struct Socket *socket, int flags) {
    return socket->open = open_make(&socket_operations, socket, O_RDWR | (flags & SOCK_NONBLOCK ? O_NONBLOCK : 0));
}

void sockets_joined(struct Socket *first, struct Socket *second) {
    first->peer = second, second->peer = first;
    first->state = second->state = SOCKET_CONNECTED;
    first->other = second->other = (struct ucred){process_number(), 1000, 1000};
}

struct Socket *socket_of(int number, int *error) {
    struct Open *open = descriptor(number);
    *error = !open ? -EBADF : open->operations != &socket_operations ? -ENOTSOCK : 0;
    return *error ? NULL : open->object;
}

// Who listens under a name: by the file's inode, since the daemon renames what it has bound; abstract names by themselves.
struct Socket *listener_of(const char *name, int length, uint32_t uid, uint32_t gid, int *error) {
    int inode = name[0] ? disk_socket_at(name, uid, gid) : 0;
    if ((*error = inode < 0 ? inode : 0)) return NULL;
    for (struct Socket *each = listeners; each; each = each->next_listener) {
        if (name[0] ? each->inode != inode : each->name_length != length || memcmp(each->name, name, (size_t)length) != 0) continue;
        return each;
    }
    *error = -ECONNREFUSED;
    return NULL;
}

void listener_add(struct Socket *listener, struct Socket *connection) {
    memcpy(connection->name, listener->name, sizeof listener->name);
    connection->name_length = listener->name_length;
    connection->state = SOCKET_CONNECTED;
    connection->next = NULL;
    if (listener->first) listener->last->next = connection;
    else listener->first = connection;
    listener->last = connection;
    listener->waiting++;
    open_changed(listener->open, EPOLLIN);
}

// MARK: What programs ask

EXPORT int socket(int domain, int type, int protocol) {
    seam();
    int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (domain != AF_UNIX) not_simulated("socket", domain);
    if (kind != SOCK_STREAM && kind != SOCK_DGRAM) not_simulated("socket", type);
    if (protocol && protocol != AF_UNIX) return (int)answer(-EPROTONOSUPPORT);
    int error = fault_for(CALL_SOCKET, "socket", NULL);
    if (error) return (int)answer(error);
    struct Open *open = socket_opened(socket_made(kind), type);
    int number = descriptor_install(open, 0, type & SOCK_CLOEXEC);
    if (number < 0) open_release(open);
    return (int)answer(number);
}

// The name within an address, its zero included; how long it is, or -errno.
static int name_in(const struct sockaddr *address, socklen_t size, char name[109]) {
    const struct sockaddr_un *from = (const struct sockaddr_un *)address;
    int length = (int)size - (int)offsetof(struct sockaddr_un, sun_path);
    if (length < 0 || length > (int)sizeof from->sun_path || from->sun_family != AF_UNIX) return -EINVAL;
    memset(name, 0, 109);
    memcpy(name, from->sun_path, (size_t)length);
    // A path ends with its zero, which may be left out. An abstract name ends with the address.
    return name[0] ? (int)strlen(name) + 1 : length;
}

static int bind_to(struct Socket *socket, const struct sockaddr *address, socklen_t size) {
    char name[109];
    int length = name_in(address, size, name), error;
    if (length < 0) return length;
    if (!length) not_simulated("bind", 0);
    if ((error = fault_for(CALL_SOCKET, name, NULL))) return error;
    if (socket->name_length) return -EINVAL;
    if (!name[0]) {
        if (listener_of(name, length, 1000, 1000, &error)) return -EADDRINUSE;
    } else {
        if ((error = disk_socket(name, 0777)) < 0) return error;
        // Root finds it, whatever the umask has left of its mode.
        socket->inode = disk_socket_at(name, 0, 0);
    }
    memcpy(socket->name, name, sizeof name);
    socket->name_length = length;
    return 0;
}

EXPORT int bind(int number, const struct sockaddr *address, socklen_t size) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    // A fault may hand the baton over: another thread must not close it under this one.
    struct Open *held = socket->open;
    held->references++;
    error = bind_to(socket, address, size);
    open_release(held);
    return (int)answer(error);
}

EXPORT int listen(int number, int backlog) {
    seam();
    int error = fault_for(CALL_SOCKET, "listen", NULL);
    if (error) return (int)answer(error);
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    if (socket->type != SOCK_STREAM) return (int)answer(-EOPNOTSUPP);
    if (!socket->name_length || socket->state == SOCKET_CONNECTED) return (int)answer(-EINVAL);
    // net.core.somaxconn
    socket->backlog = backlog < 0 || backlog > 4096 ? 4096 : backlog;
    if (socket->state == SOCKET_LISTENS) return 0;
    socket->state = SOCKET_LISTENS;
    socket->next_listener = listeners;
    listeners = socket;
    return 0;
}

static void put_address(const struct Socket *socket, struct sockaddr *address, socklen_t *size) {
    struct sockaddr_un whole = {.sun_family = AF_UNIX};
    int length = socket ? socket->name_length : 0;
    memcpy(whole.sun_path, socket && length ? socket->name : "", (size_t)(length < 108 ? length : 108));
    socklen_t full = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    memcpy(address, &whole, *size < full ? *size : full);
    *size = full;
}

static bool has_free_number(void) {
    for (int number = 0; number < descriptor_limit(0); number++) {
        if (!descriptor(number)) return true;
    }
    return false;
}

static long accept_next(int number, struct sockaddr *address, socklen_t *size, int flags) {
    int error;
    struct Socket *listener = socket_of(number, &error);
    if (!listener) return error;
    if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) return -EINVAL;
    if (listener->type != SOCK_STREAM) return -EOPNOTSUPP;
    if (listener->state != SOCKET_LISTENS) return -EINVAL;
    if ((error = fault_for(CALL_SOCKET, listener->name, NULL))) return error;
    // As Linux: the number is taken before anybody looks whether a connection waits. It is looked for again after each wait,
    // because others may have taken it.
    while (true) {
        if (!has_free_number()) return -EMFILE;
        if (listener->first) break;
        if (listener->open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    struct Socket *taken = listener->first;
    struct Open *open = socket_opened(taken, flags);
    int result = descriptor_install(open, 0, flags & SOCK_CLOEXEC);
    if (result < 0) not_simulated("accept4", result);
    listener->first = taken->next;
    listener->waiting--;
    if (taken->has_client) report(REPORT_ACCEPTED, &taken->client, 4);
    if (address) put_address(taken->peer, address, size);
    // Whoever waits in connect for room in the backlog.
    readiness_changed();
    return result;
}

EXPORT int accept4(int number, struct sockaddr *address, socklen_t *size, int flags) {
    seam();
    struct Open *held = descriptor(number);
    if (held) held->references++;
    long result = accept_next(number, address, size, flags);
    if (held) open_release(held);
    return (int)answer(result);
}

EXPORT int accept(int number, struct sockaddr *address, socklen_t *size) { return accept4(number, address, size, 0); }

static long connect_to(struct Socket *socket, const char *name, int length) {
    int error = fault_for(CALL_SOCKET, name, NULL);
    if (error) return error;
    while (true) {
        struct Socket *listener = listener_of(name, length, 1000, 1000, &error);
        if (!listener) return error;
        if (socket->type != listener->type) return -EPROTOTYPE;
        if (socket->state == SOCKET_CONNECTED) return -EISCONN;
        if (socket->state == SOCKET_LISTENS) return -EINVAL;
        if (listener->waiting <= listener->backlog) {
            struct Socket *end = socket_made(SOCK_STREAM);
            sockets_joined(socket, end);
            listener_add(listener, end);
            open_changed(socket->open, ENDING);
            return 0;
        }
        if (socket->open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
}

EXPORT int connect(int number, const struct sockaddr *address, socklen_t size) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    char name[109];
    int length = name_in(address, size, name);
    if (length <= 0) return (int)answer(length ? length : -EINVAL);
    struct Open *held = socket->open;
    held->references++;
    long result = connect_to(socket, name, length);
    open_release(held);
    return (int)answer(result);
}

EXPORT int getsockname(int number, struct sockaddr *address, socklen_t *size) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (socket) put_address(socket, address, size);
    return (int)answer(error);
}

EXPORT int getpeername(int number, struct sockaddr *address, socklen_t *size) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    if (socket->state != SOCKET_CONNECTED) return (int)answer(-ENOTCONN);
    put_address(socket->peer, address, size);
    return 0;
}

EXPORT int shutdown(int number, int how) {
    seam();
    int error;
    struct Socket *socket = socket_of(number, &error);
    if (!socket) return (int)answer(error);
    if (how < SHUT_RD || how > SHUT_RDWR) return (int)answer(-EINVAL);
    if (socket->state == SOCKET_LISTENS) not_simulated("shutdown", how);
    if (socket->state != SOCKET_CONNECTED) return (int)answer(-ENOTCONN);
    bool reads = how != SHUT_WR, writes = how != SHUT_RD;
    bool is_new = (reads && !socket->ends_in) || (writes && !socket->ends_out);
    socket->ends_in |= reads, socket->ends_out |= writes;
    if (socket->has_client && is_new) client_told(socket, socket->ends_in && socket->ends_out ? 1 : reads ? 3 : 0);
    if (socket->peer) {
        socket->peer->ends_in |= writes, socket->peer->ends_out |= reads;
        open_changed(socket->peer->open, ENDING);
    }
    open_changed(socket->open, ENDING);
    return 0;
}
