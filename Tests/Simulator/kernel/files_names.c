// Names: making, removing and moving them.
#include "disk.h"
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ask(enum Call kind, int base, const char *path) {
    char told[PATH_LIMIT];
    return fault_for(kind, path_told(base, path, told), NULL);
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

// MARK: mkdir(2), symlink(2), sockets

static int make_directory(int base, const char *path, unsigned mode) {
    int error = ask(CALL_NAME, base, path);
    struct Place place;
    if (error == 0) error = place_for_new(base, path, true, &place);
    if (error == 0 && !has_room(1)) error = -ENOSPC;
    if (error == 0) {
        struct Inode *inode = inode_make(S_IFDIR | (mode & 01777 & ~process_umask), process_uid, process_gid);
        name_set(place.directory, place.name, inode);
    }
    file_takes(5, 30);
    return error;
}

EXPORT int mkdir(const char *path, mode_t mode) {
    seam();
    return (int)answer(make_directory(AT_FDCWD, path, mode));
}
EXPORT int mkdirat(int base, const char *path, mode_t mode) {
    seam();
    return (int)answer(make_directory(base, path, mode));
}

static int make_link(const char *target, int base, const char *path) {
    int error = ask(CALL_NAME, base, path);
    struct Place place;
    if (error == 0 && *target == 0) error = -ENOENT;
    if (error == 0 && strlen(target) >= PATH_LIMIT) error = -ENAMETOOLONG;
    if (error == 0) error = place_for_new(base, path, false, &place);
    if (error == 0) {
        struct Inode *inode = inode_make(S_IFLNK | 0777, process_uid, process_gid);
        inode->target = disk_allocate(strlen(target) + 1);
        strcpy(inode->target, target);
        inode->size = inode->durable_size = strlen(target);
        name_set(place.directory, place.name, inode);
    }
    file_takes(5, 30);
    return error;
}

EXPORT int symlink(const char *target, const char *path) {
    seam();
    return (int)answer(make_link(target, AT_FDCWD, path));
}
EXPORT int symlinkat(const char *target, int base, const char *path) {
    seam();
    return (int)answer(make_link(target, base, path));
}

// Of bind(2), whose seam and faults have been.
int disk_socket(const char *path, unsigned mode) {
    struct Place place;
    int error = place_for_new(AT_FDCWD, path, false, &place);
    if (error < 0) return error == -EEXIST ? -EADDRINUSE : error;
    name_set(place.directory, place.name, inode_make(S_IFSOCK | (mode & 0777 & ~process_umask), process_uid, process_gid));
    return 0;
}

// MARK: unlink(2), rmdir(2)

static int remove_file(struct Place *place) {
    if (!place->inode) return -ENOENT;
    if (place->has_slash || is_dots(place->name)) return S_ISDIR(place->inode->mode) ? -EISDIR : -ENOTDIR;
    int error = place_may_change(place);
    if (error < 0) return error;
    if (S_ISDIR(place->inode->mode)) return -EISDIR;
    char path[PATH_LIMIT];
    if (place_path(place, path)) files_nameless(path);
    name_set(place->directory, place->name, NULL);
    return 0;
}

static int remove_directory(struct Place *place) {
    if (!place->inode) return -ENOENT;
    if (place->inode == DISK->root) return -EBUSY;
    if (strcmp(place->name, ".") == 0) return -EINVAL;
    if (strcmp(place->name, "..") == 0) return -ENOTEMPTY;
    int error = place_may_change(place);
    if (error == 0 && !S_ISDIR(place->inode->mode)) error = -ENOTDIR;
    if (error == 0 && place->inode->entries > 0) error = -ENOTEMPTY;
    if (error == 0) name_set(place->directory, place->name, NULL);
    return error;
}

static int remove_name(int base, const char *path, int flags) {
    if (flags & ~AT_REMOVEDIR) return -EINVAL;
    int error = ask(CALL_NAME, base, path);
    struct Place place;
    if (error == 0) error = place_find(base, path, PATH_NAME, &place);
    if (error == 0 && (place.is_list || place.is_link)) error = -EPERM;
    if (error == 0) error = flags & AT_REMOVEDIR ? remove_directory(&place) : remove_file(&place);
    file_takes(5, 30);
    return error;
}

EXPORT int unlink(const char *path) {
    seam();
    return (int)answer(remove_name(AT_FDCWD, path, 0));
}
EXPORT int unlinkat(int base, const char *path, int flags) {
    seam();
    return (int)answer(remove_name(base, path, flags));
}
EXPORT int rmdir(const char *path) {
    seam();
    return (int)answer(remove_name(AT_FDCWD, path, AT_REMOVEDIR));
}
EXPORT int remove(const char *path) {
    seam();
    int error = remove_name(AT_FDCWD, path, 0);
    return (int)answer(error == -EISDIR ? remove_name(AT_FDCWD, path, AT_REMOVEDIR) : error);
}

// MARK: link(2)

static int link_work(int from, const char *path, int to, const char *new_path, int flags) {
    struct Place source, place;
    if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) return -EINVAL;
    if (flags & AT_EMPTY_PATH && *path == 0) {
        // Linux asks for CAP_DAC_READ_SEARCH.
        if (process_uid != 0) return -ENOENT;
        struct Open *open = descriptor(from);
        struct File *file = open ? file_of(open) : NULL;
        source = (struct Place){.inode = file ? file->inode : NULL};
    } else {
        int error = place_find(from, path, flags & AT_SYMLINK_FOLLOW ? PATH_FOLLOW : 0, &source);
        if (error < 0) return error;
        if (!source.inode && !source.is_link && !source.is_list && !source.open) return -ENOENT;
    }
    int error = place_for_new(to, new_path, false, &place);
    if (error < 0) return error;
    if (source.is_link || source.is_list || (source.open && !source.inode)) return -EXDEV;
    struct Inode *inode = source.inode;
    if (!inode) return -ENOENT;
    if (inode->is_memory || S_ISDIR(inode->mode)) return inode->is_memory ? -EXDEV : -EPERM;
    if (inode->links == 0 && !inode->is_linkable) return -ENOENT;
    // protected_hardlinks of proc(5).
    bool is_plain = S_ISREG(inode->mode) && !(inode->mode & S_ISUID) && (inode->mode & (S_ISGID | S_IXGRP)) != (S_ISGID | S_IXGRP);
    if (process_uid != 0 && inode->uid != process_uid && (!is_plain || !may(inode, R_OK | W_OK))) return -EPERM;
    name_set(place.directory, place.name, inode);
    return 0;
}

