/* killat -N FD     stands in for bide-keeper: the real one (`keeper` beside this program) runs, and each keeper that it
 *                  makes is killed at the entry of the system call whose number is in `plan/1`, `plan/2`, … (0: never)
 * killat -p PID N  kills a process that runs, at its Nth system call from now on, of whatever thread
 * killat -w PID N  the same, where only system calls that change files count
 *
 * What became of each goes to the file `log` beside this program. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACEES = 4096, PLANS = 16, SEIZE_TRIES = 5000, SYSCALL_STOP = SIGTRAP | 0x80 };
enum { GET_SYSCALL_INFO = 0x420e, ENTRY = 1, EVENT_STOP = 128 }; /* as the kernel has them; C libraries differ in the names */

static char here[PATH_MAX];
static struct {
    pid_t pid;
    long count, limit;
} seen[TRACEES];
static int known;
static bool writes_only;

/* Whether a system call can change a file, a name or what of it is on disk. */
static bool changes_files(uint64_t number, const uint64_t *args) {
    static const long ALWAYS[] = {
        SYS_write,     SYS_writev,   SYS_pwrite64, SYS_pwritev,  SYS_ftruncate, SYS_fallocate, SYS_fsync,     SYS_fdatasync,
        SYS_renameat,  SYS_renameat2, SYS_unlinkat, SYS_linkat,   SYS_mkdirat,   SYS_utimensat, SYS_fchmodat,
#ifdef SYS_rename
        SYS_rename,    SYS_unlink,   SYS_link,     SYS_mkdir,    SYS_rmdir,
#endif
    };
    for (size_t i = 0; i < sizeof ALWAYS / sizeof *ALWAYS; i++)
        if ((uint64_t)ALWAYS[i] == number) return true;
    return number == SYS_openat && (args[2] & O_CREAT) != 0;
}

static void say(const char *format, ...) {
    char path[PATH_MAX + 16], line[128];
    snprintf(path, sizeof path, "%s/log", here);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)!write(fd, line, (size_t)n);
    close(fd);
}

/* The next plan, taken so that nobody takes it again; 0 if there is none. */
static long next_plan(void) {
    char from[PATH_MAX + 32], to[PATH_MAX + 32], text[32] = "";
    for (int i = 1; i < PLANS; i++) {
        snprintf(from, sizeof from, "%s/plan/%d", here, i);
        snprintf(to, sizeof to, "%s/taken", here);
        if (rename(from, to) != 0) continue;
        int fd = open(to, O_RDONLY | O_CLOEXEC);
        (void)!read(fd, text, sizeof text - 1);
        close(fd);
        return atol(text);
    }
    return 0;
}

static int find(pid_t pid) {
    for (int i = 0; i < known; i++)
        if (seen[i].pid == pid) return i;
    return -1;
}

static void forget(int i) { seen[i] = seen[--known]; }

static int add(pid_t pid, long limit) {
    seen[known].pid = pid;
    seen[known].count = 0;
    seen[known].limit = limit;
    return known++;
}

static void go_on(int request, pid_t pid, int sig) { ptrace(request, pid, NULL, (void *)(long)sig); }

/* At the entry of a system call: whether this was the last one. */
static int is_due(pid_t pid, long *count, long limit) {
    struct {
        uint8_t op, rest[7];
        uint64_t ip, sp, number, args[6];
    } info = {0};
    ptrace(GET_SYSCALL_INFO, pid, sizeof info, &info);
    if (info.op != ENTRY || (writes_only && !changes_files(info.number, info.args)) || ++*count != limit) return 0;
    say("killed %ld %llu\n", *count, (unsigned long long)info.number);
    return 1;
}

static void on_stop(pid_t nursery, pid_t pid, int status) {
    int sig = WSTOPSIG(status), event = status >> 16;
    if (pid == nursery) {
        go_on(event == EVENT_STOP && sig != SIGTRAP ? PTRACE_LISTEN : PTRACE_CONT, pid, event ? 0 : sig);
        return;
    }
    int i = find(pid);
    if (i < 0) {
        i = add(pid, next_plan());
        ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
        if (seen[i].limit == 0) {
            forget(i);
            go_on(PTRACE_DETACH, pid, 0);
            return;
        }
    }
    if (sig == SYSCALL_STOP && is_due(pid, &seen[i].count, seen[i].limit)) kill(pid, SIGKILL);
    go_on(PTRACE_SYSCALL, pid, sig == SYSCALL_STOP || event ? 0 : sig);
}

static void watch_nursery(pid_t nursery, int ready) {
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK;
    int status;
    if (ptrace(PTRACE_SEIZE, nursery, NULL, (void *)options) != 0 && errno != ESRCH) say("refused %d\n", errno);
    close(ready);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        int i = find(pid);
        if (WIFSTOPPED(status)) on_stop(nursery, pid, status);
        else if (i >= 0) {
            say("ended %ld %d\n", seen[i].count, status);
            forget(i);
        }
    }
    _exit(0);
}

static void be_nursery(char **argv) {
    int ready[2];
    char real[PATH_MAX + 16], byte;
    pid_t self = getpid();
    if (pipe2(ready, O_CLOEXEC) != 0) _exit(1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0) _exit(0);
        close(atoi(argv[2]));
        close(ready[0]);
        setsid();
        watch_nursery(self, ready[1]);
    }
    waitpid(between, NULL, 0);
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    snprintf(real, sizeof real, "%s/keeper", here);
    execv(real, argv);
    _exit(1);
}

/* Whoever traced it before us may still be about to leave. */
static bool seize(pid_t tid, int tries) {
    while (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) != 0) {
        if (errno != EPERM || tries-- <= 0) return false;
        usleep(1000);
    }
    return true;
}

static void kill_at(pid_t victim, long limit) {
    char path[64];
    long count = 0;
    int status;
    snprintf(path, sizeof path, "/proc/%d/task", victim);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        pid_t tid = (pid_t)atoi(e->d_name);
        if (tid <= 0) continue;
        if (!seize(tid, tid == victim ? SEIZE_TRIES : 0)) {
            if (tid != victim) continue; /* it has ended meanwhile, or was begun by one that is traced, and is so too */
            say("refused %d\n", errno);
            _exit(1);
        }
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        waitpid(tid, &status, __WALL);
        go_on(PTRACE_SYSCALL, tid, 0);
    }
    say("ready\n");
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status)) {
            if (tid == victim) break;
            continue;
        }
        int sig = WSTOPSIG(status), event = status >> 16;
        if (sig == SYSCALL_STOP && is_due(tid, &count, limit)) kill(victim, SIGKILL);
        go_on(PTRACE_SYSCALL, tid, sig == SYSCALL_STOP || event ? 0 : sig);
    }
    say("ended %ld %d\n", count, status);
    _exit(0);
}

int main(int argc, char **argv) {
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    if (n <= 0) return 1;
    here[n] = '\0';
    *strrchr(here, '/') = '\0';
    if (argc == 3 && strcmp(argv[1], "-N") == 0) be_nursery(argv);
    if (argc == 4 && (strcmp(argv[1], "-p") == 0 || strcmp(argv[1], "-w") == 0)) {
        writes_only = argv[1][1] == 'w';
        kill_at((pid_t)atoi(argv[2]), atol(argv[3]));
    }
    return 1;
}
