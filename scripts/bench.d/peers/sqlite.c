/* sqlite: a SQLite file that processes open themselves (WAL, synchronous=FULL, statements prepared once).
 *
 * usage: sqlite DATABASE processes N SECONDS
 *            N processes upsert random keys of 100,000, one BEGIN IMMEDIATE transaction each, values of 100 bytes. Every
 *            write alters the value: its first twelve digits count on from the wall clock's microseconds, four more are the
 *            process's number. Prints perSecond, and what all processes wrote: writeBytesPerWrite (write_bytes of
 *            /proc/self/io: pages dirtied on their way to the disk) and wcharPerWrite (bytes handed to write calls).
 *        sqlite DATABASE load FILE.ndjson SINGLE
 *            documents, their body as JSON text, one transaction each 500; the first SINGLE into another table, one
 *            transaction each
 *        sqlite DATABASE execute SQL
 *        sqlite DATABASE ask SQL FILE.tsv SECONDS
 *            the statement again and again, with each line's words, between tabs, as its parameters
 * Prints one JSON object. Exits 1 when any call fails; SQLITE_BUSY after 10 s is a failure.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

enum { KEYS = 100000, VALUE_SIZE = 100 };

static sqlite3 *database;

static void check(int code, const char *what) {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "sqlite: %s: %s\n", what, sqlite3_errmsg(database));
    _exit(1);
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, 0, 0, 0), sql); }

static void open_database(const char *path) {
    check(sqlite3_open(path, &database), "open");
    sqlite3_busy_timeout(database, 10000);
    execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0), sql);
    return statement;
}

static void run(sqlite3_stmt *statement) {
    check(sqlite3_step(statement), sqlite3_sql(statement));
    check(sqlite3_reset(statement), "reset");
}

static void bind(sqlite3_stmt *statement, int position, const char *text, long length) {
    sqlite3_bind_text(statement, position, text, (int)length, SQLITE_STATIC);
}

static FILE *open_file(const char *path) {
    FILE *file = fopen(path, "r");
    if (file) return file;
    perror(path);
    exit(1);
}

/* MARK: Processes */

/* What processes did. */
struct outcome {
    uint64_t writes, wchar, write_bytes;
};

/* Creates the table and every key, as the other servers are preloaded. */
static void preload(const char *path) {
    open_database(path);
    execute("CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
            "WITH RECURSIVE keys(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM keys WHERE n < 99999)"
            " INSERT OR IGNORE INTO kv SELECT printf('key:%012d', n), replace(hex(zeroblob(50)), '0', 'x') FROM keys;"
            "PRAGMA wal_checkpoint(TRUNCATE);");
    sqlite3_close(database);
}

/* This process's counters. */
static struct outcome io_so_far(void) {
    struct outcome found = {0};
    FILE *file = fopen("/proc/self/io", "r");
    if (!file || fscanf(file, "rchar: %*u wchar: %" SCNu64 " syscr: %*u syscw: %*u read_bytes: %*u write_bytes: %" SCNu64,
                        &found.wchar, &found.write_bytes) != 2)
        perror("/proc/self/io"), _exit(1);
    fclose(file);
    return found;
}

