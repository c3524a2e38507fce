#include "stand_in.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct Told told[4096];
int told_count, files_open, ended, failures;
nanoseconds now = 1000000000, shift = 1700000000000000000;
void (*meanwhile)(void);
jmp_buf over;
bool is_over_expected;
uint64_t settings[SETTINGS], seams_left;
nanoseconds pause_time;
bool is_traced;

long real_call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

void say(const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    real_call(SYS_write, 2, (long)text, length, 0, 0, 0);
}

static _Noreturn void ends(int code, const char *why, long detail) {
    ended = code;
    if (is_over_expected) longjmp(over, 1);
    say("ended: %d %s %ld\n", code, why, detail);
    real_call(SYS_exit_group, 2, 0, 0, 0, 0, 0);
    abort();
}
void process_ends(int code, const char *why) { ends(code, why, 0); }
void not_simulated(const char *call, long detail) { ends(1000, call, detail); }

// MARK: The baton and the clock

void kernel_start(void) {}
void seam(void) {}
static const void *waited_for;
static bool is_woken;
void wake(const void *key, unsigned at_most) {
    (void)at_most;
    is_woken |= key == waited_for;
}
int thread_number(void) { return 1; }
nanoseconds monotonic_now(void) { return now; }
nanoseconds wall_now(void) { return now + shift; }
int fault_for(enum Call kind, const char *path, size_t *length) { (void)kind, (void)path, (void)length; return 0; }

bool wait_on(const void *key, nanoseconds until) {
    if (meanwhile) {
        void (*body)(void) = meanwhile;
        meanwhile = NULL;
        waited_for = key, is_woken = false;
        body();
        // It is not enough that something has happened: whoever waits has to be told.
        if (is_woken) return true;
    }
    if (until == FOREVER) ends(3, "waits for ever", 0);
    if (until > now) now = until;
    return false;
}

long futex_call(uint32_t *word, int operation, uint32_t value, const void *timeout, uint32_t *word2, uint32_t value3) {
    (void)word, (void)operation, (void)value, (void)timeout, (void)word2, (void)value3;
    return -ENOSYS;
}
long file_openat2(int directory, const char *path, const void *how, size_t size) {
    (void)directory, (void)path, (void)how, (void)size;
    return -ENOSYS;
}
long file_renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
    (void)from, (void)name, (void)to, (void)new_name, (void)flags;
    return -ENOSYS;
}
long file_statx(int directory, const char *path, int flags, unsigned mask, void *facts) {
    (void)directory, (void)path, (void)flags, (void)mask, (void)facts;
    return -ENOSYS;
}

// MARK: Reports

void report_parts(uint8_t kind, const void *head, size_t head_length, const void *bytes, size_t length) {
    struct Told *next = &told[told_count++ % 4096];
    *next = (struct Told){kind, head_length + length, malloc(head_length + length + 1)};
    memcpy(next->bytes, head, head_length);
    memcpy(next->bytes + head_length, bytes, length);
}
void report(uint8_t kind, const void *bytes, size_t length) { report_parts(kind, bytes, length, "", 0); }

struct Told *last_told(uint8_t kind) {
    for (int i = told_count - 1; i >= 0; i--) if (told[i].kind == kind) return &told[i];
    return NULL;
}
uint32_t told_word(const struct Told *report, int position) {
    uint32_t word;
    memcpy(&word, report->bytes + 4 * position, 4);
    return word;
}
void forget_told(void) {
    while (told_count > 0) free(told[--told_count].bytes);
}

// MARK: The disk

struct File { size_t length; unsigned char bytes[2 << 20]; };
static ssize_t file_read(struct Open *open, void *bytes, size_t length) {
    if ((open->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    ssize_t got = disk_content(open, (uint64_t)open->offset, bytes, length);
    if (got > 0) open->offset += got;
    return got;
}
static ssize_t file_write(struct Open *open, const void *bytes, size_t length) {
    struct File *file = open->object;
    if (!(open->flags & O_ACCMODE)) return -EBADF;
    memcpy(file->bytes + open->offset, bytes, length);
    open->offset += (off_t)length;
    if ((size_t)open->offset > file->length) file->length = (size_t)open->offset;
    return (ssize_t)length;
}
static void file_closed(struct Open *open) { files_open--, free(open->object); }
static const struct Operations file_operations = {"file", file_read, file_write, NULL, file_closed};

struct Open *disk_unnamed(const void *bytes, size_t length, int flags) {
    struct File *file = calloc(1, sizeof *file);
    memcpy(file->bytes, bytes, file->length = length);
    files_open++;
    return open_make(&file_operations, file, flags);
}
struct Open *disk_sealed(const void *bytes, size_t length) { return disk_unnamed(bytes, length, O_RDONLY); }
struct Open *disk_opened(const char *path, int flags) { return disk_unnamed(path, strlen(path), flags); }
ssize_t disk_content(struct Open *open, uint64_t offset, void *bytes, size_t length) {
    struct File *file = open->object;
    size_t left = offset < file->length ? file->length - offset : 0, part = left < length ? left : length;
    memcpy(bytes, file->bytes + offset, part);
    return (ssize_t)part;
}

// Sockets' names: their inodes are their positions. A name that ends in "private" is its owner's alone.
static char names[64][109];
static int names_count;
int disk_socket_at(const char *path, uint32_t uid, uint32_t gid) {
    (void)gid;
    if (strcmp(path, "/file") == 0) return -ECONNREFUSED;
    for (int i = 0; i < names_count; i++) {
        if (strcmp(names[i], path) == 0) return strstr(path, "private") && uid != 1000 && uid ? -EACCES : i;
    }
    return -ENOENT;
}
int disk_socket(const char *path, unsigned mode) {
    (void)mode;
    if (disk_socket_at(path, 1000, 1000) != -ENOENT) return -EADDRINUSE;
    strcpy(names[names_count++], path);
    return 0;
}
ssize_t disk_get(const char *path, uint64_t offset, void *bytes, size_t length) {
    static const char users[] = "root:x:0:0::/root:/bin/sh\nbroken line\nkura:x:1000:1000:The daemon:/home/kura:/bin/false\n";
    static const char groups[] = "root:x:0:\nkura:x:1000:\nreaders:x:2000:anna,kura\n";
    const char *text = strcmp(path, "/etc/passwd") == 0 ? users : strcmp(path, "/etc/group") == 0 ? groups : NULL;
    if (!text) return -ENOENT;
    size_t size = strlen(text), part = size - offset < length ? size - offset : length;
    memcpy(bytes, text + offset, part);
    return (ssize_t)part;
}
int disk_put(const char *path, const void *bytes, size_t length, unsigned mode) {
    (void)path, (void)bytes, (void)length, (void)mode;
    return 0;
}
long file_control(int number, unsigned long request, void *argument) {
    (void)number, (void)request, (void)argument;
    return -EOPNOTSUPP;
}
int memfd_create(const char *name, unsigned flags) {
    (void)name, (void)flags;
    return -1;
}
int fcntl(int number, int command, ...) {
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return (int)answer(descriptor_control(number, command, argument));
}
