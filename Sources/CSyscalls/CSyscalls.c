#define _GNU_SOURCE 1
// memset_s of Darwin.
#define __STDC_WANT_LIB_EXT1__ 1
#include "CSyscalls.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// What Linux says in a call, Darwin has as an option of the socket (SO_NOSIGPIPE).
#ifdef __linux__
#define WITHOUT_SIGNAL MSG_NOSIGNAL
#else
#define WITHOUT_SIGNAL 0
#endif

#ifdef __GLIBC__
static char **arguments;
// glibc calls what begins before main with main's own arguments; other libraries do not.
__attribute__((constructor)) static void keep_arguments(int count, char **vector) {
    if (count > 0) arguments = vector;
}
char **csys_arguments(void) { return arguments; }
#else
char **csys_arguments(void) { return NULL; }
#endif

int csys_fcntl(int descriptor, int command, long argument) {
    return fcntl(descriptor, command, argument);
}
int csys_close(int descriptor) { return close(descriptor); }
int csys_shutdown(int socket, int how) { return shutdown(socket, how); }
int csys_stream_socket(void) {
#ifdef __linux__
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
#endif
}
int csys_no_pipe_signal(int socket) {
#ifdef SO_NOSIGPIPE
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#else
    (void)socket;
    return 0;
#endif
}
// A table by hand, for processors without the instruction: one byte at a time.
static uint32_t crc32c_by_table(uint32_t crc, const unsigned char *bytes, size_t length) {
    static const uint32_t nibbles[16] = {
        0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
        0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
    };
    while (length--) {
        crc ^= *bytes++;
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return crc;
}
#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static uint32_t crc32c_by_instruction(uint32_t crc, const unsigned char *bytes, size_t length) {
    uint64_t sum = crc;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        sum = __builtin_ia32_crc32di(sum, word);
        bytes += 8, length -= 8;
    }
    crc = (uint32_t)sum;
    while (length--) crc = __builtin_ia32_crc32qi(crc, *bytes++);
    return crc;
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
static uint32_t crc32c_by_instruction(uint32_t crc, const unsigned char *bytes, size_t length) {
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        crc = __builtin_arm_crc32cd(crc, word);
        bytes += 8, length -= 8;
    }
    while (length--) crc = __builtin_arm_crc32cb(crc, *bytes++);
    return crc;
}
#endif
uint32_t csys_crc32c(uint32_t crc, const void *bytes, size_t length) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc32c_by_instruction(~crc, bytes, length);
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
    return ~crc32c_by_instruction(~crc, bytes, length);
#endif
    return ~crc32c_by_table(~crc, bytes, length);
}
static int unix_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
#ifdef __APPLE__
    address->sun_len = sizeof *address;
#endif
    if (strlen(path) >= sizeof address->sun_path) { errno = ENAMETOOLONG; return -1; }
    strcpy(address->sun_path, path);
    return 0;
}
int csys_connect_unix(int socket, const char *path) {
    struct sockaddr_un address;
    if (unix_address(path, &address) != 0) return -1;
    return connect(socket, (struct sockaddr *)&address, sizeof address);
}
int csys_peer_user(int socket, uint32_t *uid) {
#ifdef __linux__
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *uid = credentials.uid;
#else
    uid_t user;
    gid_t group;
    if (getpeereid(socket, &user, &group) != 0) return -1;
    *uid = user;
#endif
    return 0;
}
int csys_mode(const char *path, uint32_t *mode, uint32_t *uid, int follow) {
    struct stat information;
    int result = follow ? stat(path, &information) : lstat(path, &information);
    if (result == 0) { *mode = information.st_mode; *uid = information.st_uid; }
    return result;
}
long csys_send(int socket, const void *bytes, size_t length) {
    return send(socket, bytes, length, WITHOUT_SIGNAL | MSG_DONTWAIT);
}
long csys_send_descriptor(int socket, const void *bytes, size_t length, int descriptor) {
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, WITHOUT_SIGNAL | MSG_DONTWAIT);
}
long csys_recvmsg(int socket, void *buffer, size_t length, int *descriptors, int capacity, int *descriptor_count,
                                int *flags) {
    struct iovec part = { buffer, length };
    union { char bytes[CMSG_SPACE(sizeof(int) * 253)]; struct cmsghdr align; } control;
    struct msghdr message = { 0 };
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    // Without room at all for one, the kernel says nothing of those that it drops.
    message.msg_controllen = CMSG_LEN(sizeof(int) * (size_t)(capacity < 1 ? 1 : capacity > 253 ? 253 : capacity));
#ifdef __linux__
    long received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
#else
    long received = recvmsg(socket, &message, MSG_DONTWAIT);
#endif
    *descriptor_count = 0;
    *flags = 0;
    if (received < 0) return received;
    *flags = message.msg_flags;
    if (message.msg_controllen == 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors + *descriptor_count, CMSG_DATA(header), (size_t)count * sizeof(int));
        *descriptor_count += count;
    }
