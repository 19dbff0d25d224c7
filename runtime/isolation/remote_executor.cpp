#include "runtime/isolation/remote_executor.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/executor/cpu/step_plan.hpp"
#include "runtime/isolation/step_messages.hpp"

namespace troupe {
namespace {

class remote_executor final : public executor {
 public:
  remote_executor(std::shared_ptr<runner_process> process, opened_executor opened)
      : process_(std::move(process)), opened_(std::move(opened)) {
    if (opened_.has_plans) plans_.emplace(opened_.plan_shape);
  }
  ~remote_executor() override { process_->close(opened_.device); }

  kv_layout layout() const override { return opened_.layout; }
  std::string kernel_path() const override { return opened_.kernel_path; }
  step_plans* plans() override { return plans_ ? &*plans_ : nullptr; }

  result<void> reserve_steps(std::int32_t rows, std::int32_t sequences) override {
    flat_writer to = process_->message();
    to.value(rows);
    to.value(sequences);
    const auto answered = call(executor_call::reserve_steps, to);
    if (!answered) return tl::unexpected(answered.error());
    return {};
  }

  result<memory_profile> profile() override {
    auto answered = call(executor_call::profile, process_->message());
    if (!answered) return tl::unexpected(answered.error());
    return answered->value<memory_profile>();
  }

  std::string choices() const override {
    return require(call(executor_call::choices, process_->message())).text();
  }

  void use_choices(const std::string& choices) override {
    flat_writer to = process_->message();
    to.text(choices);
    require(call(executor_call::use_choices, to));
  }

  result<void> take_kv_cache(const kv_cache_claim& claim) override {
    flat_writer to = process_->message();
    to.value(claim);
    auto answered = call(executor_call::take_kv_cache, to);
    if (!answered) return tl::unexpected(answered.error());
    read(*answered, opened_.layout);
    return {};
  }

  void forward(const device_batch& batch) override {
    flat_writer to = process_->message();
    to.value(plan_of(batch.num_rows()));
    write(to, batch);
    has_sent_batch_ = true;
    lacks_histories_ = !batch.fed.empty();
    process_->post(executor_call::forward, opened_.device, to);
  }

  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    flat_writer to = process_->message();
    to.value(plan_of(static_cast<std::int32_t>(batch.samples.size() + batch.prompt_logprobs.size())));
    to.flag(!has_sent_batch_);
    if (!has_sent_batch_) write(to, batch);
    write_rest(to, batch, masks);
    flat_reader answered = require(call(executor_call::sample, to));
    read(answered, result, batch);
  }

  bool overlaps() const override { return opened_.overlaps; }

  // The process knows the batch that forward() has sent, and no other.
  bool begin_sample(const device_batch& batch, const step_masks* masks) override {
    if (!opened_.overlaps || !has_sent_batch_) return false;
    flat_writer to = process_->message();
    write_rest(to, batch, masks);
    return require(call(executor_call::begin_sample, to)).flag();
  }

  bool collect(step_result& result) override {
    flat_reader answered = require(call(executor_call::collect, process_->message()));
    if (!answered.flag()) return false;
    read(answered, result);
    return true;
  }

  void load_dummy_hidden_states(std::int32_t rows) override {
    flat_writer to = process_->message();
    to.value(rows);
    has_sent_batch_ = false;
    lacks_histories_ = false;
    require(call(executor_call::load_dummy_hidden_states, to));
  }

  std::optional<device_figures> figures() override {
    if (!opened_.has_figures) return std::nullopt;
    flat_reader answered = require(call(executor_call::figures, process_->message()));
    if (!answered.flag()) return std::nullopt;
    device_figures told;
    read(answered, told);
    return told;
  }

  // A device that goes on by itself has answered before it has done what it was asked for.
  void synchronize() override {
    if (!opened_.overlaps) return process_->settle(opened_.device);
    require(call(executor_call::synchronize, process_->message()));
  }

 private:
  result<flat_reader> call(executor_call call, const flat_writer& message) const {
    return process_->call(call, opened_.device, message);
  }
  static flat_reader require(result<flat_reader> answered) {
    if (!answered) throw std::runtime_error(answered.error().message);
    return *answered;
  }
  // What was not known when the batch was sent.
  void write_rest(flat_writer& to, const device_batch& batch, const step_masks* masks) const {
    to.flag(lacks_histories_);
    if (lacks_histories_) write_histories(to, batch);
    to.flag(masks != nullptr);
    if (masks != nullptr) write(to, *masks);
  }
  step_plan plan_of(std::int32_t rows) const { return plans_ ? plans_->of(rows) : step_plan{}; }

  std::shared_ptr<runner_process> process_;
  opened_executor opened_;
  std::optional<step_plans> plans_;
  bool has_sent_batch_ = false;   // sample() is of the batch that forward() has sent, ...
  bool lacks_histories_ = false;  // ... before the tokens of the step before it were known
};

}  // namespace

std::unique_ptr<executor> make_remote_executor(std::shared_ptr<runner_process> process,
                                               opened_executor opened) {
  return std::make_unique<remote_executor>(std::move(process), std::move(opened));
}

}  // namespace troupe
