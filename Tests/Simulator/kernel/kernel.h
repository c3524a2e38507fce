// The simulated kernel: what the daemon asks of Linux is answered out of memory, and every choice is the seed's.
//
// It is loaded before the C library (LD_PRELOAD) of the daemon as it is shipped. Threads stay threads, but one of them
// runs at a time: who has the baton. It is handed over at seams, which are the calls below and nothing else.
//
//   random.c       every choice                     files.c        names and descriptors of files, over disk.c
//   baton.c        threads, who runs, waits         sockets.c      connections, as two byte queues each
//   locks.c        mutexes, semaphores, futexes     events.c       epoll, poll, eventfd, signalfd, timerfd
//   clock.c        the clocks and sleeping          environment.c  who and where the process is
//   signals.c      signals, remembered and sent     dispatch.c     syscall(2)
//   passed.c       descriptors that clients pass    streams.c      queues of bytes, pipes
//   disk.c         files, what is synced, cuts      control.c      orders of the controller, reports to it
//   descriptors.c  numbers of what is open          faults.c       which call goes wrong
//
// Inside, a call that fails returns -errno; `answer` makes of it what C programs expect.
#pragma once
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))
#define FOREVER INT64_MAX
typedef int64_t nanoseconds;

// Descriptors of the real kernel that the controller has opened. What the daemon sees is below `REAL_DESCRIPTORS`.
enum { REAL_DESCRIPTORS = 1000, TRACE_DESCRIPTOR = 1020, DISK_DESCRIPTOR = 1021, CONTROL_DESCRIPTOR = 1022 };

// Where the disk lies in memory: the same place in each process, so that it outlives them with its pointers.
#define DISK_ADDRESS ((void *)0x200000000000)

// The first call of all, from whichever of them comes first; later ones do nothing.
void kernel_start(void);
// A call that reaches the real kernel. Returns -errno.
long real_call(long number, long a, long b, long c, long d, long e, long f);
// What nobody has thought of. It tells the controller and ends the process, so that nothing real is ever reached by mistake.
_Noreturn void not_simulated(const char *call, long detail);

static inline long answer(long result) {
    if (result >= 0) return result;
    errno = (int)-result;
    return -1;
}

// random.c
void random_begin(uint64_t seed);
uint64_t draw(void);
uint64_t draw_below(uint64_t bound);       // bound > 0
bool draw_permille(unsigned permille);
void draw_bytes(void *bytes, size_t length);

// baton.c
struct Thread;
extern __thread struct Thread *this_thread;
// Another thread may run now. Every call of the daemon begins with one.
void seam(void);
// Waits until somebody wakes this key (any address), or until then (of `monotonic_now`). False: nobody did.
bool wait_on(const void *key, nanoseconds until);
void wake(const void *key, unsigned at_most);   // which of them, the seed says
// The calling thread waits for the disk, say, while others go on.
void spend(nanoseconds span);
int thread_number(void);                   // 1 is the first; in the order of their creation
const char *thread_name(void);
int threads_alive(void);
unsigned threads_waiting(void);

// clock.c
nanoseconds monotonic_now(void);
nanoseconds wall_now(void);                // since 1970
void clock_advance(nanoseconds to);        // when nobody can run
void clock_tick(nanoseconds by);           // what a call takes
void clock_shift(nanoseconds by);          // the wall clock jumps

// descriptors.c
struct Open;
struct Operations {
    const char *kind;
    ssize_t (*read)(struct Open *, void *, size_t);
    ssize_t (*write)(struct Open *, const void *, size_t);
    unsigned (*ready)(struct Open *);      // EPOLLIN, EPOLLOUT, EPOLLHUP …: what holds now
    void (*closed)(struct Open *);         // the last descriptor is gone
};
// What a descriptor stands for (an open file description).
struct Open {
    const struct Operations *operations;
    int references;
    int flags;                             // of open(2)
    off_t offset;
    void *object;
    bool is_watched;                       // an epoll has it
};
struct Open *open_make(const struct Operations *, void *object, int flags);
void open_release(struct Open *);
int descriptor_install(struct Open *, int lowest, bool close_on_exec);   // takes over one reference; -EMFILE
void descriptor_remove(int number);        // closes it without a seam
struct Open *descriptor(int number);       // NULL when there is none
int descriptors_open(void);
int descriptor_limit(int limit);           // RLIMIT_NOFILE; 0 asks only
bool descriptor_closes_on_exec(int number);
int descriptor_control(int number, int command, long argument);   // of fcntl(2), what all kinds have; -ENOSYS: the kind's own
void events_forget(struct Open *);         // events.c: epoll forgets what is closed
// Something has happened to it by which these (EPOLLIN …) may hold, which is an edge also when they held before; NULL: nobody has it.
void open_changed(struct Open *, unsigned events);   // events.c
// What is ready has changed: whoever waits in epoll or poll looks again.
void readiness_changed(void);
extern const char readiness;                // the key that they wait on

