// Look-ups of names that wait for their name server: UDP sockets with queries to port 53 that get no answer.
//
// Most resolvers connect their socket. The kernel lists such sockets by a filter of its own, so a dump is cheap and
// done at every sample. A resolver closes the socket after the answer, but a socket may also be kept open for later
// queries. So a wait needs another sign: a thread of the owner sleeps in poll(2) on a few descriptors with a time-out,
// or in recvmsg(2) of that socket; or, where the owner has an event loop, an earlier socket of it to the same server
// was closed after seconds without an answer. For a socket that is not connected, as those of musl and Netty, queries.c
// finds the server in the query itself; such a query is a wait until its answer arrives. Kernel document: sock_diag(7).
#include <dirent.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/syscall.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define SERVERS_MAX 16
#define LOOKUPS_MAX 256
#define LOOKED_MAX 16            // owners whose threads are read per sample
#define THREADS_MAX 64           // of an owner
#define GIVEN_UP_MAX 32          // sockets that were closed without an answer
#define OLD_NS 900000000ull      // from here on a socket is looked at
#define GAVE_UP_NS 2000000000ull // a resolver gives up after seconds, not before
#define KEPT_NS 30000000000ull   // a socket that is open longer is kept open on purpose
#define REMEMBER_NS 30000000000ull
#define POLLED_MAX 4 // descriptors: those of one resolver
#define DUMP_SHARE 500
#define LINKS 16384 // descriptors that are read per sample, while an owner is searched
#define SEARCH_NS 5000000000ull

