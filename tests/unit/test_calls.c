// System calls with their arguments: rows from forged records, directories of relative paths from a forged /proc.
#include "collectors/events/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/events/choice.h"
#include "model/clock.h"
#include "tests/unit/model_test.h"

// What calls_open would need the kernel for: rows use the directories only.
struct calls_like {
    struct call_kept kept;
    char bytes[32768];
};

static void forge(struct calls_like *like, const char *name, int64_t result, const uint64_t *args) {
    memset(like, 0, sizeof(*like));
    like->kept.record.call = (uint32_t)call_find(name);
    like->kept.record.result = result;
    for (int i = 0; i < CALL_ARGS; i++)
        like->kept.record.args[i] = args[i];
}

static void forge_string(struct calls_like *like, int string, const void *bytes, size_t length) {
    memcpy((char *)(&like->kept.record + 1) + like->kept.strings, bytes, length);
    like->kept.record.lengths[string] = (int16_t)length;
    like->kept.strings += (uint32_t)length;
}

static void forge_text(struct calls_like *like, int string, const char *text) {
    forge_string(like, string, text, strlen(text) + 1);
}

static void forge_dir(struct calls_like *like, int path, const char *dir) {
    memcpy((char *)(&like->kept.record + 1) + like->kept.strings + like->kept.dirs[0], dir, strlen(dir) + 1);
    like->kept.dirs[path] = (uint16_t)(strlen(dir) + 1);
}

static struct call_row row_of(const struct calls_like *like) {
    struct call_row row;
    calls_row(NULL, &like->kept, &row);
    return row;
}

static void row_drop(struct call_row *row) {
    text_unref(row->path);
    text_unref(row->flags);
    text_unref(row->result);
    text_unref(row->fields);
}

#define EXPECT(like, expected)                                                                                         \
    do {                                                                                                               \
        struct call_row row_ = row_of(like);                                                                           \
        assert_string_equal(text_bytes(row_.fields), expected);                                                        \
        row_drop(&row_);                                                                                               \
    } while (0)

static void opens(void **state) {
    (void)state;
    struct calls_like like;
    forge(&like, "openat", 3, (uint64_t[]){(uint64_t)AT_FDCWD, 1, O_RDONLY | O_CLOEXEC, 077777, 0, 0});
    forge_text(&like, 0, "/etc/passwd");
    struct call_row row = row_of(&like);
    assert_string_equal(text_bytes(row.path), "/etc/passwd");
    assert_string_equal(text_bytes(row.flags), "O_RDONLY|O_CLOEXEC");
    assert_string_equal(text_bytes(row.result), "3");
    assert_false(row.unresolved || row.unreadable);
    row_drop(&row);
    EXPECT(&like, "path=/etc/passwd flags=O_RDONLY|O_CLOEXEC result=3");

    forge(&like, "openat", -ENOENT, (uint64_t[]){5, 1, O_RDWR | O_CREAT | O_EXCL, 0640, 0, 0});
    forge_text(&like, 0, "./a/b");
    forge_dir(&like, 0, "/work");
    EXPECT(&like, "path=/work/a/b flags=O_RDWR|O_CREAT|O_EXCL mode=0640 result=ENOENT");
    like.kept.dirs[0] = 0;
    forge_dir(&like, 0, "/");
    EXPECT(&like, "path=/a/b flags=O_RDWR|O_CREAT|O_EXCL mode=0640 result=ENOENT");

    forge(&like, "openat", 3, (uint64_t[]){5, 1, O_WRONLY | O_TMPFILE | 1ull << 30, 0600, 0, 0});
    forge_text(&like, 0, "x");
    row = row_of(&like);
    assert_true(row.unresolved); // no directory
    assert_string_equal(text_bytes(row.path), "?/x");
    assert_string_equal(text_bytes(row.flags), "O_WRONLY|O_TMPFILE|0x40000000");
    row_drop(&row);
}

