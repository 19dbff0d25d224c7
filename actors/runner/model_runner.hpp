// The actor that owns the executor. Whoever spawns it decides whether it has a thread of its own
// (caf::detached).
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "actors/interfaces.hpp"
#include "actors/net/telemetry/limited_log.hpp"
#include "actors/start/runner_device.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/bucketing/step_buckets.hpp"
#include "runtime/drafting/kept_draft.hpp"
#include "runtime/executor/cpu/plan_tuner.hpp"
#include "runtime/executor/cpu/tuning_file.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/token_feed.hpp"
#include "runtime/executor/warm_up/sampler_warm_up.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"

namespace troupe {

struct model_runner_parts {
  device_opener open;
  std::map<timed_step, std::chrono::nanoseconds> step_costs;  // as the warm-up has measured them
  bucket_plan buckets;
  bool pad_to_buckets = false;
  std::shared_ptr<metrics::engine_metrics> metrics;
  // Where the plans are kept that the warm-up chooses; no path: nowhere.
  std::filesystem::path tuning_file;
  tuning_key tuned_for;
  // What steps take is measured by it, of the warm-up too: how much is drafted follows that.
  std::function<steady_time()> now = std::chrono::steady_clock::now;
  // Where a runner leaves its device that ends for want of memory; null: nowhere.
  std::shared_ptr<runner_device> left_behind;
  // Whether the company ends, so that the end of its device is no fault.
  std::function<bool()> is_cut_off = [] { return false; };
};

// A step is forward and then sampling. Where its masks are not there after the first, it is held, and so is
// all that comes after it: the hidden states on the device are its own. No handler waits for another actor.
//
// A device that overlaps draws a step's tokens while the next step is asked for: the step is uncollected
// then, and looked after between messages, so that a step that comes meanwhile is not kept waiting.
class model_runner_state {
 public:
  static inline const char* name = "model_runner";
  explicit model_runner_state(model_runner_actor::base* self) : self_(self) {}

  void start(model_runner_parts parts) { parts_ = std::move(parts); }
  caf::result<msg::device_opened> open_device(const msg::open_device& wanted);
  // A bucket whose scratch step fails is left out from now on; where that is for want of memory and the KV
  // cache may shrink, the runner ends instead, though not its device.
  caf::result<msg::warmed_up> warm_up(const msg::warm_up& request, const warm_up_task_ptr& task);
  // An exception of the executor is the end of the runner, though not of its device where that had no memory
  // for the step; the text goes to the log only.
  caf::result<msg::step_done, step_result_ptr> run_step(const step_batch_ptr& batch);
  void abandon_masks();
  void collect_tokens();
  // What the device tells of itself goes to the metrics; one that cannot answer keeps what it said.
  void tell_figures();
  caf::result<step_result_ptr> apply_masks(step_masks_ptr masks);
  void observe(const draft_work& work);
  // Null where nothing pays, or a proposal is skipped (skip_proposals()). A draft model that throws drafts no
  // more; the text goes to the log.
  drafts_ptr propose(const draft_work& work);

 private:
  // Whether the device computes a prompt of so many tokens that is no request's, and the token after it.
  bool passes_proof(std::int32_t rows);
  // Puts a smaller KV cache in place of one that has too many blocks. False: there is none.
  bool fit_kv_cache(const msg::open_device& wanted);
  using step_promise = caf::typed_response_promise<msg::step_done, step_result_ptr>;
  using masks_promise = caf::typed_response_promise<step_result_ptr>;
  // A step whose forward pass is over.
  struct held_step {
    step_batch_ptr batch;
    std::uint64_t number = 0;      // of those that were asked for
    device_batch* rows = nullptr;  // as the device reads them
    steady_time began{};
    std::chrono::nanoseconds took{0};  // until it was held
    step_promise answer;
  };
  struct known_masks {
    step_masks_ptr masks;
    masks_promise answer;
  };
  // A step that is asked for whole: forward pass and tokens.
  struct uncollected_step {
    held_step step;
    std::optional<known_masks> masks;
    std::shared_ptr<step_result> sampled = std::make_shared<step_result>();
  };

