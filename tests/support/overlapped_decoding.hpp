// Sequences that decode side by side, each step asked for before or after the tokens of the one before are
// there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/executor/executor.hpp"

namespace troupe::test {

// Greedy; drawn by a seed; greedy and held back by its history.
inline std::vector<sampling_params> params_of_each_kind() {
  std::vector<sampling_params> kinds(3);
  kinds[0].temperature = 0.0F;
  kinds[1].temperature = 1.0F;
  kinds[1].seed = 7;
  kinds[1].top_p = 0.9F;
  kinds[2].temperature = 0.0F;
  kinds[2].repetition_penalty = 1.8F;
  return kinds;
}

// Sequences whose prompts run in the first step and which decode from then on, one row each.
class decoding {
 public:
  static constexpr std::int32_t block_size = 16;
  static constexpr std::int32_t blocks = 4;  // of a sequence

  explicit decoding(const std::vector<sampling_params>& each) {
    for (std::size_t i = 0; i < each.size(); ++i) {
      texts.push_back({static_cast<token_id>(6 + i), 17, 40});
      params_.push_back(std::make_shared<const sampling_params>(each[i]));
    }
  }

  // `fed`: the last tokens are the device's to know.
  device_batch next(bool fed) {
    device_batch batch;
    batch.step = ++step_;
    for (std::size_t i = 0; i < texts.size(); ++i) add(batch, static_cast<std::int32_t>(i), fed);
    return batch;
  }
  void add_tokens(const step_result& result) {
    for (std::size_t i = 0; i < texts.size(); ++i) texts[i].push_back(result.tokens[i].token);
  }
  void complete_histories(device_batch& batch) const {
    for (std::size_t i = 0; i < texts.size(); ++i) batch.samples[i].history = texts[i];
  }

  std::vector<std::vector<token_id>> texts;

 private:
  void add(device_batch& batch, std::int32_t which, bool fed) {
    const std::vector<token_id>& text = texts[static_cast<std::size_t>(which)];
    const auto known = static_cast<std::int32_t>(text.size());
    const std::int32_t end = known + (fed ? 1 : 0);
    const std::int32_t begin = step_ == 1 ? 0 : end - 1;
    sequence_rows rows{static_cast<request_id>(which + 1), batch.num_rows(), end - begin, which * blocks,
                       blocks};
    for (std::int32_t i = begin; i < end; ++i) {
      if (i >= known) batch.fed.push_back({batch.num_rows(), which});
      batch.tokens.push_back(i < known ? text[static_cast<std::size_t>(i)] : 0);
      batch.positions.push_back(i);
      batch.slots.push_back(which * blocks * block_size + i);
    }
    for (std::int32_t i = 0; i < blocks; ++i) batch.block_tables.push_back(rows.table_offset + i);
    sample_row sample;
    sample.sequence = which;
    sample.row = batch.num_rows() - 1;
    sample.position = end;
    sample.num_generated = end - 3;
    sample.prompt_length = 3;
    sample.sampling = params_[static_cast<std::size_t>(which)];
    batch.sequences.push_back(rows);
    batch.samples.push_back(sample);
  }

  std::vector<std::shared_ptr<const sampling_params>> params_;
  std::uint64_t step_ = 0;
};

inline void wait_for(executor& device, step_result& result) {
  while (!device.collect(result)) {
  }
}

// The sequences after so many steps; overlapped: each step is asked for before the tokens of the one before.
inline std::vector<std::vector<token_id>> decode(executor& device, const std::vector<sampling_params>& params,
                                                 int steps, bool overlapped) {
  decoding all(params);
  step_result result;
  for (int i = 0; i < steps; ++i) {
    device_batch batch = all.next(overlapped && i > 0);
    all.complete_histories(batch);  // as far as they are known
    device.forward(batch);
    if (overlapped && i > 0) {
      wait_for(device, result);
      all.add_tokens(result);
      all.complete_histories(batch);
    }
    if (overlapped && device.begin_sample(batch, nullptr)) continue;
    device.sample(batch, nullptr, result);
    all.add_tokens(result);
    if (overlapped) throw std::logic_error("a step that cannot be overlapped");
  }
  if (overlapped) {
    wait_for(device, result);
    all.add_tokens(result);
  }
  return all.texts;
}

}  // namespace troupe::test
