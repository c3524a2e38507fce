// System calls that the Glibc module map leaves out, and what macros and variadics hide from Swift.
// Every function is a plain system call under its own name: nothing here decides anything. The bodies are in
// CSyscalls.c, since a module may not define _GNU_SOURCE under Glibc's feet.
// First what the clients' modules need, on Linux and Darwin, then what is Linux's alone.
#ifndef KURA_CSYSCALLS_H
#define KURA_CSYSCALLS_H
#include <stddef.h>
#include <stdint.h>

/// Most descriptors that one message can carry (SCM_MAX_FD).
enum { CSYS_MAX_DESCRIPTORS = 253 };

/// What the program was called with, its name first and NULL last, as the loader told it; NULL where that does not tell.
char **csys_arguments(void);
int csys_fcntl(int descriptor, int command, long argument);
int csys_close(int descriptor);
/// `how`: SHUT_RD, SHUT_WR or SHUT_RDWR.
int csys_shutdown(int socket, int how);
/// A stream socket of the family AF_UNIX, close-on-exec; -1 with errno.
int csys_stream_socket(void);
/// Has sending to an end that is gone fail and raise no SIGPIPE, where that is the socket's to say (SO_NOSIGPIPE of Darwin); elsewhere
/// each `csys_send` says so. 0, or -1 with errno.
int csys_no_pipe_signal(int socket);
/// Connects to a path in the file system; -1 with ENAMETOOLONG when it does not fit into sun_path.
int csys_connect_unix(int socket, const char *path);
/// The user at the other end of a connected Unix socket, as of its listen(2) (SO_PEERCRED, getpeereid(3)); 0, or -1 with errno.
int csys_peer_user(int socket, uint32_t *uid);
/// A file's mode and owner, without `follow` those of a symbolic link itself; 0, or -1 with errno.
int csys_mode(const char *path, uint32_t *mode, uint32_t *uid, int follow);
/// Sends bytes, without waiting and without SIGPIPE; send's return value.
long csys_send(int socket, const void *bytes, size_t length);
/// The same with one descriptor beside them (SCM_RIGHTS); sendmsg's return value.
long csys_send_descriptor(int socket, const void *bytes, size_t length, int descriptor);
/// recvmsg into one buffer; descriptors that came along are put into `descriptors` (room for at least `capacity`, and at
/// least 2), already close-on-exec. The kernel closes what is beyond `capacity` (at most 253, SCM_MAX_FD) by itself.
/// `*descriptor_count` tells how many, `*flags` carries MSG_CTRUNC.
long csys_recvmsg(int socket, void *buffer, size_t length, int *descriptors, int capacity, int *descriptor_count,
                                int *flags);
/// Bytes that have come over a socket and were not read (FIONREAD); -1 with errno.
int csys_unread(int socket);
int csys_set_thread_name(const char *name);
/// Pages of memory, zeros, for at least `bytes` (mmap(2)); NULL when there are none.
void *csys_map(size_t bytes);
/// The same pages with others behind them or without the last ones, perhaps at another place (mremap(2)); NULL when that fails.
void *csys_remap(void *pages, size_t bytes, size_t wanted);
/// Gives pages back (munmap(2)).
void csys_unmap(void *pages, size_t bytes);
/// Writes zeros, which no compiler takes for writing what nobody reads (explicit_bzero(3), memset_s of Darwin).
void csys_wipe(void *bytes, size_t length);
/// CRC-32C of the bytes, going on from `crc` (0 at first). The processor's own instruction where there is one.
/// Source: RFC 3720, appendix B.4.
uint32_t csys_crc32c(uint32_t crc, const void *bytes, size_t length);
/// Asks for the cache line at `address`; a hint, never a fault. Not a system call, but as far from Swift.
static inline void csys_prefetch(const void *address) { __builtin_prefetch(address); }
/// Where printable ASCII but quote and backslash ends: the first such byte at or behind `at`, or `end`. Sixteen bytes at a time.
static inline size_t csys_plain_end(const unsigned char *text, size_t at, size_t end) {
#ifdef __SSE2__
    typedef signed char bytes __attribute__((vector_size(16)));
    while (at < end) {
        // The last ones together with what stands before them, so that nothing behind the text is read.
        size_t left = end - at, from = left >= 16 ? at : end - 16;
        if (left < 16 && end < 16) break;
        bytes some, stop;
        __builtin_memcpy(&some, text + from, 16);
        // Signed: what is 0x80 and above is below 0x20.
        stop = (bytes)(some < 0x20) | (bytes)(some == '"') | (bytes)(some == '\\') | (bytes)(some == 0x7F);
        unsigned found = (unsigned)__builtin_ia32_pmovmskb128(stop) >> (at - from);
        if (found) return at + (size_t)__builtin_ctz(found);
        at = from + 16;
    }
#endif
    while (at < end && text[at] >= 0x20 && text[at] < 0x7F && text[at] != '"' && text[at] != '\\') at++;
    return at;
}

