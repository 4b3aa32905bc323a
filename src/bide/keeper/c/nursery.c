/* bide-keeper -N FD: makes keepers by forking itself, which costs a fraction of starting a program each time.
 *
 * A request is one packet: 'N' (new) or 'R' (take over), 'i' or '-', 't' or '-' for the descriptors that come with it
 * (input, terminal), then the folder; or 'S', two digits and a folder: so many spares (spare.c) are to be made in it. The
 * answer to each is the pid and the folder, with the keeper's pidfd. It ends when the other side of FD is closed; keepers go
 * on, spares leave. */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PACKET = PATH_ROOM, HEAD = 3 };

/* Our words, which `ps` shows: a keeper that its nursery forked would pass for another nursery. */
static char *words;
static size_t room;

void called(const char *name) {
    const char *last = strrchr(name, '/');
    if (words) memset(words, 0, room), snprintf(words, room, "bide-keeper: %s", last ? last + 1 : name);
}

static ssize_t receive(int sock, char *packet, int fds[2], int flags) {
    char room[CMSG_SPACE(sizeof(int) * 2)];
    struct iovec iov = {packet, PACKET - 1};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags);
    fds[0] = fds[1] = -1;
    if (n <= HEAD) return n;
    packet[n] = '\0';
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    if (!c || c->cmsg_type != SCM_RIGHTS) return n;
    int got[2] = {-1, -1}, at = 0;
    memcpy(got, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    if (packet[1] == 'i') fds[0] = got[at++];
    if (packet[2] == 't') fds[1] = got[at];
    return n;
}

static void answer(int sock, int pid, int pidfd, const char *folder) {
    char line[PACKET], room[CMSG_SPACE(sizeof(int))] = {0};
    int n = snprintf(line, sizeof line, "%d %s", pid, folder);
    struct iovec iov = {line, (size_t)n};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (pidfd >= 0) {
        msg.msg_control = room;
        msg.msg_controllen = sizeof room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &pidfd, sizeof pidfd);
    }
    sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/* Forks one keeper for a request; the child does not return. */
static void make(int sock, const char *packet, const int fds[2], const int life[2]) {
    int pidfd = -1;
    long pid = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
    if (pid == 0) {
        close(sock);
        close(life[1]);
        signal(SIGCHLD, SIG_DFL);
        setsid();
        called(packet[0] == 'S' ? "spare" : packet + HEAD);
        if (packet[0] == 'S') _exit(keep_later(packet + HEAD, life[0]));
        close(life[0]);
        _exit(keep(packet + HEAD, packet[0] == 'R', fds[0], fds[1]));
    }
    answer(sock, pid < 0 ? -errno : (int)pid, pidfd, packet + HEAD);
    if (pidfd >= 0) close(pidfd);
}

/* Spares are made one by one, whenever no request waits. */
static void make_spare(int sock, const char *folder, const int life[2]) {
    static char packet[PACKET + 64];
    static const int none[2] = {-1, -1};
    static int made;
    snprintf(packet, sizeof packet, "S--%s/spare-%d-%d", folder, getpid(), ++made);
    make(sock, packet, none, life);
}

int nursery(int argc, char **argv) {
    static char packet[PACKET], folder[PACKET];
    int sock = atoi(argv[2]), fds[2], life[2], owed = 0; /* life: spares see by its end that we are gone */
    syscall(SYS_close_range, (unsigned)sock + 1, ~0U, 0U); /* what whoever started us has leaked; it must not reach a job */
    signal(SIGCHLD, SIG_IGN);
    words = argv[0];
    room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
    if (pipe2(life, O_CLOEXEC) != 0) return 1;
    for (;;) {
        ssize_t n = receive(sock, packet, fds, owed ? MSG_DONTWAIT : 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN && owed) {
            owed--;
            make_spare(sock, folder, life);
            continue;
        }
        if (n <= HEAD) return 0;
        if (packet[0] == 'S') {
            owed += (packet[1] - '0') * 10 + packet[2] - '0';
            strcpy(folder, packet + HEAD);
        } else {
            make(sock, packet, fds, life);
        }
        for (int i = 0; i < 2; i++)
            if (fds[i] >= 0) close(fds[i]);
    }
}
