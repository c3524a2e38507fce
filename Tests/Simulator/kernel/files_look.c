// What is known of files and of the file system, and the facts that may be changed: modes, owners, times.
#include "disk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

// Numbers of the file systems: the disk, memory, and /proc.
enum { DISK_DEVICE = 0x801, MEMORY_DEVICE = 1, PROC_DEVICE = 0x15 };

static struct timespec time_of(nanoseconds time) { return (struct timespec){time / 1000000000, time % 1000000000}; }

// MARK: stat(2)

static void fill(const struct Inode *inode, struct stat *facts) {
    uint64_t links = inode->links;
    if (S_ISDIR(inode->mode)) {
        links = inode->links > 0 || inode == DISK->root ? 2 : 0;
        for (struct Entry *entry = inode->first; entry; entry = entry->next) links += S_ISDIR(entry->inode->mode) != 0;
    }
    *facts = (struct stat){
        .st_dev = inode->is_memory ? MEMORY_DEVICE : DISK_DEVICE, .st_ino = inode->number, .st_mode = inode->mode, .st_nlink = links,
        .st_uid = inode->uid, .st_gid = inode->gid, .st_rdev = inode->device, .st_size = (off_t)inode->size, .st_blksize = PAGE,
        .st_blocks = (blkcnt_t)inode->blocks * (PAGE / 512), .st_atim = time_of(inode->read_at), .st_mtim = time_of(inode->written_at),
        .st_ctim = time_of(inode->changed_at),
    };
}

// Of what is no file, by its kind.
static void fill_other(struct Open *open, int number, struct stat *facts) {
    *facts = (struct stat){.st_dev = 8, .st_ino = 100000 + (ino_t)number, .st_mode = mode_of_kind(open), .st_nlink = 1,
                           .st_uid = process_uid, .st_gid = process_gid, .st_blksize = PAGE};
}

static void fill_proc(bool is_link, struct stat *facts) {
    unsigned mode = is_link ? S_IFLNK | 0700 : S_IFDIR | 0500;
    *facts = (struct stat){.st_dev = PROC_DEVICE, .st_ino = 1, .st_mode = mode, .st_nlink = is_link ? 1 : 2,
                           .st_uid = process_uid, .st_gid = process_gid, .st_size = is_link ? 64 : 0, .st_blksize = 1024};
}

static int look_open(int number, struct stat *facts) {
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    struct File *file = file_of(open);
    if (file && file->inode) fill(file->inode, facts);
    else if (file) fill_proc(false, facts);
    else fill_other(open, number, facts);
    return 0;
}

static int look_at(int base, const char *path, int flags, struct stat *facts) {
    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT)) return -EINVAL;
    if (*path == 0 && flags & AT_EMPTY_PATH) {
        if (base != AT_FDCWD) return look_open(base, facts);
        fill(process_directory, facts);
        return 0;
    }
    char told[PATH_LIMIT];
    struct Place place;
    int error = fault_for(CALL_LOOK, path_told(base, path, told), NULL);
    if (error == 0) error = place_find(base, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : PATH_FOLLOW, &place);
    if (error == 0 && (place.is_link || place.is_list)) fill_proc(place.is_link, facts);
    else if (error == 0 && place.inode) fill(place.inode, facts);
    else if (error == 0 && place.open) fill_other(place.open, place.number, facts);
    else if (error == 0) error = -ENOENT;
    file_takes(1, 5);
    return error;
}

EXPORT int fstatat(int base, const char *path, struct stat *facts, int flags) {
    seam();
    return (int)answer(look_at(base, path, flags, facts));
}
EXPORT int stat(const char *path, struct stat *facts) {
    seam();
    return (int)answer(look_at(AT_FDCWD, path, 0, facts));
}
EXPORT int lstat(const char *path, struct stat *facts) {
    seam();
    return (int)answer(look_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, facts));
}
EXPORT int fstat(int number, struct stat *facts) {
    seam();
    return (int)answer(look_open(number, facts));
}
EXPORT int fstatat64(int base, const char *path, struct stat64 *facts, int flags) {
    return fstatat(base, path, (struct stat *)facts, flags);
}
EXPORT int stat64(const char *path, struct stat64 *facts) { return stat(path, (struct stat *)facts); }
EXPORT int lstat64(const char *path, struct stat64 *facts) { return lstat(path, (struct stat *)facts); }
EXPORT int fstat64(int number, struct stat64 *facts) { return fstat(number, (struct stat *)facts); }

static struct statx_timestamp stamp_of(struct timespec time) {
    return (struct statx_timestamp){.tv_sec = time.tv_sec, .tv_nsec = (uint32_t)time.tv_nsec};
}

long file_statx(int base, const char *path, int flags, unsigned mask, void *result) {
    struct stat facts;
    const int known = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
    if (flags & ~(known | AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC) || mask & 0x80000000u) return -EINVAL;
    int error = look_at(base, path, flags & known, &facts);
    if (error < 0) return error;
    const uint64_t mount_root = STATX_ATTR_MOUNT_ROOT;
    bool is_root = facts.st_dev == DISK_DEVICE && facts.st_ino == DISK->root->number;
    *(struct statx *)result = (struct statx){
        .stx_mask = STATX_BASIC_STATS, .stx_blksize = (uint32_t)facts.st_blksize, .stx_attributes = is_root ? mount_root : 0,
        .stx_nlink = (uint32_t)facts.st_nlink, .stx_uid = facts.st_uid, .stx_gid = facts.st_gid, .stx_mode = (uint16_t)facts.st_mode,
        .stx_ino = facts.st_ino, .stx_size = (uint64_t)facts.st_size, .stx_blocks = (uint64_t)facts.st_blocks,
        .stx_attributes_mask = mount_root, .stx_atime = stamp_of(facts.st_atim), .stx_ctime = stamp_of(facts.st_ctim),
        .stx_mtime = stamp_of(facts.st_mtim), .stx_rdev_major = major(facts.st_rdev), .stx_rdev_minor = minor(facts.st_rdev),
        .stx_dev_major = major(facts.st_dev), .stx_dev_minor = minor(facts.st_dev),
    };
    return 0;
}
EXPORT int statx(int base, const char *path, int flags, unsigned mask, struct statx *result) {
    seam();
    return (int)answer(file_statx(base, path, flags, mask, result));
}

