/* Which processes belong to the job, told from /proc. */
#include "keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXITING = 4 }; /* PF_EXITING of the kernel, in field 9 of /proc/PID/stat */

size_t slurp(const char *path, char *buffer, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    if (fd < 0) return 0;
    while (have < room - 1) {
        ssize_t n = read(fd, buffer + have, room - 1 - have);
        if (n <= 0) break;
        have += (size_t)n;
    }
    close(fd);
    buffer[have] = '\0';
    return have;
}

bool proc_read(pid_t pid, struct proc *out) {
    char path[48], buffer[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!slurp(path, buffer, sizeof buffer)) return false;
    char *open = strchr(buffer, '('), *close = strrchr(buffer, ')');
    if (!open || !close || close < open) return false;
    memset(out, 0, sizeof *out);
    out->pid = pid;
    size_t n = (size_t)(close - open - 1);
    if (n >= COMM) n = COMM - 1;
    memcpy(out->comm, open + 1, n);
    int parent = 0, session = 0, threads = 0;
    unsigned flags = 0;
    unsigned long utime = 0, stime = 0;
    long long cutime = 0, cstime = 0, start = 0, rss = 0;
    if (sscanf(close + 2, "%c %d %*d %d %*d %*d %u %*u %*u %*u %*u %lu %lu %lld %lld %*d %*d %d %*d %lld %*u %lld",
               &out->state, &parent, &session, &flags, &utime, &stime, &cutime, &cstime, &threads, &start, &rss) < 10)
        return false;
    out->parent = parent;
    out->session = session;
    out->threads = threads;
    out->ending = (flags & EXITING) && threads < 2;
    out->ticks = start;
    out->waited_ticks = cutime + cstime;
    out->cpu_ticks = (i64)(utime + stime) + out->waited_ticks;
    out->rss_pages = rss;
    return true;
}

const struct proc *tree_find(const struct tree *tree, pid_t pid) {
    for (int i = 0; i < tree->n; i++)
        if (tree->at[i].pid == pid) return &tree->at[i];
    return NULL;
}

static void add(struct tree *tree, pid_t pid) {
    struct proc p;
    if (pid == k.leader && k.leader_done && !k.replacing && !k.ended && !k.unkillable) return; /* ours, over, and its number still taken */
    if (pid == getpid() || tree_find(tree, pid) || !proc_read(pid, &p) || p.state == 'X') return;
    if (p.state == 'Z' && p.threads < 2 && !tree->zombies) return; /* with more, only its first thread has ended */
    if (tree->n == tree->room) {
        int room = tree->room ? tree->room * 2 : 4;
        struct proc *at = realloc(tree->at, (size_t)room * sizeof *at);
        if (!at) return;
        tree->at = at;
        tree->room = room;
    }
    tree->at[tree->n++] = p;
}

/* A list of pids, read to its end: a number cut off in it would be a stranger's. */
struct list {
    int fd;
    ssize_t n, next;
    char buffer[8192];
};

static bool list_open(struct list *list, const char *path) {
    list->n = list->next = 0;
    return (list->fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0;
}

/* The next pid; 0 at the end, and then the list is closed. */
static pid_t list_next(struct list *list) {
    pid_t pid = 0;
    for (;;) {
        if (list->next == list->n) {
            list->n = read(list->fd, list->buffer, sizeof list->buffer);
            list->next = 0;
            if (list->n <= 0) break;
        }
        char c = list->buffer[list->next++];
        if (c >= '0' && c <= '9') pid = pid * 10 + (c - '0');
        else if (pid) return pid;
    }
    close(list->fd);
    return 0;
}

static const char own_children[] = "/proc/thread-self/children";

static void add_listed(struct tree *tree, const char *path) {
    struct list list;
    if (!list_open(&list, path)) return;
    for (pid_t child; (child = list_next(&list));) add(tree, child);
}

/* Waits for our children that ended, except this one; false if there are none. With WNOWAIT they stay. */
bool tree_reap(pid_t kept, int flags) {
    struct list list;
    bool any = false;
    if (!list_open(&list, own_children)) return false;
    for (pid_t child; (child = list_next(&list));) {
        siginfo_t info = {0};
        if (child != kept && waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | flags) == 0 && info.si_pid == child) any = true;
    }
    return any;
}

