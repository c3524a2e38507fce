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

// `room` has a reply, `have` bytes of it so far; `scratch` has base64, or what it stands for.
static char *content, *room, *scratch;
static size_t size, capacity, have;

static void die(const char *what) { perror(what); exit(1); }

static void fill(int file) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(file, content + done, size - done);
        if (n <= 0) die("write");
        done += n;
    }
}
static uint64_t word(const char *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}
static uint64_t checksum(const char *bytes) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    const char *end = bytes + size;
    for (; bytes + 32 <= end; bytes += 32) a += word(bytes), b += word(bytes + 8), c += word(bytes + 16), d += word(bytes + 24);
    while (bytes < end) a += (unsigned char)*bytes++;
    return a + b * 3 + c * 5 + d * 7;
}
// Closes the file.
static uint64_t map_sum(int file) {
    char *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (bytes == MAP_FAILED) die("mmap");
    uint64_t sum = checksum(bytes);
    munmap(bytes, size);
    close(file);
    return sum;
}

// MARK: Sockets

struct side {
    const struct kind *kind;
    const char *place;
    int socket;
    double *writes, *reads;
};
union passed { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; };

static int dial(const char *path) {
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(s, (struct sockaddr *)&address, sizeof address)) die(path);
    return s;
}
// Receives until so many bytes of the reply are there. Returns the descriptor that came with them, else -1.
static int receive(const struct side *me, size_t want) {
    int descriptor = -1;
    while (have < want) {
        union passed passed;
        struct iovec part = {room + have, capacity - have};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
        ssize_t n = recvmsg(me->socket, &message, MSG_CMSG_CLOEXEC);
        if (n <= 0) die("recvmsg");
        if (CMSG_FIRSTHDR(&message)) memcpy(&descriptor, CMSG_DATA(&passed.header), sizeof descriptor);
        have += n;
    }
    return descriptor;
}
// Sends a request of three parts, and a descriptor unless that is -1.
static void ask(const struct side *me, const char *head, const char *body, size_t count, const char *tail, int descriptor) {
    union passed passed = {
        .header = {.cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&passed.header), &descriptor, sizeof descriptor);
    struct iovec parts[3] = {{(char *)head, strlen(head)}, {(char *)body, count}, {(char *)tail, strlen(tail)}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    if (descriptor >= 0) message.msg_control = &passed, message.msg_controllen = sizeof passed;
    have = 0;
    if (sendmsg(me->socket, &message, MSG_NOSIGNAL) != (ssize_t)(parts[0].iov_len + count + parts[2].iov_len)) die("sendmsg");
}
// The length of the reply's first line, its end included.
static size_t line(const struct side *me) {
    char *end;
    for (size_t seen = 0; !(end = memchr(room + seen, '\n', have - seen)); receive(me, have + 1)) seen = have;
    return end + 1 - room;
}
static void refuse(const char *kind) { fprintf(stderr, "%s: %.*s\n", kind, (int)(have < 500 ? have : 500), room); exit(1); }
// Whether the first line of the reply has these words.
static int has(const struct side *me, const char *words) { return memmem(room, line(me), words, strlen(words)) != NULL; }

// MARK: Base64

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static uint16_t pairs[4096];
static uint8_t values[256];
static void prepare(void) {
    for (int i = 0; i < 4096; i++) pairs[i] = alphabet[i >> 6] | alphabet[i & 63] << 8;
    for (int i = 0; i < 64; i++) values[(uint8_t)alphabet[i]] = i;
}
// The content, which has zeros behind it, into scratch; returns the length.
static size_t encode(void) {
    const uint8_t *in = (const uint8_t *)content;
    char *out = scratch;
    size_t i = 0;
    for (; i < size; i += 3, out += 4) {
        uint32_t bits = in[i] << 16 | in[i + 1] << 8 | in[i + 2];
        memcpy(out, &pairs[bits >> 12], 2);
        memcpy(out + 2, &pairs[bits & 4095], 2);
    }
    memset(out - (i - size), '=', i - size);
    return out - scratch;
}
static void decode(const char *in) {
    char *out = scratch;
    for (const uint8_t *four = (const uint8_t *)in; out < scratch + size; four += 4) {
        uint32_t bits = values[four[0]] << 18 | values[four[1]] << 12 | values[four[2]] << 6 | values[four[3]];
        *out++ = bits >> 16, *out++ = bits >> 8, *out++ = bits;
    }
}

// MARK: Kinds

// `arguments` is where the request's differ: {"namespace":"bench",…}.
#define REQUEST(method, arguments) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{\"namespace\":\"bench\"," arguments

static int kura_fd_write(const struct side *me) {
    int file = memfd_create("blob", MFD_CLOEXEC);
    fill(file);
    ask(me, REQUEST("blobs.put", "\"key\":\"fd\",\"fd\":true}}\n"), "", 0, "", file);
    if (!has(me, "\"stored\":true")) refuse("kura-fd");
    close(file);
    return 1;
}
static uint64_t kura_fd_read(const struct side *me) {
    ask(me, REQUEST("blobs.get", "\"key\":\"fd\",\"as\":\"fd\"}}\n"), "", 0, "", -1);
    int descriptor = receive(me, 1);
    line(me);
    if (descriptor < 0) refuse("kura-fd");
    return map_sum(descriptor);
}
static int kura_inline_write(const struct side *me) {
    if (size > 11 << 20) return 0;
    ask(me, REQUEST("blobs.put", "\"key\":\"inline\",\"data\":\""), scratch, encode(), "\"}}\n", -1);
    if (!has(me, "\"stored\":true")) refuse("kura-inline");
    return 1;
}
static uint64_t kura_inline_read(const struct side *me) {
    ask(me, REQUEST("blobs.get", "\"key\":\"inline\"}}\n"), "", 0, "", -1);
    size_t count = line(me);
    char *data = memmem(room, count < 1000 ? count : 1000, "\"data\":\"", 8);
    if (!data) refuse("kura-inline");
    decode(data + 8);
    return checksum(scratch);
}
// A value behind a line, with `rest` bytes behind it.
static uint64_t get_framed(const struct side *me, const char *request, size_t rest) {
    ask(me, request, "", 0, "", -1);
    size_t head = line(me);
    receive(me, head + size + rest);
    return checksum(room + head);
}
static int redis_write(const struct side *me) {
    if (size > 512 << 20) return 0;
    char head[100];
    sprintf(head, "*5\r\n$3\r\nSET\r\n$5\r\nbench\r\n$%zu\r\n", size);
    ask(me, head, content, size, "\r\n$2\r\nEX\r\n$6\r\n604800\r\n", -1);
    if (!has(me, "+OK")) refuse("redis");
    return 1;
}
static uint64_t redis_read(const struct side *me) { return get_framed(me, "*2\r\n$3\r\nGET\r\n$5\r\nbench\r\n", 2); }
static int memcached_write(const struct side *me) {
    char head[100];
    sprintf(head, "set bench 0 604800 %zu\r\n", size);
    ask(me, head, content, size, "\r\n", -1);
    line(me);
    return !strncmp(room, "STORED", 6);
}
static uint64_t memcached_read(const struct side *me) { return get_framed(me, "get bench\r\n", 7); }
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
    return map_sum(file);
}

