/* recorder LOG PID...   records what these processes, and all that they start, write, sync, rename, remove and send
 *
 * One line per entry and one per exit of such a system call, in the order in which the kernel let it through: a program
 * that waits for a call to return is not past it before its exit is in the log. The log is the order that a power cut sees.
 *
 *   E|X <tab> thread <tab> call <tab> result <tab> path <tab> second path <tab> data in hex
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GET_SYSCALL_INFO = 0x420e, ENTRY = 1, EXIT = 2, EVENT_STOP = 128 }; /* as the kernel has them */
enum { MOST = 1 << 16, TRACEES = 4096, VECTORS = 64, SYSCALL_STOP = SIGTRAP | 0x80 };

struct info {
    uint8_t op, rest[7];
    uint64_t ip, sp;
    union {
        struct {
            uint64_t number, args[6];
        } entry;
        struct {
            int64_t result;
        } exit;
    };
};

static FILE *out;
static struct {
    pid_t tid;
    int call; /* of the table, or -1 */
} in[TRACEES];
static int known;

/* How a call names what it changes. */
enum how { FD0, FD_OUT, PATH0, PATH1, PATHS, PATHS_AT, DATA, VECTOR, MESSAGE };
static const struct {
    long number;
    const char *name;
    enum how how;
} calls[] = {
    {SYS_write, "write", DATA},
    {SYS_pwrite64, "pwrite", DATA},
    {SYS_sendto, "send", DATA},
    {SYS_writev, "write", VECTOR},
    {SYS_pwritev, "pwrite", VECTOR},
    {SYS_sendmsg, "send", MESSAGE},
    {SYS_splice, "splice", FD_OUT},
    {SYS_sendfile, "sendfile", FD0},
    {SYS_fsync, "fsync", FD0},
    {SYS_fdatasync, "fdatasync", FD0},
    {SYS_ftruncate, "truncate", FD0},
    {SYS_renameat, "rename", PATHS_AT},
    {SYS_renameat2, "rename", PATHS_AT},
    {SYS_unlinkat, "unlink", PATH1},
#ifdef SYS_rename
    {SYS_rename, "rename", PATHS},
    {SYS_unlink, "unlink", PATH0},
    {SYS_rmdir, "unlink", PATH0},
#endif
};

static int find(pid_t tid) {
    for (int i = 0; i < known; i++)
        if (in[i].tid == tid) return i;
    if (known == TRACEES) exit(1);
    in[known].tid = tid;
    in[known].call = -1;
    return known++;
}

static size_t peek(pid_t tid, uint64_t at, void *into, size_t n) {
    struct iovec here = {into, n}, there = {(void *)at, n};
    ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

static void put_link(pid_t tid, const char *what) {
    char path[64], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/%s", tid, what);
    ssize_t n = readlink(path, target, sizeof target - 1);
    fprintf(out, "%.*s", n > 0 ? (int)n : 0, target);
}

static void put_fd(pid_t tid, uint64_t fd) {
    char what[32];
    snprintf(what, sizeof what, "fd/%d", (int)fd);
    put_link(tid, what);
}

static void put_path(pid_t tid, int folder, uint64_t at) {
    char text[PATH_MAX] = "";
    for (size_t n = 0; n < sizeof text - 1 && peek(tid, at + n, text + n, 1) == 1 && text[n]; n++) continue;
    if (text[0] != '/') {
        if (folder == AT_FDCWD) put_link(tid, "cwd");
        else put_fd(tid, (uint64_t)folder);
        fputc('/', out);
    }
    fputs(text, out);
}

static void put_data(pid_t tid, uint64_t at, size_t n) {
    static unsigned char bytes[MOST];
    n = peek(tid, at, bytes, n < MOST ? n : MOST);
    for (size_t i = 0; i < n; i++) fprintf(out, "%02x", bytes[i]);
}

static void put_vector(pid_t tid, uint64_t at, size_t n) {
    struct iovec parts[VECTORS];
    n = peek(tid, at, parts, (n < VECTORS ? n : VECTORS) * sizeof *parts) / sizeof *parts;
    for (size_t i = 0; i < n; i++) put_data(tid, (uint64_t)parts[i].iov_base, parts[i].iov_len);
}

static void put_call(pid_t tid, int i, const uint64_t *args) {
    struct {
        uint64_t name, name_length, parts, count;
    } message = {0};
    fprintf(out, "E\t%d\t%s\t0\t", tid, calls[i].name);
    switch (calls[i].how) {
    case FD0: put_fd(tid, args[0]); break;
    case FD_OUT: put_fd(tid, args[2]); break;
    case PATH0: put_path(tid, AT_FDCWD, args[0]); break;
    case PATH1: put_path(tid, (int)args[0], args[1]); break;
    case PATHS:
        put_path(tid, AT_FDCWD, args[0]);
        fputc('\t', out);
        put_path(tid, AT_FDCWD, args[1]);
        break;
    case PATHS_AT:
        put_path(tid, (int)args[0], args[1]);
        fputc('\t', out);
        put_path(tid, (int)args[2], args[3]);
        break;
    default:
        put_fd(tid, args[0]);
        fputs("\t\t", out);
        if (calls[i].how == DATA) put_data(tid, args[1], args[2]);
        else if (calls[i].how == VECTOR) put_vector(tid, args[1], args[2]);
        else if (peek(tid, args[1], &message, sizeof message) == sizeof message) put_vector(tid, message.parts, message.count);
    }
    fputc('\n', out);
}

static void on_call(pid_t tid) {
    struct info info = {0};
    int at = find(tid);
    ptrace(GET_SYSCALL_INFO, tid, sizeof info, &info);
    if (info.op == EXIT && in[at].call >= 0)
        fprintf(out, "X\t%d\t%s\t%lld\n", tid, calls[in[at].call].name, (long long)info.exit.result);
    in[at].call = -1;
    for (int i = 0; info.op == ENTRY && i < (int)(sizeof calls / sizeof *calls); i++)
        if ((uint64_t)calls[i].number == info.entry.number) {
            in[at].call = i;
            put_call(tid, i, info.entry.args);
            break;
        }
}

static void seize(pid_t pid) {
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        pid_t tid = (pid_t)atoi(e->d_name);
        if (tid <= 0) continue;
        if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) == 0) ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        else if (tid == pid) fprintf(out, "refused %d\n", errno);
    }
    if (tasks) closedir(tasks);
}

int main(int argc, char **argv) {
    int status;
    if (argc < 3 || !(out = fopen(argv[1], "w"))) return 1;
    setvbuf(out, NULL, _IOLBF, 1 << 17);
    for (int i = 2; i < argc; i++) seize((pid_t)atoi(argv[i]));
    fputs("ready\n", out);
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
        if (tid <= 0 || !WIFSTOPPED(status)) continue;
        int sig = WSTOPSIG(status), event = status >> 16;
        if (sig == SYSCALL_STOP) on_call(tid);
        bool group_stop = event == EVENT_STOP && sig != SIGTRAP;
        ptrace(group_stop ? PTRACE_LISTEN : PTRACE_SYSCALL, tid, NULL, (void *)(long)(sig == SYSCALL_STOP || event ? 0 : sig));
    }
    return 0;
}
