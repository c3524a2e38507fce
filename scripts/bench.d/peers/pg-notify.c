/* PostgreSQL's side of scripts/bench changes: writers that upsert a key of its own and NOTIFY, in one transaction, at a
 * fixed rate; listeners on LISTEN. Latencies count from the moment at which a write was due.
 *
 * usage: pg-notify CONNINFO LISTENERS RATE SECONDS
 * Prints one JSON object. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common.h"

enum { WRITERS = 32 };

static const char *conninfo;
static long listeners, rate, total;
static atomic_long next_write, written, delivered;
static atomic_int is_done;
static double start;
/* Microseconds, by write, and in the order of arrival. */
static double *write_latency, *delivery_latency;

/* Seconds, as of `now`. */
static double due(long number) { return start + (double)number / (double)rate; }

static void fail(PGconn *connection, const char *what) {
    fprintf(stderr, "pg-notify: %s: %s", what, connection ? PQerrorMessage(connection) : "\n");
    exit(1);
}

static PGconn *open_connection(void) {
    PGconn *connection = PQconnectdb(conninfo);
    if (PQstatus(connection) != CONNECTION_OK) fail(connection, "connect");
    return connection;
}

static void *write_all(void *argument) {
    PGconn *connection = argument;
    PGresult *result = PQprepare(
        connection, "w",
        "WITH w AS (INSERT INTO kv(key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value "
        "RETURNING key) SELECT pg_notify('bench', key) FROM w",
        2, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(connection, "prepare");
    PQclear(result);
    char key[32], value[101] = {0};
    memset(value, 'x', 100);
    /* What cannot be sent five seconds after its time is given up. */
    for (long number; (number = next_write++) < total && now() <= due(total) + 5; written++) {
        double time = due(number), left = time - now();
        if (left > 0) nanosleep(&(struct timespec){(time_t)left, (long)((left - (double)(time_t)left) * 1e9)}, NULL);
        snprintf(key, sizeof key, "%ld", number);
        const char *values[2] = {key, value};
        result = PQexecPrepared(connection, "w", 2, values, NULL, NULL, 0);
        if (PQresultStatus(result) != PGRES_TUPLES_OK) fail(connection, "write");
        PQclear(result);
        write_latency[number] = (now() - time) * 1e6;
    }
    PQfinish(connection);
    return NULL;
}

static void *listen_all(void *argument) {
    PGconn **connections = argument;
    int epoll = epoll_create1(0);
    for (long index = 0; index < listeners; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
        epoll_ctl(epoll, EPOLL_CTL_ADD, PQsocket(connections[index]), &event);
    }
    while (!is_done) {
        struct epoll_event events[256];
        int count = epoll_wait(epoll, events, 256, 10);
        for (int event = 0; event < count; event++) {
            PGconn *connection = connections[events[event].data.u32];
            if (!PQconsumeInput(connection)) fail(connection, "read");
            double time = now();
            for (PGnotify *notification; (notification = PQnotifies(connection)); PQfreemem(notification)) {
                long position = delivered++;
                if (position < listeners * total) delivery_latency[position] = (time - due(atol(notification->extra))) * 1e6;
            }
        }
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: pg-notify CONNINFO LISTENERS RATE SECONDS\n");
        return 2;
    }
    conninfo = words[1], listeners = atol(words[2]), rate = atol(words[3]), total = rate * atol(words[4]);
    write_latency = calloc((size_t)total, sizeof *write_latency);
    delivery_latency = calloc((size_t)(listeners * total) + 1, sizeof *delivery_latency);
    PGconn **connections = calloc((size_t)listeners + 1, sizeof *connections);
    for (long index = 0; index < listeners; index++) {
        connections[index] = open_connection();
        PQclear(PQexec(connections[index], "LISTEN bench"));
    }
    PGconn *writers[WRITERS];
    for (int index = 0; index < WRITERS; index++) writers[index] = open_connection();
    start = now() + 0.1;
    pthread_t listening, threads[WRITERS];
    pthread_create(&listening, NULL, listen_all, connections);
    for (int index = 0; index < WRITERS; index++) pthread_create(&threads[index], NULL, write_all, writers[index]);
    for (int index = 0; index < WRITERS; index++) pthread_join(threads[index], NULL);
    double elapsed = now() - start;
    long done = written, expected = listeners * done, last = -1;
    for (int quiet = 0; delivered < expected && quiet < 50; quiet++) {
        if (delivered != last) quiet = 0;
        last = delivered;
        usleep(100000);
    }
    is_done = 1;
    pthread_join(listening, NULL);
    long arrived = delivered;
    printf("{\"target\":\"postgres\",\"subscribers\":%ld,\"rate\":%ld,\"writes\":%ld,\"unserved\":%ld,"
           "\"writesPerSecond\":%.0f,\"writeP50Us\":%.0f,\"writeP99Us\":%.0f,\"deliveredShare\":%.4f,"
           "\"deliveryP50Us\":%.0f,\"deliveryP99Us\":%.0f}\n",
           listeners, rate, done, total - done, (double)done / elapsed, quantile(write_latency, done, 0.5),
           quantile(write_latency, done, 0.99), expected ? (double)arrived / (double)expected : 1.0,
           quantile(delivery_latency, arrived, 0.5), quantile(delivery_latency, arrived, 0.99));
    return 0;
}