// faults.c
enum Call {
    CALL_OPEN, CALL_READ, CALL_WRITE, CALL_SYNC, CALL_NAME, CALL_CUT, CALL_LOOK, CALL_MAP, CALL_SOCKET, CALL_THREAD, CALL_MEMORY, CALL_CLOSE,
    CALL_KINDS
};
extern const char *const call_names[CALL_KINDS];
// Each call asks before it does anything. 0: goes on, perhaps with fewer bytes (`length`, may be NULL). Negative: fails so.
// It may also take long, hang until the controller says otherwise, or be the last one before a kill or a power cut.
int fault_for(enum Call kind, const char *path, size_t *length);
// A rule of the controller: from the `skip`th call on that it fits, `times` of them (0: all) go wrong.
struct FaultRule {
    uint32_t number, kinds;                // kinds: 1 << enum Call
    uint32_t skip, times;
    int32_t error;                         // errno; or one of the actions
    uint32_t permille;                     // of those that fit; 1000: each
    nanoseconds span;                      // of FAULT_SLOW
    // A part of the path; empty: any. '*' is any text between its pieces, '$' the path's end. Behind what threads' names begin with and '@': of these.
    char path[64];
};
enum { FAULT_SHORT = -1, FAULT_SLOW = -2, FAULT_HANG = -3, FAULT_KILL = -4, FAULT_CUT = -5, FAULT_TORN_KILL = -6 };
void fault_add(const struct FaultRule *);
void fault_remove(uint32_t number);        // 0: all; who hangs goes on

// disk.c: outlives the process. Paths are absolute.
void disk_start(void);                     // maps it; makes the root when it is new
void disk_power_cut(void);                 // what was not synced is kept in part, as the seed says
void disk_process_ended(void);             // locks and open files of the process are gone
int disk_remove(const char *path);         // a file, or a directory with all in it; synced
void disk_room(uint64_t bytes);            // how much all files may take
uint64_t disk_digest(void);
// Makes directories, replaces; synced. A mode with a type makes a directory (S_IFDIR) or a link (S_IFLNK, the bytes are its target).
int disk_put(const char *path, const void *bytes, size_t length, unsigned mode);
void disk_owner(uint32_t uid, uint32_t gid);   // who the process is; 1000 and 1000 before
int disk_flip(const char *path, uint64_t offset, uint8_t mask);   // a bit at rest
void disk_each(void (*body)(const char *path, unsigned mode, uint64_t size, void *), void *);
ssize_t disk_get(const char *path, uint64_t offset, void *bytes, size_t length);
// Files that have one of the marks (each u8 length and bytes), and where the first is that was found.
void disk_find(const uint8_t *marks, size_t length, void (*body)(const char *path, uint64_t offset, void *), void *);
int disk_counts(uint64_t counts[4]);       // bytes written, syncs, files, bytes held
// What sockets ask of the disk. None of these is a seam, and no fault comes of them: the controller's turn calls them too.
int disk_socket(const char *path, unsigned mode);   // of bind(2): -EADDRINUSE …
int disk_socket_at(const char *path, uint32_t uid, uint32_t gid); // the inode of a socket; -ENOENT, -EACCES; -ECONNREFUSED: no socket
struct Open *disk_unnamed(const void *bytes, size_t length, int flags);   // a file without a name; one reference
struct Open *disk_sealed(const void *bytes, size_t length);       // a memfd that can no longer be changed
struct Open *disk_opened(const char *path, int flags);            // what is there; NULL when nothing is
ssize_t disk_content(struct Open *, uint64_t offset, void *bytes, size_t length);   // of a file, whoever may read it; -EINVAL: no file
// files.c: what `syscall` and `ioctl` hand on, after their own seam.
long file_openat2(int base, const char *path, const void *how, size_t size);
long file_renameat2(int from, const char *path, int to, const char *new_path, unsigned flags);
long file_statx(int base, const char *path, int flags, unsigned mask, void *facts);
long file_control(int number, unsigned long request, void *argument);   // FIONREAD, FICLONE; -ENOTTY

// locks.c
long futex_call(uint32_t *word, int operation, uint32_t value, const void *timeout, uint32_t *word2, uint32_t value3);

// sockets.c
unsigned mode_of_kind(const struct Open *);   // st_mode of a socket, a pipe, an eventfd …; 0: of a file
long system_of_kind(const struct Open *);     // f_type of the same: of pipes, of sockets, of what has no name; 0: of a file
long pipe_control(struct Open *, int command, long argument);   // F_GETPIPE_SZ and F_SETPIPE_SZ; -EBADF: no pipe
void connection_open(uint32_t number, const char *listener, uint32_t uid, uint32_t gid, uint32_t pid, uint32_t window);
void connection_bytes(uint32_t number, const void *bytes, size_t length, const int *kinds, int count);   // kinds: enum PassedKind
void connection_window(uint32_t number, uint64_t bytes);      // how much more the client reads
void connection_ends(uint32_t number, int how);               // 0: half-closed, 1: closed, 2: reset
// A file of the controller's, for the next PASSED_GIVEN.
void passed_give(const void *bytes, size_t length);
enum PassedKind {
    PASSED_FILE, PASSED_EMPTY, PASSED_SEALED, PASSED_DIRECTORY, PASSED_SILENT_PIPE, PASSED_BROKEN_PIPE, PASSED_LARGE, PASSED_SOCKET,
    PASSED_WRITE_ONLY, PASSED_PIPE, PASSED_GIVEN, PASSED_KINDS
};

