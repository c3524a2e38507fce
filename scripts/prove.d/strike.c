// Makes one file call of a process go wrong, whichever of its threads makes it. Loaded with LD_PRELOAD.
//
//   STRIKE=CLASSES:MODE:N   the Nth call of these classes, counted over all threads; N+ strikes all later ones too; 0 only counts
//   STRIKE_ROOT=DIR         calls on files below it count, no others
//   STRIKE_LOG=FILE         gets a line for the call that was struck; with N 0 one for each: number, class, call, path
//
// Classes: w writes, cuts and allocations; s syncs; n names made, changed and removed; r reads; o opens of what is there.
// Modes: an errno by name (ENOSPC and EDQUOT strike nothing that gives room back); `kill` before the call; `tear`, half a write and then kill; `short`, half a write; `skip`, a
// sync that is left out and reported as done.
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PASS = 0, KILL = -1, TEAR = -2, SHORT = -3, SKIP = -4 };

static const char *root, *classes = "";
static size_t root_length;
static long strike_at;
static int goes_on, mode, report = -1;
static atomic_long counter;

__attribute__((constructor)) static void begin(void) {
    static char own_classes[16];
    char *text = getenv("STRIKE"), *log = getenv("STRIKE_LOG");
    root = getenv("STRIKE_ROOT");
    if (!text || !root) return;
    root_length = strlen(root);
    char name[16] = "", number[24] = "";
    if (sscanf(text, "%15[a-z]:%15[A-Za-z]:%23s", own_classes, name, number) != 3) _exit(99);
    static const struct { const char *name; int mode; } modes[] = {
        {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}, {"EMFILE", EMFILE}, {"EDQUOT", EDQUOT},
        {"kill", KILL}, {"tear", TEAR}, {"short", SHORT}, {"skip", SKIP},
    };
    for (size_t at = 0; at < sizeof modes / sizeof *modes; at++)
        if (!strcmp(modes[at].name, name)) mode = modes[at].mode;
    strike_at = strtol(number, NULL, 10);
    goes_on = strchr(number, '+') != NULL;
    if (!mode) _exit(99);
    if (log) report = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    classes = own_classes;
    // What the process starts is somebody else's.
    unsetenv("LD_PRELOAD");
}

