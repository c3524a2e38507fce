// Facts of files that programs change (modes, owners, times), and paths as texts.
#include "disk.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

// The inode of a call by path or, with an empty one, by descriptor.
static int found(int base, const char *path, int flags, struct Inode **inode) {
    char told[PATH_LIMIT];
    struct Place place;
    int error = fault_for(CALL_NAME, path_told(base, path, told), NULL);
    if (error < 0) return error;
    if (*path == 0 && flags & AT_EMPTY_PATH && base != AT_FDCWD) {
        struct Open *open = descriptor(base);
        struct File *file = open ? file_of(open) : NULL;
        *inode = file ? file->inode : NULL;
        return !open ? -EBADF : *inode ? 0 : -EPERM;
    }
    error = place_find(base, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : PATH_FOLLOW, &place);
    *inode = place.inode;
    return error < 0 ? error : place.inode ? 0 : place.is_list || place.is_link || place.open ? -EPERM : -ENOENT;
}

static int held(int number, struct Inode **inode) {
    struct Open *open = descriptor(number);
    struct File *file = open ? file_of(open) : NULL;
    if (!open || open->flags & O_PATH) return -EBADF;
    if (!file || !file->inode) return -EPERM;
    int error = fault_for(CALL_NAME, file->path, NULL);
    // While a fault has taken its time another thread may have closed it.
    if (error == 0 && descriptor(number) != open) error = -EBADF;
    *inode = file->inode;
    return error;
}

// MARK: Modes and owners

static int set_mode(int error, struct Inode *inode, unsigned mode) {
    if (error == 0 && S_ISLNK(inode->mode)) error = -EOPNOTSUPP;
    if (error == 0 && process_uid != 0 && inode->uid != process_uid) error = -EPERM;
    if (error == 0) {
        inode->mode = (inode->mode & S_IFMT) | (mode & 07777);
        inode->changed_at = wall_now();
    }
    file_takes(5, 30);
    return (int)answer(error);
}

EXPORT int chmod(const char *path, mode_t mode) {
    seam();
    struct Inode *inode = NULL;
    int error = found(AT_FDCWD, path, 0, &inode);
    return set_mode(error, inode, mode);
}
EXPORT int fchmod(int number, mode_t mode) {
    seam();
    struct Inode *inode = NULL;
    int error = held(number, &inode);
    return set_mode(error, inode, mode);
}
EXPORT int fchmodat(int base, const char *path, mode_t mode, int flags) {
    seam();
    struct Inode *inode = NULL;
    int error = flags & ~AT_SYMLINK_NOFOLLOW ? -EINVAL : found(base, path, flags, &inode);
    return set_mode(error, inode, mode);
}

static int set_owner(int error, struct Inode *inode, uid_t uid, gid_t gid) {
    if (error == 0 && process_uid != 0) {
        bool is_own = inode->uid == process_uid && (uid == (uid_t)-1 || uid == process_uid) && (gid == (gid_t)-1 || gid == process_gid);
        if (!is_own && (uid != (uid_t)-1 || gid != (gid_t)-1)) error = -EPERM;
    }
    if (error == 0) {
        if (uid != (uid_t)-1) inode->uid = uid;
        if (gid != (gid_t)-1) inode->gid = gid;
        inode->changed_at = wall_now();
    }
    file_takes(5, 30);
    return (int)answer(error);
}

EXPORT int chown(const char *path, uid_t uid, gid_t gid) {
    seam();
    struct Inode *inode = NULL;
    int error = found(AT_FDCWD, path, 0, &inode);
    return set_owner(error, inode, uid, gid);
}
EXPORT int lchown(const char *path, uid_t uid, gid_t gid) {
    seam();
    struct Inode *inode = NULL;
    int error = found(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &inode);
    return set_owner(error, inode, uid, gid);
}
EXPORT int fchown(int number, uid_t uid, gid_t gid) {
    seam();
    struct Inode *inode = NULL;
    int error = held(number, &inode);
    return set_owner(error, inode, uid, gid);
}
EXPORT int fchownat(int base, const char *path, uid_t uid, gid_t gid, int flags) {
    seam();
    struct Inode *inode = NULL;
    int error = flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ? -EINVAL : found(base, path, flags, &inode);
    return set_owner(error, inode, uid, gid);
}

// MARK: Times

static int set_times(int error, struct Inode *inode, const struct timespec times[2]) {
    bool is_now = !times || (times[0].tv_nsec == UTIME_NOW && times[1].tv_nsec == UTIME_NOW);
    for (int i = 0; i < 2 && times && error == 0; i++) {
        bool is_special = times[i].tv_nsec == UTIME_NOW || times[i].tv_nsec == UTIME_OMIT;
        if (!is_special && (times[i].tv_nsec < 0 || times[i].tv_nsec >= 1000000000)) error = -EINVAL;
    }
    if (error == 0 && process_uid != 0 && inode->uid != process_uid && !(is_now && may(inode, W_OK))) error = is_now ? -EACCES : -EPERM;
    if (error == 0) {
        nanoseconds now = wall_now(), *targets[2] = {&inode->read_at, &inode->written_at};
        for (int i = 0; i < 2; i++) {
            if (!times || times[i].tv_nsec == UTIME_NOW) *targets[i] = now;
            else if (times[i].tv_nsec != UTIME_OMIT) *targets[i] = times[i].tv_sec * 1000000000 + times[i].tv_nsec;
        }
        inode->changed_at = now;
    }
    file_takes(5, 30);
    return (int)answer(error);
}

