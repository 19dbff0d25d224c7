// Buckets to look a step's shape up in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/bucketing/bucket.hpp"

namespace troupe {

template <class Bucket>
class bucket_table {
 public:
  bucket_table() = default;
  // Equal buckets count once.
  explicit bucket_table(std::vector<Bucket> buckets) : buckets_(std::move(buckets)) {
    std::sort(buckets_.begin(), buckets_.end(), cheaper);
    buckets_.erase(std::unique(buckets_.begin(), buckets_.end()), buckets_.end());
  }

  // The smallest bucket that `shape` fits into: the one of fewest rows, then of least context, then the
  // lowest. nullptr where there is none. Valid until remove().
  const Bucket* find(const Bucket& shape) const {
    const auto found =
        std::find_if(buckets_.begin(), buckets_.end(), [&](const Bucket& each) { return fits(shape, each); });
    return found == buckets_.end() ? nullptr : &*found;
  }

  // Whether there was such a bucket.
  bool remove(const Bucket& which) { return std::erase(buckets_, which) > 0; }

  // The cheapest first.
  std::span<const Bucket> all() const { return buckets_; }
  bool empty() const { return buckets_.empty(); }

 private:
  static bool cheaper(const Bucket& a, const Bucket& b) {
    return std::tuple(rows_of(a), context_of(a), a) < std::tuple(rows_of(b), context_of(b), b);
  }
  std::vector<Bucket> buckets_;
};

}  // namespace troupe
