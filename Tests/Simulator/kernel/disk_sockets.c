// What sockets ask of the disk, in the controller's turn too: no seam, no fault.
#include "disk.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int disk_socket_at(const char *path, uint32_t uid, uint32_t gid) {
    uint32_t own_uid = process_uid, own_gid = process_gid;
    process_uid = uid, process_gid = gid;
    struct Place place;
    int error = place_find(AT_FDCWD, path, PATH_FOLLOW, &place);
    if (error >= 0 && !place.inode) error = -ENOENT;
    if (error >= 0 && !S_ISSOCK(place.inode->mode)) error = -ECONNREFUSED;
    if (error >= 0 && uid && !may(place.inode, W_OK)) error = -EACCES;
    process_uid = own_uid, process_gid = own_gid;
    return error < 0 ? error : (int)place.inode->number;
}

struct Open *disk_sealed(const void *bytes, size_t length) {
    struct Open *made = disk_unnamed(bytes, length, O_RDWR);
    file_of(made)->inode->seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    return made;
}

struct Open *disk_opened(const char *path, int flags) {
    struct Place place;
    return place_find(AT_FDCWD, path, PATH_FOLLOW, &place) < 0 || !place.inode ? NULL : file_made(place.inode, flags, path);
}

ssize_t disk_content(struct Open *open, uint64_t offset, void *bytes, size_t length) {
    struct File *file = file_of(open);
    return file && file->inode && S_ISREG(file->inode->mode) ? pages_read(file->inode, bytes, length, offset) : -EINVAL;
}