// MARK: access(2)

static int access_work(int base, const char *path, int mode, int flags) {
    char told[PATH_LIMIT];
    struct Place place;
    if (mode & ~(R_OK | W_OK | X_OK)) return -EINVAL;
    int error = fault_for(CALL_LOOK, path_told(base, path, told), NULL);
    if (error == 0) error = place_find(base, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : PATH_FOLLOW, &place);
    if (error == 0 && !place.inode && !place.open && !place.is_list && !place.is_link) error = -ENOENT;
    if (error == 0 && place.inode && !may(place.inode, (unsigned)mode)) error = -EACCES;
    file_takes(1, 5);
    return error;
}
EXPORT int access(const char *path, int mode) {
    seam();
    return (int)answer(access_work(AT_FDCWD, path, mode, 0));
}
EXPORT int faccessat(int base, const char *path, int mode, int flags) {
    seam();
    return (int)answer(access_work(base, path, mode, flags));
}
EXPORT int euidaccess(const char *path, int mode) { return access(path, mode); }
EXPORT int eaccess(const char *path, int mode) { return access(path, mode); }

// MARK: statfs(2)

static void fill_system(const struct Inode *inode, const char *path, struct statfs *facts) {
    long type = inode && inode->is_memory ? 0x01021994 : strncmp(path, "/proc", 5) == 0 ? 0x9FA0
        : strncmp(path, "/sys/fs/cgroup", 14) == 0 ? 0x63677270 : strncmp(path, "/sys", 4) == 0 ? 0x62656572 : 0xEF53;
    uint64_t free = DISK->room > DISK->held ? (DISK->room - DISK->held) / PAGE : 0;
    *facts = (struct statfs){.f_type = type, .f_bsize = PAGE, .f_frsize = PAGE, .f_blocks = DISK->room / PAGE, .f_bfree = free,
                             .f_bavail = free, .f_files = 1 << 20, .f_ffree = (1 << 20) - DISK->next_inode % (1 << 19),
                             .f_namelen = NAME_LIMIT, .f_flags = ST_RELATIME | 0x20};
}

static int look_system(const char *path, struct statfs *facts) {
    char told[PATH_LIMIT];
    struct Place place;
    int error = fault_for(CALL_LOOK, path_told(AT_FDCWD, path, told), NULL);
    if (error == 0) error = place_find(AT_FDCWD, path, PATH_FOLLOW, &place);
    if (error == 0 && !place.inode && !place.open && !place.is_list) error = -ENOENT;
    if (error < 0) return error;
    if (!place.inode || !inode_path(place.inode, told)) strcpy(told, place.inode ? "" : "/proc");
    fill_system(place.inode, told, facts);
    return 0;
}
EXPORT int statfs(const char *path, struct statfs *facts) {
    seam();
    int error = look_system(path, facts);
    file_takes(1, 5);
    return (int)answer(error);
}

static int look_open_system(int number, struct statfs *facts) {
    struct Open *open = descriptor(number);
    if (!open) return -EBADF;
    struct File *file = file_of(open);
    fill_system(file ? file->inode : NULL, file ? file->path : "/proc", facts);
    if (system_of_kind(open)) facts->f_type = system_of_kind(open);
    return 0;
}
EXPORT int fstatfs(int number, struct statfs *facts) {
    seam();
    return (int)answer(look_open_system(number, facts));
}

static int as_statvfs(int error, const struct statfs *from, struct statvfs *facts) {
    if (error == 0) {
        *facts = (struct statvfs){.f_bsize = (unsigned long)from->f_bsize, .f_frsize = (unsigned long)from->f_frsize,
                                  .f_blocks = from->f_blocks, .f_bfree = from->f_bfree, .f_bavail = from->f_bavail,
                                  .f_files = from->f_files,
                                  .f_ffree = from->f_ffree, .f_favail = from->f_ffree, .f_flag = ST_RELATIME,
                                  .f_namemax = (unsigned long)from->f_namelen};
    }
    return (int)answer(error);
}
EXPORT int statvfs(const char *path, struct statvfs *facts) {
    seam();
    struct statfs from;
    return as_statvfs(look_system(path, &from), &from, facts);
}
EXPORT int fstatvfs(int number, struct statvfs *facts) {
    seam();
    struct statfs from;
    return as_statvfs(look_open_system(number, &from), &from, facts);
}
EXPORT int statfs64(const char *path, struct statfs64 *facts) { return statfs(path, (struct statfs *)facts); }
EXPORT int fstatfs64(int number, struct statfs64 *facts) { return fstatfs(number, (struct statfs *)facts); }
EXPORT int statvfs64(const char *path, struct statvfs64 *facts) { return statvfs(path, (struct statvfs *)facts); }
EXPORT int fstatvfs64(int number, struct statvfs64 *facts) { return fstatvfs(number, (struct statvfs *)facts); }