static int link_call(int from, const char *path, int to, const char *new_path, int flags) {
    int error = ask(CALL_NAME, to, new_path);
    if (error == 0) error = link_work(from, path, to, new_path, flags);
    file_takes(5, 30);
    return error;
}

EXPORT int link(const char *path, const char *new_path) {
    seam();
    return (int)answer(link_call(AT_FDCWD, path, AT_FDCWD, new_path, 0));
}
EXPORT int linkat(int from, const char *path, int to, const char *new_path, int flags) {
    seam();
    return (int)answer(link_call(from, path, to, new_path, flags));
}

// MARK: rename(2)

static int check_replaced(const struct Inode *inode, const struct Inode *other) {
    if (!other) return 0;
    if (S_ISDIR(inode->mode) && !S_ISDIR(other->mode)) return -ENOTDIR;
    if (!S_ISDIR(inode->mode) && S_ISDIR(other->mode)) return -EISDIR;
    return S_ISDIR(other->mode) && other->entries > 0 ? -ENOTEMPTY : 0;
}

// What is open goes by its name, which moves.
static void tell_files(const struct Place *old, const struct Place *new, bool swaps) {
    char from[PATH_LIMIT], to[PATH_LIMIT];
    const char *between = "/proc/between";
    if (!place_path(old, from) || !place_path(new, to)) return;
    if (swaps) files_moved(to, between); else files_nameless(to);
    files_moved(from, to);
    if (swaps) files_moved(between, from);
}

