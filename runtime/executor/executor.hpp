// The one seam to a device. Behind it: the executors of the CPU and of CUDA devices, here or in a process of
// their own, and the null executor (scripted tokens, no arithmetic).
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/device_figures.hpp"
#include "runtime/result.hpp"
#include "runtime/step_masks.hpp"

namespace troupe {

class step_plans;

// KV memory: one pool of num_blocks blocks of block_size tokens, all layers together.
struct kv_layout {
  std::int32_t block_size = 16;
  std::int32_t num_blocks = 0;
  std::size_t bytes_per_block = 0;
  std::string dtype = {};  // how K and V are stored: "f16", "int8"; empty where nothing is
};

// What an executor takes for its KV cache where its options alone do not say it.
struct kv_cache_claim {
  std::int32_t num_blocks = 0;   // so many; 0: what the options give
  std::size_t bytes_beside = 0;  // what another model's cache is to have for each block
  std::int32_t most_blocks = 0;  // of what the options give; 0: all
  // Another executor in this one's place has served with as much, so that what happens to be free now decides
  // nothing. For devices whose memory comes when it is first written.
  bool is_granted = false;
};

// One block behind the pool, known to nobody who hands out blocks: the scratch steps of the warm-up live in
// it.
inline std::int32_t scratch_block(const kv_layout& layout) { return layout.num_blocks; }

struct executor_limits {
  std::int32_t max_rows = 512;      // rows of one step: max_num_batched_tokens
  std::int32_t max_sequences = 64;  // sequences of one step: max_num_seqs
  std::int32_t max_model_len = 0;   // longest context in tokens
  std::int32_t block_size = 16;
  std::size_t kv_cache_bytes = 0;  // the pool's size; num_blocks follows from it
  // Samples for which there is room at once to keep what they are drawn from, where a device needs any.
  std::int32_t kept_at_once = 0;
  // Rows of a sequence that a step samples at most: more than one where guesses are verified.
  std::int32_t samples_of_sequence = 1;
};

// What the device's memory went to before the KV cache takes its part.
struct memory_profile {
  std::size_t weights = 0;      // bytes
  std::size_t activations = 0;  // bytes that the largest step took beside the weights, measured
  std::size_t graphs = 0;       // bytes that decode graphs will take
  std::uint64_t available = 0;  // bytes that are left
};

// Thrown by any call of an executor whose device is gone: nothing can be asked of it any more.
class device_lost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by a step that the device had no memory for: it stores what earlier steps have stored, a step before
// that one may still be collected, and it may be asked for others.
class out_of_device_memory : public std::bad_alloc {
 public:
  explicit out_of_device_memory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// One thread at a time. A step is forward() then sample(). Throws std::exception only for faults of its own:
// a batch that the scheduler made is always within the limits.
class executor {
 public:
  virtual ~executor() = default;
  virtual kv_layout layout() const = 0;

  // The start, in this order and before the first step: reserve_steps() as often as somebody asks,
  // use_choices() where there are any, profile(), take_kv_cache(). What a device has no need of does nothing.
  // Room for steps of so many rows and sequences. Errors: resource_exhausted, unsupported; what there was
  // stays.
  virtual result<void> reserve_steps(std::int32_t /*rows*/, std::int32_t /*sequences*/) { return {}; }
  // Runs the largest step that has been reserved, without a KV cache. Errors: resource_exhausted.
  virtual result<memory_profile> profile() { return memory_profile{}; }
  // What profile() has chosen by measuring, for another executor of the same program, model and options in
  // place of this one: with the same choices it computes the same bits, and is ready sooner. Empty where
  // nothing is chosen so.
  virtual std::string choices() const { return {}; }
  // What another one has chosen. What is of another device or library, or nothing at all, is left alone.
  virtual void use_choices(const std::string& /*choices*/) {}
  // layout() has its number of blocks from here on; the rest is known before. Later it may be asked for
  // again, for a cache of another size in place of this one, whatever that stores. Errors: invalid_argument
  // (it never fits), resource_exhausted (it does not now).
  virtual result<void> take_kv_cache(const kv_cache_claim& /*claim*/) { return {}; }

  // Copies the step's blocks, then runs its rows through the model: writes their K and V, keeps the hidden
  // states of the rows to sample. May return before that is done: what fails then is thrown by the next call.
  virtual void forward(const device_batch& batch) = 0;
  // Draws one token per sample row of the step that forward() ran last (of `batch`, unchanged since), out of
  // those that `masks` allow; null: every token is allowed. `result` is reused: cleared, not freed; its ends
  // are left alone.
  virtual void sample(const device_batch& batch, const step_masks* masks, step_result& result) = 0;
  // Whether the device may be asked for a step before the tokens of the one before are known. Then sample()
  // comes in two halves, for steps that allow it, and between them may be the next forward(): its rows that
  // device_batch::fed names take their tokens on the device.
  virtual bool overlaps() const { return false; }
  // Asks for what sample() would draw, of the step that forward() ran last. False, and nothing is asked for:
  // these only sample() draws.
  virtual bool begin_sample(const device_batch& /*batch*/, const step_masks* /*masks*/) { return false; }
  // The tokens that begin_sample() has asked for; before anything else but one forward(). False where they
  // take longer than a moment: nothing is written, and it is to be called again.
  virtual bool collect(step_result& /*result*/) { return true; }
  // In place of forward(), for the sampler's warm-up: some hidden states for the rows [0, rows), which any
  // batch may be sampled from.
  virtual void load_dummy_hidden_states(std::int32_t) {}
  // How its steps are cut into work, to be chosen by measuring; nullptr where there is nothing to choose.
  virtual step_plans* plans() { return nullptr; }
  // Returns when the device has done all it was asked for.
  virtual void synchronize() {}
  // For metrics, at any time, and no matter of a step; nothing where it has nothing to tell. Takes a fraction
  // of a millisecond.
  virtual std::optional<device_figures> figures() { return std::nullopt; }
  // The arithmetic in use, for logs and measurements: "avx512vnni", "avx2", "reference", "null".
  virtual std::string kernel_path() const = 0;
};

}  // namespace troupe
