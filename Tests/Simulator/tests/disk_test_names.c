// Names against a power cut: what was synced stays, a rename is whole, nothing is lost or there twice.
//
// Each file has a number as its content, which was synced before it got its name. For each name the test keeps what it has led
// to since the last sync of its directory; a cut may leave one of those and nothing else.
#include "disk_test.h"

enum { DIRECTORIES = 3, NAMES = 4, FILES = 400, MOST = 80 };
static const char *const directories[DIRECTORIES] = {"/data", "/data/one", "/data/two"};

struct Name {
    int now;                               // a file's number; 0: nothing
    int past[MOST], count;                 // since the last sync, the newest last
};
static struct Name names[DIRECTORIES][NAMES];
static struct {
    bool is_durable;                       // one of its names was synced once
    bool is_removed;                       // somebody wanted it gone since
} files[FILES];
static int next_file;

static const char *path_of(int directory, int name, char path[64]) {
    snprintf(path, 64, "%s/%d", directories[directory], name);
    return path;
}

static void set(struct Name *name, int file) {
    CHECK(name->count < MOST, "room for the past");
    name->past[name->count++] = name->now = file;
}

static void sync_directory(int directory) {
    int number = open(directories[directory], O_RDONLY | O_DIRECTORY);
    CHECK(number >= 0 && fsync(number) == 0, "%s", strerror(errno));
    close(number);
    for (int i = 0; i < NAMES; i++) {
        struct Name *name = &names[directory][i];
        name->past[0] = name->now;
        name->count = 1;
        if (name->now && !files[name->now].is_removed) files[name->now].is_durable = true;
    }
}

static void begin(uint64_t seed) {
    fresh_disk(seed);
    memset(names, 0, sizeof names);
    memset(files, 0, sizeof files);
    next_file = 1;
    for (int i = 1; i < DIRECTORIES; i++) CHECK(mkdir(directories[i], 0700) == 0, "%s", strerror(errno));
    for (int i = 0; i < DIRECTORIES; i++) sync_directory(i);
}

static void operate(void) {
    char path[64], other[64];
    int directory = (int)draw_below(DIRECTORIES), index = (int)draw_below(NAMES);
    int to = (int)draw_below(DIRECTORIES), target = (int)draw_below(NAMES);
    struct Name *name = &names[directory][index], *new = &names[to][target];
    path_of(directory, index, path);
    path_of(to, target, other);
    switch (draw_below(6)) {
    case 0: case 1:
        if (name->now) break;
        write_file(path, &next_file, sizeof next_file);
        set(name, next_file++);
        break;
    case 2:
        if (!name->now) break;
        CHECK(unlink(path) == 0, "%s", strerror(errno));
        files[name->now].is_removed = true;
        set(name, 0);
        break;
    case 3: case 4: {
        if (!name->now || name == new) break;
        bool swaps = new->now && draw_permille(300);
        CHECK(renameat2(AT_FDCWD, path, AT_FDCWD, other, swaps ? 2 : 0) == 0, "%s", strerror(errno));
        int moved = name->now;
        if (new->now && !swaps) files[new->now].is_removed = true;
        set(name, swaps ? new->now : 0);
        set(new, moved);
        break;
    }
    default:
        sync_directory(directory);
    }
}

static struct { uint64_t now, earlier; } seen;

static void after_end(bool is_killed) {
    int found[FILES] = {0};
    struct stat facts;
    for (int i = 0; i < DIRECTORIES; i++) {
        CHECK(stat(directories[i], &facts) == 0 && S_ISDIR(facts.st_mode), "%s", directories[i]);
        for (int j = 0; j < NAMES; j++) {
            char path[64];
            int file = 0;
            bool is_there = disk_get(path_of(i, j, path), 0, &file, sizeof file) == sizeof file, is_known = false;
            CHECK(is_there || stat(path, &facts) == -1, "%s has lost its content", path);
            struct Name *name = &names[i][j];
            for (int k = 0; k < name->count; k++) is_known = is_known || name->past[k] == file;
            CHECK(is_known, "%s is %d", path, file);
            // Removals of what was durable, which no sync of a file makes durable.
            if (!is_killed && name->count > 1 && name->now == 0 && name->past[0]) file == 0 ? seen.now++ : seen.earlier++;
            if (is_killed) CHECK(file == name->now, "%s is %d and not %d", path, file, name->now);
            if (file == 0) continue;
            CHECK(file < FILES && ++found[file] == 1, "%d has two names", file);
            CHECK(stat(path, &facts) == 0 && facts.st_nlink == 1, "%s: %d names", path, (int)facts.st_nlink);
        }
    }
    for (int file = 1; file < next_file; file++)
        CHECK(found[file] || !files[file].is_durable || files[file].is_removed, "%d was synced, never removed, and has no name", file);
    if (is_killed) return;
    // Everything that is held can be reached.
    uint64_t held = 0, count = 0;
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) {
        held += inode->blocks * PAGE;
        count += S_ISREG(inode->mode) && inode->links == 0;
        CHECK(inode == DISK->root || inode->links > 0, "an inode without a name: %llu", (unsigned long long)inode->number);
        CHECK(inode->opens == 0 && inode->pending == 0 && inode->differing == 0, "inode %llu", (unsigned long long)inode->number);
    }
    CHECK(held == DISK->held && count == 0 && DISK->pending == 0, "%llu is held, not %llu", (unsigned long long)DISK->held,
          (unsigned long long)held);
}