static int rename_work(int from, const char *path, int to, const char *new_path, unsigned flags) {
    struct Place old, new;
    bool swaps = flags & RENAME_EXCHANGE;
    if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE)) return -EINVAL;
    if (swaps && flags & RENAME_NOREPLACE) return -EINVAL;
    int error = place_find(from, path, PATH_NAME, &old);
    if (error == 0) error = place_find(to, new_path, PATH_NAME, &new);
    if (error < 0) return error;
    if (old.is_link || old.is_list || new.is_link || new.is_list) return -EXDEV;
    if (is_dots(old.name)) return -EBUSY;
    if (is_dots(new.name)) return flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
    if (!old.inode) return -ENOENT;
    if (new.inode && flags & RENAME_NOREPLACE) return -EEXIST;
    if (!new.inode && swaps) return -ENOENT;
    if (swaps && new.has_slash && !S_ISDIR(new.inode->mode)) return -ENOTDIR;
    if (!S_ISDIR(old.inode->mode) && (old.has_slash || (!swaps && new.has_slash))) return -ENOTDIR;
    if (S_ISDIR(old.inode->mode) && is_beneath(new.directory, old.inode)) return -EINVAL;
    if (new.inode && S_ISDIR(new.inode->mode) && is_beneath(old.directory, new.inode)) return swaps ? -EINVAL : -ENOTEMPTY;
    // Two names of one file both stay.
    if (old.inode == new.inode) return 0;
    error = place_may_change(&old);
    if (error == 0 && new.directory->links == 0 && new.directory != DISK->root) error = -ENOENT;
    if (error == 0) error = place_may_change(&new);
    if (error < 0) return error;
    if (!swaps) error = check_replaced(old.inode, new.inode);
    // A directory that gets another parent is written: its ".." changes.
    if ((error == 0 || error == -ENOTEMPTY) && old.directory != new.directory) {
        bool moves_old = S_ISDIR(old.inode->mode), moves_new = swaps && S_ISDIR(new.inode->mode);
        if ((moves_old && !may(old.inode, W_OK)) || (moves_new && !may(new.inode, W_OK))) error = -EACCES;
    }
    if (error < 0) return error;
    tell_files(&old, &new, swaps);
    names_change(2, (struct Change[]){
        {new.directory, new.inode, old.inode, new.name}, {old.directory, old.inode, swaps ? new.inode : NULL, old.name}});
    return 0;
}

long file_renameat2(int from, const char *path, int to, const char *new_path, unsigned flags) {
    int error = ask(CALL_NAME, to, new_path);
    if (error == 0) error = rename_work(from, path, to, new_path, flags);
    file_takes(5, 30);
    return error;
}

EXPORT int rename(const char *path, const char *new_path) {
    seam();
    return (int)answer(file_renameat2(AT_FDCWD, path, AT_FDCWD, new_path, 0));
}
EXPORT int renameat(int from, const char *path, int to, const char *new_path) {
    seam();
    return (int)answer(file_renameat2(from, path, to, new_path, 0));
}
EXPORT int renameat2(int from, const char *path, int to, const char *new_path, unsigned flags) {
    seam();
    return (int)answer(file_renameat2(from, path, to, new_path, flags));
}

// MARK: Names that nobody has

// Replaces the last six characters, "XXXXXX", before a suffix.
static char *blank_in(char *template, int suffix) {
    size_t length = strlen(template);
    if (suffix < 0 || length < 6 + (size_t)suffix) return NULL;
    char *blank = template + length - 6 - suffix;
    return memcmp(blank, "XXXXXX", 6) == 0 ? blank : NULL;
}

static void fill_blank(char *blank) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (int i = 0; i < 6; i++) blank[i] = letters[draw_below(sizeof letters - 1)];
}

EXPORT char *mkdtemp(char *template) {
    seam();
    char *blank = blank_in(template, 0);
    int error = blank ? -EEXIST : -EINVAL;
    while (error == -EEXIST) {
        fill_blank(blank);
        error = make_directory(AT_FDCWD, template, 0700);
    }
    return answer(error) < 0 ? NULL : template;
}

EXPORT int mkostemps(char *template, int suffix, int flags) {
    seam();
    char *blank = blank_in(template, suffix);
    int result = blank ? -EEXIST : -EINVAL;
    while (result == -EEXIST) {
        fill_blank(blank);
        result = file_open(AT_FDCWD, template, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600, 0);
    }
    return (int)answer(result);
}
EXPORT int mkstemp(char *template) { return mkostemps(template, 0, 0); }
EXPORT int mkostemp(char *template, int flags) { return mkostemps(template, 0, flags); }
EXPORT int mkstemps(char *template, int suffix) { return mkostemps(template, suffix, 0); }
SPELLING(mkstemp64, mkstemp);
SPELLING(mkostemp64, mkostemp);
