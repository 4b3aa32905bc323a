/* What is written down: `started`, `live`, `end`; and the datagrams that say so. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct text {
    char at[RECORD];
    size_t n;
};

static void put(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
    va_end(args);
    if (n > 0) t->n += (size_t)n < sizeof t->at - t->n ? (size_t)n : sizeof t->at - t->n - 1;
}

static void put_string(struct text *t, const char *key, const char *value) {
    put(t, ",\"%s\":\"", key);
    for (; *value && t->n < sizeof t->at - 64; value++) {
        unsigned char c = (unsigned char)*value;
        if (c == '"' || c == '\\')
            put(t, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            put(t, "\\u%04x", c);
        else
            put(t, "%c", c);
    }
    put(t, "\"");
}

/* One whole page, in place: a record is either the old one or the new one, and needs no room on a full disk. */
static bool write_page(int fd, struct text *t) {
    size_t n = t->n;
    memset(t->at + n, ' ', RECORD - n - 1);
    t->at[RECORD - 1] = '\n';
    bool ok = pwrite(fd, t->at, RECORD, 0) == RECORD;
    t->n = n;
    return ok;
}

static int reserve(const char *path) {
    struct text blank = {.n = 0};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && lseek(fd, 0, SEEK_END) < RECORD && !write_page(fd, &blank)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Room for the end is taken before the start, so that a full disk cannot keep it from being recorded. */
bool record_reserve(void) {
    k.live = reserve("live");
    int end = reserve("end.tmp");
    if (end >= 0) close(end);
    return k.live >= 0 && end >= 0;
}

/* A file of its own for every attempt: a child of an earlier one may still take its own record back. */
int record_open_started(void) {
    unlink("started");
    return open("started", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
}

bool record_started(int fd) {
    char line[160];
    int n = snprintf(line, sizeof line, "pid=%d ticks=%lld mono=%lld wall=%lld\n", k.leader, (long long)k.leader_ticks,
                     (long long)k.started_mono, (long long)k.started_wall);
    ssize_t written = write(fd, line, (size_t)n);
    if (written >= 0 && written < n) errno = ENOSPC;
    return written == n;
}

static bool slurp_started(char *line, size_t room) {
    size_t n = slurp("started", line, room);
    return n > 0 && line[n - 1] == '\n';
}

/* An empty file, or a line without its newline, means that the gate was never opened. */
bool record_is_started(void) {
    char line[256];
    return slurp_started(line, sizeof line);
}

/* Who runs; and, in a second line by the child itself, why the program could not be executed. */
bool record_read_started(void) {
    char line[256];
    long long ticks, mono, wall;
    if (!slurp_started(line, sizeof line) ||
        sscanf(line, "pid=%d ticks=%lld mono=%lld wall=%lld", &k.leader, &ticks, &mono, &wall) != 4)
        return false;
    k.leader_ticks = ticks;
    k.started_mono = mono;
    k.started_wall = wall;
    record_failure(strstr(line, "errno="));
    return true;
}

void record_failure(const char *line) {
    if (line) sscanf(line, "errno=%d stage=%23s", &k.spawn_errno, k.spawn_stage);
}

/* Null before anything was measured: 0 would be a figure. */
static void put_figure(struct text *t, const char *key, i64 value) {
    if (k.measured) put(t, ",\"%s\":%lld", key, (long long)value);
    else put(t, ",\"%s\":null", key);
}

static void put_state(struct text *t) {
    put(t, "\"out_head\":%lld,\"out_size\":%lld,\"err_head\":%lld,\"err_size\":%lld", (long long)k.stream[OUT].head,
        (long long)k.stream[OUT].size, (long long)k.stream[ERR].head, (long long)k.stream[ERR].size);
    put_figure(t, "cpu_ms", k.used.cpu_us / 1000);
    put_figure(t, "peak", k.peak);
    put_figure(t, "read", k.used.read);
    put_figure(t, "written", k.used.written);
    put_figure(t, "processes", k.processes);
    put_string(t, "memory_source", !k.measured ? "" : k.from_cgroup ? "cgroup" : k.sampled ? "sampled" : "maxrss");
    put(t, ",\"sampled\":%d,\"taken_over\":%d,\"escaped\":%d", k.sampled, k.taken_over, k.escaped);
}

static void put_tree(struct text *t, const char *key, bool thorough) {
    struct tree tree = {0};
    tree_collect(&tree, thorough);
    int living = 0;
    for (int i = 0; i < tree.n; i++)
        if (!tree.at[i].ending || (k.unkillable && tree.at[i].pid == k.leader)) tree.at[living++] = tree.at[i];
    tree.n = living;
    put(t, ",\"%s_count\":%d,\"%s\":[", key, tree.n, key);
    for (int i = 0, shown = 0; i < tree.n && t->n < sizeof t->at - 512; i++, shown++) {
        put(t, "%s{\"pid\":%d,\"start_ticks\":%lld", shown ? "," : "", tree.at[i].pid, (long long)tree.at[i].ticks);
        put_string(t, "command", tree.at[i].comm);
        put(t, "}");
    }
    put(t, "]");
    tree_free(&tree);
}

void record_live(void) {
    struct text t = {.n = 0};
    put(&t, "{\"v\":1,");
    put_state(&t);
    put(&t, ",\"in_pos\":%lld,\"in_closed\":%d,\"waiting\":%d,\"stalled\":%d", (long long)k.in_pos, k.in_closed, k.waiting,
        k.stream[OUT].stalled || k.stream[ERR].stalled);
    put(&t, ",\"kill_signal\":%d,\"kill_sent\":%d,\"escalate_at\":%lld,\"signalled\":%d", k.kill.sig, k.kill.sent,
        (long long)k.kill.escalate_at, k.kill.signalled);
    struct figures gone = usage_gone();
    put(&t, ",\"gone_cpu_us\":%lld,\"gone_read\":%lld,\"gone_written\":%lld", (long long)gone.cpu_us, (long long)gone.read,
        (long long)gone.written);
    put(&t, ",\"paused\":%d,\"unpaused\":%d", k.pause.wanted, k.pause.left);
    if (k.pause.token[0] && !k.pause.active && !k.pause.left) put_string(&t, "pause", k.pause.token);
    put_string(&t, "reason", k.reason);
    put_string(&t, "by", k.by);
    if (k.kill.token[0] && !k.kill.active) {
        put_string(&t, "kill", k.kill.token);
        put_tree(&t, "left", true);
    }
    put(&t, "}");
    write_page(k.live, &t);
}

static i64 find_number(const char *in, const char *key) {
    char want[40];
    snprintf(want, sizeof want, "\"%s\":", key);
    const char *at = strstr(in, want);
    return at ? strtoll(at + strlen(want), NULL, 10) : 0;
}

static void find_string(const char *in, const char *key, char *into, size_t room) {
    char want[40];
    snprintf(want, sizeof want, "\"%s\":\"", key);
    const char *at = strstr(in, want);
    size_t n = 0;
    for (at = at ? at + strlen(want) : ""; *at && *at != '"' && n + 1 < room; at++) {
        unsigned byte;
        if (sscanf(at, "\\u00%2x", &byte) == 1) {
            into[n++] = (char)byte;
            at += 5;
            continue;
        }
        if (*at == '\\' && at[1]) at++;
        into[n++] = *at;
    }
    into[n] = '\0';
}

/* What the keeper before us knew that the files alone do not say. */
void record_live_load(void) {
    char page[RECORD + 1];
    if (slurp("live", page, sizeof page) < RECORD || page[0] != '{') return;
    k.stream[OUT].head = find_number(page, "out_head");
    k.stream[ERR].head = find_number(page, "err_head");
    k.peak = find_number(page, "peak");
    k.used.cpu_us = find_number(page, "cpu_ms") * 1000;
    k.used.read = find_number(page, "read");
    k.used.written = find_number(page, "written");
    k.gone.cpu_us = find_number(page, "gone_cpu_us");
    k.gone.read = find_number(page, "gone_read");
    k.gone.written = find_number(page, "gone_written");
    k.sampled = k.measured = find_number(page, "sampled");
    k.from_cgroup = strstr(page, "\"memory_source\":\"cgroup\"") != NULL;
    k.taken_over = (int)find_number(page, "taken_over");
    groups_escaped((int)find_number(page, "escaped"));
    k.in_pos = find_number(page, "in_pos");
    k.in_closed = find_number(page, "in_closed");
    find_string(page, "reason", k.reason, sizeof k.reason);
    find_string(page, "by", k.by, sizeof k.by);
    k.kill.sig = (int)find_number(page, "kill_signal");
    k.kill.sent = find_number(page, "kill_sent");
    k.kill.signalled = (int)find_number(page, "signalled");
    k.kill.escalate_at = find_number(page, "escalate_at");
    k.pause.wanted = find_number(page, "paused");
    find_string(page, "pause", k.pause.token, sizeof k.pause.token);
}

static void put_outcome(struct text *t) {
    const char *reason = k.reason;
    int code = -1, sig = -1;
    if (k.spawn_errno) {
        reason = "spawn_failed";
    } else if (!k.status_known && !k.unkillable) {
        reason = "lost";
    } else {
        if (k.status_known && WIFEXITED(k.status)) code = WEXITSTATUS(k.status);
        if (k.status_known && WIFSIGNALED(k.status)) sig = WTERMSIG(k.status);
        if (k.out_of_memory && (!reason[0] || strcmp(reason, "oom") == 0)) {
            reason = "oom";
            snprintf(k.by, sizeof k.by, "limit");
        } else if (!reason[0]) {
            reason = sig >= 0 ? "signaled" : "exited";
        }
    }
    put(t, "\"code\":%d,\"signal\":%d,\"errno\":%d", code, sig, k.spawn_errno);
    put_string(t, "reason", reason);
    put_string(t, "by", k.by);
    put_string(t, "stage", k.spawn_stage);
}

/* An end is reported with its output: after a power cut nobody reads `exited 0` beside an empty file. */
static void sync_output(void) {
    for (int i = 0; i < k.streams; i++)
        if (k.stream[i].size > 0) fdatasync(k.stream[i].file);
}

/* The end: on disk, complete and synced, before anybody is told. */
void record_end(void) {
    struct text t = {.n = 0};
    i64 missing = 0;
    for (int i = 0; i < k.streams; i++) missing += k.stream[i].missing;
    usage_final();
    put(&t, "{\"v\":1,");
    put_outcome(&t);
    put(&t, ",\"started_wall\":%lld,\"ended_wall\":%lld,\"duration_ms\":%lld,\"missing\":%lld,\"pid\":%d,",
        (long long)k.started_wall, (long long)k.ended_wall, (long long)(k.ended_mono - k.started_mono),
        (long long)missing, k.leader);
    put_state(&t);
    put_tree(&t, "left", k.replacing);
    put(&t, "}");
    sync_output();
    int fd = open("end.tmp", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || !write_page(fd, &t)) {
        if (fd >= 0) close(fd);
        return;
    }
    fsync(fd); /* not fdatasync: the room may be on disk for long while the folder's name is not */
    close(fd);
    if (rename("end.tmp", "end") != 0) return;
    k.ended = true;
    tell(T_ENDED);
}

static bool send_note(const char *what, const int *fds, int n, int flags) {
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "../../notify.sock"};
    char line[96], room[CMSG_SPACE(sizeof(int) * 2)];
    snprintf(line, sizeof line, "%s %s", what, strchr(k.spec.marker, '=') + 1);
    struct iovec iov = {line, strlen(line)};
    struct msghdr msg = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &iov, .msg_iovlen = 1};
    if (n > 0) {
        memset(room, 0, sizeof room);
        msg.msg_control = room;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n);
    }
    if (k.notify < 0) {
        struct timeval patience = {0, 200000};
        k.notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        setsockopt(k.notify, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return sendmsg(k.notify, &msg, MSG_NOSIGNAL | flags) >= 0;
}

/* The daemon keeps copies of what cannot be opened again by name: the position in `in`, and the terminal. */
static bool send_fds(int flags) {
    int fds[2], n = 0;
    if (k.in_file >= 0) fds[n++] = k.in_file;
    if (k.master >= 0) fds[n++] = k.master;
    return n == 0 || send_note(k.master >= 0 ? "fds-terminal" : "fds-stdin", fds, n, flags);
}

static bool nobody_listens(void) { return errno == ECONNREFUSED || errno == ENOENT; }

static void deliver(int flags) {
    static const char *const words[] = {"started", "ended", "killed", "waiting", "input", "stalled"};
    for (int i = 0, note; (note = 1 << i) <= T_FDS; i++)
        if (k.untold & note && ((note == T_FDS ? send_fds(flags) : send_note(words[i], NULL, 0, flags)) || nobody_listens()))
            k.untold &= ~note;
}

/* A note is a hint to look at the folder. With no daemon there is nobody to tell; with one that is slow, or stopped, it
 * is tried again. */
void tell(int what) {
    k.untold |= what;
    deliver(0);
}

void tell_again(void) {
    if (k.untold) deliver(MSG_DONTWAIT);
}

void tell_output(void) {
    if (send_note("output", NULL, 0, MSG_DONTWAIT) || nobody_listens()) k.watch_due = false;
}

/* No job can be kept here; the daemon is told why, for it is not our parent and cannot see our exit code. */
void tell_refused(int code) {
    char note[16];
    snprintf(note, sizeof note, "refused-%d", code);
    if (k.spec.marker) send_note(note, NULL, 0, 0);
}
