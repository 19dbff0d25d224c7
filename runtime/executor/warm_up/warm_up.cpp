#include "runtime/executor/warm_up/warm_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "runtime/executor/warm_up/sampler_warm_up.hpp"

namespace troupe {
namespace {

constexpr std::size_t most_tuned_sizes = 64;
// The rows and the context of the steps that tell what a long context takes.
constexpr std::int32_t compared_rows = 8;
constexpr std::int32_t long_context = 4096;

// Largest first; the first of equally many rows has the least context where one per row count is enough.
template <class Bucket>
std::vector<Bucket> in_order(std::vector<Bucket> buckets, warm_up_extent extent) {
  std::sort(buckets.begin(), buckets.end(), std::greater<>());
  if (extent == warm_up_extent::every_bucket) return buckets;
  std::stable_sort(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
    return std::pair(-rows_of(a), context_of(a)) < std::pair(-rows_of(b), context_of(b));
  });
  const auto same_rows = [](const Bucket& a, const Bucket& b) { return rows_of(a) == rows_of(b); };
  buckets.erase(std::unique(buckets.begin(), buckets.end(), same_rows), buckets.end());
  return buckets;
}

void number(std::vector<warm_up_item>& items, std::size_t begin) {
  for (std::size_t i = begin; i < items.size(); ++i) {
    items[i].number = static_cast<std::int32_t>(i - begin + 1);
    items[i].count = static_cast<std::int32_t>(items.size() - begin);
  }
}

void add_phase(std::vector<warm_up_item>& items, warm_up_phase phase, const std::vector<bucket>& shapes) {
  const std::size_t begin = items.size();
  for (const bucket& shape : shapes) {
    warm_up_item& item = items.emplace_back();
    item.phase = phase;
    item.shape = shape;
    item.is_first = items.size() == begin + 1;
  }
  number(items, begin);
}

// A step of every graph, the largest first and each as short as can be: it is captured whatever its contexts
// are. Then the buckets; where one step of each number of rows is enough, those whose number no graph has.
void add_decodes(std::vector<warm_up_item>& items, std::vector<bucket> buckets,
                 std::span<const std::int32_t> graphs, warm_up_extent extent) {
  const auto has_graph = [&](const bucket& each) { return std::ranges::count(graphs, rows_of(each)) > 0; };
  if (extent == warm_up_extent::every_row_count) std::erase_if(buckets, has_graph);
  buckets = in_order(std::move(buckets), extent);
  std::vector<bucket> shapes;
  for (const std::int32_t rows : graphs | std::views::reverse) shapes.push_back({rows, 1, 1});
  shapes.insert(shapes.end(), buckets.begin(), buckets.end());
  const std::size_t begin = items.size();
  add_phase(items, warm_up_phase::decode, shapes);
  for (warm_up_item& item : std::span(items).subspan(begin, graphs.size())) item.is_for_graph = true;
}

void add_unified_phase(std::vector<warm_up_item>& items, const std::vector<unified_bucket>& buckets,
                       warm_up_extent extent) {
  const std::size_t begin = items.size();
  bool causal_before[2] = {false, false};
  for (const unified_bucket& shape : in_order(buckets, extent)) {
    warm_up_item& item = items.emplace_back();
    item.phase = warm_up_phase::unified;
    item.unified = shape;
    item.is_first = !std::exchange(causal_before[shape.causal ? 1 : 0], true);
  }
  number(items, begin);
}

// One step for each number of rows; of a decode where decodes have so many. The smallest first: they take
// little time, and decodes gain by them.
void add_tuning_phase(std::vector<warm_up_item>& items, const executor_limits& limits,
                      const std::set<std::int32_t>& known) {
  std::map<std::int64_t, bucket> shapes;
  for (const warm_up_item& item : items) {
    if (item.phase == warm_up_phase::verification) continue;
    const std::int64_t rows = std::min<std::int64_t>(
        item.phase == warm_up_phase::unified ? rows_of(item.unified) : rows_of(item.shape), limits.max_rows);
    if (item.phase == warm_up_phase::decode) {
      shapes[rows] = item.shape;
    } else {
      shapes.emplace(rows, bucket{1, static_cast<std::int32_t>(rows), 0});
    }
  }
  // A step takes the plan of the next larger number of rows; the largest stays.
  while (shapes.size() > most_tuned_sizes)
    std::erase_if(shapes, [keeps = shapes.size() % 2 == 1](const auto&) mutable {
      return !std::exchange(keeps, !keeps);
    });
  const std::size_t begin = items.size();
  for (const auto& [rows, shape] : shapes) {
    if (known.contains(static_cast<std::int32_t>(rows))) continue;
    warm_up_item& item = items.emplace_back();
    item.phase = warm_up_phase::tuning;
    item.shape = shape;
  }
  number(items, begin);
}

// Timed twice, since what disturbs a machine only makes a step longer: before the tuning, which may take
// long, so that drafts need not wait for that, and behind it.
constexpr int verification_passes = 2;

void add_verification_pass(std::vector<warm_up_item>& items, const executor_limits& limits, int pass) {
  const std::size_t begin = items.size();
  const auto add = [&items](std::int32_t rows, std::int32_t context, bool is_random) {
    warm_up_item& item = items.emplace_back();
    item.phase = warm_up_phase::verification;
    item.shape = {1, rows, 0};
    item.context = context;
    item.is_random = is_random;
  };
  for (std::int32_t rows = 1; rows <= std::min(limits.max_rows, most_verified_rows); rows *= 2)
    add(rows, timed_step::short_context, false);
  const std::int32_t longest = std::min(long_context, limits.max_model_len - compared_rows);
  if (limits.max_rows >= compared_rows) {
    add(compared_rows, timed_step::short_context, true);
    if (longest >= 4 * timed_step::short_context)
      for (const std::int32_t rows : {1, compared_rows}) add(rows, longest, false);
  }
  number(items, begin);
  const auto size = static_cast<std::int32_t>(items.size() - begin);
  for (std::size_t i = begin; i < items.size(); ++i) {
    items[i].number += pass * size;
    items[i].count = verification_passes * size;
  }
}

void add_sampler_phase(std::vector<warm_up_item>& items, const bucket_plan& plan,
                       const executor_limits& limits) {
  const std::size_t begin = items.size();
  for (const std::int32_t size : sampler_batch_sizes(plan, limits.max_rows)) {
    warm_up_item& item = items.emplace_back();
    item.phase = warm_up_phase::sampler;
    item.sampler_batch = size;
    item.sampler_rows = limits.max_rows;
  }
  number(items, begin);
}

const char* phase_name(warm_up_phase phase) {
  switch (phase) {
    case warm_up_phase::prompt:
      return "Prompt";
    case warm_up_phase::decode:
      return "Decode";
    case warm_up_phase::unified:
      return "Unified CFG";
    case warm_up_phase::tuning:
      return "Tuning";
    case warm_up_phase::verification:
      return "Verification";
    case warm_up_phase::sampler:
      return "Sampler";
  }
  return "";
}

std::string shape_text(const warm_up_item& item) {
  switch (item.phase) {
    case warm_up_phase::prompt:
    case warm_up_phase::decode:
    case warm_up_phase::tuning:
    case warm_up_phase::verification:
      return fmt::format("batch:{} query:{} blocks:{}{}", item.shape.batch, item.shape.query,
                         item.shape.blocks, item.is_for_graph ? " (graph)" : "");
    case warm_up_phase::unified:
      return fmt::format("query_len:{} shared_blocks:{} unique_blocks:{} ({}causal)", item.unified.query,
                         item.unified.shared_blocks, item.unified.unique_blocks,
                         item.unified.causal ? "" : "non-");
    case warm_up_phase::sampler:
      return fmt::format("batch:{}", item.sampler_batch);
  }
  return "";
}

}  // namespace

