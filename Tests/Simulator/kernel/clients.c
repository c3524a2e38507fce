// The other ends of connections that the controller has: what clients do, and what they pass.
#include "streams.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { BUCKETS = 1024, LARGE = 1 << 20, USUAL = 1024 };
static struct Socket *clients[BUCKETS];

struct Socket *client_of(uint32_t number) {
    struct Socket *each = clients[number % BUCKETS];
    while (each && each->client != number) each = each->next_client;
    return each;
}

void client_add(struct Socket *socket) {
    struct Socket **bucket = &clients[socket->client % BUCKETS];
    socket->next_client = *bucket;
    *bucket = socket;
}

void client_remove(struct Socket *socket) {
    struct Socket **at = &clients[socket->client % BUCKETS];
    while (*at && *at != socket) at = &(*at)->next_client;
    if (*at) *at = socket->next_client;
}

void client_told(struct Socket *socket, int how) {
    struct __attribute__((packed)) { uint32_t client; uint8_t how; } told = {socket->client, (uint8_t)how};
    if (how == 1 || how == 2) socket->is_told = true;
    report(REPORT_CLOSED, &told, sizeof told);
}

void connection_open(uint32_t number, const char *path, uint32_t uid, uint32_t gid, uint32_t pid, uint32_t window) {
    int error;
    struct Socket *listener = listener_of(path, (int)strlen(path) + 1, uid, gid, &error);
    // A client that does not wait is refused as well when the backlog is full.
    if (!listener || listener->waiting > listener->backlog) return report(REPORT_REFUSED, &number, sizeof number);
    struct Socket *made = socket_made(SOCK_STREAM);
    made->has_client = true;
    made->client = number;
    made->window = window;
    made->other = (struct ucred){(pid_t)pid, uid, gid};
    client_add(made);
    listener_add(listener, made);
}

void connection_bytes(uint32_t number, const void *bytes, size_t length, const int *kinds, int count) {
    struct Socket *socket = client_of(number);
    struct Open *opens[PASSED_MOST];
    if (count > PASSED_MOST) not_simulated("connection_bytes", count);
    for (int i = 0; i < count; i++) opens[i] = passed_made(kinds[i]);
    // Nobody reads them any more: the client has got EPIPE.
    if (!socket || socket->ends_in) {
        for (int i = 0; i < count; i++) open_release(opens[i]);
        return;
    }
    stream_put(&socket->in, bytes, length, opens, count);
    open_changed(socket->open, EPOLLIN);
}

void connection_window(uint32_t number, uint64_t bytes) {
    struct Socket *socket = client_of(number);
    if (!socket) return;
    socket->window += bytes;
    open_changed(socket->open, EPOLLOUT);
}

void connection_ends(uint32_t number, int how) {
    struct Socket *socket = client_of(number);
    if (!socket) return;
    socket->ends_in = true;
    if (how > 0) socket->ends_out = true;
    if (how > 1) socket->error = ECONNRESET;
    open_changed(socket->open, ENDING);
}

// MARK: What they pass

static struct Open *file(size_t length, int flags) {
    char *bytes = malloc(length + 1);
    draw_bytes(bytes, length);
    struct Open *made = flags < 0 ? disk_sealed(bytes, length) : disk_unnamed(bytes, length, flags);
    free(bytes);
    return made;
}

// In the order in which they were given.
static struct Open *given[64];
static int given_count;

void passed_give(const void *bytes, size_t length) {
    if (given_count == 64) not_simulated("files that are given", given_count);
    given[given_count++] = disk_unnamed(bytes, length, O_RDONLY);
}

static struct Open *taken(void) {
    if (given_count == 0) not_simulated("a file that is not given", 0);
    struct Open *first = given[0];
    memmove(given, given + 1, (size_t)--given_count * sizeof *given);
    return first;
}

struct Open *passed_made(int kind) {
    switch ((enum PassedKind)kind) {
    case PASSED_FILE: return file(USUAL, O_RDWR);
    case PASSED_EMPTY: return file(0, O_RDWR);
    case PASSED_SEALED: return file(USUAL, -1);
    case PASSED_DIRECTORY: return disk_opened("/", O_RDONLY | O_DIRECTORY);
    case PASSED_SILENT_PIPE: return pipe_of_client(false, NULL, 0, true);
    case PASSED_BROKEN_PIPE: return pipe_of_client(true, NULL, 0, false);
    case PASSED_LARGE: return file(LARGE, O_RDONLY);
    case PASSED_WRITE_ONLY: return file(USUAL, O_WRONLY);
    case PASSED_SOCKET: {
        struct Socket *socket = socket_made(SOCK_STREAM), *silent = socket_made(SOCK_STREAM);
        struct Open *made = socket_opened(socket, 0);
        sockets_joined(socket, silent);
        silent->is_nobodys = true;
        return made;
    }
    case PASSED_PIPE: {
        char bytes[PIPE_ROOM];
        draw_bytes(bytes, sizeof bytes);
        return pipe_of_client(false, bytes, sizeof bytes, false);
    }
    case PASSED_GIVEN: return taken();
    case PASSED_KINDS: break;
    }
    not_simulated("passed descriptor", kind);
}
