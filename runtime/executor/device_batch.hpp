// What the device reads: a step's rows with every token known, but for those that the device itself has drawn
// and nobody has collected (executor::overlaps()). Of the three shapes of a batch the last one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/sampling/verify_draft.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// In place of a block: an entry that no row reads.
inline constexpr std::int32_t no_block = -1;

// tokens[row], which is 0 here, is what this sample of the step before draws.
struct drawn_row {
  std::int32_t row = 0;
  std::int32_t sample = 0;
};

struct device_batch : batch_rows {
  std::vector<drawn_row> fed;  // ascending; only behind a step that has not been collected
  // Block tables, read through table(). Where `tables` is empty they stand in block_tables, each at its
  // sequence's table_offset; else at tables[sequence], in memory that keeps_tables holds.
  std::vector<std::int32_t> block_tables;
  std::vector<const std::int32_t*> tables;
  std::shared_ptr<const void> keeps_tables;
  // Each [samples], or empty where no sample has one. A device that draws nothing need not look at them.
  std::vector<const drafted_token*> verified;  // the draft that a sample accepts or rejects; null: none
  std::vector<kept_distribution*> kept;        // of samples that are such drafts; null: an ordinary one
  // A step of the warm-up, which memory can be had for: where its graph finds none, out_of_device_memory is
  // thrown. Any other step runs eagerly then.
  bool needs_graph = false;

  // Of the sequence with this index.
  std::span<const std::int32_t> table(std::size_t sequence) const {
    const sequence_rows& of = sequences[sequence];
    const std::int32_t* first = tables.empty() ? block_tables.data() + of.table_offset : tables[sequence];
    return {first, static_cast<std::size_t>(of.table_length)};
  }
};

}  // namespace troupe
