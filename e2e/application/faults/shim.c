/* A disk that fails when it is told to: preloaded (LD_PRELOAD), it answers reads, writes and syncs of the files under
 * FAULTS_UNDER with an error of the system, as long as the control file FAULTS_CONTROL says so.
 *
 * The control file holds four 32-bit numbers: the errno that reads, writes and syncs fail with, 0 = they work; and the
 * seconds by which the wall clock is ahead. It is mapped into memory, so that what a test writes to it counts for the next call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { READS, WRITES, SYNCS, CLOCK, KINDS };

static volatile int32_t *control;
static const char *under;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("FAULTS_CONTROL");
    under = getenv("FAULTS_UNDER");
    int file = path && under ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, KINDS * sizeof(int32_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) control = mapped;
}

/* Whether a call on this file is to fail; sets errno then. */
static int fails(int kind, int fd) {
    int32_t error = control ? control[kind] : 0;
    if (error == 0) return 0;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, under, strlen(under)) != 0) return 0;
    errno = error;
    return 1;
}

#define REAL(result, name, ...)                               \
    static result (*real)(__VA_ARGS__);                       \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t read(int fd, void *to, size_t bytes) {
    REAL(ssize_t, "read", int, void *, size_t);
    return fails(READS, fd) ? -1 : real(fd, to, bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
    REAL(ssize_t, "pread", int, void *, size_t, off_t);
    return fails(READS, fd) ? -1 : real(fd, to, bytes, at);
}

ssize_t pread64(int fd, void *to, size_t bytes, off64_t at) {
    REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
    return fails(READS, fd) ? -1 : real(fd, to, bytes, at);
}

ssize_t write(int fd, const void *from, size_t bytes) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return fails(WRITES, fd) ? -1 : real(fd, from, bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    return fails(WRITES, fd) ? -1 : real(fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    return fails(WRITES, fd) ? -1 : real(fd, from, bytes, at);
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return fails(SYNCS, fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return fails(SYNCS, fd) ? -1 : real(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && control) now->tv_sec += control[CLOCK];
    return result;
}
