// Locks of files and the rest of fcntl(2). POSIX locks belong to the process, which is one and never meets its own; locks
// of open file descriptions (OFD) and flock(2) may meet within it.
#include "disk.h"
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

// Of a range when `is_range`; else of flock(2), which knows nothing of those.
struct Lock {
    struct Lock *next;
    struct Inode *inode;
    const struct Open *owner;              // NULL: the process
    bool is_range, is_exclusive;
    off_t start, end;                      // `end` is inside
};
static struct Lock *locks;

static void remove_lock(struct Lock **at) {
    struct Lock *lock = *at;
    *at = lock->next;
    free(lock);
}

static void add_lock(const struct Lock *wanted) {
    struct Lock *lock = malloc(sizeof *lock);
    *lock = *wanted;
    lock->next = locks;
    locks = lock;
}

void locks_released(struct Open *open, struct Inode *inode) {
    bool is_changed = false;
    for (struct Lock **at = &locks; *at;) {
        // With the description go its own, and those of the process on the file, as fcntl(2) warns.
        bool goes = (*at)->owner == open || (inode && !(*at)->owner && (*at)->inode == inode);
        is_changed = is_changed || goes;
        if (goes) remove_lock(at); else at = &(*at)->next;
    }
    if (is_changed) wake(&locks, UINT_MAX);
}

void locks_forgotten(void) {
    while (locks) remove_lock(&locks);
}

static struct Lock *conflict(const struct Lock *wanted) {
    for (struct Lock *lock = locks; lock; lock = lock->next) {
        if (lock->inode != wanted->inode || lock->owner == wanted->owner || lock->is_range != wanted->is_range) continue;
        if (lock->start > wanted->end || wanted->start > lock->end) continue;
        if (lock->is_exclusive || wanted->is_exclusive) return lock;
    }
    return NULL;
}

// What the owner has of the range goes; what lies on both sides of it stays.
static void clear_range(const struct Lock *range) {
    for (struct Lock **at = &locks; *at;) {
        struct Lock lock = **at;
        bool is_other = lock.inode != range->inode || lock.owner != range->owner || lock.is_range != range->is_range;
        if (is_other || lock.start > range->end || range->start > lock.end) {
            at = &(*at)->next;
            continue;
        }
        remove_lock(at);
        struct Lock before = lock, after = lock;
        before.end = range->start - 1;
        after.start = range->end == LLONG_MAX ? LLONG_MAX : range->end + 1;
        if (lock.start < range->start) add_lock(&before);
        if (lock.end > range->end) add_lock(&after);
        at = &locks;
    }
}

// MARK: flock(2)

EXPORT int flock(int number, int operation) {
    seam();
    struct Open *open = descriptor(number);
    struct File *file = open ? file_of(open) : NULL;
    int kind = operation & ~LOCK_NB;
    if (!open || open->flags & O_PATH) return (int)answer(-EBADF);
    if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN) return (int)answer(-EINVAL);
    if (!file || !file->inode) not_simulated("flock of what is no file", number);
    int error = kind == LOCK_UN ? 0 : fault_for(CALL_LOOK, file->path, NULL);
    if (error < 0) return (int)answer(error);
    if (descriptor(number) != open) return (int)answer(-EBADF);
    struct Lock wanted = {.inode = file->inode, .owner = open, .is_exclusive = kind == LOCK_EX, .end = LLONG_MAX};
    if (kind == LOCK_UN) {
        clear_range(&wanted);
        wake(&locks, UINT_MAX);
        return 0;
    }
    open->references++;
    // A lock that is converted is given up first, as flock(2) says.
    if (conflict(&wanted)) clear_range(&wanted);
    while (error == 0 && conflict(&wanted)) {
        if (operation & LOCK_NB) error = -EWOULDBLOCK;
        else wait_on(&locks, FOREVER);
    }
    if (error == 0) {
        clear_range(&wanted);
        add_lock(&wanted);
        wake(&locks, UINT_MAX);
    }
    open_release(open);
    return (int)answer(error);
}

// MARK: fcntl(2)

static int range_of(const struct Open *open, const struct Inode *inode, const struct flock *lock, struct Lock *range) {
    off_t base = lock->l_whence == SEEK_SET ? 0 : lock->l_whence == SEEK_CUR ? open->offset : (off_t)inode->size;
    if (lock->l_whence != SEEK_SET && lock->l_whence != SEEK_CUR && lock->l_whence != SEEK_END) return -EINVAL;
    range->start = base + lock->l_start;
    range->end = lock->l_len == 0 ? LLONG_MAX : range->start + lock->l_len - 1;
    if (lock->l_len < 0) {
        range->end = range->start - 1;
        range->start += lock->l_len;
    }
    return range->start < 0 || range->end < range->start ? -EINVAL : 0;
}

