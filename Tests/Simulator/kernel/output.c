// Standard input is empty. What goes to standard output and error is told to the controller, through write(2) and through stdio.
#include "events.h"
#include "streams.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <syslog.h>
#include <linux/fs.h>

static void told(uint32_t number, const void *bytes, size_t length) { report_parts(REPORT_OUTPUT, &number, 4, bytes, length); }

static ssize_t input_read(struct Open *open, void *bytes, size_t length) {
    (void)bytes, (void)length;
    return open->flags & O_ACCMODE ? -EBADF : 0;
}

static ssize_t output_write(struct Open *open, const void *bytes, size_t length) {
    if (!(open->flags & O_ACCMODE)) return -EBADF;
    int error = fault_for(CALL_WRITE, "output", &length);
    if (error) return error;
    told((uint32_t)(uintptr_t)open->object, bytes, length);
    return (ssize_t)length;
}

static unsigned output_ready(struct Open *open) { return open->flags & O_ACCMODE ? EPOLLOUT | EPOLLWRNORM : EPOLLIN | EPOLLRDNORM; }

const struct Operations output_operations = {"output", input_read, output_write, output_ready, NULL};

void standard_start(void) {
    for (uintptr_t number = 0; number < 3; number++) {
        if (descriptor((int)number)) continue;
        struct Open *open = open_make(&output_operations, (void *)number, number ? O_WRONLY : O_RDONLY);
        descriptor_install(open, (int)number, false);
    }
}

EXPORT int isatty(int number) {
    seam();
    answer(descriptor(number) ? -ENOTTY : -EBADF);
    return 0;
}

EXPORT int ioctl(int number, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    int *argument = va_arg(list, int *);
    va_end(list);
    seam();
    struct Open *open = descriptor(number);
    if (!open) return (int)answer(-EBADF);
    const struct Operations *kind = open->operations;
    // Only files are always ready.
    if (!mode_of_kind(open)) return (int)answer(file_control(number, request, argument));
    switch (request) {
    case FIONREAD:
        if (kind == &socket_operations) *argument = (int)stream_arrived(&((struct Socket *)open->object)->in);
        else if (kind == &pipe_reader) *argument = pipe_unread(open);
        else return (int)answer(-ENOTTY);
        return 0;
    case FIONBIO:
        open->flags = *argument ? open->flags | O_NONBLOCK : open->flags & ~O_NONBLOCK;
        return 0;
    case TIOCGWINSZ: case 0x5401: return (int)answer(-ENOTTY);   // TCGETS: no terminal is here
    case FICLONE: return (int)answer(-EINVAL);
    default: not_simulated("ioctl", (long)request);
    }
}

// MARK: stdio

// The C library's own function, for all other streams.
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
static uint32_t number_of(FILE *file) { return file == stdout ? 1 : file == stderr ? 2 : 0; }

EXPORT size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    uint32_t number = number_of(file);
    if (!number) return REAL(fwrite)(bytes, size, count, file);
    seam();
    if (size && count) told(number, bytes, size * count);
    return count;
}

EXPORT int fputs(const char *text, FILE *file) {
    if (!number_of(file)) return REAL(fputs)(text, file);
    fwrite(text, 1, strlen(text), file);
    return 1;
}

EXPORT int fputc(int byte, FILE *file) {
    unsigned char one = (unsigned char)byte;
    if (!number_of(file)) return REAL(fputc)(byte, file);
    fwrite(&one, 1, 1, file);
    return one;
}
#undef putc
EXPORT int putc(int byte, FILE *file) { return fputc(byte, file); }
#undef putchar
EXPORT int putchar(int byte) { return fputc(byte, stdout); }
EXPORT int puts(const char *text) { return fputs(text, stdout) < 0 ? EOF : fputc('\n', stdout); }

EXPORT int fflush(FILE *file) { return file && number_of(file) ? 0 : REAL(fflush)(file); }

EXPORT int vfprintf(FILE *file, const char *format, va_list list) {
    if (!number_of(file)) return REAL(vfprintf)(file, format, list);
    char *text;
    int length = vasprintf(&text, format, list);
    if (length < 0) return length;
    fwrite(text, 1, (size_t)length, file);
    free(text);
    return length;
}

EXPORT int fprintf(FILE *file, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vfprintf(file, format, list);
    va_end(list);
    return length;
}

EXPORT int printf(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vfprintf(stdout, format, list);
    va_end(list);
    return length;
}

EXPORT int vprintf(const char *format, va_list list) { return vfprintf(stdout, format, list); }

ssize_t write(int, const void *, size_t);
EXPORT int vdprintf(int number, const char *format, va_list list) {
    char *text;
    int length = vasprintf(&text, format, list);
    if (length < 0) return length;
    ssize_t written = write(number, text, (size_t)length);
    free(text);
    return written < 0 ? -1 : length;
}

EXPORT int dprintf(int number, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vdprintf(number, format, list);
    va_end(list);
    return length;
}

// MARK: The system's log, which nobody keeps apart from standard error

EXPORT void vsyslog(int priority, const char *format, va_list list) {
    (void)priority;
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

EXPORT void syslog(int priority, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsyslog(priority, format, list);
    va_end(list);
}

EXPORT void openlog(const char *name, int options, int facility) { (void)name, (void)options, (void)facility; }
EXPORT void closelog(void) {}
EXPORT int setlogmask(int set) { return set ? set : 0xFF; }
