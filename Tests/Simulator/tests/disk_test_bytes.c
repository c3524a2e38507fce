// Bytes against a model: what reads give, and what a power cut may leave.
#include "disk_test.h"
#include <linux/falloc.h>
#include <sys/mman.h>

enum { MOST = 40 * PAGE, VERSIONS = 64 };
static uint8_t model[MOST], buffer[MOST];
static size_t size;
// What the file has been since its last sync, the synced one first.
static uint8_t versions[VERSIONS][MOST];
static size_t sizes[VERSIONS];
static int kept;

static void keep_version(void) {
    CHECK(kept < VERSIONS, "room for versions");
    memcpy(versions[kept], model, MOST);
    sizes[kept++] = size;
}

static void resize_model(size_t wanted) {
    if (wanted < size) memset(model + wanted, 0, MOST - wanted);
    size = wanted;
}

static void compare(int number) {
    ssize_t got = pread(number, buffer, MOST, 0);
    CHECK(got == (ssize_t)size, "%zd and not %zu", got, size);
    size_t at = 0;
    while (at < size && buffer[at] == model[at]) at++;
    CHECK(at == size, "what is read at %zu of %zu is not what was written", at, size);
}

// One operation on the file and on the model.
static void operate(int number, uint8_t *map, size_t mapped) {
    uint8_t bytes[3 * PAGE];
    size_t at = draw_below(MOST - sizeof bytes), length = draw_below(sizeof bytes) + 1;
    if (draw_permille(300)) at -= at % SECTOR, length = length / SECTOR * SECTOR + (length < SECTOR ? SECTOR : 0);
    switch (draw_below(10)) {
    default:
        draw_bytes(bytes, length);
        CHECK(pwrite(number, bytes, length, (off_t)at) == (ssize_t)length, "%s", strerror(errno));
        memcpy(model + at, bytes, length);
        if (at + length > size) size = at + length;
        break;
    case 5:
        if (map) break;
        CHECK(ftruncate(number, (off_t)at) == 0, "%s", strerror(errno));
        resize_model(at);
        break;
    case 6:
        CHECK(fallocate(number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)length) == 0, "%s", strerror(errno));
        for (size_t i = at; i < at + length; i++) model[i] = 0;
        break;
    case 7:
        CHECK(fallocate(number, 0, (off_t)at, (off_t)length) == 0, "%s", strerror(errno));
        if (at + length > size) size = at + length;
        break;
    case 8:
        if (!map || mapped > size) break;
        at %= mapped - SECTOR;
        draw_bytes(map + at, SECTOR);
        memcpy(model + at, map + at, SECTOR);
        break;
    }
}

static void against_model(uint64_t seed) {
    fresh_disk(seed);
    memset(model, 0, MOST);
    size = 0;
    int number = open("/data/file", O_RDWR | O_CREAT, 0600);
    uint8_t *map = NULL;
    size_t mapped = 0;
    for (int i = 0; i < 40; i++) {
        operate(number, map, mapped);
        if (draw_permille(100)) fsync(number);
        if (draw_permille(50) && !map && size > 2 * PAGE) {
            mapped = 2 * PAGE;
            map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0);
            CHECK(map != MAP_FAILED, "%s", strerror(errno));
        } else if (draw_permille(50) && map) {
            munmap(map, mapped);
            map = NULL;
        }
        if (draw_permille(30) && !map) {
            close(number);
            disk_process_ended();
            number = open("/data/file", O_RDWR);
        }
        compare(number);
        if (map) CHECK(memcmp(map, model, mapped) == 0, "a map that shows something else");
    }
    // Data and holes, one after the other, are the file, and no byte of a hole is other than zero.
    for (off_t at = 0; (size_t)at < size;) {
        off_t data = lseek(number, at, SEEK_DATA), end = data < 0 ? (off_t)size : data;
        for (; at < end; at++) CHECK(model[at] == 0, "a hole with something in it");
        if (data >= 0) at = lseek(number, data, SEEK_HOLE);
    }
    close_all();
}

