// From a path to what it leads to, one component after the other, as path_resolution(7) says.
#include "disk.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool may(const struct Inode *inode, unsigned wanted) {
    if (process_uid == 0) return !(wanted & X_OK) || S_ISDIR(inode->mode) || inode->mode & 0111;
    unsigned shift = inode->uid == process_uid ? 6 : inode->gid == process_gid ? 3 : 0;
    return (inode->mode >> shift & wanted) == wanted;
}

// MARK: Names of descriptors

// "/proc/self/fd", "/dev/fd": what comes behind it, or NULL when the path is another one.
static const char *behind_list(const char *path) {
    static const char *const lists[] = {"/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        size_t length = strlen(lists[i]);
        if (strncmp(path, lists[i], length) == 0 && (path[length] == 0 || path[length] == '/')) return path + length;
    }
    return NULL;
}

// Reads "/N/rest". The number, or -1; `rest` begins at the slash or is empty.
static int number_in(const char *text, const char **rest) {
    while (*text == '/') text++;
    char *end;
    if (*text < '0' || *text > '9') return -1;
    long number = strtol(text, &end, 10);
    if ((*end && *end != '/') || number >= REAL_DESCRIPTORS) return -1;
    *rest = end;
    return (int)number;
}

// MARK: The walk

struct Walk {
    struct Inode *at, *base;
    unsigned flags, links;
    char rest[2 * PATH_LIMIT];
};

// An absolute path begins. 1: it has led to a descriptor or to the list of them, and the walk is over.
static int begin_absolute(struct Walk *walk, struct Place *place) {
    if (walk->flags & PATH_BENEATH) return -EXDEV;
    walk->at = DISK->root;
    place->directory = NULL;
    const char *behind = behind_list(walk->rest), *rest = "";
    if (!behind) return 0;
    while (*behind == '/' && (behind[1] == '/' || behind[1] == 0)) behind++;
    if (*behind == 0 || strcmp(behind, "/.") == 0) {
        place->is_list = true;
        return 1;
    }
    int number = number_in(behind, &rest);
    struct Open *open = number < 0 ? NULL : descriptor(number);
    if (!open) return -ENOENT;
    struct File *file = file_of(open);
    place->open = open;
    place->number = number;
    if (*rest == 0 && !(walk->flags & PATH_FOLLOW)) {
        place->is_link = true;
        return 1;
    }
    if (walk->flags & (PATH_NO_MAGIC | PATH_NO_LINKS)) return -ELOOP;
    place->inode = file ? file->inode : NULL;
    if (*rest == 0) return 1;
    if (!file || !file->inode || !S_ISDIR(file->inode->mode)) return -ENOTDIR;
    place->open = NULL;
    place->inode = NULL;
    walk->at = file->inode;
    memmove(walk->rest, rest, strlen(rest) + 1);
    return 0;
}

static int splice_link(struct Walk *walk, const struct Inode *link, const char *rest) {
    if (walk->flags & PATH_NO_LINKS || ++walk->links > 40) return -ELOOP;
    size_t length = strlen(link->target), behind = strlen(rest);
    if (length + behind + 2 > sizeof walk->rest) return -ENAMETOOLONG;
    memmove(walk->rest + length, rest, behind + 1);
    memcpy(walk->rest, link->target, length);
    return 0;
}

// One component. 1: it was the last one.
static int step(struct Walk *walk, struct Place *place) {
    const char *start = walk->rest;
    while (*start == '/') start++;
    size_t length = strcspn(start, "/");
    if (length > NAME_LIMIT) return -ENAMETOOLONG;
    const char *rest = start + length;
    bool is_last = rest[strspn(rest, "/")] == 0;
    if (!S_ISDIR(walk->at->mode)) return -ENOTDIR;
    if (!may(walk->at, X_OK)) return -EACCES;
    memcpy(place->name, length ? start : ".", length ? length : 1);
    place->name[length ? length : 1] = 0;
    place->has_slash = is_last && *rest == '/';
    place->directory = walk->at;
    struct Inode *found = NULL;
    if (strcmp(place->name, ".") == 0) {
        found = walk->at;
    } else if (strcmp(place->name, "..") == 0) {
        if (walk->flags & PATH_BENEATH && walk->at == walk->base) return -EXDEV;
        found = walk->at->parent;
    } else {
        // Of O_CREAT: it makes no directories, and does not look whether there is one.
        if (walk->flags & PATH_MAKES && place->has_slash) return -EISDIR;
        struct Entry *entry = entry_of(walk->at, place->name);
        found = entry ? entry->inode : NULL;
    }
    if (!found) {
        place->inode = NULL;
        return is_last ? 1 : -ENOENT;
    }
    // A call that changes a name takes it as it stands, whatever slash is behind it.
    bool needs_directory = !is_last || (place->has_slash && !(walk->flags & PATH_NAME));
    if (S_ISLNK(found->mode) && (needs_directory || walk->flags & PATH_FOLLOW)) {
        char behind[2 * PATH_LIMIT];
        strcpy(behind, rest);
        int error = splice_link(walk, found, behind);
        return error < 0 || *walk->rest != '/' ? error : begin_absolute(walk, place);
    }
    if (needs_directory && !S_ISDIR(found->mode)) return -ENOTDIR;
    walk->at = place->inode = found;
    memmove(walk->rest, rest, strlen(rest) + 1);
    return is_last;
}

