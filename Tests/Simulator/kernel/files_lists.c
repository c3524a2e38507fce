// Listing directories, and streams of the C library over simulated files.
#include "disk.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Listed {
    uint64_t number, rank;
    unsigned char type;
    char name[NAME_LIMIT + 1];
};
// A list is taken when it is first read, so that it has each name once whatever happens meanwhile.
struct __dirstream {
    int number;
    bool is_taken;
    size_t count, at;
    struct Listed *names;
    struct dirent entry;
};

static unsigned char type_of(unsigned mode) { return (unsigned char)((mode & S_IFMT) >> 12); }

static void add_name(DIR *list, uint64_t number, unsigned char type, const char *name, uint64_t order) {
    size_t room = list->count ? list->count * 2 : 1;
    if ((list->count & (list->count - 1)) == 0) list->names = realloc(list->names, room * sizeof *list->names);
    struct Listed *listed = &list->names[list->count];
    // Insertion's order, or one that mixes the names: a directory keeps to its own.
    uint64_t rank = order ? order : list->count;
    for (const char *at = name; order && *at; at++) rank = (rank ^ (uint8_t)*at) * 0x100000001B3;
    *listed = (struct Listed){.number = number, .rank = rank, .type = type};
    strncpy(listed->name, name, NAME_LIMIT);
    list->count++;
}

static int by_rank(const void *first, const void *second) {
    const struct Listed *one = first, *other = second;
    return one->rank != other->rank ? one->rank < other->rank ? -1 : 1 : strcmp(one->name, other->name);
}

static int take(DIR *list) {
    struct Open *open = descriptor(list->number);
    struct File *file = open ? file_of(open) : NULL;
    if (!open) return -EBADF;
    if (!file) return -ENOTDIR;
    int error = fault_for(CALL_LOOK, file->path, NULL);
    if (error < 0) return error;
    // While a fault has taken its time another thread may have closed it.
    if (descriptor(list->number) != open) return -EBADF;
    list->count = 0;
    struct Inode *directory = file->inode;
    uint64_t order = directory ? directory->order : 0;
    add_name(list, directory ? directory->number : 1, DT_DIR, ".", 0);
    add_name(list, directory ? directory->parent->number : 1, DT_DIR, "..", 0);
    for (struct Entry *entry = directory ? directory->first : NULL; entry; entry = entry->next)
        add_name(list, entry->inode->number, type_of(entry->inode->mode), entry->name, order);
    for (int number = 0; number < REAL_DESCRIPTORS && !directory; number++) {
        char name[16];
        snprintf(name, sizeof name, "%d", number);
        if (descriptor(number)) add_name(list, (uint64_t)number + 2, DT_LNK, name, 0);
    }
    if (order) qsort(list->names + 2, list->count - 2, sizeof *list->names, by_rank);
    list->is_taken = true;
    file_takes(5, 30);
    return 0;
}

EXPORT DIR *fdopendir(int number) {
    seam();
    struct Open *open = descriptor(number);
    struct File *file = open ? file_of(open) : NULL;
    int error = !open || open->flags & O_PATH ? -EBADF : !file || (file->inode && !S_ISDIR(file->inode->mode)) ? -ENOTDIR : 0;
    if (answer(error) < 0) return NULL;
    descriptor_control(number, F_SETFD, FD_CLOEXEC);
    DIR *list = calloc(1, sizeof *list);
    list->number = number;
    list->at = (size_t)open->offset;
    return list;
}

EXPORT DIR *opendir(const char *path) {
    seam();
    int number = file_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0);
    return answer(number) < 0 ? NULL : fdopendir(number);
}

EXPORT struct dirent *readdir(DIR *list) {
    seam();
    int error = list->is_taken ? 0 : take(list);
    if (answer(error) < 0) return NULL;
    if (list->at >= list->count) return NULL;
    const struct Listed *listed = &list->names[list->at++];
    // A description that is read to its end is at its end for another list of it, too.
    struct Open *open = descriptor(list->number);
    if (open) open->offset = (off_t)list->at;
    off_t next = (off_t)list->at;
    list->entry = (struct dirent){.d_ino = listed->number, .d_off = next, .d_type = listed->type, .d_reclen = sizeof list->entry};
    memcpy(list->entry.d_name, listed->name, sizeof listed->name);
    return &list->entry;
}
EXPORT struct dirent64 *readdir64(DIR *list) { return (struct dirent64 *)readdir(list); }

EXPORT int closedir(DIR *list) {
    int number = list->number;
    free(list->names);
    free(list);
    return close(number);
}
EXPORT int dirfd(DIR *list) { return list->number; }
EXPORT void rewinddir(DIR *list) {
    list->at = 0;
    list->is_taken = false;
}
EXPORT long telldir(DIR *list) { return (long)list->at; }
EXPORT void seekdir(DIR *list, long at) { list->at = (size_t)at; }

// MARK: Streams

static ssize_t stream_read(void *cookie, char *bytes, size_t length) { return read((int)(intptr_t)cookie, bytes, length); }

// fopencookie(3) takes 0 for an error.
static ssize_t stream_write(void *cookie, const char *bytes, size_t length) {
    ssize_t written = write((int)(intptr_t)cookie, bytes, length);
    return written < 0 ? 0 : written;
}

static int stream_seek(void *cookie, off64_t *offset, int whence) {
    off_t at = lseek((int)(intptr_t)cookie, *offset, whence);
    if (at >= 0) *offset = at;
    return at < 0 ? -1 : 0;
}

static int stream_close(void *cookie) { return close((int)(intptr_t)cookie); }

// The flags of open(2) that a mode of fopen(3) stands for.
static int flags_of(const char *mode) {
    int flags = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    if (*mode != 'r' && *mode != 'w' && *mode != 'a') return -EINVAL;
    if (*mode == 'w') flags |= O_CREAT | O_TRUNC;
    if (*mode == 'a') flags |= O_CREAT | O_APPEND;
    return flags | (strchr(mode, 'e') ? O_CLOEXEC : 0) | (strchr(mode, 'x') ? O_EXCL : 0);
}

EXPORT FILE *fdopen(int number, const char *mode) {
    struct Open *open = descriptor(number);
    int flags = flags_of(mode), access = open ? open->flags & O_ACCMODE : 0;
    int error = flags < 0 ? flags : !open ? -EBADF : access != O_RDWR && access != (flags & O_ACCMODE) ? -EINVAL : 0;
    if (answer(error) < 0) return NULL;
    // The mode for the C library itself knows nothing of descriptors.
    char plain[3] = {*mode, strchr(mode, '+') ? '+' : 0, 0};
    return fopencookie((void *)(intptr_t)number, plain, (cookie_io_functions_t){stream_read, stream_write, stream_seek, stream_close});
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    seam();
    int flags = flags_of(mode), number = flags < 0 ? flags : file_open(AT_FDCWD, path, flags, 0666, 0);
    return answer(number) < 0 ? NULL : fdopen(number, mode);
}
SPELLING(fopen64, fopen);
EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream) {
    (void)path, (void)mode, (void)stream;
    not_simulated("freopen", 0);
}
EXPORT FILE *tmpfile(void) { not_simulated("tmpfile", 0); }
