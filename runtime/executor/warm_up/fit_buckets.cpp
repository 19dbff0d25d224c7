#include "runtime/executor/warm_up/fit_buckets.hpp"

#include <algorithm>

#include "runtime/bucketing/bucket_text.hpp"

namespace troupe {
namespace {

template <class Bucket>
std::int64_t largest_rows(const std::vector<Bucket>& buckets) {
  std::int64_t most = 0;
  for (const Bucket& each : buckets) most = std::max(most, rows_of(each));
  return most;
}

// Takes out all of `rows` rows; adds them to what has been taken out.
template <class Bucket>
void take_out(std::vector<Bucket>& buckets, std::int64_t rows, const char* kind, const std::string& why,
              std::vector<buckets_left_out>& out) {
  const auto has_rows = [rows](const Bucket& each) { return rows_of(each) == rows; };
  const auto first = std::find_if(buckets.begin(), buckets.end(), has_rows);
  if (first == buckets.end()) return;
  const std::string name = std::string(kind) + " bucket " + to_string(*first);
  out.push_back({rows, name, std::erase_if(buckets, has_rows), why});
}

}  // namespace

std::vector<buckets_left_out> fit_buckets(bucket_plan& plan, std::int32_t max_rows,
                                          std::int32_t max_sequences,
                                          const std::function<result<void>(const padded_limits&)>& reserve,
                                          padded_limits& holds) {
  std::vector<buckets_left_out> out;
  holds = {};
  while (!plan.prompt.empty() || !plan.decode.empty() || !plan.unified.empty()) {
    const padded_limits wanted = largest_padded(plan, max_rows, max_sequences);
    const result<void> reserved = reserve(wanted);
    if (reserved) {
      holds = wanted;
      break;
    }
    const std::string& why = reserved.error().message;
    const std::int64_t rows =
        std::max({largest_rows(plan.prompt), largest_rows(plan.decode), largest_rows(plan.unified)});
    take_out(plan.prompt, rows, "prompt", why, out);
    take_out(plan.decode, rows, "decode", why, out);
    take_out(plan.unified, rows, "unified", why, out);
  }
  return out;
}

void remove_from(bucket_plan& plan, std::int64_t rows) {
  const auto is_large = [rows](const auto& each) { return rows_of(each) >= rows; };
  std::erase_if(plan.prompt, is_large);
  std::erase_if(plan.decode, is_large);
  std::erase_if(plan.unified, is_large);
}

}  // namespace troupe
