#include "runtime/executor/sampler_warm_up.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

namespace troupe {
namespace {

constexpr std::array<sampler_setting, 9> settings{{
    {0.0F, 1.0F, 0},    // greedy
    {1.0F, 1.0F, 0},    // typical random sampling
    {0.7F, 0.9F, 50},   // creative
    {0.3F, 0.95F, 20},  // conservative
    {1.2F, 0.8F, 100},  // high temperature
    {0.8F, 0.85F, 0},   // top-p alone
    {1.0F, 1.0F, 0, 0.1F},
    {0.7F, 1.0F, 0, 0.0F, 0.5F},
    {0.7F, 1.0F, 0, 0.0F, 0.0F, true},
}};

// "1.0", "0.95"
std::string decimal(float number) {
  std::string text = fmt::format("{}", number);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string describe(const sampler_setting& setting) {
  std::string text = fmt::format("temp={}, top_p={}, top_k={}", decimal(setting.temperature),
                                 decimal(setting.top_p), setting.top_k);
  if (setting.min_p > 0.0F) text += ", min_p=" + decimal(setting.min_p);
  if (setting.penalty > 0.0F) text += ", penalty=" + decimal(setting.penalty);
  if (setting.masked) text += ", masked";
  return text;
}

// A request with one placeholder for a prompt, one block, and room for one output token.
struct dummy_request {
  std::shared_ptr<sampling_params> sampling = std::make_shared<sampling_params>();
  token_id prompt = 0;
  token_id output = 0;
};

class sampler_course {
 public:
  sampler_course(executor& device, std::int32_t batch_size)
      : device_(device), requests_(static_cast<std::size_t>(batch_size)), masks_(make_masks()) {}

  void run() {
    device_.load_dummy_hidden_states(static_cast<std::int32_t>(requests_.size()));
    for (const bool batch_changed : {true, false}) {
      for (const sampler_setting& setting : settings) run(setting, batch_changed);
    }
    requests_.clear();
  }

 private:
  void run(const sampler_setting& setting, bool batch_changed) {
    for (dummy_request& request : requests_) {
      request.sampling->temperature = setting.temperature;
      request.sampling->top_p = setting.top_p;
      request.sampling->top_k = setting.top_k;
      request.sampling->min_p = setting.min_p;
      request.sampling->frequency_penalty = setting.penalty;
      request.sampling->presence_penalty = setting.penalty;
    }
    if (batch_changed) batch_ = make_batch();
    device_.sample(batch_, setting.masked ? &masks_ : nullptr, result_);
    result_ = {};
  }

  // Which tokens are allowed does not matter: the first few.
  step_masks make_masks() const {
    step_masks masks;
    masks.num_words = 1;
    masks.words.assign(requests_.size(), ~std::uint32_t{0});
    masks.is_masked.assign(requests_.size(), 1);
    return masks;
  }

  device_batch make_batch() const {
    const std::int32_t block = scratch_block(device_.layout());
    device_batch batch;
    for (const dummy_request& request : requests_) {
      const auto index = static_cast<std::int32_t>(batch.sequences.size());
      batch.tokens.push_back(request.prompt);
      batch.positions.push_back(0);
      batch.slots.push_back(no_slot);
      batch.sequences.push_back(
          {.first_row = index, .num_rows = 1, .table_offset = index, .table_length = 1});
      batch.block_tables.push_back(block);
      sample_row sample;
      sample.sequence = index;
      sample.row = index;
      sample.position = 1;
      sample.sampling = request.sampling;
      sample.prompt_length = 1;
      sample.history = {request.prompt, request.output};
      batch.samples.push_back(std::move(sample));
    }
    return batch;
  }

  executor& device_;
  std::vector<dummy_request> requests_;
  step_masks masks_;
  device_batch batch_;
  step_result result_;
};

}  // namespace

std::span<const sampler_setting> sampler_settings() { return settings; }

std::vector<std::int32_t> sampler_batch_sizes(const bucket_plan& plan, std::int32_t most) {
  std::set<std::int32_t> sizes{0, 1};
  for (const bucket& each : plan.decode) sizes.insert(each.batch);
  for (const unified_bucket& each : plan.unified)
    if (!each.causal) sizes.insert(each.query);
  return {sizes.begin(), sizes.upper_bound(most)};
}

std::vector<std::string> describe_sampler_warm_up(std::span<const std::int32_t> sizes) {
  std::vector<std::string> lines{fmt::format(
      "Warming up sampler with batch sizes: [{}] and following configs:", fmt::join(sizes, ", "))};
  for (const char* batch_changed : {"True", "False"}) {
    for (const sampler_setting& each : settings)
      lines.push_back(fmt::format("{}, batch_changed={}", describe(each), batch_changed));
  }
  lines.push_back("Starting sampler warmup...");
  return lines;
}

void warm_up_sampler(executor& device, std::int32_t batch_size) {
  sampler_course(device, batch_size).run();
  device.synchronize();
}

}  // namespace troupe
