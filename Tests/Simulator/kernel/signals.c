// Signals. None of the real kernel's is blocked or sent, but those of a trap: the daemon's own handler notes them.
//
// A signal comes to the process. It waits where the first thread blocks it, since the others have that thread's mask.
#include "events.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { SIGNALS = 65 };
static struct sigaction actions[SIGNALS];
static sigset_t blocked, waiting;
static int senders[SIGNALS];
static __thread bool has_own_mask;
static __thread sigset_t own_mask;
__thread unsigned signals_handled;
static const char arrival;
static struct Open *descriptor_of_signals;  // the first signalfd: the daemon has one

static bool is_trap(int number) {
    return number == SIGSEGV || number == SIGILL || number == SIGBUS || number == SIGTRAP || number == SIGABRT || number == SIGFPE;
}

static sigset_t *mask(void) {
    if (thread_number() <= 1) return &blocked;
    if (!has_own_mask) own_mask = blocked;
    has_own_mask = true;
    return &own_mask;
}

static void run_handler(int number, siginfo_t *information, void *context) {
    struct sigaction action = actions[number];
    if (action.sa_flags & (int)SA_RESETHAND) actions[number].sa_handler = SIG_DFL;
    signals_handled++;
    if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(number, information, context);
    else action.sa_handler(number);
}

// The kernel's report of a trap names the process by its real number, which the daemon must not see.
static void trapped(int number, siginfo_t *information, void *context) {
    if (information->si_code <= 0 && information->si_pid == (pid_t)real_call(SYS_getpid, 0, 0, 0, 0, 0, 0))
        information->si_pid = process_number();
    run_handler(number, information, context);
}

