// The ring of the last frames. The lock is held for pointer work only: frames are dropped and memory is allocated
// outside of it. One thread pushes; any thread reads.
#include "model/history.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct history {
    size_t max_bytes;
    struct mem_account *account;
    pthread_mutex_t lock;
    const struct frame **ring; // the oldest at first, wraps round
    size_t first, n, capacity; // capacity is a power of two
    size_t early;              // of the n, those before the frame that was dropped last: spans with gaps between them
    struct history_span spans[HISTORY_SPANS_MAX]; // of the writer
    size_t n_spans;
};

struct history *history_new(size_t max_bytes, struct mem_account *take_account) {
    struct history *history = xcalloc(1, sizeof(*history));
    history->max_bytes = max_bytes;
    history->account = take_account;
    history->capacity = 64;
    history->ring = xcalloc(history->capacity, sizeof(history->ring[0]));
    pthread_mutex_init(&history->lock, NULL);
    return history;
}

void history_free(struct history *history) {
    if (!history)
        return;
    for (size_t i = 0; i < history->n; i++)
        frame_unref(history->ring[(history->first + i) & (history->capacity - 1)]);
    free(history->ring);
    pthread_mutex_destroy(&history->lock);
    mem_account_close(history->account);
    free(history);
}

// i: 0 is the oldest.
static const struct frame *ring_at(const struct history *history, size_t i) {
    return history->ring[(history->first + i) & (history->capacity - 1)];
}

// Only the writer grows the ring, so n and capacity can be read by it without the lock.
static void ring_grow(struct history *history) {
    size_t capacity = history->capacity * 2;
    const struct frame **ring = xcalloc(capacity, sizeof(ring[0])), **old = history->ring;
    pthread_mutex_lock(&history->lock);
    for (size_t i = 0; i < history->n; i++)
        ring[i] = ring_at(history, i);
    history->ring = ring;
    history->capacity = capacity;
    history->first = 0;
    pthread_mutex_unlock(&history->lock);
    free(old);
}

void history_keep(struct history *history, const struct history_span *spans, size_t n) {
    history->n_spans = n < HISTORY_SPANS_MAX ? n : HISTORY_SPANS_MAX;
    if (history->n_spans)
        memcpy(history->spans, spans, history->n_spans * sizeof(spans[0]));
}

static bool is_kept(const struct history *history, const struct frame *frame) {
    for (size_t i = 0; i < history->n_spans; i++)
        if (frame->end_ns > history->spans[i].from_ns && frame->begin_ns < history->spans[i].to_ns)
            return true;
    return false;
}

#define KEPT_SHARE 4

// The oldest one that is not kept. The kept ones before it move up, so that the ring stays in order.
static const struct frame *ring_drop(struct history *history) {
    size_t mask = history->capacity - 1, i = 0;
    while (i < history->n / KEPT_SHARE && is_kept(history, ring_at(history, i)))
        i++;
    if (i == history->n / KEPT_SHARE && is_kept(history, ring_at(history, i)))
        i = 0;
    const struct frame *dropped = ring_at(history, i);
    pthread_mutex_lock(&history->lock);
    for (size_t k = i; k > 0; k--)
        history->ring[(history->first + k) & mask] = history->ring[(history->first + k - 1) & mask];
    history->first = (history->first + 1) & mask;
    history->n--;
    history->early = i >= history->early ? i : history->early - 1;
    pthread_mutex_unlock(&history->lock);
    return dropped;
}

void history_push(struct history *history, const struct frame *take) {
    if (history->n == history->capacity)
        ring_grow(history);
    pthread_mutex_lock(&history->lock);
    history->ring[(history->first + history->n++) & (history->capacity - 1)] = take;
    pthread_mutex_unlock(&history->lock);
    while (history->n > 2 && history_bytes(history) > history->max_bytes) {
        const struct frame *oldest = ring_drop(history);
        // A frame that a reader holds frees no memory yet. Evicting further would empty the whole history while a heat
        // map is being drawn; the next push continues instead.
        bool held = frame_shared(oldest);
        frame_unref(oldest);
        if (held)
            break;
    }
}

size_t history_bytes(const struct history *history) {
    return mem_account_used(history->account);
}

size_t history_count(const struct history *shared) {
    struct history *history = (struct history *)shared;
    pthread_mutex_lock(&history->lock);
    size_t n = history->n;
    pthread_mutex_unlock(&history->lock);
    return n;
}