// Each sector is of one of the versions since the last sync, and the size is one of theirs, or ends with a page that was written
// back on the way to one.
static void after_cut(void) {
    ssize_t got = disk_get("/data/file", 0, buffer, MOST);
    bool is_known = false;
    size_t most = 0;
    for (int i = 0; i < kept; i++) {
        is_known = is_known || sizes[i] == (size_t)got;
        most = sizes[i] > most ? sizes[i] : most;
    }
    CHECK(is_known || (got % PAGE == 0 && (size_t)got > sizes[0] && (size_t)got < most), "%zd bytes, and not %zu", got, sizes[0]);
    for (size_t at = 0; at < (size_t)got; at += SECTOR) {
        size_t length = (size_t)got - at < SECTOR ? (size_t)got - at : SECTOR;
        bool is_one = false;
        for (int i = 0; i < kept && !is_one; i++) is_one = memcmp(buffer + at, versions[i] + at, length) == 0;
        // The sector at the end of an old size is cut off there, and zeros follow.
        for (int i = 0; i < kept && !is_one; i++) {
            for (int j = 0; j < kept && !is_one; j++) {
                size_t part = sizes[j] > at && sizes[j] < at + length ? sizes[j] - at : length;
                bool is_zero = true;
                for (size_t k = part; k < length; k++) is_zero = is_zero && buffer[at + k] == 0;
                is_one = is_zero && memcmp(buffer + at, versions[i] + at, part) == 0;
            }
        }
        CHECK(is_one, "a sector at %zu that was never written so", at);
    }
}

static struct { uint64_t old, new, mixed, between, cuts, mapped, unmapped, stored, unstored; } seen;

static void count_seen(void) {
    bool is_old = memcmp(buffer, versions[0], MOST) == 0, is_new = memcmp(buffer, versions[kept - 1], MOST) == 0;
    seen.cuts++;
    if (kept == 1) return;
    for (size_t at = 0; at < MOST; at += SECTOR)
        seen.between += memcmp(buffer + at, versions[0] + at, SECTOR) != 0 && memcmp(buffer + at, versions[kept - 1] + at, SECTOR) != 0;
    if (is_old) seen.old++; else if (is_new) seen.new++; else seen.mixed++;
}

static void against_cuts(uint64_t seed) {
    fresh_disk(seed);
    memset(model, 0, MOST);
    size = kept = 0;
    int number = open("/data/file", O_RDWR | O_CREAT, 0600), directory = open("/data", O_RDONLY | O_DIRECTORY);
    CHECK(fsync(number) == 0 && fsync(directory) == 0, "%s", strerror(errno));
    keep_version();
    int operations = 1 + (int)draw_below(VERSIONS - 2);
    for (int i = 0; i < operations; i++) {
        operate(number, NULL, 0);
        keep_version();
        if (draw_permille(100)) {
            // What a failed sync has left stays in doubt, also after one that succeeds.
            bool fails = draw_permille(300);
            fault_kind = fails ? (int)CALL_SYNC : -1;
            fault_error = EIO;
            int result = draw_permille(500) ? fsync(number) : fdatasync(number);
            CHECK(result == (fails ? -1 : 0), "%d", result);
            fault_kind = -1;
            if (fails) break;
            kept = 0;
            keep_version();
        }
        if (draw_permille(50)) sync_file_range(number, 0, 0, 7);
    }
    close_all();
    disk_power_cut();
    memset(buffer, 0, MOST);
    after_cut();
    count_seen();
    // A second cut finds nothing to choose.
    uint64_t digest = disk_digest();
    disk_power_cut();
    CHECK(digest == disk_digest(), "a cut that changes what was durable");
}

