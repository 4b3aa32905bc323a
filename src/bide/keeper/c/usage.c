/* What the job's tree used: exact at the end where the kernel says, sampled at most once a second meanwhile. */
#include "keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GAP_MIN = 1000, GAP_MAX = 16000 };

i64 io_read_file(const char *path, i64 *written) {
    char buffer[512];
    long long r = 0, w = 0;
    if (slurp(path, buffer, sizeof buffer)) sscanf(buffer, "rchar: %lld wchar: %lld", &r, &w);
    *written = w;
    return r;
}

static i64 io_of(pid_t pid, i64 *written) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    return io_read_file(path, written);
}

static i64 number_in(const char *path, const char *key) {
    char buffer[1024];
    if (!path || !slurp(path, buffer, sizeof buffer)) return 0;
    const char *at = key ? strstr(buffer, key) : buffer;
    return at ? strtoll(at + (key ? strlen(key) : 0), NULL, 10) : 0;
}

bool oom_happened(void) { return number_in(k.spec.cg_oom, "oom_kill ") > 0; }

static i64 reaped_ticks(void) {
    struct rusage ru;
    getrusage(RUSAGE_CHILDREN, &ru);
    long hz = sysconf(_SC_CLK_TCK);
    return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * hz + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * hz / 1000000;
}

i64 tree_cpu_ticks(void) {
    struct tree tree = {0};
    i64 sum = reaped_ticks();
    tree_collect(&tree, false);
    for (int i = 0; i < tree.n; i++) sum += tree.at[i].cpu_ticks;
    tree_free(&tree);
    return sum;
}

void usage_sample(void) {
    struct tree tree = {0};
    i64 cpu = reaped_ticks(), rss = 0, r = k.reaped_read, w = k.reaped_written, one;
    tree_collect(&tree, false);
    for (int i = 0; i < tree.n; i++) {
        cpu += tree.at[i].cpu_ticks;
        rss += tree.at[i].rss_pages;
        r += io_of(tree.at[i].pid, &one);
        w += one;
    }
    k.processes = tree.n;
    tree_free(&tree);
    k.rss = rss * sysconf(_SC_PAGESIZE);
    if (k.rss > k.peak) k.peak = k.rss;
    k.cpu_ms = cpu * 1000 / sysconf(_SC_CLK_TCK);
    k.live_read = r;
    k.live_written = w;
    k.sampled = true;
    /* A tree at rest is looked at ever more seldom; a limit to watch keeps the pace. */
    bool watch = k.spec.memory_sampled || k.spec.pids_sampled;
    bool moved = k.cpu_ms != k.last_cpu || mono_ms() - k.last_output < GAP_MIN;
    k.last_cpu = k.cpu_ms;
    k.sample_gap = moved || watch ? GAP_MIN : k.sample_gap < GAP_MAX ? k.sample_gap * 2 : GAP_MAX;
    if (k.spec.cg_peak) {
        i64 peak = number_in(k.spec.cg_peak, NULL);
        if (peak > 0) k.peak = peak;
    }
    k.sample_at = mono_ms() + k.sample_gap;
}

/* Reaps orphans that ended, and keeps what they read and wrote. Never reaps the leader: until its end is on disk it
 * stays a zombie, so that whoever finds it after our death can still read how it ended. */
void usage_reaped(void) {
    i64 before_r = 0, before_w = 0, after_w;
    bool any = false;
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
        if (info.si_pid == k.leader && !k.replacing && !k.ended) {
            k.leader_done = true;
            break;
        }
        if (!any) before_r = io_read_file("/proc/self/io", &before_w);
        any = true;
        waitpid(info.si_pid, NULL, 0);
    }
    if (any) {
        k.reaped_read += io_read_file("/proc/self/io", &after_w) - before_r;
        k.reaped_written += after_w - before_w;
    }
}

void usage_final(void) {
    i64 w = 0, r = k.leader ? io_of(k.leader, &w) : 0;
    i64 peak = number_in(k.spec.cg_peak, NULL);
    struct rusage all, own;
    getrusage(RUSAGE_CHILDREN, &all);
    memset(&own, 0, sizeof own);
    siginfo_t info = {0};
    struct proc p;
    if (!k.replacing && k.leader) {
        syscall(SYS_waitid, P_PID, k.leader, &info, WEXITED | WNOHANG | WNOWAIT, &own);
        k.cpu_ms = (own.ru_utime.tv_sec + own.ru_stime.tv_sec + all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000 +
                   (own.ru_utime.tv_usec + own.ru_stime.tv_usec + all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1000;
        k.live_read = r + k.reaped_read;
        k.live_written = w + k.reaped_written;
    } else if (k.leader && proc_read(k.leader, &p) && p.ticks == k.leader_ticks) {
        k.cpu_ms = p.cpu_ticks * 1000 / sysconf(_SC_CLK_TCK);
        if (r + w > 0) k.live_read = r, k.live_written = w;
    }
    i64 largest = (own.ru_maxrss > all.ru_maxrss ? own.ru_maxrss : all.ru_maxrss) * 1024;
    if (largest > k.peak) k.peak = largest;
    if (peak > 0) k.peak = peak;
}
