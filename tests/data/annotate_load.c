// One loop that spends nearly all its time in the division of one line, and a second function with a tenth of the time.
#include <stdint.h>
#include <unistd.h>

volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t spread(uint64_t n) {
    return n ^ (n >> 31);
}

__attribute__((noinline)) uint64_t divide(uint64_t n) {
    uint64_t sum = n | 1;
    for (uint64_t i = 1; i < 200000; i++) {
        sum ^= i;
        sum = (0xfffffffffffffff1u - i) / (sum | 1) + (sum << 1); // the hottest line
    }
    return sum;
}

__attribute__((noinline)) uint64_t mix(uint64_t n) {
    for (uint64_t i = 0; i < 60000; i++)
        n = spread(n * 0x9e3779b97f4a7c15u + i);
    return n;
}

int main(void) {
    alarm(60);
    for (;;)
        sink = mix(divide(sink));
}