static void one_cut(uint64_t seed) {
    begin(seed);
    int operations = 1 + (int)draw_below(60);
    for (int i = 0; i < operations; i++) operate();
    // A kill, and no cut: all is there.
    if (seed % 4 == 0) {
        disk_process_ended();
        after_end(true);
    }
    disk_power_cut();
    after_end(false);
}

// MARK: Names of one file

// What was linked later is not there without the name that was made first.
static void links(uint64_t seed) {
    fresh_disk(seed);
    write_file("/data/first", "f", 1);
    CHECK(link("/data/first", "/data/one/second") == -1 && errno == ENOENT, "%d", errno);
    CHECK(link("/data/first", "/data/second") == 0, "%d", errno);
    disk_power_cut();
    struct stat first, second;
    bool has_first = stat("/data/first", &first) == 0, has_second = stat("/data/second", &second) == 0;
    CHECK(has_first || !has_second, "the second name without the first");
    CHECK(!has_second || (first.st_ino == second.st_ino && first.st_nlink == 2), "%d names", (int)first.st_nlink);
}

// MARK: Trees

static void count_directory(const char *path, unsigned mode, uint64_t size, void *count) {
    (void)path, (void)size;
    *(int *)count += S_ISDIR(mode);
}

// Each of two moves is possible by itself, and the second one without the first would make a circle.
static void circles(uint64_t seed) {
    fresh_disk(seed);
    mkdir("/data/x", 0700);
    mkdir("/data/x/y", 0700);
    sync();
    int before = 0, after = 0;
    disk_each(count_directory, &before);
    CHECK(rename("/data/x/y", "/data/y") == 0 && rename("/data/x", "/data/y/x") == 0, "%d", errno);
    disk_power_cut();
    disk_each(count_directory, &after);
    CHECK(before == after, "%d directories, and there were %d", after, before);
}

// A tree that is made and moved about is at one place after a cut, with all that was synced in it.
static void trees(uint64_t seed) {
    fresh_disk(seed);
    mkdir("/data/a", 0700);
    mkdir("/data/b", 0700);
    write_file("/data/a/file", "f", 1);
    sync();
    static const char *const places[] = {"/data/a/t", "/data/b/t", "/data/t", "/data/a/t/u", "/data/u", "/data/b/u"};
    for (int i = 0; i < 12; i++) {
        const char *from = places[draw_below(6)], *to = places[draw_below(6)];
        char path[64];
        switch (draw_below(4)) {
        case 0: mkdir(to, 0700); break;
        case 1: rmdir(from); break;
        case 2: rename(from, to); break;
        default:
            snprintf(path, sizeof path, "%s/file", to);
            struct stat facts;
            if (stat(to, &facts) != 0) break;
            for (int j = 0; j < 7; j++) {
                char old[64];
                snprintf(old, sizeof old, "%s/file", j < 6 ? places[j] : "/data/a");
                if (rename(old, path) == 0) break;
            }
        }
        if (draw_permille(100)) {
            int number = open(draw_permille(500) ? "/data" : "/data/a", O_RDONLY);
            CHECK(fsync(number) == 0, "%d", errno);
            close(number);
        }
    }
    disk_power_cut();
    uint64_t reached = 0;
    for (struct Inode *inode = DISK->first; inode; inode = inode->next) {
        CHECK(inode == DISK->root || inode->links == 1, "inode %llu: %u names", (unsigned long long)inode->number, inode->links);
        if (S_ISDIR(inode->mode)) CHECK(is_beneath(inode, DISK->root), "a directory in itself");
        reached += S_ISREG(inode->mode) && inode->size == 1 && inode->links == 1;
    }
    CHECK(reached == 1, "the file was never removed, and is there %d times", (int)reached);
}

void test_names(unsigned seeds) {
    for (unsigned seed = 0; seed < seeds; seed++) one_cut(seed);
    CHECK(seen.earlier * 4 > seen.now && seen.now * 4 > seen.earlier, "cuts are all alike: %llu %llu", (unsigned long long)seen.now,
          (unsigned long long)seen.earlier);
    for (unsigned seed = 0; seed < seeds; seed++) trees(seed);
    for (unsigned seed = 0; seed < 300; seed++) links(seed), circles(seed);
}
