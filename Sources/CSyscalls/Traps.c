// Notes in a file what a process ends by, when it ends by a fault of its own.
// Everything in the handler is async-signal-safe (signal-safety(7)): it fills a record on its stack and makes one pwrite(2).
#ifdef __linux__
#define _GNU_SOURCE 1
#include "CSyscalls.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = { SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT };
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction earlier[SIGNALS];
static volatile int note = -1;
// Monotonic nanoseconds; 0 before.
static _Atomic int64_t serving_since;
// Of each thread. The handler runs on the thread that faulted.
static _Thread_local volatile uint32_t work;
static _Thread_local volatile uint64_t work_rev;

void csys_at_work(uint32_t kind, uint64_t rev) {
    work_rev = rev;
    work = kind;
}
uint64_t csys_work_rev(void) { return work_rev; }

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time = { 0, 0 };
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void csys_traps_serving(void) { atomic_store(&serving_since, nanoseconds(CLOCK_MONOTONIC)); }

static void note_trap(int number, siginfo_t *information, void *context) {
    (void)context;
    int saved = errno;
    // Of what others send nothing is noted: that is a kill.
    if (information->si_code > 0 || information->si_pid == getpid()) {
        csys_trap trap;
        memset(&trap, 0, sizeof trap);
        memcpy(trap.magic, CSYS_TRAP_MAGIC, sizeof trap.magic);
        trap.format = 1;
        trap.signal = (uint32_t)number;
        trap.at = nanoseconds(CLOCK_REALTIME) / 1000000;
        int64_t since = atomic_load(&serving_since);
        trap.served = since ? (nanoseconds(CLOCK_MONOTONIC) - since) / 1000000 : -1;
        trap.rev = work_rev;
        trap.work = work;
        prctl(PR_GET_NAME, trap.thread);
        trap.isNew = 1;
        trap.sum = csys_crc32c(0, &trap, offsetof(csys_trap, sum));
        long written = pwrite(note, &trap, sizeof trap, 0);
        (void)written;
    }
    // What was there before has the rest: the process's end, a sanitizer's report, Swift's.
    int index = 0;
    while (index < SIGNALS - 1 && signals[index] != number) index++;
    int isHandled = (earlier[index].sa_flags & SA_SIGINFO) != 0
        || (earlier[index].sa_handler != SIG_DFL && earlier[index].sa_handler != SIG_IGN);
    sigaction(number, &earlier[index], 0);
    // A fault comes again when this returns, with its address for whoever reports it. What was raised does not, nor what is behind a breakpoint.
    int comesAgain = information->si_code > 0 && number != SIGTRAP && number != SIGABRT;
    if (!isHandled || !comesAgain) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    errno = saved;
}

int csys_note_traps(int descriptor) {
    // For stacks that have no room left. Who has one already keeps it.
    static char stack[64 << 10];
    stack_t known;
    if (sigaltstack(0, &known) == 0 && (known.ss_flags & SS_DISABLE)) {
        stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
        if (sigaltstack(&own, 0) != 0) return -1;
    }
    note = descriptor;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note_trap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], &action, &earlier[i]) != 0) return -1;
    }
    return 0;
}

void csys_end_in_trap(void) { __builtin_trap(); }
#endif
