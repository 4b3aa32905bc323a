/* Looks through output once: finds words in each line and counts lines by shape. Called from Python without the interpreter's lock.
 *
 * Allocates nothing and calls no library: the caller provides all memory, whose size does not depend on the output.
 */

#include <stdint.h>

#define ROOT 0
#define RING 64
#define FIRSTS 3
#define SHAPED 256
#define EMPTY_LINE 1469598103934665603ull
#define EARLY 2048
#define STRONG 85 /* lines of this weight are each worth a place */
#define STRONG_EACH 32

enum { STARTS_WORD = 1, ENDS_WORD = 2, STARTS_LINE = 4, EXACT_CASE = 8, SURE = 16 };
enum { SEPARATOR, WORD, MASKED, SPACE };
enum { PLAIN, ESCAPE, SEQUENCE, STRING };

struct literal {
    uint32_t at; /* in the text of all literals */
    uint8_t length, flags, weight, cap;
};

struct state {
    uint16_t fail, literal, shorter, unused; /* literal + 1; the next state that ends a shorter literal */
};

struct words {
    uint32_t states, states_most, literals, unused;
    uint16_t *next; /* 256 for each state */
    struct state *state;
    const struct literal *literal;
    const uint8_t *text;
    uint16_t *queue;
};

struct shape {
    uint64_t hash;
    uint64_t first[FIRSTS], last; /* where lines of this shape begin */
    uint32_t first_hit[FIRSTS], last_hit; /* where in them their word is */
    uint32_t count;
    uint16_t literal; /* the strongest word, + 1 */
    uint8_t weight, early; /* early: one of the first, which stay */
};

struct place { uint64_t hash, start; uint32_t hit, unused; }; /* one more line of a shape, after the first ones */

struct scan {
    uint64_t offset, line_start, hash, token, lines;
    struct shape *shapes, *spare;
    uint32_t *hits; /* lines by their strongest word */
    uint16_t *found; /* if given, every word that is found goes here */
    uint32_t found_most, found_count, slots;
    uint32_t used, position, lead, best_hit, seen, added, pending_hit;
    uint16_t state, best, pending; /* pending: a word ended with the last byte, and what follows it is not known yet */
    uint8_t escape, masked, was_masked, weight, cap, leading, in_token, floor, renewed, sure;
    uint8_t ring[RING];
    struct place *strong; /* more places of strong lines */
    uint32_t strong_most, strong_count;
};

