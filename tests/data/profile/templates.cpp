// C++: templates, a virtual function, a lambda, namespaces.
#include <algorithm>
#include <vector>

extern "C" {
#include "parts.h"
}

namespace shop {
template <typename T, int N> struct Mixer {
    FUNCTION static T mix(uint64_t turns, T value) {
        for (uint64_t i = 0; i < turns; i++) {
            value = value * static_cast<T>(2862933555777941757u) + static_cast<T>(N);
            __asm__ volatile("" : "+r"(value));
        }
        return value;
    }
};

struct Base {
    virtual ~Base() = default;
    virtual void work(uint64_t turns) = 0;
};

template <typename M> struct Worker : Base {
    FUNCTION void work(uint64_t turns) override {
        M::mix(turns, 1);
        __asm__ volatile("");
    }
};

template <typename F> FUNCTION void apply(F function, uint64_t turns) {
    function(turns);
    __asm__ volatile("");
}
} // namespace shop

static void run_wide(uint64_t turns) {
    shop::Worker<shop::Mixer<uint64_t, 7>> worker;
    shop::Base *base = &worker;
    __asm__ volatile("" : "+r"(base)); // the call is virtual
    base->work(turns);
    __asm__ volatile("");
}

static void run_sort(uint64_t turns) {
    std::vector<uint64_t> values(turns / 40);
    uint64_t x = turns;
    std::generate(values.begin(), values.end(), [&x] { return x = x * 2862933555777941757u + 3037000493u; });
    shop::apply([&values](uint64_t) { std::sort(values.begin(), values.end()); }, turns);
}

int main() {
    struct part parts[] = {{"mix", run_wide, 5, 0}, {"sort", run_sort, 4, 0}};
    parts_print(parts, 2, parts_run(parts, 2));
    return 0;
}
