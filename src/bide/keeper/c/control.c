/* What ends a job before its time: requests from the daemon, and limits. Both hold with no daemon alive. */
#include "keeper.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { STEP_MS = 20, SURE_MS = 3000, LOOK_MS = 200, ENDING_MS = 30000 };

/* The reason is on record before the first signal, so that no crash turns a kill into a mere exit code. */
static void intend(const char *reason, const char *by) {
    if (k.leader_done || k.reason[0]) return;
    snprintf(k.reason, sizeof k.reason, "%s", reason);
    snprintf(k.by, sizeof k.by, "%s", by);
}

static struct tree reached; /* by the signal of the kill in progress */

static void kill_send(void) {
    tree_free(&reached);
    k.kill.signalled = tree_signal(k.kill.sig, true, &reached);
    k.kill.sent = true;
    record_live();
}

void kill_begin(int sig, i64 grace_ms, const char *reason, const char *by, const char *token) {
    i64 now = mono_ms();
    intend(reason, by);
    pause_over();
    snprintf(k.kill.token, sizeof k.kill.token, "%s", token);
    k.kill.active = true;
    k.kill.sig = sig;
    k.kill.sent = false;
    k.kill.hard = sig == SIGKILL;
    k.kill.escalate_at = grace_ms > 0 && sig != SIGKILL ? now + grace_ms : 0;
    k.kill.give_up_at = k.kill.hard ? now + SURE_MS : grace_ms > 0 ? 0 : now + LOOK_MS;
    if (!k.ended) usage_sample(k.replacing);
    record_live();
    kill_send();
    kill_step();
}

/* The keeper before us was killed while it ended the job: what it had not yet done is ours to do. */
void kill_resume(void) {
    if (!k.kill.sig) return;
    i64 now = mono_ms();
    k.kill.active = true;
    k.kill.hard = k.kill.sig == SIGKILL;
    k.kill.give_up_at = k.kill.hard ? now + SURE_MS : k.kill.escalate_at ? 0 : now + LOOK_MS;
    if (!k.kill.sent) kill_send();
}

static bool tree_is_empty(void) {
    struct tree tree = {0};
    tree_collect(&tree, false);
    if (tree.n == 0 && k.replacing) tree_collect(&tree, true);
    bool empty = tree.n == 0;
    tree_free(&tree);
    return empty;
}

static void kill_done(void) {
    k.kill.active = false;
    k.kill.sig = 0;
    k.kill.escalate_at = k.guard_at = 0;
    if (k.leader_done && !k.ended && k.reason[0] && k.ended_mono) {
        k.ended_mono = mono_ms();
        k.ended_wall = wall_ms();
    }
    record_live();
    tell(T_KILLED);
}

/* Not even KILL ends the leader: the job is over, and its end names what survives. One that is about to be gone, and frees
 * much memory say, has more time: so its status is not lost. */
static void leader_survives(i64 now) {
    struct proc p;
    bool ending = proc_read(k.leader, &p) && p.ticks == k.leader_ticks && p.ending;
    if (!ending || now >= k.kill.give_up_at + ENDING_MS) k.leader_done = k.unkillable = true;
}

void kill_step(void) {
    if (!k.kill.active) return;
    if (tree_is_empty()) return kill_done();
    i64 now = mono_ms();
    if (!k.kill.hard && k.kill.escalate_at && now >= k.kill.escalate_at) {
        if (!k.ended) usage_sample(k.replacing);
        k.kill.hard = true;
        k.kill.give_up_at = now + SURE_MS;
    }
    if (k.kill.hard) {
        tree_free(&reached);
        tree_signal(SIGKILL, k.replacing, &reached);
    } else if (k.leader_done && !k.replacing) {
        /* What it began while it was told to end. Before it has ended that may be how it ends well. */
        k.kill.signalled += tree_signal(k.kill.sig, false, &reached);
    }
    if (!k.kill.give_up_at || now < k.kill.give_up_at) return;
    if (k.kill.hard && !k.leader_done) leader_survives(now);
    else if (!k.unkillable || k.ended) kill_done(); /* whoever asked is told when the end is on record */
}

