// Maps. What has no file goes to the real kernel. A shared map of a file is a part of the disk itself, so every map of it,
// every read and every write see the same bytes. A private one is a copy.
#include "disk.h"
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static bool is_on_disk(const void *address) {
    return (uintptr_t)address >= (uintptr_t)DISK_ADDRESS && (uintptr_t)address < (uintptr_t)DISK_ADDRESS + disk_mapped;
}

static uint64_t pages_of(size_t length) { return (length + PAGE - 1) / PAGE; }

// MARK: mmap(2)

static long map_copy(struct Inode *inode, void *wanted, size_t length, int protection, int flags, off_t offset) {
    flags = MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED);
    long made = real_call(SYS_mmap, (long)wanted, (long)length, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (made < 0 && made > -PAGE) return made;
    pages_read(inode, (void *)made, length, (uint64_t)offset);
    real_call(SYS_mprotect, made, (long)length, protection, 0, 0, 0);
    return made;
}

static long map_file(struct Open *open, struct Inode *inode, void *wanted, size_t length, int protection, int flags, off_t offset) {
    bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE, is_writable = is_shared && protection & PROT_WRITE;
    if (length == 0 || offset % PAGE || offset < 0) return -EINVAL;
    if ((open->flags & O_ACCMODE) == O_WRONLY) return -EACCES;
    if (is_writable && (open->flags & O_ACCMODE) != O_RDWR) return -EACCES;
    if (is_writable && inode->seals & F_SEAL_WRITE) return -EPERM;
    if (!is_shared) return map_copy(inode, wanted, length, protection, flags, offset);
    if (flags & MAP_FIXED) not_simulated("a shared map of a file at an address", flags);
    uint8_t *made = pages_map(inode, (uint64_t)offset / PAGE, pages_of(length), is_writable);
    if (!made) not_simulated("a map across another one of the same file", (long)inode->number);
    return (long)made;
}

static long map(void *wanted, size_t length, int protection, int flags, int number, off_t offset) {
    struct File *file = NULL;
    if (flags & MAP_ANONYMOUS) {
        int error = fault_for(CALL_MEMORY, "", NULL);
        return error < 0 ? error : real_call(SYS_mmap, (long)wanted, (long)length, protection, flags, -1, 0);
    }
    int error;
    struct Open *open = file_held(number, &file, &error);
    if (!open) return error == -ESPIPE ? -ENODEV : error;
    long result = fault_for(CALL_MAP, file->path, NULL);
    if (result == 0) {
        if (open->operations == &file_operations) result = map_file(open, file->inode, wanted, length, protection, flags, offset);
        else if (open->operations == &device_operations) not_simulated("a map of a device", (long)file->inode->device);
        else result = -ENODEV;
    }
    open_release(open);
    return result;
}

EXPORT void *mmap(void *wanted, size_t length, int protection, int flags, int number, off_t offset) {
    seam();
    return (void *)answer(map(wanted, length, protection, flags, number, offset));
}
SPELLING(mmap64, mmap);

// MARK: munmap(2), mremap(2)

static struct Map *map_at(const uint8_t *address, const uint8_t *end) {
    for (struct Map *map = DISK->maps; map; map = map->next) {
        if (map->address < end && address < map->address + map->pages * PAGE) return map;
    }
    return NULL;
}

// What a map has on both sides of the range stays.
static void unmap(uint8_t *address, size_t length) {
    uint8_t *end = address + pages_of(length) * PAGE;
    for (struct Map *map; (map = map_at(address, end));) {
        struct Map whole = *map;
        uint64_t before = address > whole.address ? (uint64_t)(address - whole.address) / PAGE : 0;
        uint8_t *whole_end = whole.address + whole.pages * PAGE;
        uint64_t after = whole_end > end ? (uint64_t)(whole_end - end) / PAGE : 0;
        if (before) pages_map(whole.inode, whole.page, before, whole.is_writable);
        if (after) pages_map(whole.inode, whole.page + whole.pages - after, after, whole.is_writable);
        pages_unmap(map);
    }
}

EXPORT int munmap(void *address, size_t length) {
    seam();
    if (!is_on_disk(address)) return (int)answer(real_call(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0));
    if ((uintptr_t)address % PAGE || length == 0) return (int)answer(-EINVAL);
    unmap(address, length);
    return 0;
}

