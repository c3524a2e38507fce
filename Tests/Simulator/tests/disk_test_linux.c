// The same random calls of names on this machine's own file system and on the simulated one: each must answer both alike, errno included.
#include "disk_test.h"
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

static const char *const paths[] = {
    "a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "e", "e/a", "a/", "d/", "e/", ".", "..x", "d/.", "d/..", "d/../a", "",
    "s", "s/a", "s/", "t", "t/a", "d//a", "./b", "d/e/../b", "x/../a", "a/x", "missing/x", "u", "d/u", "e/.", "d/e/.",
};
enum { PATHS = sizeof paths / sizeof paths[0] };
static int real_root, own_root;

static const char *any_path(void) { return paths[draw_below(PATHS)]; }

struct Facts { unsigned mode; unsigned long links; long size; };

static void facts_of(const struct stat *from, struct Facts *to) {
    *to = (struct Facts){from->st_mode, S_ISDIR(from->st_mode) ? 0 : from->st_nlink, S_ISDIR(from->st_mode) ? 0 : from->st_size};
}

static long real(long result) { return result < 0 ? -errno : result; }

static char told[400];

static void same(long own, long other) {
    CHECK(own == other, "%s: %ld here, %ld on Linux (%s, %s)", told, own, other, own < 0 ? strerror((int)-own) : "fine",
          other < 0 ? strerror((int)-other) : "fine");
}

static void look(const char *path, int flags) {
    struct stat own = {0}, other = {0};
    snprintf(told, sizeof told, "stat %s %x", path, flags);
    long result = real(fstatat(own_root, path, &own, flags));
    same(result, real(syscall(SYS_newfstatat, real_root, path, &other, flags)));
    if (result < 0) return;
    struct Facts one, two;
    facts_of(&own, &one);
    facts_of(&other, &two);
    CHECK(one.mode == two.mode && one.links == two.links && one.size == two.size, "%s: %o %lu %ld, and on Linux %o %lu %ld", told, one.mode,
          one.links, one.size, two.mode, two.links, two.size);
}

static void try_open(void) {
    static const int choices[] = {O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW, O_APPEND, O_PATH};
    static const uint64_t resolves[] = {
        0, RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    const char *path = any_path();
    int flags = (int)draw_below(3);
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        if (draw_permille(i == 0 ? 500 : i == 6 ? 50 : 200)) flags |= choices[i];
    }
    // Without O_CREAT the meaning of O_EXCL is nobody's.
    if (!(flags & O_CREAT)) flags &= ~O_EXCL;
    if (flags & O_PATH) flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
    bool is_second = draw_permille(300);
    struct { uint64_t flags, mode, resolve; } how = {(uint64_t)flags, flags & O_CREAT ? 0640 : 0, resolves[draw_below(4)]};
    snprintf(told, sizeof told, "open %s %o resolve %d", path, flags, is_second ? (int)how.resolve : -1);
    long own = is_second ? file_openat2(own_root, path, &how, sizeof how) : real(openat(own_root, path, flags, 0640));
    long other = is_second ? real(syscall(SYS_openat2, real_root, path, &how, sizeof how))
        : real(syscall(SYS_openat, real_root, path, flags, 0640));
    same(own < 0 ? own : 0, other < 0 ? other : 0);
    if (own < 0) return;
    char bytes[50] = "some bytes that are not long enough to be more";
    size_t length = draw_below(40);
    snprintf(told + strlen(told), 50, ", then write");
    same(real(write((int)own, bytes, length)), real(syscall(SYS_write, other, bytes, length)));
    same(real(read((int)own, bytes, length)), real(syscall(SYS_read, other, bytes, length)));
    same(real(lseek((int)own, -3, SEEK_END)) >= 0, real(syscall(SYS_lseek, other, -3L, SEEK_END)) >= 0);
    same(real(ftruncate((int)own, (off_t)length)), real(syscall(SYS_ftruncate, other, length)));
    close((int)own);
    syscall(SYS_close, other);
}

