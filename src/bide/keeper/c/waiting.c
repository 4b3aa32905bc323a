/* Does the job wait for input? Told from what the kernel says its processes are blocked in, never from its words:
 * a read of its stdin or terminal, or a poll or select of nothing else. Programs that poll more, or read in a thread, are told
 * of as maybe waiting once all is quiet and idle: the daemon looks at their words. */
#include "keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { QUIET_MS = 300, AGAIN_MS = 1000, MAX_FDS = 16, PTS_MAJOR = 136 };

static struct stat input;

static bool know_input(void) {
    if (!k.spec.pty) return stat("in.p", &input) == 0;
    unsigned n = 0;
    memset(&input, 0, sizeof input);
    if (k.master < 0 || ioctl(k.master, TIOCGPTN, &n) != 0) return false;
    input.st_rdev = makedev(PTS_MAJOR + n / 256, n % 256);
    return true;
}

static bool is_input(pid_t pid, i64 fd) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%lld", pid, (long long)fd);
    if (fd < 0 || stat(path, &st) != 0) return false;
    if (k.spec.pty) return S_ISCHR(st.st_mode) && (st.st_rdev == input.st_rdev || st.st_rdev == makedev(5, 0));
    return S_ISFIFO(st.st_mode) && st.st_ino == input.st_ino && st.st_dev == input.st_dev;
}

static bool memory_of(pid_t pid, uint64_t at, void *into, size_t n) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = pread(fd, into, n, (off_t)at) == (ssize_t)n;
    close(fd);
    return ok;
}

static bool polls_only_input(pid_t pid, uint64_t at, uint64_t n) {
    struct pollfd fds[MAX_FDS];
    if (n == 0 || n > MAX_FDS || !memory_of(pid, at, fds, n * sizeof *fds)) return false;
    for (uint64_t i = 0; i < n; i++)
        if (!(fds[i].events & POLLIN) || !is_input(pid, fds[i].fd)) return false;
    return true;
}

static bool selects_only_input(pid_t pid, uint64_t n, uint64_t at) {
    unsigned char bits[128] = {0};
    bool any = false;
    if (n == 0 || n > sizeof bits * 8 || at == 0 || !memory_of(pid, at, bits, (n + 7) / 8)) return false;
    for (uint64_t fd = 0; fd < n; fd++) {
        if (!(bits[fd / 8] & (1 << fd % 8))) continue;
        if (!is_input(pid, (i64)fd)) return false;
        any = true;
    }
    return any;
}

static bool asks(pid_t pid) {
    char path[40], line[256];
    long number = -1;
    unsigned long long a = 0, b = 0;
    snprintf(path, sizeof path, "/proc/%d/syscall", pid);
    if (!slurp(path, line, sizeof line) || sscanf(line, "%ld 0x%llx 0x%llx", &number, &a, &b) != 3) return false;
    switch (number) {
    case SYS_read:
    case SYS_readv:
        return is_input(pid, (i64)a);
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return polls_only_input(pid, a, b);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return selects_only_input(pid, a, b);
    default:
        return false;
    }
}

/* One that is stopped asks for nothing, whatever it was doing. */
static bool stopped(const struct proc *p) { return p->state == 'T' || p->state == 't'; }

void waiting_check(void) {
    i64 now = mono_ms();
    k.wait_at = 0;
    if (!(k.spec.use_stdin || k.spec.pty) || k.in_closed || k.leader_done) return;
    bool quiet = now - k.last_output >= QUIET_MS, idle = true;
    enum waits found = WAITS_NOT;
    if (quiet && !k.pause.wanted && !stdin_pending() && know_input()) {
        struct tree tree = {0};
        tree_collect(&tree, false);
        for (int i = 0; i < tree.n && found != WAITS; i++) {
            if (!stopped(&tree.at[i]) && asks(tree.at[i].pid)) found = WAITS;
            if (stopped(&tree.at[i]) || tree.at[i].state == 'R') idle = false;
        }
        if (found != WAITS && idle && tree.n > 0 && now - k.last_output >= AGAIN_MS) found = WAITS_MAYBE;
        tree_free(&tree);
    }
    k.wait_at = quiet ? now + AGAIN_MS : k.last_output + QUIET_MS;
    if (found == k.waiting) return;
    k.waiting = found;
    record_live();
    tell(T_WAITING);
}
