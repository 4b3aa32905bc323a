/* A job that is paused: its whole tree is stopped, and seen to be, until it is resumed, ended, or killed. */
#include "keeper.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STEP_MS = 5, SURE_MS = 2000 };

static bool is_stopped(const struct proc *p) { return p->state == 'T' || p->state == 't'; }

/* Signals all that are not yet as wanted; how many there were. One that forked before it was stopped has left a child:
 * it is found the next time. */
static int settle(void) {
    struct tree tree = {0};
    int left = 0;
    tree_collect(&tree, true);
    for (int i = 0; i < tree.n; i++) {
        if (is_stopped(&tree.at[i]) == k.pause.wanted) continue;
        left++;
        tree_signal_one(&tree.at[i], k.pause.wanted ? SIGSTOP : SIGCONT);
    }
    tree_free(&tree);
    return left;
}

static void done(void) {
    k.pause.active = false;
    record_live();
    tell(T_WAITING);
}

/* The fact is on record before the first signal: whoever takes over knows that a stopped tree is meant to be so. */
void pause_begin(bool wanted, const char *token) {
    if (k.leader_done || k.ended || k.kill.active) return;
    bool was_paused = k.pause.wanted;
    k.pause.wanted = wanted;
    k.pause.active = true;
    k.pause.left = 0;
    k.pause.give_up_at = mono_ms() + SURE_MS;
    snprintf(k.pause.token, sizeof k.pause.token, "%s", token);
    if (wanted) k.waiting = WAITS_NOT;
    if (was_paused && !wanted) k.last_output = mono_ms();
    record_live();
    pause_step();
}

/* The keeper before us may have been killed before all of the tree was stopped. */
void pause_resume(void) {
    if (!k.pause.wanted) return;
    k.pause.active = true;
    k.pause.give_up_at = mono_ms() + SURE_MS;
}

void pause_step(void) {
    if (!k.pause.active) return;
    k.pause.left = settle();
    if (k.pause.left == 0 || k.leader_done || mono_ms() >= k.pause.give_up_at) done();
}

/* A kill wakes what is stopped, so that it hears; nothing is paused from then on. */
void pause_over(void) {
    k.pause.wanted = k.pause.active = false;
}

i64 pause_next(void) { return k.pause.active ? mono_ms() + STEP_MS : 0; }