static void strings(void **state) {
    (void)state;
    struct calls_like like;
    char path[CALL_STRING_BYTES];
    forge(&like, "openat", -EFAULT, (uint64_t[]){0, 8, 0, 0, 0, 0});
    like.kept.record.lengths[0] = CALL_UNREADABLE;
    struct call_row row = row_of(&like);
    assert_string_equal(text_bytes(row.path), "(unreadable)");
    assert_false(row.unreadable); // the kernel could not read it either
    row_drop(&row);
    like.kept.record.result = 3;
    row = row_of(&like);
    assert_true(row.unreadable);
    row_drop(&row);

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    for (int i = 0; i < 2; i++) { // 4,095 characters are a path; of a longer one the rest is missing
        forge(&like, "openat", i ? -ENAMETOOLONG : -ENOENT, (uint64_t[]){0, 8, 0, 0, 0, 0});
        forge_string(&like, 0, path, sizeof(path));
        row = row_of(&like);
        assert_int_equal(text_length(row.path), sizeof(path) - 1 + (i ? 3 : 0));
        row_drop(&row);
    }

    const uint64_t how[] = {O_RDONLY | O_DIRECTORY, 0, 8};
    forge(&like, "openat2", 4, (uint64_t[]){0, 8, 16, 24, 0, 0});
    forge_text(&like, 0, "/x");
    forge_string(&like, 1, how, sizeof(how));
    EXPECT(&like, "path=/x flags=O_RDONLY|O_DIRECTORY resolve=0x8 result=4");
}

static void mounts(void **state) {
    (void)state;
    struct calls_like like;
    forge(&like, "mount", 0, (uint64_t[]){8, 8, 8, 1 | 4096, 8, 0});
    forge_text(&like, 0, "//server/share");
    forge_text(&like, 1, "/mnt");
    forge_text(&like, 2, "cifs");
    forge_text(&like, 3, "user=me,password=abc,ro");
    EXPECT(&like, "source=//server/share target=/mnt type=cifs flags=MS_RDONLY|MS_BIND options=user=me,password=***,ro "
                  "result=0");
    forge(&like, "fsconfig", 0, (uint64_t[]){3, 1, 8, 8, 0, 0});
    forge_text(&like, 0, "password");
    forge_text(&like, 1, "a,b");
    EXPECT(&like, "fd=3 command=SET_STRING key=password value=***,*** aux=0 result=0");
    forge(&like, "fsconfig", 0, (uint64_t[]){3, 6, 0, 0, 0, 0});
    EXPECT(&like, "fd=3 command=CMD_CREATE aux=0 result=0");
    forge(&like, "move_mount", 0, (uint64_t[]){4, 8, (uint64_t)AT_FDCWD, 8, 4, 0});
    forge_text(&like, 0, "");
    forge_text(&like, 1, "m");
    like.kept.dirs[0] = 0;
    forge_dir(&like, 1, "/srv");
    struct call_row row = row_of(&like);
    assert_string_equal(text_bytes(row.path), "/srv/m");
    assert_string_equal(text_bytes(row.fields), "from=? to=/srv/m flags=MOVE_MOUNT_F_EMPTY_PATH result=0");
    row_drop(&row);
}

static void link_put(const char *root, const char *name, const char *target) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