// Of a failed sync Linux keeps nothing dirty: a second one tells nothing, and what is written again is durable.
static void after_failed_sync(uint64_t seed) {
    fresh_disk(seed);
    static uint8_t old[PAGE], new[PAGE], got[PAGE];
    memset(old, 1, PAGE);
    memset(new, 2, PAGE);
    disk_put("/data/file", old, PAGE, 0600);
    int number = open("/data/file", O_RDWR);
    CHECK(pwrite(number, new, PAGE, 0) == PAGE, "%d", errno);
    fault_kind = CALL_SYNC;
    fault_error = EIO;
    CHECK(fsync(number) == -1 && errno == EIO, "%d", errno);
    CHECK(fsync(number) == 0, "%d", errno);
    bool again = seed % 2;
    if (again) CHECK(pwrite(number, new, PAGE, 0) == PAGE && fsync(number) == 0, "%d", errno);
    close_all();
    disk_power_cut();
    CHECK(disk_get("/data/file", 0, got, PAGE) == PAGE, "size");
    if (again) CHECK(memcmp(got, new, PAGE) == 0, "written again and synced");
    seen.old += !again && memcmp(got, old, PAGE) == 0 ? 1u << 20 : 0;
}

// What a call has made durable by itself, and what only a map has changed.
static void after_small_syncs(uint64_t seed) {
    fresh_disk(seed);
    static uint8_t bytes[2 * PAGE], got[2 * PAGE];
    disk_put("/data/file", bytes, sizeof bytes, 0600);
    disk_put("/data/map", bytes, sizeof bytes, 0600);
    int number = open("/data/file", O_RDWR | O_DSYNC), mapped = open("/data/map", O_RDWR);
    CHECK(pwrite(number, "synced", 6, 5000) == 6, "%d", errno);
    uint8_t *map = mmap(NULL, sizeof bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
    CHECK(map != MAP_FAILED, "%d", errno);
    memcpy(map, "synced", 6);
    memcpy(map + PAGE, "synced", 6);
    CHECK(msync(map, PAGE, MS_SYNC) == 0, "%d", errno);
    memcpy(map + PAGE, "newest", 6);
    memcpy(map, "newest", 6);
    close_all();
    disk_power_cut();
    CHECK(disk_get("/data/file", 5000, got, 6) == 6 && memcmp(got, "synced", 6) == 0, "O_DSYNC");
    CHECK(disk_get("/data/map", 0, got, sizeof got) == sizeof got, "size");
    bool is_new = memcmp(got, "newest", 6) == 0;
    CHECK(is_new || memcmp(got, "synced", 6) == 0, "msync");
    seen.stored += is_new;
    seen.unstored += !is_new;
    seen.mapped += memcmp(got + PAGE, "newest", 6) == 0;
    seen.unmapped += got[PAGE] == 0;
}

void test_bytes(unsigned seeds) {
    for (unsigned seed = 0; seed < seeds; seed++) against_model(seed);
    for (unsigned seed = 0; seed < seeds; seed++) against_cuts(seed);
    bool is_varied = seen.old * 50 > seen.cuts && seen.new * 50 > seen.cuts && seen.mixed * 4 > seen.cuts;
    CHECK(is_varied, "cuts are all alike: %llu %llu %llu of %llu",
          (unsigned long long)seen.old, (unsigned long long)seen.new, (unsigned long long)seen.mixed, (unsigned long long)seen.cuts);
    CHECK(seen.between * 50 > seen.cuts, "versions in between: %llu", (unsigned long long)seen.between);
    for (unsigned seed = 0; seed < 200; seed++) after_small_syncs(seed);
    CHECK(seen.stored > 20 && seen.unstored > 20, "what was stored after msync: %llu kept, %llu lost", (unsigned long long)seen.stored,
          (unsigned long long)seen.unstored);
    CHECK(seen.mapped > 20 && seen.unmapped > 20, "what was only stored: %llu kept, %llu lost", (unsigned long long)seen.mapped,
          (unsigned long long)seen.unmapped);
    for (unsigned seed = 0; seed < 100; seed++) after_failed_sync(seed);
    CHECK(seen.old >> 20 > 10, "a failed sync that has written all the same: %llu", (unsigned long long)(seen.old >> 20));
}
