/* The start of the program, behind a gate: `started` is on disk before it runs, so it never runs twice. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

enum { OOM_ADJUST = 200, GO = 'g', ABANDON = 'x' };

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

/* What the child has from us until the program runs: both ends of its start. */
struct start {
    int gate, report, record, terminal;
};

static struct start start = {.terminal = -1};
static int gate = -1; /* our end */

/* The program never ran: on record first, for whoever keeps the job by then, and told to the keeper that started it. */
static _Noreturn void fail(const struct start *s, int error, const char *stage) {
    char line[64];
    size_t n = (size_t)snprintf(line, sizeof line, "errno=%d stage=%s\n", error, stage);
    (void)!write(s->record, line, n);
    (void)!write(s->report, line, n);
    _exit(127);
}

/* Signals from the job reach only the job (Landlock scope, kernel 6.12). Older kernels: no fence, and `bide doctor` says so. */
static void fence(void) {
    struct {
        uint64_t fs, net, scoped;
    } rules = {0, 0, 2 /* LANDLOCK_SCOPE_SIGNAL */};
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* version */) < 6) return;
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (fd < 0) return;
    if (syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        syscall(SYS_landlock_restrict_self, fd, 0);
    }
    close(fd);
}

static bool onto(int from, int to) {
    if (from < 0) return false;
    return from == to ? fcntl(from, F_SETFD, 0) == 0 : dup2(from, to) >= 0;
}

static bool wire(int terminal) {
    if (k.spec.pty)
        return ioctl(terminal, TIOCSCTTY, 0) == 0 && onto(terminal, 0) && onto(terminal, 1) && onto(terminal, 2);
    return onto(open(k.spec.use_stdin ? "in.p" : "/dev/null", O_RDONLY | O_CLOEXEC), 0) &&
           onto(open("out.p", O_RDWR | O_CLOEXEC), 1) &&
           onto(k.spec.merge ? 1 : open("err.p", O_RDWR | O_CLOEXEC), 2);
}

static void unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_oom(void) {
    char text[16];
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, text, (size_t)snprintf(text, sizeof text, "%d", OOM_ADJUST));
    close(fd);
}

