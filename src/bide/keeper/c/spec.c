/* The file `spec`: NUL-terminated `key=value` records; `argv=N`, `env=N` and `starter=N` are followed by N strings. */
#include "keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Points into the mapped file, so that a large environment costs no private memory until it is used. */
static char **strings(char **at, const char *end, long n) {
    char **list = calloc((size_t)n + 1, sizeof *list);
    for (long i = 0; list && i < n; i++) {
        if (*at >= end) {
            free(list);
            return NULL;
        }
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

static bool number(const char *key, const char *want, const char *value, i64 *into) {
    if (strcmp(key, want) != 0) return false;
    *into = strtoll(value, NULL, 10);
    return true;
}

static bool flag(const char *key, const char *want, const char *value, bool *into) {
    if (strcmp(key, want) != 0) return false;
    *into = value[0] == '1';
    return true;
}

static bool text(const char *key, const char *want, const char *value, const char **into) {
    if (strcmp(key, want) != 0) return false;
    *into = value;
    return true;
}

static bool add(const char *key, const char *want, const char *value, const char **into, int *n) {
    if (strcmp(key, want) != 0 || *n >= PATHS) return false;
    into[(*n)++] = value;
    return true;
}

static void take(struct spec *s, const char *key, const char *value) {
    i64 mask = s->umask;
    (void)(number(key, "timeout_ms", value, &s->timeout_ms) || number(key, "idle_ms", value, &s->idle_ms) ||
           number(key, "grace_ms", value, &s->grace_ms) || number(key, "cap", value, &s->cap) ||
           number(key, "memory_sampled", value, &s->memory_sampled) ||
           number(key, "memory_limit", value, &s->memory_limit) || number(key, "pids_limit", value, &s->pids_limit) ||
           number(key, "pids_sampled", value, &s->pids_sampled) || number(key, "nofile", value, &s->nofile) ||
           number(key, "umask", value, &mask) || flag(key, "stdin", value, &s->use_stdin) ||
           flag(key, "pty", value, &s->pty) || flag(key, "merge", value, &s->merge) ||
           flag(key, "fence", value, &s->fence) || flag(key, "idle_cpu", value, &s->idle_cpu) ||
           flag(key, "cap_kills", value, &s->cap_kills) || text(key, "cwd", value, &s->cwd) ||
           text(key, "marker", value, &s->marker) || text(key, "boot", value, &s->boot) || text(key, "cg_oom", value, &s->cg_oom) ||
           text(key, "cg_peak", value, &s->cg_peak) || text(key, "cg_event", value, &s->cg_event) ||
           text(key, "cg_cpu", value, &s->cg_cpu) ||
           add(key, "inside", value, s->inside, &s->insides) || add(key, "loose", value, s->loose, &s->looses) ||
           add(key, "join", value, s->join, &s->joins) || add(key, "remove", value, s->remove, &s->removes));
    s->umask = (int)mask;
}

bool spec_load(const char *path, struct spec *s) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return false;
    if (fstat(fd, &st) != 0 || st.st_size < 2) return false;
    /* One byte more than the file: the rest of the last page reads as zero, so every string ends. */
    char *map = mmap(NULL, (size_t)st.st_size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return false;
    char *at = map, *end = map + st.st_size;
    if (end[-1] != '\0') return false;
    while (at < end) {
        char *key = at, *value = strchr(at, '=');
        at += strlen(at) + 1;
        if (!value) return false;
        char name[32];
        size_t n = (size_t)(value - key);
        if (n >= sizeof name) continue;
        memcpy(name, key, n);
        name[n] = '\0';
        value++;
        char ***list = strcmp(name, "argv") == 0      ? &s->argv
                       : strcmp(name, "env") == 0     ? &s->env
                       : strcmp(name, "starter") == 0 ? &s->starter
                                                      : NULL;
        if (list) {
            *list = strings(&at, end, atol(value));
            if (!*list) return false;
        } else {
            take(s, name, value);
        }
    }
    return s->argv && s->argv[0] && s->env && s->cwd && s->marker;
}

/* Pids of another boot, or of another pid namespace, mean other processes. */
bool same_boot(void) {
    char id[64], space[64], now[160];
    size_t n = slurp("/proc/sys/kernel/random/boot_id", id, sizeof id);
    ssize_t m = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    if (n > 0 && id[n - 1] == '\n') id[n - 1] = '\0';
    space[m > 0 ? m : 0] = '\0';
    snprintf(now, sizeof now, "%s/%s", n > 0 ? id : "unknown", space);
    return !k.spec.boot || strcmp(k.spec.boot, now) == 0;
}
