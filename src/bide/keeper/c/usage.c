/* What the job's tree used.
 *
 * The kernel adds the figures of a child to those of its parent when the parent waits for it. So the tree's figures at one
 * moment are the sum over its processes, zombies included, and over the children that the keeper reaped. Two things
 * escape that sum: a child of a parent that ignores SIGCHLD, and, for a keeper that took over, a process that somebody
 * else reaps. Of these the last sample counts, and their CPU time is in the figure of the job's control group, if it has one. */
#include "keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST_GAP = 100, GAP_MIN = 1000, GAP_MAX = 16000, REST = 50, TEXT = 4096, SHARE_MIN = 1 << 20 };

/* For functions with a large buffer: inlined, it would push what their caller calls onto more pages of the stack. */
#define OUT_OF_LINE __attribute__((noinline))

/* Reads bytes read and written so far. Returns how long the file was: reading our own counts as well. */
OUT_OF_LINE static size_t read_io(const char *path, struct figures *into) {
    char buffer[512];
    long long r = 0, w = 0;
    size_t n = slurp(path, buffer, sizeof buffer);
    if (n > 0) sscanf(buffer, "rchar: %lld wchar: %lld", &r, &w);
    into->read = r;
    into->written = w;
    return n;
}

/* The number behind this key at the start of a line; -1 if it is not there. */
static i64 number_after(const char *text, const char *key) {
    size_t n = strlen(key);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        if (*at == '\n') at++;
        if (strncmp(at, key, n) == 0) return strtoll(at + n, NULL, 10);
    }
    return -1;
}

OUT_OF_LINE static i64 number_in(const char *path, const char *key) {
    char buffer[1024];
    return path && slurp(path, buffer, sizeof buffer) ? number_after(buffer, key) : -1;
}

bool oom_happened(void) { return number_in(k.spec.cg_oom, "oom_kill ") > 0; }

static i64 ticks_us(i64 ticks) { return ticks * 1000000 / sysconf(_SC_CLK_TCK); }

