// Which buckets the steps of an engine run in.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "runtime/bucketing/bucket_table.hpp"
#include "runtime/bucketing/make_buckets.hpp"
#include "runtime/executor/device_batch.hpp"

namespace troupe {

// A step's sequences with one row are its decodes, those with more its prompts. A batch of 0: there is none.
struct step_shape {
  bucket prompt = {};
  bucket decode = {};

  friend auto operator<=>(const step_shape&, const step_shape&) = default;
};
step_shape shape_of(const device_batch& batch, std::int32_t block_size);

// The step as unified attention sees it. A context block is shared where more than one row reads it: one that
// several tables hold, or one before a prompt's rows. `blocks` is work space.
unified_bucket unified_shape_of(const device_batch& batch, std::int32_t block_size,
                                std::vector<std::int32_t>& blocks);

// The buckets of one step, or its shapes where there is none: those run as they are.
struct step_placement {
  std::optional<bucket> prompt = {};
  std::optional<bucket> decode = {};
  std::optional<unified_bucket> unified = {};
  // Shapes beyond every bucket.
  std::optional<bucket> prompt_beyond = {};
  std::optional<bucket> decode_beyond = {};
  std::optional<unified_bucket> unified_beyond = {};

  std::int32_t fallbacks() const {
    return (prompt_beyond ? 1 : 0) + (decode_beyond ? 1 : 0) + (unified_beyond ? 1 : 0);
  }
};

// The shapes beyond every bucket that were warned of. Past 1024 it lacks none: more are not warned of.
template <class Shape>
class warned_shapes {
 public:
  bool lacks(const Shape& shape) const { return shapes_.size() < most && !shapes_.contains(shape); }
  void add(const Shape& shape) { shapes_.insert(shape); }

 private:
  static constexpr std::size_t most = 1024;
  std::set<Shape> shapes_;
};

class step_buckets {
 public:
  step_buckets() = default;  // none: nothing has a bucket and nothing is beyond one
  step_buckets(const bucket_plan& plan, std::int32_t block_size);

  bool empty() const { return !has_any_; }
  step_placement place(const device_batch& batch);

  // Steps take the next larger bucket from now on.
  void remove_prompt(const bucket& which) { prompts_.remove(which); }
  void remove_decode(const bucket& which) { decodes_.remove(which); }
  void remove(const unified_bucket& which) { unified_.remove(which); }

  warned_shapes<bucket>& warned_prompts() { return warned_prompts_; }
  warned_shapes<bucket>& warned_decodes() { return warned_decodes_; }
  warned_shapes<unified_bucket>& warned_unified() { return warned_unified_; }

 private:
  bool has_any_ = false;
  bool is_unified_ = false;
  std::int32_t block_size_ = 1;
  bucket_table<bucket> prompts_;
  bucket_table<bucket> decodes_;
  bucket_table<unified_bucket> unified_;
  warned_shapes<bucket> warned_prompts_, warned_decodes_;
  warned_shapes<unified_bucket> warned_unified_;
  std::vector<std::int32_t> scratch_;
};

}  // namespace troupe