// A directory that changed before it was read is unknown afterwards; one that did not is certain.
static void directories(void **state) {
    (void)state;
    char root[] = "/tmp/ktop-calls-XXXXXX", out[4096], path[64];
    uint64_t read_ns, second_ns;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/7", root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/7/fd", root);
    assert_int_equal(mkdir(path, 0755), 0);
    link_put(root, "7/cwd", "/one");
    link_put(root, "7/fd/5", "/dir");
    struct call_dirs *dirs = call_dirs_new(root);
    assert_true(call_dirs_find(dirs, 7, 7, AT_FDCWD, out, sizeof(out), &read_ns));
    assert_string_equal(out, "/one");
    assert_false(call_dirs_was_late(dirs, read_ns));
    link_put(root, "7/cwd", "/two"); // without a record it is not read again
    assert_true(call_dirs_find(dirs, 7, 7, AT_FDCWD, out, sizeof(out), &second_ns));
    assert_string_equal(out, "/one");
    assert_int_equal(read_ns, second_ns);
    call_dirs_opened(dirs, 7, AT_FDCWD, read_ns - 1000, NULL); // it had changed when it was read
    assert_true(call_dirs_was_late(dirs, read_ns));
    assert_true(call_dirs_find(dirs, 7, 7, AT_FDCWD, out, sizeof(out), &second_ns));
    assert_string_equal(out, "/two");
    call_dirs_opened(dirs, 7, AT_FDCWD, second_ns + 1000000000, "/three"); // long after
    assert_false(call_dirs_was_late(dirs, second_ns));
    assert_true(call_dirs_find(dirs, 7, 7, AT_FDCWD, out, sizeof(out), &second_ns));
    assert_string_equal(out, "/three");
    assert_int_equal(second_ns, 0);

    assert_true(call_dirs_find(dirs, 7, 7, 5, out, sizeof(out), &read_ns));
    assert_string_equal(out, "/dir");
    call_dirs_opened(dirs, 7, 5, read_ns, "/other"); // the descriptor is another one by now
    assert_true(call_dirs_was_late(dirs, read_ns));
    call_dirs_opened(dirs, 7, 6, now_ns(), "/opened");
    assert_true(call_dirs_find(dirs, 7, 7, 6, out, sizeof(out), &read_ns));
    assert_string_equal(out, "/opened");
    assert_int_equal(read_ns, 0); // certain
    call_dirs_duplicated(dirs, 7, 6, 9, now_ns());
    assert_true(call_dirs_find(dirs, 7, 7, 9, out, sizeof(out), &read_ns));
    assert_string_equal(out, "/opened");
    assert_false(call_dirs_find(dirs, 7, 7, 44, out, sizeof(out), &read_ns));
    assert_false(call_dirs_find(dirs, 8, 8, AT_FDCWD, out, sizeof(out), &read_ns)); // it exited
    call_dirs_free(dirs);
    unlink(strcat(strcpy(out, root), "/7/cwd"));
    unlink(strcat(strcpy(out, root), "/7/fd/5"));
    rmdir(strcat(strcpy(out, root), "/7/fd"));
    rmdir(strcat(strcpy(out, root), "/7"));
    rmdir(root);
}

static void choices(void **state) {
    (void)state;
    struct tracepoints list;
    struct choice choice;
    struct choice_error error;
    char names[CALL_NAMES_MAX];
    size_t length = call_names(names, sizeof(names));
    assert_true(length < sizeof(names) - 1 && !strstr(names, "chdir"));
    tracepoints_parse(&list, names, length);
    assert_int_equal(choice_resolve(&choice, "call:openat", &list, &error), 0);
    assert_true(choice.n == 1 && choice.events[0].is_call);
    choice_free(&choice);
    assert_int_equal(choice_resolve(&choice, "call:openat if flags == 1", &list, &error), -EINVAL);
    assert_string_equal(error.sentence, "system calls (call:NAME) have no filter");
    tracepoints_free(&list);
}

// All calls together fit, and each jump goes forward within the program.
static void program(void **state) {
    (void)state;
    bool wanted[64];
    memset(wanted, true, sizeof(wanted));
    struct bpf_code *code = calloc(1, sizeof(*code));
    call_program(code, wanted, 1, &(struct bpf_task_offsets){8, 16},
                 &(struct bpf_recorder){.scratch = 3, .dropped = 4, .ring.fd = 5});
    assert_true(code->n > 100 && code->n < BPF_CODE_MAX);
    for (size_t i = 0; i < code->n; i++) {
        const struct bpf_insn *insn = &code->insns[i];
        if ((insn->code & 7) == BPF_JMP && (insn->code & 0xf0) != BPF_CALL && (insn->code & 0xf0) != BPF_EXIT)
            assert_true(insn->off >= 0 && i + 1 + (size_t)insn->off < code->n);
    }
    free(code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens),       cmocka_unit_test(strings), cmocka_unit_test(mounts),
        cmocka_unit_test(directories), cmocka_unit_test(choices), cmocka_unit_test(program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