static void set_limits(void) {
    umask((mode_t)k.spec.umask);
    struct rlimit files;
    if (k.spec.nofile > 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = (rlim_t)k.spec.nofile < files.rlim_max ? (rlim_t)k.spec.nofile : files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* The kernel answers ENOENT for a program that exists as well, if its interpreter (or its loader) does not. */
static bool program_exists(const char *name) {
    char file[PATH_MAX];
    if (strchr(name, '/')) return access(name, F_OK) == 0;
    for (const char *dir = getenv("PATH"); dir; dir = *dir ? dir + 1 : NULL) {
        size_t n = strcspn(dir, ":");
        int size = snprintf(file, sizeof file, "%.*s/%s", n ? (int)n : 1, n ? dir : ".", name);
        if (size < (int)sizeof file && access(file, X_OK) == 0) return true;
        dir += n;
    }
    return false;
}

static _Noreturn void child(const struct start *s) {
    setsid();
    int unwired = wire(s->terminal) ? 0 : errno;
    set_oom();
    unblock_signals();
    char word = 0;
    ssize_t n;
    while ((n = read(s->gate, &word, 1)) < 0 && errno == EINTR) {}
    /* Our keeper died before the gate opened: nothing ran, so the record of the start is taken back. It is this very
     * file and no later one: whoever starts the job again begins with a file of his own. */
    if (n == 0) (void)!ftruncate(s->record, 0);
    if (n == 0 || word != GO) _exit(127);
    if (unwired) fail(s, unwired, "stdio");
    if (!k.spec.argv && !spec_load("spec", &k.spec)) fail(s, EIO, "spec"); /* forked before there was one */
    set_limits();
    if (chdir(k.spec.cwd) != 0) fail(s, errno, "cwd");
    if (k.spec.fence) fence();
    environ = k.spec.env;
    execvp(k.spec.argv[0], k.spec.argv);
    int error = errno;
    fail(s, error, error == ENOENT && program_exists(k.spec.argv[0]) ? "interpreter" : "exec");
}

static bool enter_groups(pid_t pid) {
    char text[16];
    int n = snprintf(text, sizeof text, "%d", pid);
    for (int i = 0; i < k.spec.joins; i++) {
        int fd = open(k.spec.join[i], O_WRONLY | O_CLOEXEC);
        bool in = fd >= 0 && write(fd, text, (size_t)n) == n;
        if (fd >= 0) close(fd);
        if (!in) return false;
    }
    return true;
}

/* A number of the job's environment, such as LINES; `usual` if it is not there or cannot be meant. */
static unsigned short measure(const char *name, unsigned short usual) {
    size_t n = strlen(name);
    for (char **at = k.spec.env; at && *at; at++) {
        if (strncmp(*at, name, n) != 0 || (*at)[n] != '=') continue;
        long found = strtol(*at + n + 1, NULL, 10);
        return found >= 1 && found <= 1000 ? (unsigned short)found : usual;
    }
    return usual;
}

static int open_terminal(void) {
    int on = 0;
    struct winsize size = {.ws_row = measure("LINES", 40), .ws_col = measure("COLUMNS", 120)};
    k.master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (k.master < 0 || ioctl(k.master, TIOCSPTLCK, &on) != 0) return -1;
    ioctl(k.master, TIOCSWINSZ, &size);
    return ioctl(k.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void refuse(const char *stage) {
    k.spawn_errno = errno;
    snprintf(k.spawn_stage, sizeof k.spawn_stage, "%s", stage);
    k.leader_done = true;
}

static void open_stdin(void) {
    k.in_file = open("in", O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    if (!k.spec.pty) k.in_pipe = open("in.p", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* Makes the file for the start; whether there was room for it. */
bool launch_record(void) { return (start.record = record_open_started()) >= 0; }

/* Makes the child that waits at the gate; what could not be had, or NULL. */
const char *launch_fork(void) {
    int gates[2], report[2];
    if (k.spec.use_stdin || k.spec.pty) open_stdin();
    if (k.spec.pty && (start.terminal = open_terminal()) < 0) return "terminal";
    if (pipe2(gates, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) return "pipe";
    start.gate = gates[0];
    start.report = report[1];
    pid_t pid = fork();
    if (pid < 0) return "fork";
    if (pid == 0) {
        close(gates[1]);
        child(&start);
    }
    close(gates[0]);
    close(report[1]);
    if (start.terminal >= 0) close(start.terminal);
    gate = gates[1];
    k.report = report[0];
    fcntl(k.report, F_SETFL, O_NONBLOCK);
    struct proc p = {0};
    k.leader = pid;
    k.leader_ticks = proc_read(pid, &p) ? p.ticks : 0;
    return NULL;
}

/* Lets it run the program, with the start on record. False if the disk has no room for that record: nothing has run. */
bool launch_go(void) {
    char word = GO;
    bool full = false;
    k.started_mono = k.last_output = mono_ms();
    k.started_wall = wall_ms();
    if (!enter_groups(k.leader)) {
        word = ABANDON;
        refuse("cgroup");
    } else if (!record_started(start.record)) {
        full = errno == ENOSPC || errno == EDQUOT;
        word = ABANDON;
        refuse("record");
    } else {
        tell(T_FDS); /* while nothing runs yet that would miss its terminal if we died */
    }
    close(start.record);
    (void)!write(gate, &word, 1);
    close(gate);
    if (word == ABANDON) waitid(P_PID, (id_t)k.leader, NULL, WEXITED | WNOWAIT);
    return !full;
}

/* No program is to run after all: the child that waits at the gate ends. */
void launch_not(void) {
    close(gate);
    if (k.leader) waitpid(k.leader, NULL, 0);
}

bool launch(void) {
    const char *failed = launch_fork();
    if (!failed) return launch_go();
    k.started_mono = mono_ms();
    k.started_wall = wall_ms();
    refuse(failed);
    return true;
}

/* Has what tells how the leader of a job that another keeper started ends. */
bool hold_leader(void) {
    struct proc p;
    pid_t leader = k.leader;
    i64 ticks = k.leader_ticks;
    if (!record_read_started()) return false;
    if (k.leader_fd >= 0 && leader == k.leader && ticks == k.leader_ticks) return true;
    if (k.leader_fd >= 0) close(k.leader_fd); /* a start that was taken back meanwhile, and followed by another */
    k.leader_fd = (int)syscall(SYS_pidfd_open, k.leader, 0);
    if (k.leader_fd >= 0 && (!proc_read(k.leader, &p) || p.ticks != k.leader_ticks)) {
        close(k.leader_fd);
        k.leader_fd = -1;
    }
    return true;
}

/* Takes over a job whose keeper is gone. */
bool attach(void) {
    if (!hold_leader()) return false;
    k.taken_over++;
    k.last_output = mono_ms();
    if (k.leader_fd < 0) k.leader_done = true;
    if ((k.spec.use_stdin || k.spec.pty) && k.in_file < 0) {
        k.in_file = open("in", O_RDONLY | O_CLOEXEC);
        if (k.in_file >= 0) lseek(k.in_file, k.in_pos, SEEK_SET);
    }
    if (k.in_file >= 0) k.in_pos = lseek(k.in_file, 0, SEEK_CUR);
    if (k.spec.use_stdin && !k.spec.pty && !k.in_closed) k.in_pipe = open("in.p", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return true;
}

/* For a client inside a fenced job: a daemon it started itself would be inside the fence as well. The daemon is no part
 * of the job: it becomes somebody else's child, and nothing that ends the job reaches it. */
void start_daemon(void) {
    if (!k.spec.starter || !k.spec.starter[0]) return;
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    pid_t between = fork();
    if (between != 0) {
        if (between > 0) waitpid(between, NULL, 0);
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        return;
    }
    setsid();
    if (fork() != 0) _exit(0);
    unblock_signals();
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    execv(k.spec.starter[0], k.spec.starter);
    _exit(127);
}
