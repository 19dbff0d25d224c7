#include "runtime/model/model.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::gguf_writer;
using test::temporary_file;
using test::tiny_kind;
using test::tiny_model;
using test::tiny_model_options;
using edit = std::function<void(gguf_writer&)>;

result<model_ptr> try_load(const tiny_model_options& options) {
  const temporary_file file(tiny_model(options));
  auto loaded = load_model(file.path());
  if (!loaded) {
    EXPECT_EQ(loaded.error().message.find(file.path() + ": "), 0U) << loaded.error().message;
  }
  return loaded;
}

void expect_refused(const edit& change, const std::string& field, error_code code = error_code::corrupt_file,
                    tiny_kind kind = tiny_kind::llama) {
  const auto loaded = try_load({.kind = kind, .edit = change});
  ASSERT_FALSE(loaded) << field;
  EXPECT_NE(loaded.error().message.find(field), std::string::npos) << loaded.error().message;
  EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
}

template <class T>
edit set(const std::string& key, T value) {
  return [=](gguf_writer& writer) { writer.drop(key).add(key, value); };
}

TEST(load_model, reads_every_served_kind_in_every_served_type) {
  using enum gguf::tensor_type;
  for (const auto kind : test::all_tiny_kinds) {
    for (const auto type : {f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k}) {
      const auto loaded = try_load({.kind = kind, .weights = type, .embedding = type});
      ASSERT_TRUE(loaded) << test::to_string(kind) << " " << to_string(type) << ": "
                          << loaded.error().message;
      EXPECT_EQ((*loaded)->layers.size(), 2U);
      EXPECT_EQ((*loaded)->layers[1].down->type, type);
    }
  }
}

TEST(load_model, reads_the_sizes_of_the_real_model) {
  const auto loaded = load_model(test::default_model_path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& config = (*loaded)->config;
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.vocab_size, 49152);
  EXPECT_EQ(config.hidden_size, 576);
  EXPECT_EQ(config.num_layers, 30);
  EXPECT_EQ(config.num_heads, 9);
  EXPECT_EQ(config.num_kv_heads, 3);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.intermediate_size, 1536);
  EXPECT_EQ(config.context_length, 8192);
  EXPECT_EQ(config.rope, rope_layout::interleaved);
  EXPECT_EQ((*loaded)->head, (*loaded)->embedding);
}

TEST(load_model, takes_the_optional_parts_that_each_kind_has) {
  for (const auto kind : test::all_tiny_kinds) {
    const auto loaded = try_load({.kind = kind});
    ASSERT_TRUE(loaded);
    const auto& found = **loaded;
    const auto& layer = found.layers[0];
    const bool tied = kind == tiny_kind::llama || kind == tiny_kind::qwen2;
    const bool qwen = kind == tiny_kind::qwen2 || kind == tiny_kind::qwen3;
    EXPECT_EQ(found.head == found.embedding, tied);
    EXPECT_EQ(layer.query_bias != nullptr && layer.key_bias != nullptr && layer.value_bias != nullptr,
              kind == tiny_kind::qwen2);
    EXPECT_EQ(layer.query_norm != nullptr && layer.key_norm != nullptr, kind == tiny_kind::qwen3);
    EXPECT_EQ(found.config.rope, qwen ? rope_layout::halves : rope_layout::interleaved);
  }
}

TEST(load_model, derives_the_head_size_where_the_file_does_not_say) {
  const auto loaded = try_load({.edit = [](gguf_writer& writer) {
    writer.drop("llama.attention.key_length").drop("llama.attention.value_length");
    writer.drop("llama.rope.dimension_count");
  }});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->config.head_dim, 16);
  EXPECT_EQ((*loaded)->config.rope_dim, 16);
}

TEST(load_model, caps_the_context_at_a_sliding_window) {
  for (const std::uint32_t window : {0U, 100U, 512U, 4096U}) {
    const auto loaded = try_load({.kind = tiny_kind::mistral,
                                  .context_length = 512,
                                  .edit = set("llama.attention.sliding_window", window)});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ((*loaded)->config.context_length, window == 100 ? 100 : 512);
  }
}

// A cap of what is served, not of what the model was trained on.
TEST(load_model, a_sliding_window_changes_no_yarn_frequency) {
  const auto with = [](std::uint32_t window) {
    return try_load(
        {.kind = tiny_kind::mistral, .context_length = 512, .edit = [=](gguf_writer& writer) {
           writer.drop("llama.attention.sliding_window").add("llama.attention.sliding_window", window);
           writer.add("llama.rope.scaling.type", "yarn").add("llama.rope.scaling.factor", 4.0F);
         }});
  };
  const auto whole = with(0), capped = with(100);
  ASSERT_TRUE(whole && capped);
  EXPECT_EQ((*capped)->config.context_length, 100);
  EXPECT_EQ((*capped)->config.rope_inverse_frequencies, (*whole)->config.rope_inverse_frequencies);
}

TEST(load_model, names_an_architecture_that_is_not_served) {
  expect_refused(set("general.architecture", "mamba"), "'mamba' is not served", error_code::unsupported);
  expect_refused(set("general.architecture", 3U), "general.architecture");
  expect_refused([](gguf_writer& writer) { writer.drop("general.architecture"); }, "general.architecture");
}

