// What the controller does to the disk from outside, with no regard to who may.
#include "disk.h"
#include <stdlib.h>
#include <string.h>

static struct Inode *find(const char *path, struct Place *place) {
    uint32_t uid = process_uid;
    process_uid = 0;
    int error = place_find(AT_FDCWD, path, 0, place);
    process_uid = uid;
    return error < 0 ? NULL : place->inode;
}

static void settle_name(struct Inode *directory, const char *name, struct Inode *inode) {
    struct Entry *entry = entry_of(directory, name);
    struct Inode *before = entry ? entry->inode : NULL;
    if (before == inode) return;
    // What the controller does is never undone, so what is pending on the way must not be undone either.
    pending_commit(pending_any, NULL);
    entry_set(directory, name, inode);
    directory->written_at = directory->changed_at = wall_now();
}

static struct Inode *make(struct Inode *directory, const char *name, uint32_t mode) {
    // What stands in for the system belongs to root, the rest to who asks.
    static const char *const systems[] = {"/proc", "/sys", "/etc", "/dev", "/usr"};
    char path[PATH_LIMIT + NAME_LIMIT + 2];
    size_t length = directory_path(directory, path);
    if (path[length - 1] != '/') path[length++] = '/';
    strcpy(path + length, name);
    bool is_system = false;
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        size_t part = strlen(systems[i]);
        is_system = is_system || (strncmp(path, systems[i], part) == 0 && (path[part] == '/' || path[part] == 0));
    }
    struct Inode *inode = inode_make(mode, is_system ? 0 : process_uid, is_system ? 0 : process_gid);
    settle_name(directory, name, inode);
    return inode;
}

// It finds room on a full disk too. The mode says what it is when it has a type: a directory, a symbolic link whose target the bytes are; else a file.
int disk_put(const char *path, const void *bytes, size_t length, unsigned mode) {
    if (*path != '/' || strlen(path) >= PATH_LIMIT) return -EINVAL;
    struct Inode *directory = DISK->root;
    char name[NAME_LIMIT + 1] = "";
    for (const char *at = path + 1;;) {
        size_t part = strcspn(at, "/");
        if (part == 0 || part > NAME_LIMIT) return -EINVAL;
        memcpy(name, at, part);
        name[part] = 0;
        at += part;
        if (*at++ == 0) break;
        struct Entry *entry = entry_of(directory, name);
        directory = entry ? entry->inode : make(directory, name, S_IFDIR | 0755);
        if (!S_ISDIR(directory->mode)) return -ENOTDIR;
    }
    if ((mode & S_IFMT) == 0) mode |= S_IFREG;
    struct Entry *entry = entry_of(directory, name);
    struct Inode *inode = entry ? entry->inode : NULL;
    if (inode && (inode->mode & S_IFMT) != (mode & S_IFMT)) return -EEXIST;
    if (inode && S_ISLNK(mode)) settle_name(directory, name, NULL), inode = NULL;
    if (!inode) inode = make(directory, name, mode);
    inode->mode = mode;
    if (S_ISLNK(mode)) {
        inode->target = disk_allocate(length + 1);
        memcpy(inode->target, bytes, length);
        inode->size = inode->durable_size = length;
    }
    ssize_t written = 0;
    if (S_ISREG(mode)) {
        uint64_t room = DISK->room;
        DISK->room = UINT64_MAX;
        pages_resize(inode, 0);
        written = pages_write(inode, bytes, length, 0);
        DISK->room = room;
        inode_sync(inode, 0);
    }
    inode->durable_mode = mode;
    return written < 0 ? (int)written : S_ISREG(mode) && (size_t)written < length ? -ENOSPC : 0;
}

int disk_remove(const char *path) {
    struct Place place;
    struct Inode *inode = find(path, &place);
    if (!inode || !place.directory) return -ENOENT;
    if (S_ISDIR(inode->mode) && inode->entries > 0) return -ENOTEMPTY;
    settle_name(place.directory, place.name, NULL);
    return 0;
}

// On the disk, not in the page cache: a page that was changed since shows it after a cut at the earliest.
int disk_flip(const char *path, uint64_t offset, uint8_t mask) {
    struct Place place;
    struct Inode *inode = find(path, &place);
    if (!inode) return -ENOENT;
    if (!S_ISREG(inode->mode)) return -EISDIR;
    struct Slot *slot = slot_at(inode, offset / PAGE, false);
    uint8_t *page = !slot ? NULL : slot->differs ? slot->durable : slot->now;
    if (!page || offset >= inode->size) return -EINVAL;
    page[offset % PAGE] ^= mask;
    return 0;
}

ssize_t disk_get(const char *path, uint64_t offset, void *bytes, size_t length) {
    struct Place place;
    struct Inode *inode = find(path, &place);
    if (!inode) return -ENOENT;
    if (S_ISDIR(inode->mode)) return -EISDIR;
    if (!S_ISLNK(inode->mode)) return pages_read(inode, bytes, length, offset);
    if (offset >= inode->size) return 0;
    if (length > inode->size - offset) length = inode->size - offset;
    memcpy(bytes, inode->target + offset, length);
    return (ssize_t)length;
}

// A file that nobody can find: of a client that passes a descriptor.
struct Open *disk_unnamed(const void *bytes, size_t length, int flags) {
    struct Inode *inode = inode_make(S_IFREG | 0600, process_uid, process_gid);
    inode->is_memory = true;
    inode->is_counted = false;
    inode->seals = F_SEAL_SEAL;
    inode->opens++;
    pages_write(inode, bytes, length, 0);
    struct Open *open = file_made(inode, flags, "/tmp/unnamed");
    inode->opens--;
    return open;
}