static void try_names(void) {
    const char *path = any_path(), *other = any_path();
    static const unsigned renames[] = {0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_NOREPLACE | RENAME_EXCHANGE, 64};
    char text[100], real_text[100];
    unsigned flags = renames[draw_below(7)];
    int follows = draw_permille(300) ? AT_SYMLINK_FOLLOW : 0;
    static const unsigned modes[] = {0, 0400, 0500, 0600, 0700, 0755, 01777};
    unsigned mode = modes[draw_below(7)];
    switch (draw_below(10)) {
    case 0:
        snprintf(told, sizeof told, "mkdir %s", path);
        same(real(mkdirat(own_root, path, 0750)), real(syscall(SYS_mkdirat, real_root, path, 0750)));
        break;
    case 1:
        snprintf(told, sizeof told, "unlink %s", path);
        same(real(unlinkat(own_root, path, 0)), real(syscall(SYS_unlinkat, real_root, path, 0)));
        break;
    case 2:
        snprintf(told, sizeof told, "rmdir %s", path);
        same(real(unlinkat(own_root, path, AT_REMOVEDIR)), real(syscall(SYS_unlinkat, real_root, path, AT_REMOVEDIR)));
        break;
    case 3: case 4:
        snprintf(told, sizeof told, "rename %s %s %u", path, other, flags);
        same(real(renameat2(own_root, path, own_root, other, flags)),
             real(syscall(SYS_renameat2, real_root, path, real_root, other, flags)));
        break;
    case 5:
        snprintf(told, sizeof told, "link %s %s %x", path, other, follows);
        same(real(linkat(own_root, path, own_root, other, follows)), real(syscall(SYS_linkat, real_root, path, real_root, other, follows)));
        break;
    case 6:
        other = draw_permille(500) ? "d" : draw_permille(300) ? "../out" : other;
        snprintf(told, sizeof told, "symlink %s %s", other, path);
        same(real(symlinkat(other, own_root, path)), real(syscall(SYS_symlinkat, other, real_root, path)));
        break;
    case 7: {
        snprintf(told, sizeof told, "readlink %s", path);
        ssize_t length = real(readlinkat(own_root, path, text, sizeof text));
        same(length, real(syscall(SYS_readlinkat, real_root, path, real_text, sizeof real_text)));
        CHECK(length <= 0 || memcmp(text, real_text, (size_t)length) == 0, "%s", told);
        break;
    }
    case 8:
        snprintf(told, sizeof told, "chmod %s %o", path, mode);
        same(real(fchmodat(own_root, path, mode, 0)), real(syscall(SYS_fchmodat, real_root, path, mode)));
        break;
    default:
        mode &= 7;
        snprintf(told, sizeof told, "access %s %o", path, mode);
        same(real(faccessat(own_root, path, (int)mode, 0)), real(syscall(SYS_faccessat, real_root, path, mode)));
        break;
    }
}

static char real_path[80];

// Root's calls are allowed nearly everything, so half of the runs are somebody else's, if there is root to become them.
static void compare_all(void) {
    if (test_seed % 2) {
        disk_owner(1000, 1000);
        if (syscall(SYS_setgroups, 0, NULL) == 0) syscall(SYS_setresgid, 1000, 1000, 1000), syscall(SYS_setresuid, 1000, 1000, 1000);
    }
    disk_owner((uint32_t)syscall(SYS_geteuid), (uint32_t)syscall(SYS_getegid));
    syscall(SYS_umask, 022);
    real_root = (int)syscall(SYS_open, real_path, O_RDONLY | O_DIRECTORY);
    own_root = open("/data/root", O_RDONLY | O_DIRECTORY);
    CHECK(real_root >= 0 && own_root >= 0, "%s", strerror(errno));
    for (int i = 0; i < 300; i++) {
        if (draw_permille(400)) try_open(); else try_names();
        look(any_path(), draw_permille(500) ? AT_SYMLINK_NOFOLLOW : 0);
    }
    for (int i = 0; i < PATHS; i++) look(paths[i], AT_SYMLINK_NOFOLLOW);
}

static void beside_linux(uint64_t seed) {
    fresh_disk(seed);
    uint32_t owner = seed % 2 && syscall(SYS_geteuid) == 0 ? 1000 : (uint32_t)syscall(SYS_geteuid);
    disk_owner(owner, owner == 1000 ? 1000 : (uint32_t)syscall(SYS_getegid));
    disk_put("/data/root/.kept", "", 0, 0600);
    // One further down, so that nothing is beside it.
    char name[64];
    snprintf(name, sizeof name, "/tmp/disk_test.%d", (int)syscall(SYS_getpid));
    snprintf(real_path, sizeof real_path, "%s/root", name);
    CHECK(syscall(SYS_mkdir, name, 0755) == 0 && syscall(SYS_mkdir, real_path, 0755) == 0, "%s: %s", name, strerror(errno));
    if (owner == 1000) syscall(SYS_chown, real_path, 1000, 1000), syscall(SYS_chown, name, 1000, 1000);
    run_child(compare_all);
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", name);
    CHECK(system(command) == 0, "%s", command);
}

void test_linux(unsigned seeds) {
    for (unsigned seed = 0; seed < seeds; seed++) beside_linux(seed);
}
