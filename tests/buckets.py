"""ktop's histograms, for tests that compare them with durations from another source."""

SUB_BITS = 6


def bucket(ns):
    """Bucket index of a duration, as in model/hist.h: 64 buckets per power of two."""
    ns = int(ns)
    if ns < 1 << SUB_BITS:
        return ns
    shift = ns.bit_length() - 1 - SUB_BITS
    return ((shift + 1) << SUB_BITS) + ((ns >> shift) & ((1 << SUB_BITS) - 1))


def merged(hists):
    sums = {}
    for hist in hists:
        for low, high, n in hist["buckets"]:
            sums[low] = sums.get(low, 0) + n
    return sorted(sums.items())


def quantile(buckets, q):
    total, seen = sum(n for _, n in buckets), 0
    for low, n in buckets:
        seen += n
        if seen >= max(1, -(-total * q // 1)):
            return low
    return None
