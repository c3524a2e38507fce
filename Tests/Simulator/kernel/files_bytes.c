// Bytes of files: reading, writing, sizes and syncs by a descriptor.
#include "disk.h"
#include <string.h>
#include <unistd.h>

struct Open *file_held(int number, struct File **file, int *error) {
    struct Open *open = descriptor(number);
    *error = -EBADF;
    if (!open) return NULL;
    *file = file_of(open);
    // Sockets, pipes and their like have no place to be at.
    *error = -ESPIPE;
    if (!*file) return NULL;
    *error = -EBADF;
    if (open->flags & O_PATH) return NULL;
    *error = 0;
    open->references++;
    return open;
}

// MARK: Reading and writing

static ssize_t read_at(struct Open *open, void *bytes, size_t length, off_t offset) {
    struct File *file = open->object;
    if (open->flags & O_PATH || (open->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    if (open->operations != &file_operations) return open->operations->read(open, bytes, length);
    if (offset < 0) return -EINVAL;
    int error = fault_for(CALL_READ, file->path, &length);
    if (error < 0) return error;
    ssize_t result = pages_read(file->inode, bytes, length, (uint64_t)offset);
    file_takes(1, 5 + (unsigned)(length >> 16));
    return result;
}

static ssize_t write_at(struct Open *open, const void *bytes, size_t length, off_t *offset) {
    struct File *file = open->object;
    struct Inode *inode = file->inode;
    if (open->flags & O_PATH || (open->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
    if (open->operations != &file_operations) return open->operations->write(open, bytes, length);
    if (*offset < 0) return -EINVAL;
    int error = fault_for(CALL_WRITE, file->path, &length);
    if (error < 0) return error;
    if (open->flags & O_APPEND) *offset = (off_t)inode->size;
    if (inode->seals & F_SEAL_WRITE) return -EPERM;
    if (inode->seals & F_SEAL_GROW && (uint64_t)*offset + length > inode->size) return -EPERM;
    ssize_t result = pages_write(inode, bytes, length, (uint64_t)*offset);
    if (result > 0) DISK->written += inode->is_memory ? 0 : (uint64_t)result;
    bool is_synced = result > 0 && (open->flags & O_DSYNC) && !inode->is_memory;
    // One page now and then reaches the disk by itself.
    if (result > 0 && !is_synced && draw_permille(10)) inode_write_back(inode, (uint64_t)*offset / PAGE * PAGE, PAGE);
    file_takes(2, 20 + (unsigned)(length >> 16));
    if (!is_synced) return result;
    error = fault_for(CALL_SYNC, file->path, NULL);
    if (error < 0) {
        inode_sync(inode, SYNC_FAILS);
        return error;
    }
    inode_sync_range(inode, (uint64_t)*offset, (uint64_t)result);
    DISK->syncs++;
    file_takes(60, 400);
    return result;
}

ssize_t file_read(struct Open *open, void *bytes, size_t length) {
    open->references++;
    ssize_t result = read_at(open, bytes, length, open->offset);
    if (result > 0) open->offset += result;
    open_release(open);
    return result;
}

ssize_t file_write(struct Open *open, const void *bytes, size_t length) {
    open->references++;
    off_t offset = open->offset;
    ssize_t result = write_at(open, bytes, length, &offset);
    if (result > 0) open->offset = offset + result;
    open_release(open);
    return result;
}

EXPORT ssize_t pread(int number, void *bytes, size_t length, off_t offset) {
    seam();
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return answer(error);
    ssize_t result = offset < 0 ? -EINVAL : read_at(open, bytes, length, offset);
    open_release(open);
    return answer(result);
}
SPELLING(pread64, pread);
EXPORT ssize_t __pread_chk(int number, void *bytes, size_t length, off_t offset, size_t room) {
    if (length > room) not_simulated("a buffer that is too small", (long)length);
    return pread(number, bytes, length, offset);
}
EXPORT ssize_t __pread64_chk(int number, void *bytes, size_t length, off_t offset, size_t room) {
    return __pread_chk(number, bytes, length, offset, room);
}
EXPORT ssize_t __read_chk(int number, void *bytes, size_t length, size_t room) {
    if (length > room) not_simulated("a buffer that is too small", (long)length);
    return read(number, bytes, length);
}

EXPORT ssize_t pwrite(int number, const void *bytes, size_t length, off_t offset) {
    seam();
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return answer(error);
    ssize_t result = offset < 0 ? -EINVAL : write_at(open, bytes, length, &offset);
    open_release(open);
    return answer(result);
}
SPELLING(pwrite64, pwrite);

// MARK: In parts

static ssize_t read_parts(int number, const struct iovec *parts, int count, off_t offset, bool waits) {
    struct File *file = NULL;
    int error = 0;
    if (count < 0 || count > 1024) return -EINVAL;
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    if (offset >= 0 && !file_held(number, &file, &error)) return error;
    if (offset < 0) open->references++;
    if (!waits && open->operations != &file_operations) error = -EOPNOTSUPP;
    ssize_t done = 0, got = 0;
    for (int i = 0; i < count && error == 0; i++) {
        size_t length = parts[i].iov_len;
        if (length == 0) continue;
        if (!waits) {
            error = (open->flags & O_ACCMODE) == O_WRONLY ? -EBADF : fault_for(CALL_READ, file->path, &length);
            got = error < 0 ? error : pages_read_warm(file->inode, parts[i].iov_base, length, (uint64_t)(offset + done));
            if (error == 0) file_takes(1, 3);
        } else if (offset >= 0) {
            got = read_at(open, parts[i].iov_base, length, offset + done);
        } else {
            got = open->operations->read ? open->operations->read(open, parts[i].iov_base, length) : -EINVAL;
        }
        if (got < 0) error = (int)got; else done += got;
        if (got < (ssize_t)parts[i].iov_len) break;
    }
    open_release(open);
    return done > 0 || error == 0 ? done : error;
}

static ssize_t write_parts(int number, const struct iovec *parts, int count, off_t offset) {
    struct File *file;
    int error = 0;
    if (count < 0 || count > 1024) return -EINVAL;
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    if (offset >= 0 && !file_held(number, &file, &error)) return error;
    if (offset < 0) open->references++;
    ssize_t done = 0, got = 0;
    for (int i = 0; i < count && error == 0; i++) {
        if (parts[i].iov_len == 0) continue;
        off_t at = offset + done;
        got = offset >= 0 ? write_at(open, parts[i].iov_base, parts[i].iov_len, &at)
            : open->operations->write ? open->operations->write(open, parts[i].iov_base, parts[i].iov_len) : -EINVAL;
        if (got < 0) error = (int)got; else done += got;
        if (got < (ssize_t)parts[i].iov_len) break;
    }
    open_release(open);
    return done > 0 || error == 0 ? done : error;
}

EXPORT ssize_t readv(int number, const struct iovec *parts, int count) {
    seam();
    return answer(read_parts(number, parts, count, -1, true));
}
EXPORT ssize_t writev(int number, const struct iovec *parts, int count) {
    seam();
    return answer(write_parts(number, parts, count, -1));
}
EXPORT ssize_t preadv(int number, const struct iovec *parts, int count, off_t offset) {
    seam();
    return answer(offset < 0 ? -EINVAL : read_parts(number, parts, count, offset, true));
}
EXPORT ssize_t pwritev(int number, const struct iovec *parts, int count, off_t offset) {
    seam();
    return answer(offset < 0 ? -EINVAL : write_parts(number, parts, count, offset));
}
EXPORT ssize_t preadv2(int number, const struct iovec *parts, int count, off_t offset, int flags) {
    seam();
    if (flags & ~RWF_NOWAIT) not_simulated("preadv2", flags);
    // The offset of the descriptor itself: nobody asks for it without waiting.
    if (offset < 0 && flags) not_simulated("preadv2", offset);
    return answer(read_parts(number, parts, count, offset, flags == 0));
}
EXPORT ssize_t pwritev2(int number, const struct iovec *parts, int count, off_t offset, int flags) {
    (void)number, (void)parts, (void)count, (void)offset;
    not_simulated("pwritev2", flags);
}
SPELLING(preadv64, preadv);
SPELLING(pwritev64, pwritev);
SPELLING(preadv64v2, preadv2);
SPELLING(pwritev64v2, pwritev2);

EXPORT off_t lseek(int number, off_t offset, int whence) {
    seam();
    struct File *file;
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return answer(error);
    off_t size = file->inode ? (off_t)file->inode->size : 0, result = -EINVAL;
    if (whence == SEEK_SET) result = offset;
    if (whence == SEEK_CUR) result = open->offset + offset;
    if (whence == SEEK_END) result = size + offset;
    if (whence == SEEK_DATA || whence == SEEK_HOLE) {
        result = open->operations == &file_operations ? pages_seek(file->inode, offset, whence == SEEK_DATA) : -EINVAL;
    } else if (result < 0) {
        result = -EINVAL;
    }
    if (result >= 0) open->offset = result;
    open_release(open);
    return answer(result);
}
SPELLING(lseek64, lseek);
