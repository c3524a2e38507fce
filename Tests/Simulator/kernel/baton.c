// Threads stay threads, but one of them runs at a time: who has the baton. The seed says who is next.
#include "kernel.h"
#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { MOST_THREADS = 256, LONGEST_STALL = 2000000 };

struct Thread {
    int number;
    uint32_t has_baton;                    // a futex of the real kernel
    enum { READY, WAITS, ENDED } state;
    const void *key;                       // what it waits for
    nanoseconds until;
    bool was_woken, is_detached, is_joined;
    pthread_t handle;
    long identity;                         // of the real kernel
    void *(*body)(void *);
    void *argument, *result;
    char name[16];
};

__thread struct Thread *this_thread;
static struct Thread *threads[MOST_THREADS];
static int thread_count, alive;
// It has ended and its real thread is on its way out. Whoever takes the baton waits for that, since what is freed there would
// otherwise be freed at a time that nobody has chosen. Its handle stays its own until it is joined.
static struct Thread *leaving;
static nanoseconds nearest = FOREVER;      // when the first of those who wait is due
static int depth;                          // > 0: the kernel itself is at work, or the controller
static bool has_news;

static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*real_join)(pthread_t, void **);
static void (*real_exit)(void *);

static struct Thread *thread_make(void) {
    if (thread_count == MOST_THREADS) not_simulated("pthread_create: threads", MOST_THREADS);
    struct Thread *thread = calloc(1, sizeof *thread);
    thread->number = thread_count + 1;
    threads[thread_count++] = thread;
    alive++;
    return thread;
}

void baton_start(void) {
    real_create = dlsym(RTLD_NEXT, "pthread_create");
    real_join = dlsym(RTLD_NEXT, "pthread_join");
    real_exit = dlsym(RTLD_NEXT, "pthread_exit");
    this_thread = thread_make();
    this_thread->handle = pthread_self();
    strcpy(this_thread->name, "main");
}

int thread_number(void) { return this_thread ? this_thread->number : 0; }
const char *thread_name(void) { return this_thread ? this_thread->name : "?"; }
int threads_alive(void) { return alive; }
void baton_news(void) { has_news = true; }

unsigned threads_waiting(void) {
    unsigned waiting = 0;
    for (int i = 0; i < thread_count; i++) waiting += threads[i]->state == WAITS;
    return waiting;
}

// MARK: Who is next

static void wake_those_due(void) {
    nanoseconds now = monotonic_now();
    if (now < nearest) return;
    nearest = FOREVER;
    for (int i = 0; i < thread_count; i++) {
        struct Thread *thread = threads[i];
        if (thread->state != WAITS) continue;
        if (thread->until <= now) thread->state = READY;
        else if (thread->until < nearest) nearest = thread->until;
    }
}

static void pause_for(enum Pause why) {
    has_news = false;
    depth++;
    control_pause(why);
    depth--;
}

// Somebody who can run. While nobody can, the time goes on to what comes next.
static struct Thread *choose(void) {
    for (;;) {
        wake_those_due();
        uint64_t ready = 0;
        for (int i = 0; i < thread_count; i++) ready += threads[i]->state == READY;
        if (ready > 0) {
            uint64_t left = ready == 1 ? 0 : draw_below(ready);
            for (int i = 0;; i++)
                if (threads[i]->state == READY && left-- == 0) return threads[i];
        }
        if (has_news) {
            pause_for(PAUSE_NEWS);
        } else if (nearest < pause_time) {
            clock_advance(nearest);
        } else {
            if (pause_time != FOREVER) clock_advance(pause_time);
            pause_for(pause_time == FOREVER ? PAUSE_IDLE : PAUSE_TIME);
        }
    }
}

static void join(struct Thread *thread) {
    thread->is_joined = true;
    real_join(thread->handle, NULL);
}

