// The controller's turns: orders come from it, reports go to it. Both are lines of bytes over one socket, in lock-step.
#include "kernel.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void baton_start(void);
void baton_news(void);
void clock_start(nanoseconds since_boot, nanoseconds since_1970);

uint64_t seams_left = UINT64_MAX;
nanoseconds pause_time = FOREVER;
uint64_t settings[SETTINGS];
bool is_traced;
static bool is_started, pauses_for_news, is_at_end;
static uint64_t seams_given;

// MARK: The real kernel

long real_call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void really_write(int to, const void *bytes, size_t length) {
    const char *from = bytes;
    while (length > 0) {
        long written = real_call(SYS_write, to, (long)from, (long)length, 0, 0, 0);
        if (written == -EINTR) continue;
        // The controller is gone, and with it the world.
        if (written <= 0) real_call(SYS_exit_group, 98, 0, 0, 0, 0, 0);
        from += written, length -= (size_t)written;
    }
}

static void really_read(void *bytes, size_t length) {
    char *into = bytes;
    while (length > 0) {
        long came = real_call(SYS_read, CONTROL_DESCRIPTOR, (long)into, (long)length, 0, 0, 0);
        if (came == -EINTR) continue;
        if (came <= 0) real_call(SYS_exit_group, 98, 0, 0, 0, 0, 0);
        into += came, length -= (size_t)came;
    }
}

// MARK: Reports

static struct { char *bytes; size_t length, room; } outbox;

static void append(const void *bytes, size_t length) {
    if (outbox.length + length > outbox.room) {
        outbox.room = (outbox.length + length) * 2;
        outbox.bytes = realloc(outbox.bytes, outbox.room);
    }
    memcpy(outbox.bytes + outbox.length, bytes, length);
    outbox.length += length;
}

void report_parts(uint8_t kind, const void *head, size_t head_length, const void *bytes, size_t length) {
    uint32_t size = (uint32_t)(head_length + length);
    append(&size, sizeof size);
    append(&kind, 1);
    append(head, head_length);
    if (length > 0) append(bytes, length);
    // What a client notices.
    if (pauses_for_news && kind >= REPORT_SENT && kind <= REPORT_ACCEPTED) baton_news();
}

void report(uint8_t kind, const void *bytes, size_t length) { report_parts(kind, bytes, length, NULL, 0); }

static void flush(void) {
    really_write(CONTROL_DESCRIPTOR, outbox.bytes, outbox.length);
    outbox.length = 0;
}

void trace(const char *format, ...) {
    if (!is_traced) return;
    char line[512];
    int length = snprintf(line, sizeof line, "%14.6f %2d %-15s ", (double)monotonic_now() / 1e9, thread_number(), thread_name());
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    really_write(TRACE_DESCRIPTOR, line, (size_t)length);
}

// MARK: The end

void process_ends(int code, const char *why) {
    if (!is_at_end) {
        is_at_end = true;
        trace("ends: %d, %s", code, why);
        disk_process_ended();
        int32_t number = code;
        report_parts(REPORT_ENDED, &number, sizeof number, why, strlen(why));
        flush();
    }
    real_call(SYS_exit_group, code < 0 ? 137 : code, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

void not_simulated(const char *call, long detail) {
    char text[256];
    int length = snprintf(text, sizeof text, "%s (%ld)", call, detail);
    report(REPORT_UNKNOWN, text, (size_t)length);
    process_ends(99, text);
}

// Another thread may stand at a seam with a stream locked: whoever waited for that would wait forever, with the baton.
static void flush_output(void) {
    FILE *streams[] = {stdout, stderr};
    for (int i = 0; i < 2; i++) {
        if (ftrylockfile(streams[i]) != 0) continue;
        fflush_unlocked(streams[i]);
        funlockfile(streams[i]);
    }
}

static void at_exit(int code, void *nothing) {
    (void)nothing;
    flush_output();
    process_ends(code, "exit");
}

EXPORT _Noreturn void exit(int code) {
    flush_output();
    process_ends(code, "exit");
}
EXPORT _Noreturn void _exit(int code) { process_ends(code, "exit"); }
EXPORT _Noreturn void _Exit(int code) { process_ends(code, "exit"); }

// MARK: Orders

static void list_file(const char *path, unsigned mode, uint64_t size, void *into) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%o %llu %s\n", mode, (unsigned long long)size, path);
    FILE *text = into;
    fwrite(line, 1, (size_t)length, text);
}

static void list_files(void) {
    char *bytes = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&bytes, &length);
    disk_each(list_file, text);
    fclose(text);
    report(REPORT_LISTING, bytes, length);
    free(bytes);
}

static void tell_found(const char *path, uint64_t offset, void *into) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%llu %s\n", (unsigned long long)offset, path);
    FILE *text = into;
    fwrite(line, 1, (size_t)length, text);
}

static void find_marks(const uint8_t *marks, size_t count) {
    char *bytes = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&bytes, &length);
    disk_find(marks, count, tell_found, text);
    fclose(text);
    report(REPORT_FOUND, bytes, length);
    free(bytes);
}

