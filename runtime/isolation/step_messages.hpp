// What an executor is asked and answers, as flat messages.
#pragma once
#include <memory>
#include <vector>

#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/isolation/flat_message.hpp"
#include "runtime/step_masks.hpp"

namespace troupe {

// A batch and all that it points to. Read into again and again, so that what a batch holds in numbers has its
// memory once it has grown to the largest.
struct received_batch {
  device_batch batch;
  std::vector<std::shared_ptr<sampling_params>> sampling;  // [samples] at most: several may share theirs
  std::vector<kept_distribution> drawn_from;               // [samples], of drafts to verify
  std::vector<drafted_token> verified;                     // [samples]
  std::vector<kept_distribution> kept;                     // [samples], of drafts to draw
};

// Of the parameters of a sample only what draws a token: neither its text nor its grammar.
void write(flat_writer& to, const device_batch& batch);
void read(flat_reader& from, received_batch& into);

// What the samples' tokens are drawn after, of a batch that was sent before all of it was known.
void write_histories(flat_writer& to, const device_batch& batch);
void read_histories(flat_reader& from, device_batch& into);

// Of the masks what allows tokens: neither ends nor forced tokens, which are no matter of the device.
void write(flat_writer& to, const step_masks& masks);
void read(flat_reader& from, step_masks& into);

// What collect() tells: tokens and log-probabilities.
void write(flat_writer& to, const step_result& result);
void read(flat_reader& from, step_result& into);

// What sample() tells, and what it keeps of the distributions of `batch`.
void write(flat_writer& to, const step_result& result, const device_batch& batch);
void read(flat_reader& from, step_result& into, const device_batch& batch);

void write(flat_writer& to, const device_figures& figures);
void read(flat_reader& from, device_figures& into);
void write(flat_writer& to, const kv_layout& layout);
void read(flat_reader& from, kv_layout& into);
void write(flat_writer& to, const error& failure);
void read(flat_reader& from, error& into);

}  // namespace troupe