static void take(struct Thread *me) {
    while (!__atomic_load_n(&me->has_baton, __ATOMIC_ACQUIRE))
        real_call(SYS_futex, (long)&me->has_baton, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    me->has_baton = 0;
    if (!leaving) return;
    struct Thread *gone = leaving;
    leaving = NULL;
    long process = real_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    while (real_call(SYS_tgkill, process, gone->identity, 0, 0, 0, 0) == 0) real_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    if (gone->is_detached) join(gone);
}

static void hand(struct Thread *next) {
    __atomic_store_n(&next->has_baton, 1, __ATOMIC_RELEASE);
    real_call(SYS_futex, (long)&next->has_baton, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void give(struct Thread *next) {
    struct Thread *me = this_thread;
    if (next == me) return;
    hand(next);
    take(me);
}

static bool is_outside(void) {
    if (!this_thread) kernel_start();
    // A thread that leaves runs alone: who has the baton waits for its end.
    return depth > 0 || this_thread->state == ENDED;
}

void seam(void) {
    if (is_outside()) return;
    clock_tick(100);
    if (seams_left <= 1) pause_for(PAUSE_SEAMS);
    else seams_left--;
    if (monotonic_now() >= pause_time) pause_for(PAUSE_TIME);
    wake_those_due();
    // Others go on meanwhile, as where there are more threads than processors.
    if (alive > 1 && settings[SETTING_STALL] && draw_permille((unsigned)settings[SETTING_STALL])) spend((nanoseconds)draw_below(LONGEST_STALL));
    else if (alive > 1 && draw_permille((unsigned)settings[SETTING_SWITCH])) give(choose());
}

bool wait_on(const void *key, nanoseconds until) {
    if (is_outside()) not_simulated("a wait of the kernel itself", 0);
    struct Thread *me = this_thread;
    me->key = key, me->until = until, me->was_woken = false, me->state = WAITS;
    if (until < nearest) nearest = until;
    give(choose());
    return me->was_woken;
}

void wake(const void *key, unsigned at_most) {
    unsigned waiting = 0;
    for (int i = 0; i < thread_count; i++) waiting += threads[i]->state == WAITS && threads[i]->key == key;
    while (waiting > 0 && at_most > 0) {
        uint64_t left = waiting <= at_most ? 0 : draw_below(waiting);
        for (int i = 0;; i++) {
            if (threads[i]->state != WAITS || threads[i]->key != key || left-- > 0) continue;
            threads[i]->state = READY;
            threads[i]->was_woken = true;
            break;
        }
        waiting--, at_most--;
    }
}

void spend(nanoseconds span) {
    // Its own address is what nobody wakes.
    if (!is_outside()) wait_on(&span, monotonic_now() + span);
}

// MARK: What programs ask

static void leave(void *result) {
    struct Thread *me = this_thread;
    me->result = result;
    me->state = ENDED;
    alive--;
    wake(me, UINT_MAX);
    struct Thread *next = choose();
    leaving = me;
    hand(next);
}

static void *run(void *start) {
    this_thread = start;
    this_thread->identity = real_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    take(this_thread);
    leave(this_thread->body(this_thread->argument));
    return NULL;
}

EXPORT int pthread_create(pthread_t *handle, const pthread_attr_t *wanted, void *(*body)(void *), void *argument) {
    seam();
    int fault = fault_for(CALL_THREAD, "", NULL);
    if (fault < 0) return -fault;
    struct Thread *thread = thread_make();
    thread->body = body, thread->argument = argument;
    int detached = PTHREAD_CREATE_JOINABLE;
    if (wanted) pthread_attr_getdetachstate(wanted, &detached);
    thread->is_detached = detached == PTHREAD_CREATE_DETACHED;
    // Each real thread is joined by who takes the baton after it.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    size_t stack;
    if (wanted && pthread_attr_getstacksize(wanted, &stack) == 0) pthread_attr_setstacksize(&attributes, stack);
    int result = real_create(&thread->handle, &attributes, run, thread);
    pthread_attr_destroy(&attributes);
    if (result != 0) not_simulated("pthread_create", result);
    *handle = thread->handle;
    return 0;
}

// Handles of threads that have ended may come again: the newest one is meant.
static struct Thread *thread_of(pthread_t handle) {
    for (int i = thread_count - 1; i >= 0; i--)
        if (pthread_equal(threads[i]->handle, handle) && !threads[i]->is_joined) return threads[i];
    return NULL;
}

EXPORT int pthread_join(pthread_t handle, void **result) {
    seam();
    struct Thread *thread = thread_of(handle);
    if (!thread) return ESRCH;
    while (thread->state != ENDED) wait_on(thread, FOREVER);
    join(thread);
    if (result) *result = thread->result;
    return 0;
}

EXPORT int pthread_detach(pthread_t handle) {
    struct Thread *thread = thread_of(handle);
    if (!thread) return ESRCH;
    thread->is_detached = true;
    if (thread->state == ENDED) join(thread);
    return 0;
}

EXPORT _Noreturn void pthread_exit(void *result) {
    leave(result);
    real_exit(result);
    __builtin_unreachable();
}

EXPORT int pthread_setname_np(pthread_t handle, const char *name) {
    struct Thread *thread = thread_of(handle);
    if (!thread) return ESRCH;
    if (strlen(name) >= sizeof thread->name) return ERANGE;
    strcpy(thread->name, name);
    return 0;
}

EXPORT int sched_yield(void) {
    if (is_outside()) return 0;
    seam();
    wake_those_due();
    give(choose());
    return 0;
}