/* /proc/PID/task/TID/children lists only what that thread forked, so every thread is read. We have but one. */
static void add_children(struct tree *tree, pid_t pid) {
    char path[96];
    if (pid == getpid()) return add_listed(tree, own_children);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks) return;
    for (struct dirent *e; (e = readdir(tasks));) {
        if (e->d_name[0] < '0' || e->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", pid, e->d_name);
        add_listed(tree, path);
    }
    closedir(tasks);
}

static bool carries_marker(pid_t pid) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t want = strlen(k.spec.marker), keep = 0;
    bool found = false;
    static char buffer[65536];
    for (ssize_t n; !found && (n = read(fd, buffer + keep, sizeof buffer - 1 - keep)) > 0;) {
        size_t have = keep + (size_t)n;
        buffer[have] = '\0';
        for (char *at = buffer; !found && at < buffer + have; at++) {
            at = memmem(at, (size_t)(buffer + have - at), k.spec.marker, want);
            if (!at) break;
            found = (at == buffer || at[-1] == '\0') && at[want] == '\0';
        }
        keep = have < want + 1 ? have : want + 1;
        memmove(buffer, buffer + have - keep, keep);
    }
    close(fd);
    return found;
}

/* Processes that were handed to somebody else when a keeper died: same session, or the start marker in the environment.
 * The session's number is that of the leader's pid: without the leader it may be a stranger's by now. */
static void add_strays(struct tree *tree) {
    struct proc leader;
    bool in_session = k.leader && proc_read(k.leader, &leader) && leader.ticks == k.leader_ticks;
    DIR *all = opendir("/proc");
    if (!all) return;
    for (struct dirent *e; (e = readdir(all));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        struct proc p;
        if (pid <= 1 || pid == getpid() || !proc_read(pid, &p)) continue;
        if (p.ticks + 1 < k.leader_ticks) continue;
        if ((in_session && p.session == k.leader) || carries_marker(pid)) add(tree, pid);
    }
    closedir(all);
}

/* The living processes of the job, each after its parent. A keeper that was there from the start is the reaper of them all; one that took
 * over is not, and looks for strays when asked to be thorough. */
void tree_collect(struct tree *tree, bool thorough) {
    tree->n = 0;
    add_children(tree, getpid());
    if (k.replacing) {
        struct proc p;
        if (k.leader && proc_read(k.leader, &p) && p.ticks == k.leader_ticks) add(tree, k.leader);
        for (int i = 0; tree->known && i < tree->known->n; i++)
            if (proc_read(tree->known->at[i].pid, &p) && p.ticks == tree->known->at[i].ticks) add(tree, p.pid);
        if (thorough) add_strays(tree);
    }
    for (int i = 0; i < tree->n; i++) add_children(tree, tree->at[i].pid);
}

void tree_free(struct tree *tree) {
    free(tree->at);
    memset(tree, 0, sizeof *tree);
}

/* Signals exactly the process that was seen: the pidfd is taken first, then the start time is compared. */
bool tree_signal_one(const struct proc *p, int sig) {
    int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (fd < 0) return false;
    struct proc now;
    bool sent = proc_read(p->pid, &now) && now.ticks == p->ticks &&
                syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
    close(fd);
    return sent;
}

/* One that is stopped must go on to hear anything but a KILL. */
static bool reach(const struct proc *p, int sig) {
    bool sent = tree_signal_one(p, sig);
    if (sent && sig != SIGKILL) tree_signal_one(p, SIGCONT);
    return sent;
}

static bool knows(const struct tree *tree, const struct proc *p) {
    for (int i = 0; i < tree->n; i++)
        if (tree->at[i].pid == p->pid && tree->at[i].ticks == p->ticks) return true;
    return false;
}

/* Signals the processes of the job that are not known, which then are; returns how many. */
int tree_signal(int sig, bool thorough, struct tree *known) {
    struct tree tree = {0};
    int sent = 0;
    tree_collect(&tree, thorough);
    for (int i = 0; i < tree.n; i++)
        if (!knows(known, &tree.at[i])) sent += reach(&tree.at[i], sig);
    tree_free(known);
    *known = tree;
    return sent;
}
