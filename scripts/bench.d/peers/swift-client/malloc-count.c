// Counts what a program allocates: cc -shared -fPIC -O2, then LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static long count;

static inline void note(void) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); }
long kura_allocations(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }
void *malloc(size_t size) { note(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { note(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { note(); return __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { note(); return __libc_memalign(alignment, size); }
void *memalign(size_t alignment, size_t size) { note(); return __libc_memalign(alignment, size); }
int posix_memalign(void **place, size_t alignment, size_t size) {
    note();
    *place = __libc_memalign(alignment, size);
    return *place ? 0 : 12;
}