// MARK: All of it

static int by_name(const void *first, const void *second) {
    return strcmp((*(struct Entry *const *)first)->name, (*(struct Entry *const *)second)->name);
}

static void walk(struct Inode *directory, char path[PATH_LIMIT + NAME_LIMIT + 2], size_t length,
                 void (*body)(const char *, struct Inode *, void *), void *state) {
    struct Entry **entries = malloc((directory->entries + 1) * sizeof *entries);
    size_t count = 0;
    for (struct Entry *entry = directory->first; entry; entry = entry->next) entries[count++] = entry;
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0; i < count; i++) {
        size_t part = strlen(entries[i]->name);
        if (length + part + 2 > PATH_LIMIT) continue;
        path[length] = '/';
        strcpy(path + length + 1, entries[i]->name);
        body(path, entries[i]->inode, state);
        if (S_ISDIR(entries[i]->inode->mode)) walk(entries[i]->inode, path, length + 1 + part, body, state);
    }
    path[length] = 0;
    free(entries);
}

struct Each {
    void (*body)(const char *, unsigned, uint64_t, void *);
    void *state;
};
static void tell(const char *path, struct Inode *inode, void *state) {
    struct Each *each = state;
    each->body(path, inode->mode, inode->size, each->state);
}

void disk_each(void (*body)(const char *path, unsigned mode, uint64_t size, void *), void *state) {
    char path[PATH_LIMIT + NAME_LIMIT + 2] = "";
    walk(DISK->root, path, 0, tell, &(struct Each){body, state});
}

struct Search {
    const uint8_t *marks;
    size_t length;
    void (*body)(const char *, uint64_t, void *);
    void *state;
};

static const uint8_t *first_mark(const struct Search *search, const uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < search->length; at += 1 + search->marks[at]) {
        const uint8_t *found = memmem(bytes, count, search->marks + at + 1, search->marks[at]);
        if (found) return found;
    }
    return NULL;
}

// A mark may lie on two pages, and none lies in a hole.
static void look_through(const char *path, struct Inode *inode, void *state) {
    const struct Search *search = state;
    uint8_t window[UINT8_MAX + PAGE];
    size_t kept = 0;
    if (!S_ISREG(inode->mode)) return;
    for (uint64_t page = 0; page < inode->chunk_count * CHUNK && page * PAGE < inode->size; page++) {
        struct Slot *slot = slot_at(inode, page, false);
        if (!slot || !slot->now) {
            kept = 0;
            continue;
        }
        size_t part = inode->size - page * PAGE < PAGE ? inode->size - page * PAGE : PAGE;
        memcpy(window + kept, slot->now, part);
        const uint8_t *found = first_mark(search, window, kept + part);
        if (found) return search->body(path, page * PAGE - kept + (uint64_t)(found - window), search->state);
        size_t next = kept + part < UINT8_MAX ? kept + part : UINT8_MAX;
        memmove(window, window + kept + part - next, next);
        kept = next;
    }
}

void disk_find(const uint8_t *marks, size_t length, void (*body)(const char *path, uint64_t offset, void *), void *state) {
    char path[PATH_LIMIT + NAME_LIMIT + 2] = "";
    walk(DISK->root, path, 0, look_through, &(struct Search){marks, length, body, state});
}

static uint64_t mixed(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * 0x9E3779B97F4A7C15;
    return sum ^ sum >> 29;
}

static uint64_t mixed_bytes(uint64_t sum, const void *bytes, size_t length) {
    for (const uint8_t *at = bytes; length > 0;) {
        uint64_t word = 0;
        size_t part = length < 8 ? length : 8;
        memcpy(&word, at, part);
        sum = mixed(sum, word);
        at += part, length -= part;
    }
    return sum;
}

static void digest(const char *path, struct Inode *inode, void *state) {
    uint64_t sum = mixed_bytes(*(uint64_t *)state, path, strlen(path));
    sum = mixed(mixed(mixed(sum, inode->mode), inode->size), (uint64_t)inode->written_at);
    sum = mixed(mixed(mixed(sum, inode->links), inode->uid), inode->durable_size);
    if (inode->target) sum = mixed_bytes(sum, inode->target, inode->size);
    for (uint64_t page = 0; page < inode->chunk_count * CHUNK; page++) {
        struct Slot *slot = slot_at(inode, page, false);
        if (!slot) continue;
        if (slot->now) sum = mixed_bytes(mixed(sum, page), slot->now, PAGE);
        // A run that goes on depends on what a cut would find, too.
        if (slot->differs) sum = mixed(sum, ~page);
        if (slot->durable) sum = mixed_bytes(sum, slot->durable, PAGE);
    }
    *(uint64_t *)state = sum;
}

uint64_t disk_digest(void) {
    char path[PATH_LIMIT + NAME_LIMIT + 2] = "";
    uint64_t sum = mixed(mixed(DISK->held, DISK->pending), DISK->next_inode);
    walk(DISK->root, path, 0, digest, &sum);
    return sum;
}

int disk_counts(uint64_t counts[4]) {
    counts[0] = DISK->written;
    counts[1] = DISK->syncs;
    counts[2] = 0;
    counts[3] = DISK->held;
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) counts[2] += S_ISREG(inode->mode) && inode->links > 0;
    return 0;
}
