#include "runtime/executor_cuda/step/flat_step.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "runtime/executor/pad_batch.hpp"

namespace troupe {
namespace {

using kernels::cuda::attention_item;
using kernels::cuda::attention_plan;

// Two decodes around a chunk of three rows, the chunk and one decode sampled.
device_batch three_sequences() {
  device_batch batch;
  batch.tokens = {10, 20, 21, 22, 30};
  batch.positions = {16, 0, 1, 2, 5};
  batch.slots = {7 * 16, 3 * 16, 3 * 16 + 1, 3 * 16 + 2, 4 * 16 + 5};
  batch.sequences = {{.id = 1, .first_row = 0, .num_rows = 1, .table_offset = 0, .table_length = 2},
                     {.id = 2, .first_row = 1, .num_rows = 3, .table_offset = 2, .table_length = 1},
                     {.id = 3, .first_row = 4, .num_rows = 1, .table_offset = 3, .table_length = 1}};
  batch.block_tables = {6, 7, 3, 4};
  sample_row sample;
  sample.sequence = 1;
  sample.row = 3;
  batch.samples.push_back(sample);
  sample.sequence = 2;
  sample.row = 4;
  batch.samples.push_back(sample);
  batch.prompt_logprobs = {{1, 2, 9, 0}};
  batch.copies = {{1, 2}, {2, 5}};
  return batch;
}

struct written_step {
  std::vector<std::int32_t> memory;
  flat_step step;
};

written_step write(step_flattener& flattener, const device_batch& batch, const flat_step_shape& shape) {
  written_step out;
  out.memory.assign(lay_out(shape, nullptr).count, 12345);
  out.step = lay_out(shape, out.memory.data());
  flattener.flatten(batch, shape, out.step);
  return out;
}

std::vector<std::int32_t> values(const std::int32_t* from, std::size_t count) { return {from, from + count}; }
using integers = std::vector<std::int32_t>;

// Of each sequence's first item, by where its rows begin: its pairs, what the last sees, what was there
// before, and the blocks of what it sees.
using attended_rows = std::map<std::int32_t, std::pair<integers, integers>>;

attended_rows attended(const written_step& out) {
  attended_rows list;
  const auto note = [&](const attention_item* items, std::int32_t count) {
    for (const attention_item& each : std::span(items, static_cast<std::size_t>(count))) {
      const auto blocks = static_cast<std::size_t>((each.context + 15) / 16);
      list.emplace(each.first_row, std::pair{integers{each.pairs, each.context, each.stored},
                                             values(out.step.first + each.table, blocks)});
    }
  };
  note(out.step.split_items, out.step.item_counts[0]);
  note(out.step.chunk_items, out.step.item_counts[1]);
  return list;
}

TEST(flat_step, holds_rows_sequences_tables_and_what_attention_does) {
  step_flattener flattener(attention_plan(2, 100, 100));
  const device_batch batch = three_sequences();
  const flat_step_shape shape = flattener.shape_of(batch);
  EXPECT_EQ(shape.rows, 5);
  EXPECT_EQ(shape.sequences, 3);
  EXPECT_EQ(shape.table_entries, 4);
  EXPECT_EQ(shape.logits, 3);
  const written_step out = write(flattener, batch, shape);
  EXPECT_EQ(values(out.step.tokens, 5), batch.tokens);
  EXPECT_EQ(values(out.step.positions, 5), batch.positions);
  EXPECT_EQ(values(out.step.slots, 5), batch.slots);
  EXPECT_EQ(attended(out),
            (attended_rows{{0, {{2, 17, 16}, {6, 7}}}, {1, {{6, 3, 0}, {3}}}, {4, {{2, 6, 5}, {4}}}}));
  EXPECT_EQ(values(out.step.logit_rows, 3), (integers{3, 4, 2}));
  EXPECT_EQ(values(out.step.copies, 4), (integers{1, 2, 2, 5}));
  EXPECT_EQ(out.step.item_counts[0] + out.step.item_counts[1], shape.split_items + shape.chunk_items);
  EXPECT_GE(shape.split_items, 2);
}

TEST(flat_step, what_pads_a_batch_is_left_out_and_samples_stay_with_their_rows) {
  step_flattener flattener(attention_plan(1, 100, 100));
  const device_batch batch = three_sequences();
  step_placement placement;
  placement.prompt = bucket{2, 8, 4};
  placement.decode = bucket{4, 1, 4};
  device_batch padded;
  std::int32_t padding = 0;
  pad_batch(batch, placement, 16, padded, padding);
  ASSERT_GT(padding, 0);
  const flat_step_shape shape = flattener.shape_of(padded);
  EXPECT_EQ(shape.rows, 5);
  EXPECT_EQ(shape.sequences, 3);
  const written_step out = write(flattener, padded, shape);
  EXPECT_EQ(values(out.step.tokens, 5), batch.tokens);
  EXPECT_EQ(attended(out),
            (attended_rows{{0, {{1, 17, 16}, {6, 7}}}, {1, {{3, 3, 0}, {3}}}, {4, {{1, 6, 5}, {4}}}}));
  EXPECT_EQ(values(out.step.logit_rows, 3), (integers{3, 4, 2}));
}

// What a step is padded to may be more than a table has room for.
TEST(flat_step, takes_no_padding_of_block_tables) {
  step_flattener flattener(attention_plan(1, 100, 100));
  const device_batch batch = three_sequences();
  const flat_step_shape shape = flattener.shape_of(batch);
  const written_step expected = write(flattener, batch, shape);
  device_batch padded = batch;
  padded.block_tables.clear();
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    sequence_rows& rows = padded.sequences[i];
    rows.table_offset = static_cast<std::int32_t>(padded.block_tables.size());
    rows.table_length = 50;
    padded.block_tables.insert(padded.block_tables.end(), batch.table(i).begin(), batch.table(i).end());
    padded.block_tables.resize(static_cast<std::size_t>(rows.table_offset) + 50, no_block);
  }
  ASSERT_EQ(flattener.shape_of(padded), shape);
  EXPECT_EQ(attended(write(flattener, padded, shape)), attended(expected));
}

TEST(flat_step, tells_whether_the_logits_are_those_of_the_first_rows) {
  step_flattener flattener(attention_plan(1, 100, 100));
  const auto are_first = [&](const std::vector<std::int32_t>& first_rows) {
    device_batch batch;
    for (const std::int32_t row : first_rows) {
      const auto number = static_cast<std::int32_t>(batch.sequences.size());
      batch.sequences.push_back({.first_row = row, .num_rows = 1, .table_offset = number, .table_length = 1});
      batch.tokens.push_back(1);
      batch.positions.push_back(0);
      batch.slots.push_back(16 * number);
      batch.block_tables.push_back(number);
    }
    for (std::int32_t row = 0; row < batch.num_rows(); ++row) {
      sample_row sample;
      sample.row = row;
      sample.sequence = static_cast<std::int32_t>(std::ranges::find(first_rows, row) - first_rows.begin());
      batch.samples.push_back(sample);
    }
    write(flattener, batch, flattener.shape_of(batch));
    return flattener.logits_are_first_rows();
  };
  EXPECT_TRUE(are_first({0, 1, 2}));
  EXPECT_FALSE(are_first({1, 0, 2})) << "the device has the rows in the order of their sequences";
  const device_batch mixed = three_sequences();
  write(flattener, mixed, flattener.shape_of(mixed));
  EXPECT_FALSE(flattener.logits_are_first_rows());
}

TEST(flat_step, of_a_larger_shape_has_rows_and_sequences_that_are_not_there) {
  step_flattener flattener(attention_plan(1, 100, 100));
  const device_batch batch = three_sequences();
  flat_step_shape shape = flattener.shape_of(batch);
  shape.rows = 7;
  shape.sequences = 5;
  const written_step out = write(flattener, batch, shape);
  EXPECT_EQ(values(out.step.tokens + 5, 2), (integers{0, 0}));
  EXPECT_EQ(values(out.step.slots + 5, 2), (integers{no_slot, no_slot}));
  EXPECT_EQ(attended(out),
            (attended_rows{{0, {{1, 17, 16}, {6, 7}}}, {1, {{3, 3, 0}, {3}}}, {4, {{1, 6, 5}, {4}}}}));
}

TEST(flat_step, places_what_a_graph_reads_by_its_rows_alone) {
  flat_step_shape one{.rows = 4, .sequences = 4, .split_items = 4, .table_entries = 8, .logits = 1};
  flat_step_shape other = one;
  other.split_items = 40;
  other.table_entries = 900;
  other.logits = 4;
  other.copies = 2;
  std::vector<std::int32_t> memory(4096);
  const flat_step a = lay_out(one, memory.data());
  const flat_step b = lay_out(other, memory.data());
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.slots, b.slots);
  EXPECT_EQ(a.item_counts, b.item_counts);
  EXPECT_EQ(a.split_items, b.split_items);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.split_items) % 16,
            reinterpret_cast<std::uintptr_t>(memory.data()) % 16);
}

}  // namespace
}  // namespace troupe