enum { SERVER, PID, COMM, LOOKUPS, LONGEST, SERVER_PID, SERVER_COMM, SERVER_QUEUE, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [SERVER] = TEXT_COLUMN("server", "SERVER", 21, .help = "Address and port of the name server."),
    [PID] = COLUMN_PID(.help = "The process that waits for it; none: unknown."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [LOOKUPS] = NUMBER_COLUMN("lookups", "LOOKUPS", UNIT_COUNT, 7, .help = "Its look-ups without an answer."),
    [LONGEST] = NUMBER_COLUMN("longest_s", "LONGEST", UNIT_S, 7, .help = "How long the oldest of them waits."),
    [SERVER_PID] = ID_COLUMN("server_pid", "SRVPID", 7, .help = "The name server, if it is a process of this machine."),
    [SERVER_COMM] = TEXT_COLUMN("server_comm", "SRVCOMM", 15, .help = "Name of that process."),
    [SERVER_QUEUE] = NUMBER_COLUMN("server_queue", "SRVQ", UNIT_BYTES, 7, .help = "Queries that it has not read."),
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_lookups_table = {
    .name = "lookup_waits",
    .help = "Processes that wait for a name server (UDP port 53) which does not answer.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

struct lookup {
    uint64_t inode, first_ns, since_ns; // since: also the attempt before, which was given up
    char server[64];
    int32_t pid; // 0: not found yet
    bool seen, waits;
    bool aged;        // its age is known: it was not there at the first dump
    bool unconnected; // its server is that of a query
};

struct given_up {
    int32_t pid;
    char server[64];
    uint64_t first_ns, at_ns;
};

struct server {
    uint64_t inode, since_ns; // since when it has not read
    uint32_t queue;
    char local[64];
    int32_t pid; // 0: not found yet
    bool seen;
};

struct lookups {
    struct diag_owners *owners;
    struct unconnected *unconnected;
    struct lookup lookups[LOOKUPS_MAX];
    size_t n;
    struct given_up given_up[GIVEN_UP_MAX];
    size_t next_given_up;
    struct server servers[SERVERS_MAX]; // of this machine, that have queries to read
    size_t n_servers;
    const char *server_of;     // address whose server is searched; NULL: no look-up waits
    struct diag_socket server; // of this machine; inode 0: none
    int32_t server_pid;
    uint64_t now_ns, dump_ns, search_ns;
    bool searching, dumped;
};

// ---- sockets ----

// NULL: there are too many.
static struct lookup *lookup_get(struct lookups *lookups, uint64_t inode, const char *server) {
    size_t i = 0;
    while (i < lookups->n && lookups->lookups[i].inode != inode)
        i++;
    if (i == LOOKUPS_MAX)
        return NULL;
    struct lookup *lookup = &lookups->lookups[i];
    if (i == lookups->n || strcmp(lookup->server, server) != 0) { // new, or of another server
        lookups->n += i == lookups->n;
        *lookup = (struct lookup){
            .inode = inode, .first_ns = lookups->now_ns, .since_ns = lookups->now_ns, .aged = lookups->dumped};
        snprintf(lookup->server, sizeof(lookup->server), "%s", server);
    }
    return lookup;
}

static void lookup_take(void *context, const struct diag_socket *socket) {
    struct lookup *lookup = socket->inode ? lookup_get(context, socket->inode, socket->remote) : NULL;
    if (!lookup)
        return;
    lookup->unconnected = false;
    lookup->seen = !socket->queue; // else the answer is there
}

static void query_take(void *context, uint64_t inode, const char *server, uint64_t since_ns) {
    struct lookup *lookup = lookup_get(context, inode, server);
    if (!lookup)
        return;
    lookup->unconnected = lookup->aged = lookup->seen = true;
    lookup->first_ns = lookup->since_ns = since_ns;
}

// The last attempt of that process at that server that was given up; NULL: none.
static const struct given_up *given_up_before(const struct lookups *lookups, const struct lookup *of) {
    const struct given_up *last = NULL;
    for (size_t i = 0; i < GIVEN_UP_MAX; i++) {
        const struct given_up *given_up = &lookups->given_up[i];
        if (of->pid && given_up->pid == of->pid && lookups->now_ns - given_up->at_ns < REMEMBER_NS &&
            !strcmp(given_up->server, of->server) && (!last || given_up->at_ns > last->at_ns))
            last = given_up;
    }
    return last;
}

static void lookup_end(struct lookups *lookups, const struct lookup *lookup) {
    uint64_t age_ns = lookups->now_ns - lookup->first_ns;
    if (!lookup->pid || (!lookup->aged && !lookup->waits) || age_ns < GAVE_UP_NS || age_ns > KEPT_NS)
        return;
    if (lookup->unconnected && unconnected_is_open(lookups->unconnected, lookup->inode)) // answered
        return;
    struct given_up *given_up = &lookups->given_up[lookups->next_given_up++ % GIVEN_UP_MAX];
    *given_up = (struct given_up){.pid = lookup->pid, .first_ns = lookup->first_ns, .at_ns = lookups->now_ns};
    snprintf(given_up->server, sizeof(given_up->server), "%s", lookup->server);
}

static void lookups_unsee(struct lookups *lookups, bool unconnected) {
    for (size_t i = 0; i < lookups->n; i++)
        lookups->lookups[i].seen &= lookups->lookups[i].unconnected != unconnected;
}

// complete: no socket can be missing.
static void lookups_forget(struct lookups *lookups, bool unconnected, bool complete) {
    size_t n = 0;
    for (size_t i = 0; i < lookups->n; i++) {
        if (lookups->lookups[i].seen || lookups->lookups[i].unconnected != unconnected)
            lookups->lookups[n++] = lookups->lookups[i];
        else if (complete)
            lookup_end(lookups, &lookups->lookups[i]);
    }
    lookups->n = n;
}

static void dump(struct lookups *lookups) {
    static const struct diag_query query = {
        .protocol = IPPROTO_UDP, .states = 1u << TCP_ESTABLISHED, .remote_port = DNS_PORT};
    uint64_t begin = thread_cpu_ns();
    lookups_unsee(lookups, false);
    int error = diag_dump(&query, lookup_take, lookups);
    lookups_forget(lookups, false, !error);
    lookups->dumped = true;
    lookups->dump_ns = sockets_next_dump(lookups->now_ns, begin, DUMP_SHARE, 0);
}

static size_t unconnected_look(struct lookups *lookups, const struct sockets_place *place) {
    lookups_unsee(lookups, true);
    size_t busy = unconnected_sample(lookups->unconnected, place, query_take, lookups);
    lookups_forget(lookups, true, true);
    return busy;
}

// ---- owners and their threads ----

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct lookups *lookups = context;
    if (inode == lookups->server.inode)
        lookups->server_pid = pid;
    for (size_t i = 0; i < lookups->n_servers; i++)
        if (lookups->servers[i].inode == inode)
            lookups->servers[i].pid = pid;
    for (size_t i = 0; i < lookups->n; i++)
        if (lookups->lookups[i].inode == inode)
            lookups->lookups[i].pid = pid;
}

static void owners_search(struct lookups *lookups) {
    uint64_t inodes[LOOKUPS_MAX + SERVERS_MAX + 1];
    size_t n = 0;
    if (!lookups->searching && lookups->now_ns >= lookups->search_ns) {
        for (size_t i = 0; i < lookups->n; i++)
            if (!lookups->lookups[i].pid && lookups->now_ns - lookups->lookups[i].first_ns >= OLD_NS)
                inodes[n++] = lookups->lookups[i].inode;
        if (lookups->server.inode && !lookups->server_pid)
            inodes[n++] = lookups->server.inode;
        for (size_t i = 0; i < lookups->n_servers; i++)
            if (!lookups->servers[i].pid && lookups->now_ns - lookups->servers[i].since_ns >= OLD_NS)
                inodes[n++] = lookups->servers[i].inode;
        lookups->searching = n;
        if (n)
            diag_owners_want(lookups->owners, inodes, n);
    }
    if (!lookups->searching || !diag_owners_search(lookups->owners, LINKS, owner_found, lookups))
        return;
    lookups->searching = false;
    lookups->search_ns = 0;
    for (size_t i = 0; i < lookups->n; i++)
        if (!lookups->lookups[i].pid && lookups->now_ns - lookups->lookups[i].first_ns >= OLD_NS + SEARCH_NS)
            lookups->search_ns = lookups->now_ns + SEARCH_NS; // in another PID namespace
}

// Whether the thread sleeps as a resolver does. In its sleep in poll or recvmsg /proc/TID/syscall does not block, as it
// may in execve.
static bool thread_waits(int32_t pid, int32_t tid, uint64_t inode) {
    char path[64], text[64], link[64];
    struct proc_syscall call;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", pid, tid);
    if (proc_read_line(path, text, sizeof(text)) || (!strstr(text, "poll") && !strstr(text, "skb")) ||
        strstr(text, "ep_poll") || proc_syscall_read("/proc", tid, &call))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, (int)call.args[0]);
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    link[n > 0 ? n : 0] = '\0';
    return sockets_lookup_waits(&call, link, inode);
}

bool sockets_lookup_waits(const struct proc_syscall *call, const char *link, uint64_t inode) {
    unsigned long long number;
    if (call->nr < 0 || call->is_32)
        return false;
    switch (call->nr) {
#ifdef SYS_poll
    case SYS_poll:
        return call->args[1] >= 1 && call->args[1] <= POLLED_MAX && (int)call->args[2] > 0;
#endif
    case SYS_ppoll:
        return call->args[1] >= 1 && call->args[1] <= POLLED_MAX && call->args[2];
    case SYS_read:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
        return sscanf(link, "socket:[%llu]", &number) == 1 && number == inode;
    default:
        return false;
    }
}

bool sockets_owner_waits(int32_t pid, uint64_t inode) {
    char path[64];
    bool waits = false;
    int32_t tid;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (size_t n = 0; threads && !waits && n < THREADS_MAX && (tid = proc_next_id(threads)) > 0; n++)
        waits = thread_waits(pid, tid, inode);
    if (threads)
        closedir(threads);
    return waits;
}

static void waits_look(struct lookups *lookups) {
    size_t looked = 0;
    for (size_t i = 0; i < lookups->n; i++) {
        struct lookup *lookup = &lookups->lookups[i];
        uint64_t age_ns = lookups->now_ns - lookup->first_ns;
        if (lookup->unconnected)
            lookup->waits = lookup->pid && age_ns >= OLD_NS;
        if (!lookup->pid || age_ns < OLD_NS)
            continue;
        const struct given_up *before = given_up_before(lookups, lookup);
        if (before && before->at_ns + OLD_NS * 2 > lookup->first_ns) // the resolver tries again at once
            lookup->since_ns = before->first_ns;
        if (lookup->unconnected)
            continue;
        if (before)
            lookup->waits = age_ns < KEPT_NS;
        else if (looked++ < LOOKED_MAX)
            lookup->waits = sockets_owner_waits(lookup->pid, lookup->inode);
    }
}

// ---- the server, if it is of this machine ----

// A queue that shrinks is read.
static void server_watch(struct lookups *lookups, const struct diag_socket *socket) {
    size_t i = 0;
    while (i < lookups->n_servers && lookups->servers[i].inode != socket->inode)
        i++;
    if (i == SERVERS_MAX)
        return;
    struct server *server = &lookups->servers[i];
    if (i == lookups->n_servers || socket->queue < server->queue) {
        int32_t pid = i == lookups->n_servers ? 0 : server->pid;
        lookups->n_servers += i == lookups->n_servers;
        *server = (struct server){.inode = socket->inode, .since_ns = lookups->now_ns, .pid = pid};
        snprintf(server->local, sizeof(server->local), "%s", socket->local);
    }
    server->queue = socket->queue;
    server->seen = true;
}

static void server_take(void *context, const struct diag_socket *socket) {
    struct lookups *lookups = context;
    if (socket->inode && socket->queue)
        server_watch(lookups, socket);
    if (!socket->inode || !lookups->server_of)
        return;
    bool exact = !strcmp(socket->local, lookups->server_of);
    bool any = !strncmp(lookups->server_of, "127.", 4) &&
               (!strncmp(socket->local, "0.0.0.0:", 8) || !strncmp(socket->local, "[::]:", 5));
    if (exact || (any && !lookups->server.inode))
        lookups->server = *socket;
}

static void servers_look(struct lookups *lookups) {
    static const struct diag_query query = {.protocol = IPPROTO_UDP, .states = 1u << TCP_CLOSE, .local_port = DNS_PORT};
    uint64_t before = lookups->server.inode;
    size_t n = 0;
    lookups->server.inode = 0;
    for (size_t i = 0; i < lookups->n_servers; i++)
        lookups->servers[i].seen = false;
    diag_dump(&query, server_take, lookups);
    for (size_t i = 0; i < lookups->n_servers; i++)
        if (lookups->servers[i].seen)
            lookups->servers[n++] = lookups->servers[i];
    lookups->n_servers = n;
    if (lookups->server.inode != before)
        lookups->server_pid = 0;
}

// ---- rows ----

// The look-ups of one process at one server; the first of them adds the row.
static void row_add(const struct lookups *lookups, size_t at, const struct sockets_place *place,
                    struct table_builder *rows) {
    const struct lookup *first = &lookups->lookups[at];
    uint64_t oldest = first->since_ns;
    double n = 0;
    for (size_t i = 0; i < lookups->n; i++) {
        const struct lookup *lookup = &lookups->lookups[i];
        if (!lookup->waits || lookup->pid != first->pid || strcmp(lookup->server, first->server) != 0)
            continue;
        if (i < at)
            return;
        n++;
        oldest = lookup->since_ns < oldest ? lookup->since_ns : oldest;
    }
    uint32_t slot = table_builder_add(rows);
    sockets_set_netns(rows, slot, NETNS, place);
    table_builder_set_text(rows, slot, SERVER, text_from(first->server));
    sockets_set_process(rows, slot, PID, COMM, first->pid);
    table_builder_set_num(rows, slot, LOOKUPS, n);
    table_builder_set_num(rows, slot, LONGEST, (double)(lookups->now_ns - oldest) / 1e9);
    if (!lookups->server.inode || strcmp(first->server, lookups->server_of) != 0)
        return;
    table_builder_set_num(rows, slot, SERVER_QUEUE, lookups->server.queue);
    sockets_set_process(rows, slot, SERVER_PID, SERVER_COMM, lookups->server_pid);
}

// A server with queries that it does not read; their senders are unknown if their sockets are not connected.
static void server_row_add(const struct lookups *lookups, const struct server *server,
                           const struct sockets_place *place, struct table_builder *rows) {
    uint64_t age_ns = lookups->now_ns - server->since_ns;
    bool listed = lookups->server_of && lookups->server.inode == server->inode; // as the server of a look-up,
    for (size_t i = 0; i < GIVEN_UP_MAX; i++)                                   // or it was, before the next attempt
        listed |= lookups->given_up[i].pid && lookups->now_ns - lookups->given_up[i].at_ns < REMEMBER_NS &&
                  !strcmp(lookups->given_up[i].server, server->local);
    if (!server->pid || age_ns < OLD_NS || listed)
        return;
    uint32_t slot = table_builder_add(rows);
    sockets_set_netns(rows, slot, NETNS, place);
    table_builder_set_text(rows, slot, SERVER, text_from(server->local));
    table_builder_set_num(rows, slot, LONGEST, (double)age_ns / 1e9);
    table_builder_set_num(rows, slot, SERVER_QUEUE, server->queue);
    sockets_set_process(rows, slot, SERVER_PID, SERVER_COMM, server->pid);
}

static size_t lookups_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct lookups *lookups = state;
    lookups->now_ns = place->now_ns;
    if (place->now_ns >= lookups->dump_ns)
        dump(lookups);
    size_t busy = unconnected_look(lookups, place);
    waits_look(lookups);
    lookups->server_of = NULL;
    for (size_t i = 0; i < lookups->n && !lookups->server_of; i++)
        lookups->server_of = lookups->lookups[i].waits ? lookups->lookups[i].server : NULL;
    servers_look(lookups);
    owners_search(lookups);
    for (size_t i = 0; i < lookups->n; i++)
        if (lookups->lookups[i].waits)
            row_add(lookups, i, place, rows);
    for (size_t i = 0; i < lookups->n_servers; i++)
        server_row_add(lookups, &lookups->servers[i], place, rows);
    return lookups->n + lookups->n_servers + busy;
}

static void *lookups_create(void) {
    struct lookups *lookups = xcalloc(1, sizeof(*lookups));
    lookups->owners = diag_owners_new();
    lookups->unconnected = unconnected_new();
    return lookups;
}

static void lookups_destroy(void *state) {
    struct lookups *lookups = state;
    diag_owners_free(lookups->owners);
    unconnected_free(lookups->unconnected);
    free(lookups);
}

static void lookups_release(void *state) {
    unconnected_release(((struct lookups *)state)->unconnected);
}

const struct sockets_part sockets_lookups_part = {.table = &sockets_lookups_table,
                                                  .create = lookups_create,
                                                  .sample = lookups_sample,
                                                  .release = lookups_release,
                                                  .destroy = lookups_destroy};
