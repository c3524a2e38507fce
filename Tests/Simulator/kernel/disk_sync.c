// How files become durable, and what a power cut leaves of what is not.
#include "disk.h"
#include <string.h>

// Calls `body` for pages that the disk has in another version.
static void each_differing(struct Inode *inode, uint64_t first, uint64_t end, void (*body)(struct Inode *, uint64_t, struct Slot *)) {
    uint64_t left = inode->differing;
    for (uint64_t i = first / CHUNK; i < inode->chunk_count && i * CHUNK < end && left > 0; i++) {
        if (!inode->chunks[i] || inode->chunks[i]->differing == 0) continue;
        for (uint64_t j = 0; j < CHUNK; j++) {
            struct Slot *slot = &inode->chunks[i]->slots[j];
            uint64_t page = i * CHUNK + j;
            if (!slot->differs) continue;
            left--;
            if (page >= first && page < end) body(inode, page, slot);
        }
    }
}

// What a failed sync has left is clean, and not written by the next one either.
static void settle(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (slot->is_dirty) slot_settle(inode, page, slot);
}

static void clean(struct Inode *inode, uint64_t page, struct Slot *slot) {
    (void)inode, (void)page;
    slot->is_dirty = false;
}

void inode_sync(struct Inode *inode, unsigned flags) {
    each_differing(inode, 0, UINT64_MAX, flags & SYNC_FAILS ? clean : settle);
    if (flags & SYNC_FAILS) return;
    inode->durable_size = inode->size;
    if (flags & SYNC_DATA) return;
    inode->durable_mode = inode->mode;
    inode->durable_uid = inode->uid;
    inode->durable_gid = inode->gid;
}

static uint64_t page_after(uint64_t offset, uint64_t length) {
    if (length == 0 || length > LARGEST_FILE) return UINT64_MAX;
    return (offset + length + PAGE - 1) / PAGE;
}

void inode_sync_range(struct Inode *inode, uint64_t offset, uint64_t length) {
    each_differing(inode, offset / PAGE, page_after(offset, length), settle);
    inode->durable_size = inode->size;
}

// The disk knows of the page when it knows that the file is so long.
static void write_back(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (!slot->is_dirty) return;
    slot_settle(inode, page, slot);
    uint64_t end = (page + 1) * PAGE < inode->size ? (page + 1) * PAGE : inode->size;
    if (page * PAGE < inode->size && inode->durable_size < end) inode->durable_size = end;
}

static void perhaps_write_back(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (draw_permille(500)) write_back(inode, page, slot);
}

// Nobody waits for it: some of it may not have been written yet. For a single page there is no doubt.
void inode_write_back(struct Inode *inode, uint64_t offset, uint64_t length) {
    bool is_one = length == PAGE && offset % PAGE == 0;
    each_differing(inode, offset / PAGE, page_after(offset, length), is_one ? write_back : perhaps_write_back);
}

// MARK: The power goes

// What a cut is like, of all files: permille of pages of which the new version is kept, and of which both are in part.
static unsigned kept, torn;

static void cut_page(struct Inode *inode, uint64_t page, struct Slot *slot) {
    static const uint8_t zeros[PAGE];
    uint8_t result[PAGE];
    bool is_hole = !slot->now && !slot->durable;
    const uint8_t *new = slot->now ? slot->now : zeros, *old = slot->durable ? slot->durable : zeros;
    if (draw_permille(torn)) {
        // A disk writes sectors whole, most often in order.
        bool is_ordered = draw_permille(500);
        uint64_t first = draw_below(PAGE / SECTOR + 1), chosen = draw();
        for (uint64_t i = 0; i < PAGE / SECTOR; i++) {
            bool is_new = is_ordered ? i < first : chosen >> i & 1;
            memcpy(result + i * SECTOR, (is_new ? new : old) + i * SECTOR, SECTOR);
        }
    } else {
        bool is_new = draw_permille(kept);
        is_hole = is_new ? !slot->now : !slot->durable;
        memcpy(result, is_new ? new : old, PAGE);
    }
    disk_free(slot->durable, PAGE);
    slot->durable = NULL;
    slot->differs = slot->is_dirty = false;
    inode->differing--;
    inode->chunks[page / CHUNK]->differing--;
    if (is_hole) {
        disk_free(slot->now, PAGE);
        slot->now = NULL;
        return;
    }
    if (!slot->now) slot->now = disk_allocate(PAGE);
    memcpy(slot->now, result, PAGE);
}

// What the new size has cut off is there as long as the old size is.
static void keep_old(struct Inode *inode, uint64_t page, struct Slot *slot) {
    if (slot->now || page * PAGE < inode->size || page * PAGE >= inode->durable_size) return;
    slot->now = slot->durable;
    slot->durable = NULL;
    slot->differs = slot->is_dirty = false;
    inode->differing--;
    inode->chunks[page / CHUNK]->differing--;
}

static void cut_inode(struct Inode *inode) {
    if (!S_ISREG(inode->mode)) return;
    bool is_new_size = inode->size == inode->durable_size || draw_permille(500);
    if (!is_new_size) each_differing(inode, 0, UINT64_MAX, keep_old);
    each_differing(inode, 0, UINT64_MAX, cut_page);
    uint64_t size = is_new_size ? inode->size : inode->durable_size, end = (size + PAGE - 1) / PAGE;
    inode->blocks = 0;
    for (uint64_t page = 0; page < inode->chunk_count * CHUNK; page++) {
        struct Slot *slot = slot_at(inode, page, false);
        if (!slot) continue;
        slot->is_warm = false;
        if (page >= end && slot->now) {
            disk_free(slot->now, PAGE);
            slot->now = NULL;
        }
        if (page >= end) slot->is_reserved = false;
        if (page + 1 == end && size % PAGE && slot->now) memset(slot->now + size % PAGE, 0, PAGE - size % PAGE);
        inode->blocks += slot->now || slot->is_reserved;
    }
    inode->size = inode->durable_size = size;
}

static void cut_facts(struct Inode *inode) {
    if (draw_permille(500)) {
        inode->mode = inode->durable_mode;
        inode->uid = inode->durable_uid;
        inode->gid = inode->durable_gid;
    }
    inode->durable_mode = inode->mode;
    inode->durable_uid = inode->uid;
    inode->durable_gid = inode->gid;
}

void disk_power_cut(void) {
    // The process ends with the power: its maps and descriptors first, so that pages have one place each.
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) inode->pending++;
    disk_process_ended();
    pending_cut();
    static const unsigned shares[] = {0, 100, 500, 900, 1000};
    kept = draw_permille(500) ? (unsigned)draw_below(1001) : shares[draw_below(5)];
    torn = draw_permille(300) ? 0 : (unsigned)draw_below(500);
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) {
        cut_inode(inode);
        cut_facts(inode);
        inode->pending--;
    }
    disk_process_ended();
    DISK->held = 0;
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) DISK->held += inode->blocks * PAGE;
    trace("cut: %u permille of the pages are new, %u torn", kept, torn);
}