TEST(load_model, refuses_features_that_would_change_the_arithmetic) {
  const auto code = error_code::unsupported;
  expect_refused(set("llama.expert_count", 8U), "llama.expert_count", code);
  expect_refused(set("llama.logit_scale", 2.0F), "llama.logit_scale", code);
  expect_refused(set("llama.attention.causal", false), "llama.attention.causal", code);
  expect_refused(set("llama.rope.scaling.type", "longrope"), "llama.rope.scaling.type", code);
  expect_refused(set("llama.attention.value_length", 32U), "llama.attention.value_length", code);
  expect_refused(set("split.count", std::uint16_t{3}), "split.count", code);
  expect_refused(
      [](gguf_writer& writer) {
        writer.add_tensor("blk.0.attn_output.bias", {64}, gguf::tensor_type::f32, std::string(256, '\0'));
      },
      "tensor 'blk.0.attn_output.bias'", code);
}

TEST(load_model, refuses_every_missing_key) {
  for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length",
                          "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    const std::string name = std::string("llama.") + key;
    expect_refused([&](gguf_writer& writer) { writer.drop(name); }, "metadata '" + name + "': missing");
  }
  expect_refused([](gguf_writer& writer) { writer.drop("tokenizer.ggml.tokens"); }, "tokenizer.ggml.tokens");
}

TEST(load_model, refuses_sizes_out_of_range_before_it_uses_them) {
  for (const char* key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count",
        "attention.head_count_kv", "attention.key_length", "rope.dimension_count"}) {
    const std::string name = std::string("llama.") + key;
    for (const auto value :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31U, std::int64_t{1} << 32U,
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
      expect_refused(set(name, value), "metadata '" + name + "'");
    }
    expect_refused(set(name, "12"), "metadata '" + name + "'");
    expect_refused(set(name, ~std::uint64_t{0}), "metadata '" + name + "'");
  }
  expect_refused(set("llama.block_count", 1025U), "llama.block_count");
}

TEST(load_model, refuses_floats_out_of_range) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0F, -1.0F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    expect_refused(set("llama.attention.layer_norm_rms_epsilon", value), "layer_norm_rms_epsilon");
    expect_refused(set("llama.rope.freq_base", value), "llama.rope.freq_base");
    if (value != 0.0F) expect_refused(set("llama.rope.scaling.factor", value), "llama.rope.scaling.factor");
  }
}

TEST(load_model, refuses_sizes_that_contradict_each_other) {
  expect_refused(set("llama.attention.head_count_kv", 3U), "llama.attention.head_count_kv");
  expect_refused(set("llama.rope.dimension_count", 18U), "llama.rope.dimension_count");
  expect_refused(set("llama.rope.dimension_count", 7U), "llama.rope.dimension_count");
  expect_refused(set("llama.attention.head_count", 8U), "tensor 'blk.0.attn_q.weight'");
  expect_refused(set("llama.attention.head_count_kv", 4U), "tensor 'blk.0.attn_k.weight'");
  expect_refused(set("llama.feed_forward_length", 128U), "tensor 'blk.0.ffn_gate.weight'");
  expect_refused(set("llama.embedding_length", 128U), "tensor 'token_embd.weight'");
  expect_refused(set("llama.block_count", 3U), "tensor 'blk.2.attn_norm.weight': missing");
  expect_refused(set("llama.block_count", 1U), "tensor 'blk.1.", error_code::unsupported);
  expect_refused(set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"}), "tokenizer.ggml.tokens");
}

TEST(load_model, refuses_every_missing_tensor) {
  const temporary_file whole(tiny_model({.kind = tiny_kind::qwen3}));
  const auto file = gguf::file::open(whole.path());
  ASSERT_TRUE(file);
  for (const auto& tensor : file->tensors()) {
    const std::string name(tensor.name);
    if (name == "output.weight") continue;  // absent: tied
    const bool norm = name.find("_q_norm") != std::string::npos || name.find("_k_norm") != std::string::npos;
    expect_refused([&](gguf_writer& writer) { writer.drop_tensor(name); },
                   norm ? "Q/K norms" : "tensor '" + name, error_code::corrupt_file, tiny_kind::qwen3);
  }
  expect_refused([](gguf_writer& writer) { writer.drop_tensor("blk.1.attn_k.bias"); },
                 "blk.1: 2 of 3 Q/K/V biases", error_code::corrupt_file, tiny_kind::qwen2);
}

TEST(load_model, refuses_a_weight_of_a_type_that_is_not_served) {
  expect_refused(
      [](gguf_writer& writer) {
        writer.drop_tensor("output_norm.weight");
        writer.add_tensor("output_norm.weight", {64}, static_cast<gguf::tensor_type>(28),
                          std::string(512, '\0'));
      },
      "tensor 'output_norm.weight': its type F64 is not served", error_code::unsupported);
}

TEST(load_model, refuses_odd_heads_and_widths_that_are_no_whole_blocks) {
  EXPECT_FALSE(try_load({.head_dim = 15}));
  EXPECT_FALSE(try_load({.head_dim = 16, .hidden = 72}));
  EXPECT_FALSE(try_load({.intermediate = 100}));
}

// Whoever may not open it any more, or finds another file at its path, may still read what was opened.
TEST(load_model, reads_a_file_that_is_open_by_its_descriptor) {
  const temporary_file file(tiny_model({}));
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  std::filesystem::remove(file.path());
  const auto loaded = load_model(descriptor, "the model");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_GT((*loaded)->config.vocab_size, 0);
  EXPECT_GE(::fcntl(descriptor, F_GETFD), 0) << "it is left open";
  ::close(descriptor);
  EXPECT_EQ(load_model(descriptor, "the model").error().message,
            "the model: cannot read its size: Bad file descriptor");
}

}  // namespace
}  // namespace troupe
