// Sizes of files and what makes them durable.
#include "disk.h"
#include <linux/falloc.h>
#include <unistd.h>

int file_resize(struct Inode *inode, off_t size) {
    if (size < 0) return -EINVAL;
    if (inode->seals & F_SEAL_GROW && (uint64_t)size > inode->size) return -EPERM;
    if (inode->seals & F_SEAL_SHRINK && (uint64_t)size < inode->size) return -EPERM;
    return pages_resize(inode, (uint64_t)size);
}

static struct Open *writable_held(int number, struct File **file, int *error) {
    struct Open *open = file_held(number, file, error);
    // What is no file can have no other size.
    if (!open && *error == -ESPIPE) *error = -EINVAL;
    if (!open) return NULL;
    if (open->operations == &file_operations && (open->flags & O_ACCMODE) != O_RDONLY) return open;
    *error = -EINVAL;
    open_release(open);
    return NULL;
}

EXPORT int ftruncate(int number, off_t size) {
    seam();
    struct File *file;
    int error;
    struct Open *open = writable_held(number, &file, &error);
    if (!open) return (int)answer(error);
    error = fault_for(CALL_CUT, file->path, NULL);
    if (error == 0) error = file_resize(file->inode, size);
    file_takes(5, 30);
    open_release(open);
    return (int)answer(error);
}
SPELLING(ftruncate64, ftruncate);

EXPORT int truncate(const char *path, off_t size) {
    seam();
    char told[PATH_LIMIT];
    struct Place place;
    int error = fault_for(CALL_CUT, path_told(AT_FDCWD, path, told), NULL);
    if (error == 0) error = place_find(AT_FDCWD, path, PATH_FOLLOW, &place);
    if (error == 0 && !place.inode) error = place.is_list ? -EISDIR : place.open ? -EINVAL : -ENOENT;
    if (error == 0 && !S_ISREG(place.inode->mode)) error = S_ISDIR(place.inode->mode) ? -EISDIR : -EINVAL;
    if (error == 0 && !may(place.inode, W_OK)) error = -EACCES;
    if (error == 0) error = file_resize(place.inode, size);
    file_takes(5, 30);
    return (int)answer(error);
}
SPELLING(truncate64, truncate);

static int allocate(int number, int mode, off_t offset, off_t length) {
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return error;
    if ((open->flags & O_ACCMODE) == O_RDONLY) error = -EBADF;
    else if (open->operations != &file_operations) error = -ENODEV;
    else if (offset < 0 || length <= 0) error = -EINVAL;
    else error = fault_for(CALL_WRITE, file->path, NULL);
    struct Inode *inode = file->inode;
    bool grows = !(mode & FALLOC_FL_KEEP_SIZE) && inode && (uint64_t)(offset + length) > inode->size;
    if (error == 0 && mode & FALLOC_FL_PUNCH_HOLE) {
        if (mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) error = -EOPNOTSUPP;
        else if (inode->seals & F_SEAL_WRITE) error = -EPERM;
        else error = pages_punch(inode, (uint64_t)offset, (uint64_t)length);
    } else if (error == 0) {
        if (mode & ~FALLOC_FL_KEEP_SIZE) error = -EOPNOTSUPP;
        else if (grows && inode->seals & F_SEAL_GROW) error = -EPERM;
        else error = pages_reserve(inode, (uint64_t)offset, (uint64_t)length, mode & FALLOC_FL_KEEP_SIZE);
    }
    file_takes(5, 30);
    open_release(open);
    return error;
}

EXPORT int fallocate(int number, int mode, off_t offset, off_t length) {
    seam();
    return (int)answer(allocate(number, mode, offset, length));
}
// Its result is the error itself, and errno stays.
EXPORT int posix_fallocate(int number, off_t offset, off_t length) {
    seam();
    return -allocate(number, 0, offset, length);
}
SPELLING(fallocate64, fallocate);
SPELLING(posix_fallocate64, posix_fallocate);

// MARK: Durability

static int sync_work(struct File *file, unsigned how) {
    struct Inode *inode = file->inode;
    file_takes(30, 200);
    int error = fault_for(CALL_SYNC, file->path, NULL);
    if (inode->is_memory) return error;
    if (S_ISDIR(inode->mode)) {
        if (error < 0) return error;
        pending_commit(pending_is_in, inode);
        // The journal of some file systems takes the directory's own name along.
        if (draw_permille(300)) pending_commit(pending_names, inode);
    } else if (error < 0) {
        inode_sync(inode, SYNC_FAILS);
        return error;
    } else {
        inode_sync(inode, how);
        if (draw_permille(500)) pending_commit(pending_names, inode);
    }
    DISK->syncs++;
    return 0;
}

static int sync_call(int number, unsigned how) {
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return error == -ESPIPE ? -EINVAL : error;
    error = file->inode && open->operations != &device_operations ? sync_work(file, how) : -EINVAL;
    file_takes(30, 200);
    open_release(open);
    return error;
}

EXPORT int fsync(int number) {
    seam();
    return (int)answer(sync_call(number, 0));
}
EXPORT int fdatasync(int number) {
    seam();
    return (int)answer(sync_call(number, SYNC_DATA));
}

static void sync_everything(void) {
    pending_commit(pending_any, NULL);
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) {
        if (S_ISREG(inode->mode) && !inode->is_memory) inode_sync(inode, 0);
    }
    DISK->syncs++;
}
EXPORT void sync(void) {
    seam();
    sync_everything();
}
EXPORT int syncfs(int number) {
    seam();
    if (!descriptor(number)) return (int)answer(-EBADF);
    sync_everything();
    file_takes(60, 400);
    return 0;
}

// It writes pages and tells the disk nothing: the size and a volatile cache may still be lost, so nothing is certain after it.
EXPORT int sync_file_range(int number, off_t offset, off_t length, unsigned flags) {
    seam();
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return (int)answer(error);
    if (open->operations != &file_operations) error = -ESPIPE;
    else if (offset < 0 || length < 0 || flags & ~7u) error = -EINVAL;
    else error = fault_for(CALL_SYNC, file->path, NULL);
    if (error == 0 && flags & SYNC_FILE_RANGE_WRITE) inode_write_back(file->inode, (uint64_t)offset, (uint64_t)length);
    file_takes(5, flags & SYNC_FILE_RANGE_WAIT_AFTER ? 400 : 30);
    open_release(open);
    return (int)answer(error);
}

// Advice changes nothing that a program can see.
EXPORT int posix_fadvise(int number, off_t offset, off_t length, int advice) {
    (void)offset, (void)length, (void)advice;
    seam();
    struct Open *open = descriptor(number);
    return !open ? EBADF : file_of(open) ? 0 : ESPIPE;
}
SPELLING(posix_fadvise64, posix_fadvise);

// Copies go the long way, as on a file system that cannot share blocks.
EXPORT ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags) {
    (void)from_offset, (void)to_offset, (void)length, (void)flags;
    seam();
    return answer(descriptor(from) && descriptor(to) ? -EOPNOTSUPP : -EBADF);
}
EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t length) {
    (void)to, (void)from, (void)offset;
    not_simulated("sendfile", (long)length);
}
SPELLING(sendfile64, sendfile);
