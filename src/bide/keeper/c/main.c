/* bide-keeper FOLDER   keep the job of this folder
 * bide-keeper -N FD    make keepers on request; see nursery.c */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LATE_MS = 250, FULL_MS = 2000, RETRY_MS = 250, GUARD_MS = 5000, NOTE_MS = 10, SETTLE_MS = 3 };
enum { WITNESS_MS = 2000, TICK_MS = 10, OOM_MS = 1000 };
enum { LOCKED = 3, ALREADY = 4, BAD_SPEC = 5, NO_ROOM = 6, OTHER_BOOT = 7 };

struct keeper k = {.leader_fd = -1, .ctl = -1, .notify = -1, .report = -1, .master = -1, .in_file = -1, .in_pipe = -1,
                   .children_fd = -1, .oom_fd = -1, .live = -1, .spec = {.umask = 022}};

static i64 clock_ms(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (i64)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

i64 mono_ms(void) { return clock_ms(CLOCK_MONOTONIC); }
i64 wall_ms(void) { return clock_ms(CLOCK_REALTIME); }

/* A POSIX lock: the kernel drops it with us, a fork does not inherit it, and it tells others our pid. */
static bool take_lock(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0;
}

static void watch_children(void) {
    sigset_t all, chld;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    k.children_fd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* cgroup v1 only kills one process for want of memory; the event lets us end the whole job instead. */
static void watch_oom(void) {
    if (!k.spec.cg_event || !k.spec.cg_oom) return;
    char line[64];
    int control = open(k.spec.cg_event, O_WRONLY | O_CLOEXEC), file = open(k.spec.cg_oom, O_RDONLY | O_CLOEXEC);
    k.oom_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int n = snprintf(line, sizeof line, "%d %d", k.oom_fd, file);
    if (control < 0 || file < 0 || write(control, line, (size_t)n) != n) {
        close(k.oom_fd);
        k.oom_fd = -1;
    }
    if (control >= 0) close(control);
    if (file >= 0) close(file);
}

/* The report closes when the program runs; a line in it says that it could not be run. */
static void read_report(void) {
    char line[64];
    ssize_t n = read(k.report, line, sizeof line - 1);
    if (n < 0 && errno == EAGAIN) return;
    close(k.report);
    k.report = -1;
    if (n > 0) {
        line[n] = '\0';
        record_failure(line);
    }
    if (n == 0) k.started_note_at = mono_ms() + SETTLE_MS;
}

static bool child_status(void) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)k.leader, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    k.status = info.si_code == CLD_EXITED ? (info.si_status & 255) << 8
                                          : info.si_status | (info.si_code == CLD_DUMPED ? 128 : 0);
    return true;
}

/* The kernel keeps the exit status of a reaped process for whoever holds its pidfd (6.15 and later). */
static bool pidfd_status(void) {
    struct {
        uint64_t mask;
        uint8_t rest[52];
        int32_t exit_code;
    } info = {.mask = 1 << 3};
    if (k.leader_fd < 0 || ioctl(k.leader_fd, _IOWR(0xFF, 11, char[64]), &info) != 0 || !(info.mask & (1 << 3))) return false;
    k.status = info.exit_code;
    return true;
}

/* A zombie shows its status; it shows 0 as well to those who may not look, so 0 counts only for a process of ours. */
static bool zombie_status(void) {
    char path[32], buffer[1024];
    struct stat st;
    struct proc p;
    snprintf(path, sizeof path, "/proc/%d/stat", k.leader);
    if (!proc_read(k.leader, &p) || p.ticks != k.leader_ticks || p.state != 'Z') return false;
    if (!slurp(path, buffer, sizeof buffer) || stat(path, &st) != 0) return false;
    char *last = strrchr(buffer, ' ');
    k.status = last ? atoi(last + 1) : 0;
    return k.status != 0 || st.st_uid == geteuid();
}

static bool witness_status(void) {
    char line[32];
    size_t n = slurp("status", line, sizeof line);
    if (n == 0 || line[n - 1] != '\n') return false;
    k.status = atoi(line);
    return true;
}

/* A take-over is not the leader's parent: the daemon may be, and writes what it learns to `status`. */
static void learn_status(void) {
    if (!k.replacing) {
        k.status_known = child_status();
        return;
    }
    for (i64 until = mono_ms() + WITNESS_MS; !k.status_known; ) {
        k.status_known = witness_status() || zombie_status() || pidfd_status();
        if (k.status_known || mono_ms() >= until) return;
        poll(NULL, 0, TICK_MS);
    }
}

static void on_leader_done(void) {
    k.ended_mono = mono_ms();
    k.ended_wall = wall_ms();
    k.drain_until = k.ended_mono + LATE_MS;
    if (k.report >= 0) read_report();
    if (k.replacing) k.aborted = !record_read_started();
    if (!k.ended && !k.spawn_errno && !k.aborted && !k.unkillable && k.leader) learn_status();
    /* The kernel counts before it kills: a leader that ends because a child was killed does so after the count. */
    k.out_of_memory = k.status_known && oom_happened();
    if (!k.ended && !k.kill.active && k.out_of_memory) kill_begin(SIGKILL, 0, "oom", "limit", ""); /* what the kernel left alive */
}

