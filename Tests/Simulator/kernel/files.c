// Opening: which inode a path leads to, who may, and the descriptor that stands for it.
#include "disk.h"
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

uint32_t process_uid = 1000, process_gid = 1000, process_umask = 022;
struct Inode *process_directory;

void disk_owner(uint32_t uid, uint32_t gid) { process_uid = uid, process_gid = gid; }

void file_takes(unsigned least, unsigned most) {
    nanoseconds span = (nanoseconds)least * 1000 + (nanoseconds)draw_below((uint64_t)(most - least) * 1000 + 1);
    if (settings[SETTING_SLOW]) span = span * (nanoseconds)settings[SETTING_SLOW] / 100;
    spend(span);
}

// MARK: What is open

static unsigned always_ready(struct Open *open) {
    (void)open;
    return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
}

static struct File *files;

static void closed(struct Open *open) {
    struct File *file = open->object;
    if (file->previous) file->previous->next = file->next; else files = file->next;
    if (file->next) file->next->previous = file->previous;
    locks_released(open, file->inode);
    if (file->inode) {
        file->inode->opens--;
        inode_settle(file->inode);
    }
    free(file->path);
    free(file);
}

static ssize_t read_directory(struct Open *open, void *bytes, size_t length) {
    (void)bytes, (void)length;
    return open->flags & O_PATH ? -EBADF : -EISDIR;
}

static ssize_t write_directory(struct Open *open, const void *bytes, size_t length) {
    (void)open, (void)bytes, (void)length;
    return -EBADF;
}

