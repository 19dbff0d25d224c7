#include "tests/actors/drafter/draft_model_fixture.hpp"

#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/model/model.hpp"
#include "tests/support/overlapping_executor.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

const model_ptr& tiny(std::uint64_t seed) {
  static std::map<std::uint64_t, model_ptr> loaded;
  model_ptr& model = loaded[seed];
  if (!model) model = *load_model(temporary_file(tiny_model({.seed = seed})).path());
  return model;
}

class hooked_executor final : public forwarding_executor {
 public:
  hooked_executor(std::unique_ptr<executor> inner, std::function<void()> before_step)
      : forwarding_executor(std::move(inner)), before_step_(std::move(before_step)) {}
  void forward(const device_batch& batch) override {
    before_step_();
    forwarding_executor::forward(batch);
  }

 private:
  std::function<void()> before_step_;
};

std::function<void()> fails_as(const draft_setup& setup) {
  return [left = setup.good_steps, failing = setup.failing_steps, fault = setup.fault]() mutable {
    if (--left >= 0 || --failing < 0) return;
    if (fault == draft_fault::loses_the_device) throw device_lost("signal 11 (Segmentation fault)");
    if (fault == draft_fault::lacks_memory) throw out_of_device_memory("nothing is left");
    throw std::runtime_error("out of order");
  };
}

std::function<void()> lacks_memory_every(int steps) {
  return [steps, done = 0]() mutable {
    if (++done % steps == 0) throw out_of_device_memory("nothing is left");
  };
}

draft_model_options options_of(const draft_setup& setup) {
  draft_model_options options;
  options.max_rows = 64;
  options.max_sequences = 8;
  options.max_model_len = 256;
  options.vocab_size = tiny(1)->config.vocab_size;
  options.num_tokens = setup.num_tokens;
  options.rejection = setup.method;
  return options;
}

std::unique_ptr<executor> overlapping(std::unique_ptr<executor> device, std::shared_ptr<int> collected) {
  return std::make_unique<overlapping_executor>(
      std::move(device), 1, [](std::uint64_t) {}, [collected](std::uint64_t) { ++*collected; });
}

}  // namespace

std::unique_ptr<executor> device_of_tiny(std::uint64_t seed, std::int32_t num_blocks) {
  const model_ptr& model = tiny(seed);
  cpu_executor_options cpu;
  cpu.limits = {.max_rows = 64, .max_sequences = 8, .block_size = 16};
  const auto probe = load_cpu_executor(model, cpu);
  cpu.limits.kv_cache_bytes = static_cast<std::size_t>(num_blocks) * (*probe)->layout().bytes_per_block;
  cpu.threads = 1;
  cpu.end_tokens = {end_token};
  return std::move(*make_cpu_executor(model, cpu));
}

company_setup draft_model_setup(const std::optional<draft_setup>& with, std::weak_ptr<draft_model>& drafts) {
  company_setup setup;
  setup.max_num_batched_tokens = 64;
  setup.max_model_len = 256;
  if (with) setup.warm_up = with->warm_up;
  setup.adjust = [with, &drafts](supervisor_parts& parts) {
    parts.device.target = device_of_tiny(1, 200);
    parts.tokenizer.limits.vocab_size = tiny(1)->config.vocab_size;
    parts.limits.end_tokens = {};
    if (!with) return;
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::draft_model;
    parts.drafts->config.adaptive = false;
    const auto make = [with = *with, &drafts](bool = true) -> result<runner_device> {
      auto target = device_of_tiny(1, with.num_blocks);
      if (with.target_lacks_every > 0)
        target =
            std::make_unique<hooked_executor>(std::move(target), lacks_memory_every(with.target_lacks_every));
      if (with.collected) target = overlapping(std::move(target), with.collected);
      runner_device made{std::move(target), nullptr};
      made.draft = std::make_shared<draft_model>(
          std::make_shared<hooked_executor>(device_of_tiny(with.seed, with.draft_blocks), fails_as(with)),
          options_of(with));
      drafts = made.draft;
      return made;
    };
    parts.device = *make();
    parts.open_device = make;
  };
  return setup;
}

}  // namespace troupe::test