static bool drained(void) {
    bool stalled = false;
    if (k.kill.active && (k.kill.hard || k.reason[0]) && !k.unkillable) return false; /* if we end the job, it is over when its tree is gone */
    for (int i = 0; i < k.streams; i++) {
        if (k.stream[i].stalled) stalled = true;
        else if (!k.stream[i].eof && mono_ms() < k.drain_until) return false;
    }
    return !stalled || mono_ms() >= k.ended_mono + FULL_MS;
}

static void count_missing(void) {
    for (int i = 0; i < k.streams; i++) {
        int n = 0;
        if (k.stream[i].stalled && ioctl(k.stream[i].pipe, FIONREAD, &n) == 0) k.stream[i].missing += n;
        k.stream[i].closed = true;
    }
}

static void leave(int code) {
    groups_remove();
    _exit(code);
}

/* After the end: while descendants are alive, somebody who can still end them. */
static void after_end(void) {
    if (!k.replacing && k.leader) waitpid(k.leader, NULL, k.unkillable ? WNOHANG : 0);
    kill_step();
}

/* All that is left of the job is below us, unless we took it over: then it may be anywhere, and is looked for. */
static bool guards(void) {
    siginfo_t info;
    usage_reaped();
    if (k.kill.active || k.untold || waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return true;
    if (!k.replacing || mono_ms() < k.guard_at) return k.replacing;
    struct tree tree = {0};
    tree_collect(&tree, true);
    int n = tree.n;
    tree_free(&tree);
    k.guard_at = mono_ms() + GUARD_MS;
    return n > 0;
}

static i64 sooner(i64 a, i64 b) { return a == 0 ? b : b == 0 ? a : a < b ? a : b; }

static int next_wait(i64 now) {
    i64 next = control_next();
    bool stalled = k.stream[OUT].stalled || k.stream[ERR].stalled;
    if (k.small_until > now) next = sooner(next, k.small_until);
    if (stalled) next = sooner(next, k.stall_at);
    if (k.watch && k.watch_due && !k.ended) next = sooner(next, k.watch_at > now ? k.watch_at : now + 1);
    if (k.leader_done && !k.ended) next = sooner(next, stalled ? now + RETRY_MS : now + TICK_MS);
    if (k.untold || (k.in_eof && !k.in_closed)) next = sooner(next, now + RETRY_MS);
    if (k.ended) next = sooner(next, now + (k.replacing ? GUARD_MS : 60 * GUARD_MS));
    if (!k.leader_done) next = sooner(sooner(sooner(next, k.sample_at), k.wait_at), k.started_note_at);
    if (k.oom_until > now) next = sooner(next, now + TICK_MS);
    if (next == 0) return -1;
    return next <= now ? 0 : (int)(next - now);
}

static void wait_for_something(void) {
    i64 now = mono_ms();
    bool quiet_pipes = k.small_until > now;
    struct pollfd fds[10];
    int n = 0;
#define WATCH(descriptor, what) \
    if ((descriptor) >= 0) fds[n++] = (struct pollfd){.fd = (descriptor), .events = (what)}
    WATCH(k.ctl, POLLIN);
    WATCH(k.children_fd, POLLIN);
    WATCH(k.report, POLLIN);
    WATCH(k.oom_fd, POLLIN);
    if (!k.leader_done) WATCH(k.leader_fd, POLLIN);
    for (int i = 0; i < k.streams && !quiet_pipes; i++)
        if (!k.stream[i].eof && !k.stream[i].stalled) WATCH(k.stream[i].pipe, POLLIN);
    if (stdin_pending()) {
        WATCH(k.in_pipe, POLLOUT);
        WATCH(k.master, POLLIN | POLLOUT);
    } else if (!quiet_pipes) {
        WATCH(k.master, POLLIN);
    }
#undef WATCH
    poll(fds, (nfds_t)n, next_wait(now));
}

static void note_output(i64 moved) {
    i64 now = mono_ms();
    if (moved > 0 && k.waiting) {
        k.waiting = WAITS_NOT;
        record_live();
        tell(T_WAITING);
    }
    if (moved > 0 && (k.spec.use_stdin || k.spec.pty)) k.wait_at = now + 300;
    if (k.watch && k.watch_due && now >= k.watch_at && !k.ended) {
        tell_output();
        k.watch_at = now + NOTE_MS;
    }
}

static void note_children(void) {
    struct signalfd_siginfo info[8];
    while (read(k.children_fd, info, sizeof info) > 0) {}
    usage_reaped();
    if (k.replacing && k.leader_fd >= 0 && !k.leader_done) {
        struct pollfd fd = {.fd = k.leader_fd, .events = POLLIN};
        k.leader_done = poll(&fd, 1, 0) > 0;
    }
}

static void step(void) {
    static bool seen_done;
    struct stat st;
    uint64_t count;
    note_children();
    if (k.leader_done && !seen_done) {
        seen_done = true;
        on_leader_done();
    }
    if (k.report >= 0) read_report();
    i64 now = mono_ms();
    if (k.ended) pump_discard();
    else if (now >= k.small_until || k.leader_done) note_output(pump_all());
    stdin_pump();
    control_read();
    if (k.oom_fd >= 0 && read(k.oom_fd, &count, sizeof count) > 0) k.oom_until = now + OOM_MS;
    if (k.oom_until > now && !k.kill.active && oom_happened()) { /* the event may come before its count */
        k.oom_until = 0;
        kill_begin(SIGKILL, 0, "oom", "limit", "");
    }
    if (!k.leader_done && k.started_note_at && now >= k.started_note_at) {
        k.started_note_at = 0;
        tell(T_STARTED);
    }
    if (!k.leader_done && k.sample_at && now >= k.sample_at) {
        groups_check();
        usage_sample(false);
        record_live();
    }
    if (!k.leader_done && k.wait_at && now >= k.wait_at) waiting_check();
    limits_check();
    pause_step();
    kill_step();
    if (k.leader_done && seen_done && !k.ended && k.aborted) _exit(0); /* to be started again, in the same groups */
    if (k.leader_done && seen_done && !k.ended && drained()) {
        count_missing();
        if (k.unkillable && !k.replacing) k.status_known = child_status(); /* it may have ended meanwhile */
        record_end();
        if (k.ended) after_end();
        else if (stat("spec", &st) != 0) leave(NO_ROOM);
        else poll(NULL, 0, RETRY_MS);
    }
    tell_again();
    if (k.ended && !guards()) leave(0);
}

static void take_over(int in_file, int master) {
    k.replacing = true;
    k.in_file = in_file;
    k.master = master;
    record_live_load();
    k.ended = access("end", F_OK) == 0;
    if (!attach()) _exit(ALREADY);
    if (k.ended) k.leader_done = true;
}

static int refuse(int code) {
    tell_refused(code);
    return code;
}

static _Noreturn void go_on(void) {
    for (;;) {
        step();
        wait_for_something();
    }
}

static bool listen_to_requests(void) {
    k.ctl = open("ctl", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return k.ctl >= 0;
}

/* Keeps one job from start to end, and what outlives it. Returns only if it cannot begin. */
int keep(const char *folder, bool replace, int in_file, int master) {
    if (chdir(folder) != 0) return BAD_SPEC;
    if (replace) { /* before we count as its keeper: whoever has the lock will know how it ends, and has what it wrote by then */
        streams_hold();
        hold_leader();
    }
    if (!take_lock()) return LOCKED;
    if (!spec_load("spec", &k.spec)) return BAD_SPEC;
    watch_children();
    if (!replace && access("end", F_OK) == 0) return 0;
    if (!replace && record_is_started()) return ALREADY;
    if (replace && !same_boot()) return refuse(OTHER_BOOT);
    if (!listen_to_requests()) return refuse(BAD_SPEC);
    usage_begin();
    groups_loose();
    if (replace) take_over(in_file, master);
    if (!record_reserve() || !streams_open() || (!replace && !launch_record())) return refuse(NO_ROOM);
    if (!replace) {
        record_live();
        if (!launch()) return refuse(NO_ROOM);
    }
    if (k.spec.use_stdin || k.spec.pty) k.wait_at = mono_ms() + 300;
    watch_oom();
    if (replace) {
        record_live();
        tell(T_STARTED | T_FDS | (k.in_closed ? T_INPUT : 0)); /* what the one before us may not have said */
        pause_resume();
        kill_resume();
    }
    go_on();
}

/* Keeps a job that is not known yet: everything up to the start is done, and then waited. The job has no input, no terminal
 * and both streams. Returns if it cannot begin, or has been given none. */
int keep_later(const char *folder, int life) {
    if (!spare_make(folder)) return NO_ROOM;
    watch_children();
    if (!spare_prepare() || !take_lock() || !listen_to_requests() || !record_reserve() || !launch_record() ||
        !streams_open() || launch_fork() || !spare_offer() || !spare_wait(life)) {
        launch_not();
        spare_leave();
        return 0;
    }
    close(life);
    char here[PATH_ROOM];
    if (getcwd(here, sizeof here)) called(here);
    if (!spec_load("spec", &k.spec) || k.spec.use_stdin || k.spec.pty || k.spec.merge) return BAD_SPEC;
    usage_begin();
    groups_loose();
    record_live();
    if (!launch_go()) return refuse(NO_ROOM);
    watch_oom();
    go_on();
}

/* Whoever started us may ignore some, and what we fork would too. Once, and not for every job. */
static void plain_signals(void) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++) sigaction(sig, &usual, NULL);
}

int main(int argc, char **argv) {
    plain_signals();
    if (argc == 3 && strcmp(argv[1], "-N") == 0) return nursery(argc, argv);
    return argc == 2 ? keep(argv[1], false, -1, -1) : BAD_SPEC;
}