#ifndef __linux__
    for (int i = 0; i < *descriptor_count; i++) fcntl(descriptors[i], F_SETFD, FD_CLOEXEC);
#endif
    return received;
}
int csys_unread(int socket) {
    int count = 0;
    return ioctl(socket, FIONREAD, &count) == 0 ? count : -1;
}
int csys_set_thread_name(const char *name) {
#ifdef __APPLE__
    return pthread_setname_np(name);
#else
    return pthread_setname_np(pthread_self(), name);
#endif
}
void *csys_map(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}
void *csys_remap(void *pages, size_t bytes, size_t wanted) {
#ifdef __linux__
    void *moved = mremap(pages, bytes, wanted, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
#else
    void *moved = csys_map(wanted);
    if (!moved) return NULL;
    memcpy(moved, pages, bytes < wanted ? bytes : wanted);
    munmap(pages, bytes);
    return moved;
#endif
}
void csys_unmap(void *pages, size_t bytes) { munmap(pages, bytes); }
void csys_wipe(void *bytes, size_t length) {
#ifdef __APPLE__
    memset_s(bytes, length, 0, length);
#else
    explicit_bzero(bytes, length);
#endif
}

// The daemon and its tools are of Linux: all that follows is for them alone.
#ifdef __linux__
#include <arpa/inet.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/vfs.h>

int csys_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }
int csys_openat(int directory, const char *path, int flags, unsigned mode) {
    return openat(directory, path, flags, mode);
}
int csys_openat2_beneath(int directory, const char *path, int flags, unsigned mode) {
    struct open_how how = { 0 };
    how.flags = (uint64_t)(unsigned)flags;
    // The kernel refuses a mode where nothing is made.
    how.mode = flags & O_CREAT ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}
