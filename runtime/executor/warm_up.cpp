#include "runtime/executor/warm_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "runtime/blocks_for.hpp"
#include "runtime/executor/graph_shapes.hpp"
#include "runtime/executor/sampler_warm_up.hpp"

namespace troupe {
namespace {

constexpr std::size_t most_tuned_sizes = 64;
// The rows and the context of the steps that tell what a long context takes.
constexpr std::int32_t compared_rows = 8;
constexpr std::int32_t long_context = 4096;

// Builds one scratch step: every block table names the scratch block alone.
class scratch_builder {
 public:
  scratch_builder(const kv_layout& layout, const executor_limits& limits, std::int32_t vocab_size)
      : layout_(layout), limits_(limits), vocab_size_(vocab_size) {
    sampling_->temperature = 0.0F;
  }

  // `num_rows` rows after `context` tokens, cut to the limits; the last `num_samples` are sampled.
  void add_sequence(std::int64_t context, std::int32_t num_rows, std::int32_t num_samples = 1) {
    const auto sequence = static_cast<std::int32_t>(batch_.sequences.size());
    num_rows = std::min({num_rows, limits_.max_rows - batch_.num_rows(), limits_.max_model_len});
    if (num_rows < 1 || sequence >= limits_.max_sequences) return;
    const auto first =
        static_cast<std::int32_t>(std::min<std::int64_t>(context, limits_.max_model_len - num_rows));
    sequence_rows rows;
    rows.first_row = batch_.num_rows();
    rows.num_rows = num_rows;
    rows.table_offset = static_cast<std::int32_t>(batch_.block_tables.size());
    rows.table_length = blocks_for(first + num_rows, layout_.block_size);
    batch_.block_tables.insert(batch_.block_tables.end(), static_cast<std::size_t>(rows.table_length),
                               scratch_block(layout_));
    for (std::int32_t position = first; position < first + num_rows; ++position)
      add_row(position, first == 0);
    batch_.sequences.push_back(rows);
    for (std::int32_t row = std::max(num_rows - num_samples, 0); row < num_rows; ++row) {
      sample_row sample;
      sample.sequence = sequence;
      sample.row = rows.first_row + row;
      sample.position = first + row + 1;
      sample.sampling = sampling_;
      sample.prompt_length = sample.position;
      batch_.samples.push_back(std::move(sample));
    }
  }

  void sample_at_random() { sampling_->temperature = 1.0F; }

  device_batch finish() { return std::move(batch_); }

 private:
  // The first rows fill the scratch block, the others write nowhere: no two rows write the same slot, and
  // none one that is read as what earlier steps have stored: devices read that early.
  void add_row(std::int32_t position, bool may_write) {
    const std::int32_t row = batch_.num_rows();
    const bool writes = may_write && row < layout_.block_size;
    batch_.slots.push_back(writes ? scratch_block(layout_) * layout_.block_size + row : no_slot);
    batch_.tokens.push_back(position % vocab_size_);
    batch_.positions.push_back(position);
  }

  kv_layout layout_;
  executor_limits limits_;
  std::int32_t vocab_size_;
  std::shared_ptr<sampling_params> sampling_ = std::make_shared<sampling_params>();
  device_batch batch_;
};

void add_unified(scratch_builder& batch, const unified_bucket& shape, const kv_layout& layout,
                 const executor_limits& limits) {
  const std::int32_t wanted = shape.causal ? std::max(1, shape.query / 2) : shape.query;
  const std::int32_t sequences = std::max(1, std::min(wanted, limits.max_sequences));
  const std::int64_t context = context_of(shape) / sequences * layout.block_size;
  for (std::int32_t i = 0; i < sequences; ++i)
    batch.add_sequence(context, shape.query / sequences + (i < shape.query % sequences ? 1 : 0));
}

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

void add_phase(std::vector<warm_up_item>& items, warm_up_phase phase, std::vector<bucket> buckets,
               warm_up_extent extent) {
  const std::size_t begin = items.size();
  for (const bucket& shape : in_order(std::move(buckets), extent)) {
    warm_up_item& item = items.emplace_back();
    item.phase = phase;
    item.shape = shape;
    item.is_first = items.size() == begin + 1;
  }
  number(items, begin);
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
      return fmt::format("batch:{} query:{} blocks:{}", item.shape.batch, item.shape.query,
                         item.shape.blocks);
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
                                        warm_up_measurements measured, std::span<const bucket> graphs) {
  std::vector<warm_up_item> items;
  const auto add_decodes = [&](const std::vector<bucket>& shapes) {
    if (shapes.empty() && graphs.empty()) return;
    std::vector<bucket> all = shapes;
    std::ranges::copy(graphs_without_a_step(graphs, shapes), std::back_inserter(all));
    add_phase(items, warm_up_phase::decode, all, graphs.empty() ? extent : warm_up_extent::every_bucket);
  };
  if (plan.strategy == bucketing_strategy::unified) {
    add_unified_phase(items, plan.unified, extent);
    add_decodes({});
  } else if (plan.prompt.empty() && plan.decode.empty()) {
    const std::int32_t blocks = std::max(1, limits.max_rows / block_size);
    add_phase(items, warm_up_phase::prompt, {{1, limits.max_rows, 0}}, extent);
    add_decodes({{std::min(limits.max_sequences, limits.max_rows), 1, blocks}});
  } else {
    add_phase(items, warm_up_phase::prompt, plan.prompt, extent);
    add_decodes(plan.decode);
  }
  if (measured.verification) add_verification_pass(items, limits, 0);
  if (measured.tune) add_tuning_phase(items, limits, measured.tuned);
  if (measured.verification) add_verification_pass(items, limits, 1);
  add_sampler_phase(items, plan, limits);
  return items;
}

device_batch scratch_batch(const warm_up_item& item, const kv_layout& layout, const executor_limits& limits,
                           std::int32_t vocab_size) {
  scratch_builder batch(layout, limits, vocab_size);
  const std::int64_t context = std::int64_t{item.shape.blocks} * layout.block_size;
  const bool is_decode = item.phase == warm_up_phase::tuning && item.shape.query == 1;
  switch (is_decode ? warm_up_phase::decode : item.phase) {
    case warm_up_phase::prompt:
    case warm_up_phase::tuning:
      for (std::int32_t i = 0; i < item.shape.batch; ++i) batch.add_sequence(context, item.shape.query);
      break;
    case warm_up_phase::decode:  // its own row is in the last of its blocks
      for (std::int32_t i = 0; i < item.shape.batch; ++i)
        batch.add_sequence(std::max<std::int64_t>(context - item.shape.query, 0), item.shape.query);
      break;
    case warm_up_phase::unified:
      add_unified(batch, item.unified, layout, limits);
      break;
    case warm_up_phase::verification:
      if (item.is_random) batch.sample_at_random();
      batch.add_sequence(item.context, item.shape.query, item.shape.query);
      break;
    case warm_up_phase::sampler:
      break;
  }
  return batch.finish();
}

device_batch profiling_batch(const kv_layout& layout, const executor_limits& limits,
                             std::int32_t vocab_size) {
  scratch_builder batch(layout, limits, vocab_size);
  add_unified(batch, {.query = limits.max_rows}, layout, limits);
  device_batch out = batch.finish();
  auto random = std::make_shared<sampling_params>();
  random->top_p = 0.9F;
  for (sample_row& sample : out.samples) sample.sampling = random;
  return out;
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