const struct frame *history_get(const struct history *shared, size_t back) {
    struct history *history = (struct history *)shared;
    pthread_mutex_lock(&history->lock);
    const struct frame *frame = back < history->n ? frame_ref(ring_at(history, history->n - 1 - back)) : NULL;
    pthread_mutex_unlock(&history->lock);
    return frame;
}

// Index of the frame of that number or the nearest; numbers only rise. Needs n > 0 and the lock.
static size_t ring_find(const struct history *history, uint64_t number) {
    size_t low = 0, high = history->n - 1;
    while (low < high) { // the first frame with this number or a higher one
        size_t middle = low + (high - low) / 2;
        if (ring_at(history, middle)->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0) {
        uint64_t above = ring_at(history, low)->number, below = ring_at(history, low - 1)->number;
        if (above > number ? number - below < above - number : above < number && below > above)
            low--;
    }
    return low;
}

const struct frame *history_find(const struct history *shared, uint64_t number) {
    struct history *history = (struct history *)shared;
    pthread_mutex_lock(&history->lock);
    const struct frame *frame = history->n ? frame_ref(ring_at(history, ring_find(history, number))) : NULL;
    pthread_mutex_unlock(&history->lock);
    return frame;
}

const struct frame *history_step(const struct history *shared, uint64_t number, long frames) {
    struct history *history = (struct history *)shared;
    const struct frame *frame = NULL;
    pthread_mutex_lock(&history->lock);
    if (history->n) {
        size_t at = ring_find(history, number), last = history->n - 1;
        uint64_t there = ring_at(history, at)->number;
        // From a frame that is gone, its neighbour in that direction is the first step.
        if (frames > 0 && there > number)
            frames--;
        else if (frames < 0 && there < number)
            frames++;
        if (frames < 0)
            at = (size_t)-frames < at ? at - (size_t)-frames : 0;
        else
            at = (size_t)frames < last - at ? at + (size_t)frames : last;
        frame = frame_ref(ring_at(history, at));
    }
    pthread_mutex_unlock(&history->lock);
    return frame;
}

static double seconds(struct timespec time) {
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

const struct frame *history_at(const struct history *shared, struct timespec wall) {
    struct history *history = (struct history *)shared;
    const struct frame *best = NULL;
    double best_distance = 0, when = seconds(wall);
    pthread_mutex_lock(&history->lock);
    // Searches all frames, the newest first: the wall clock may have been set back, so they need not be in order.
    for (size_t i = history->n; i-- > 0;) {
        const struct frame *frame = ring_at(history, i);
        double end = seconds(frame->wall), begin = end - frame_interval_s(frame);
        double distance = when > end ? when - end : when < begin ? begin - when : 0;
        if (!best || distance < best_distance) {
            best = frame;
            best_distance = distance;
        }
    }
    frame_ref(best);
    pthread_mutex_unlock(&history->lock);
    return best;
}

size_t history_window(const struct history *shared, uint64_t last, const struct frame **out, size_t max) {
    struct history *history = (struct history *)shared;
    size_t n = 0;
    pthread_mutex_lock(&history->lock);
    if (history->n && max) {
        size_t end = ring_find(history, last) + 1, first = end - 1;
        while (first > 0 && end - first < max &&
               (first > history->early || // further back only without a gap
                ring_at(history, first - 1)->number + 1 == ring_at(history, first)->number))
            first--;
        n = end - first < max ? end - first : max;
        for (size_t i = 0; i < n; i++)
            out[i] = frame_ref(ring_at(history, end - n + i));
    }
    pthread_mutex_unlock(&history->lock);
    return n;
}

// Index of the first frame that ends at that time or later; n: none. Needs the lock.
static size_t ring_first_end(const struct history *history, uint64_t end_ns) {
    size_t low = 0, high = history->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring_at(history, middle)->end_ns < end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t history_between(const struct history *shared, uint64_t from_ns, uint64_t to_ns, const struct frame **out,
                       size_t max) {
    struct history *history = (struct history *)shared;
    pthread_mutex_lock(&history->lock);
    size_t first = ring_first_end(history, from_ns), end = ring_first_end(history, to_ns + 1);
    size_t there = end > first ? end - first : 0, n = there < max ? there : max;
    for (size_t i = 0; i < n; i++)
        out[i] = frame_ref(ring_at(history, first + i * there / n));
    pthread_mutex_unlock(&history->lock);
    return n;
}
