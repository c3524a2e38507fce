// The inside of the simulated disk: what its own files know of each other. Everybody else sees kernel.h only.
//
// All of it lies in one mapping that outlives the process, at one address, so pointers in it stay good. Three things are
// kept of each file: what programs see now, what a power cut would surely leave (`durable`), and which of the two the rest
// of the machine may still change. Names have no second copy: what is pending is a list of changes that can be undone.
#pragma once
#include "kernel.h"
#include <sys/stat.h>
#include <sys/uio.h>

enum { PAGE = 4096, SECTOR = 512, CHUNK = 63, NAME_LIMIT = 255, PATH_LIMIT = 4096, CLASSES = 36 };
#define LARGEST_FILE (1ll << 38)

// One page of a file.
struct Slot {
    uint8_t *now;                          // NULL: a hole
    uint8_t *durable;                      // while `differs`; NULL: a hole
    uint8_t *home;                         // where this page has to lie, since a map has it there
    uint32_t maps;
    bool is_dirty;                         // the next sync writes it
    bool differs;                          // the disk has another version than programs see
    bool is_reserved;                      // room is taken, nothing was written
    bool is_warm;                          // a read does not wait for it
};
struct Chunk {
    uint64_t differing;
    struct Slot slots[CHUNK];
};
struct Entry {
    struct Entry *next, *previous;
    struct Inode *inode;
    uint32_t hash;
    char name[];
};
struct Inode {
    struct Inode *next, *previous;         // of all there are, in the order of their making
    uint64_t number;
    uint32_t mode, uid, gid, device;
    uint32_t durable_mode, durable_uid, durable_gid;
    uint32_t links;                        // names that lead here
    uint32_t opens, maps, writable_maps;
    uint32_t pending;                      // changes of names that know it
    uint32_t seals;
    bool is_memory;                        // of memfd_create: ends with the process
    bool is_linkable;                      // of O_TMPFILE: a first name may be given
    bool is_counted;                       // its blocks count as held
    uint64_t size, durable_size, blocks, differing;
    nanoseconds read_at, written_at, changed_at, born_at;
    struct Chunk **chunks;
    uint64_t chunk_count;
    struct Entry *first, *last;            // a directory's
    uint64_t entries, order;
    struct Inode *parent;
    char *name;                            // of a directory in its parent; of a memfd
    char *target;                          // a symbolic link's
};
struct Change {
    struct Inode *directory, *before, *after;
    char *name;
};
// What one call has done to names: it is durable as a whole or not at all.
struct Pending {
    struct Pending *next, *previous;
    int count;
    bool is_marked, needs_reach;
    struct Change changes[2];
};
// A range of a file that lies in the process's memory.
struct Map {
    struct Map *next;
    struct Inode *inode;
    uint8_t *address;
    uint64_t page, pages;
    bool is_writable;
};
struct Disk {
    uint64_t magic, size, top, next_inode;
    void *unused[CLASSES];
    struct Inode *root, *first, *last;
    struct Pending *oldest, *newest;
    struct Map *maps;
    uint64_t pending, room, held, written, syncs;
};
#define DISK ((struct Disk *)DISK_ADDRESS)

// disk.c
extern uint64_t disk_mapped;              // bytes at DISK_ADDRESS; 0 before it is there
void *disk_allocate(size_t size);          // zeros
void disk_free(void *, size_t size);
struct Inode *inode_make(uint32_t mode, uint32_t uid, uint32_t gid);
void inode_settle(struct Inode *);         // goes when nobody needs it any more
void inode_charge(struct Inode *, int64_t blocks);
bool has_room(uint64_t blocks);

// disk_pages.c
struct Slot *slot_at(struct Inode *, uint64_t page, bool makes);
void slot_diverge(struct Inode *, uint64_t page, struct Slot *);
void slot_settle(struct Inode *, uint64_t page, struct Slot *);
void slot_drop(struct Inode *, uint64_t page, struct Slot *);
ssize_t pages_read(struct Inode *, void *, size_t length, uint64_t offset);
ssize_t pages_read_warm(struct Inode *, void *, size_t length, uint64_t offset);
ssize_t pages_write(struct Inode *, const void *, size_t length, uint64_t offset);
int pages_resize(struct Inode *, uint64_t size);
int pages_reserve(struct Inode *, uint64_t offset, uint64_t length, bool keeps_size);
int pages_punch(struct Inode *, uint64_t offset, uint64_t length);
off_t pages_seek(struct Inode *, off_t offset, bool data);
void pages_free(struct Inode *);
uint8_t *pages_map(struct Inode *, uint64_t page, uint64_t pages, bool is_writable);
void pages_unmap(struct Map *);
void pages_touched(struct Inode *);        // a writable map may change its pages at any time

