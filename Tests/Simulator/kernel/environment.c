// Who the process is, on which machine, and within which limits.
#include "kernel.h"
#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USER = 1000, PROCESSORS = 2, PAGE = 4096, PARENT = 1 };
#define MEMORY_BYTES (8ll << 30)

// MARK: Numbers

int process_number(void) {
    static int number;
    const char *text = number ? NULL : getenv("KURA_SIM_PID");
    if (!number) number = text ? atoi(text) : 4242;
    return number;
}

int thread_identity(void) {
    int number = thread_number();
    return process_number() + (number > 0 ? number - 1 : 0);
}

// Swift finds the command's words on the stack, and the stack in /proc/self/maps. The real line is as fixed as the addresses are
// (`setarch -R`, and the same words and environment).
void environment_start(void) {
    static char text[256 << 10];
    size_t length = 0;
    long file = real_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY, 0, 0, 0), got;
    while (file >= 0 && (got = real_call(SYS_read, file, (long)(text + length), (long)(sizeof text - 1 - length), 0, 0, 0)) > 0)
        length += (size_t)got;
    if (file >= 0) real_call(SYS_close, file, 0, 0, 0, 0, 0);
    char *end = strstr(text, "[stack]\n"), *line = end;
    while (line && line > text && line[-1] != '\n') line--;
    if (!end || disk_put("/proc/self/maps", line, (size_t)(end + 8 - line), S_IFREG | 0444) < 0) not_simulated("/proc/self/maps", file);
}

EXPORT pid_t getpid(void) { return process_number(); }
EXPORT pid_t getppid(void) { return PARENT; }
EXPORT pid_t gettid(void) { return thread_identity(); }
EXPORT pid_t getpgrp(void) { return process_number(); }
EXPORT pid_t getpgid(pid_t process) { return (pid_t)answer(!process || process == process_number() ? process_number() : -ESRCH); }
EXPORT pid_t getsid(pid_t process) { return getpgid(process); }
EXPORT uid_t getuid(void) { return USER; }
EXPORT uid_t geteuid(void) { return USER; }
EXPORT gid_t getgid(void) { return USER; }
EXPORT gid_t getegid(void) { return USER; }

EXPORT int getgroups(int room, gid_t *groups) {
    if (room < 0) return (int)answer(-EINVAL);
    if (room > 0) groups[0] = USER;
    return 1;
}

EXPORT int initgroups(const char *name, gid_t group) {
    (void)name, (void)group;
    return (int)answer(-EPERM);
}

EXPORT int uname(struct utsname *name) {
    memset(name, 0, sizeof *name);
    strcpy(name->sysname, "Linux");
    strcpy(name->nodename, "simulation");
    strcpy(name->release, "6.8.0");
    strcpy(name->version, "#1 SMP");
    strcpy(name->machine, "x86_64");
    return 0;
}

EXPORT int gethostname(char *name, size_t room) {
    static const char own[] = "simulation";
    memcpy(name, own, room < sizeof own ? room : sizeof own);
    return (int)answer(room < sizeof own ? -ENAMETOOLONG : 0);
}

// MARK: Limits

static struct rlimit limits[RLIM_NLIMITS];

static struct rlimit *limit_of(int resource) {
    static bool is_begun;
    // The run's limit of descriptors comes with the settings.
    kernel_start();
    if (!is_begun) {
        for (int i = 0; i < (int)RLIM_NLIMITS; i++) limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        limits[RLIMIT_STACK].rlim_cur = 8 << 20;
        limits[RLIMIT_MEMLOCK] = (struct rlimit){8 << 20, 8 << 20};
        limits[RLIMIT_NPROC] = (struct rlimit){30000, 30000};
        limits[RLIMIT_SIGPENDING] = (struct rlimit){30000, 30000};
        limits[RLIMIT_MSGQUEUE] = (struct rlimit){819200, 819200};
        limits[RLIMIT_NICE] = limits[RLIMIT_RTPRIO] = (struct rlimit){0, 0};
        // The hard one is what the run gives.
        limits[RLIMIT_NOFILE].rlim_max = (rlim_t)descriptor_limit(0);
        is_begun = true;
    }
    limits[RLIMIT_NOFILE].rlim_cur = (rlim_t)descriptor_limit(0);
    return &limits[resource];
}

