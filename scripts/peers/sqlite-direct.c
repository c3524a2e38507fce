/* sqlite-direct: what processes get that open one SQLite file themselves.
 *
 * N processes (fork) each open the same database (WAL, synchronous=FULL, busy_timeout 10 s) and upsert random keys,
 * one BEGIN IMMEDIATE transaction each, until the time is over. Every write alters the value: its first twelve digits
 * count on from the wall clock's microseconds, four more are the process's number.
 *
 * usage: sqlite-direct DATABASE [--processes N] [--seconds S] [--keys N] [--value-size B] [--bytes]
 * Prints one JSON object: writes, perSecond, and with --bytes what all processes wrote: writeBytesPerWrite
 * (write_bytes of /proc/self/io: pages dirtied on their way to the disk) and wcharPerWrite (bytes handed to write
 * calls). Exits 1 when any call fails; SQLITE_BUSY after the timeout is a failure.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct options {
    const char *database;
    int processes, keys, value_size, bytes;
    double seconds;
};

/* One a process, in memory shared with the parent. */
struct outcome {
    uint64_t writes, write_bytes, wchar;
    int failed;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(int code, sqlite3 *database, const char *what) {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "sqlite-direct: %s: %s\n", what, sqlite3_errmsg(database));
    _exit(1);
}

static sqlite3 *open_database(const char *path) {
    sqlite3 *database;
    check(sqlite3_open(path, &database), database, "open");
    sqlite3_busy_timeout(database, 10000);
    check(sqlite3_exec(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", 0, 0, 0), database, "pragma");
    return database;
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *text) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0), database, text);
    return statement;
}

static void run(sqlite3 *database, sqlite3_stmt *statement, const char *what) {
    check(sqlite3_step(statement), database, what);
    check(sqlite3_reset(statement), database, what);
}

/* Creates the table and every key, as the other servers are preloaded. */
static void preload(const struct options *options) {
    sqlite3 *database = open_database(options->database);
    check(sqlite3_exec(database,
                       "CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
                       "BEGIN;", 0, 0, 0), database, "create");
    sqlite3_stmt *insert = prepare(database, "INSERT OR IGNORE INTO kv(key, value) VALUES(?1, ?2)");
    char *value = malloc(options->value_size + 1);
    memset(value, 'x', options->value_size);
    for (int key = 0; key < options->keys; key++) {
        char name[32];
        int length = snprintf(name, sizeof name, "key:%012d", key);
        sqlite3_bind_text(insert, 1, name, length, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, value, options->value_size, SQLITE_STATIC);
        run(database, insert, "preload");
    }
    sqlite3_finalize(insert);
    check(sqlite3_exec(database, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE);", 0, 0, 0), database, "preload");
    sqlite3_close(database);
    free(value);
}

static uint64_t io_counter(const char *name) {
    char line[128];
    uint64_t value = 0;
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':') value = strtoull(strchr(line, ' '), 0, 10);
    if (file) fclose(file);
    return value;
}

static void work(const struct options *options, int number, int go, struct outcome *outcome) {
    sqlite3 *database = open_database(options->database);
    sqlite3_stmt *begin = prepare(database, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(database, "COMMIT");
    sqlite3_stmt *upsert = prepare(
        database, "INSERT INTO kv(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value");
    struct timeval wall;
    gettimeofday(&wall, 0);
    uint64_t counter = (uint64_t)wall.tv_sec * 1000000 + wall.tv_usec;
    uint64_t random = counter * 0x9E3779B97F4A7C15ull + (uint64_t)number * 0xBF58476D1CE4E5B9ull + 1;
    char *value = malloc(options->value_size + 32);
    memset(value, 'x', options->value_size);
    char name[32], digits[32];

    char byte;
    while (read(go, &byte, 1) > 0) {}
    uint64_t written = io_counter("write_bytes"), passed = io_counter("wchar");
    double end = now() + options->seconds;
    while (now() < end) {
        random ^= random >> 12, random ^= random << 25, random ^= random >> 27;
        uint64_t key = ((random * 0x2545F4914F6CDD1Dull) >> 32) * (uint64_t)options->keys >> 32;
        int length = snprintf(name, sizeof name, "key:%012llu", (unsigned long long)key);
        snprintf(digits, sizeof digits, "%012llu%04d", (unsigned long long)(++counter % 1000000000000ull), number);
        memcpy(value, digits, 16);
        sqlite3_bind_text(upsert, 1, name, length, SQLITE_STATIC);
        sqlite3_bind_text(upsert, 2, value, options->value_size, SQLITE_STATIC);
        run(database, begin, "begin");
        run(database, upsert, "upsert");
        run(database, commit, "commit");
        outcome->writes++;
    }
    sqlite3_finalize(begin), sqlite3_finalize(upsert), sqlite3_finalize(commit);
    /* The last to close checkpoints: folding is counted, as it is for a server that drains. */
    check(sqlite3_close(database), database, "close");
    outcome->write_bytes = io_counter("write_bytes") - written;
    outcome->wchar = io_counter("wchar") - passed;
}

static int read_options(int count, char **words, struct options *options) {
    for (int index = 1; index < count; index++) {
        char *word = words[index];
        if (!strcmp(word, "--bytes")) options->bytes = 1;
        else if (word[0] != '-') options->database = word;
        else if (index + 1 == count) return 0;
        else if (!strcmp(word, "--processes")) options->processes = atoi(words[++index]);
        else if (!strcmp(word, "--seconds")) options->seconds = atof(words[++index]);
        else if (!strcmp(word, "--keys")) options->keys = atoi(words[++index]);
        else if (!strcmp(word, "--value-size")) options->value_size = atoi(words[++index]);
        else return 0;
    }
    return options->database && options->processes > 0 && options->keys > 0 && options->value_size >= 16;
}

int main(int count, char **words) {
    struct options options = {.processes = 8, .keys = 100000, .value_size = 100, .seconds = 3};
    if (!read_options(count, words, &options)) {
        fprintf(stderr, "usage: sqlite-direct DATABASE [--processes N] [--seconds S] [--keys N] [--value-size B] [--bytes]\n");
        return 2;
    }
    preload(&options);
    struct outcome *outcomes = mmap(0, sizeof *outcomes * options.processes, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int go[2];
    if (outcomes == MAP_FAILED || pipe(go)) return perror("sqlite-direct"), 1;
    for (int number = 0; number < options.processes; number++) {
        pid_t pid = fork();
        if (pid < 0) return perror("fork"), 1;
        if (pid == 0) {
            close(go[1]);
            work(&options, number, go[0], &outcomes[number]);
            _exit(0);
        }
    }
    /* Time for all to open; then the end of the pipe starts them together. */
    usleep(200000 + 5000 * options.processes);
    close(go[0]);
    close(go[1]);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status != 0;
    if (failed) return 1;

    uint64_t writes = 0, write_bytes = 0, wchar = 0;
    for (int number = 0; number < options.processes; number++) {
        writes += outcomes[number].writes;
        write_bytes += outcomes[number].write_bytes;
        wchar += outcomes[number].wchar;
    }
    printf("{\"processes\":%d,\"seconds\":%.2f,\"writes\":%llu,\"perSecond\":%.0f", options.processes, options.seconds,
           (unsigned long long)writes, (double)writes / options.seconds);
    if (options.bytes)
        printf(",\"writeBytesPerWrite\":%.1f,\"wcharPerWrite\":%.1f", (double)write_bytes / (double)writes,
               (double)wchar / (double)writes);
    printf("}\n");
    return 0;
}