int csys_rename_new(int from, const char *name, int to, const char *new_name) {
    // Musl has no such function.
    return (int)syscall(SYS_renameat2, from, name, to, new_name, RENAME_NOREPLACE);
}
int csys_is_mount_point(int descriptor) {
    // The layout of struct statx, which not every C library has.
    struct {
        uint32_t mask, block_size;
        uint64_t attributes;
        unsigned char between[40];
        uint64_t known_attributes;
        unsigned char rest[192];
    } facts = { 0 };
    // STATX_ATTR_MOUNT_ROOT, of Linux 5.8.
    const uint64_t mount_root = 0x2000;
    if (syscall(SYS_statx, descriptor, "", AT_EMPTY_PATH, 0, &facts) == 0 && (facts.known_attributes & mount_root))
        return (facts.attributes & mount_root) != 0;
    struct stat own, parent;
    if (fstat(descriptor, &own) != 0 || fstatat(descriptor, "..", &parent, 0) != 0) return -1;
    return own.st_dev != parent.st_dev;
}
int csys_accept4(int descriptor, int flags) { return accept4(descriptor, 0, 0, flags); }
int csys_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
int csys_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
int csys_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}
int csys_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int capacity, int timeout) {
    struct epoll_event ready[512];
    int count = epoll_wait(epoll, ready, capacity < 512 ? capacity : 512, timeout);
    for (int i = 0; i < count; i++) { tokens[i] = ready[i].data.u64; events[i] = ready[i].events; }
    return count;
}
#ifdef __GLIBC__
void csys_trim_heap(void) { malloc_trim(0); }
void csys_give_back_blocks(int bytes) { mallopt(M_MMAP_THRESHOLD, bytes); }
#else
// Musl's heap has nothing of the kind.
void csys_trim_heap(void) {}
void csys_give_back_blocks(int bytes) { (void)bytes; }
#endif
long csys_peek(int socket, void *buffer, size_t length, int *flags) {
    struct iovec part = { buffer, length };
    // Without any place for descriptors the kernel says that there are some (MSG_CTRUNC), and lets go of them only as they stay where they are.
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    long count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_PEEK);
    *flags = count < 0 ? 0 : message.msg_flags;
    return count;
}
int csys_peer(int socket, int32_t *pid, uint32_t *uid, uint32_t *gid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *pid = credentials.pid; *uid = credentials.uid; *gid = credentials.gid;
    return 0;
}
int csys_peer_groups(int socket, uint32_t *groups, int *count) {
    socklen_t length = (socklen_t)*count * sizeof *groups;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length);
    *count = (int)(length / sizeof *groups);
    return result;
}
long csys_notify(int socket, const char *name, const void *bytes, size_t length) {
    struct sockaddr_un address;
    size_t count = strlen(name);
    if (unix_address(name, &address) != 0) return -1;
    // Abstract names begin with a zero and have no end of their own.
    if (name[0] == '@') address.sun_path[0] = 0;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + count + (name[0] == '@' ? 0 : 1));
    return sendto(socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address, size);
}
int csys_bind_unix(int socket, const char *path) {
    struct sockaddr_un address;
    if (unix_address(path, &address) != 0) return -1;
    return bind(socket, (struct sockaddr *)&address, sizeof address);
}
long csys_file_system_type(const char *path) {
    struct statfs information;
    return statfs(path, &information) == 0 ? (long)information.f_type : -1;
}
long csys_file_system_of(int descriptor) {
    struct statfs information;
    return fstatfs(descriptor, &information) == 0 ? (long)information.f_type : -1;
}
int csys_schedule_batch(void) {
    struct sched_param parameter = { 0 };
    return sched_setscheduler(0, SCHED_BATCH, &parameter);
}
int csys_gettid(void) { return (int)syscall(SYS_gettid); }
int csys_set_thread_nice(int nice) { return setpriority(PRIO_PROCESS, (id_t)csys_gettid(), nice); }
int csys_raise_descriptor_limit(uint64_t *limit) {
    struct rlimit value;
    if (getrlimit(RLIMIT_NOFILE, &value) != 0) return -1;
    value.rlim_cur = value.rlim_max;
    int result = setrlimit(RLIMIT_NOFILE, &value);
    getrlimit(RLIMIT_NOFILE, &value);
    *limit = value.rlim_cur;
    return result;
}
int csys_signal_descriptor(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &set, 0) != 0) return -1;
    signal(SIGPIPE, SIG_IGN);
    // A file that may grow no further (RLIMIT_FSIZE) is told by the write, and is no reason to end.
    signal(SIGXFSZ, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
int csys_next_signal(int descriptor) {
    struct signalfd_siginfo information;
    long got = read(descriptor, &information, sizeof information);
    return got == (long)sizeof information ? (int)information.ssi_signo : 0;
}
int csys_set_no_dump(void) { return prctl(PR_SET_DUMPABLE, 0); }
int csys_set_no_core(void) {
    struct rlimit none = { 0, 0 };
    return setrlimit(RLIMIT_CORE, &none);
}
int csys_memory_file(const char *name) { return memfd_create(name, MFD_ALLOW_SEALING); }
int csys_private_memory_file(const char *name) { return memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC); }
int csys_unnamed_file(int directory, const char *path, unsigned mode) {
    return openat(directory, path, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}
// Longest name of a descriptor: "/proc/self/fd/" and ten digits.
static void name_descriptor(char name[32], int descriptor) { snprintf(name, 32, "/proc/self/fd/%d", descriptor); }
int csys_name_file(int descriptor, int directory, const char *path) {
    char name[32];
    name_descriptor(name, descriptor);
    return linkat(AT_FDCWD, name, directory, path, AT_SYMLINK_FOLLOW);
}
// What a signal takes away. Whoever exchanges it for none owns it.
struct doomed_name {
    int directory;
    char name[];
};
static _Atomic(struct doomed_name *) doomed;
static void unlink_doomed(int number) {
    struct doomed_name *it = atomic_exchange(&doomed, (struct doomed_name *)0);
    if (it) unlinkat(it->directory, it->name, 0);
    // The default again (SA_RESETHAND), which comes when this returns.
    raise(number);
}
int csys_unlink_when_ended(int directory, const char *name) {
    if (!name) {
        free(atomic_exchange(&doomed, (struct doomed_name *)0));
        return 0;
    }
    size_t length = strlen(name) + 1;
    struct doomed_name *copy = malloc(sizeof *copy + length);
    struct doomed_name *none = 0;
    if (!copy) return -1;
    copy->directory = directory;
    memcpy(copy->name, name, length);
    if (!atomic_compare_exchange_strong(&doomed, &none, copy)) {
        free(copy);
        return -1;
    }
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    for (unsigned index = 0; index < sizeof numbers / sizeof numbers[0]; index++) {
        struct sigaction action;
        // One that is ignored, as nohup has it, stays so.
        if (sigaction(numbers[index], 0, &action) != 0 || action.sa_handler != SIG_DFL) continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = unlink_doomed;
        action.sa_flags = (int)SA_RESETHAND;
        sigaction(numbers[index], &action, 0);
    }
    return 0;
}
int csys_reopen_for_reading(int descriptor) {
    char name[32];
    name_descriptor(name, descriptor);
    return open(name, O_RDONLY | O_CLOEXEC);
}
int csys_clone_file(int source, int target) {
    return ioctl(target, FICLONE, source);
}
int64_t csys_data_at(int descriptor, int64_t offset) { return lseek(descriptor, offset, SEEK_DATA); }
int64_t csys_hole_at(int descriptor, int64_t offset) { return lseek(descriptor, offset, SEEK_HOLE); }
int csys_seal_memory_file(int descriptor) {
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}
void csys_hold_standard_descriptors(void) {
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) >= 0) continue;
        // It gets the lowest number that is free. The other way round: who reads from it or writes to it is refused, as if it was closed.
        (void)open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
    }
}
int csys_open_terminal(void) { return open("/dev/tty", O_RDWR | O_CLOEXEC); }
int csys_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
int csys_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }
int csys_clock_is_synchronised(void) {
    struct timex times = {.modes = 0};
    int state = adjtimex(&times);
    return state >= 0 && state != TIME_ERROR;
}
char *const *csys_environment(void) { return environ; }
int csys_terminal_rows(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}
int csys_has_unread(int socket) {
    int bytes = 0;
    return ioctl(socket, TIOCOUTQ, &bytes) == 0 && bytes > 0;
}
int csys_listen_loopback(const char *text, unsigned short port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const int is_four = inet_pton(AF_INET, text, &four.sin_addr) == 1;
    const int is_six = !is_four && inet_pton(AF_INET6, text, &six.sin6_addr) == 1;
    if (!(is_four && ntohl(four.sin_addr.s_addr) >> 24 == 127) && !(is_six && IN6_IS_ADDR_LOOPBACK(&six.sin6_addr))) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int descriptor = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const struct sockaddr *address = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    if (bind(descriptor, address, is_four ? sizeof four : sizeof six) == 0 && listen(descriptor, 16) == 0) return descriptor;
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}
unsigned short csys_local_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
    return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port) : 0;
}
int csys_begin_writing(int descriptor) { return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE); }
#endif