EXPORT int utimensat(int base, const char *path, const struct timespec times[2], int flags) {
    seam();
    struct Inode *inode = NULL;
    int error = flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ? -EINVAL : found(base, path, flags, &inode);
    return set_times(error, inode, times);
}
EXPORT int futimens(int number, const struct timespec times[2]) {
    seam();
    struct Inode *inode = NULL;
    int error = held(number, &inode);
    return set_times(error, inode, times);
}
EXPORT int utimes(const char *path, const struct timeval times[2]) {
    struct timespec wanted[2];
    for (int i = 0; i < 2 && times; i++) wanted[i] = (struct timespec){times[i].tv_sec, times[i].tv_usec * 1000};
    return utimensat(AT_FDCWD, path, times ? wanted : NULL, 0);
}
EXPORT int utime(const char *path, const struct utimbuf *times) {
    if (!times) return utimensat(AT_FDCWD, path, NULL, 0);
    return utimensat(AT_FDCWD, path, (struct timespec[]){{times->actime, 0}, {times->modtime, 0}}, 0);
}

// MARK: Paths as texts

// What readlink says of /proc/self/fd/N.
size_t descriptor_name(struct Open *open, char text[PATH_LIMIT]) {
    struct File *file = file_of(open);
    if (!file) return (size_t)snprintf(text, PATH_LIMIT, "anon_inode:[%s]", open->operations->kind);
    if (!file->inode) return strlen(strcpy(text, "/proc/self/fd"));
    if (S_ISDIR(file->inode->mode)) return directory_path(file->inode, text);
    return (size_t)snprintf(text, PATH_LIMIT, "%.4000s%s", file->path, file->is_nameless ? " (deleted)" : "");
}

static ssize_t read_link(int base, const char *path, char *text, size_t room) {
    char told[PATH_LIMIT];
    struct Place place;
    if (room == 0 || room > INT_MAX) return -EINVAL;
    int error = fault_for(CALL_LOOK, path_told(base, path, told), NULL);
    if (error == 0) error = place_find(base, path, 0, &place);
    if (error < 0) return error;
    if (place.is_link) {
        descriptor_name(place.open, told);
    } else {
        if (!place.inode && !place.is_list) return -ENOENT;
        if (!place.inode || !S_ISLNK(place.inode->mode)) return -EINVAL;
        strcpy(told, place.inode->target);
    }
    size_t length = strlen(told) < room ? strlen(told) : room;
    memcpy(text, told, length);
    return (ssize_t)length;
}

EXPORT ssize_t readlink(const char *path, char *text, size_t room) {
    seam();
    ssize_t result = read_link(AT_FDCWD, path, text, room);
    file_takes(1, 5);
    return answer(result);
}
EXPORT ssize_t readlinkat(int base, const char *path, char *text, size_t room) {
    seam();
    ssize_t result = read_link(base, path, text, room);
    file_takes(1, 5);
    return answer(result);
}
EXPORT ssize_t __readlink_chk(const char *path, char *text, size_t wanted, size_t room) {
    if (wanted > room) not_simulated("a buffer that is too small", (long)wanted);
    return readlink(path, text, wanted);
}

EXPORT char *realpath(const char *path, char *text) {
    seam();
    char told[PATH_LIMIT];
    struct Place place;
    int error = fault_for(CALL_LOOK, path_told(AT_FDCWD, path, told), NULL);
    if (error == 0) error = place_find(AT_FDCWD, path, PATH_FOLLOW, &place);
    if (error == 0 && place.open) descriptor_name(place.open, told);
    else if (error == 0 && place.is_list) strcpy(told, "/proc/self/fd");
    else if (error == 0 && !place.inode) error = -ENOENT;
    else if (error == 0 && !place_path(&place, told)) error = -ENAMETOOLONG;
    file_takes(1, 5);
    if (answer(error) < 0) return NULL;
    return text ? strcpy(text, told) : strdup(told);
}
EXPORT char *__realpath_chk(const char *path, char *text, size_t room) {
    if (room < PATH_MAX) not_simulated("a buffer that is too small", (long)room);
    return realpath(path, text);
}
EXPORT char *canonicalize_file_name(const char *path) { return realpath(path, NULL); }

EXPORT char *getcwd(char *text, size_t room) {
    char told[PATH_LIMIT];
    size_t length = directory_path(process_directory, told) + 1;
    if (text && room == 0) return answer(-EINVAL), NULL;
    if (process_directory->links == 0 && process_directory != DISK->root) return answer(-ENOENT), NULL;
    if (!text && room == 0) return strdup(told);
    if (room < length) return answer(-ERANGE), NULL;
    if (!text) text = malloc(room);
    return memcpy(text, told, length);
}

static int enter(int error, struct Inode *inode) {
    if (error == 0 && !S_ISDIR(inode->mode)) error = -ENOTDIR;
    if (error == 0 && !may(inode, X_OK)) error = -EACCES;
    if (error == 0) {
        struct Inode *before = process_directory;
        process_directory = inode;
        inode->opens++;
        if (before != DISK->root) {
            before->opens--;
            inode_settle(before);
        }
    }
    return (int)answer(error);
}
EXPORT int chdir(const char *path) {
    seam();
    struct Inode *inode = NULL;
    int error = found(AT_FDCWD, path, 0, &inode);
    return enter(error, inode);
}
EXPORT int fchdir(int number) {
    seam();
    struct Inode *inode = NULL;
    int error = held(number, &inode);
    return enter(error, inode);
}