/* Works from the end of the pipe `go` on, and adds what was done to `total`. */
static void work(const char *path, int number, double seconds, int go, struct outcome *total) {
    open_database(path);
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
    sqlite3_stmt *upsert = prepare("INSERT INTO kv VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value");
    struct timeval wall;
    gettimeofday(&wall, 0);
    uint64_t counter = (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_usec, writes = 0;
    srandom((unsigned)counter * 31 + (unsigned)number);
    char name[32], digits[32], value[VALUE_SIZE], byte;
    memset(value, 'x', sizeof value);

    while (read(go, &byte, 1) > 0) {}
    struct outcome before = io_so_far();
    for (double end = now() + seconds; now() < end; writes++) {
        snprintf(digits, sizeof digits, "%012" PRIu64 "%04d", ++counter % 1000000000000, number);
        memcpy(value, digits, 16);
        bind(upsert, 1, name, snprintf(name, sizeof name, "key:%012ld", random() % KEYS));
        bind(upsert, 2, value, sizeof value);
        run(begin);
        run(upsert);
        run(commit);
    }
    sqlite3_finalize(begin), sqlite3_finalize(upsert), sqlite3_finalize(commit);
    /* The last to close checkpoints: folding is counted, as it is for a server that drains. */
    check(sqlite3_close(database), "close");
    struct outcome after = io_so_far();
    __atomic_fetch_add(&total->writes, writes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->wchar, after.wchar - before.wchar, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->write_bytes, after.write_bytes - before.write_bytes, __ATOMIC_RELAXED);
}

static void processes(const char *path, int count, double seconds) {
    preload(path);
    struct outcome *total = mmap(0, sizeof *total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int go[2];
    if (total == MAP_FAILED || pipe(go)) perror("sqlite"), exit(1);
    for (int number = 0; number < count; number++) {
        pid_t pid = fork();
        if (pid < 0) perror("fork"), exit(1);
        if (pid == 0) {
            close(go[1]);
            work(path, number, seconds, go[0], total);
            _exit(0);
        }
    }
    /* Time for all to open; then the end of the pipe starts them together. */
    usleep((useconds_t)(200000 + 5000 * count));
    close(go[0]), close(go[1]);
    int status;
    while (wait(&status) > 0)
        if (status) exit(1);
    double writes = (double)total->writes;
    printf("{\"perSecond\":%.0f,\"writeBytesPerWrite\":%.1f,\"wcharPerWrite\":%.1f}\n", writes / seconds,
           (double)total->write_bytes / writes, (double)total->wchar / writes);
}

/* MARK: Documents */

/* Inserts a document of a line {"id":"…","value":…}; false when there is none. */
static int insert_next(sqlite3_stmt *insert, FILE *file) {
    static char *line;
    static size_t capacity;
    ssize_t length = getline(&line, &capacity, file);
    if (length <= 0) return 0;
    char *id = line + strlen("{\"id\":\""), *end = strchr(id, '"'), *body = end + strlen("\",\"value\":");
    bind(insert, 1, id, end - id);
    bind(insert, 2, body, line + length - strlen("}\n") - body);
    run(insert);
    return 1;
}

static void load(const char *path, long single) {
    execute("CREATE TABLE cards(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);"
            "CREATE TABLE single(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);");
    sqlite3_stmt *insert = prepare("INSERT INTO cards(id, body) VALUES(?1, ?2)");
    sqlite3_stmt *alone = prepare("INSERT INTO single(id, body) VALUES(?1, ?2)");
    FILE *file = open_file(path);
    long count = 0;
    double start = now();
    execute("BEGIN");
    while (insert_next(insert, file))
        if (++count % 500 == 0) execute("COMMIT; BEGIN");
    execute("COMMIT");
    double batches = now() - start;
    rewind(file);
    start = now();
    for (long number = 0; number < single && insert_next(alone, file);) number++;
    double singles = now() - start;
    execute("DROP TABLE single");
    printf("{\"batchPerSecond\":%.0f,\"singlePerSecond\":%.0f}\n", (double)count / batches, (double)single / singles);
}

/* Binds a line's parts, between tabs: what is of digits as an integer. */
static void bind_line(sqlite3_stmt *statement, const char *line) {
    char copy[512], *rest = copy, *part;
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
    for (int index = 1; (part = strsep(&rest, "\t")); index++) {
        if (part[strspn(part, "0123456789")])
            sqlite3_bind_text(statement, index, part, -1, SQLITE_TRANSIENT);
        else
            sqlite3_bind_int64(statement, index, atoll(part));
    }
}

static void ask(const char *sql, const char *path, double seconds) {
    sqlite3_stmt *statement = prepare(sql);
    FILE *file = open_file(path);
    char *lines[4000] = {0};
    size_t capacity = 0, count = 0, room = 1 << 22, done = 0;
    while (count < 4000 && getline(&lines[count], &capacity, file) > 0) capacity = 0, count++;
    double *times = malloc(room * sizeof *times), start = now(), time = start;
    while (time - start < seconds && done < room) {
        bind_line(statement, lines[done % count]);
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++) sqlite3_column_bytes(statement, column);
        check(code, sql);
        sqlite3_reset(statement);
        double end = now();
        times[done++] = (end - time) * 1e6;
        time = end;
    }
    printf("{\"opsPerSecond\":%.1f,\"p50Us\":%.1f,\"p99Us\":%.1f}\n", (double)done / (time - start),
           quantile(times, (long)done, 0.5), quantile(times, (long)done, 0.99));
}

int main(int count, char **arguments) {
    const char *what = count > 3 ? arguments[2] : "";
    if (count == 5 && !strcmp(what, "processes")) return processes(arguments[1], atoi(arguments[3]), atof(arguments[4])), 0;
    if (count > 3) open_database(arguments[1]), execute("PRAGMA cache_size=-65536;");
    if (count == 5 && !strcmp(what, "load")) {
        load(arguments[3], atol(arguments[4]));
    } else if (count == 4 && !strcmp(what, "execute")) {
        double start = now();
        execute(arguments[3]);
        printf("{\"seconds\":%.2f}\n", now() - start);
    } else if (count == 6 && !strcmp(what, "ask")) {
        ask(arguments[3], arguments[4], atof(arguments[5]));
    } else {
        fprintf(stderr, "usage: sqlite DATABASE processes N SECONDS | load FILE SINGLE | execute SQL | ask SQL FILE SECONDS\n");
        return 2;
    }
    sqlite3_close(database);
}