int place_find(int base, const char *path, unsigned flags, struct Place *place) {
    *place = (struct Place){.number = -1};
    size_t length = strlen(path);
    if (length == 0) return -ENOENT;
    if (length >= PATH_LIMIT) return -ENAMETOOLONG;
    struct Walk walk = {.at = process_directory, .flags = flags};
    memcpy(walk.rest, path, length + 1);
    if (*path != '/' && base != AT_FDCWD) {
        struct Open *open = descriptor(base);
        struct File *file = open ? file_of(open) : NULL;
        if (!open) return -EBADF;
        if (!file || !file->inode || !S_ISDIR(file->inode->mode)) return -ENOTDIR;
        walk.at = file->inode;
    }
    walk.base = walk.at;
    int result = *path == '/' ? begin_absolute(&walk, place) : 0;
    while (result == 0) result = step(&walk, place);
    return result < 0 ? result : 0;
}

// A name may come, go, or lead elsewhere.
int place_may_change(const struct Place *place) {
    struct Inode *directory = place->directory;
    if (!directory || place->is_list || place->is_link) return -EPERM;
    if (!may(directory, W_OK | X_OK)) return -EACCES;
    if (!place->inode || !(directory->mode & S_ISVTX) || process_uid == 0) return 0;
    return place->inode->uid == process_uid || directory->uid == process_uid ? 0 : -EPERM;
}

bool place_path(const struct Place *place, char path[PATH_LIMIT]) {
    bool is_dots = strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0;
    if (place->inode && (is_dots || !place->directory || S_ISDIR(place->inode->mode))) {
        if (S_ISDIR(place->inode->mode)) directory_path(place->inode, path); else strcpy(path, file_of(place->open)->path);
        return true;
    }
    size_t length = directory_path(place->directory, path);
    if (length + strlen(place->name) + 2 > PATH_LIMIT) return false;
    if (path[length - 1] != '/') path[length++] = '/';
    strcpy(path + length, place->name);
    return true;
}

int place_for_new(int base, const char *path, bool is_directory, struct Place *place) {
    int error = place_find(base, path, PATH_NAME, place);
    if (error < 0) return error;
    if (place->inode || place->is_list || place->is_link || place->open) return -EEXIST;
    if (place->has_slash && !is_directory) return -ENOENT;
    // A directory that was removed takes no names.
    if (place->directory->links == 0 && place->directory != DISK->root) return -ENOENT;
    return place_may_change(place);
}

// MARK: What is told

// The path as far as it is known without looking: faults go by it.
const char *path_told(int base, const char *path, char told[PATH_LIMIT]) {
    const char *behind = *path == '/' ? behind_list(path) : NULL, *rest = path;
    int number = behind ? number_in(behind, &rest) : -1;
    if (*path == '/' && number < 0) return path;
    struct Open *open = number >= 0 ? descriptor(number) : base == AT_FDCWD ? NULL : descriptor(base);
    struct File *file = open ? file_of(open) : NULL;
    if (open && !file) return path;
    struct Inode *directory = file ? file->inode : process_directory;
    size_t length;
    if (directory && S_ISDIR(directory->mode)) {
        length = directory_path(directory, told);
    } else if (file) {
        length = strlen(strcpy(told, file->path));
    } else {
        return path;
    }
    while (*rest == '/') rest++;
    if (*rest == 0 || length + strlen(rest) + 2 > PATH_LIMIT) return told;
    if (told[length - 1] != '/') told[length++] = '/';
    strcpy(told + length, rest);
    return told;
}