static int lock_range(struct Open *open, struct Inode *inode, int command, struct flock *lock) {
    bool is_own = command == F_OFD_GETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    struct Lock range = {.inode = inode, .owner = is_own ? open : NULL, .is_range = true, .is_exclusive = lock->l_type == F_WRLCK};
    int error = range_of(open, inode, lock, &range);
    if (error == 0 && is_own && lock->l_pid != 0) error = -EINVAL;
    if (error == 0 && lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && lock->l_type != F_UNLCK) error = -EINVAL;
    if (error < 0) return error;
    if (command == F_GETLK || command == F_OFD_GETLK) {
        struct Lock *other = conflict(&range);
        lock->l_type = F_UNLCK;
        if (!other) return 0;
        *lock = (struct flock){.l_type = other->is_exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = other->start,
                               .l_len = other->end == LLONG_MAX ? 0 : other->end - other->start + 1, .l_pid = other->owner ? -1 : getpid()};
        return 0;
    }
    int access = open->flags & O_ACCMODE;
    if ((lock->l_type == F_RDLCK && access == O_WRONLY) || (lock->l_type == F_WRLCK && access == O_RDONLY)) return -EBADF;
    while (lock->l_type != F_UNLCK && conflict(&range)) {
        if (command == F_SETLK || command == F_OFD_SETLK) return -EAGAIN;
        wait_on(&locks, FOREVER);
    }
    clear_range(&range);
    if (lock->l_type != F_UNLCK) add_lock(&range);
    wake(&locks, UINT_MAX);
    return 0;
}

static int add_seals(struct Open *open, struct Inode *inode, unsigned seals) {
    const unsigned known = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    if (!inode->is_memory || seals & ~known) return -EINVAL;
    if ((open->flags & O_ACCMODE) == O_RDONLY || inode->seals & F_SEAL_SEAL) return -EPERM;
    if (seals & F_SEAL_WRITE && inode->writable_maps > 0) return -EBUSY;
    inode->seals |= seals;
    return 0;
}

static int control(int number, int command, long argument) {
    int result = descriptor_control(number, command, argument);
    if (result != -ENOSYS) return result;
    struct Open *open = descriptor(number);
    if (!open || open->flags & O_PATH) return -EBADF;
    struct File *file = file_of(open);
    struct Inode *inode = file ? file->inode : NULL;
    switch (command) {
    case F_GETLK: case F_SETLK: case F_SETLKW: case F_OFD_GETLK: case F_OFD_SETLK: case F_OFD_SETLKW:
        if (!inode) not_simulated("a lock of what is no file", number);
        // Linux finds memory for giving a lock up, and SQLite does not look whether it did.
        result = ((struct flock *)argument)->l_type == F_UNLCK ? 0 : fault_for(CALL_LOOK, file->path, NULL);
        if (result < 0) return result;
        if (descriptor(number) != open) return -EBADF;
        open->references++;
        result = lock_range(open, inode, command, (struct flock *)argument);
        open_release(open);
        return result;
    case F_ADD_SEALS: return inode ? add_seals(open, inode, (unsigned)argument) : -EINVAL;
    case F_GET_SEALS: return inode && inode->is_memory ? (int)inode->seals : -EINVAL;
    case F_GETPIPE_SZ:
    case F_SETPIPE_SZ: return (int)pipe_control(open, command, argument);
    default: not_simulated("fcntl", command);
    }
}

EXPORT int fcntl(int number, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    // Each argument is a word, or there is none and nobody looks at it.
    long argument = va_arg(arguments, long);
    va_end(arguments);
    seam();
    return (int)answer(control(number, command, argument));
}
SPELLING(fcntl64, fcntl);

// The part of ioctl(2) that files have; its dispatcher is in environment.c.
long file_control(int number, unsigned long request, void *argument) {
    enum { UNREAD = 0x541B, CLONE = 0x40049409 };
    struct Open *open = descriptor(number);
    struct File *file = open ? file_of(open) : NULL;
    if (!file) return open ? -ENOTTY : -EBADF;
    if (request == CLONE) return -EOPNOTSUPP;
    if (request != UNREAD || open->operations != &file_operations) return -ENOTTY;
    *(int *)argument = (int)((off_t)file->inode->size - open->offset);
    return 0;
}