static i64 sooner(i64 a, i64 b) { return a == 0 ? b : b == 0 ? a : a < b ? a : b; }

/* When the next thing here is due, by the monotonic clock; 0 = nothing. */
i64 control_next(void) {
    i64 next = k.kill.active ? mono_ms() + STEP_MS : pause_next();
    if (k.leader_done || k.kill.active) return next;
    if (k.spec.timeout_ms) next = sooner(next, k.started_mono + k.spec.timeout_ms);
    if (k.spec.idle_ms && !k.pause.wanted) next = sooner(next, k.last_output + k.spec.idle_ms);
    return next;
}

/* The tree is asked to end, and has its grace. */
static void limit(const char *reason) {
    bool soft = k.spec.grace_ms > 0;
    kill_begin(soft ? SIGTERM : SIGKILL, soft ? k.spec.grace_ms : 0, reason, "limit", "");
}

static void idle_check(i64 now) {
    if (k.stream[OUT].stalled || k.stream[ERR].stalled) {
        k.last_output = now;
        return;
    }
    if (k.spec.idle_cpu) {
        i64 cpu = tree_cpu_ticks();
        if (cpu != k.idle_cpu_seen) {
            k.idle_cpu_seen = cpu;
            k.last_output = now;
            return;
        }
    }
    limit("idle");
}

static bool over(i64 value, i64 limit) { return limit && value > limit; }

/* A sampled limit is kept by KILL at once, also from one that was told to end: in its grace it could fill the machine. */
void limits_check(void) {
    if (k.leader_done) return;
    i64 now = mono_ms();
    bool memory = over(k.memory, k.spec.memory_sampled), pids = over(k.processes, k.spec.pids_sampled);
    if (k.kill.active) {
        if (memory || pids) k.kill.escalate_at = now;
        return;
    }
    if (k.spec.timeout_ms && now >= k.started_mono + k.spec.timeout_ms) return limit("timed_out");
    if (k.spec.idle_ms && !k.pause.wanted && now >= k.last_output + k.spec.idle_ms) return idle_check(now);
    if (memory) return kill_begin(SIGKILL, 0, "oom", "limit", "");
    if (pids) return kill_begin(SIGKILL, 0, "killed", "pids limit", "");
}

static void obey(char *line) {
    int sig = 0, grace = 0, used = 0;
    char token[40] = "";
    if (sscanf(line, "kill %d %d %39s %n", &sig, &grace, token, &used) == 3) {
        kill_begin(sig, grace, "killed", used ? line + used : "", token);
    } else if (sscanf(line, "pause %39s", token) == 1) {
        pause_begin(true, token);
    } else if (sscanf(line, "resume %39s", token) == 1) {
        pause_begin(false, token);
    } else if (sscanf(line, "sig %d", &sig) == 1) {
        struct proc p;
        if (sig == SIGCONT && k.pause.wanted) pause_begin(false, "");
        if (!k.leader_done && k.leader > 1 && proc_read(k.leader, &p) && p.ticks == k.leader_ticks) kill(-k.leader, sig);
    } else if (strcmp(line, "in") == 0) {
        stdin_pump();
    } else if (strcmp(line, "adopt") == 0) {
        k.watch = k.watch_due = false;
        tell(T_FDS);
    } else if (strcmp(line, "watch 1") == 0 || strcmp(line, "watch 0") == 0) {
        k.watch = line[6] == '1';
        k.watch_due = k.watch;
    } else if (strcmp(line, "daemon") == 0) {
        start_daemon();
    }
}

void control_read(void) {
    static char buffer[4096];
    static size_t have;
    for (;;) {
        ssize_t n = read(k.ctl, buffer + have, sizeof buffer - 1 - have);
        if (n <= 0) return;
        have += (size_t)n;
        buffer[have] = '\0';
        char *line = buffer;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            obey(line);
        }
        have -= (size_t)(line - buffer);
        memmove(buffer, line, have);
        if (have >= sizeof buffer - 1) have = 0;
    }
}
