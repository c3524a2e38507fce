// Which changes of names are durable, and what a power cut makes of those that are not.
//
// Changes that have nothing to do with each other reach the disk in any order. A later one needs an earlier one when both
// touch a name or an inode, when it removes a directory from which the earlier one took something, or when it moves into a
// directory that the earlier one made. What is dropped is undone, the newest first.
#include "disk.h"
#include <string.h>

static bool is_move(const struct Pending *pending) {
    return pending->count == 2 && pending->changes[0].directory != pending->changes[1].directory;
}

static bool moves_directory(const struct Pending *pending) {
    if (!is_move(pending)) return false;
    for (int i = 0; i < 2; i++) {
        if (pending->changes[i].after && S_ISDIR(pending->changes[i].after->mode)) return true;
    }
    return false;
}

static bool is_inode_of(const struct Inode *inode, const struct Change *change) {
    return inode && (inode == change->before || inode == change->after);
}

// The directory goes, and not to another name.
static bool removes(const struct Pending *pending, const struct Inode *directory) {
    bool is_there = false, is_gone = false;
    for (int i = 0; i < pending->count; i++) {
        is_gone = is_gone || pending->changes[i].before == directory;
        is_there = is_there || pending->changes[i].after == directory;
    }
    return is_gone && !is_there;
}

static bool makes(const struct Pending *pending, const struct Inode *directory) {
    return pending->count == 1 && pending->changes[0].after == directory;
}

static bool needs(const struct Pending *later, const struct Pending *earlier, bool needs_reach) {
    if (moves_directory(later) && moves_directory(earlier)) return true;
    for (int i = 0; i < later->count; i++) {
        const struct Change *own = &later->changes[i];
        if (needs_reach && makes(earlier, own->directory)) return true;
        for (int j = 0; j < earlier->count; j++) {
            const struct Change *other = &earlier->changes[j];
            if (own->directory == other->directory && strcmp(own->name, other->name) == 0) return true;
            if (is_inode_of(own->before, other) || is_inode_of(own->after, other)) return true;
            if (removes(later, other->directory)) return true;
        }
    }
    return false;
}

static void forget(struct Pending *pending) {
    if (pending->previous) pending->previous->next = pending->next; else DISK->oldest = pending->next;
    if (pending->next) pending->next->previous = pending->previous; else DISK->newest = pending->previous;
    DISK->pending--;
    struct Inode *known[6];
    int count = 0;
    for (int i = 0; i < pending->count; i++) {
        struct Change *change = &pending->changes[i];
        known[count++] = change->directory;
        if (change->before) known[count++] = change->before;
        if (change->after) known[count++] = change->after;
        disk_free(change->name, strlen(change->name) + 1);
    }
    disk_free(pending, sizeof *pending);
    // An inode may be there twice, and goes with the last of these counts.
    for (int i = 0; i < count; i++) {
        bool is_last = true;
        known[i]->pending--;
        for (int j = i + 1; j < count; j++) is_last = is_last && known[j] != known[i];
        if (is_last) inode_settle(known[i]);
    }
}

// MARK: Becoming durable

bool pending_any(const struct Pending *pending, const void *nothing) {
    (void)pending, (void)nothing;
    return true;
}

bool pending_is_in(const struct Pending *pending, const void *directory) {
    for (int i = 0; i < pending->count; i++) {
        if (pending->changes[i].directory == directory) return true;
    }
    return false;
}

bool pending_names(const struct Pending *pending, const void *inode) {
    for (int i = 0; i < pending->count; i++) {
        if (pending->changes[i].after == inode) return true;
    }
    return false;
}

// Those that are wanted, and those that they need.
void pending_commit(bool (*wants)(const struct Pending *, const void *), const void *what) {
    for (struct Pending *pending = DISK->oldest; pending; pending = pending->next) {
        pending->is_marked = wants(pending, what);
        pending->needs_reach = is_move(pending);
    }
    for (struct Pending *later = DISK->newest; later; later = later->previous) {
        if (!later->is_marked) continue;
        for (struct Pending *earlier = later->previous; earlier; earlier = earlier->previous) {
            bool reaches = later->needs_reach && needs(later, earlier, true);
            if (!reaches && !needs(later, earlier, false)) continue;
            earlier->is_marked = true;
            earlier->needs_reach = earlier->needs_reach || reaches;
        }
    }
    for (struct Pending *pending = DISK->oldest, *next; pending; pending = next) {
        next = pending->next;
        if (pending->is_marked) forget(pending);
    }
}

// MARK: The power goes

static void drop(struct Pending *pending) {
    for (int i = pending->count - 1; i >= 0; i--) {
        struct Change *change = &pending->changes[i];
        entry_set(change->directory, change->name, change->before);
    }
}

// Marked is what gets lost. A journal loses what came last; else each change is lost by itself, with what needs it.
static void choose(void) {
    if (draw_permille(400)) {
        uint64_t kept = draw_below(DISK->pending + 1), index = 0;
        for (struct Pending *pending = DISK->oldest; pending; pending = pending->next) pending->is_marked = index++ >= kept;
        return;
    }
    unsigned lost = (unsigned)draw_below(1001);
    for (struct Pending *pending = DISK->oldest; pending; pending = pending->next) {
        pending->is_marked = draw_permille(lost);
        for (struct Pending *earlier = DISK->oldest; earlier != pending && !pending->is_marked; earlier = earlier->next) {
            pending->is_marked = earlier->is_marked && needs(pending, earlier, true);
        }
    }
}

void pending_cut(void) {
    choose();
    for (struct Pending *pending = DISK->newest; pending; pending = pending->previous) {
        if (pending->is_marked) drop(pending);
    }
    while (DISK->oldest) forget(DISK->oldest);
}