// signals.c
void signal_arrives(int number);
// environment.c, output.c
int process_number(void);                  // the controller's choice ($KURA_SIM_PID)
void standard_start(void);                 // opens 0, 1 and 2; of kernel_start
void environment_start(void);              // what /proc says of the process itself; of kernel_start, once there is a disk
int thread_identity(void);                 // gettid; that of the first thread is the process's

// control.c
void report(uint8_t kind, const void *bytes, size_t length);
void report_parts(uint8_t kind, const void *head, size_t head_length, const void *bytes, size_t length);
// Gives the controller its turn when it is due: after so many seams, at a time, or because nobody can run.
enum Pause { PAUSE_SEAMS, PAUSE_TIME, PAUSE_IDLE, PAUSE_NEWS };
void control_pause(enum Pause why);
extern uint64_t seams_left;                // until the controller's turn
extern nanoseconds pause_time;
_Noreturn void process_ends(int code, const char *why);
// A line of the run, when it is told. `printf`'s format.
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool is_traced;

// Kinds of reports.
enum Report {
    REPORT_PAUSED = 1,                     // u8 why, i64 monotonic, i64 wall, u64 seams, u32 threads, u32 descriptors, u64 bytes written, u64 syncs, u64 bytes held
    REPORT_SENT = 2,                       // u32 connection, bytes
    REPORT_DESCRIPTOR = 3,                 // u32 connection, u32 length, bytes of what was passed (a file's content)
    REPORT_CLOSED = 4,                     // u32 connection, u8 how: 0 sends no more, 1 gone, 2 gone (reset: bytes unread), 3 reads no more
    REPORT_REFUSED = 5,                    // u32 connection
    REPORT_ACCEPTED = 6,                   // u32 connection
    REPORT_OUTPUT = 7,                     // u32 descriptor (1 or 2), bytes
    REPORT_ENDED = 8,                      // i32 code, text
    REPORT_FAULT = 9,                      // u32 rule, u32 kind, path
    REPORT_UNKNOWN = 10,                   // text: a call that is not simulated
    REPORT_FILE = 11,                      // of ORDER_FILE: bytes
    REPORT_LISTING = 12,                   // of ORDER_LIST: lines "mode size path"
    REPORT_TAKEN = 13,                     // u32 connection, u32 bytes: the daemon has read so many more
    REPORT_DIGEST = 14,                    // u64
    REPORT_FOUND = 15,                     // of ORDER_FIND: lines "offset path", one for each file that has some mark
};
// Kinds of orders. Each is u32 length of what follows the kind, u8 kind, payload. ORDER_RUN ends the controller's turn.
enum Order {
    ORDER_RUN = 1,                         // i64 until (monotonic), u64 seams, u8 whether news pauses
    ORDER_CONNECT = 2,                     // u32 connection, u32 uid, gid, pid, window, path of the listener
    ORDER_BYTES = 3,                       // u32 connection, u32 count of descriptors, i32 kinds of them, bytes
    ORDER_WINDOW = 4,                      // u32 connection, u64 bytes
    ORDER_END = 5,                         // u32 connection, u8 how
    ORDER_SIGNAL = 6,                      // i32
    ORDER_FAULT = 7,                       // struct FaultRule
    ORDER_CLEAR = 8,                       // u32 rule
    ORDER_ROOM = 9,                        // u64 bytes
    ORDER_SHIFT = 10,                      // i64 nanoseconds
    ORDER_KILL = 11,                       // nothing: kill -9
    ORDER_CUT = 12,                        // nothing: the power goes
    ORDER_PUT = 13,                        // u32 mode, u32 length of the path, path, bytes
    ORDER_FLIP = 14,                       // u64 offset, u8 mask, path
    ORDER_FILE = 15,                       // path
    ORDER_LIST = 16,                       // nothing
    ORDER_DIGEST = 17,                     // nothing
    ORDER_REMOVE = 18,                     // path
    ORDER_GIVE = 20,                       // bytes: of the file that a later ORDER_BYTES passes as PASSED_GIVEN, in their order
    ORDER_SETTING = 19,                    // u32 which, u64 value (enum Setting)
    ORDER_FIND = 21,                       // marks without zeros, each u8 length and bytes
};
// What a run is like; the seed's choice, by the controller.
enum Setting {
    SETTING_SWITCH = 0,                    // permille of seams where another thread is chosen
    SETTING_SPLIT = 1,                     // permille of reads of a socket that get a part
    SETTING_SLOW = 2,                      // hundredths: how long the disk takes
    SETTING_COLD = 3,                      // permille of non-blocking reads that would wait
    SETTING_DESCRIPTORS = 4,               // RLIMIT_NOFILE
    SETTING_STALL = 5,                     // permille of seams where the thread stands still for a while
    SETTINGS = 16
};
extern uint64_t settings[SETTINGS];
