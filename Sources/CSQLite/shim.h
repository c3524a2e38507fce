#ifndef KURA_CSQLITE_SHIM_H
#define KURA_CSQLITE_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>

// Swift does not import variadic functions: one spelling for each shape of argument that is used.

static inline int kura_sqlite3_config_int(int option, int value) {
    return sqlite3_config(option, value);
}

static inline int kura_sqlite3_db_config_flag(sqlite3 *db, int option, int on) {
    int result = 0;
    return sqlite3_db_config(db, option, on, &result);
}

// Swift does not import casts to function pointers. SQLITE_STATIC is a null destructor.

static inline int kura_sqlite3_bind_text_transient(sqlite3_stmt *statement, int index, const char *text,
                                                   sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int kura_sqlite3_bind_blob_transient(sqlite3_stmt *statement, int index, const void *bytes,
                                                   sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// A file of the counting VFS. SQLite allocates szOsFile bytes for it: this, and the real file after it.
// Declared in C since the layout of a C struct is promised: `base` is first.
typedef struct kura_sqlite3_file {
    sqlite3_file base;
    sqlite3_file *real;
    void *state;
} kura_sqlite3_file;

// glibc shows preadv2 to _GNU_SOURCE only, which a module cannot ask of another module's header.
extern ssize_t preadv64v2(int descriptor, const struct iovec *vectors, int count, int64_t offset, int flags);

// RWF_NOWAIT (linux/fs.h): fail with EAGAIN where the read would have to wait.
static inline ssize_t kura_pread_nowait(int descriptor, void *bytes, size_t count, int64_t offset) {
    struct iovec vector = {.iov_base = bytes, .iov_len = count};
    return preadv64v2(descriptor, &vector, 1, offset, 0x00000008);
}

// mmap(2) for SQLite, which writes through a map of a WAL index. A page of it that has no block yet, on a disk without room for
// one, is SIGBUS when it is written: so the blocks come first. A file system that cannot do that is taken as it is.
static inline void *kura_mmap_with_room(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    if (flags & MAP_SHARED && protection & PROT_WRITE) {
        int error = posix_fallocate(descriptor, offset, (off_t)length);
        if (error == ENOSPC || error == EDQUOT || error == EIO) {
            errno = error;
            return MAP_FAILED;
        }
    }
    return mmap(address, length, protection, flags, descriptor, offset);
}

// Has a VFS of SQLite's own map files so. SQLITE_OK, or SQLITE_NOTFOUND when it maps none.
static inline int kura_sqlite3_map_with_room(sqlite3_vfs *vfs) {
    return vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)kura_mmap_with_room);
}

// Also of _GNU_SOURCE only.
extern int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned flags);

// Has a range's dirty pages written, SYNC_FILE_RANGE_WRITE (linux/fs.h). With `waits` also SYNC_FILE_RANGE_WAIT_BEFORE and
// _WAIT_AFTER: the disk has them when it returns.
static inline int kura_write_out(int descriptor, int64_t offset, int64_t count, int waits) {
    return sync_file_range(descriptor, offset, count, waits ? 7 : 2);
}

#endif
