// Makes one file call of a process go wrong, whichever of its threads makes it. Loaded with LD_PRELOAD.
//
//   STRIKE=CLASSES:MODE:N   the Nth call of these classes, counted over all threads; N+ strikes all later ones too; 0 only counts
//   STRIKE_PLACE=CALL PATH  only that call on that file below the root counts, until one is struck
//   STRIKE_ROOT=DIR         calls on files below it count, no others
//   STRIKE_LOG=FILE         gets a line for the call that was struck; with N 0 one for each: number, class, call, path
//
// Classes: w writes, cuts and allocations; s syncs; n names made, changed and removed; r reads; o opens of what is there.
// Modes: an errno by name (ENOSPC and EDQUOT strike nothing that gives room back); `kill` before the call; `tear`, half a write
// and then kill; `short`, half a write; `skip`, a sync that is left out and reported as done.
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
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PASS = 0, KILL = -1, TEAR = -2, SHORT = -3, SKIP = -4 };

static const char *root, *place, *classes = "";
static size_t root_length;
static long strike_at;
static int goes_on, mode, report = -1;
static atomic_long counter;

__attribute__((constructor)) static void begin(void) {
    static char own_classes[16];
    char *text = getenv("STRIKE"), *log = getenv("STRIKE_LOG");
    root = getenv("STRIKE_ROOT");
    place = getenv("STRIKE_PLACE");
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

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static const char *path_of(int descriptor, char *buffer) {
    char link[48];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

static int is_below(const char *path) {
    return path && root && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static const char *name_of(const char *path) { return path[root_length] ? path + root_length : "/"; }

static void tell(long number, char class, const char *call, const char *path) {
    REAL(write);
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %c %s %s\n", number, class, call, name_of(path));
    if (real(report, line, (size_t)length) != length) _exit(98);
}

// Whether the call is of the place that counts.
static int is_there(const char *call, const char *path) {
    size_t length = strlen(call);
    return !place || (!strncmp(place, call, length) && place[length] == ' ' && !strcmp(place + length + 1, name_of(path)));
}

// MARK: Counting a call, and saying what is to become of it. `kill` is done here.

static int by_path(char class, const char *call, const char *path) {
    if (!*classes || !strchr(classes, class) || !is_below(path)) return PASS;
    if (mode == EMFILE && strncmp(call, "open", 4)) return PASS;
    long counted = atomic_load(&counter);
    // All later ones are of any place.
    if (!is_there(call, path) && !(goes_on && strike_at && counted >= strike_at)) return PASS;
    int kept = errno;
    long number = atomic_fetch_add(&counter, 1) + 1;
    int strikes = strike_at && (goes_on ? number >= strike_at : number == strike_at);
    if (report >= 0 && (strikes ? number == strike_at : !strike_at)) tell(number, class, call, path);
    errno = kept;
    if (strikes && mode == KILL) die();
    return strikes && (mode != SKIP || class == 's') ? mode : PASS;
}

static int by_descriptor(char class, const char *call, int descriptor) {
    char buffer[PATH_MAX];
    if (!*classes || !strchr(classes, class)) return PASS;
    int kept = errno;
    const char *path = path_of(descriptor, buffer);
    errno = kept;
    return by_path(class, call, path);
}

static int by_place(char class, const char *call, int directory, const char *path) {
    char buffer[PATH_MAX];
    if (!path || path[0] == '/' || directory == AT_FDCWD) return by_path(class, call, path);
    if (!path_of(directory, buffer)) return PASS;
    size_t length = strlen(buffer);
    snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return by_path(class, call, buffer);
}

// What a full disk does not refuse.
#define ROOM(verdict) (mode == ENOSPC || mode == EDQUOT ? PASS : (verdict))

// MARK: The calls

// What fails as a whole: tearing it is failing before it. `failed` may name the verdict.
#define BODY(failed, ask, call) \
    int verdict = ask; \
    if (verdict == SKIP) return 0; \
    if (verdict == TEAR) die(); \
    if (verdict > 0) { errno = verdict; return failed; } \
    return call

#define CALL(type, failed, name, parameters, arguments, ask) \
    type name parameters { REAL(name); BODY(failed, ask, real arguments); }

#define WRITE(name, parameters, arguments) \
    ssize_t name parameters { \
        REAL(name); \
        int verdict = by_descriptor('w', #name, descriptor); \
        if (verdict > 0) { errno = verdict; return -1; } \
        if (verdict == TEAR || (verdict == SHORT && count > 1)) count /= 2; \
        ssize_t done = real arguments; \
        if (verdict == TEAR) die(); \
        return done; \
    }

#define MAKES(flags) ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE)
#define OPEN(name, parameters, arguments, directory) \
    int name parameters { \
        REAL(name); \
        mode_t rights = 0; \
        if (MAKES(flags)) { \
            va_list rest; \
            va_start(rest, flags); \
            rights = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        BODY(-1, by_place(MAKES(flags) ? 'n' : 'o', #name, directory, path), real arguments); \
    }

WRITE(write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
WRITE(pwrite, (int descriptor, const void *bytes, size_t count, off_t offset), (descriptor, bytes, count, offset))
WRITE(pwrite64, (int descriptor, const void *bytes, size_t count, off64_t offset), (descriptor, bytes, count, offset))

CALL(int, -1, ftruncate, (int file, off_t size), (file, size), ROOM(by_descriptor('w', __func__, file)))
CALL(int, -1, ftruncate64, (int file, off64_t size), (file, size), ROOM(by_descriptor('w', __func__, file)))
CALL(int, -1, truncate, (const char *path, off_t size), (path, size), ROOM(by_path('w', __func__, path)))
CALL(int, verdict, posix_fallocate, (int file, off_t at, off_t size), (file, at, size), by_descriptor('w', __func__, file))

CALL(int, -1, fsync, (int file), (file), by_descriptor('s', __func__, file))
CALL(int, -1, fdatasync, (int file), (file), by_descriptor('s', __func__, file))
CALL(int, -1, sync_file_range, (int file, off64_t at, off64_t size, unsigned flags), (file, at, size, flags),
     by_descriptor('s', __func__, file))

CALL(int, -1, rename, (const char *from, const char *to), (from, to), by_path('n', __func__, from))
CALL(int, -1, renameat, (int place, const char *from, int other, const char *to), (place, from, other, to),
     by_place('n', __func__, place, from))
CALL(int, -1, link, (const char *from, const char *to), (from, to), by_path('n', __func__, to))
CALL(int, -1, linkat, (int other, const char *from, int place, const char *to, int flags), (other, from, place, to, flags),
     by_place('n', __func__, place, to))
CALL(int, -1, unlink, (const char *path), (path), ROOM(by_path('n', __func__, path)))
CALL(int, -1, unlinkat, (int place, const char *path, int flags), (place, path, flags),
     ROOM(by_place('n', __func__, place, path)))
CALL(int, -1, rmdir, (const char *path), (path), ROOM(by_path('n', __func__, path)))
CALL(int, -1, mkdir, (const char *path, mode_t rights), (path, rights), by_path('n', __func__, path))
CALL(int, -1, mkdirat, (int place, const char *path, mode_t rights), (place, path, rights), by_place('n', __func__, place, path))

OPEN(open, (const char *path, int flags, ...), (path, flags, rights), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, rights), AT_FDCWD)
OPEN(openat, (int place, const char *path, int flags, ...), (place, path, flags, rights), place)
CALL(DIR *, NULL, opendir, (const char *path), (path), by_path('o', __func__, path))

CALL(ssize_t, -1, read, (int file, void *bytes, size_t count), (file, bytes, count), by_descriptor('r', __func__, file))
CALL(ssize_t, -1, pread, (int file, void *bytes, size_t count, off_t offset), (file, bytes, count, offset),
     by_descriptor('r', __func__, file))
CALL(ssize_t, -1, pread64, (int file, void *bytes, size_t count, off64_t offset), (file, bytes, count, offset),
     by_descriptor('r', __func__, file))
CALL(ssize_t, -1, preadv64v2, (int file, const struct iovec *parts, int count, off64_t offset, int flags),
     (file, parts, count, offset, flags), by_descriptor('r', __func__, file))