static uint8_t lower(uint8_t c) {
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

#define RANGE(first, last, what) [first ... last] = what

/* What a byte is in the shape of a line. Bytes of characters beyond ASCII are letters. */
static const uint8_t kinds[256] = {
    RANGE('0', '9', MASKED), RANGE('A', 'Z', WORD), RANGE('a', 'z', WORD), RANGE(128, 255, WORD),
    ['/'] = MASKED, ['\\'] = MASKED, ['"'] = MASKED, ['\''] = MASKED, ['`'] = MASKED, ['.'] = MASKED, ['%'] = MASKED,
    ['_'] = WORD, ['-'] = WORD, [' '] = SPACE, ['\t'] = SPACE,
};

/* What may come before the words of a line: a time, a step. */
static const uint8_t leads[256] = {
    RANGE('0', '9', 1), [' '] = 1, ['\t'] = 1, [':'] = 1, ['.'] = 1, ['-'] = 1, ['+'] = 1, ['T'] = 1, ['Z'] = 1,
    ['['] = 1, [']'] = 1, ['#'] = 1, ['|'] = 1, ['>'] = 1,
};

static const uint8_t stops[256] = {['\n'] = 1, ['\r'] = 1, [0] = 1, [0x1b] = 1};

static int is_word(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Add the literals as a trie, then make it an automaton (Aho and Corasick). Returns the number of states, 0 if there are too many. */
uint32_t words_build(struct words *w) {
    uint32_t head = 0, tail = 0;
    w->states = 1;
    for (uint32_t i = 0; i < w->literals; i++) {
        const struct literal *l = &w->literal[i];
        uint16_t s = ROOT;
        for (uint32_t k = 0; k < l->length; k++) {
            uint8_t c = lower(w->text[l->at + k]);
            if (!w->next[s * 256 + c]) {
                if (w->states == w->states_most)
                    return 0;
                w->next[s * 256 + c] = w->states++;
            }
            s = w->next[s * 256 + c];
        }
        w->state[s].literal = i + 1;
    }
    for (int c = 0; c < 256; c++)
        if (w->next[c])
            w->queue[tail++] = w->next[c];
    while (head < tail) {
        uint16_t s = w->queue[head++], fail = w->state[s].fail;
        w->state[s].shorter = w->state[fail].literal ? fail : w->state[fail].shorter;
        for (int c = 0; c < 256; c++) {
            uint16_t t = w->next[s * 256 + c];
            if (t) {
                w->state[t].fail = w->next[fail * 256 + c];
                w->queue[tail++] = t;
            } else {
                w->next[s * 256 + c] = w->next[fail * 256 + c];
            }
        }
    }
    for (uint32_t s = 0; s < w->states; s++)
        for (int c = 'A'; c <= 'Z'; c++)
            w->next[s * 256 + c] = w->next[s * 256 + lower(c)];
    return w->states;
}

static void new_line(struct scan *s, uint64_t at) {
    s->line_start = at;
    s->hash = EMPTY_LINE;
    s->token = 0;
    s->position = s->lead = s->best_hit = s->seen = 0;
    s->state = ROOT;
    s->best = 0;
    s->masked = s->was_masked = s->weight = s->sure = s->in_token = s->escape = 0;
    s->cap = 255;
    s->leading = 1;
}

void scan_begin(struct scan *s, uint64_t at) {
    s->offset = at;
    s->pending = ROOT;
    new_line(s, at);
}

static void take_token(struct scan *s) {
    if (!s->in_token)
        return;
    /* Neighbours that are masked are one: lists of numbers are alike however long they are. */
    if (!(s->masked && s->was_masked))
        s->hash = (s->hash ^ (s->masked ? 7 : s->token)) * 1099511628211ull;
    s->was_masked = s->masked;
    s->token = 0;
    s->masked = s->in_token = 0;
}

/* Make room in a full table: shapes with the weakest words go, and half of those that are as strong as the rest, but for the earliest. */
static void make_room(struct scan *s) {
    uint32_t of[256] = {0}, kept = 0, floor = 255, drop = 24 + s->renewed++ % 32;
    for (uint32_t i = 0; i < s->slots; i++)
        if (s->shapes[i].count)
            of[s->shapes[i].weight]++;
    while (floor && kept + of[floor] <= s->slots / 3)
        kept += of[floor--];
    struct shape *kept_in = s->spare;
    for (uint32_t i = 0; i < s->slots; i++)
        kept_in[i] = (struct shape){0};
    s->used = 0;
    for (uint32_t i = 0; i < s->slots; i++) {
        const struct shape *e = &s->shapes[i];
        if (!e->count)
            continue;
        if (e->weight < floor || (e->weight == floor && !e->early && (e->hash >> drop & 1)))
            continue;
        uint32_t at = e->hash & (s->slots - 1);
        while (kept_in[at].count)
            at = (at + 1) & (s->slots - 1);
        kept_in[at] = *e;
        s->used++;
    }
    s->spare = s->shapes;
    s->shapes = kept_in;
    s->floor = floor;
}

static void end_line(struct scan *s) {
    take_token(s);
    if (!s->position)
        return;
    s->lines++;
    uint8_t weight = s->weight < s->cap ? s->weight : s->cap;
    if (weight < s->sure)
        weight = s->sure;
    if (s->best)
        s->hits[s->best - 1]++;
    uint64_t hash = s->hash ^ (s->hash >> 29);
    uint32_t at = hash & (s->slots - 1);
    while (s->shapes[at].count && s->shapes[at].hash != hash)
        at = (at + 1) & (s->slots - 1);
    struct shape *e = &s->shapes[at];
    if (!e->count) {
        if (weight < s->floor)
            return;
        if (s->used >= s->slots / 4 * 3) {
            make_room(s);
            if (weight < s->floor)
                return;
            at = hash & (s->slots - 1);
            while (s->shapes[at].count)
                at = (at + 1) & (s->slots - 1);
            e = &s->shapes[at];
        }
        s->used++;
        e->hash = hash;
        e->weight = weight;
        e->literal = s->best;
        e->early = s->added++ < EARLY;
    }
    if (weight > e->weight) {
        e->weight = weight;
        e->literal = s->best;
    }
    if (e->count < FIRSTS) {
        e->first[e->count] = s->line_start;
        e->first_hit[e->count] = s->best_hit;
    } else if (weight >= STRONG && e->count < STRONG_EACH && s->strong_count < s->strong_most) {
        s->strong[s->strong_count++] = (struct place){e->hash, s->line_start, s->best_hit, 0};
    }
    e->last = s->line_start;
    e->last_hit = s->best_hit;
    e->count++;
}

static void hit(struct scan *s, const struct words *w, uint16_t state, uint32_t position, uint8_t after, uint32_t in_line) {
    for (; state; state = w->state[state].shorter) {
        if (!w->state[state].literal)
            continue;
        uint16_t which = w->state[state].literal;
        const struct literal *l = &w->literal[which - 1];
        uint32_t begins = position - l->length;
        if ((!s->found && l->weight <= s->weight && l->cap >= s->cap) || ((l->flags & STARTS_LINE) && begins > s->lead))
            continue;
        if ((l->flags & STARTS_WORD) && begins && is_word(s->ring[(begins - 1) % RING]))
            continue;
        if ((l->flags & ENDS_WORD) && is_word(after))
            continue;
        if (l->flags & EXACT_CASE) {
            uint32_t k = 0;
            while (k < l->length && s->ring[(begins + k) % RING] == w->text[l->at + k])
                k++;
            if (k < l->length)
                continue;
        }
        if (s->found && s->found_count < s->found_most)
            s->found[s->found_count++] = which - 1;
        if (l->cap < s->cap)
            s->cap = l->cap;
        if ((l->flags & SURE) && l->weight > s->sure)
            s->sure = l->weight;
        if (l->weight > s->weight) {
            s->weight = l->weight;
            s->best = which;
            s->best_hit = in_line;
        }
    }
}

/* Returns 1 if the byte belongs to an escape sequence. */
static int escaped(struct scan *s, uint8_t c) {
    switch (s->escape) {
    case ESCAPE:
        s->escape = c == '[' ? SEQUENCE : c == ']' || c == 'P' || c == '_' || c == '^' ? STRING : PLAIN;
        return 1;
    case SEQUENCE:
        if (c >= '@' && c <= '~')
            s->escape = PLAIN;
        return c >= ' ';
    case STRING:
        if (c == 7)
            s->escape = PLAIN;
        else if (c == 0x1b)
            s->escape = ESCAPE;
        return 1;
    default:
        s->escape = c == 0x1b ? ESCAPE : PLAIN;
        return c == 0x1b;
    }
}

static void settle(struct scan *s, const struct words *w, uint8_t after) {
    if (s->pending)
        hit(s, w, s->pending, s->position, after, s->pending_hit);
    s->pending = ROOT;
}

/* Add the byte at `position` of a line to its shape. */
static inline __attribute__((always_inline)) void take_shape(struct scan *s, uint8_t c) {
    switch (kinds[c]) {
    case MASKED:
        s->masked = s->in_token = 1;
        break;
    case WORD:
        s->token = (s->token ^ lower(c)) * 1099511628211ull;
        s->in_token = 1;
        break;
    case SEPARATOR:
        take_token(s);
        if (!s->was_masked)
            s->hash = (s->hash ^ c) * 1099511628211ull;
        break;
    default:
        take_token(s);
    }
}

/* Look through the next bytes. */
void scan_feed(struct scan *s, const struct words *w, const uint8_t *data, uint64_t size) {
    const uint16_t *next = w->next;
    const struct state *states = w->state;
    if (size)
        settle(s, w, data[0]);
    for (uint64_t i = 0; i < size;) {
        uint8_t c = data[i];
        if (c == '\n' || c == '\r') {
            end_line(s);
            new_line(s, s->offset + ++i);
            continue;
        }
        if (!c) {
            while (i < size && !data[i])
                i++;
            if (!s->position)
                s->line_start = s->offset + i;
            continue;
        }
        if ((s->escape || c == 0x1b) && escaped(s, c)) {
            i++;
            continue;
        }
        /* A run of plain bytes, with what changes at each of them in registers. */
        uint64_t from = i;
        uint32_t position = s->position;
        uint16_t state = s->state;
        while (s->leading) {
            if (!leads[c = data[i]] || stops[c]) {
                s->leading = 0;
                break;
            }
            s->lead = position + (uint32_t)(++i - from);
            if (i == size)
                break;
        }
        i = from;
        do {
            s->ring[position++ % RING] = c = data[i];
            state = next[state * 256 + c];
            if (states[state].literal | states[state].shorter) {
                uint32_t in_line = (uint32_t)(s->offset + i - s->line_start);
                if (i + 1 < size) {
                    hit(s, w, state, position, data[i + 1], in_line);
                } else {
                    s->pending = state;
                    s->pending_hit = in_line;
                }
            }
            i++;
        } while (i < size && !stops[data[i]]);
        for (uint64_t k = from; k < i && s->seen < SHAPED; k++, s->seen++)
            take_shape(s, data[k]);
        s->position = position;
        s->state = state;
    }
    s->offset += size;
}

/* The last line may have no newline. */
void scan_end(struct scan *s, const struct words *w) {
    settle(s, w, ' ');
    end_line(s);
    new_line(s, s->offset);
}

/* Find the words of one line. Returns how many there are in `found`. */
uint32_t words_find(const struct words *w, struct scan *s, const uint8_t *line, uint64_t size) {
    s->found_count = 0;
    scan_begin(s, 0);
    scan_feed(s, w, line, size);
    settle(s, w, ' ');
    return s->found_count;
}

/* Returns how many shapes there are, copied to the front of the spare table. */
uint32_t scan_shapes(struct scan *s) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->slots; i++)
        if (s->shapes[i].count)
            s->spare[found++] = s->shapes[i];
    return found;
}
