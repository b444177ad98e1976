// The set of known tasks: a hash by key, and dense lists, so that a frame walks only the tasks that it reads.
#include "collectors/tasks/set.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

struct list {
    struct task **tasks;
    uint32_t count, room;
};

struct tasks_set {
    struct names *names;
    struct task **table; // open addressing, a power of two, at most half full
    size_t capacity, count;
    struct list lists[TASK_LISTS];
};

static size_t key_home(const struct tasks_set *set, pid_t key) {
    return ((uint32_t)key * 2654435769u >> 7) & (set->capacity - 1);
}

struct tasks_set *tasks_set_new(struct names *names) {
    struct tasks_set *set = xcalloc(1, sizeof(*set));
    set->names = names;
    set->capacity = 1024;
    set->table = xcalloc(set->capacity, sizeof(*set->table));
    return set;
}

void tasks_set_free(struct tasks_set *set) {
    if (!set)
        return;
    for (int i = 0; i < TASK_LISTS; i++) {
        while (set->lists[i].count)
            tasks_set_drop(set, set->lists[i].tasks[set->lists[i].count - 1]);
        free(set->lists[i].tasks);
    }
    free(set->table);
    free(set);
}

struct task *tasks_set_find(const struct tasks_set *set, pid_t key) {
    size_t at = key_home(set, key);
    for (struct task *task; (task = set->table[at]); at = (at + 1) & (set->capacity - 1))
        if (task->key == key)
            return task;
    return NULL;
}

static void table_put(struct tasks_set *set, struct task *task) {
    size_t at = key_home(set, task->key);
    while (set->table[at])
        at = (at + 1) & (set->capacity - 1);
    set->table[at] = task;
}

static void table_take(struct tasks_set *set, struct task *task) {
    size_t mask = set->capacity - 1, at = key_home(set, task->key);
    while (set->table[at] != task)
        at = (at + 1) & mask;
    set->count--;
    size_t gap = at;
    for (;;) {
        at = (at + 1) & mask;
        struct task *next = set->table[at];
        if (!next)
            break;
        if (((at - key_home(set, next->key)) & mask) >= ((at - gap) & mask)) {
            set->table[gap] = next;
            gap = at;
        }
    }
    set->table[gap] = NULL;
}

static void list_put(struct tasks_set *set, struct task *task, enum task_list which) {
    struct list *list = &set->lists[which];
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 64;
        list->tasks = xrealloc(list->tasks, list->room * sizeof(*list->tasks));
    }
    task->list = (uint8_t)which;
    task->index = list->count;
    list->tasks[list->count++] = task;
}

static void list_take(struct tasks_set *set, struct task *task) {
    struct list *list = &set->lists[task->list];
    struct task *last = list->tasks[--list->count];
    list->tasks[task->index] = last;
    last->index = task->index;
}

struct task *tasks_set_add(struct tasks_set *set, pid_t key) {
    if (set->count * 2 >= set->capacity) {
        struct task **old = set->table;
        size_t n = set->capacity;
        set->capacity *= 2;
        set->table = xcalloc(set->capacity, sizeof(*set->table));
        for (size_t i = 0; i < n; i++)
            if (old[i])
                table_put(set, old[i]);
        free(old);
    }
    struct task *task = xcalloc(1, sizeof(*task));
    task->key = key;
    task->pid = task->tid = key < 0 ? -key : key;
    task->slot = TASK_NO_SLOT;
    table_put(set, task);
    set->count++;
    list_put(set, task, TASKS_ACTIVE);
    return task;
}

void tasks_set_move(struct tasks_set *set, struct task *task, enum task_list list) {
    if (task->list == list)
        return;
    if (list == TASKS_ENDED)
        table_take(set, task);
    list_take(set, task);
    list_put(set, task, list);
}

void tasks_set_drop(struct tasks_set *set, struct task *task) {
    if (task->list != TASKS_ENDED)
        table_take(set, task);
    list_take(set, task);
    names_release(set->names, task->comm);
    names_release(set->names, task->command);
    names_release(set->names, task->cgroup);
    names_release(set->names, task->netns);
    names_release(set->names, task->user);
    free(task->end);
    free(task);
}

size_t tasks_set_count(const struct tasks_set *set, enum task_list list) {
    return set->lists[list].count;
}

struct task *tasks_set_at(const struct tasks_set *set, enum task_list list, size_t i) {
    return set->lists[list].tasks[i];
}
