// One client that writes and reads blobs of one size, to Kura (inline, by descriptor), Redis, memcached and plain files, by turns, and prints
// medians. Every read is checksummed whole: the sum of its 64-bit words, which costs less than having the bytes in the cache. Writes
// alter the content, so nothing is saved by its being there already.
//
// usage: blobs SIZE ROUNDS KIND=SOCKET…   where KIND is kura-fd, kura-inline, redis, memcached, files (a directory)
// Prints a line a kind: KIND SIZE WRITE_US READ_US (medians; 0 for what was refused).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char *content, *room;
static size_t size, capacity;

static void die(const char *what) { perror(what); exit(1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec / 1e3; }

static uint64_t checksum(const char *bytes, size_t count) {
    uint64_t a = 0, b = 0, c = 0, d = 0, word;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        memcpy(&word, bytes + i, 8); a += word;
        memcpy(&word, bytes + i + 8, 8); b += word;
        memcpy(&word, bytes + i + 16, 8); c += word;
        memcpy(&word, bytes + i + 24, 8); d += word;
    }
    for (; i < count; i++) a += (unsigned char)bytes[i];
    return a + b * 3 + c * 5 + d * 7;
}

// MARK: Sockets

static int dial(const char *path) {
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(s, (struct sockaddr *)&address, sizeof address)) die(path);
    return s;
}
static void put(int s, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = send(s, bytes, count, MSG_NOSIGNAL);
        if (n < 0) die("send");
        bytes += n;
        count -= n;
    }
}
static size_t get(int s, size_t have, size_t want) {
    while (have < want) {
        ssize_t n = recv(s, room + have, capacity - have, 0);
        if (n <= 0) die("recv");
        have += n;
    }
    return have;
}
// A line into room, its end included; what came behind it stays there. Returns its length; *have counts all.
static size_t line(int s, size_t *have) {
    size_t scanned = 0;
    for (;;) {
        char *end = memchr(room + scanned, '\n', *have - scanned);
        if (end) return end - room + 1;
        scanned = *have;
        *have = get(s, *have, *have + 1);
    }
}
static void put_descriptor(int s, const char *bytes, size_t count, int descriptor) {
    union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = {{0}};
    struct iovec part = {(void *)bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(s, &message, MSG_NOSIGNAL) != (ssize_t)count) die("sendmsg");
}
static int get_descriptor(int s, size_t *have) {
    union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    struct iovec part = {room, capacity};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    ssize_t n = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
    if (n <= 0) die("recvmsg");
    *have = n;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header) { fprintf(stderr, "no descriptor: %.*s\n", (int)n, room); exit(1); }
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}
static uint64_t map_sum(int descriptor) {
    char *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (bytes == MAP_FAILED) die("mmap");
    uint64_t sum = checksum(bytes, size);
    munmap(bytes, size);
    return sum;
}

// MARK: Base64

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static uint16_t pairs[4096];
static uint8_t values[256];
static void prepare(void) {
    for (int i = 0; i < 4096; i++) pairs[i] = alphabet[i >> 6] | alphabet[i & 63] << 8;
    for (int i = 0; i < 64; i++) values[(uint8_t)alphabet[i]] = i;
}
static size_t encode(const unsigned char *in, size_t count, char *out) {
    char *start = out;
    size_t i = 0;
    for (; i + 3 <= count; i += 3, out += 4) {
        uint32_t bits = in[i] << 16 | in[i + 1] << 8 | in[i + 2];
        memcpy(out, &pairs[bits >> 12], 2);
        memcpy(out + 2, &pairs[bits & 4095], 2);
    }
    if (i < count) {
        uint32_t bits = in[i] << 16 | (i + 1 < count ? in[i + 1] << 8 : 0);
        memcpy(out, &pairs[bits >> 12], 2);
        out[2] = i + 1 < count ? alphabet[bits >> 6 & 63] : '=';
        out[3] = '=';
        out += 4;
    }
    return out - start;
}
static void decode(const char *in, size_t count, char *out) {
    for (size_t i = 0; i + 4 <= count; i += 4) {
        uint32_t bits = values[(uint8_t)in[i]] << 18 | values[(uint8_t)in[i + 1]] << 12 | values[(uint8_t)in[i + 2]] << 6 | values[(uint8_t)in[i + 3]];
        *out++ = bits >> 16, *out++ = bits >> 8, *out++ = bits;
    }
}