static long change_limit(pid_t process, int resource, const struct rlimit *wanted, struct rlimit *earlier) {
    if (process && process != process_number()) return -ESRCH;
    if (resource < 0 || resource >= (int)RLIM_NLIMITS) return -EINVAL;
    struct rlimit *own = limit_of(resource), was = *own;
    if (wanted) {
        if (wanted->rlim_cur > wanted->rlim_max) return -EINVAL;
        if (wanted->rlim_max > own->rlim_max) return -EPERM;
        if (resource == RLIMIT_NOFILE && !wanted->rlim_cur) not_simulated("setrlimit", resource);
        *own = *wanted;
        if (resource == RLIMIT_NOFILE) descriptor_limit((int)wanted->rlim_cur);
    }
    if (earlier) *earlier = was;
    return 0;
}

EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
    return (int)answer(change_limit(0, (int)resource, NULL, limit));
}
EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    return (int)answer(change_limit(0, (int)resource, limit, NULL));
}
EXPORT int prlimit(pid_t process, __rlimit_resource_t resource, const struct rlimit *wanted, struct rlimit *earlier) {
    return (int)answer(change_limit(process, (int)resource, wanted, earlier));
}
// On this processor both are the same structure.
EXPORT int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit) { return getrlimit(resource, (struct rlimit *)limit); }
EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    return setrlimit(resource, (const struct rlimit *)limit);
}
EXPORT int prlimit64(pid_t process, __rlimit_resource_t resource, const struct rlimit64 *wanted, struct rlimit64 *earlier) {
    return prlimit(process, resource, (const struct rlimit *)wanted, (struct rlimit *)earlier);
}

// Pages that are locked. A page that is locked twice is locked once.
static struct Lock { uintptr_t first, last; struct Lock *next; } *locks;

static long pages_locked(void) {
    long pages = 0;
    for (struct Lock *each = locks; each; each = each->next) pages += (long)(each->last - each->first);
    return pages;
}

static void unlock_pages(uintptr_t first, uintptr_t last) {
    for (struct Lock **at = &locks, *each; (each = *at);) {
        uintptr_t end = each->last;
        if (end <= first || each->first >= last) { at = &each->next; continue; }
        if (each->first < first && end > last) {
            struct Lock *rest = malloc(sizeof *rest);
            *rest = (struct Lock){last, end, each->next};
            each->next = rest;
        }
        if (each->first < first) { each->last = first, at = &each->next; continue; }
        if (end > last) { each->first = last, at = &each->next; continue; }
        *at = each->next;
        free(each);
    }
}

EXPORT int mlock(const void *address, size_t length) {
    seam();
    int error = fault_for(CALL_MEMORY, "mlock", NULL);
    if (error) return (int)answer(error);
    uintptr_t first = (uintptr_t)address / PAGE, last = ((uintptr_t)address + length + PAGE - 1) / PAGE;
    if (first == last) return 0;
    // Counted as if none was locked yet, as Linux does at first too.
    if ((rlim_t)(pages_locked() + (long)(last - first)) * PAGE > limit_of(RLIMIT_MEMLOCK)->rlim_cur) return (int)answer(-ENOMEM);
    unlock_pages(first, last);
    struct Lock *lock = malloc(sizeof *lock);
    *lock = (struct Lock){first, last, locks};
    locks = lock;
    return 0;
}

EXPORT int munlock(const void *address, size_t length) {
    seam();
    unlock_pages((uintptr_t)address / PAGE, ((uintptr_t)address + length + PAGE - 1) / PAGE);
    return 0;
}

EXPORT int mlockall(int flags) { not_simulated("mlockall", flags); }

// MARK: The machine

EXPORT int getpagesize(void) { return PAGE; }
EXPORT int get_nprocs(void) { return PROCESSORS; }
EXPORT int get_nprocs_conf(void) { return PROCESSORS; }

EXPORT long sysconf(int name) {
    static long (*real)(int);
    switch (name) {
    case _SC_NPROCESSORS_ONLN: case _SC_NPROCESSORS_CONF: return PROCESSORS;
    case _SC_PAGESIZE: return PAGE;
    case _SC_PHYS_PAGES: return (long)(MEMORY_BYTES / PAGE);
    case _SC_AVPHYS_PAGES: return (long)(MEMORY_BYTES / 2 / PAGE);
    case _SC_OPEN_MAX: return descriptor_limit(0);
    case _SC_CHILD_MAX: return (long)limit_of(RLIMIT_NPROC)->rlim_cur;
    case _SC_ARG_MAX: return 2 << 20;
    // What the C library itself says, whatever the machine.
    case _SC_CLK_TCK: case _SC_IOV_MAX: case _SC_NGROUPS_MAX: case _SC_GETPW_R_SIZE_MAX: case _SC_GETGR_R_SIZE_MAX:
    case _SC_HOST_NAME_MAX: case _SC_LINE_MAX: case _SC_SYMLOOP_MAX: case _SC_VERSION: case _SC_MONOTONIC_CLOCK:
    case _SC_THREADS: case _SC_THREAD_STACK_MIN: case _SC_THREAD_KEYS_MAX: case _SC_TTY_NAME_MAX: case _SC_LOGIN_NAME_MAX:
        if (!real) real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
        return real(name);
    default: not_simulated("sysconf", name);
    }
}

