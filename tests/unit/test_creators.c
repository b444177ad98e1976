// Which processes create files: what the kernel reports, and malformed bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/filesystems/creators.h"

#define FSID 0x1122334455667788u
#define SECOND 1000000000u

// An event of FAN_REPORT_DFID_NAME: metadata, fsid, file handle of 8 bytes, name.
static size_t event_put(char *at, uint64_t mask, int32_t pid, uint64_t fsid, uint8_t type, unsigned handle_bytes) {
    struct fanotify_event_info_fid info = {.hdr = {.info_type = type}};
    const unsigned handle[] = {handle_bytes, 1, 7, 7};
    struct fanotify_event_metadata event = {
        .vers = FANOTIFY_METADATA_VERSION, .metadata_len = sizeof(event), .mask = mask, .fd = FAN_NOFD, .pid = pid};
    size_t body = sizeof(info) + sizeof(handle) + 8;
    info.hdr.len = (uint16_t)body;
    memcpy(&info.fsid, &fsid, sizeof(fsid));
    event.event_len = (uint32_t)(sizeof(event) + body);
    memcpy(at, &event, sizeof(event));
    memcpy(at + sizeof(event), &info, sizeof(info));
    memcpy(at + sizeof(event) + sizeof(info), handle, sizeof(handle));
    memcpy(at + sizeof(event) + sizeof(info) + sizeof(handle), "file.00", 8);
    return event.event_len;
}

static size_t created(char *at, int32_t pid) {
    return event_put(at, FAN_CREATE, pid, FSID, FAN_EVENT_INFO_TYPE_DFID_NAME, 8);
}

// "pid files/all" of each row.
static const char *rows(struct creators *creators, uint64_t now_ns) {
    static char out[256];
    const struct text *path = text_from("/no/such/mount");
    const struct creators_target target = {FSID, path};
    struct table *table = creators_sample(creators, &target, 1, now_ns);
    size_t cursor = 0, used = 0;
    out[0] = '\0';
    for (const union cell *row; (row = table_next(table, &cursor));)
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%.0f %.0f/%.0f", used ? ", " : "", row[0].num,
                                 row[4].num, row[5].num);
    table_free(table);
    text_unref(path);
    return out;
}

static void counted(void **state) {
    _Alignas(8) char bytes[4096];
    (void)state;
    struct creators *creators = creators_new();
    assert_string_equal(rows(creators, SECOND), ""); // watched from here on
    size_t n = 0;
    for (int i = 0; i < 6; i++)
        n += created(bytes + n, i % 3 ? getpid() : 2);
    n += event_put(bytes + n, FAN_CREATE, 3, FSID + 1, FAN_EVENT_INFO_TYPE_DFID_NAME, 8); // another file system
    n += event_put(bytes + n, FAN_DELETE, 3, FSID, FAN_EVENT_INFO_TYPE_DFID_NAME, 8);
    n += event_put(bytes + n, FAN_CREATE, 0, FSID, FAN_EVENT_INFO_TYPE_DFID_NAME, 8); // of an unknown process
    n += event_put(bytes + n, FAN_Q_OVERFLOW, 3, FSID, FAN_EVENT_INFO_TYPE_FID, 8);
    creators_take(creators, bytes, n, 2 * SECOND);
    char expected[64];
    snprintf(expected, sizeof(expected), "%d 4/6, 2 2/6", getpid());
    assert_string_equal(rows(creators, 3 * SECOND), expected);
    creators_take(creators, bytes, created(bytes, 2), 40 * (uint64_t)SECOND);
    assert_string_equal(rows(creators, 63 * (uint64_t)SECOND), "2 3/7"); // the other one created none for a minute
    creators_free(creators);
}

// Many processes, each with a file: the busiest ones stay.
static void many(void **state) {
    _Alignas(8) char bytes[256];
    (void)state;
    struct creators *creators = creators_new();
    rows(creators, SECOND);
    for (int i = 0; i < 1000; i++) {
        creators_take(creators, bytes, created(bytes, 1000 + i), SECOND);
        creators_take(creators, bytes, created(bytes, 7), SECOND);
    }
    assert_memory_equal(rows(creators, 2 * SECOND), "7 1000/2000, ", 13);
    creators_free(creators);
}

static void malformed(void **state) {
    _Alignas(8) char bytes[256];
    (void)state;
    struct creators *creators = creators_new();
    rows(creators, SECOND);
    size_t n = created(bytes, 7);
    for (size_t cut = 0; cut < n; cut++)
        creators_take(creators, bytes, cut, SECOND);
    n = event_put(bytes, FAN_CREATE, 7, FSID, FAN_EVENT_INFO_TYPE_DFID_NAME, 64); // a handle beyond the end
    creators_take(creators, bytes, n, SECOND);
    n = event_put(bytes, FAN_CREATE, 7, FSID, FAN_EVENT_INFO_TYPE_DFID_NAME, UINT32_MAX);
    creators_take(creators, bytes, n, SECOND);
    n = created(bytes, 7);
    ((struct fanotify_event_metadata *)(void *)bytes)->event_len = 0;
    creators_take(creators, bytes, n, SECOND);
    n = created(bytes, 7);
    ((struct fanotify_event_metadata *)(void *)bytes)->metadata_len = 8;
    creators_take(creators, bytes, n, SECOND);
    n = created(bytes, 7);
    ((struct fanotify_event_metadata *)(void *)bytes)->vers++;
    creators_take(creators, bytes, n, SECOND);
    assert_string_equal(rows(creators, 2 * SECOND), "");
    creators_free(creators);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted),
        cmocka_unit_test(many),
        cmocka_unit_test(malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
