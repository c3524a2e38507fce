/* sqlite: a SQLite file that processes open themselves (WAL, synchronous=FULL, statements prepared once).
 *
 * usage: sqlite DATABASE processes N SECONDS
 *            N processes upsert random keys of 100,000, one BEGIN IMMEDIATE transaction each, values of 100 bytes. Every
 *            write alters the value: its first twelve digits count on from the wall clock's microseconds, four more are the
 *            process's number. Prints perSecond, and what all processes wrote: writeBytesPerWrite (write_bytes of
 *            /proc/self/io: pages dirtied on their way to the disk) and wcharPerWrite (bytes handed to write calls).
 *        sqlite DATABASE load FILE.ndjson SINGLE
 *            documents, one transaction each 500; the first SINGLE into another table, one transaction each. The body is JSON
 *            text, the indexes are on json_extract.
 *        sqlite DATABASE words
 *            the full text index of name and note (FTS5, without a copy of the text)
 *        sqlite DATABASE find|count|sort|patch|search FILE.tsv SECONDS
 * Prints one JSON object. Exits 1 when any call fails; SQLITE_BUSY after 10 s is a failure.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
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

static void open_database(const char *path, const char *pragmas) {
    check(sqlite3_open(path, &database), "open");
    sqlite3_busy_timeout(database, 10000);
    execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
    execute(pragmas);
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

/* One a process, in memory shared with the parent. */
struct outcome {
    uint64_t writes, write_bytes, wchar;
};

/* Creates the table and every key, as the other servers are preloaded. */
static void preload(const char *path) {
    open_database(path, "");
    execute("CREATE TABLE IF NOT EXISTS kv(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID; BEGIN;");
    sqlite3_stmt *insert = prepare("INSERT OR IGNORE INTO kv(key, value) VALUES(?1, ?2)");
    char name[32], value[VALUE_SIZE];
    memset(value, 'x', sizeof value);
    for (int key = 0; key < KEYS; key++) {
        bind(insert, 1, name, snprintf(name, sizeof name, "key:%012d", key));
        bind(insert, 2, value, sizeof value);
        run(insert);
    }
    sqlite3_finalize(insert);
    execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);");
    sqlite3_close(database);
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

