// Directories: what names lead to now. Each change is kept until it is durable, together with what was there before.
#include "disk.h"
#include <string.h>

static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (uint8_t)*name++) * 16777619u;
    return hash;
}

static char *name_copy(const char *name) {
    size_t length = strlen(name) + 1;
    return memcpy(disk_allocate(length), name, length);
}

static void name_free(char *name) {
    if (name) disk_free(name, strlen(name) + 1);
}

struct Entry *entry_of(struct Inode *directory, const char *name) {
    uint32_t hash = hash_of(name);
    for (struct Entry *entry = directory->first; entry; entry = entry->next) {
        if (entry->hash == hash && strcmp(entry->name, name) == 0) return entry;
    }
    return NULL;
}

static void entry_remove(struct Inode *directory, struct Entry *entry) {
    if (entry->previous) entry->previous->next = entry->next; else directory->first = entry->next;
    if (entry->next) entry->next->previous = entry->previous; else directory->last = entry->previous;
    directory->entries--;
    disk_free(entry, sizeof *entry + strlen(entry->name) + 1);
}

static void entry_add(struct Inode *directory, const char *name, struct Inode *inode) {
    size_t length = strlen(name) + 1;
    struct Entry *entry = disk_allocate(sizeof *entry + length);
    *entry = (struct Entry){.previous = directory->last, .inode = inode, .hash = hash_of(name)};
    memcpy(entry->name, name, length);
    if (directory->last) directory->last->next = entry; else directory->first = entry;
    directory->last = entry;
    directory->entries++;
}

// Without a word of it being pending. NULL: the name leads nowhere then.
void entry_set(struct Inode *directory, const char *name, struct Inode *inode) {
    struct Entry *entry = entry_of(directory, name);
    struct Inode *before = entry ? entry->inode : NULL;
    if (before == inode) return;
    if (inode) {
        inode->links++;
        inode->is_linkable = false;
        if (S_ISDIR(inode->mode)) {
            char *copy = name_copy(name);
            name_free(inode->name);
            inode->name = copy;
            inode->parent = directory;
        }
    }
    if (!entry) entry_add(directory, name, inode);
    else if (inode) entry->inode = inode;
    else entry_remove(directory, entry);
    if (inode) inode_settle(inode);
    if (before) {
        before->links--;
        inode_settle(before);
    }
}

// MARK: Changes

void names_change(int count, const struct Change *changes) {
    struct Pending *pending = disk_allocate(sizeof *pending);
    *pending = (struct Pending){.previous = DISK->newest, .count = count};
    nanoseconds now = wall_now();
    for (int i = 0; i < count; i++) {
        struct Change change = changes[i];
        change.name = name_copy(change.name);
        pending->changes[i] = change;
        change.directory->pending++;
        if (change.before) change.before->pending++;
        if (change.after) change.after->pending++;
    }
    if (DISK->newest) DISK->newest->next = pending; else DISK->oldest = pending;
    DISK->newest = pending;
    DISK->pending++;
    // The new name first: the file has no moment without one.
    for (int i = 0; i < count; i++) {
        struct Change *change = &pending->changes[i];
        entry_set(change->directory, change->name, change->after);
        change->directory->written_at = change->directory->changed_at = now;
        if (change->before) change->before->changed_at = now;
        if (change->after) change->after->changed_at = now;
    }
    // The journal is written now and then, and before it grows too long.
    if (draw_permille(5) || DISK->pending > 2000) pending_commit(pending_any, NULL);
}

void name_set(struct Inode *directory, const char *name, struct Inode *after) {
    struct Entry *entry = entry_of(directory, name);
    names_change(1, &(struct Change){directory, entry ? entry->inode : NULL, after, (char *)name});
}

// MARK: Ways

bool is_beneath(const struct Inode *inode, const struct Inode *above) {
    for (; inode != above; inode = inode->parent) {
        if (!inode || inode == DISK->root) return false;
    }
    return true;
}

size_t directory_path(const struct Inode *inode, char path[PATH_LIMIT]) {
    size_t start = PATH_LIMIT - 1;
    path[start] = 0;
    const struct Inode *at = inode;
    for (; at && at != DISK->root && at->name; at = at->parent) {
        size_t length = strlen(at->name);
        if (start < length + 1) break;
        start -= length;
        memcpy(path + start, at->name, length);
        path[--start] = '/';
    }
    if (start == PATH_LIMIT - 1) path[--start] = '/';
    size_t length = PATH_LIMIT - 1 - start;
    memmove(path, path + start, length + 1);
    if (inode != DISK->root && inode->links == 0 && length + 11 < PATH_LIMIT) {
        strcpy(path + length, " (deleted)");
        length += 10;
    }
    return length;
}

bool inode_path(const struct Inode *inode, char path[PATH_LIMIT]) {
    if (S_ISDIR(inode->mode)) {
        directory_path(inode, path);
        return inode->links > 0 || inode == DISK->root;
    }
    if (inode->links == 0) return false;
    for (struct Inode *directory = DISK->first; directory; directory = directory->next) {
        for (struct Entry *entry = directory->first; entry; entry = entry->next) {
            if (entry->inode != inode) continue;
            size_t length = directory_path(directory, path);
            if (length + strlen(entry->name) + 2 > PATH_LIMIT) return false;
            if (path[length - 1] != '/') path[length++] = '/';
            strcpy(path + length, entry->name);
            return true;
        }
    }
    return false;
}