timed_step timed_step_of(const warm_up_item& item) {
  return {item.shape.query, item.context, item.is_random};
}

std::vector<warm_up_item> warm_up_items(const bucket_plan& plan, const executor_limits& limits,
                                        std::int32_t block_size, warm_up_extent extent,
                                        warm_up_measurements measured, std::span<const std::int32_t> graphs) {
  std::vector<warm_up_item> items;
  if (plan.strategy == bucketing_strategy::unified) {
    add_unified_phase(items, plan.unified, extent);
    add_decodes(items, {}, graphs, extent);
  } else if (plan.prompt.empty() && plan.decode.empty()) {
    const std::int32_t blocks = std::max(1, limits.max_rows / block_size);
    add_phase(items, warm_up_phase::prompt, {{1, limits.max_rows, 0}});
    add_decodes(items, {{std::min(limits.max_sequences, limits.max_rows), 1, blocks}}, graphs, extent);
  } else {
    add_phase(items, warm_up_phase::prompt, in_order(plan.prompt, extent));
    add_decodes(items, plan.decode, graphs, extent);
  }
  if (measured.verification) add_verification_pass(items, limits, 0);
  if (measured.tune) add_tuning_phase(items, limits, measured.tuned);
  if (measured.verification) add_verification_pass(items, limits, 1);
  add_sampler_phase(items, plan, limits);
  return items;
}

std::string describe(const warm_up_item& item, std::uint64_t free_bytes) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("[Warmup][{}][{}/{}] {} free_mem:{:.2f} GiB", phase_name(item.phase), item.number,
                     item.count, shape_text(item), static_cast<double>(free_bytes) / gib);
}

std::string describe(const warm_up_item& item) {
  return fmt::format("{} {}", phase_name(item.phase), shape_text(item));
}

void run_warm_up(executor& device, const warm_up_task& task) {
  if (task.item.phase == warm_up_phase::sampler)
    return warm_up_sampler(device, task.item.sampler_batch, task.item.sampler_rows);
  step_result scratch;
  device.forward(task.batch);
  device.sample(task.batch, nullptr, scratch);
}

}  // namespace troupe
