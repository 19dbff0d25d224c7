#include "runtime/executor/warm_up/sampler_warm_up.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "runtime/sampling/verify_draft.hpp"

namespace troupe {
namespace {

constexpr std::array<sampler_setting, 11> settings{{
    {0.0F, 1.0F, 0},    // greedy
    {1.0F, 1.0F, 0},    // typical random sampling
    {0.7F, 0.9F, 50},   // creative
    {0.3F, 0.95F, 20},  // conservative
    {1.2F, 0.8F, 100},  // high temperature
    {0.8F, 0.85F, 0},   // top-p alone
    {1.0F, 1.0F, 0, 0.1F},
    {0.7F, 1.0F, 0, 0.0F, 0.5F},
    {0.7F, 1.0F, 0, 0.0F, 0.0F, true},
    {0.0F, 1.0F, 0, 0.0F, 0.0F, false, 4},
    {0.7F, 1.0F, 0, 0.0F, 0.0F, false, 4, true},
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
  if (setting.drafts > 0)
    text += fmt::format(", drafts={}{}", setting.drafts, setting.by_chance ? ", by chance" : "");
  return text;
}

// A request with one token for a prompt, one block, and room for one output token.
struct dummy_request {
  std::shared_ptr<sampling_params> sampling = std::make_shared<sampling_params>();
  token_id prompt = 0;
  token_id output = 0;
};

}  // namespace

class sampler_course::state {
 public:
  state(std::int32_t batch_size, std::int32_t most_rows)
      : requests_(static_cast<std::size_t>(batch_size)), most_rows_(most_rows), masks_(make_masks()) {}

  // What a step of requests in between has left in place of the hidden states is too few of them.
  bool run_next(executor& device) {
    device.load_dummy_hidden_states(most_samples());
    run(device, settings[done_ % settings.size()], done_ < settings.size());
    if (++done_ < 2 * settings.size()) return false;
    requests_.clear();
    device.synchronize();
    return true;
  }

 private:
  // Batches of different shapes: what verifies drafts has more samples, or samples of another kind.
  using shape = std::pair<std::int32_t, bool>;

  void run(executor& device, const sampler_setting& setting, bool batch_changed) {
    for (dummy_request& request : requests_) {
      request.sampling->temperature = setting.temperature;
      request.sampling->top_p = setting.top_p;
      request.sampling->top_k = setting.top_k;
      request.sampling->min_p = setting.min_p;
      request.sampling->frequency_penalty = setting.penalty;
      request.sampling->presence_penalty = setting.penalty;
    }
    device_batch& batch = batches_[shape(setting.drafts, setting.by_chance)];
    if (batch_changed) batch = make_batch(device.layout(), setting);
    device.sample(batch, setting.masked ? &masks_ : nullptr, result_);
    result_ = {};
  }

  std::int32_t most_samples() const {
    std::int64_t most = 0;
    for (const sampler_setting& setting : settings) most = std::max<std::int64_t>(most, 1 + setting.drafts);
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(most * static_cast<std::int64_t>(requests_.size()), most_rows_));
  }

  // Which tokens are allowed does not matter: the first few.
  step_masks make_masks() const {
    step_masks masks;
    masks.num_words = 1;
    masks.words.assign(requests_.size(), ~std::uint32_t{0});
    masks.is_masked.assign(requests_.size(), 1);
    return masks;
  }

  device_batch make_batch(const kv_layout& layout, const sampler_setting& setting) {
    device_batch batch;
    for (const dummy_request& request : requests_) {
      const std::int32_t rows = std::min(1 + setting.drafts, most_rows_ - batch.num_rows());
      if (rows < 1) break;
      add_sequence(batch, scratch_block(layout), request, rows, setting.by_chance);
    }
    return batch;
  }

  // Every row is sampled: the last certain one and those of the drafts. By chance, the last of the first
  // request is a draft itself.
  void add_sequence(device_batch& batch, std::int32_t block, const dummy_request& request, std::int32_t rows,
                    bool by_chance) {
    const auto index = static_cast<std::int32_t>(batch.sequences.size());
    const std::int32_t first = batch.num_rows();
    batch.sequences.push_back(
        {.first_row = first, .num_rows = rows, .table_offset = index, .table_length = 1});
    batch.block_tables.push_back(block);
    if (rows > 1) batch.drafts.push_back({first, rows - 1});
    for (std::int32_t i = 0; i < rows; ++i) {
      batch.tokens.push_back(request.prompt);
      batch.positions.push_back(i);
      batch.slots.push_back(no_slot);
      sample_row sample;
      sample.sequence = index;
      sample.row = first + i;
      sample.position = 1 + i;
      sample.sampling = request.sampling;
      sample.prompt_length = 1;
      sample.history.assign(static_cast<std::size_t>(2 + i), request.output);
      sample.history.front() = request.prompt;
      batch.samples.push_back(std::move(sample));
      if (!by_chance) continue;
      const bool is_last = i + 1 == rows;
      batch.verified.push_back(is_last ? nullptr : &guess_);
      batch.kept.push_back(is_last && index == 0 ? &kept_ : nullptr);
    }
  }

  std::size_t done_ = 0;  // settings, with the batch changed and then as it was
  std::vector<dummy_request> requests_;
  std::int32_t most_rows_;
  std::array<token_id, 2> guessed_{0, 1};
  std::array<float, 2> chances_{0.5F, 0.5F};
  drafted_token guess_{0, {guessed_, chances_}};
  kept_distribution kept_;
  step_masks masks_;
  std::map<shape, device_batch> batches_;
  step_result result_;
};

sampler_course::sampler_course(std::int32_t batch_size, std::int32_t most_rows)
    : state_(std::make_unique<state>(batch_size, most_rows)) {}
sampler_course::~sampler_course() = default;
sampler_course::sampler_course(sampler_course&&) noexcept = default;
sampler_course& sampler_course::operator=(sampler_course&&) noexcept = default;
bool sampler_course::run_next(executor& device) { return state_->run_next(device); }

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

void warm_up_sampler(executor& device, std::int32_t batch_size, std::int32_t most_rows) {
  sampler_course course(batch_size, most_rows);
  while (!course.run_next(device)) {
  }
}

}  // namespace troupe
