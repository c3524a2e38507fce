// One client that writes and reads blobs of one size, to Kura (inline, by descriptor), Redis, memcached and plain files, by
// turns, and prints medians. Every read is checksummed whole: the sum of its 64-bit words, which costs less than having the
// bytes in the cache. Writes alter the content, so nothing is saved by its being there already.
//
// usage: blobs SIZE ROUNDS KIND=SOCKET…   where KIND is kura-fd, kura-inline, redis, memcached, files (a directory)
// Prints a line a kind: KIND WRITE_US READ_US (medians; 0 for what was refused).
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common.h"

static char *content, *room, *scratch;
static size_t size, capacity;

static void die(const char *what) { perror(what); exit(1); }

static void fill(int file) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file, content + done, size - done);
        if (n <= 0) die("write");
        done += n;
    }
}

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
// A message of bytes with room for one descriptor beside them.
struct passing {
    union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    struct iovec part;
    struct msghdr message;
};
static struct msghdr *passing(struct passing *p, const char *bytes, size_t count) {
    *p = (struct passing){.part = {(void *)bytes, count}};
    p->message = (struct msghdr){
        .msg_iov = &p->part, .msg_iovlen = 1, .msg_control = p->control.space, .msg_controllen = sizeof p->control};
    return &p->message;
}
static void put_descriptor(int s, const char *bytes, size_t count, int descriptor) {
    struct passing p;
    struct cmsghdr *header = CMSG_FIRSTHDR(passing(&p, bytes, count));
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    if (sendmsg(s, &p.message, MSG_NOSIGNAL) != (ssize_t)count) die("sendmsg");
}
static int get_descriptor(int s, size_t *have) {
    struct passing p;
    ssize_t n = recvmsg(s, passing(&p, room, capacity), MSG_CMSG_CLOEXEC);
    if (n <= 0) die("recvmsg");
    *have = n;
    struct cmsghdr *header = CMSG_FIRSTHDR(&p.message);
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
        const uint8_t *four = (const uint8_t *)in + i;
        uint32_t bits = values[four[0]] << 18 | values[four[1]] << 12 | values[four[2]] << 6 | values[four[3]];
        *out++ = bits >> 16, *out++ = bits >> 8, *out++ = bits;
    }
}

// MARK: Kinds

// `arguments` is where the request's differ: {"namespace":"bench",…}.
#define REQUEST(method, arguments) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{\"namespace\":\"bench\"," arguments

struct side {
    const struct kind *kind;
    const char *place;
    int socket;
    double *writes, *reads;
};

static void refuse(const char *kind, size_t count) { fprintf(stderr, "%s: %.*s\n", kind, (int)count, room); exit(1); }
static void expect_stored(int s) {
    size_t have = 0;
    size_t count = line(s, &have);
    if (!memmem(room, count, "\"stored\":true", 13)) refuse("kura", count);
}
static int kura_fd_write(const struct side *me) {
    int file = memfd_create("blob", MFD_CLOEXEC);
    fill(file);
    static const char request[] = REQUEST("blobs.put", "\"key\":\"fd\",\"fd\":true}}\n");
    put_descriptor(me->socket, request, sizeof request - 1, file);
    expect_stored(me->socket);
    close(file);
    return 1;
}
static uint64_t kura_fd_read(const struct side *me) {
    static const char request[] = REQUEST("blobs.get", "\"key\":\"fd\",\"as\":\"fd\"}}\n");
    put(me->socket, request, sizeof request - 1);
    size_t have = 0;
    int descriptor = get_descriptor(me->socket, &have);
    line(me->socket, &have);
    uint64_t sum = map_sum(descriptor);
    close(descriptor);
    return sum;
}
static int kura_inline_write(const struct side *me) {
    if (size > 11 << 20) return 0;
    size_t count = sprintf(scratch, "%s", REQUEST("blobs.put", "\"key\":\"inline\",\"data\":\""));
    count += encode((unsigned char *)content, size, scratch + count);
    count += sprintf(scratch + count, "\"}}\n");
    put(me->socket, scratch, count);
    expect_stored(me->socket);
    return 1;
}
static uint64_t kura_inline_read(const struct side *me) {
    static const char request[] = REQUEST("blobs.get", "\"key\":\"inline\"}}\n");
    put(me->socket, request, sizeof request - 1);
    size_t have = 0;
    size_t count = line(me->socket, &have);
    char *data = memmem(room, count < 1000 ? count : 1000, "\"data\":\"", 8);
    if (!data) refuse("kura", count);
    decode(data + 8, (size + 2) / 3 * 4, scratch);
    return checksum(scratch, size);
}
// The content between two lines of a cache's protocol; returns the reply's first letter.
static char put_framed(int s, const char *head, const char *end) {
    put(s, head, strlen(head));
    put(s, content, size);
    put(s, end, strlen(end));
    size_t have = 0;
    line(s, &have);
    return room[0];
}
// A value behind a line, with `rest` bytes behind it.
static uint64_t get_framed(int s, const char *request, size_t rest) {
    put(s, request, strlen(request));
    size_t have = 0;
    size_t head = line(s, &have);
    get(s, have, head + size + rest);
    return checksum(room + head, size);
}
static int redis_write(const struct side *me) {
    if (size > 512 << 20) return 0;
    char head[100];
    sprintf(head, "*5\r\n$3\r\nSET\r\n$5\r\nbench\r\n$%zu\r\n", size);
    if (put_framed(me->socket, head, "\r\n$2\r\nEX\r\n$6\r\n604800\r\n") != '+') refuse("redis", 80);
    return 1;
}
static uint64_t redis_read(const struct side *me) {
    return get_framed(me->socket, "*2\r\n$3\r\nGET\r\n$5\r\nbench\r\n", 2);
}
static int memcached_write(const struct side *me) {
    char head[100];
    sprintf(head, "set bench 0 604800 %zu\r\n", size);
    return put_framed(me->socket, head, "\r\n") == 'S' && room[1] == 'T';
}
static uint64_t memcached_read(const struct side *me) {
    return get_framed(me->socket, "get bench\r\n", 7);
}
static int files_write(const struct side *me) {
    char temporary[512], path[512];
    snprintf(temporary, sizeof temporary, "%s/blob.tmp", me->place);
    snprintf(path, sizeof path, "%s/blob", me->place);
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) die(temporary);
    fill(file);
    close(file);
    if (rename(temporary, path)) die("rename");
    return 1;
}
static uint64_t files_read(const struct side *me) {
    char path[512];
    snprintf(path, sizeof path, "%s/blob", me->place);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) die(path);
    uint64_t sum = map_sum(file);
    close(file);
    return sum;
}