static void read_file(const char *path) {
    size_t room = 1 << 20, length = 0;
    char *bytes = malloc(room);
    for (;;) {
        ssize_t came = disk_get(path, length, bytes + length, room - length);
        if (came <= 0) break;
        length += (size_t)came;
        if (length == room) bytes = realloc(bytes, room *= 2);
    }
    report(REPORT_FILE, bytes, length);
    free(bytes);
}

static uint32_t word_at(const char *bytes, int index) {
    uint32_t word;
    memcpy(&word, bytes + 4 * index, 4);
    return word;
}

static uint64_t long_at(const char *bytes, int offset) {
    uint64_t word;
    memcpy(&word, bytes + offset, 8);
    return word;
}

// `bytes` end with a zero that is not counted, so that what they end with can be a path.
static void obey(enum Order kind, const char *bytes, size_t length) {
    switch (kind) {
    case ORDER_RUN: {
        pause_time = (nanoseconds)long_at(bytes, 0);
        seams_left = seams_given = long_at(bytes, 8);
        pauses_for_news = bytes[16];
        return;
    }
    case ORDER_CONNECT:
        return connection_open(word_at(bytes, 0), bytes + 20, word_at(bytes, 1), word_at(bytes, 2), word_at(bytes, 3), word_at(bytes, 4));
    case ORDER_BYTES: {
        uint32_t count = word_at(bytes, 1);
        size_t head = 8 + 4 * (size_t)count;
        int kinds[256];
        memcpy(kinds, bytes + 8, 4 * (size_t)count);
        return connection_bytes(word_at(bytes, 0), bytes + head, length - head, kinds, (int)count);
    }
    case ORDER_WINDOW: return connection_window(word_at(bytes, 0), long_at(bytes, 4));
    case ORDER_END: return connection_ends(word_at(bytes, 0), bytes[4]);
    case ORDER_SIGNAL: return signal_arrives((int)word_at(bytes, 0));
    case ORDER_FAULT: {
        struct FaultRule rule;
        memcpy(&rule, bytes, sizeof rule);
        return fault_add(&rule);
    }
    case ORDER_CLEAR: return fault_remove(word_at(bytes, 0));
    case ORDER_ROOM: return disk_room(long_at(bytes, 0));
    case ORDER_SHIFT:
        clock_shift((nanoseconds)long_at(bytes, 0));
        return readiness_changed();
    case ORDER_KILL: process_ends(-9, "kill -9");
    case ORDER_CUT: disk_power_cut(); process_ends(-10, "power cut");
    case ORDER_PUT: {
        uint32_t path_length = word_at(bytes, 1);
        char path[PATH_MAX] = {0};
        memcpy(path, bytes + 8, path_length);
        disk_put(path, bytes + 8 + path_length, length - 8 - path_length, word_at(bytes, 0));
        return;
    }
    case ORDER_FLIP: disk_flip(bytes + 9, long_at(bytes, 0), (uint8_t)bytes[8]); return;
    case ORDER_FILE: return read_file(bytes);
    case ORDER_LIST: return list_files();
    case ORDER_FIND: return find_marks((const uint8_t *)bytes, length);
    case ORDER_DIGEST: {
        uint64_t digest = disk_digest();
        return report(REPORT_DIGEST, &digest, sizeof digest);
    }
    case ORDER_GIVE: return passed_give(bytes, length);
    case ORDER_REMOVE: disk_remove(bytes); return;
    case ORDER_SETTING:
        settings[word_at(bytes, 0) % SETTINGS] = long_at(bytes, 4);
        if (word_at(bytes, 0) == SETTING_DESCRIPTORS) descriptor_limit((int)long_at(bytes, 4));
        return;
    default: not_simulated("an order", kind);
    }
}

void control_pause(enum Pause why) {
    uint64_t counts[4] = {0};
    disk_counts(counts);
    struct __attribute__((packed)) {
        uint8_t why;
        int64_t monotonic, wall;
        uint64_t seams;
        uint32_t threads, descriptors;
        uint64_t written, syncs, held;
    } paused = {why, monotonic_now(), wall_now(), seams_given - seams_left, (uint32_t)threads_alive(), (uint32_t)descriptors_open(),
                counts[0], counts[1], counts[3]};
    report(REPORT_PAUSED, &paused, sizeof paused);
    flush();
    static char *bytes;
    static size_t room;
    struct __attribute__((packed)) { uint32_t length; uint8_t kind; } head;
    do {
        really_read(&head, sizeof head);
        if (head.length + 1 > room) bytes = realloc(bytes, room = head.length + 1);
        really_read(bytes, head.length);
        bytes[head.length] = 0;
        obey(head.kind, bytes, head.length);
    } while (head.kind != ORDER_RUN);
}

// MARK: The beginning

static uint64_t number_of(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

__attribute__((constructor)) void kernel_start(void) {
    if (is_started) return;
    is_started = true;
    is_traced = getenv("KURA_SIM_TRACE") != NULL;
    random_begin(number_of("KURA_SIM_SEED"));
    clock_start((nanoseconds)number_of("KURA_SIM_MONOTONIC"), (nanoseconds)number_of("KURA_SIM_WALL"));
    baton_start();
    on_exit(at_exit, NULL);
    disk_start();
    standard_start();
    environment_start();
    control_pause(PAUSE_IDLE);
}
