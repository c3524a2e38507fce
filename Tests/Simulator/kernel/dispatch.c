// syscall(2): calls that go past the C library's names come to those who answer the names.
#include "kernel.h"
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t getrandom(void *, size_t, unsigned);
int memfd_create(const char *, unsigned);
int tgkill(pid_t, pid_t, int);
int sched_yield(void);

// Answers as syscall() does: -1 with errno.
static long dispatch(long number, const long *given) {
    switch (number) {
    case SYS_futex:
        return answer(futex_call(
            (uint32_t *)given[0], (int)given[1], (uint32_t)given[2], (void *)given[3], (uint32_t *)given[4], (uint32_t)given[5]));
    case SYS_gettid: return thread_identity();
    case SYS_getpid: return process_number();
    case SYS_tgkill: return tgkill((pid_t)given[0], (pid_t)given[1], (int)given[2]);
    case SYS_openat2: return answer(file_openat2((int)given[0], (const char *)given[1], (const void *)given[2], (size_t)given[3]));
    case SYS_renameat2:
        return answer(file_renameat2((int)given[0], (const char *)given[1], (int)given[2], (const char *)given[3], (unsigned)given[4]));
    case SYS_statx: return answer(file_statx((int)given[0], (const char *)given[1], (int)given[2], (unsigned)given[3], (void *)given[4]));
    case SYS_getrandom: return getrandom((void *)given[0], (size_t)given[1], (unsigned)given[2]);
    case SYS_memfd_create: return memfd_create((const char *)given[0], (unsigned)given[1]);
    case SYS_sched_yield: return sched_yield();
    case SYS_close_range: {
        if ((unsigned)given[0] > (unsigned)given[1]) return answer(-EINVAL);
        if (given[2]) not_simulated("close_range", given[2]);
        seam();
        for (unsigned i = (unsigned)given[0]; i <= (unsigned)given[1] && i < REAL_DESCRIPTORS; i++) descriptor_remove((int)i);
        return 0;
    }
    // As kernels without it.
    case SYS_pidfd_open: case SYS_io_uring_setup: case SYS_membarrier: return answer(-ENOSYS);
    default: not_simulated("syscall", number);
    }
}

EXPORT long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long given[6];
    for (int i = 0; i < 6; i++) given[i] = va_arg(list, long);
    va_end(list);
    return dispatch(number, given);
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    return (int)dispatch(SYS_close_range, (long[6]){first, last, flags});
}