static i64 rusage_us(const struct rusage *ru) {
    return (ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * (i64)1000000 + ru->ru_utime.tv_usec + ru->ru_stime.tv_usec;
}

static void add(struct figures *sum, const struct figures *one) {
    sum->cpu_us += one->cpu_us;
    sum->read += one->read;
    sum->written += one->written;
}

static void raise_to(i64 *value, i64 to) {
    if (to > *value) *value = to;
}

/* The figures of all that is gone, with those that this keeper reaped. */
struct figures usage_gone(void) {
    struct figures gone = k.gone;
    struct rusage reaped;
    getrusage(RUSAGE_CHILDREN, &reaped);
    gone.cpu_us += rusage_us(&reaped);
    return gone;
}

/* All figures, before those of their children: a child that is reaped in between is then missed rather than counted twice. */
static void collect(struct tree *tree, bool thorough) {
    tree->zombies = true;
    tree->known = &k.before;
    tree_collect(tree, thorough);
    for (int i = 0; i < tree->n; i++) {
        struct proc *p = &tree->at[i];
        char path[40];
        snprintf(path, sizeof path, "/proc/%d/io", p->pid);
        read_io(path, &p->used);
        p->used.cpu_us = ticks_us(p->cpu_ticks);
    }
}

static const struct proc *same(const struct tree *tree, const struct proc *p) {
    const struct proc *found = tree_find(tree, p->pid);
    return found && found->ticks == p->ticks ? found : NULL;
}

static bool is_alive(const struct proc *p) { return p && p->state != 'Z'; }

/* A process that is gone, and whose figures nobody took up. */
static bool is_lost(const struct proc *p, const struct tree *now) {
    const struct proc *was = tree_find(&k.before, p->parent);
    struct proc fresh;
    if (kill(p->pid, 0) == 0 || errno != ESRCH) return false; /* it could not be read, for want of a descriptor say */
    if (was && is_alive(same(now, was))) /* its parent lives: did it wait for any child since? */
        return p->cpu_ticks > 0 && proc_read(was->pid, &fresh) && fresh.ticks == was->ticks &&
               fresh.waited_ticks == was->waited_ticks;
    if (!k.replacing || is_alive(tree_find(now, p->parent))) return false;
    for (; was; was = tree_find(&k.before, was->parent))
        if (is_alive(same(now, was))) return false; /* it may be among what that one waited for */
    return true;
}

/* The leader that ended is in no tree: its figures are exact, and known from its status. */
static bool leader_usage(struct rusage *ru, struct figures *into) {
    siginfo_t info = {0};
    char path[40];
    if (!k.leader || !k.leader_done || k.replacing || k.ended || k.unkillable) return false;
    if (syscall(SYS_waitid, P_PID, k.leader, &info, WEXITED | WNOHANG | WNOWAIT, ru) != 0 || info.si_pid == 0) return false;
    if (!into) return true;
    snprintf(path, sizeof path, "/proc/%d/io", k.leader);
    read_io(path, into);
    into->cpu_us = rusage_us(ru);
    return true;
}

/* The CPU time of all that was in the job's group, also of what the sum misses; -1 if no group counts it. */
static i64 cgroup_cpu_us(void) {
    i64 us = number_in(k.spec.cg_cpu, "usage_usec "), ns = us < 0 ? number_in(k.spec.cg_cpu, "") : -1;
    return ns < 0 ? us : ns / 1000;
}

/* Counts the tree; it becomes the one to compare the next one with. */
static void count(bool thorough) {
    struct tree now = {0};
    collect(&now, thorough);
    for (int i = 0; i < k.before.n; i++)
        if (!same(&now, &k.before.at[i]) && is_lost(&k.before.at[i], &now)) add(&k.gone, &k.before.at[i].used);
    struct figures sum = usage_gone(), leader;
    struct rusage ru;
    if (leader_usage(&ru, &leader)) add(&sum, &leader);
    k.processes = 0;
    for (int i = 0; i < now.n; i++) {
        add(&sum, &now.at[i].used);
        k.processes += now.at[i].state != 'Z' || now.at[i].threads > 1;
    }
    raise_to(&k.used.cpu_us, sum.cpu_us);
    raise_to(&k.used.cpu_us, cgroup_cpu_us());
    raise_to(&k.used.read, sum.read);
    raise_to(&k.used.written, sum.written);
    tree_free(&k.before);
    k.before = now;
}

i64 tree_cpu_ticks(void) {
    struct tree tree = {.zombies = true};
    tree_collect(&tree, false);
    i64 sum = usage_gone().cpu_us / ticks_us(1);
    for (int i = 0; i < tree.n; i++) sum += tree.at[i].cpu_ticks;
    tree_free(&tree);
    return sum;
}

/* Memory of one process that is not page cache: anonymous and shared. */
OUT_OF_LINE static i64 memory_of(const struct proc *p) {
    char path[48], buffer[TEXT];
    snprintf(path, sizeof path, "/proc/%d/status", p->pid);
    if (p->rss_pages == 0 || !slurp(path, buffer, sizeof buffer)) return 0;
    i64 anonymous = number_after(buffer, "RssAnon:"), shared = number_after(buffer, "RssShmem:");
    if (anonymous < 0) return p->rss_pages * sysconf(_SC_PAGESIZE);
    raise_to(&k.most_mapped, number_after(buffer, "RssFile:") * 1024);
    return (anonymous + shared) * 1024;
}

/* Its part of the memory that it shares with others; what it holds if the kernel does not say. */
OUT_OF_LINE static i64 share_of(const struct proc *p, i64 held) {
    char path[48], buffer[TEXT];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", p->pid);
    if (held < SHARE_MIN || !slurp(path, buffer, sizeof buffer)) return held;
    i64 anonymous = number_after(buffer, "Pss_Anon:"), shared = number_after(buffer, "Pss_Shmem:");
    return anonymous < 0 || shared < 0 ? held : (anonymous + shared) * 1024;
}

static i64 tree_memory(void) {
    i64 sum = 0;
    for (int i = 0; i < k.before.n; i++) sum += memory_of(&k.before.at[i]);
    return sum;
}

/* What forked processes share counts once. To know how much that is the kernel walks their pages, so it is asked only
 * where it makes a difference: when the sum is a new peak, or over the limit. */
static i64 tree_shares(i64 sum) {
    i64 shares = 0;
    bool matters = sum > k.peak || (k.spec.memory_sampled && sum > k.spec.memory_sampled);
    if (!matters || k.before.n < 2) return sum;
    for (int i = 0; i < k.before.n; i++) shares += share_of(&k.before.at[i], memory_of(&k.before.at[i]));
    return shares < sum ? shares : sum;
}

/* The same of the job's memory cgroup, which has its figures beside that of its peak; -1 if there is none. */
OUT_OF_LINE static i64 cgroup_memory(void) {
    const char *slash = k.spec.cg_peak ? strrchr(k.spec.cg_peak, '/') : NULL;
    char path[PATH_ROOM], buffer[TEXT];
    if (!slash || snprintf(path, sizeof path, "%.*s/memory.stat", (int)(slash - k.spec.cg_peak), k.spec.cg_peak) >= PATH_ROOM)
        return -1;
    if (!slurp(path, buffer, sizeof buffer)) return -1;
    bool unified = !k.spec.cg_event;
    i64 anonymous = number_after(buffer, unified ? "anon " : "total_rss ");
    i64 shared = number_after(buffer, unified ? "shmem " : "total_shmem ");
    return anonymous < 0 ? -1 : anonymous + (shared > 0 ? shared : 0);
}

static void count_memory(void) {
    i64 sum = tree_memory();
    k.memory = cgroup_memory();
    if (k.memory >= 0) k.from_cgroup = true;
    else k.memory = tree_shares(sum);
    raise_to(&k.peak, k.memory);
    /* The kernel gives up all page cache before it kills: the tree held as much as its limit allows. */
    if (oom_happened()) raise_to(&k.peak, number_in(k.spec.cg_peak, ""));
}

/* Looks at the tree; thoroughly, wherever its processes are. */
void usage_sample(bool thorough) {
    i64 began = mono_ms();
    count(thorough || (k.replacing && !k.before.at));
    count_memory();
    k.sampled = k.measured = true;
    /* A tree at rest is looked at ever more seldom; a limit to watch keeps the pace. One that is slow to look at has rest. */
    bool watch = k.spec.memory_sampled || k.spec.pids_sampled;
    bool moved = k.used.cpu_us / 1000 != k.last_cpu || began - k.last_output < GAP_MIN;
    k.last_cpu = k.used.cpu_us / 1000;
    k.sample_gap = moved || watch || k.sample_gap < GAP_MIN ? GAP_MIN : k.sample_gap < GAP_MAX ? k.sample_gap * 2 : GAP_MAX;
    i64 now = mono_ms();
    raise_to(&k.sample_gap, (now - began) * REST);
    k.sample_at = now + k.sample_gap;
}

void usage_begin(void) {
    k.sample_gap = FIRST_GAP;
    k.sample_at = mono_ms() + FIRST_GAP;
}

/* Reaps what ended, and keeps what it read and wrote. Never reaps the leader: until its end is on disk it stays a
 * zombie, so that whoever finds it after our death can still read how it ended. */
void usage_reaped(void) {
    bool kept = !k.replacing && !k.ended, any = false;
    struct figures was, is;
    size_t own = 0;
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
        bool leads = kept && info.si_pid == k.leader;
        if (leads) k.leader_done = true;
        if (leads && !tree_reap(k.leader, WNOWAIT)) break;
        if (!any) own = read_io("/proc/self/io", &was);
        any = true;
        /* The kernel names the leader first for as long as it is there, so the others are looked up. */
        if (leads) {
            while (tree_reap(k.leader, 0)) {}
            break;
        }
        waitpid(info.si_pid, NULL, 0);
    }
    if (!any) return;
    read_io("/proc/self/io", &is);
    k.gone.read += is.read - was.read - (i64)own;
    k.gone.written += is.written - was.written;
}

/* The figures of the job. Whatever ended is reaped or a zombie, so they are exact, unless we took the job over. */
void usage_final(void) {
    usage_reaped();
    count(k.replacing);
    count_memory();
    struct rusage reaped, leader;
    getrusage(RUSAGE_CHILDREN, &reaped);
    i64 largest = reaped.ru_maxrss, most = number_in(k.spec.cg_peak, "");
    if (leader_usage(&leader, NULL) && leader.ru_maxrss > largest) largest = leader.ru_maxrss;
    largest = largest * 1024 - k.most_mapped;
    raise_to(&k.peak, most > 0 && most < largest ? most : largest);
    k.measured = k.measured || !k.replacing || k.before.n > 0;
}
