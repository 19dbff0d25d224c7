#include "runtime/bucketing/padding_waste.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/bucketing/text_file.hpp"

namespace troupe {
namespace {

template <class Bucket, class Shape>
padding_waste measure(const std::vector<std::int32_t>& lengths, const bucket_table<Bucket>& table,
                      Shape shape_of) {
  padding_waste waste;
  for (const std::int32_t length : lengths) {
    ++waste.lengths;
    waste.tokens += length;
    const Bucket* found = table.find(shape_of(length));
    if (found == nullptr) {
      ++waste.fallbacks;
    } else {
      waste.padding_tokens += rows_of(*found) - length;
    }
  }
  return waste;
}

// Distinct lengths with how often each comes, as running sums.
struct histogram {
  std::vector<std::int32_t> lengths;  // [n] ascending
  std::vector<std::int64_t> counts;   // [n + 1] lengths before i
  std::vector<std::int64_t> tokens;   // [n + 1] their sum

  explicit histogram(std::vector<std::int32_t> all) : counts{0}, tokens{0} {
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i] != all[i - 1]) {
        lengths.push_back(all[i]);
        counts.push_back(counts.back());
        tokens.push_back(tokens.back());
      }
      ++counts.back();
      tokens.back() += all[i];
    }
  }

  // Padding where the lengths [first, last] run in a bucket of the last one.
  std::int64_t cost(std::size_t first, std::size_t last) const {
    return lengths[last] * (counts[last + 1] - counts[first]) - (tokens[last + 1] - tokens[first]);
  }
};

// One more bucket: costs[i] becomes the least padding of the lengths before i with it, first[i] where the
// lengths of that bucket begin.
class layer {
 public:
  layer(const histogram& trace, const std::vector<std::int64_t>& before)
      : trace_(trace), before_(before), costs_(before.size(), unreachable), first_(before.size(), 0) {
    costs_[0] = 0;
    solve(1, before.size() - 1, 0, before.size() - 2);
  }
  std::vector<std::int64_t> take_costs() { return std::move(costs_); }
  std::vector<std::int32_t> take_first() { return std::move(first_); }

  static constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max() / 4;

 private:
  // Ends in [low, high]; their best beginnings lie in [from, to] and ascend with the end.
  void solve(std::size_t low, std::size_t high, std::size_t from, std::size_t to) {
    if (low > high) return;
    const std::size_t middle = low + (high - low) / 2;
    std::size_t best = from;
    for (std::size_t begin = from; begin <= std::min(to, middle - 1); ++begin) {
      const std::int64_t cost = before_[begin] + trace_.cost(begin, middle - 1);
      if (cost >= costs_[middle]) continue;
      costs_[middle] = cost;
      best = begin;
    }
    first_[middle] = static_cast<std::int32_t>(best);
    solve(low, middle - 1, from, best);
    solve(middle + 1, high, best, to);
  }

  const histogram& trace_;
  const std::vector<std::int64_t>& before_;
  std::vector<std::int64_t> costs_;
  std::vector<std::int32_t> first_;
};

}  // namespace

result<std::vector<std::int32_t>> parse_trace(std::string_view text, const std::string& path) {
  std::vector<std::int32_t> lengths;
  for (std::size_t number = 1; !text.empty(); ++number) {
    line_reader line(take_line(text));
    while (!line.at_end()) {
      const auto length = line.take_number();
      if (!length || *length == 0) {
        const std::string found = length ? "0" : "'" + excerpt(line.rest()) + "'";
        return fail(
            error_code::invalid_argument,
            fmt::format("{}:{}: expected a length of 1 to 16777216 tokens, found {}", path, number, found),
            "trace");
      }
      lengths.push_back(*length);
      line.take(",");
    }
  }
  if (lengths.empty()) return fail(error_code::invalid_argument, path + ": holds no length", "trace");
  return lengths;
}

double padding_waste::share() const {
  const std::int64_t computed = tokens + padding_tokens;
  return computed == 0 ? 0.0 : static_cast<double>(padding_tokens) / static_cast<double>(computed);
}

padding_waste measure_waste(const std::vector<std::int32_t>& lengths, const bucket_table<bucket>& prompts) {
  return measure(lengths, prompts, [](std::int32_t length) { return bucket{1, length, 0}; });
}

padding_waste measure_waste(const std::vector<std::int32_t>& lengths,
                            const bucket_table<unified_bucket>& unified) {
  return measure(lengths, unified, [](std::int32_t length) { return unified_bucket{length, 0, 0, true}; });
}

result<suggested_lengths> suggest_lengths(std::vector<std::int32_t> lengths, std::int32_t count) {
  if (lengths.empty()) return fail(error_code::invalid_argument, "the trace holds no length", "trace");
  if (count < 1 || count > max_suggested_buckets) {
    return fail(error_code::invalid_argument,
                fmt::format("buckets must be 1 to {}, got {}", max_suggested_buckets, count), "buckets");
  }
  const histogram trace(std::move(lengths));
  const std::size_t n = trace.lengths.size();
  if (n > max_distinct_lengths) {
    return fail(error_code::invalid_argument,
                fmt::format("the trace has {} distinct lengths, more than {}", n, max_distinct_lengths),
                "trace");
  }
  const std::size_t layers = std::min(static_cast<std::size_t>(count), n);
  std::vector<std::int64_t> costs(n + 1, layer::unreachable);  // [i] of the lengths before i
  costs[0] = 0;
  std::vector<std::vector<std::int32_t>> first;
  for (std::size_t i = 0; i < layers; ++i) {
    layer next(trace, costs);
    first.push_back(next.take_first());
    costs = next.take_costs();
  }
  suggested_lengths out;
  out.padding_tokens = costs[n];
  std::size_t end = n;
  for (std::size_t i = layers; i-- > 0 && end > 0;) {
    out.lengths.push_back(trace.lengths[end - 1]);
    end = static_cast<std::size_t>(first[i][end]);
  }
  std::reverse(out.lengths.begin(), out.lengths.end());
  return out;
}

}  // namespace troupe