static const struct kind {
    const char *name;
    int (*write)(const struct side *);
    uint64_t (*read)(const struct side *);
    int dials;
} kinds[] = {
    {"kura-fd", kura_fd_write, kura_fd_read, 1}, {"kura-inline", kura_inline_write, kura_inline_read, 1},
    {"redis", redis_write, redis_read, 1}, {"memcached", memcached_write, memcached_read, 1},
    {"files", files_write, files_read, 0}};

int main(int argc, char **argv) {
    if (argc < 4) { fprintf(stderr, "usage: blobs SIZE ROUNDS KIND=PLACE...\n"); return 2; }
    size = strtoull(argv[1], 0, 10);
    int rounds = atoi(argv[2]), count = argc - 3;
    capacity = size / 3 * 4 + (1 << 16);
    content = malloc(size + 8), room = malloc(capacity), scratch = malloc(capacity);
    memset(room, 1, capacity);
    prepare();
    uint64_t state = now() * 1e6;
    for (size_t i = 0; i < size; i++) state = state * 6364136223846793005u + 1442695040888963407u, content[i] = state >> 56;
    struct side sides[16] = {0};
    for (int i = 0; i < count && i < 16; i++) {
        char *equals = strchr(argv[i + 3], '=');
        if (!equals) return 2;
        *equals = 0;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(kinds[k].name, argv[i + 3])) sides[i].kind = &kinds[k];
        if (!sides[i].kind) return 2;
        sides[i].place = equals + 1;
        if (sides[i].kind->dials) sides[i].socket = dial(sides[i].place);
        sides[i].writes = calloc(rounds, sizeof(double)), sides[i].reads = calloc(rounds, sizeof(double));
    }
    // The first round is not counted. Reads come thrice as often, their median of the three counts.
    for (int round = -1; round < rounds; round++) {
        memcpy(content, &round, sizeof round);
        uint64_t sum = checksum(content, size);
        for (int i = 0; i < count; i++) {
            double start = now();
            if (!sides[i].kind->write(&sides[i])) continue;
            double times[3], written = now() - start;
            for (int n = 0; n < 3; n++) {
                start = now();
                if (sides[i].kind->read(&sides[i]) != sum) refuse(sides[i].kind->name, sprintf(room, "other bytes"));
                times[n] = now() - start;
            }
            if (round >= 0) sides[i].writes[round] = written, sides[i].reads[round] = quantile(times, 3, 0.5);
        }
    }
    for (int i = 0; i < count; i++)
        printf("%s %.1f %.1f\n", sides[i].kind->name, quantile(sides[i].writes, rounds, 0.5) * 1e6,
               quantile(sides[i].reads, rounds, 0.5) * 1e6);
    return 0;
}
