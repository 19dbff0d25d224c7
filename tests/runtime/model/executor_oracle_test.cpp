// The CPU executor against the plain forward pass, for every kind of model and type of weight: the whole
// distribution after every token of a sequence that spans several blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/model/model.hpp"
#include "tests/support/reference_model.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::tiny_kind;
using test::tiny_model_options;

constexpr std::int32_t block_size = 16;
constexpr std::int32_t length = 45;  // not a multiple of the block

model_ptr load(const tiny_model_options& options) {
  const test::temporary_file file(test::tiny_model(options));
  auto loaded = load_model(file.path());
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

std::vector<token_id> some_tokens(std::int32_t vocab_size) {
  std::vector<token_id> out;
  for (std::int32_t i = 0; i < length; ++i) out.push_back((i * i * 7 + i * 31 + 5) % vocab_size);
  return out;
}

// All tokens in one step, in blocks of falling order; the whole distribution is asked for after all but the
// last.
device_batch whole_sequence(const std::vector<token_id>& tokens, std::int32_t vocab_size) {
  device_batch batch;
  batch.tokens = tokens;
  const std::int32_t blocks = (length + block_size - 1) / block_size;
  for (std::int32_t i = 0; i < blocks; ++i) batch.block_tables.push_back(blocks - 1 - i);
  for (std::int32_t i = 0; i < length; ++i) {
    batch.positions.push_back(i);
    batch.slots.push_back(batch.block_tables[static_cast<std::size_t>(i / block_size)] * block_size +
                          i % block_size);
  }
  batch.sequences.push_back(
      {.id = 1, .first_row = 0, .num_rows = length, .table_offset = 0, .table_length = blocks});
  for (std::int32_t i = 0; i + 1 < length; ++i) {
    batch.prompt_logprobs.push_back(
        {.sequence = 0, .row = i, .next_token = tokens[static_cast<std::size_t>(i) + 1], .top = vocab_size});
  }
  return batch;
}

struct distance {
  double mean = 0.0;
  double largest = 0.0;
};

// Between log-probabilities, over all positions and tokens.
distance compare(const std::vector<token_logprobs>& got, const std::vector<std::vector<float>>& logits) {
  distance out;
  std::size_t count = 0;
  for (std::size_t t = 0; t < got.size(); ++t) {
    double sum = 0.0;
    for (const float logit : logits[t]) sum += std::exp(static_cast<double>(logit));
    EXPECT_EQ(got[t].top.size(), logits[t].size());
    for (const auto& [token, logprob] : got[t].top) {
      const double expected = static_cast<double>(logits[t][static_cast<std::size_t>(token)]) - std::log(sum);
      const double difference = std::abs(static_cast<double>(logprob) - expected);
      EXPECT_TRUE(std::isfinite(difference));
      out.mean += difference;
      out.largest = std::max(out.largest, difference);
      ++count;
    }
  }
  out.mean /= static_cast<double>(count);
  return out;
}

distance executor_from_reference(const tiny_model_options& options, const std::string& kernel_path) {
  const auto model = load(options);
  if (model == nullptr) return {1e9, 1e9};
  cpu_executor_options settings;
  settings.limits = {
      .max_rows = 64, .max_sequences = 4, .max_model_len = 128, .kv_cache_bytes = std::size_t{8} << 20U};
  settings.threads = 2;
  settings.kernel_path = kernel_path;
  const auto device = make_cpu_executor(model, settings);
  EXPECT_TRUE(device) << device.error().message;
  if (!device) return {1e9, 1e9};
  const auto tokens = some_tokens(model->config.vocab_size);
  const auto batch = whole_sequence(tokens, model->config.vocab_size);
  step_result result;
  (*device)->forward(batch);
  (*device)->sample(batch, nullptr, result);
  EXPECT_EQ(result.prompt_logprobs.size(), static_cast<std::size_t>(length - 1));
  return compare(result.prompt_logprobs, test::reference_logits(*model, tokens));
}

// The paths that this machine can run. The plain one is always among them.
std::vector<std::string> kernel_paths() {
  std::vector<std::string> out;
  const auto model = load({});
  for (const char* path : {"reference", "avx2", "avx512vnni"}) {
    cpu_executor_options settings;
    settings.limits = {
        .max_rows = 16, .max_sequences = 1, .max_model_len = 64, .kv_cache_bytes = std::size_t{1} << 20U};
    settings.threads = 1;
    settings.kernel_path = path;
    if (make_cpu_executor(model, settings)) out.emplace_back(path);
  }
  EXPECT_FALSE(out.empty() || out.front() != "reference");
  return out;
}

// Float weights leave the rounding of K and V to 16 bits as the one difference.
void expect_near(const tiny_model_options& options, const std::string& path) {
  const auto found = executor_from_reference(options, path);
  EXPECT_LT(found.mean, 0.006) << path;
  EXPECT_LT(found.largest, 0.08) << path;
}

TEST(executor_oracle, every_kind_agrees_on_every_kernel_path_with_float_weights) {
  using enum gguf::tensor_type;
  for (const auto& path : kernel_paths()) {
    for (const auto kind : test::all_tiny_kinds) {
      for (const auto type : {f32, f16, bf16}) {
        SCOPED_TRACE(std::string(test::to_string(kind)) + " " + to_string(type));
        expect_near({.kind = kind, .weights = type, .embedding = type}, path);
      }
    }
  }
}

// Quantised weights meet activations of 8 bits: about one part in a hundred of logits that spread by 4 and
// more.
TEST(executor_oracle, every_kind_agrees_within_the_noise_of_8_bit_activations_with_quantised_weights) {
  using enum gguf::tensor_type;
  for (const auto kind : test::all_tiny_kinds) {
    for (const auto type : {q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k}) {
      SCOPED_TRACE(std::string(test::to_string(kind)) + " " + to_string(type));
      const auto found = executor_from_reference({.kind = kind, .weights = type, .embedding = type}, "auto");
      EXPECT_LT(found.mean, gguf::block_elements(type) == 256 ? 0.15 : 0.075);
    }
  }
}

TEST(executor_oracle, weights_and_embedding_may_differ_in_type) {
  using enum gguf::tensor_type;
  for (const auto kind : test::all_tiny_kinds) {
    const auto found = executor_from_reference({.kind = kind, .weights = q4_1, .embedding = q8_0}, "auto");
    EXPECT_LT(found.mean, 0.075) << test::to_string(kind);
  }
}

TEST(executor_oracle, head_counts_and_sizes_agree) {
  for (const auto& path : kernel_paths()) {
    for (const std::uint32_t kv_heads : {1U, 2U, 4U}) {
      for (const std::uint32_t head_dim : {16U, 32U, 64U, 80U, 128U}) {
        SCOPED_TRACE(std::to_string(kv_heads) + " KV heads of " + std::to_string(head_dim));
        expect_near({.num_layers = 1, .num_kv_heads = kv_heads, .head_dim = head_dim}, path);
      }
    }
  }
}

TEST(executor_oracle, scaled_and_partial_rope_agree) {
  for (const auto kind : {tiny_kind::llama, tiny_kind::qwen2}) {
    const std::string prefix = kind == tiny_kind::llama ? "llama.rope." : "qwen2.rope.";
    expect_near({.kind = kind, .llama3_rope_factors = true}, "auto");
    const auto scaled = [&](const char* type) {
      return [=](test::gguf_writer& writer) {
        writer.add(prefix + "scaling.type", type).add(prefix + "scaling.factor", 8.0F);
        writer.add(prefix + "scaling.original_context_length", 64U);
      };
    };
    expect_near({.kind = kind, .edit = scaled("linear")}, "auto");
    expect_near({.kind = kind, .edit = scaled("yarn")}, "auto");
    const auto partial = [&](test::gguf_writer& writer) {
      writer.drop(prefix + "dimension_count").add(prefix + "dimension_count", 16U);
    };
    expect_near({.kind = kind, .head_dim = 32, .edit = partial}, "auto");
  }
}

// The oracle would notice: leaving one part out moves the distribution far beyond the tolerances above.
TEST(executor_oracle, every_part_of_a_model_matters_to_the_reference) {
  const auto distance_of = [](tiny_kind kind, const std::function<void(model&)>& change) {
    const auto original = load({.kind = kind});
    model changed = *original;
    change(changed);
    const auto tokens = some_tokens(original->config.vocab_size);
    const auto before = test::reference_logits(*original, tokens);
    const auto after = test::reference_logits(changed, tokens);
    double sum = 0.0;
    for (std::size_t i = 0; i < before[8].size(); ++i) {
      sum += std::abs(static_cast<double>(before[8][i]) - static_cast<double>(after[8][i]));
    }
    return sum / static_cast<double>(before[8].size());
  };
  const auto matters = [&](tiny_kind kind, const std::function<void(model&)>& change) {
    EXPECT_GT(distance_of(kind, change), 0.15) << test::to_string(kind);
  };
  EXPECT_EQ(distance_of(tiny_kind::llama, [](model&) {}), 0.0);
  matters(tiny_kind::llama, [](model& each) { each.config.rope = rope_layout::halves; });
  matters(tiny_kind::qwen3, [](model& each) { each.config.rope = rope_layout::interleaved; });
  matters(tiny_kind::mistral, [](model& each) { each.head = each.embedding; });
  matters(tiny_kind::qwen2, [](model& each) { each.layers[0].query_bias = nullptr; });
  matters(tiny_kind::qwen2, [](model& each) { each.layers[1].key_bias = nullptr; });
  matters(tiny_kind::qwen2, [](model& each) { each.layers[1].value_bias = nullptr; });
  matters(tiny_kind::qwen3, [](model& each) { each.layers[0].query_norm = nullptr; });
  matters(tiny_kind::qwen3, [](model& each) { each.layers[1].key_norm = nullptr; });
  matters(tiny_kind::llama, [](model& each) { each.config.rope_attention_scale = 1.2F; });
}

}  // namespace
}  // namespace troupe
