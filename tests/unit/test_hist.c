// The mathematics of the buckets, quantiles by nearest rank against the sorted values, merging, sets.
#include "tests/unit/model_test.h"

#include <stdlib.h>

#include "model/hist.h"
#include "model/mem.h"

static uint64_t random_state = 88172645463325252ull;
static uint64_t random_next(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

// Any magnitude is as likely as any other.
static uint64_t random_value(void) {
    return random_next() >> (20 + random_next() % 44);
}

static void buckets(void **state) {
    (void)state;
    assert_int_equal(hist_bucket_low(0), 0);
    for (uint32_t b = 0; b < HIST_BUCKETS; b++) {
        uint64_t low = hist_bucket_low(b), high = hist_bucket_high(b);
        assert_true(high > low);
        if (b)
            assert_int_equal(low, hist_bucket_high(b - 1)); // no gap, no overlap
        assert_int_equal(hist_bucket(low), b);
        assert_int_equal(hist_bucket(high - 1), b);
        if (low < 64)
            assert_int_equal(high - low, 1);
        else
            assert_true((double)(high - low) / (double)low <= 1.0 / 64);
    }
    assert_int_equal(hist_bucket_high(HIST_BUCKETS - 1), 1ull << HIST_MAX_BITS);
    assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
    assert_int_equal(hist_bucket(1ull << HIST_MAX_BITS), HIST_BUCKETS - 1);
    assert_int_equal(hist_bucket_high(UINT32_MAX), 1ull << HIST_MAX_BITS);
}

static int compare_values(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct hist *seal_values(const uint64_t *values, size_t n) {
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    for (size_t i = 0; i < n; i++)
        hist_acc_add(acc, values[i]);
    struct hist *hist = hist_seal(acc);
    free(acc);
    return hist;
}

static void check_hist(const struct hist *hist, uint64_t *values, size_t n) {
    static const double quantiles[] = {0, 0.001, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999, 1};
    qsort(values, n, sizeof(values[0]), compare_values);
    uint64_t sum = 0, counted = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    assert_int_equal(hist->count, n);
    assert_int_equal(hist->sum, sum);
    assert_int_equal(hist->min, values[0]);
    assert_int_equal(hist->max, values[n - 1]);
    for (uint32_t i = 0; i < hist->n_buckets; i++) {
        assert_true(hist->buckets[i].count > 0);
        assert_true(!i || hist->buckets[i].bucket > hist->buckets[i - 1].bucket);
        counted += hist->buckets[i].count;
    }
    assert_int_equal(counted, n);
    for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        size_t rank = 1;
        while ((double)rank < quantiles[i] * (double)n - 1e-9)
            rank++;
        double exact = (double)values[rank - 1], got = hist_quantile(hist, quantiles[i]);
        assert_true(hist_bucket((uint64_t)got) == hist_bucket(values[rank - 1])); // the very bucket
        assert_true(fabs(got - exact) <= exact / 64 + 0.5);
    }
    assert_true(fabs(hist_mean(hist) - (double)sum / (double)n) <= 1e-9 * (double)sum);
}

static void quantiles(void **state) {
    (void)state;
    static uint64_t values[5000];
    for (size_t n = 1; n <= 5000; n = n < 12 ? n + 1 : n * 3) {
        for (size_t i = 0; i < n; i++)
            values[i] = random_value();
        struct hist *hist = seal_values(values, n);
        check_hist(hist, values, n);
        hist_free(hist);
    }
    // 1 to 100: rank q is the value itself as long as the buckets are exact
    for (size_t i = 0; i < 100; i++)
        values[i] = i + 1;
    struct hist *hist = seal_values(values, 100);
    assert_number(hist_quantile(hist, 0.07), 7);
    assert_number(hist_quantile(hist, 0.5), 50);
    assert_number(hist_quantile(hist, 0.99), 99);
    assert_number(hist_quantile(hist, 1), 100);
    assert_number(hist_quantile(hist, 0), 1);
    hist_free(hist);
}

static void empty_and_huge(void **state) {
    (void)state;
    struct hist *none = hist_merge(NULL, 0);
    assert_int_equal(none->count, 0);
    assert_true(isnan(hist_quantile(none, 0.5)));
    assert_true(isnan(hist_mean(none)));
    assert_true(isnan(hist_quantile(NULL, 0.5)));
    const struct hist *with_nulls[] = {NULL, none};
    struct hist *merged = hist_merge(with_nulls, 2);
    assert_int_equal(merged->count, 0);
    hist_free(merged);
    hist_free(none);
    hist_free(NULL);
    uint64_t huge[] = {1, 1ull << 60};
    struct hist *hist = seal_values(huge, 2);
    assert_number(hist_quantile(hist, 1), (double)(1ull << 60));
    hist_free(hist);
}

static void merging(void **state) {
    (void)state;
    size_t before = mem_used();
    static uint64_t values[3000];
    for (size_t i = 0; i < 3000; i++)
        values[i] = random_value();
    const struct hist *parts[] = {seal_values(values, 1000), NULL, seal_values(values + 1000, 1),
                                  seal_values(values + 1001, 1999)};
    struct hist *merged = hist_merge(parts, 4);
    check_hist(merged, values, 3000);
    for (int i = 0; i < 4; i++)
        hist_free((struct hist *)parts[i]);
    hist_free(merged);
    assert_int_equal(mem_used(), before);
}

static void clearing(void **state) {
    (void)state;
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    hist_acc_clear(acc);
    for (int round = 0; round < 20; round++) {
        uint64_t values[50];
        for (int i = 0; i < 50; i++)
            hist_acc_add(acc, values[i] = random_value());
        struct hist *hist = hist_seal(acc);
        check_hist(hist, values, 50);
        hist_free(hist);
        hist_acc_clear(acc);
        hist = hist_seal(acc);
        assert_int_equal(hist->n_buckets, 0);
        hist_free(hist);
    }
    free(acc);
}

// One into the other, which may be empty: as if every value had been added to it.
static void adding_all(void **state) {
    (void)state;
    static struct hist_acc one, other, both;
    const uint64_t values[] = {900, 7, 1ull << 43, 64, 1000, 7, 900};
    for (size_t i = 0; i < 7; i++) {
        hist_acc_add(i < 3 ? &one : &other, values[i]);
        hist_acc_add(&both, values[i]);
    }
    static struct hist_acc sum, none;
    hist_acc_add_all(&sum, &none);
    assert_memory_equal(&sum, &none, sizeof(sum));
    hist_acc_add_all(&sum, &one);
    assert_memory_equal(&sum, &one, sizeof(sum));
    hist_acc_add_all(&sum, &other);
    assert_memory_equal(&sum, &both, sizeof(sum));
}

static void sets(void **state) {
    (void)state;
    static const struct column keys[] = {{.name = "device", .type = COLUMN_TEXT}, {.name = "cpu"}};
    static const struct hist_def def = {.name = "h", .divisor = 1000, .keys = keys, .n_keys = 2};
    size_t before = mem_used();
    struct hist_set *set = hist_set_new(&def);
    for (int i = 0; i < 10; i++) {
        uint64_t value = (uint64_t)i;
        union cell of[] = {{.text = text_printf("dev%d", i)}, NUM(i)};
        hist_set_add(set, of, seal_values(&value, 1));
    }
    assert_int_equal(hist_set_count(set), 10);
    assert_ptr_equal(hist_set_def(set), &def);
    const union cell *of;
    assert_int_equal(hist_set_at(set, 7, &of)->max, 7);
    assert_text(of[0].text, "dev7");
    assert_number(of[1].num, 7);
    hist_set_free(set);
    hist_set_free(NULL);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets),    cmocka_unit_test(quantiles), cmocka_unit_test(empty_and_huge),
        cmocka_unit_test(merging),    cmocka_unit_test(clearing),  cmocka_unit_test(sets),
        cmocka_unit_test(adding_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
