// SQLite on the simulated disk: transactions, a power cut within any call, the next process, and all that was acknowledged is there.
#include "disk_test.h"
#include <sqlite3.h>

enum { ROWS = 3000 };
// A journal that is deleted comes back with a cut unless its directory is synced, which EXTRA does and FULL does not.
static const char *const modes[] = {
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA;",
    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL;", "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
};
enum { MODES = sizeof modes / sizeof modes[0], RELAXED = 4 };
// What the processes tell each other, beside the disk.
static struct { int64_t acknowledged, seen, starts, cuts; bool is_begun; } *shared;
static int mode;
static int64_t calls;

static int64_t number_of(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    CHECK(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK, "%s: %s", text, sqlite3_errmsg(database));
    int result = sqlite3_step(statement);
    CHECK(result == SQLITE_ROW, "%s: %s", text, sqlite3_errmsg(database));
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void execute(sqlite3 *database, const char *text) {
    char *message = NULL;
    CHECK(sqlite3_exec(database, text, NULL, NULL, &message) == SQLITE_OK, "%s: %s", text, message);
}

static void examine(sqlite3 *database) {
    sqlite3_stmt *statement;
    CHECK(sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(database));
    CHECK(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(database));
    const char *verdict = (const char *)sqlite3_column_text(statement, 0);
    CHECK(strcmp(verdict, "ok") == 0, "%s", verdict);
    sqlite3_finalize(statement);
    int64_t count = number_of(database, "SELECT count(*) FROM t");
    CHECK(count == number_of(database, "SELECT coalesce(max(id), 0) FROM t"), "rows with a gap");
    CHECK(count == number_of(database, "SELECT n FROM counted"), "half a transaction");
    const char *right = "SELECT count(*) FROM t WHERE v = zeroblob(id % 900) || CAST(id AS TEXT)";
    CHECK(count == number_of(database, right), "a row with another value");
    CHECK(mode == RELAXED || count >= shared->acknowledged, "%lld rows, %lld were acknowledged (%s)", (long long)count,
          (long long)shared->acknowledged, modes[mode]);
    CHECK(count <= shared->seen, "%lld rows, %lld were written", (long long)count, (long long)shared->seen);
    shared->acknowledged = count;
}

static void live(void) {
    disk_start();
    shared->starts++;
    sqlite3 *database;
    CHECK(sqlite3_open("/data/test.db", &database) == SQLITE_OK, "%s", sqlite3_errmsg(database));
    // The first transaction is made in peace, with the directory synced by who makes a database.
    execute(database, modes[mode]);
    if (!shared->is_begun) {
        execute(database, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB); CREATE TABLE counted(n); INSERT INTO counted VALUES(0)");
        // With NORMAL a commit alone is not durable.
        execute(database, "PRAGMA wal_checkpoint(TRUNCATE)");
        int directory = open("/data", O_RDONLY | O_DIRECTORY);
        CHECK(fsync(directory) == 0, "%d", errno);
        close(directory);
        shared->is_begun = true;
    }
    examine(database);
    execute(database, "PRAGMA wal_autocheckpoint=20; PRAGMA cache_size=20");
    power_left = calls;
    for (int64_t id = shared->acknowledged; id < ROWS;) {
        char text[300];
        execute(database, "BEGIN IMMEDIATE");
        for (int i = (int)draw_below(4); i >= 0; i--) {
            id++;
            snprintf(text, sizeof text, "INSERT INTO t VALUES(%lld, zeroblob(%lld) || CAST(%lld AS TEXT)); UPDATE counted SET n = n + 1",
                     (long long)id, (long long)id % 900, (long long)id);
            execute(database, text);
        }
        shared->seen = id;
        execute(database, "COMMIT");
        shared->acknowledged = id;
    }
    _exit(0);
}

static void one_history(uint64_t seed) {
    fresh_disk(seed);
    mode = (int)(seed % MODES);
    memset(shared, 0, sizeof *shared);
    for (int i = 0; i < 6; i++) {
        calls = (int64_t)draw_below(draw_permille(300) ? 40 : 1500);
        shared->cuts += run_child(live) == POWER_GONE;
    }
    CHECK(shared->cuts > 0, "no cut at all");
    calls = INT64_MAX;
    CHECK(run_child(live) == 0, "the rest");
}

void test_sqlite(unsigned seeds) {
    shared = shared_memory(sizeof *shared);
    for (unsigned seed = 0; seed < seeds; seed++) one_history(seed);
}
