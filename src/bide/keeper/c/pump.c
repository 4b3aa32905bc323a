/* Bytes: from the job's FIFOs (or terminal) to its logs, and from the file `in` to its stdin.
 *
 * splice() moves a byte from the pipe to the file or leaves it where it is, so a keeper killed at any instant has
 * neither lost nor doubled one; the next one goes on at offset = size. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, TURN = 8 << 20, SMALL = 4096, SLACK_MIN = 64 << 10, PAGE = 4096, STALL_MS = 250 };
enum { BULK = 64 << 10, BULK_TURNS = 16, BULK_PIPE = 1 << 20 };
enum { CTRL_D = 4 };

static const char *const fifo[STREAMS] = {"out.p", "err.p"};
static const char *const logs[STREAMS] = {"out", "err"};
static int hold[STREAMS] = {-1, -1}; /* a write end, so that a job that closes its stdout does not look like an end */
static int sink = -1;

static int early[STREAMS] = {-1, -1};

/* What is in the pipes stays there while somebody can read them. */
void streams_hold(void) {
    for (int i = 0; i < STREAMS; i++) early[i] = open(fifo[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool streams_open(void) {
    k.streams = k.spec.merge || k.spec.pty ? 1 : 2;
    for (int i = 0; i < k.streams; i++) {
        struct stream *s = &k.stream[i];
        s->pipe = early[i] >= 0 ? early[i] : open(fifo[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        hold[i] = open(fifo[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        s->file = open(logs[i], O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;
        if (s->pipe < 0 || hold[i] < 0 || (s->file >= 0 && fstat(s->file, &st) != 0)) return false;
        s->size = s->file >= 0 ? st.st_size : 0;
        s->eof = s->stalled = s->closed = false;
    }
    return true;
}

static void stall(struct stream *s) {
    s->stalled = true;
    k.stall_at = mono_ms() + STALL_MS;
}

/* The log is made with its first byte. */
static bool has_log(struct stream *s) {
    if (s->file >= 0) return true;
    struct pollfd fd = {.fd = s->pipe, .events = POLLIN};
    poll(&fd, 1, 0);
    if (!(fd.revents & POLLIN)) {
        if (fd.revents & POLLHUP) s->eof = true;
        return false;
    }
    s->file = open(logs[s - k.stream], O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file < 0) stall(s);
    return s->file >= 0;
}

static i64 in_pipe(const struct stream *s) {
    int n = 0;
    return ioctl(s->pipe, FIONREAD, &n) == 0 ? n : 0;
}

static i64 discard(struct stream *s) {
    if (sink < 0) sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    i64 sum = 0;
    for (;;) {
        ssize_t n = splice(s->pipe, NULL, sink, NULL, CHUNK, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (n == 0) s->eof = true;
        if (n <= 0) return sum;
        sum += n;
    }
}

static i64 kept(void) {
    i64 sum = 0;
    for (int i = 0; i < k.streams; i++) sum += k.stream[i].size - k.stream[i].head;
    return sum;
}

/* Drops the oldest bytes. The new head is on record before the bytes go, so no reader takes a hole for zeros. */
static void trim(void) {
    i64 slack = k.spec.cap / 16 > SLACK_MIN ? k.spec.cap / 16 : SLACK_MIN;
    while (kept() > k.spec.cap + slack) {
        struct stream *s = &k.stream[OUT];
        if (k.streams > 1 && k.stream[ERR].size - k.stream[ERR].head > s->size - s->head) s = &k.stream[ERR];
        i64 from = s->head - s->head % PAGE, want = s->head + (kept() - k.spec.cap);
        want -= want % PAGE;
        if (want > s->size) want = s->size - s->size % PAGE;
        if (want <= s->head) return;
        s->head = want;
        record_live();
        if (fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, want - from) != 0) {
            /* A filesystem without holes: keep what is there and say how much of the rest was not kept. */
            s->head = from;
            for (int i = 0; i < k.streams; i++) k.stream[i].closed = true;
            record_live();
            return;
        }
    }
}

static void overflow(void) {
    for (int i = 0; i < k.streams; i++) k.stream[i].closed = true;
    if (!k.kill.active && !k.leader_done) kill_begin(15, k.spec.grace_ms, "overflow", "limit", "");
}

static i64 pump(struct stream *s) {
    i64 moved = 0;
    while (moved < TURN && !s->closed && has_log(s)) {
        size_t room = CHUNK;
        if (k.spec.cap_kills) {
            i64 left = k.spec.cap - kept();
            if (left <= 0) {
                if (in_pipe(s) > 0) overflow();
                break;
            }
            if ((i64)room > left) room = (size_t)left;
        }
        off_t at = s->size;
        ssize_t n = splice(s->pipe, NULL, s->file, &at, room, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        if (n > 0) {
            s->size += n;
            moved += n;
            s->stalled = false;
            continue;
        }
        if (n == 0) s->eof = true;
        if (n < 0 && errno != EAGAIN && errno != EINTR) stall(s);
        break;
    }
    /* A job that writes in bulk gets a larger pipe; the system may refuse, and then it is only slower. */
    if (moved >= BULK && s->bulk < BULK_TURNS && ++s->bulk == BULK_TURNS) fcntl(s->pipe, F_SETPIPE_SZ, BULK_PIPE);
    if (s->closed) {
        i64 n = discard(s);
        if (!k.spec.cap_kills) s->missing += n;
    }
    return moved;
}

/* From the terminal into the FIFO, so that a keeper killed here leaves the bytes where the next one finds them. */
static void pump_terminal(void) {
    if (k.master < 0) return;
    ssize_t n = splice(k.master, NULL, hold[OUT], NULL, 1 << 16, SPLICE_F_NONBLOCK);
    if (n == 0 || (n < 0 && errno == EIO)) {
        close(k.master);
        k.master = -1;
    }
}

/* Moves what is there. With nobody left to write, a stream is at its end. */
i64 pump_all(void) {
    i64 moved = 0;
    bool was_stalled = k.stream[OUT].stalled || k.stream[ERR].stalled;
    if (k.leader_done && k.master < 0)
        for (int i = 0; i < k.streams; i++)
            if (hold[i] >= 0) {
                close(hold[i]);
                hold[i] = -1;
            }
    for (int turn = 0; turn < 64; turn++) {
        if (k.spec.pty) pump_terminal();
        i64 now = 0;
        for (int i = 0; i < k.streams; i++) now += pump(&k.stream[i]);
        moved += now;
        if (!k.spec.pty || now == 0) break;
    }
    if (moved > 0) {
        k.last_output = mono_ms();
        k.watch_due = true;
        if (moved < SMALL && !k.leader_done) k.small_until = k.last_output + 1;
        if (!k.spec.cap_kills) trim();
    }
    if (was_stalled != (k.stream[OUT].stalled || k.stream[ERR].stalled)) {
        record_live();
        tell(T_STALLED);
    }
    return moved;
}

/* After the end: descendants that hold the FIFO must not block on it, and nothing is added to an ended job. */
void pump_discard(void) {
    for (int i = 0; i < k.streams; i++)
        if (!k.stream[i].eof) discard(&k.stream[i]);
    if (k.master >= 0) {
        char buffer[4096];
        ssize_t n = read(k.master, buffer, sizeof buffer);
        if (n == 0 || (n < 0 && errno == EIO)) {
            close(k.master);
            k.master = -1;
        }
    }
}

static i64 in_size(void) {
    struct stat st;
    return k.in_file >= 0 && fstat(k.in_file, &st) == 0 ? st.st_size : 0;
}

bool stdin_pending(void) { return !k.in_closed && k.in_file >= 0 && k.in_pos < in_size(); }

void stdin_close(void) {
    char eof = CTRL_D;
    if (k.in_closed || (k.spec.pty && k.master >= 0 && write(k.master, &eof, 1) < 0 && errno == EAGAIN)) return;
    k.in_closed = true;
    if (k.in_pipe >= 0) close(k.in_pipe);
    k.in_pipe = -1;
    record_live();
    tell(T_INPUT); /* the daemon holds its end of the FIFO until all of the input is in it */
}

/* The position is that of the open file, which the daemon holds as well: it is right even after our death. */
void stdin_pump(void) {
    if (k.in_file < 0 || k.in_closed) return;
    int target = k.spec.pty ? k.master : k.in_pipe;
    if (target < 0) return;
    bool moved = false;
    while (k.in_pos < in_size()) {
        ssize_t n = sendfile(target, k.in_file, NULL, 1 << 16);
        if (n <= 0) break;
        k.in_pos += n;
        moved = true;
    }
    if (moved) {
        bool was = k.waiting != WAITS_NOT;
        k.waiting = WAITS_NOT;
        record_live();
        if (was) tell(T_WAITING);
    }
    if (!k.in_eof) k.in_eof = access("in.eof", F_OK) == 0;
    if (k.in_eof && k.in_pos >= in_size()) stdin_close();
}
