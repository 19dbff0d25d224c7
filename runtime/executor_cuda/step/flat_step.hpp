// A step as the device reads it: all of its integers in one stretch, so that one transfer carries it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "runtime/executor/device_batch.hpp"

namespace troupe {

// What a step is rounded up to. Where the integers lie follows from the shape alone, so that a graph that was
// captured for a shape finds those of every such step.
struct flat_step_shape {
  std::int32_t rows = 0;
  std::int32_t sequences = 0;
  // What attention has to do begins at a place that the rows alone decide, for a graph reads it there. What
  // follows moves with its number, the block tables too: attention_item::table finds them.
  std::int32_t split_items = 0;
  std::int64_t table_entries = 0;  // of all block tables
  std::int32_t chunk_items = 0;
  std::int32_t logits = 0;  // rows whose logits are wanted: samples, then prompt rows
  std::int32_t copies = 0;  // blocks copied before

  friend bool operator==(const flat_step_shape&, const flat_step_shape&) = default;
};

// Where a step's integers lie, as pointers of one memory: pinned or the device's. Rows that are not there
// hold token 0 at position 0, belong to nobody and are stored nowhere.
struct flat_step {
  std::int32_t* first = nullptr;        // of all: what the items' block tables are counted from
  std::int32_t* tokens = nullptr;       // [rows]
  std::int32_t* sources = nullptr;      // [rows]: of `sampled`, -1: the token is in `tokens`
  std::int32_t* positions = nullptr;    // [rows]
  std::int32_t* slots = nullptr;        // [rows]; no_slot: K and V are not stored
  std::int32_t* item_counts = nullptr;  // [2]: of split_items, of chunk_items
  kernels::cuda::attention_item* split_items = nullptr;
  std::int32_t* block_tables = nullptr;  // [table_entries]: each behind the one before
  kernels::cuda::attention_item* chunk_items = nullptr;
  std::int32_t* logit_rows = nullptr;     // [logits]
  std::int32_t* copies = nullptr;         // [copies][2]: from, to
  const std::int32_t* sampled = nullptr;  // what the step before has drawn, in the device's memory
  std::size_t count = 0;                  // integers in all
};

// Each array begins at a multiple of 16 bytes. `memory` null: only the count means something.
flat_step lay_out(const flat_step_shape& shape, std::int32_t* memory);

// Reused from step to step; allocates nothing once it has seen the most sequences.
class step_flattener {
 public:
  explicit step_flattener(kernels::cuda::attention_plan plan) : plan_(std::move(plan)) {}

  // The shape that holds `batch` and nothing more: without sequences that have no rows, and without rows that
  // belong to none (pad_batch.hpp). Plans its attention.
  flat_step_shape shape_of(const device_batch& batch);
  // Fills all of `to`, laid out for a shape that holds the batch that shape_of() was asked for last.
  void flatten(const device_batch& batch, const flat_step_shape& shape, const flat_step& to);
  // Whether logit_rows of what was filled last are 0, 1, 2, ...: as of a decode.
  bool logits_are_first_rows() const { return logits_are_first_rows_; }

 private:
  void add_sequence(const device_batch& batch, std::size_t index, const flat_step& to);
  void add_items(const flat_step& to) const;

  kernels::cuda::attention_plan plan_;
  std::vector<std::int32_t> moved_by_;  // [sequences of the batch]: a row's new number less its old one
  std::vector<std::int32_t> sources_;   // [rows of the batch]
  std::int32_t rows_ = 0;
  std::int64_t table_entries_ = 0;
  bool logits_are_first_rows_ = false;
};

}  // namespace troupe