static ssize_t read_device(struct Open *open, void *bytes, size_t length) {
    if (open->flags & O_PATH || (open->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    switch (((struct File *)open->object)->inode->device) {
    case 0x103: return 0;
    case 0x105: memset(bytes, 0, length); return (ssize_t)length;
    default: draw_bytes(bytes, length); return (ssize_t)length;
    }
}

static ssize_t write_device(struct Open *open, const void *bytes, size_t length) {
    (void)bytes;
    return open->flags & O_PATH || (open->flags & O_ACCMODE) == O_RDONLY ? -EBADF : (ssize_t)length;
}

const struct Operations file_operations = {"file", file_read, file_write, always_ready, closed};
const struct Operations directory_operations = {"directory", read_directory, write_directory, always_ready, closed};
const struct Operations list_operations = {"directory", read_directory, write_directory, always_ready, closed};
const struct Operations device_operations = {"device", read_device, write_device, always_ready, closed};

struct File *file_of(struct Open *open) {
    return open->operations->closed == closed ? open->object : NULL;
}

struct Open *file_made(struct Inode *inode, int flags, const char *path) {
    struct File *file = malloc(sizeof *file);
    *file = (struct File){.inode = inode, .next = files, .path = strdup(path)};
    if (files) files->previous = file;
    files = file;
    if (inode) inode->opens++;
    const struct Operations *operations = !inode ? &list_operations : S_ISDIR(inode->mode) ? &directory_operations
        : S_ISCHR(inode->mode) ? &device_operations : &file_operations;
    struct Open *open = open_make(operations, file, flags);
    if (inode) inode_settle(inode);
    return open;
}

// The old texts stay: a call that waits may still tell of one.
void files_moved(const char *from, const char *to) {
    size_t length = strlen(from), other = strlen(to);
    for (struct File *file = files; file; file = file->next) {
        if (file->is_nameless || strncmp(file->path, from, length) != 0 || (file->path[length] && file->path[length] != '/')) continue;
        char *path = malloc(strlen(file->path) - length + other + 1);
        strcpy(strcpy(path, to) + other, file->path + length);
        file->path = path;
    }
}

void files_nameless(const char *path) {
    for (struct File *file = files; file; file = file->next) {
        if (strcmp(file->path, path) == 0) file->is_nameless = true;
    }
}

int file_installed(struct Inode *inode, int flags, const char *path) {
    struct Open *open = file_made(inode, flags, path);
    int number = descriptor_install(open, 0, flags & O_CLOEXEC);
    if (number < 0) open_release(open);
    return number;
}

// Linux takes the number first, so that a file is not made when there is none left.
static bool has_number(void) {
    for (int number = 0; number < descriptor_limit(0); number++) {
        if (!descriptor(number)) return true;
    }
    return false;
}

// MARK: open(2)

static int open_unnamed(int base, const char *path, int flags, unsigned mode, unsigned how) {
    struct Place place;
    if ((flags & O_ACCMODE) == O_RDONLY) return -EINVAL;
    int error = place_find(base, path, PATH_FOLLOW | how, &place);
    if (error < 0) return error;
    if (!place.inode) return -ENOENT;
    if (!S_ISDIR(place.inode->mode)) return -ENOTDIR;
    if (!may(place.inode, W_OK | X_OK)) return -EACCES;
    struct Inode *inode = inode_make(S_IFREG | (mode & 07777 & ~process_umask), process_uid, process_gid);
    inode->is_linkable = !(flags & O_EXCL);
    char told[PATH_LIMIT + 32];
    size_t length = directory_path(place.inode, told);
    sprintf(told + length, "/#%llu", (unsigned long long)inode->number);
    int number = file_installed(inode, flags, told);
    if (number >= 0) file_of(descriptor(number))->is_nameless = true;
    return number;
}

static int check_open(const struct Inode *inode, int flags, bool is_new) {
    unsigned wanted = (flags & O_ACCMODE) == O_RDONLY ? R_OK : (flags & O_ACCMODE) == O_WRONLY ? W_OK : R_OK | W_OK;
    if (flags & O_TRUNC) wanted |= W_OK;
    if (S_ISLNK(inode->mode) && !(flags & O_PATH)) return flags & O_DIRECTORY ? -ENOTDIR : -ELOOP;
    if (flags & O_DIRECTORY && !S_ISDIR(inode->mode)) return -ENOTDIR;
    if (flags & O_PATH) return 0;
    if (S_ISDIR(inode->mode) && (wanted & W_OK || flags & O_CREAT)) return -EISDIR;
    if (!is_new && !may(inode, wanted)) return -EACCES;
    if (S_ISSOCK(inode->mode) || (S_ISCHR(inode->mode) && inode->device == 0x500)) return -ENXIO;
    if (inode->seals & F_SEAL_WRITE && wanted & W_OK) return -EPERM;
    return 0;
}

static int open_found(struct Place *place, int flags, bool is_new, const char *told) {
    struct Inode *inode = place->inode;
    int error = check_open(inode, flags, is_new);
    if (error < 0) return error;
    if (flags & O_TRUNC && !is_new && S_ISREG(inode->mode) && !(flags & O_PATH)) error = file_resize(inode, 0);
    if (error < 0) return error;
    return file_installed(inode, flags, told);
}

static int open_work(int base, const char *path, int flags, unsigned mode, unsigned how) {
    if (!has_number()) return -EMFILE;
    if ((flags & O_TMPFILE) == O_TMPFILE) return open_unnamed(base, path, flags, mode, how);
    if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY)) return -EINVAL;
    struct Place place;
    bool follows = !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL), is_new = false;
    int error = place_find(base, path, (follows ? PATH_FOLLOW : 0) | (flags & O_CREAT ? PATH_MAKES : 0) | how, &place);
    if (error < 0) return error;
    if (place.is_list) return flags & (O_WRONLY | O_RDWR | O_CREAT) ? -EISDIR : file_installed(NULL, flags, "/proc/self/fd");
    if (place.is_link) return flags & O_CREAT && flags & O_EXCL ? -EEXIST : -ELOOP;
    if (place.open && !place.inode) return -ENXIO;
    if (!place.inode) {
        if (!(flags & O_CREAT)) return -ENOENT;
        if (place.directory->links == 0 && place.directory != DISK->root) return -ENOENT;
        error = place_may_change(&place);
        if (error < 0) return error;
        place.inode = inode_make(S_IFREG | (mode & 07777 & ~process_umask), process_uid, process_gid);
        name_set(place.directory, place.name, place.inode);
        is_new = true;
    } else if (flags & O_CREAT && flags & O_EXCL) {
        return -EEXIST;
    }
    char told[PATH_LIMIT];
    if (!place_path(&place, told)) return -ENAMETOOLONG;
    int number = open_found(&place, flags, is_new, told);
    // Another descriptor's name stands for what that one was opened by.
    bool is_again = number >= 0 && place.open && !S_ISDIR(place.inode->mode);
    if (is_again) file_of(descriptor(number))->is_nameless = file_of(place.open)->is_nameless;
    return number;
}

