// Pages of files: what programs see, and beside it what the disk has for certain.
//
// A page that is changed for the first time since a sync leaves its version behind as the durable one. A sync lets go of that
// version; a power cut chooses between the two. Files of memfd_create have no disk, and so no second version.
#include "disk.h"
#include <string.h>

// Permille of writes to a dirty page before which the kernel writes it back, so that a cut finds versions in between.
enum { WRITTEN_BACK = 20 };

struct Slot *slot_at(struct Inode *inode, uint64_t page, bool makes) {
    uint64_t index = page / CHUNK;
    if (index >= inode->chunk_count) {
        if (!makes) return NULL;
        uint64_t count = inode->chunk_count ? inode->chunk_count : 4;
        while (count <= index) count *= 2;
        struct Chunk **chunks = disk_allocate(count * sizeof *chunks);
        if (inode->chunks) memcpy(chunks, inode->chunks, inode->chunk_count * sizeof *chunks);
        disk_free(inode->chunks, inode->chunk_count * sizeof *chunks);
        inode->chunks = chunks;
        inode->chunk_count = count;
    }
    if (!inode->chunks[index]) {
        if (!makes) return NULL;
        inode->chunks[index] = disk_allocate(sizeof(struct Chunk));
    }
    return &inode->chunks[index]->slots[page % CHUNK];
}

static void count_differing(struct Inode *inode, uint64_t page, int by) {
    inode->differing += (uint64_t)by;
    inode->chunks[page / CHUNK]->differing += (uint64_t)by;
}

void slot_diverge(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (inode->is_memory) return;
    slot->is_dirty = true;
    if (slot->differs) return;
    if (slot->now) {
        slot->durable = disk_allocate(PAGE);
        memcpy(slot->durable, slot->now, PAGE);
    }
    slot->differs = true;
    count_differing(inode, page, 1);
}

void slot_settle(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (!slot->differs) return;
    disk_free(slot->durable, PAGE);
    slot->durable = NULL;
    slot->differs = slot->is_dirty = false;
    count_differing(inode, page, -1);
    if (inode->writable_maps > 0 && slot->maps > 0) slot_diverge(inode, page, slot);
}

static void slot_fill(struct Inode *inode, struct Slot *slot) {
    if (!slot->now) {
        if (slot->home) memset(slot->home, 0, PAGE);
        slot->now = slot->home ? slot->home : disk_allocate(PAGE);
        if (!slot->is_reserved) inode_charge(inode, 1);
    }
    slot->is_reserved = false;
    slot->is_warm = true;
}

// A page that is about to be changed. -ENOSPC: there is no room for it.
static int slot_prepare(struct Inode *inode, uint64_t page, struct Slot **result) {
    struct Slot *slot = slot_at(inode, page, true);
    if (!slot->now && !slot->is_reserved && !inode->is_memory && !has_room(1)) return -ENOSPC;
    if (slot->is_dirty && draw_permille(WRITTEN_BACK)) inode_write_back(inode, page * PAGE, PAGE);
    slot_diverge(inode, page, slot);
    slot_fill(inode, slot);
    *result = slot;
    return 0;
}

// The page becomes a hole.
void slot_drop(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (slot->now || slot->is_reserved) inode_charge(inode, -1);
    if (slot->now) {
        slot_diverge(inode, page, slot);
        if (slot->now == slot->home) memset(slot->home, 0, PAGE); else disk_free(slot->now, PAGE);
        slot->now = NULL;
    }
    slot->is_reserved = false;
}

// MARK: Reading and writing

ssize_t pages_read(struct Inode *inode, void *bytes, size_t length, uint64_t offset) {
    if (offset >= inode->size) return 0;
    if (length > inode->size - offset) length = inode->size - offset;
    for (size_t done = 0; done < length;) {
        uint64_t at = (offset + done) % PAGE;
        size_t part = length - done < PAGE - at ? length - done : PAGE - at;
        struct Slot *slot = slot_at(inode, (offset + done) / PAGE, false);
        if (slot && slot->now) memcpy((uint8_t *)bytes + done, slot->now + at, part); else memset((uint8_t *)bytes + done, 0, part);
        if (slot) slot->is_warm = true;
        done += part;
    }
    return (ssize_t)length;
}

