#include "runtime/executor_cuda/step/flat_step.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace troupe {
namespace {

using kernels::cuda::attention_item;

constexpr std::size_t alignment = 16 / sizeof(std::int32_t);

class integer_layout {
 public:
  explicit integer_layout(std::int32_t* memory) : memory_(memory) {}

  std::int32_t* take(std::size_t count) {
    std::int32_t* place = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (count + alignment - 1) / alignment * alignment;
    return place;
  }
  std::size_t used() const { return used_; }

 private:
  std::int32_t* memory_;
  std::size_t used_ = 0;
};

std::size_t size(std::ptrdiff_t count) { return static_cast<std::size_t>(count); }

// The table without the entries that pad it to a bucket.
std::span<const std::int32_t> named_blocks(std::span<const std::int32_t> table) {
  while (!table.empty() && table.back() == no_block) table = table.first(table.size() - 1);
  return table;
}

void fill(std::int32_t* values, std::int32_t begin, std::int32_t end, std::int32_t value) {
  std::fill(values + begin, values + end, value);
}

}  // namespace

flat_step lay_out(const flat_step_shape& shape, std::int32_t* memory) {
  integer_layout all(memory);
  flat_step out;
  out.first = memory;
  const auto items = [&all](std::int32_t count) {
    constexpr std::size_t integers = sizeof(attention_item) / sizeof(std::int32_t);
    return reinterpret_cast<attention_item*>(all.take(size(count) * integers));
  };
  out.tokens = all.take(size(shape.rows));
  out.sources = all.take(size(shape.rows));
  out.positions = all.take(size(shape.rows));
  out.slots = all.take(size(shape.rows));
  out.item_counts = all.take(2);
  out.split_items = items(shape.split_items);
  out.block_tables = all.take(size(shape.table_entries));
  out.chunk_items = items(shape.chunk_items);
  out.logit_rows = all.take(size(shape.logits));
  out.copies = all.take(2 * size(shape.copies));
  out.count = all.used();
  return out;
}

flat_step_shape step_flattener::shape_of(const device_batch& batch) {
  flat_step_shape shape;
  plan_.clear();
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const sequence_rows& each = batch.sequences[i];
    if (each.num_rows == 0) continue;
    const std::int32_t last = batch.positions[size(each.first_row + each.num_rows - 1)];
    plan_.add(static_cast<std::int32_t>(shape.table_entries), each.num_rows, last + 1);
    shape.rows += each.num_rows;
    shape.sequences += 1;
    shape.table_entries += std::ssize(named_blocks(batch.table(i)));
  }
  shape.split_items = static_cast<std::int32_t>(plan_.split().size());
  shape.chunk_items = static_cast<std::int32_t>(plan_.chunks().size());
  shape.logits = static_cast<std::int32_t>(batch.samples.size() + batch.prompt_logprobs.size());
  shape.copies = static_cast<std::int32_t>(batch.copies.size());
  return shape;
}

void step_flattener::flatten(const device_batch& batch, const flat_step_shape& shape, const flat_step& to) {
  rows_ = 0;
  table_entries_ = 0;
  moved_by_.clear();
  sources_.assign(batch.tokens.size(), -1);
  for (const drawn_row& fed : batch.fed) sources_[size(fed.row)] = fed.sample;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const sequence_rows& each = batch.sequences[i];
    moved_by_.push_back(rows_ - each.first_row);
    if (each.num_rows > 0) add_sequence(batch, i, to);
  }
  fill(to.tokens, rows_, shape.rows, 0);
  fill(to.sources, rows_, shape.rows, -1);
  fill(to.positions, rows_, shape.rows, 0);
  fill(to.slots, rows_, shape.rows, no_slot);

  to.item_counts[0] = shape.split_items;
  to.item_counts[1] = shape.chunk_items;
  add_items(to);
  std::int32_t* logits = to.logit_rows;
  for (const sample_row& each : batch.samples) *logits++ = each.row + moved_by_[size(each.sequence)];
  for (const prompt_logprob_row& each : batch.prompt_logprobs)
    *logits++ = each.row + moved_by_[size(each.sequence)];
  std::int32_t first = 0;
  logits_are_first_rows_ =
      std::all_of(to.logit_rows, logits, [&](std::int32_t row) { return row == first++; });
  std::int32_t* copies = to.copies;
  for (const block_copy& copy : batch.copies) {
    *copies++ = copy.from;
    *copies++ = copy.to;
  }
}

void step_flattener::add_sequence(const device_batch& batch, std::size_t index, const flat_step& to) {
  const sequence_rows& from = batch.sequences[index];
  const auto copy = [&](const std::vector<std::int32_t>& values, std::int32_t* into) {
    std::copy_n(values.begin() + from.first_row, from.num_rows, into + rows_);
  };
  copy(batch.tokens, to.tokens);
  copy(sources_, to.sources);
  copy(batch.positions, to.positions);
  copy(batch.slots, to.slots);
  rows_ += from.num_rows;
  const auto blocks = named_blocks(batch.table(index));
  std::ranges::copy(blocks, to.block_tables + table_entries_);
  table_entries_ += std::ssize(blocks);
}

// The plan counts block tables from the first of them.
void step_flattener::add_items(const flat_step& to) const {
  const auto moved = [behind = static_cast<std::int32_t>(to.block_tables - to.first)](attention_item item) {
    item.table += behind;
    return item;
  };
  std::ranges::transform(plan_.split(), to.split_items, moved);
  std::ranges::transform(plan_.chunks(), to.chunk_items, moved);
}

}  // namespace troupe
