#include "runtime/engine/engine.hpp"

#include <exception>
#include <span>
#include <utility>

#include "runtime/engine/dispatch_step.hpp"
#include "runtime/executor/check_batch.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe {

namespace {

scheduler_limits with_pool_of(scheduler_limits limits, const executor& device) {
  const kv_layout layout = device.layout();
  limits.num_blocks = layout.num_blocks;
  limits.block_size = layout.block_size;
  return limits;
}

}  // namespace

engine::engine(std::unique_ptr<executor> device, scheduler_limits limits, engine_grammars grammars)
    : device_(std::move(device)),
      grammars_(std::move(grammars)),
      sessions_(grammars_.spells_forced, grammars_.mask_steps_per_step),
      scheduler_(with_pool_of(limits, *device_)),
      kv_cache_({.num_blocks = device_->layout().num_blocks,
                 .block_size = device_->layout().block_size,
                 .enable_prefix_caching = limits.enable_prefix_caching}) {}

result<token_batch> engine::submit(engine_request request) {
  const bool has_grammar = request.sampling && request.sampling->grammar;
  result<grammar::compiled_grammar_ptr> grammar = nullptr;
  if (has_grammar) grammar = compile(request);
  if (!grammar) return tl::unexpected(std::move(grammar.error()));
  result<scheduler_output> accepted = scheduler_.submit(request);
  if (!accepted) return tl::unexpected(std::move(accepted.error()));
  give_back(accepted->releases);
  if (*grammar) {
    sessions_.open(request.id, std::move(*grammar));
    scheduler_.grammar_ready(request.id);
  }
  kv_cache_.add_request(request);
  return std::move(accepted->events);
}

result<grammar::compiled_grammar_ptr> engine::compile(const engine_request& request) {
  if (!grammars_.vocabulary)
    return fail(error_code::unsupported, "the engine has no vocabulary to hold a request to a grammar");
  return grammars_.cache->get(request.sampling->grammar, grammars_.vocabulary, request.arrival,
                              [this](const grammar_spec& spec) {
                                return grammar::compile(spec, grammars_.vocabulary, grammars_.limits);
                              });
}

token_batch engine::abort(request_id id) {
  scheduler_output output = scheduler_.end(id, finish_reason::abort);
  give_back(output.releases);
  return std::move(output.events);
}

token_batch engine::expire(steady_time now) {
  scheduler_output output = scheduler_.expire(now);
  give_back(output.releases);
  return std::move(output.events);
}

const token_batch& engine::step() {
  while (dispatch()) {
  }
  if (execute()) return commit();
  scheduler_.masks_ready(sessions_.prepare(scheduler_.awaiting_masks()));
  output_.clear();
  return output_.events;
}

bool engine::dispatch() {
  step_batch_ptr batch = dispatch_step(scheduler_, kv_cache_, reservation_,
                                       [this](const auto& releases) { give_back(releases); });
  if (!batch) return false;
  dispatched_.push_back(std::move(batch));
  return true;
}

bool engine::execute() {
  if (dispatched_.empty()) return false;
  kv_cache_.index_blocks();
  const step_batch& batch = *dispatched_.front();
  try {
    run(batch);
    failed_ = false;
  } catch (const std::exception&) {
    failed_ = true;
  }
  return true;
}

void engine::run(const step_batch& batch) {
  result_.ends.clear();
  result_.forced.clear();
  result_.withheld.clear();
  step_masks_ptr masks;
  if (!batch.masked_samples.empty()) {
    sessions_.begin(batch);
    while (sessions_.fill_one()) {
    }
    masks = sessions_.take();
    note_masks(*masks, result_);
  }
  const device_batch& rows = feed_.resolve(batch);
  device_->forward(rows);
  device_->sample(rows, masks.get(), result_);
  check_result(rows, result_);
  feed_.remember(result_);
  if (masks) sessions_.advance(result_);
}

const token_batch& engine::commit() {
  if (failed_) return replay();
  const std::uint64_t step = dispatched_.front()->step;
  dispatched_.erase(dispatched_.begin());
  scheduler_.commit(result_, output_);
  scheduler_.masks_ready(sessions_.prepare(scheduler_.awaiting_masks()));
  kv_cache_.commit_step(step);
  settle();
  return output_.events;
}

// What the device stores is in doubt: everything is computed again.
const token_batch& engine::replay() {
  dispatched_.clear();
  sessions_.forget_steps();
  output_ = scheduler_.device_lost(blame::oldest_step);
  kv_cache_.lose_storage(scheduler_.last_step());
  settle();
  return output_.events;
}

void engine::settle() {
  kv_cache_.append_tokens(output_.appends, output_.appended);
  for (const block_trim& given : output_.trims) kv_cache_.trim(given);
  give_back(output_.releases);
}

bool engine::idle() const {
  const scheduler_counts counts = scheduler_.counts();
  return counts.running == 0 && counts.waiting == 0 && counts.steps_in_flight == 0;
}

void engine::give_back(const std::vector<block_release>& releases) {
  kv_cache_.give_back(releases);
  for (const block_release& given : releases)
    if (!given.preempted) sessions_.release(given.id);
}

}  // namespace troupe