static long remap(uint8_t *address, size_t length, size_t wanted, int flags) {
    struct Map *found = map_at(address, address + 1);
    if ((uintptr_t)address % PAGE || wanted == 0 || length == 0 || flags & ~MREMAP_MAYMOVE) return -EINVAL;
    if (!found) return -EFAULT;
    struct Map map = *found;
    uint64_t page = map.page + (uint64_t)(address - map.address) / PAGE;
    if (page + pages_of(length) > map.page + map.pages) return -EFAULT;
    if (pages_of(wanted) < pages_of(length)) unmap(address + pages_of(wanted) * PAGE, length - pages_of(wanted) * PAGE);
    if (pages_of(wanted) <= pages_of(length)) return (long)address;
    map.inode->pending++;
    unmap(address, length);
    uint8_t *made = pages_map(map.inode, page, pages_of(wanted), map.is_writable);
    if (!made) not_simulated("a map across another one of the same file", (long)map.inode->number);
    map.inode->pending--;
    if (made != address && !(flags & MREMAP_MAYMOVE)) not_simulated("a map that must grow where it is", (long)wanted);
    return (long)made;
}

EXPORT void *mremap(void *address, size_t length, size_t wanted, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *target = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    seam();
    if (!is_on_disk(address)) {
        int error = wanted > length ? fault_for(CALL_MEMORY, "", NULL) : 0;
        if (error < 0) return (void *)answer(error);
        return (void *)answer(real_call(SYS_mremap, (long)address, (long)length, (long)wanted, flags, (long)target, 0));
    }
    return (void *)answer(remap(address, length, wanted, flags));
}

// MARK: Of a range

EXPORT int msync(void *address, size_t length, int flags) {
    seam();
    if (!is_on_disk(address)) return (int)answer(real_call(SYS_msync, (long)address, (long)length, flags, 0, 0, 0));
    struct Map *map = map_at(address, (uint8_t *)address + length);
    if ((uintptr_t)address % PAGE || (flags & MS_SYNC && flags & MS_ASYNC)) return (int)answer(-EINVAL);
    if (!map) return (int)answer(-ENOMEM);
    if (!(flags & MS_SYNC) || map->inode->is_memory) return 0;
    struct Inode *inode = map->inode;
    uint64_t offset = map->page * PAGE + (uint64_t)((uint8_t *)address - map->address);
    char path[PATH_LIMIT];
    int error = fault_for(CALL_SYNC, inode_path(inode, path) ? path : "", NULL);
    // While a fault has taken its time the map may have gone.
    if (error == 0 && map_at(address, (uint8_t *)address + length)) {
        inode_sync_range(inode, offset, length);
        DISK->syncs++;
    }
    file_takes(60, 400);
    return (int)answer(error);
}

EXPORT int mprotect(void *address, size_t length, int protection) {
    seam();
    if (!is_on_disk(address)) return (int)answer(real_call(SYS_mprotect, (long)address, (long)length, protection, 0, 0, 0));
    struct Map *map = map_at(address, (uint8_t *)address + length);
    if (!map) return (int)answer(-ENOMEM);
    if (protection & PROT_WRITE && !map->is_writable) {
        if (map->inode->seals & F_SEAL_WRITE) return (int)answer(-EACCES);
        map->is_writable = true;
        map->inode->writable_maps++;
        pages_touched(map->inode);
    }
    return 0;
}

EXPORT int madvise(void *address, size_t length, int advice) {
    seam();
    if (!is_on_disk(address)) return (int)answer(real_call(SYS_madvise, (long)address, (long)length, advice, 0, 0, 0));
    // What takes content away is of anonymous memory or of a file without a disk: nobody asks for it here.
    if (advice == MADV_REMOVE || advice == MADV_FREE) not_simulated("madvise", advice);
    return 0;
}
EXPORT int posix_madvise(void *address, size_t length, int advice) {
    // POSIX_MADV_DONTNEED is a hint only, unlike MADV_DONTNEED.
    if (advice == POSIX_MADV_DONTNEED) return 0;
    return madvise(address, length, advice) == 0 ? 0 : errno;
}
