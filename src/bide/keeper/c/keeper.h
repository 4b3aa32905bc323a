/* bide-keeper: one small process per job. It starts the program, moves its output to files, obeys
 * its limits and records its end. docs/keeper.md is the contract of the folder it works in. */
#ifndef KEEPER_H
#define KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int64_t i64;

enum { RECORD = 4096, COMM = 32, BY = 128, PATHS = 8, PATH_ROOM = 4352 };
enum { OUT = 0, ERR = 1, STREAMS = 2 };
enum { T_STARTED = 1, T_ENDED = 2, T_KILLED = 4, T_WAITING = 8, T_INPUT = 16, T_STALLED = 32, T_FDS = 64 }; /* notes to the daemon */

/* What the daemon asked for: read once from the file `spec`. */
struct spec {
    const char *cwd;
    char **argv, **env, **starter; /* starter: how to start a daemon, for jobs that are fenced in */
    i64 timeout_ms, idle_ms, grace_ms, cap;
    i64 memory_sampled, pids_sampled; /* limits to watch by sampling; 0 = none or the kernel does it */
    i64 memory_limit, pids_limit;     /* the same limits, whoever watches them */
    i64 nofile;
    int umask;
    bool use_stdin, pty, merge, fence, idle_cpu, cap_kills;
    const char *join[PATHS], *remove[PATHS]; /* cgroup.procs files to enter; cgroup folders to remove */
    const char *inside[PATHS], *loose[PATHS]; /* groups to stay in; limits that no group holds; see groups.c */
    int joins, removes, insides, looses;
    const char *cg_oom, *cg_peak, *cg_event; /* files with oom_kill counts, the peak, v1 event_control */
    const char *cg_cpu;                      /* cpu.stat, or cpuacct.usage of v1 */
    const char *marker;                      /* BIDE_JOB=<id>, as it stands in the job's environment */
    const char *boot;                        /* the boot and pid namespace in which its pids mean something */
};

struct stream {
    int pipe, file; /* read end of the FIFO, the log */
    i64 head, size; /* first byte kept, bytes written */
    bool eof, stalled, closed; /* no writers left; disk full; nothing more may be kept */
    i64 missing;    /* bytes that could not be kept */
    int bulk;       /* how often the pipe was found full */
};

/* What processes used. The kernel adds the figures of a child to those of its parent when the parent waits for it. */
struct figures {
    i64 cpu_us, read, written;
};

enum waits { WAITS_NOT, WAITS, WAITS_MAYBE }; /* for input: maybe is quiet and idle, where the kernel does not tell */

struct proc {
    pid_t pid, parent;
    i64 ticks; /* start time: with the pid it names a process for ever */
    char state;
    int threads;
    bool ending; /* it does nothing more, and is not quite gone */
    i64 cpu_ticks, waited_ticks, rss_pages; /* cpu_ticks include waited_ticks: those of children it waited for */
    struct figures used;                    /* set by usage.c alone */
    pid_t session;
    char comm[COMM];
};

struct tree {
    struct proc *at;
    int n, room;
    bool zombies;             /* collect these too; the leader never, while we are to record how it ended */
    const struct tree *known; /* a keeper that took over looks for these as well */
};

struct kill {
    bool active, hard, sent;
    int sig; /* of the kill that goes on; 0 = none */
    i64 escalate_at, give_up_at;
    int signalled;
    char token[40];
};

struct pause {
    bool wanted, active; /* the tree is to be stopped; it is not yet seen to be as wanted */
    int left;            /* processes that are not yet */
    i64 give_up_at;
    char token[40];
};

