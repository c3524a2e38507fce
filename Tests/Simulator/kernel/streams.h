// Queues of bytes between two ends: what sockets.c, pipes.c and passed.c share.
#pragma once
#include "kernel.h"
#include <sys/socket.h>

// Descriptors that go along with the bytes from `at` to `end`, counted from the first byte of all.
struct Passed {
    uint64_t at, end;
    struct Passed *next;
    int count;
    struct Open *opens[];
};

struct Stream {
    unsigned char *bytes;
    size_t start, length, capacity;
    size_t arrived;                        // of `length`: what a reader can see; the rest is on its way
    uint64_t taken;                        // bytes that were read before
    struct Passed *first, *last;
};

enum {
    STREAM_PIECE = 36544,                  // what one buffer of Linux holds; descriptors go with the first
    STREAM_ROOM = 212992,                  // net.core.wmem_default
    PIPE_ROOM = 65536, PIPE_PAGE = 4096,
    PASSED_MOST = 253,                     // SCM_MAX_FD
};

// Takes over the references.
void stream_put(struct Stream *, const void *bytes, size_t length, struct Open *const *opens, int count);
// How many bytes a reader who asks now can see; above 0 unless it is empty.
size_t stream_arrived(struct Stream *);
// Hands over references to what came along; `peeks` leaves all as it is, and the references are further ones.
size_t stream_take(struct Stream *, void *bytes, size_t length, bool peeks, struct Open **opens, int *count);
void stream_end(struct Stream *);

// What Linux tells of an end that has come: all that it may be.
#define ENDING (~0u)

struct Socket {
    int type;                              // SOCK_STREAM or SOCK_DGRAM
    enum { SOCKET_NEW, SOCKET_LISTENS, SOCKET_CONNECTED } state;
    struct Open *open;                     // NULL while it waits to be accepted
    struct Stream in;
    struct Socket *peer;                   // the other end, within the process
    bool has_client;                       // the other end is the controller's
    bool is_told;                          // the client knows that this end is gone
    bool is_nobodys;                       // no process has this end; it goes with the other
    bool ends_in, ends_out;                // RCV_SHUTDOWN, SEND_SHUTDOWN
    int error;                             // SO_ERROR
    uint32_t client;
    uint64_t window;                       // what the client still reads
    struct ucred other;                    // who is at the other end
    char name[109];                        // sun_path; of the listener for those that it has accepted
    int name_length;                       // 0: not bound
    int inode;
    int backlog, waiting;
    struct Socket *first, *last;           // connections that wait to be accepted
    struct Socket *next;                   // behind this one in the backlog
    struct Socket *next_listener, *next_client;
};

extern const struct Operations socket_operations, pipe_reader, pipe_writer;
struct Socket *socket_made(int type);
struct Open *socket_opened(struct Socket *, int flags);
void sockets_joined(struct Socket *, struct Socket *);
// The socket of a descriptor; NULL with *error.
struct Socket *socket_of(int number, int *error);
struct Socket *listener_of(const char *name, int length, uint32_t uid, uint32_t gid, int *error);
void listener_add(struct Socket *listener, struct Socket *connection);
struct Socket *client_of(uint32_t number);
void client_add(struct Socket *);
void client_remove(struct Socket *);
void client_told(struct Socket *, int how);
bool socket_waits_not(const struct Socket *, int flags);
ssize_t socket_receive(struct Socket *, void *, size_t, int flags, struct Open **opens, int *count);
ssize_t socket_send(struct Socket *, const void *, size_t, int flags, struct Open *const *opens, int count);

// A pipe: `ends[0]` reads.
void pipe_made(struct Open *ends[2], int flags);
struct Open *pipe_of_client(bool daemon_writes, const void *bytes, size_t length, bool holds);
int pipe_unread(struct Open *);
// What a client has passed.
struct Open *passed_made(int kind);