static void send_really(int number) {
    real_call(SYS_tgkill, real_call(SYS_getpid, 0, 0, 0, 0, 0, 0), real_call(SYS_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0);
}

static void by_default(int number) {
    switch (number) {
    case SIGCHLD: case SIGURG: case SIGWINCH: case SIGCONT: return;
    case SIGSTOP: case SIGTSTP: case SIGTTIN: case SIGTTOU: not_simulated("stopped by a signal", number);
    default: process_ends(-number, strsignal(number));
    }
}

static void deliver(int number) {
    sigdelset(&waiting, number);
    const struct sigaction *action = &actions[number];
    if (action->sa_handler == SIG_IGN) return;
    if (action->sa_handler == SIG_DFL) return by_default(number);
    siginfo_t information = {.si_signo = number, .si_code = SI_USER};
    information.si_pid = senders[number];
    ucontext_t context;
    memset(&context, 0, sizeof context);
    run_handler(number, &information, &context);
    // A wait in epoll or poll on this thread ends as one in pause does.
    wake(&arrival, UINT32_MAX);
    readiness_changed();
}

static void arrives_from(int number, int sender) {
    if (is_trap(number)) return send_really(number);
    senders[number] = sender;
    if (number == SIGKILL) by_default(number);
    if (!sigismember(&blocked, number)) return deliver(number);
    sigaddset(&waiting, number);
    open_changed(descriptor_of_signals, EPOLLIN);
}

void signal_arrives(int number) {
    if (number > 0 && number < SIGNALS) arrives_from(number, number == SIGPIPE ? process_number() : 1);
}

// MARK: signalfd

struct Signals { sigset_t set; };

static int next_in(const sigset_t *set) {
    for (int number = 1; number < SIGNALS; number++) {
        if (sigismember(set, number) && sigismember(&waiting, number)) return number;
    }
    return 0;
}

static ssize_t signals_read(struct Open *open, void *bytes, size_t length) {
    struct Signals *signals = open->object;
    struct signalfd_siginfo *to = bytes;
    if (length < sizeof *to) return -EINVAL;
    while (!next_in(&signals->set)) {
        if (open->flags & O_NONBLOCK) return -EAGAIN;
        wait_on(&readiness, FOREVER);
    }
    size_t done = 0;
    for (int number; (done + 1) * sizeof *to <= length && (number = next_in(&signals->set)); done++) {
        struct signalfd_siginfo told = {
            .ssi_signo = (uint32_t)number, .ssi_pid = (uint32_t)senders[number], .ssi_uid = senders[number] == 1 ? 0 : 1000};
        memcpy(&to[done], &told, sizeof told);
        sigdelset(&waiting, number);
    }
    return (ssize_t)(done * sizeof *to);
}

static unsigned signals_ready(struct Open *open) {
    struct Signals *signals = open->object;
    return next_in(&signals->set) ? EPOLLIN : 0;
}

static void signals_closed(struct Open *open) {
    if (descriptor_of_signals == open) descriptor_of_signals = NULL;
    free(open->object);
}

const struct Operations signal_operations = {"signalfd", signals_read, NULL, signals_ready, signals_closed};

EXPORT int signalfd(int number, const sigset_t *set, int flags) {
    seam();
    if (flags & ~(SFD_CLOEXEC | SFD_NONBLOCK)) return (int)answer(-EINVAL);
    if (number != -1) {
        struct Open *known = descriptor(number);
        if (!known) return (int)answer(-EBADF);
        if (known->operations != &signal_operations) return (int)answer(-EINVAL);
        ((struct Signals *)known->object)->set = *set;
        readiness_changed();
        return number;
    }
    int error = fault_for(CALL_SOCKET, "signalfd", NULL);
    if (error) return (int)answer(error);
    struct Signals *signals = calloc(1, sizeof *signals);
    signals->set = *set;
    struct Open *open = open_make(&signal_operations, signals, O_RDWR | (flags & SFD_NONBLOCK ? O_NONBLOCK : 0));
    if (!descriptor_of_signals) descriptor_of_signals = open;
    int made = descriptor_install(open, 0, flags & SFD_CLOEXEC);
    if (made < 0) open_release(open);
    return (int)answer(made);
}

// MARK: Masks and handlers

static int change_mask(int how, const sigset_t *set, sigset_t *earlier) {
    sigset_t *own = mask(), was = *own;
    if (set) {
        if (how < SIG_BLOCK || how > SIG_SETMASK) return EINVAL;
        if (how == SIG_SETMASK) *own = *set;
        for (int number = 1; number < SIGNALS && how != SIG_SETMASK; number++) {
            if (sigismember(set, number) != 1) continue;
            if (how == SIG_BLOCK) sigaddset(own, number);
            else sigdelset(own, number);
        }
        sigdelset(own, SIGKILL);
        sigdelset(own, SIGSTOP);
    }
    if (earlier) *earlier = was;
    for (int number = 1; number < SIGNALS && own == &blocked; number++) {
        if (sigismember(&waiting, number) == 1 && !sigismember(&blocked, number)) deliver(number);
    }
    return 0;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *earlier) {
    seam();
    return change_mask(how, set, earlier);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *earlier) {
    seam();
    return (int)answer(-change_mask(how, set, earlier));
}

EXPORT int sigpending(sigset_t *set) {
    *set = waiting;
    return 0;
}

static int act_really(int number, const struct sigaction *action) {
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (!real) real = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    struct sigaction own = *action;
    bool is_handled = action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
    if (is_handled) own.sa_sigaction = trapped, own.sa_flags |= SA_SIGINFO;
    return real(number, &own, NULL) == 0 ? 0 : -errno;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *earlier) {
    seam();
    if (number < 1 || number >= SIGNALS) return (int)answer(-EINVAL);
    if (action && (number == SIGKILL || number == SIGSTOP)) return (int)answer(-EINVAL);
    if (earlier) *earlier = actions[number];
    if (!action) return 0;
    actions[number] = *action;
    return is_trap(number) ? (int)answer(act_really(number, action)) : 0;
}

EXPORT sighandler_t signal(int number, sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, earlier;
    return sigaction(number, &action, &earlier) == 0 ? earlier.sa_handler : SIG_ERR;
}

// MARK: Sending and waiting

static int send_to(int process, int number) {
    if (number < 0 || number >= SIGNALS) return -EINVAL;
    // Nobody else is here.
    if (process != process_number() && process != 0 && process != -process_number()) return -ESRCH;
    if (number > 0) arrives_from(number, process_number());
    return 0;
}

EXPORT int kill(pid_t process, int number) {
    seam();
    return (int)answer(send_to(process, number));
}

EXPORT int raise(int number) {
    seam();
    return (int)answer(send_to(process_number(), number));
}

EXPORT int tgkill(pid_t process, pid_t thread, int number) {
    seam();
    if (thread != thread_identity()) not_simulated("tgkill of another thread", number);
    return (int)answer(send_to(process, number));
}

EXPORT int pthread_kill(pthread_t thread, int number) {
    seam();
    if (!number) return 0;
    if (!pthread_equal(thread, pthread_self())) not_simulated("pthread_kill of another thread", number);
    return -send_to(process_number(), number);
}

EXPORT int pause(void) {
    seam();
    unsigned handled = signals_handled;
    while (signals_handled == handled) wait_on(&arrival, FOREVER);
    return (int)answer(-EINTR);
}

EXPORT int sigsuspend(const sigset_t *set) {
    sigset_t earlier;
    unsigned handled = signals_handled;
    seam();
    change_mask(SIG_SETMASK, set, &earlier);
    while (signals_handled == handled) wait_on(&arrival, FOREVER);
    change_mask(SIG_SETMASK, &earlier, NULL);
    return (int)answer(-EINTR);
}