// MARK: Kinds

struct kind {
    const char *name, *place;
    int (*write)(struct kind *);
    uint64_t (*read)(struct kind *);
    int socket;
    double *writes, *reads;
};

static void expect_stored(int s) {
    size_t have = 0;
    size_t count = line(s, &have);
    if (!memmem(room, count, "\"stored\":true", 13)) { fprintf(stderr, "%.*s", (int)count, room); exit(1); }
}
static int kura_fd_write(struct kind *k) {
    int file = memfd_create("blob", MFD_CLOEXEC);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file, content + done, size - done);
        if (n <= 0) die("write");
        done += n;
    }
    static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blobs.put\",\"params\":{\"namespace\":\"bench\",\"key\":\"fd\",\"fd\":true}}\n";
    put_descriptor(k->socket, request, sizeof request - 1, file);
    expect_stored(k->socket);
    close(file);
    return 1;
}
static uint64_t kura_fd_read(struct kind *k) {
    static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blobs.get\",\"params\":{\"namespace\":\"bench\",\"key\":\"fd\",\"as\":\"fd\"}}\n";
    put(k->socket, request, sizeof request - 1);
    size_t have = 0;
    int descriptor = get_descriptor(k->socket, &have);
    line(k->socket, &have);
    uint64_t sum = map_sum(descriptor);
    close(descriptor);
    return sum;
}
static int kura_inline_write(struct kind *k) {
    if (size > 11 << 20) return 0;
    static char *text;
    if (!text) text = malloc(capacity);
    size_t count = sprintf(text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blobs.put\",\"params\":{\"namespace\":\"bench\",\"key\":\"inline\",\"data\":\"");
    count += encode((unsigned char *)content, size, text + count);
    count += sprintf(text + count, "\"}}\n");
    put(k->socket, text, count);
    expect_stored(k->socket);
    return 1;
}
static uint64_t kura_inline_read(struct kind *k) {
    static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blobs.get\",\"params\":{\"namespace\":\"bench\",\"key\":\"inline\"}}\n";
    static char *plain;
    if (!plain) plain = malloc(size + 8);
    put(k->socket, request, sizeof request - 1);
    size_t have = 0;
    size_t count = line(k->socket, &have);
    char *data = memmem(room, count < 1000 ? count : 1000, "\"data\":\"", 8);
    if (!data) { fprintf(stderr, "%.*s", (int)count, room); exit(1); }
    decode(data + 8, (size + 2) / 3 * 4, plain);
    return checksum(plain, size);
}
static int redis_write(struct kind *k) {
    if (size > 512 << 20) return 0;
    char head[100];
    put(k->socket, head, sprintf(head, "*5\r\n$3\r\nSET\r\n$5\r\nbench\r\n$%zu\r\n", size));
    put(k->socket, content, size);
    put(k->socket, "\r\n$2\r\nEX\r\n$6\r\n604800\r\n", 22);
    size_t have = 0;
    line(k->socket, &have);
    if (room[0] != '+') { fprintf(stderr, "redis: %s\n", room); exit(1); }
    return 1;
}
static uint64_t redis_read(struct kind *k) {
    put(k->socket, "*2\r\n$3\r\nGET\r\n$5\r\nbench\r\n", 24);
    size_t have = 0;
    size_t head = line(k->socket, &have);
    get(k->socket, have, head + size + 2);
    return checksum(room + head, size);
}
static int memcached_write(struct kind *k) {
    char head[100];
    put(k->socket, head, sprintf(head, "set bench 0 604800 %zu\r\n", size));
    put(k->socket, content, size);
    put(k->socket, "\r\n", 2);
    size_t have = 0;
    line(k->socket, &have);
    return room[0] == 'S' && room[1] == 'T';
}
static uint64_t memcached_read(struct kind *k) {
    put(k->socket, "get bench\r\n", 11);
    size_t have = 0;
    size_t head = line(k->socket, &have);
    get(k->socket, have, head + size + 7);
    return checksum(room + head, size);
}
static int files_write(struct kind *k) {
    char temporary[512], path[512];
    snprintf(temporary, sizeof temporary, "%s/blob.tmp", k->place);
    snprintf(path, sizeof path, "%s/blob", k->place);
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) die(temporary);
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file, content + done, size - done);
        if (n <= 0) die("write");
        done += n;
    }
    close(file);
    if (rename(temporary, path)) die("rename");
    return 1;
}
static uint64_t files_read(struct kind *k) {
    char path[512];
    snprintf(path, sizeof path, "%s/blob", k->place);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) die(path);
    uint64_t sum = map_sum(file);
    close(file);
    return sum;
}

