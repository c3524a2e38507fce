// What the disk's tests share. One thread; the rest of the kernel is a small stand-in.
#pragma once
#include "../kernel/disk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition, ...) do { \
    if (condition) break; \
    dprintf_real("%s:%d: %s (seed %llu): ", __FILE__, __LINE__, #condition, (unsigned long long)test_seed); \
    dprintf_real(__VA_ARGS__); \
    dprintf_real("\n"); \
    _exit(1); \
} while (0)

extern uint64_t test_seed;
extern int64_t power_left;                 // calls until the power goes; negative: it stays
extern int fault_kind, fault_error;        // the next call of the kind fails so
void dprintf_real(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fresh_disk(uint64_t seed);
void *shared_memory(size_t length);        // that children of fork share
// Runs the body in a process of its own, which the power may end. Returns how it has ended: 0, or `POWER_GONE`.
enum { POWER_GONE = 77 };
int run_child(void (*body)(void));
void close_all(void);
void write_file(const char *path, const void *bytes, size_t length);
void test_linux(unsigned seeds);
void test_bytes(unsigned seeds);
void test_names(unsigned seeds);
void test_sqlite(unsigned seeds);