struct keeper {
    struct spec spec;
    struct stream stream[STREAMS];
    int streams;
    pid_t leader;
    i64 leader_ticks, started_mono, started_wall;
    bool replacing, leader_done, ended;
    bool unkillable;      /* the leader lives after all that KILL was given: its job ends without it, as leader_done says */
    int status;           /* wait status of the leader, when known */
    bool status_known, aborted, out_of_memory;
    int spawn_errno;
    char spawn_stage[24];
    int leader_fd, ctl, notify, report, master, in_file, in_pipe, children_fd, oom_fd, live;
    bool in_closed, in_eof, watch, watch_due;
    enum waits waiting;
    int untold; /* notes that could not be delivered yet */
    i64 in_pos;
    i64 started_note_at; /* the daemon is told of the start a moment later: many programs are over by then */
    i64 last_output, ended_mono, ended_wall, drain_until, watch_at, small_until, stall_at, guard_at, oom_until;
    char reason[16], by[BY]; /* the intent: why the job is being ended, set before the first signal; room for the longest Reason of model/phase.py */
    struct kill kill;
    struct pause pause;
    int taken_over;
    /* usage */
    struct figures used; /* by the whole tree so far: never decreases */
    struct figures gone; /* part of it: by processes that are gone, without those that we reaped ourselves */
    i64 peak, memory;    /* the most memory that the tree was seen to hold, and what it holds */
    bool measured, sampled, from_cgroup; /* the figures mean something; there was a sample; a cgroup told the memory */
    struct tree before;  /* the processes of the last sample */
    i64 most_mapped;     /* the most of mapped files that one process was seen to hold */
    i64 sample_at, sample_gap, last_cpu, wait_at;
    i64 idle_cpu_seen;
    int processes;
    int escaped; /* limits whose group a process of the job has left, as bits */
};

extern struct keeper k;

/* main.c */
i64 mono_ms(void);
i64 wall_ms(void);
int keep(const char *folder, bool replace, int in_file, int master);
int keep_later(const char *folder, int life);

/* nursery.c */
int nursery(int argc, char **argv);
void called(const char *name); /* what `ps` shows of us from now on */

/* spare.c */
bool spare_make(const char *folder);
bool spare_prepare(void);
bool spare_offer(void);
bool spare_wait(int life);
void spare_leave(void);

/* spec.c */
bool spec_load(const char *path, struct spec *spec);
bool same_boot(void);

/* launch.c */
bool launch(void);
bool launch_record(void);
const char *launch_fork(void);
bool launch_go(void);
void launch_not(void);
bool hold_leader(void);
bool attach(void);
void start_daemon(void);

/* pump.c */
void streams_hold(void);
bool streams_open(void);
i64 pump_all(void);
void pump_discard(void);
void stdin_pump(void);
void stdin_close(void);
bool stdin_pending(void);

/* tree.c */
bool proc_read(pid_t pid, struct proc *out);
void tree_collect(struct tree *tree, bool thorough);
const struct proc *tree_find(const struct tree *tree, pid_t pid);
bool tree_reap(pid_t kept, int flags);
void tree_free(struct tree *tree);
int tree_signal(int sig, bool thorough, struct tree *known);
bool tree_signal_one(const struct proc *p, int sig);
size_t slurp(const char *path, char *buffer, size_t room);

/* groups.c */
void groups_check(void);
void groups_escaped(int limits);
void groups_loose(void);
void groups_remove(void);

/* usage.c */
struct figures usage_gone(void);
void usage_begin(void);
void usage_sample(bool thorough);
void usage_final(void);
void usage_reaped(void);
i64 tree_cpu_ticks(void);
bool oom_happened(void);

/* record.c */
bool record_reserve(void);
int record_open_started(void);
bool record_started(int fd);
bool record_is_started(void);
bool record_read_started(void);
void record_failure(const char *line);
void record_live(void);
void record_live_load(void);
void record_end(void);
void tell(int what);
void tell_again(void);
void tell_output(void);
void tell_refused(int code);

/* control.c */
void control_read(void);
void limits_check(void);
void kill_begin(int sig, i64 grace_ms, const char *reason, const char *by, const char *token);
void kill_step(void);
void kill_resume(void);
i64 control_next(void);

/* pause.c */
void pause_begin(bool wanted, const char *token);
void pause_step(void);
void pause_resume(void);
void pause_over(void);
i64 pause_next(void);

/* waiting.c */
void waiting_check(void);

#endif
