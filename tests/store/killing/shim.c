/* Counts what a process writes, syncs and renames below one folder, or sends to a socket, and kills it at the n-th.

   Preloaded into the process; nothing is counted before `kill_at` is called. A death comes before the call, after it,
   or, for a write, after half of its bytes. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { BEFORE, AFTER, TORN };

static char folder[PATH_MAX];
static long wanted, seen;
static int moment, sockets, armed;

void kill_at(const char *below, long number, int when, int also_sockets) {
    snprintf(folder, sizeof folder, "%s", below);
    wanted = number;
    moment = when;
    sockets = also_sockets;
    seen = 0;
    armed = 1;
}

long calls_seen(void) { return seen; }

static int is_below(const char *path) { return strncmp(path, folder, strlen(folder)) == 0; }

static int counts(int handle) {
    struct stat about;
    char link[64], path[PATH_MAX];
    if (!armed || fstat(handle, &about) != 0) return 0;
    if (S_ISSOCK(about.st_mode)) return sockets;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static void die(void) { kill(getpid(), SIGKILL); }

/* Whether this is the call to die at; the caller does what `moment` says. */
static int due(int counted) { return counted && ++seen == wanted; }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRITES(name, declared, given, part)                                                   \
    ssize_t name declared {                                                                   \
        if (!due(counts(handle))) return REAL(name) given;                                    \
        if (moment == TORN) { size /= 2; (void)!REAL(name) part; }                            \
        if (moment == AFTER) (void)!REAL(name) given;                                         \
        die();                                                                                \
        return -1;                                                                            \
    }

WRITES(write, (int handle, const void *bytes, size_t size), (handle, bytes, size), (handle, bytes, size))
WRITES(send, (int handle, const void *bytes, size_t size, int flags), (handle, bytes, size, flags),
       (handle, bytes, size, flags))
WRITES(pwrite, (int handle, const void *bytes, size_t size, off_t place), (handle, bytes, size, place),
       (handle, bytes, size, place))
WRITES(pwrite64, (int handle, const void *bytes, size_t size, off64_t place), (handle, bytes, size, place),
       (handle, bytes, size, place))

#define CALLS(name, declared, given, counted)                                                 \
    int name declared {                                                                       \
        if (!due(counted)) return REAL(name) given;                                           \
        if (moment == AFTER) (void)!REAL(name) given;                                         \
        die();                                                                                \
        return -1;                                                                            \
    }

CALLS(fsync, (int handle), (handle), counts(handle))
CALLS(fdatasync, (int handle), (handle), counts(handle))
CALLS(ftruncate, (int handle, off_t size), (handle, size), counts(handle))
CALLS(ftruncate64, (int handle, off64_t size), (handle, size), counts(handle))
CALLS(rename, (const char *before, const char *after), (before, after), armed && is_below(after))
CALLS(renameat, (int from, const char *before, int to, const char *after), (from, before, to, after),
      armed && is_below(after))
CALLS(unlink, (const char *path), (path), armed && is_below(path))