static int is_below(const char *path) {
    return path && root && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static const char *path_of(int descriptor, char *buffer) {
    char link[48];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

static const char *path_at(int directory, const char *path, char *buffer) {
    if (!path || path[0] == '/' || directory == AT_FDCWD) return path;
    if (!path_of(directory, buffer)) return NULL;
    size_t length = strlen(buffer);
    snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return buffer;
}

// Counts a call of `class` on `path`, and says what is to become of it. `kill` is done here.
static int strike(char class, const char *call, const char *path) {
    if (!strchr(classes, class) || !*classes || !is_below(path)) return PASS;
    if (mode == EMFILE && strncmp(call, "open", 4)) return PASS;
    int kept = errno;
    long number = atomic_fetch_add(&counter, 1) + 1;
    int strikes = strike_at && (goes_on ? number >= strike_at : number == strike_at);
    if (report >= 0 && (strikes ? number == strike_at : !strike_at)) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld %c %s %s\n", number, class, call, path[root_length] ? path + root_length : "/");
        static ssize_t (*real)(int, const void *, size_t);
        if (!real) real = dlsym(RTLD_NEXT, "write");
        if (real(report, line, (size_t)length) != length) _exit(98);
    }
    errno = kept;
    if (!strikes) return PASS;
    if (mode == KILL) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    return mode;
}

static int strike_descriptor(char class, const char *call, int descriptor) {
    char buffer[PATH_MAX];
    if (!*classes || !strchr(classes, class)) return PASS;
    int kept = errno;
    const char *path = path_of(descriptor, buffer);
    errno = kept;
    return strike(class, call, path);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
// What fails as a whole: tearing it is failing before it.
#define FAIL(verdict, failed) \
    do { \
        int verdict_ = (verdict); \
        if (verdict_ == TEAR) die(); \
        if (verdict_ > 0) { errno = verdict_; return failed; } \
    } while (0)

// What a full disk does not refuse.
static int gives_room(void) { return mode == ENOSPC || mode == EDQUOT; }

// MARK: Writes

#define WRITE(count) \
    int verdict = strike_descriptor('w', __func__, descriptor); \
    if (verdict > 0) { errno = verdict; return -1; } \
    if (verdict == SHORT && (count) > 1) (count) /= 2; \
    if (verdict == TEAR) (count) /= 2

ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(write);
    WRITE(count);
    ssize_t done = real(descriptor, bytes, count);
    if (verdict == TEAR) die();
    return done;
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    WRITE(count);
    ssize_t done = real(descriptor, bytes, count, offset);
    if (verdict == TEAR) die();
    return done;
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    REAL(pwrite64);
    WRITE(count);
    ssize_t done = real(descriptor, bytes, count, offset);
    if (verdict == TEAR) die();
    return done;
}
int ftruncate(int descriptor, off_t size) {
    REAL(ftruncate);
    if (gives_room()) return real(descriptor, size);
    FAIL(strike_descriptor('w', __func__, descriptor), -1);
    return real(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) {
    REAL(ftruncate64);
    if (gives_room()) return real(descriptor, size);
    FAIL(strike_descriptor('w', __func__, descriptor), -1);
    return real(descriptor, size);
}
int truncate(const char *path, off_t size) {
    REAL(truncate);
    if (gives_room()) return real(path, size);
    FAIL(strike('w', __func__, path), -1);
    return real(path, size);
}
int posix_fallocate(int descriptor, off_t offset, off_t count) {
    REAL(posix_fallocate);
    int verdict = strike_descriptor('w', __func__, descriptor);
    if (verdict == TEAR) die();
    return verdict > 0 ? verdict : real(descriptor, offset, count);
}

// MARK: Syncs

int fsync(int descriptor) {
    REAL(fsync);
    int verdict = strike_descriptor('s', __func__, descriptor);
    if (verdict == SKIP) return 0;
    FAIL(verdict, -1);
    return real(descriptor);
}
int fdatasync(int descriptor) {
    REAL(fdatasync);
    int verdict = strike_descriptor('s', __func__, descriptor);
    if (verdict == SKIP) return 0;
    FAIL(verdict, -1);
    return real(descriptor);
}
int sync_file_range(int descriptor, off64_t offset, off64_t count, unsigned flags) {
    REAL(sync_file_range);
    int verdict = strike_descriptor('s', __func__, descriptor);
    if (verdict == SKIP) return 0;
    FAIL(verdict, -1);
    return real(descriptor, offset, count, flags);
}

// MARK: Names

int rename(const char *from, const char *to) {
    REAL(rename);
    FAIL(strike('n', __func__, from), -1);
    return real(from, to);
}
int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    char buffer[PATH_MAX];
    REAL(renameat);
    FAIL(strike('n', __func__, path_at(from_directory, from, buffer)), -1);
    return real(from_directory, from, to_directory, to);
}
int link(const char *from, const char *to) {
    REAL(link);
    FAIL(strike('n', __func__, to), -1);
    return real(from, to);
}
int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    char buffer[PATH_MAX];
    REAL(linkat);
    FAIL(strike('n', __func__, path_at(to_directory, to, buffer)), -1);
    return real(from_directory, from, to_directory, to, flags);
}
int unlink(const char *path) {
    REAL(unlink);
    if (gives_room()) return real(path);
    FAIL(strike('n', __func__, path), -1);
    return real(path);
}
int unlinkat(int directory, const char *path, int flags) {
    char buffer[PATH_MAX];
    REAL(unlinkat);
    if (gives_room()) return real(directory, path, flags);
    FAIL(strike('n', __func__, path_at(directory, path, buffer)), -1);
    return real(directory, path, flags);
}
int rmdir(const char *path) {
    REAL(rmdir);
    if (gives_room()) return real(path);
    FAIL(strike('n', __func__, path), -1);
    return real(path);
}
int mkdir(const char *path, mode_t mode_) {
    REAL(mkdir);
    FAIL(strike('n', __func__, path), -1);
    return real(path, mode_);
}
int mkdirat(int directory, const char *path, mode_t mode_) {
    char buffer[PATH_MAX];
    REAL(mkdirat);
    FAIL(strike('n', __func__, path_at(directory, path, buffer)), -1);
    return real(directory, path, mode_);
}

// MARK: Opening

static int judge_open(const char *call, const char *path, int flags) {
    int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    return strike(makes ? 'n' : 'o', call, path);
}
#define OPEN_MODE(last) \
    mode_t mode_ = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, last); \
        mode_ = va_arg(rest, mode_t); \
        va_end(rest); \
    }
int open(const char *path, int flags, ...) {
    REAL(open);
    OPEN_MODE(flags)
    FAIL(judge_open(__func__, path, flags), -1);
    return real(path, flags, mode_);
}
int open64(const char *path, int flags, ...) {
    REAL(open64);
    OPEN_MODE(flags)
    FAIL(judge_open(__func__, path, flags), -1);
    return real(path, flags, mode_);
}
int openat(int directory, const char *path, int flags, ...) {
    char buffer[PATH_MAX];
    REAL(openat);
    OPEN_MODE(flags)
    FAIL(judge_open(__func__, path_at(directory, path, buffer), flags), -1);
    return real(directory, path, flags, mode_);
}
DIR *opendir(const char *path) {
    REAL(opendir);
    FAIL(strike('o', __func__, path), NULL);
    return real(path);
}

// MARK: Reading

ssize_t read(int descriptor, void *bytes, size_t count) {
    REAL(read);
    FAIL(strike_descriptor('r', __func__, descriptor), -1);
    return real(descriptor, bytes, count);
}
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    REAL(pread);
    FAIL(strike_descriptor('r', __func__, descriptor), -1);
    return real(descriptor, bytes, count, offset);
}
ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) {
    REAL(pread64);
    FAIL(strike_descriptor('r', __func__, descriptor), -1);
    return real(descriptor, bytes, count, offset);
}
ssize_t preadv64v2(int descriptor, const struct iovec *parts, int count, off64_t offset, int flags) {
    REAL(preadv64v2);
    FAIL(strike_descriptor('r', __func__, descriptor), -1);
    return real(descriptor, parts, count, offset, flags);
}