static void work(const char *path, int number, double seconds, int go, struct outcome *outcome) {
    open_database(path, "");
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare("COMMIT");
    sqlite3_stmt *upsert =
        prepare("INSERT INTO kv(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value");
    struct timeval wall;
    gettimeofday(&wall, 0);
    uint64_t counter = (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_usec;
    uint64_t random = counter * 0x9E3779B97F4A7C15ull + (uint64_t)number * 0xBF58476D1CE4E5B9ull + 1;
    char name[32], digits[32], value[VALUE_SIZE], byte;
    memset(value, 'x', sizeof value);

    while (read(go, &byte, 1) > 0) {}
    uint64_t written = io_counter("write_bytes"), passed = io_counter("wchar");
    double end = now() + seconds;
    while (now() < end) {
        random ^= random >> 12, random ^= random << 25, random ^= random >> 27;
        uint64_t key = ((random * 0x2545F4914F6CDD1Dull) >> 32) * (uint64_t)KEYS >> 32;
        snprintf(digits, sizeof digits, "%012llu%04d", (unsigned long long)(++counter % 1000000000000ull), number);
        memcpy(value, digits, 16);
        bind(upsert, 1, name, snprintf(name, sizeof name, "key:%012llu", (unsigned long long)key));
        bind(upsert, 2, value, sizeof value);
        run(begin);
        run(upsert);
        run(commit);
        outcome->writes++;
    }
    sqlite3_finalize(begin), sqlite3_finalize(upsert), sqlite3_finalize(commit);
    /* The last to close checkpoints: folding is counted, as it is for a server that drains. */
    check(sqlite3_close(database), "close");
    outcome->write_bytes = io_counter("write_bytes") - written;
    outcome->wchar = io_counter("wchar") - passed;
}

static void processes(const char *path, int count, double seconds) {
    preload(path);
    struct outcome *outcomes =
        mmap(0, sizeof *outcomes * (size_t)count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int go[2];
    if (outcomes == MAP_FAILED || pipe(go)) perror("sqlite"), exit(1);
    for (int number = 0; number < count; number++) {
        pid_t pid = fork();
        if (pid < 0) perror("fork"), exit(1);
        if (pid == 0) {
            close(go[1]);
            work(path, number, seconds, go[0], &outcomes[number]);
            _exit(0);
        }
    }
    /* Time for all to open; then the end of the pipe starts them together. */
    usleep((useconds_t)(200000 + 5000 * count));
    close(go[0]), close(go[1]);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status != 0;
    if (failed) exit(1);

    struct outcome sum = {0};
    for (int number = 0; number < count; number++) {
        sum.writes += outcomes[number].writes;
        sum.write_bytes += outcomes[number].write_bytes;
        sum.wchar += outcomes[number].wchar;
    }
    printf("{\"perSecond\":%.0f,\"writeBytesPerWrite\":%.1f,\"wcharPerWrite\":%.1f}\n", (double)sum.writes / seconds,
           (double)sum.write_bytes / (double)sum.writes, (double)sum.wchar / (double)sum.writes);
}

/* MARK: Documents */

/* {"id":"…","value":…}: where the id and the body stand. */
static void put(sqlite3_stmt *insert, char *line, ssize_t length) {
    char *id = line + 7, *end = strchr(id, '"');
    char *body = end + 10;
    bind(insert, 1, id, end - id);
    bind(insert, 2, body, line + length - 2 - body);
    run(insert);
}

static void load(const char *path, long single) {
    execute("CREATE TABLE cards(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);"
            "CREATE TABLE single(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);");
    sqlite3_stmt *insert = prepare("INSERT INTO cards(id, body) VALUES(?1, ?2)");
    sqlite3_stmt *one = prepare("INSERT INTO single(id, body) VALUES(?1, ?2)");
    FILE *file = open_file(path);
    char *line = 0;
    size_t capacity = 0;
    ssize_t length;
    long count = 0;
    double start = now();
    while ((length = getline(&line, &capacity, file)) > 0) {
        if (count % 500 == 0) execute("BEGIN");
        put(insert, line, length);
        if (++count % 500 == 0) execute("COMMIT");
    }
    if (count % 500) execute("COMMIT");
    double loaded = now() - start;
    rewind(file);
    start = now();
    for (long number = 0; number < single && (length = getline(&line, &capacity, file)) > 0; number++) put(one, line, length);
    double alone = now() - start;
    execute("DROP TABLE single");
    start = now();
    execute("CREATE INDEX by_country ON cards(json_extract(body, '$.country'), json_extract(body, '$.population'));"
            "CREATE INDEX by_population ON cards(json_extract(body, '$.population'), json_extract(body, '$.name'));");
    printf("{\"batchPerSecond\":%.0f,\"singlePerSecond\":%.0f,\"indexSeconds\":%.2f}\n", (double)count / loaded,
           (double)single / alone, now() - start);
}

static void words(void) {
    double start = now();
    execute("CREATE VIRTUAL TABLE words USING fts5(name, note, content='', tokenize='unicode61 remove_diacritics 2');"
            "INSERT INTO words(rowid, name, note)"
            " SELECT row, json_extract(body, '$.name'), json_extract(body, '$.note') FROM cards;");
    printf("{\"seconds\":%.2f}\n", now() - start);
}

static const struct {
    const char *name, *sql;
} questions[] = {
    {"find", "SELECT id, body FROM cards WHERE json_extract(body, '$.country') = ?1 AND json_extract(body, '$.population') >= ?2"
             " ORDER BY json_extract(body, '$.country'), json_extract(body, '$.population') LIMIT 20"},
    {"count", "SELECT count(*) FROM cards WHERE json_extract(body, '$.country') = ?1"},
    {"sort", "SELECT id, body FROM cards WHERE json_extract(body, '$.population') <= ?1"
             " ORDER BY json_extract(body, '$.population') DESC, json_extract(body, '$.name') DESC LIMIT 20"},
    {"patch", "UPDATE cards SET body = json_set(body, '$.population', ?2, '$.serial', ?3) WHERE id = ?1"},
    {"search", "SELECT id, body FROM words JOIN cards ON cards.row = words.rowid WHERE words MATCH ?1 ORDER BY rank LIMIT 20"},
};

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

static int ask(const char *question, const char *path, double seconds) {
    const char *sql = 0;
    for (size_t index = 0; index < sizeof questions / sizeof *questions; index++)
        if (!strcmp(question, questions[index].name)) sql = questions[index].sql;
    if (!sql) return fprintf(stderr, "sqlite: no question `%s`\n", question), 2;
    sqlite3_stmt *statement = prepare(sql);
    FILE *file = open_file(path);
    char *lines[4000] = {0}, *line = 0;
    size_t capacity = 0, count = 0, room = 1 << 22, done = 0;
    while (count < 4000 && getline(&line, &capacity, file) > 0) lines[count++] = strdup(line);
    double *times = malloc(room * sizeof *times), start = now(), time = start;
    while (time - start < seconds && done < room) {
        bind_line(statement, lines[done % count]);
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++) sqlite3_column_bytes(statement, column);
        check(code, question);
        sqlite3_reset(statement);
        double end = now();
        times[done++] = (end - time) * 1e6;
        time = end;
    }
    printf("{\"opsPerSecond\":%.1f,\"p50Us\":%.1f,\"p99Us\":%.1f}\n", (double)done / (time - start),
           quantile(times, (long)done, 0.5), quantile(times, (long)done, 0.99));
    return 0;
}

int main(int count, char **words_given) {
    const char *path = words_given[1], *what = count > 2 ? words_given[2] : "";
    if (!(count == 5 || (count == 3 && !strcmp(what, "words")))) {
        fprintf(stderr, "usage: sqlite DATABASE processes N SECONDS | load FILE SINGLE | words | QUESTION FILE SECONDS\n");
        return 2;
    }
    if (!strcmp(what, "processes")) return processes(path, atoi(words_given[3]), atof(words_given[4])), 0;
    open_database(path, "PRAGMA cache_size=-65536;");
    int status = 0;
    if (!strcmp(what, "load"))
        load(words_given[3], atol(words_given[4]));
    else if (!strcmp(what, "words"))
        words();
    else
        status = ask(what, words_given[3], atof(words_given[4]));
    sqlite3_close(database);
    return status;
}