static int by_value(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
static double median(double *values, int count) { qsort(values, count, sizeof *values, by_value); return values[count / 2]; }

int main(int argc, char **argv) {
    if (argc < 4) { fprintf(stderr, "usage: blobs SIZE ROUNDS KIND=PLACE...\n"); return 2; }
    size = strtoull(argv[1], 0, 10);
    int rounds = atoi(argv[2]), count = argc - 3;
    capacity = size / 3 * 4 + (1 << 16);
    content = malloc(size + 8), room = malloc(capacity);
    memset(room, 1, capacity);
    prepare();
    uint64_t state = now();
    for (size_t i = 0; i < size; i++) state = state * 6364136223846793005u + 1442695040888963407u, content[i] = state >> 56;
    static const struct { const char *name; int (*write)(struct kind *); uint64_t (*read)(struct kind *); int dials; } known[] = {
        {"kura-fd", kura_fd_write, kura_fd_read, 1}, {"kura-inline", kura_inline_write, kura_inline_read, 1},
        {"redis", redis_write, redis_read, 1}, {"memcached", memcached_write, memcached_read, 1}, {"files", files_write, files_read, 0}};
    struct kind kinds[16] = {0};
    for (int i = 0; i < count; i++) {
        char *equals = strchr(argv[i + 3], '=');
        if (!equals) return 2;
        *equals = 0;
        kinds[i].name = argv[i + 3], kinds[i].place = equals + 1;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (!strcmp(known[k].name, kinds[i].name)) {
                kinds[i].write = known[k].write, kinds[i].read = known[k].read;
                if (known[k].dials) kinds[i].socket = dial(kinds[i].place);
            }
        if (!kinds[i].write) return 2;
        kinds[i].writes = calloc(rounds, sizeof(double)), kinds[i].reads = calloc(rounds, sizeof(double));
    }
    // The first round is not counted. Reads come thrice as often, their median of the three counts.
    for (int round = -1; round < rounds; round++) {
        memcpy(content, &round, sizeof round);
        uint64_t sum = checksum(content, size);
        for (int i = 0; i < count; i++) {
            double start = now();
            if (!kinds[i].write(&kinds[i])) continue;
            double times[3], written = now() - start;
            for (int n = 0; n < 3; n++) {
                start = now();
                if (kinds[i].read(&kinds[i]) != sum) { fprintf(stderr, "%s: other bytes\n", kinds[i].name); return 1; }
                times[n] = now() - start;
            }
            if (round >= 0) kinds[i].writes[round] = written, kinds[i].reads[round] = median(times, 3);
        }
    }
    for (int i = 0; i < count; i++)
        printf("%s %zu %.1f %.1f\n", kinds[i].name, size, median(kinds[i].writes, rounds), median(kinds[i].reads, rounds));
    return 0;
}