  void begin(const step_batch_ptr& batch, std::uint64_t number, step_promise answer);
  // Ends the held step where it can be, and goes on with what was held back.
  void go_on();
  void finish();
  void answer(held_step& ended, std::optional<known_masks>& known,
              const std::shared_ptr<step_result>& sampled, std::chrono::nanoseconds took);
  // What the uncollected step has sampled, if there is one and the device has it. False: it has not yet.
  bool collect();
  // Waits for it.
  void collect_all();
  static constexpr int most_looks_at_the_end = 100;  // at a device that has synchronised
  void collect_before_the_end();
  // The step whose requests lose their tokens where the device fails now.
  std::optional<std::uint64_t> step_at_work() const;
  void fail(const std::exception& fault);
  // To the next runner, where it lacked memory. Whether that is so.
  bool leave_device(const std::exception& fault);
  msg::warmed_up warm_up_now(const msg::warm_up& request, const warm_up_task& task);
  // Whether the held step can be sampled.
  bool has_masks();
  // Whether the held step is sampled with masks.
  bool awaits_masks() const;
  // The rows as the device is to read them: in their buckets where steps are padded. Counts either way.
  device_batch& in_buckets(device_batch& rows);
  void count(const step_placement& placement);
  template <class Shape>
  void warn_beyond(const char* kind, const std::optional<Shape>& shape, warned_shapes<Shape>& warned);
  void leave_out(const warm_up_item& item);
  // One step by the plan whose turn it is; with the last one the choice is made, and kept.
  msg::warmed_up tune(const msg::warm_up& request, const warm_up_task& task);
  // True with the choice.
  bool tune_device(const warm_up_task& task);
  // The same for the draft model.
  bool tune_draft(const warm_up_item& item);
  void warm_up_draft(const warm_up_task& task);
  // What a lack of memory in a step of the draft model leads to.
  enum class on_lack_of_memory { drop_drafts, shrink_kv_cache };
  // Calls `work` where there is a draft model. Throws device_lost on, and out_of_device_memory under
  // shrink_kv_cache. Under drop_drafts that is told and what the draft model stores is computed anew: false.
  // After any other exception it drafts no more.
  bool with_draft(on_lack_of_memory policy, const std::function<void()>& work);
  // After a proposal that lacked memory; after several in a row it drafts no more.
  void skip_proposals();
  void give_up_draft(const std::exception& fault);
  // One step of several rounds; with the last one the median is told.
  msg::warmed_up time_verification(const msg::warm_up& request, const warm_up_task& task);
  // One setting of one batch size.
  msg::warmed_up warm_up_sampling(const msg::warm_up& request, const warm_up_task& task);
  void keep_tuning(bool is_last);

  model_runner_actor::base* self_;
  model_runner_parts parts_;
  std::uint64_t num_asked_ = 0;      // steps, so far; and ...
  std::uint64_t num_abandoned_ = 0;  // ... the first of them, which get no masks
  bool overlaps_ = false;            // as the device does
  std::optional<held_step> held_;
  std::optional<uncollected_step> uncollected_;
  std::optional<std::uint64_t> answering_;   // the step whose result is looked at
  steady_time collected_at_{};               // the last of them
  std::deque<known_masks> masks_;            // of steps to come, oldest first
  std::deque<std::function<void()>> later_;  // what came while a step is held
  std::shared_ptr<executor> device_;
  bool is_lost_by_draft_ = false;       // the device, by a step of the draft model
  std::shared_ptr<draft_model> draft_;  // with buffers of its own: a held step notices nothing of it
  bool draft_forgets_ = false;          // what it stores, before it does anything else
  int draft_shortages_ = 0;             // proposals in a row that lacked memory
  int proposals_to_skip_ = 0;
  net::limited_log draft_log_;
  step_buckets buckets_;
  net::limited_log beyond_;  // all buckets
  std::int32_t block_size_ = 1;
  std::array<device_batch, 2> padded_;  // the other one where a step is uncollected
  std::size_t last_padded_ = 0;
  token_feed feed_;
  verified_drafts verified_;                      // of the held step
  bool may_keep_tuning_ = true;                   // it could be written so far
  bool is_tuned_ = false;                         // the device, for the item that is being tuned
  std::optional<plan_tuner> tuner_;               // of that item
  std::vector<std::int64_t> verification_times_;  // ns, of the item that is being timed
  std::optional<sampler_course> sampling_;        // of the item at hand
};

// Why a runner ends whose device was lost in a step of the draft model: no request's step has done it.
caf::error draft_model_fault();
bool is_draft_model_fault(const caf::error& reason);
// The same where the device had no memory for a step of requests, or for one of the warm-up. It is left
// behind.
caf::error lack_of_memory();
caf::error lack_of_memory_in_warm_up();
bool is_lack_of_memory(const caf::error& reason);  // of either
bool is_lack_of_memory_in_warm_up(const caf::error& reason);

model_runner_actor::behavior_type model_runner_behavior(
    model_runner_actor::stateful_pointer<model_runner_state> self, model_runner_parts parts);

}  // namespace troupe
