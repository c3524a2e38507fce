// Mutexes, semaphores and futexes. Their words lie where the program has them; who waits, waits on their address.
#include "kernel.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>

static nanoseconds until_wall(const struct timespec *at) {
    return (nanoseconds)at->tv_sec * 1000000000 + at->tv_nsec - wall_now() + monotonic_now();
}

// MARK: Mutexes

static bool is_recursive(const pthread_mutex_t *mutex) { return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE; }

static int take_mutex(pthread_mutex_t *mutex) {
    int me = thread_number();
    if (mutex->__data.__lock && mutex->__data.__owner == me && is_recursive(mutex)) {
        mutex->__data.__count++;
        return 0;
    }
    if (mutex->__data.__lock) return EBUSY;
    mutex->__data.__lock = 1;
    mutex->__data.__owner = me;
    mutex->__data.__count = 1;
    return 0;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    seam();
    while (take_mutex(mutex) != 0) {
        if (mutex->__data.__owner == thread_number()) not_simulated("pthread_mutex_lock: a mutex that its thread holds", 0);
        wait_on(mutex, FOREVER);
    }
    return 0;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    seam();
    return take_mutex(mutex);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (--mutex->__data.__count > 0) return 0;
    mutex->__data.__lock = 0;
    mutex->__data.__owner = 0;
    wake(mutex, 1);
    return 0;
}

EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex) { return mutex->__data.__lock ? EBUSY : 0; }

// 0: not yet, 1: somebody runs it, 2: done.
EXPORT int pthread_once(pthread_once_t *once, void (*body)(void)) {
    int *state = (int *)once;
    while (*state == 1) wait_on(once, FOREVER);
    if (*state == 2) return 0;
    *state = 1;
    body();
    *state = 2;
    wake(once, UINT_MAX);
    return 0;
}

// MARK: Conditions

static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, nanoseconds until) {
    pthread_mutex_unlock(mutex);
    bool was_woken = wait_on(condition, until);
    pthread_mutex_lock(mutex);
    return was_woken ? 0 : ETIMEDOUT;
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    return wait_for_condition(condition, mutex, FOREVER);
}
EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *at) {
    return wait_for_condition(condition, mutex, until_wall(at));
}
EXPORT int pthread_cond_signal(pthread_cond_t *condition) { wake(condition, 1); return 0; }
EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) { wake(condition, UINT_MAX); return 0; }
EXPORT int pthread_cond_destroy(pthread_cond_t *condition) { (void)condition; return 0; }

// MARK: Locks for readers and writers: the C++ library's; a writer's and a reader's are the same here

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    int *held = (int *)lock;
    seam();
    while (*held != 0) wait_on(lock, FOREVER);
    *held = -1;
    return 0;
}
EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    int *held = (int *)lock;
    seam();
    while (*held < 0) wait_on(lock, FOREVER);
    ++*held;
    return 0;
}
EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int *held = (int *)lock;
    *held = *held < 0 ? 0 : *held - 1;
    if (*held == 0) wake(lock, UINT_MAX);
    return 0;
}

// MARK: Semaphores

EXPORT int sem_init(sem_t *semaphore, int shared, unsigned value) {
    (void)shared;
    *(unsigned *)semaphore = value;
    return 0;
}
EXPORT int sem_destroy(sem_t *semaphore) { (void)semaphore; return 0; }

EXPORT int sem_post(sem_t *semaphore) {
    ++*(unsigned *)semaphore;
    wake(semaphore, 1);
    seam();
    return 0;
}

static int take_semaphore(sem_t *semaphore, nanoseconds until) {
    unsigned *value = (unsigned *)semaphore;
    seam();
    while (*value == 0)
        if (!wait_on(semaphore, until) && *value == 0 && monotonic_now() >= until) return -ETIMEDOUT;
    --*value;
    return 0;
}

EXPORT int sem_wait(sem_t *semaphore) { return (int)answer(take_semaphore(semaphore, FOREVER)); }
EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *at) {
    return (int)answer(take_semaphore(semaphore, until_wall(at)));
}
EXPORT int sem_trywait(sem_t *semaphore) {
    unsigned *value = (unsigned *)semaphore;
    seam();
    if (*value == 0) return (int)answer(-EAGAIN);
    --*value;
    return 0;
}

// MARK: Futexes: Swift's own locks

static long lock_futex(uint32_t *word) {
    uint32_t me = (uint32_t)real_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    while (*word & FUTEX_TID_MASK) {
        if ((*word & FUTEX_TID_MASK) == me) return -EDEADLK;
        // Who unlocks must come here, and not only clear the word.
        *word |= FUTEX_WAITERS;
        wait_on(word, FOREVER);
    }
    *word = me;
    return 0;
}

long futex_call(uint32_t *word, int operation, uint32_t value, const void *timeout, uint32_t *word2, uint32_t value3) {
    const struct timespec *time = timeout;
    (void)word2, (void)value3;
    seam();
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT: {
        if (*word != value) return -EAGAIN;
        nanoseconds until = time ? monotonic_now() + (nanoseconds)time->tv_sec * 1000000000 + time->tv_nsec : FOREVER;
        return wait_on(word, until) ? 0 : -ETIMEDOUT;
    }
    case FUTEX_WAIT_BITSET: {
        if (*word != value) return -EAGAIN;
        nanoseconds until = FOREVER;
        if (time && operation & FUTEX_CLOCK_REALTIME) until = until_wall(time);
        else if (time) until = (nanoseconds)time->tv_sec * 1000000000 + time->tv_nsec;
        return wait_on(word, until) ? 0 : -ETIMEDOUT;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: wake(word, value); return 0;
    case FUTEX_LOCK_PI: return lock_futex(word);
    case FUTEX_TRYLOCK_PI: return *word & FUTEX_TID_MASK ? -EWOULDBLOCK : lock_futex(word);
    case FUTEX_UNLOCK_PI:
        *word = 0;
        wake(word, UINT_MAX);
        return 0;
    default: not_simulated("futex", operation);
    }
}