static const struct kind {
    const char *name;
    int (*write)(const struct side *);
    uint64_t (*read)(const struct side *);
} kinds[] = {
    {"kura-fd", kura_fd_write, kura_fd_read}, {"kura-inline", kura_inline_write, kura_inline_read},
    {"redis", redis_write, redis_read}, {"memcached", memcached_write, memcached_read}, {"files", files_write, files_read}};

int main(int argc, char **argv) {
    if (argc < 4) { fprintf(stderr, "usage: blobs SIZE ROUNDS KIND=PLACE...\n"); return 2; }
    size = strtoull(argv[1], 0, 10);
    int rounds = atoi(argv[2]), count = argc - 3;
    capacity = size / 3 * 4 + (1 << 16);
    content = calloc(1, size + 8), room = malloc(capacity), scratch = malloc(capacity);
    memset(room, 1, capacity);
    prepare();
    uint64_t state = now() * 1e6;
    for (size_t i = 0; i < size; i++) state = state * 6364136223846793005u + 1442695040888963407u, content[i] = state >> 56;
    struct side sides[count];
    for (int i = 0; i < count; i++) {
        char *name = strsep(&argv[i + 3], "="), *place = argv[i + 3];
        sides[i] = (struct side){NULL, place, -1, calloc(rounds, sizeof(double)), calloc(rounds, sizeof(double))};
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(kinds[k].name, name)) sides[i].kind = &kinds[k];
        if (!sides[i].kind || !place) return 2;
        if (sides[i].kind->read != files_read) sides[i].socket = dial(place);
    }
    // The first round is not counted. Reads come thrice as often, their median of the three counts.
    for (int round = -1; round < rounds; round++) {
        memcpy(content, &round, size < sizeof round ? size : sizeof round);
        uint64_t sum = checksum(content);
        for (struct side *side = sides; side < sides + count; side++) {
            double start = now();
            if (!side->kind->write(side)) continue;
            double times[3], written = now() - start;
            for (int n = 0; n < 3; n++) {
                start = now();
                if (side->kind->read(side) != sum) have = sprintf(room, "other bytes"), refuse(side->kind->name);
                times[n] = now() - start;
            }
            if (round >= 0) side->writes[round] = written, side->reads[round] = quantile(times, 3, 0.5);
        }
    }
    for (struct side *side = sides; side < sides + count; side++)
        printf("%s %.1f %.1f\n", side->kind->name, quantile(side->writes, rounds, 0.5) * 1e6,
               quantile(side->reads, rounds, 0.5) * 1e6);
    return 0;
}
