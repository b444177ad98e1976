// The loop that every function of the load runs, and what is in its library. Each turn waits for the product of the one
// before: so a turn takes the same time wherever the loop is placed.
#ifdef __clang__
#define FUNCTION __attribute__((noinline))
#else
#define FUNCTION __attribute__((noinline, noclone))
#endif
#define SPIN(n)                                                                                                        \
    do {                                                                                                               \
        uint64_t x_ = 1;                                                                                               \
        for (uint64_t i_ = (n); i_; i_--) {                                                                            \
            x_ = x_ * 2862933555777941757u + 3037000493u;                                                              \
            __asm__ volatile("" : "+r"(x_));                                                                           \
        }                                                                                                              \
    } while (0)

void lib_ten(uint64_t n);