// Of RWF_NOWAIT: only so far as the pages are in memory.
ssize_t pages_read_warm(struct Inode *inode, void *bytes, size_t length, uint64_t offset) {
    if (offset >= inode->size) return 0;
    if (length > inode->size - offset) length = inode->size - offset;
    for (uint64_t page = offset / PAGE; page * PAGE < offset + length; page++) {
        struct Slot *slot = slot_at(inode, page, false);
        if (!slot || !slot->now || slot->is_warm) continue;
        slot->is_warm = !draw_permille((unsigned)settings[SETTING_COLD]);
        if (slot->is_warm) continue;
        if (page * PAGE <= offset) return -EAGAIN;
        length = page * PAGE - offset;
    }
    return pages_read(inode, bytes, length, offset);
}

ssize_t pages_write(struct Inode *inode, const void *bytes, size_t length, uint64_t offset) {
    if (offset >= LARGEST_FILE) return length ? -EFBIG : 0;
    if (length > LARGEST_FILE - offset) length = LARGEST_FILE - offset;
    size_t done = 0;
    while (done < length) {
        uint64_t at = (offset + done) % PAGE;
        size_t part = length - done < PAGE - at ? length - done : PAGE - at;
        struct Slot *slot;
        int error = slot_prepare(inode, (offset + done) / PAGE, &slot);
        if (error < 0 && done == 0) return error;
        if (error < 0) break;
        memcpy(slot->now + at, (const uint8_t *)bytes + done, part);
        done += part;
    }
    if (done > 0 && offset + done > inode->size) inode->size = offset + done;
    if (done > 0) inode->written_at = inode->changed_at = wall_now();
    return (ssize_t)done;
}

// MARK: Sizes and holes

// Zeros in a part of one page, where there are bytes at all.
static int pages_clear(struct Inode *inode, uint64_t offset, uint64_t length) {
    struct Slot *slot = slot_at(inode, offset / PAGE, false);
    if (!slot || !slot->now || length == 0) return 0;
    int error = slot_prepare(inode, offset / PAGE, &slot);
    if (error == 0) memset(slot->now + offset % PAGE, 0, length);
    return error;
}

static void pages_drop(struct Inode *inode, uint64_t first, uint64_t end) {
    if (end > inode->chunk_count * CHUNK) end = inode->chunk_count * CHUNK;
    for (uint64_t page = first; page < end; page++) {
        if (inode->chunks[page / CHUNK]) slot_drop(inode, page, slot_at(inode, page, false));
        else page += CHUNK - 1 - page % CHUNK;
    }
}

int pages_resize(struct Inode *inode, uint64_t size) {
    if (size > LARGEST_FILE) return -EFBIG;
    if (size < inode->size) {
        if (size % PAGE) pages_clear(inode, size, PAGE - size % PAGE);
        pages_drop(inode, (size + PAGE - 1) / PAGE, UINT64_MAX);
    }
    inode->size = size;
    inode->written_at = inode->changed_at = wall_now();
    pages_touched(inode);
    return 0;
}

int pages_reserve(struct Inode *inode, uint64_t offset, uint64_t length, bool keeps_size) {
    if (offset + length > LARGEST_FILE) return -EFBIG;
    uint64_t first = offset / PAGE, end = (offset + length + PAGE - 1) / PAGE, missing = 0;
    if (!inode->is_memory && end - first > DISK->room / PAGE + inode->blocks) return -ENOSPC;
    for (uint64_t page = first; page < end; page++) {
        struct Slot *slot = slot_at(inode, page, true);
        missing += !slot->now && !slot->is_reserved;
    }
    if (!inode->is_memory && !has_room(missing)) return -ENOSPC;
    for (uint64_t page = first; page < end; page++) {
        struct Slot *slot = slot_at(inode, page, true);
        if (!slot->now) slot->is_reserved = true;
    }
    inode_charge(inode, (int64_t)missing);
    if (!keeps_size && offset + length > inode->size) return pages_resize(inode, offset + length);
    return 0;
}

int pages_punch(struct Inode *inode, uint64_t offset, uint64_t length) {
    if (offset >= inode->chunk_count * CHUNK * PAGE) return 0;
    uint64_t end = offset + length, first = (offset + PAGE - 1) / PAGE;
    int error = 0;
    if (first * PAGE >= end) return pages_clear(inode, offset, length);
    if (offset % PAGE) error = pages_clear(inode, offset, first * PAGE - offset);
    pages_drop(inode, first, end / PAGE);
    if (error == 0 && end % PAGE) error = pages_clear(inode, end / PAGE * PAGE, end % PAGE);
    inode->written_at = inode->changed_at = wall_now();
    pages_touched(inode);
    return error;
}

