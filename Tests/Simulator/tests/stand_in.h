// One thread, a clock that only waits move, files that are byte arrays: what the kernel's parts need to be tried alone.
#pragma once
#include "../kernel/kernel.h"
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>

struct Told { uint8_t kind; size_t length; unsigned char *bytes; };
extern struct Told told[];                 // the reports, oldest first
extern int told_count;
struct Told *last_told(uint8_t kind);      // NULL: none since `forget_told`
uint32_t told_word(const struct Told *, int position);
void forget_told(void);

extern nanoseconds now, shift;             // wall less monotonic
extern void (*meanwhile)(void);            // what happens while the only thread waits for ever
extern int files_open;
extern jmp_buf over;                       // where process_ends and not_simulated lead, once `is_over_expected`
extern bool is_over_expected;
extern int ended;                          // the code; 1000: not_simulated
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int failures;
#define CHECK(condition) do { if (!(condition)) { failures++; say("%s:%d: %s\n", __FILE__, __LINE__, #condition); } } while (0)
