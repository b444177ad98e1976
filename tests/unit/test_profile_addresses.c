// The table of sampled addresses: counts, order, and what is dropped when it is full.
#include "tests/unit/model_test.h"

#include "collectors/profile/addresses.h"

static void counts(void **state) {
    (void)state;
    struct addresses *addresses = addresses_new();
    struct address *added;
    size_t n;
    uint64_t dropped;
    assert_true(addresses_add(addresses, 1, 2, 0x1000, &added));
    added->offset = 7;
    assert_false(addresses_add(addresses, 1, 2, 0x1000, &added));
    assert_true(addresses_add(addresses, 1, 2, 0x1004, &added));
    assert_true(addresses_add(addresses, 3, 2, 0x1000, &added)); // another process
    assert_true(addresses_add(addresses, 1, 4, 0x1000, &added)); // other code at the same address
    assert_false(addresses_add(addresses, 1, 2, 0x1000, &added));
    const struct address *list = addresses_sorted(addresses, &n, &dropped);
    assert_int_equal(n, 4);
    assert_int_equal(dropped, 0);
    assert_int_equal(list[0].samples, 3);
    assert_int_equal(list[0].offset, 7);
    assert_int_equal(list[1].samples, 1);
    assert_false(addresses_add(addresses, 1, 2, 0x1000, &added)); // found again in the new order
    list = addresses_sorted(addresses, &n, &dropped);
    assert_int_equal(list[0].samples, 4);
    addresses_clear(addresses);
    addresses_sorted(addresses, &n, &dropped);
    assert_int_equal(n, 0);
    assert_true(addresses_add(addresses, 1, 2, 0x1000, &added));
    addresses_free(addresses);
}

// The heaviest stay, and no sample is lost from the sum.
static void full(void **state) {
    (void)state;
    struct addresses *addresses = addresses_new();
    struct address *added;
    size_t n;
    uint64_t dropped, sum = 0, given = 0;
    for (uint64_t i = 0; i < 5 * ADDRESSES_MAX; i++) {
        addresses_add(addresses, 1, 2, 0x400000 + 4 * i, &added);
        addresses_add(addresses, 1, 2, 0x100 + i % 100, &added); // hot ones, all the time
        given += 2;
    }
    const struct address *list = addresses_sorted(addresses, &n, &dropped);
    assert_in_range(n, ADDRESSES_MAX / 2, ADDRESSES_MAX);
    assert_true(dropped > 0);
    for (size_t i = 0; i < n; i++) {
        sum += list[i].samples;
        if (i < 100) {
            assert_true(list[i].ip < 0x200);
            assert_in_range(list[i].samples, 5 * ADDRESSES_MAX / 100, 5 * ADDRESSES_MAX / 100 + 1);
        }
    }
    assert_int_equal(sum + dropped, given);
    addresses_free(addresses);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