// disk_names.c
struct Entry *entry_of(struct Inode *directory, const char *name);
void entry_set(struct Inode *directory, const char *name, struct Inode *);
void names_change(int count, const struct Change *);   // does it, and keeps how to undo it
void name_set(struct Inode *directory, const char *name, struct Inode *after);
bool is_beneath(const struct Inode *, const struct Inode *above);
size_t directory_path(const struct Inode *, char path[PATH_LIMIT]);
bool inode_path(const struct Inode *, char path[PATH_LIMIT]);   // any of its names; false: it has none

// disk_pending.c
void pending_commit(bool (*wants)(const struct Pending *, const void *), const void *);
bool pending_is_in(const struct Pending *, const void *directory);
bool pending_names(const struct Pending *, const void *inode);
bool pending_any(const struct Pending *, const void *);
void pending_cut(void);

// disk_sync.c
enum { SYNC_DATA = 1, SYNC_FAILS = 2 };
void inode_sync(struct Inode *, unsigned flags);
void inode_sync_range(struct Inode *, uint64_t offset, uint64_t length);
void inode_write_back(struct Inode *, uint64_t offset, uint64_t length);

// disk_paths.c
enum { PATH_FOLLOW = 1, PATH_BENEATH = 2, PATH_NO_LINKS = 4, PATH_NO_MAGIC = 8, PATH_MAKES = 16, PATH_NAME = 32 };
struct Place {
    struct Inode *directory;               // NULL: a descriptor's own name has led there
    struct Inode *inode;                   // NULL: nothing is there
    struct Open *open;                     // of /proc/self/fd/N
    int number;
    bool is_link;                          // /proc/self/fd/N itself
    bool is_list;                          // /proc/self/fd itself
    bool has_slash;
    char name[NAME_LIMIT + 1];
};
int place_find(int base, const char *path, unsigned flags, struct Place *);
int place_for_new(int base, const char *path, bool is_directory, struct Place *);   // whose name may be made
int place_may_change(const struct Place *);
bool place_path(const struct Place *, char path[PATH_LIMIT]);   // false: it is too long
bool may(const struct Inode *, unsigned wanted);   // R_OK, W_OK, X_OK
const char *path_told(int base, const char *path, char told[PATH_LIMIT]);

// files.c
struct File {
    struct Inode *inode;                   // NULL: the list of descriptors
    struct File *next, *previous;          // of all that are open
    char *path;                            // of the name by which it was opened, wherever that was moved
    bool is_nameless;                      // the name is gone; others may lead here
};
extern const struct Operations file_operations, directory_operations, list_operations, device_operations;
extern uint32_t process_uid, process_gid, process_umask;
extern struct Inode *process_directory;
struct File *file_of(struct Open *);       // NULL: another kind
struct Open *file_made(struct Inode *, int flags, const char *path);
int file_installed(struct Inode *, int flags, const char *path);
int file_open(int base, const char *path, int flags, unsigned mode, unsigned how);
void files_moved(const char *from, const char *to);
void files_nameless(const char *path);
void file_takes(unsigned least, unsigned most);   // microseconds

// files_bytes.c
// Keeps what is open while the calling thread lets others run; released by open_release. NULL: `error` says why.
struct Open *file_held(int number, struct File **, int *error);
ssize_t file_read(struct Open *, void *, size_t);
ssize_t file_write(struct Open *, const void *, size_t);
int file_resize(struct Inode *, off_t size);

// files_look.c
size_t descriptor_name(struct Open *, char text[PATH_LIMIT]);   // what readlink says of /proc/self/fd/N

// files_locks.c
void locks_released(struct Open *, struct Inode *);
void locks_forgotten(void);

// Another spelling of the same call.
#define SPELLING(name, call) EXPORT extern __typeof(call) name __attribute__((alias(#call)))