// As in CSyscalls.c.
#ifdef __linux__
/// epoll_ctl(2)'s numbers.
enum {
    CSYS_EPOLL_ADD = 1, CSYS_EPOLL_DELETE = 2, CSYS_EPOLL_MODIFY = 3,
    CSYS_EPOLL_IN = 1, CSYS_EPOLL_OUT = 4, CSYS_EPOLL_ERROR = 8, CSYS_EPOLL_HANGUP = 16, CSYS_EPOLL_READ_HANGUP = 0x2000
};
/// open(2)'s O_PATH.
#define CSYS_OPEN_PATH 010000000

/// fcntl(2)'s F_GETPIPE_SZ, which only pipes answer.
#define CSYS_GET_PIPE_SIZE 1032
/// fcntl(2)'s F_SETPIPE_SZ, in bytes.
#define CSYS_SET_PIPE_SIZE 1031

int csys_open(const char *path, int flags, unsigned mode);
int csys_openat(int directory, const char *path, int flags, unsigned mode);
/// openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; -1 with errno, ENOSYS before Linux 5.6.
int csys_openat2_beneath(int directory, const char *path, int flags, unsigned mode);
/// renameat2(2) with RENAME_NOREPLACE: 0, or -1 with errno; EEXIST when the name is taken, EINVAL where the file system cannot tell, ENOSYS before Linux 3.15.
int csys_rename_new(int from, const char *name, int to, const char *new_name);
/// Whether a directory is where something is mounted, of the same file system too: 1 or 0, -1 with errno. A kernel that does not tell (STATX_ATTR_MOUNT_ROOT of
/// statx(2), Linux 5.8) has it judged by the file system's number, which shows another one only.
int csys_is_mount_point(int descriptor);
int csys_accept4(int descriptor, int flags);
/// Both close-on-exec, the eventfd non-blocking; -1 with errno.
int csys_epoll_create(void);
int csys_eventfd(void);
int csys_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);
/// Fills `tokens` and `events`, both `capacity` long; the return value is epoll_wait's.
int csys_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int capacity, int timeout);
/// What a receive would bring of bytes, which stay there; `*flags` has MSG_CTRUNC when descriptors come with them. recvmsg's return value.
long csys_peek(int socket, void *buffer, size_t length, int *flags);
/// Peer's process, user and group ids of a connected Unix socket (SO_PEERCRED). 0 or -1 with errno.
int csys_peer(int socket, int32_t *pid, uint32_t *uid, uint32_t *gid);
/// Numbers of the peer's supplementary groups (SO_PEERGROUPS): `*count` is the room and then how many there are; -1 with ERANGE
/// when they do not fit, and `*count` tells how many there are then too.
int csys_peer_groups(int socket, uint32_t *groups, int *count);
/// Binds to a path in the file system, as `csys_connect_unix` connects.
int csys_bind_unix(int socket, const char *path);
/// Sends a datagram to a path, or with `@` in front to an abstract name; sendto's return value.
long csys_notify(int socket, const char *name, const void *bytes, size_t length);
/// The file system's magic number, or -1 with errno.
long csys_file_system_type(const char *path);
/// The same of an open descriptor. May wait for whoever serves the file system.
long csys_file_system_of(int descriptor);
/// Lowest scheduling class for the calling thread: it runs when nobody else wants the core.
int csys_schedule_batch(void);
int csys_gettid(void);
int csys_set_thread_nice(int nice);
int csys_raise_descriptor_limit(uint64_t *limit);
/// Blocks the signals that the daemon reads from a descriptor and returns that signalfd; -1 with errno.
int csys_signal_descriptor(void);
/// The next pending signal's number, 0 when there is none.
int csys_next_signal(int descriptor);
/// Nobody but root reads this process's memory or traces it, and it leaves no core (PR_SET_DUMPABLE 0).
int csys_set_no_dump(void);
/// No core dumps (RLIMIT_CORE 0).
int csys_set_no_core(void);
/// Has the descriptors 0 to 2 be open, those that a program was started without too: nothing that is opened later gets their numbers, and with them what is
/// meant for people.
void csys_hold_standard_descriptors(void);
/// The process's own terminal for reading and writing; -1 with errno.
int csys_open_terminal(void);
/// Columns of the terminal behind the descriptor (TIOCGWINSZ); 0 when it is none or does not tell.
int csys_terminal_columns(int descriptor);
/// A pipe, closed by programs that take this one's place: its reading end, then its writing one; 0, or -1 with errno.
int csys_pipe(int ends[2]);
/// Whether the kernel says that its clock is kept in step (adjtimex(2)).
int csys_clock_is_synchronised(void);
/// The process's environment, for programs that it starts.
char *const *csys_environment(void);
/// Rows of the same terminal; 0 when it does not tell.
int csys_terminal_rows(int descriptor);
/// Whether the other end of a Unix socket has not read all that was sent to it (SIOCOUTQ); 0 where the kernel does not tell.
int csys_has_unread(int socket);
/// A TCP socket that listens on a loopback address (127.0.0.0/8 or ::1, as text); -1 with errno, EADDRNOTAVAIL for any other address.
int csys_listen_loopback(const char *address, unsigned short port);
/// The port that a TCP socket is bound to; 0 when it is none.
unsigned short csys_local_port(int socket);
/// Has the kernel begin to write a file's dirty pages, without waiting for them (sync_file_range(2)): no sync.
int csys_begin_writing(int descriptor);
/// A file in memory (memfd_create(2)) that programs which take this one's place inherit; -1 when there is none to have.
int csys_memory_file(const char *name);
/// The same, closed by programs that take this one's place.
int csys_private_memory_file(const char *name);
/// A file without a name in the directory that `path` leads to from `directory` (O_TMPFILE of open(2)), open for reading and writing; -1 with errno.
int csys_unnamed_file(int directory, const char *path, unsigned mode);
/// Gives what a descriptor has open a name, which is not taken (linkat(2)); `path` leads from `directory`. 0, or -1 with errno, ENOENT also when there is
/// no /proc.
int csys_name_file(int descriptor, int directory, const char *path);
/// Has SIGINT, SIGTERM, SIGHUP and SIGPIPE, where they end the process, remove a name in a directory first, which stays open; it ends by them all the same.
/// NULL takes that back. 0; -1 when there is another one already, or no memory.
int csys_unlink_when_ended(int directory, const char *name);
/// What a descriptor has open, opened once more for reading; -1 with errno, ENOENT when there is no /proc.
int csys_reopen_for_reading(int descriptor);
/// Has `target`, an empty file, share the blocks of `source` (FICLONE of ioctl_ficlone(2)); 0, or -1 with errno where the file system cannot.
int csys_clone_file(int source, int target);
/// Where data begins at `offset` or behind it, and where it ends (SEEK_DATA and SEEK_HOLE of lseek(2)). The first is -1 with errno, ENXIO when only a hole
/// follows; a file system that does not know holes has data alone. The descriptor's place is another one then.
int64_t csys_data_at(int descriptor, int64_t offset);
int64_t csys_hole_at(int descriptor, int64_t offset);
/// Nobody can change the file in memory any more (F_ADD_SEALS of fcntl(2)); 0, or -1.
int csys_seal_memory_file(int descriptor);
/// Gives back to the system what the heap does not use (malloc_trim(3)).
void csys_trim_heap(void);
/// Blocks of `bytes` and more are given back when they are freed (M_MMAP_THRESHOLD of mallopt(3)), however many there have been.
void csys_give_back_blocks(int bytes);
/// What the handler of `csys_note_traps` writes: how a process has ended by a fault of its own.
typedef struct {
    char magic[8];
    uint32_t format;
    uint32_t signal;
    /// Milliseconds since 1970.
    int64_t at;
    /// Milliseconds since the process began to serve; -1 before that.
    int64_t served;
    /// What the thread was at (`csys_at_work`).
    uint64_t rev;
    uint32_t work;
    char thread[16];
    /// CRC-32C of everything before it.
    uint32_t sum;
    /// No start has read it yet.
    uint32_t isNew;
} csys_trap;
#define CSYS_TRAP_MAGIC "KURATRAP"
/// Has SIGILL, SIGTRAP, SIGSEGV, SIGBUS and SIGABRT write a `csys_trap` to the front of a file, unless another process has sent them. Then they do
/// what they did before. Once in a process, which keeps the descriptor open; the calling thread gets a stack for signals. 0, or -1 with errno.
int csys_note_traps(int descriptor);
/// The process serves from now on.
void csys_traps_serving(void);
/// What the calling thread does from now on, and to which revision: two plain stores.
void csys_at_work(uint32_t kind, uint64_t rev);
/// The revision that the calling thread has given last.
uint64_t csys_work_rev(void);
/// Ends the process by a fault, for tests.
void csys_end_in_trap(void) __attribute__((noreturn));
#endif // __linux__
#endif
