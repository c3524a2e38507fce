// Numbers of what is open. The lowest free one is given, as POSIX says.
#include "kernel.h"
#include <stdlib.h>

static struct { struct Open *open; bool closes_on_exec; } table[REAL_DESCRIPTORS];
static int limit = REAL_DESCRIPTORS - 100, count;
const char readiness;

struct Open *open_make(const struct Operations *operations, void *object, int flags) {
    struct Open *made = calloc(1, sizeof *made);
    *made = (struct Open){.operations = operations, .references = 1, .flags = flags, .object = object};
    return made;
}

void open_release(struct Open *open) {
    if (--open->references > 0) return;
    if (open->is_watched) events_forget(open);
    if (open->operations->closed) open->operations->closed(open);
    free(open);
}

int descriptor_install(struct Open *open, int lowest, bool close_on_exec) {
    for (int number = lowest; number < limit; number++) {
        if (table[number].open) continue;
        table[number].open = open;
        table[number].closes_on_exec = close_on_exec;
        count++;
        return number;
    }
    return -EMFILE;
}

struct Open *descriptor(int number) {
    return number >= 0 && number < REAL_DESCRIPTORS ? table[number].open : NULL;
}

bool descriptor_closes_on_exec(int number) { return descriptor(number) && table[number].closes_on_exec; }
int descriptors_open(void) { return count; }

int descriptor_limit(int wanted) {
    if (wanted > 0) limit = wanted < REAL_DESCRIPTORS ? wanted : REAL_DESCRIPTORS - 1;
    return limit;
}

void readiness_changed(void) { wake(&readiness, UINT32_MAX); }

// MARK: What programs ask


static int release(int number) {
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    table[number].open = NULL;
    count--;
    open_release(open);
    return 0;
}

void descriptor_remove(int number) { release(number); }

EXPORT int close(int number) {
    seam();
    // Whoever has made it may keep it waiting; it never fails.
    struct Open *open = descriptor(number);
    if (open) fault_for(CALL_CLOSE, open->operations->kind, NULL);
    return (int)answer(release(number));
}

static int duplicate(int number, int lowest, bool close_on_exec) {
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    int copy = descriptor_install(open, lowest, close_on_exec);
    if (copy >= 0) open->references++;
    return copy;
}

EXPORT int dup(int number) { return (int)answer(duplicate(number, 0, false)); }

EXPORT int dup3(int number, int wanted, int flags) {
    if (!descriptor(number) || wanted < 0 || wanted >= REAL_DESCRIPTORS) return (int)answer(-EBADF);
    if (wanted == number) return (int)answer(-EINVAL);
    release(wanted);
    struct Open *open = descriptor(number);
    table[wanted].open = open;
    table[wanted].closes_on_exec = flags & O_CLOEXEC;
    open->references++;
    count++;
    return wanted;
}

EXPORT int dup2(int number, int wanted) {
    if (wanted == number) return descriptor(number) ? wanted : (int)answer(-EBADF);
    return dup3(number, wanted, 0);
}

// The part of fcntl(2) that all kinds have; -ENOSYS: the kind's own.
int descriptor_control(int number, int command, long argument) {
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    switch (command) {
    case F_DUPFD: return duplicate(number, (int)argument, false);
    case F_DUPFD_CLOEXEC: return duplicate(number, (int)argument, true);
    case F_GETFD: return table[number].closes_on_exec ? FD_CLOEXEC : 0;
    case F_SETFD: table[number].closes_on_exec = argument & FD_CLOEXEC; return 0;
    case F_GETFL: return open->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
    case F_SETFL:
        open->flags = (open->flags & ~(O_APPEND | O_NONBLOCK)) | ((int)argument & (O_APPEND | O_NONBLOCK));
        return 0;
    default: return -ENOSYS;
    }
}

// Held for as long as the call, which may wait while another thread closes the number.
EXPORT ssize_t read(int number, void *bytes, size_t length) {
    seam();
    struct Open *open = descriptor(number);
    if (!open) return answer(-EBADF);
    open->references++;
    ssize_t result = open->operations->read ? open->operations->read(open, bytes, length) : -EINVAL;
    open_release(open);
    return answer(result);
}

EXPORT ssize_t write(int number, const void *bytes, size_t length) {
    seam();
    struct Open *open = descriptor(number);
    if (!open) return answer(-EBADF);
    open->references++;
    ssize_t result = open->operations->write ? open->operations->write(open, bytes, length) : -EINVAL;
    open_release(open);
    return answer(result);
}
