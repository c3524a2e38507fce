// Stands in for what the disk does not offer yet: refused loudly, and replaced by whoever defines it.
#include "kernel.h"

#define WEAK __attribute__((weak))
WEAK int disk_socket(const char *path, unsigned mode) { (void)path; not_simulated("disk_socket", (long)mode); }
WEAK int disk_socket_at(const char *path, uint32_t uid, uint32_t gid) { (void)path, (void)gid; not_simulated("disk_socket_at", (long)uid); }
WEAK struct Open *disk_unnamed(const void *bytes, size_t length, int flags) {
    (void)bytes, (void)flags;
    not_simulated("disk_unnamed", (long)length);
}
WEAK long file_control(int number, unsigned long request, void *argument) {
    (void)number, (void)argument;
    not_simulated("ioctl of a file", (long)request);
}
WEAK struct Open *disk_sealed(const void *bytes, size_t length) { (void)bytes; not_simulated("disk_sealed", (long)length); }
WEAK struct Open *disk_opened(const char *path, int flags) { (void)path; not_simulated("disk_opened", flags); }
WEAK ssize_t disk_content(struct Open *open, uint64_t offset, void *bytes, size_t length) {
    (void)open, (void)bytes, (void)length;
    not_simulated("disk_content", (long)offset);
}