EXPORT int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set) {
    (void)thread;
    if (size < sizeof(long)) return (int)answer(-EINVAL);
    memset(set, 0, size);
    for (int i = 0; i < PROCESSORS; i++) CPU_SET_S((size_t)i, size, set);
    return 0;
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    (void)thread;
    return sched_getaffinity(0, size, set) == 0 ? 0 : EINVAL;
}

EXPORT int sched_getcpu(void) { return 0; }

// Priorities change nothing: the seed says who runs.
EXPORT int setpriority(__priority_which_t which, id_t who, int value) {
    if (which != PRIO_PROCESS) not_simulated("setpriority", (long)which);
    (void)who;
    return (int)answer(value < 0 ? -EACCES : 0);
}

EXPORT int getpriority(__priority_which_t which, id_t who) { not_simulated("getpriority", (long)which + (long)who); }

EXPORT int sched_setscheduler(pid_t thread, int policy, const struct sched_param *parameter) {
    (void)thread;
    if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE) return (int)answer(-EPERM);
    return (int)answer(parameter->sched_priority ? -EINVAL : 0);
}

// A clock that is kept in step, and that only the superuser sets.
EXPORT int adjtimex(struct timex *times) {
    seam();
    if (times->modes) return (int)answer(-EPERM);
    nanoseconds now = wall_now();
    *times = (struct timex){.status = STA_PLL | STA_NANO, .constant = 7, .precision = 1, .tick = 10000, .maxerror = 5000, .esterror = 500};
    times->time.tv_sec = now / 1000000000;
    times->time.tv_usec = now % 1000000000;
    return TIME_OK;
}
EXPORT int ntp_adjtime(struct timex *times) { return adjtimex(times); }

// The thread's name lies in the real kernel, where it harms nobody and debuggers look for it.
EXPORT int prctl(int option, ...) {
    static int can_be_dumped = 1, gains_no_rights;
    __builtin_va_list list;
    __builtin_va_start(list, option);
    unsigned long argument = __builtin_va_arg(list, unsigned long);
    __builtin_va_end(list);
    switch (option) {
    case PR_SET_NAME: case PR_GET_NAME: return (int)answer(real_call(SYS_prctl, option, (long)argument, 0, 0, 0, 0));
    case PR_GET_DUMPABLE: return can_be_dumped;
    case PR_SET_DUMPABLE:
        if (argument > 1) return (int)answer(-EINVAL);
        can_be_dumped = (int)argument;
        return 0;
    case PR_GET_NO_NEW_PRIVS: return gains_no_rights;
    case PR_SET_NO_NEW_PRIVS: gains_no_rights = 1; return 0;
    // The parent does not end before the process.
    case PR_SET_PDEATHSIG: case PR_SET_TIMERSLACK: return 0;
    default: not_simulated("prctl", option);
    }
}

// MARK: Other processes

// There is none, and nobody has ended.
EXPORT pid_t waitpid(pid_t process, int *status, int options) {
    (void)process, (void)status, (void)options;
    seam();
    return (pid_t)answer(-ECHILD);
}
EXPORT pid_t wait4(pid_t process, int *status, int options, struct rusage *use) {
    (void)use;
    return waitpid(process, status, options);
}
EXPORT pid_t fork(void) { not_simulated("fork", 0); }
EXPORT pid_t vfork(void) { not_simulated("vfork", 0); }
EXPORT int clone(int (*body)(void *), void *stack, int flags, void *argument, ...) {
    (void)body, (void)stack, (void)argument;
    not_simulated("clone", flags);
}
EXPORT int execve(const char *path, char *const words[], char *const variables[]) {
    (void)path, (void)words, (void)variables;
    not_simulated("execve", 0);
}
EXPORT int execvpe(const char *path, char *const words[], char *const variables[]) { return execve(path, words, variables); }
EXPORT int posix_spawn(
    pid_t *process, const char *path, const void *actions, const void *attributes, char *const words[], char *const variables[]
) {
    (void)process, (void)actions, (void)attributes;
    return execve(path, words, variables);
}