off_t pages_seek(struct Inode *inode, off_t offset, bool data) {
    if (offset < 0 || (uint64_t)offset >= inode->size) return -ENXIO;
    uint64_t end = (inode->size + PAGE - 1) / PAGE;
    for (uint64_t page = (uint64_t)offset / PAGE; page < end; page++) {
        struct Slot *slot = slot_at(inode, page, false);
        if ((slot && slot->now) == data) return page * PAGE > (uint64_t)offset ? (off_t)(page * PAGE) : offset;
        if (data && (page / CHUNK >= inode->chunk_count)) break;
    }
    return data ? -ENXIO : (off_t)inode->size;
}

void pages_free(struct Inode *inode) {
    for (uint64_t i = 0; i < inode->chunk_count; i++) {
        if (!inode->chunks[i]) continue;
        for (int j = 0; j < CHUNK; j++) {
            struct Slot *slot = &inode->chunks[i]->slots[j];
            if (slot->now != slot->home) disk_free(slot->now, PAGE);
            disk_free(slot->home, PAGE);
            disk_free(slot->durable, PAGE);
        }
        disk_free(inode->chunks[i], sizeof(struct Chunk));
    }
    disk_free(inode->chunks, inode->chunk_count * sizeof *inode->chunks);
    inode->chunks = NULL;
    inode->chunk_count = inode->blocks = inode->differing = 0;
}

// MARK: Maps

// Pages of one map lie side by side. NULL: some of them lie elsewhere already, in another map that is still there.
uint8_t *pages_map(struct Inode *inode, uint64_t page, uint64_t pages, bool is_writable) {
    struct Slot *first = slot_at(inode, page, true);
    bool is_laid = first->home != NULL, is_pinned = false;
    for (uint64_t i = 0; i < pages; i++) {
        struct Slot *slot = slot_at(inode, page + i, true);
        is_laid = is_laid && slot->home == first->home + i * PAGE;
        is_pinned = is_pinned || slot->maps > 0;
    }
    first = slot_at(inode, page, true);
    if (!is_laid) {
        if (is_pinned) return NULL;
        // Room to grow: a later map of more of the file finds it at the same place.
        uint64_t room = 256;
        while (room < pages * 2) room *= 2;
        uint8_t *base = disk_allocate(room * PAGE);
        for (uint64_t i = 0; i < room; i++) {
            struct Slot *slot = slot_at(inode, page + i, true);
            if (slot->maps > 0) {
                for (; i < room; i++) disk_free(base + i * PAGE, PAGE);
                break;
            }
            if (slot->now) memcpy(base + i * PAGE, slot->now, PAGE);
            if (slot->now && slot->now != slot->home) disk_free(slot->now, PAGE);
            disk_free(slot->home, PAGE);
            slot->home = base + i * PAGE;
            if (slot->now) slot->now = slot->home;
        }
    }
    struct Map *map = disk_allocate(sizeof *map);
    *map = (struct Map){DISK->maps, inode, slot_at(inode, page, true)->home, page, pages, is_writable};
    DISK->maps = map;
    inode->maps++;
    if (is_writable) inode->writable_maps++;
    for (uint64_t i = 0; i < pages; i++) slot_at(inode, page + i, true)->maps++;
    pages_touched(inode);
    return map->address;
}

void pages_unmap(struct Map *map) {
    for (struct Map **at = &DISK->maps; *at; at = &(*at)->next) {
        if (*at != map) continue;
        *at = map->next;
        break;
    }
    for (uint64_t i = 0; i < map->pages; i++) slot_at(map->inode, map->page + i, true)->maps--;
    map->inode->maps--;
    if (map->is_writable) map->inode->writable_maps--;
    inode_settle(map->inode);
    disk_free(map, sizeof *map);
}

void pages_touched(struct Inode *inode) {
    if (inode->writable_maps == 0) return;
    for (struct Map *map = DISK->maps; map; map = map->next) {
        if (map->inode != inode || !map->is_writable) continue;
        for (uint64_t page = map->page; page < map->page + map->pages && page * PAGE < inode->size; page++) {
            struct Slot *slot = slot_at(inode, page, true);
            slot_diverge(inode, page, slot);
            slot_fill(inode, slot);
        }
    }
}
