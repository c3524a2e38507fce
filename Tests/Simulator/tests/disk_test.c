// Tests of the simulated disk. `cc -std=gnu17 -O1 -g -Wall -Wextra -Werror -rdynamic -o disk_test tests/disk_test*.c kernel/disk*.c
// kernel/files*.c kernel/random.c kernel/descriptors.c -lsqlite3`. What the program defines comes before the C library's own,
// for SQLite too.
#include "disk_test.h"
#include <dirent.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

uint64_t test_seed;
int64_t power_left = -1;
int fault_kind = -1, fault_error;
uint64_t settings[SETTINGS];
static nanoseconds now = 1700000000000000000;

// MARK: The rest of the kernel

long real_call(long number, long a, long b, long c, long d, long e, long f) {
    long result = syscall(number, a, b, c, d, e, f);
    return result < 0 && result >= -1 ? -errno : result;
}
void dprintf_real(const char *format, ...) {
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    syscall(SYS_write, 2, text, length);
}
void not_simulated(const char *call, long detail) {
    dprintf_real("not simulated: %s %ld (seed %llu)\n", call, detail, (unsigned long long)test_seed);
    _exit(1);
}
void seam(void) {
    if (power_left < 0 || power_left-- > 0) return;
    disk_power_cut();
    _exit(POWER_GONE);
}
int fault_for(enum Call kind, const char *path, size_t *length) {
    (void)path, (void)length;
    if ((int)kind != fault_kind) return 0;
    fault_kind = -1;
    return -fault_error;
}
bool wait_on(const void *key, nanoseconds until) {
    (void)key;
    not_simulated("waiting", (long)until);
}
void wake(const void *key, unsigned at_most) { (void)key, (void)at_most; }
void spend(nanoseconds span) { now += span; }
nanoseconds wall_now(void) { return now += 100; }
void events_forget(struct Open *open) { (void)open; }
unsigned mode_of_kind(const struct Open *open) { return file_of((struct Open *)open) ? 0 : 0600; }
long system_of_kind(const struct Open *open) { (void)open; return 0; }
long pipe_control(struct Open *open, int command, long argument) { (void)open, (void)command, (void)argument; return -EBADF; }
void trace(const char *format, ...) { (void)format; }

// MARK: What tests share

void fresh_disk(uint64_t seed) {
    test_seed = seed;
    random_begin(seed);
    close_all();
    syscall(SYS_ftruncate, DISK_DESCRIPTOR, 0);
    syscall(SYS_ftruncate, DISK_DESCRIPTOR, 2ll << 30);
    now = 1700000000000000000;
    power_left = -1;
    fault_kind = -1;
    process_umask = 022;
    disk_owner(1000, 1000);
    disk_start();
    disk_put("/data/.kept", "", 0, 0600);
}

