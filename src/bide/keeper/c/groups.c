/* Processes that left the job's control group: its limits do not hold for them, so sampling takes over.
 *
 * An order `inside=LIMITS HIERARCHY:PATH` names a group as /proc/PID/cgroup shows it, and the limits set in it. */
#include "keeper.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY = 1, CPU = 2, PIDS = 4, GROUPS_ROOM = 8192, DEPTH = 32 };

static bool listed(const char *names, size_t n, const char *name, size_t length) {
    for (const char *at = names; at < names + n;) {
        size_t word = strcspn(at, ",: \n");
        if (word == length && strncmp(at, name, length) == 0) return true;
        at += word + 1;
    }
    return false;
}

/* A hierarchy that is not in the list says nothing. */
static bool is_inside(const char *groups, const char *order) {
    const char *hierarchy = strchr(order, ' ');
    const char *path = hierarchy ? strchr(++hierarchy, ':') : NULL;
    if (!path) return true;
    size_t name = (size_t)(path++ - hierarchy), n = strlen(path);
    for (const char *line = groups; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        const char *names = strchr(line, ':'), *shown = names ? strchr(names + 1, ':') : NULL;
        if (!shown) continue;
        size_t room = (size_t)(shown - names - 1);
        if (name == 0 ? room != 0 : !listed(names + 1, room, hierarchy, name)) continue;
        return strncmp(shown + 1, path, n) == 0 && strchr("/\n", shown[1 + n]) != NULL;
    }
    return true;
}

static int limits_in(const char *order) {
    size_t n = strcspn(order, " ");
    return (listed(order, n, "memory", 6) ? MEMORY : 0) | (listed(order, n, "cpu", 3) ? CPU : 0) |
           (listed(order, n, "pids", 4) ? PIDS : 0);
}

/* The limits that do not hold for this process. One that ends is shown in the root group for a moment. */
static int outside(const struct proc *p) {
    char path[48], groups[GROUPS_ROOM];
    struct proc now;
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/cgroup", p->pid);
    if (!slurp(path, groups, sizeof groups)) return 0;
    for (int i = 0; i < k.spec.insides; i++)
        if (!is_inside(groups, k.spec.inside[i])) found |= limits_in(k.spec.inside[i]);
    if (found && (!proc_read(p->pid, &now) || now.ticks != p->ticks || now.ending || now.state == 'Z' || now.state == 'X'))
        return 0;
    return found;
}

/* From now on these are watched by sampling, as where there is no control group. CPU cannot be. */
void groups_escaped(int limits) {
    k.escaped |= limits;
    if (limits & MEMORY) k.spec.memory_sampled = k.spec.memory_limit, k.spec.cg_peak = NULL, k.from_cgroup = false;
    if (limits & PIDS) k.spec.pids_sampled = k.spec.pids_limit;
}

/* Programs such as podman or systemd-run move processes out for good reason, so none is moved back. */
void groups_check(void) {
    struct tree tree = {0};
    int found = 0;
    for (int i = 0; i < k.spec.insides; i++) found |= limits_in(k.spec.inside[i]);
    if ((found & ~k.escaped) == 0) return;
    tree_collect(&tree, false);
    found = 0;
    for (int i = 0, seen; i < tree.n; i++) {
        if (tree.at[i].state == 'Z' || (seen = outside(&tree.at[i])) == 0) continue;
        poll(NULL, 0, 1); /* what was ending is over by then */
        found |= seen & outside(&tree.at[i]);
    }
    tree_free(&tree);
    if (found & ~k.escaped) groups_escaped(found);
}

/* What the daemon could not set up after all, though the job was told otherwise. */
void groups_loose(void) {
    for (int i = 0; i < k.spec.looses; i++) groups_escaped(limits_in(k.spec.loose[i]));
}

/* Removes a group with the empty groups in it. What is in use stays, and so does what lies too deep. */
static void remove_with_inner(const char *path, int depth) {
    char inner[PATH_ROOM];
    DIR *all = opendir(path);
    if (!all) return;
    for (struct dirent *e; depth && (e = readdir(all));)
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name) < PATH_ROOM)
            remove_with_inner(inner, depth - 1);
    closedir(all);
    rmdir(path);
}

/* The job's own groups go with what the job made in them; the folder of its home only if it is empty. */
void groups_remove(void) {
    const char *id = k.spec.marker ? strchr(k.spec.marker, '=') + 1 : "";
    for (int i = 0; i < k.spec.removes; i++) {
        const char *name = strrchr(k.spec.remove[i], '/');
        if (name && strcmp(name + 1, id) == 0) remove_with_inner(k.spec.remove[i], DEPTH);
        else rmdir(k.spec.remove[i]);
    }
}