int file_open(int base, const char *path, int flags, unsigned mode, unsigned how) {
    char told[PATH_LIMIT];
    int error = fault_for(CALL_OPEN, path_told(base, path, told), NULL);
    if (error < 0) return error;
    int result = open_work(base, path, flags, mode, how);
    file_takes(5, 20);
    return result;
}

// The mode is only there when something may be made.
static unsigned mode_in(va_list arguments, int flags) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, unsigned) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = mode_in(arguments, flags);
    va_end(arguments);
    seam();
    return (int)answer(file_open(AT_FDCWD, path, flags, mode, 0));
}

EXPORT int openat(int base, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = mode_in(arguments, flags);
    va_end(arguments);
    seam();
    return (int)answer(file_open(base, path, flags, mode, 0));
}

EXPORT int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
SPELLING(open64, open);
SPELLING(openat64, openat);
SPELLING(creat64, creat);
// What _FORTIFY_SOURCE makes of an open without a mode.
EXPORT int __open_2(const char *path, int flags) { return open(path, flags, 0); }
EXPORT int __open64_2(const char *path, int flags) { return open(path, flags, 0); }
EXPORT int __openat_2(int base, const char *path, int flags) { return openat(base, path, flags, 0); }
EXPORT int __openat64_2(int base, const char *path, int flags) { return openat(base, path, flags, 0); }

// openat2(2). The dispatcher of `syscall` has had its seam.
long file_openat2(int base, const char *path, const void *how, size_t size) {
    const struct open_how *wanted = how;
    if (size < sizeof *wanted) return -EINVAL;
    for (size_t i = sizeof *wanted; i < size; i++) {
        if (((const uint8_t *)how)[i]) return -E2BIG;
    }
    const uint64_t known = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
    bool makes = wanted->flags & O_CREAT || (wanted->flags & O_TMPFILE) == O_TMPFILE;
    if (wanted->flags >> 32 || (wanted->mode && !makes) || wanted->mode & ~07777ull) return -EINVAL;
    if (wanted->resolve & (RESOLVE_IN_ROOT | RESOLVE_CACHED)) not_simulated("openat2", (long)wanted->resolve);
    if (wanted->resolve & ~known) return -EINVAL;
    unsigned flags = (wanted->resolve & RESOLVE_BENEATH ? PATH_BENEATH : 0) | (wanted->resolve & RESOLVE_NO_SYMLINKS ? PATH_NO_LINKS : 0)
        | (wanted->resolve & RESOLVE_NO_MAGICLINKS ? PATH_NO_MAGIC : 0);
    return file_open(base, path, (int)wanted->flags, (unsigned)wanted->mode, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags) {
    seam();
    const unsigned known = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    if (strlen(name) > 249 || flags & ~known) return (int)answer(-EINVAL);
    int error = fault_for(CALL_OPEN, name, NULL);
    if (error < 0) return (int)answer(error);
    if (!has_number()) return (int)answer(-EMFILE);
    struct Inode *inode = inode_make(S_IFREG | 0777, process_uid, process_gid);
    inode->is_memory = true;
    inode->is_counted = false;
    inode->seals = flags & MFD_ALLOW_SEALING ? 0 : F_SEAL_SEAL;
    char told[300];
    strcat(strcpy(told, "/memfd:"), name);
    int number = file_installed(inode, O_RDWR | (flags & MFD_CLOEXEC ? O_CLOEXEC : 0), told);
    if (number >= 0) file_of(descriptor(number))->is_nameless = true;
    file_takes(5, 20);
    return (int)answer(number);
}

EXPORT mode_t umask(mode_t mask) {
    mode_t before = process_umask;
    process_umask = mask & 0777;
    return before;
}