void *shared_memory(size_t length) {
    return (void *)syscall(SYS_mmap, 0, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int run_child(void (*body)(void)) {
    // The choices go on in the child, so the parent moves on from another place.
    uint64_t next = draw();
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    random_begin(next);
    CHECK(WIFEXITED(status), "signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == 1) _exit(1);
    return WEXITSTATUS(status);
}

void close_all(void) {
    for (int number = 0; number < REAL_DESCRIPTORS; number++) {
        if (descriptor(number)) close(number);
    }
}

void write_file(const char *path, const void *bytes, size_t length) {
    int number = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(number >= 0, "%s: %s", path, strerror(errno));
    CHECK(write(number, bytes, length) == (ssize_t)length, "%s", path);
    CHECK(fsync(number) == 0, "%s", path);
    close(number);
}

// MARK: Small rules

static void test_rules(void) {
    fresh_disk(1);
    char text[100];
    struct stat facts;
    // A descriptor as a name.
    int number = open("/data", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    CHECK(number >= 0 && write(number, "hello", 5) == 5, "%s", strerror(errno));
    snprintf(text, sizeof text, "/proc/self/fd/%d", number);
    CHECK(fstat(number, &facts) == 0 && facts.st_nlink == 0, "%d", (int)facts.st_nlink);
    CHECK(linkat(AT_FDCWD, text, AT_FDCWD, "/data/named", AT_SYMLINK_FOLLOW) == 0, "%s", strerror(errno));
    CHECK(stat("/data/named", &facts) == 0 && facts.st_nlink == 1 && facts.st_size == 5, "%s", strerror(errno));
    CHECK(linkat(AT_FDCWD, text, AT_FDCWD, "/data/named", AT_SYMLINK_FOLLOW) == -1 && errno == EEXIST, "%d", errno);
    char name[100] = "";
    int again = open(text, O_RDONLY);
    CHECK(again >= 0 && read(again, name, 100) == 5 && memcmp(name, "hello", 5) == 0, "%s", strerror(errno));
    CHECK(unlink("/data/named") == 0, "%s", strerror(errno));
    // The file was opened before it had a name, and goes by none.
    memset(name, 0, sizeof name);
    CHECK(readlink(text, name, sizeof name) > 10 && strncmp(name, "/data/#", 7) == 0 && strstr(name, " (deleted)"), "%s", name);
    CHECK(pread(again, name, 100, 1) == 4, "%s", strerror(errno));
    close_all();
    // A name that moves, and one that goes.
    mkdir("/data/d", 0700);
    number = open("/data/d/one", O_RDWR | O_CREAT, 0600);
    snprintf(text, sizeof text, "/proc/self/fd/%d", number);
    rename("/data/d", "/data/e");
    rename("/data/e/one", "/data/e/two");
    link("/data/e/two", "/data/e/three");
    memset(name, 0, sizeof name);
    CHECK(readlink(text, name, sizeof name) > 0 && strcmp(name, "/data/e/two") == 0, "%s", name);
    write_file("/data/other", "", 0);
    rename("/data/other", "/data/e/two");
    CHECK(readlink(text, name, sizeof name) > 0 && strcmp(name, "/data/e/two (deleted)") == 0, "%s", name);
    // A directory by its descriptor, as SQLite walks to it.
    int directory = open("/data", O_RDONLY | O_DIRECTORY);
    snprintf(text, sizeof text, "/proc/self/fd/%d/./x.db", directory);
    write_file(text, "x", 1);
    CHECK(stat("/data/x.db", &facts) == 0, "%s", strerror(errno));
    char *real = realpath(text, NULL);
    CHECK(real && strcmp(real, "/data/x.db") == 0, "%s", real);
    free(real);
    close_all();
    // Sealed memory, which takes no room of the disk.
    uint64_t held = DISK->held;
    number = memfd_create("m", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    CHECK(ftruncate(number, 8192) == 0, "%s", strerror(errno));
    uint8_t *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
    CHECK(map != MAP_FAILED, "%s", strerror(errno));
    map[5000] = 7;
    CHECK(DISK->held == held, "%llu", (unsigned long long)DISK->held);
    CHECK(pread(number, text, 1, 5000) == 1 && text[0] == 7, "%d", text[0]);
    CHECK(fcntl(number, F_ADD_SEALS, F_SEAL_WRITE) == -1 && errno == EBUSY, "%d", errno);
    munmap(map, 8192);
    CHECK(fcntl(number, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0, "%d", errno);
    CHECK(pwrite(number, "x", 1, 0) == -1 && errno == EPERM, "%d", errno);
    CHECK(ftruncate(number, 0) == -1 && errno == EPERM, "%d", errno);
    CHECK(fcntl(number, F_GET_SEALS) == 15, "%d", fcntl(number, F_GET_SEALS));
    close_all();
    // Locks between descriptions.
    int one = open("/data/x.db", O_RDWR), two = open("/data/x.db", O_RDWR);
    CHECK(flock(one, LOCK_EX | LOCK_NB) == 0, "%d", errno);
    CHECK(flock(two, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK, "%d", errno);
    close(one);
    CHECK(flock(two, LOCK_SH | LOCK_NB) == 0, "%d", errno);
    one = open("/data/x.db", O_RDWR);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10};
    CHECK(fcntl(one, F_SETLK, &range) == 0 && fcntl(two, F_SETLK, &range) == 0, "%d", errno);
    CHECK(fcntl(two, F_OFD_SETLK, &range) == -1 && errno == EAGAIN, "%d", errno);
    close_all();
    // Room.
    disk_room(DISK->held + 3 * PAGE);
    number = open("/data/full", O_RDWR | O_CREAT, 0600);
    static char bytes[8 * PAGE];
    CHECK(write(number, bytes, sizeof bytes) == 3 * PAGE, "%s", strerror(errno));
    CHECK(write(number, bytes, 1) == -1 && errno == ENOSPC, "%d", errno);
    CHECK(posix_fallocate(number, 0, 4 * PAGE) == ENOSPC, "room");
    CHECK(unlink("/data/full") == 0 && close(number) == 0 && DISK->held + 3 * PAGE == DISK->room, "%llu", (unsigned long long)DISK->held);
    disk_room(DISK->held);
    CHECK(disk_put("/data/laid", "abc", 3, 0600) == 0, "the world's own");
    disk_room(1 << 30);
    // A kill loses nothing but what has no name.
    number = open("/data/kept", O_RDWR | O_CREAT, 0600);
    CHECK(write(number, "kept", 4) == 4, "%d", errno);
    close_all();
    disk_process_ended();
    CHECK(disk_get("/data/kept", 0, text, 100) == 4, "kept");
    // A bit at rest.
    CHECK(disk_put("/data/rest", "abc", 3, 0600) == 0 && disk_flip("/data/rest", 1, 1) == 0, "flip");
    CHECK(disk_get("/data/rest", 0, text, 3) == 3 && memcmp(text, "acc", 3) == 0, "%.3s", text);
}

static void note_place(const char *path, uint64_t offset, void *into) {
    snprintf(into, 100, "%llu %s", (unsigned long long)offset, path);
}

static void test_found(void) {
    fresh_disk(3);
    static const uint8_t marks[] = "\4none\4mark";
    static char bytes[3 * PAGE], told[100];
    memcpy(bytes + 2 * PAGE - 2, "mark", 4);
    disk_put("/data/among", bytes, 2 * PAGE + 1, 0600);
    disk_find(marks, sizeof marks - 1, note_place, told);
    CHECK(told[0] == 0, "behind the end: %s", told);
    disk_put("/data/among", bytes, sizeof bytes, 0600);
    disk_find(marks, sizeof marks - 1, note_place, told);
    CHECK(strcmp(told, "8190 /data/among") == 0, "on two pages: %s", told);
}

static void test_cold_and_listed(void) {
    fresh_disk(2);
    static char bytes[2 * PAGE], got[2 * PAGE];
    disk_put("/data/cold", bytes, sizeof bytes, 0600);
    disk_power_cut();
    settings[SETTING_COLD] = 1000;
    int number = open("/data/cold", O_RDONLY);
    struct iovec part = {got, sizeof got};
    CHECK(preadv64v2(number, &part, 1, 0, RWF_NOWAIT) == -1 && errno == EAGAIN, "%d", errno);
    CHECK(pread(number, got, 100, 0) == 100, "%d", errno);
    CHECK(preadv64v2(number, &part, 1, 0, RWF_NOWAIT) == PAGE, "the page that was read");
    settings[SETTING_COLD] = 0;
    CHECK(preadv64v2(number, &part, 1, 0, RWF_NOWAIT) == 2 * PAGE, "both");
    // Names of a directory, each once; of descriptors too.
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "/data/%d", i);
        write_file(name, "", 0);
    }
    DIR *list = opendir("/data");
    unsigned seen = 0, count = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        count++;
        if (entry->d_name[0] != '.' && entry->d_name[0] != 'c') seen |= 1u << atoi(entry->d_name);
        if (count == 5) unlink("/data/0");
    }
    CHECK(count == 24 && seen == 0xFFFFF, "%u names, %x", count, seen);
    rewinddir(list);
    for (count = 0; readdir(list); count++) continue;
    CHECK(count == 23, "%u names", count);
    DIR *numbers = opendir("/proc/self/fd");
    for (count = 0; readdir(numbers); count++) continue;
    CHECK((int)count == 2 + descriptors_open(), "%u numbers", count);
    closedir(numbers);
    closedir(list);
    close(number);
    CHECK(descriptors_open() == 0, "%d", descriptors_open());
    // A stream.
    disk_put("/data/lines", "one\ntwo\n", 8, 0600);
    FILE *lines = fopen("/data/lines", "re");
    char line[16];
    CHECK(lines && fgets(line, 16, lines) && strcmp(line, "one\n") == 0 && fgets(line, 16, lines) && !fgets(line, 16, lines), "%s", line);
    CHECK(fclose(lines) == 0 && descriptors_open() == 0, "%d", descriptors_open());
}

// The same choices, the same bytes.
static uint64_t told_twice(uint64_t seed) {
    fresh_disk(seed);
    static char bytes[3 * PAGE];
    for (int i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "/data/%d", (int)draw_below(6));
        int number = open(name, O_RDWR | O_CREAT, 0600);
        draw_bytes(bytes, sizeof bytes);
        CHECK(pwrite(number, bytes, draw_below(sizeof bytes) + 1, (off_t)draw_below(50000)) > 0, "%d", errno);
        if (draw_permille(100)) fsync(number);
        if (draw_permille(200)) unlink(name);
        close(number);
    }
    uint64_t before = disk_digest();
    disk_power_cut();
    return disk_digest() ^ before << 1;
}

int main(int count, char **arguments) {
    unsigned seeds = count > 1 ? (unsigned)atoi(arguments[1]) : 2000;
    long disk = syscall(SYS_memfd_create, "disk", 0);
    if (disk < 0 || syscall(SYS_dup2, disk, DISK_DESCRIPTOR) < 0) return 1;
    syscall(SYS_ftruncate, DISK_DESCRIPTOR, 2ll << 30);
    test_rules();
    test_found();
    test_cold_and_listed();
    for (unsigned seed = 0; seed < 20; seed++) CHECK(told_twice(seed) == told_twice(seed), "two runs");
    test_linux(seeds / 10 + 1);
    test_bytes(seeds);
    test_names(seeds);
    test_sqlite(seeds / 20 + 1);
    dprintf_real("the disk holds, %u seeds\n", seeds);
    return 0;
}
