// Which buckets a device has room for: found at the start, the largest first, so that a lack of memory shows
// before anybody is served.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/pad_batch.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Buckets of equally many rows, which need the same room.
struct buckets_left_out {
  std::int64_t rows = 0;
  std::string first;      // one of them: "prompt bucket (4, 2048, 8)"
  std::size_t count = 1;  // how many
  std::string why;
};

// Takes the buckets of most rows out of `plan` until `reserve` has room for the largest step that the others
// make. `reserve` is not asked where no bucket is left: then nothing is padded. `holds` is what has been
// reserved at last, zero where nothing was.
std::vector<buckets_left_out> fit_buckets(bucket_plan& plan, std::int32_t max_rows,
                                          std::int32_t max_sequences,
                                          const std::function<result<void>(const padded_limits&)>& reserve,
                                          padded_limits& holds);

// Takes out every bucket of at least so many rows.
void remove_from(bucket_plan& plan, std::int64_t rows);

}  // namespace troupe
