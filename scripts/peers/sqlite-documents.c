/* sqlite-documents: the same documents in a SQLite file that one process opens itself.
 *
 * usage: sqlite-documents DATABASE load FILE.ndjson [SINGLE]   one transaction each 500 documents; the first SINGLE into
 *                                                              another table, one transaction each
 *        sqlite-documents DATABASE words                      the full text index of name and note (FTS5, without a copy of the text)
 *        sqlite-documents DATABASE find|count|sort|patch|search FILE.tsv SECONDS
 * The body is JSON text; the indexes are on json_extract, WAL, synchronous=FULL, statements prepared once, 64 MiB of cache. Prints one JSON object.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(int code, const char *what) {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "sqlite-documents: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, 0, 0, 0), sql); }

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0), sql);
    return statement;
}

static void run(sqlite3_stmt *statement) {
    check(sqlite3_step(statement), "step");
    sqlite3_reset(statement);
}

/* {"id":"…","value":…}: where the id and the body stand. */
static void put(sqlite3_stmt *insert, char *line, ssize_t length) {
    char *id = line + 7, *end = strchr(id, '"');
    char *body = end + 10;
    sqlite3_bind_text(insert, 1, id, (int)(end - id), SQLITE_STATIC);
    sqlite3_bind_text(insert, 2, body, (int)(line + length - 2 - body), SQLITE_STATIC);
    run(insert);
}

static void load(const char *path, long single) {
    execute("CREATE TABLE cards(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);"
            "CREATE TABLE single(row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);");
    sqlite3_stmt *insert = prepare("INSERT INTO cards(id, body) VALUES(?1, ?2)");
    sqlite3_stmt *one = prepare("INSERT INTO single(id, body) VALUES(?1, ?2)");
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
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
    double indexed = now() - start;
    printf("{\"documents\":%ld,\"batchPerSecond\":%.0f,\"singlePerSecond\":%.0f,\"indexSeconds\":%.2f}\n", count,
           (double)count / loaded, (double)single / alone, indexed);
}

static void words(void) {
    double start = now();
    execute("CREATE VIRTUAL TABLE words USING fts5(name, note, content='', tokenize='unicode61 remove_diacritics 2');"
            "INSERT INTO words(rowid, name, note) SELECT row, json_extract(body, '$.name'), json_extract(body, '$.note') FROM cards;");
    printf("%.2f\n", now() - start);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void ask(const char *question, const char *path, double seconds) {
    const char *sql = 0;
    if (!strcmp(question, "find"))
        sql = "SELECT id, body FROM cards WHERE json_extract(body, '$.country') = ?1 AND json_extract(body, '$.population') >= ?2"
              " ORDER BY json_extract(body, '$.country'), json_extract(body, '$.population') LIMIT 20";
    if (!strcmp(question, "count")) sql = "SELECT count(*) FROM cards WHERE json_extract(body, '$.country') = ?1";
    if (!strcmp(question, "sort"))
        sql = "SELECT id, body FROM cards WHERE json_extract(body, '$.population') <= ?1"
              " ORDER BY json_extract(body, '$.population') DESC, json_extract(body, '$.name') DESC LIMIT 20";
    if (!strcmp(question, "patch"))
        sql = "UPDATE cards SET body = json_set(body, '$.population', ?2, '$.serial', ?3) WHERE id = ?1";
    if (!strcmp(question, "search"))
        sql = "SELECT id, body FROM words JOIN cards ON cards.row = words.rowid WHERE words MATCH ?1 ORDER BY rank LIMIT 20";
    if (!sql) {
        fprintf(stderr, "sqlite-documents: no question `%s`\n", question);
        exit(2);
    }
    sqlite3_stmt *statement = prepare(sql);
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    char *lines[4000] = {0}, *line = 0;
    size_t capacity = 0;
    int count = 0;
    while (count < 4000 && getline(&line, &capacity, file) > 0) lines[count++] = strdup(line);
    size_t room = 1 << 22, done = 0;
    double *times = malloc(room * sizeof *times), start = now(), time = start;
    uint64_t bytes = 0;
    while (time - start < seconds && done < room) {
        char copy[512], *rest = copy, *part;
        strncpy(copy, lines[done % (size_t)count], sizeof copy - 1);
        copy[sizeof copy - 1] = 0;
        copy[strcspn(copy, "\n")] = 0;
        for (int index = 1; (part = strsep(&rest, "\t")); index++) {
            if (part[strspn(part, "0123456789")])
                sqlite3_bind_text(statement, index, part, -1, SQLITE_TRANSIENT);
            else
                sqlite3_bind_int64(statement, index, atoll(part));
        }
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++) bytes += (uint64_t)sqlite3_column_bytes(statement, column);
        check(code, question);
        sqlite3_reset(statement);
        double end = now();
        times[done++] = end - time;
        time = end;
    }
    qsort(times, done, sizeof *times, by_value);
    printf("{\"opsPerSecond\":%.1f,\"p50Us\":%.1f,\"p99Us\":%.1f,\"bytes\":%llu}\n", (double)done / (time - start),
           times[done / 2] * 1e6, times[done * 99 / 100] * 1e6, (unsigned long long)bytes);
}

int main(int argc, char **argv) {
    if (argc < 3 || (argc < 4 && strcmp(argv[2], "words"))) {
        fprintf(stderr, "usage: sqlite-documents DATABASE load FILE [SINGLE] | words | QUESTION FILE SECONDS\n");
        return 2;
    }
    check(sqlite3_open(argv[1], &database), "open");
    execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;");
    if (!strcmp(argv[2], "load"))
        load(argv[3], argc > 4 ? atol(argv[4]) : 0);
    else if (!strcmp(argv[2], "words"))
        words();
    else
        ask(argv[2], argv[3], argc > 4 ? atof(argv[4]) : 3);
    sqlite3_close(database);
    return 0;
}
