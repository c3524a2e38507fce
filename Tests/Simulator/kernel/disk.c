// The disk's memory, its inodes, and how it outlives the process.
#include "disk.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MAGIC 0x4B555241444953ull
uint64_t disk_mapped;

// MARK: Memory

// Sizes are powers of two from 32 bytes on, and each has its own list of what is unused.
static int class_of(size_t size) {
    int class = 5;
    while (((size_t)1 << class) < size) class++;
    return class;
}

void *disk_allocate(size_t size) {
    int class = class_of(size);
    size_t whole = (size_t)1 << class;
    void **found = DISK->unused[class - 5];
    if (found) {
        DISK->unused[class - 5] = *found;
        memset(found, 0, whole);
        return found;
    }
    // Pages lie where pages lie in memory, since maps hand them out.
    size_t step = whole < PAGE ? whole : PAGE;
    DISK->top = (DISK->top + step - 1) / step * step;
    if (DISK->top + whole > DISK->size) not_simulated("a disk that is larger than its mapping", (long)DISK->size);
    void *made = (uint8_t *)DISK_ADDRESS + DISK->top;
    DISK->top += whole;
    return made;
}

void disk_free(void *block, size_t size) {
    if (!block) return;
    int class = class_of(size);
    *(void **)block = DISK->unused[class - 5];
    DISK->unused[class - 5] = block;
}

// MARK: Room

bool has_room(uint64_t blocks) { return DISK->held + blocks * PAGE <= DISK->room; }

void inode_charge(struct Inode *inode, int64_t blocks) {
    inode->blocks += (uint64_t)blocks;
    if (inode->is_counted) DISK->held += (uint64_t)(blocks * PAGE);
}

void disk_room(uint64_t bytes) { DISK->room = bytes; }

// MARK: Inodes

struct Inode *inode_make(uint32_t mode, uint32_t uid, uint32_t gid) {
    struct Inode *inode = disk_allocate(sizeof *inode);
    nanoseconds now = wall_now();
    *inode = (struct Inode){
        .number = DISK->next_inode++, .mode = mode, .uid = uid, .gid = gid, .durable_mode = mode, .durable_uid = uid, .durable_gid = gid,
        .read_at = now, .written_at = now, .changed_at = now, .born_at = now, .is_counted = true, .previous = DISK->last,
    };
    if (DISK->last) DISK->last->next = inode; else DISK->first = inode;
    DISK->last = inode;
    if (S_ISDIR(mode)) {
        inode->size = inode->durable_size = PAGE;
        inode->order = draw_permille(500) ? draw() | 1 : 0;
        inode_charge(inode, 1);
    }
    return inode;
}

static void inode_free(struct Inode *inode) {
    pages_free(inode);
    while (inode->first) entry_set(inode, inode->first->name, NULL);
    // Somebody may still have a directory open that was taken out of this one.
    for (struct Inode *other = S_ISDIR(inode->mode) ? DISK->first : NULL; other; other = other->next) {
        if (other->parent == inode) other->parent = DISK->root;
    }
    if (inode->name) disk_free(inode->name, strlen(inode->name) + 1);
    if (inode->target) disk_free(inode->target, strlen(inode->target) + 1);
    if (inode->previous) inode->previous->next = inode->next; else DISK->first = inode->next;
    if (inode->next) inode->next->previous = inode->previous; else DISK->last = inode->previous;
    disk_free(inode, sizeof *inode);
}

// Linux gives the room back with the last name and descriptor. A pending removal may still be undone by a power cut, so the
// content itself stays until the removal is durable.
void inode_settle(struct Inode *inode) {
    if (inode == DISK->root) return;
    bool is_alive = inode->links > 0 || inode->opens > 0 || inode->maps > 0;
    // Files in memory take none of the disk's room.
    bool counts = is_alive && !inode->is_memory;
    if (counts != inode->is_counted) {
        DISK->held += (counts ? 1 : -1) * inode->blocks * PAGE;
        inode->is_counted = counts;
    }
    if (!is_alive && inode->pending == 0) inode_free(inode);
}

// MARK: Beginning and end of a process

static void make_root(void) {
    memset(DISK, 0, sizeof *DISK);
    struct stat facts;
    real_call(SYS_fstat, DISK_DESCRIPTOR, (long)&facts, 0, 0, 0, 0);
    DISK->size = (uint64_t)facts.st_size;
    DISK->top = (sizeof *DISK + PAGE - 1) / PAGE * PAGE;
    // Twice as much is there, for the durable versions of what is dirty.
    DISK->room = DISK->size / 2;
    DISK->next_inode = 2;
    DISK->root = inode_make(S_IFDIR | 0755, 0, 0);
    DISK->root->parent = DISK->root;
    DISK->root->order = 0;
    static const struct { const char *name; uint32_t mode, device; } known[] = {
        {"dev", S_IFDIR | 0755, 0}, {"tmp", S_IFDIR | 01777, 0}, {"proc", S_IFDIR | 0555, 0}, {"self", S_IFDIR | 0555, 0},
        {"null", S_IFCHR | 0666, 0x103}, {"zero", S_IFCHR | 0666, 0x105}, {"random", S_IFCHR | 0666, 0x108},
        {"urandom", S_IFCHR | 0666, 0x109}, {"tty", S_IFCHR | 0666, 0x500},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct Inode *inode = inode_make(known[i].mode, 0, 0);
        inode->device = known[i].device;
        bool is_device = S_ISCHR(known[i].mode), is_self = known[i].name[0] == 's';
        const char *above = is_device ? "dev" : is_self ? "proc" : NULL;
        entry_set(above ? entry_of(DISK->root, above)->inode : DISK->root, known[i].name, inode);
    }
    DISK->magic = MAGIC;
}

void disk_start(void) {
    if (disk_mapped == 0) {
        struct stat facts;
        long result = real_call(SYS_fstat, DISK_DESCRIPTOR, (long)&facts, 0, 0, 0, 0);
        if (result < 0) not_simulated("a disk that the controller has not opened", result);
        int kind = MAP_SHARED | MAP_FIXED_NOREPLACE;
        result = real_call(SYS_mmap, (long)DISK_ADDRESS, facts.st_size, PROT_READ | PROT_WRITE, kind, DISK_DESCRIPTOR, 0);
        if (result != (long)DISK_ADDRESS) not_simulated("a disk at its address", result);
        disk_mapped = (uint64_t)facts.st_size;
    }
    if (DISK->magic != MAGIC) make_root();
    // A process that could not say goodbye has left its descriptors.
    disk_process_ended();
    process_directory = DISK->root;
}

void disk_process_ended(void) {
    while (DISK->maps) pages_unmap(DISK->maps);
    locks_forgotten();
    for (struct Inode *inode = DISK->first, *next; inode; inode = next) {
        next = inode->next;
        inode->opens = 0;
        inode->is_linkable = false;
        for (uint64_t i = 0; i < inode->chunk_count; i++) {
            if (!inode->chunks[i]) continue;
            for (int j = 0; j < CHUNK; j++) {
                struct Slot *slot = &inode->chunks[i]->slots[j];
                if (slot->home && slot->home != slot->now) disk_free(slot->home, PAGE);
                slot->home = NULL;
            }
        }
    }
    // A directory that goes lets go of its entries, which may lie anywhere in the list.
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (struct Inode *inode = DISK->first; inode; inode = inode->next) {
            if (inode == DISK->root || inode->links > 0 || inode->pending > 0) continue;
            inode_settle(inode);
            is_changed = true;
            break;
        }
    }
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) inode_settle(inode);
    process_directory = DISK->root;
}
