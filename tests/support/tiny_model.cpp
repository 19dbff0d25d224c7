#include "tests/support/tiny_model.hpp"

#include <cmath>
#include <string_view>

#include "tests/support/tiny_vocabulary.hpp"

namespace troupe::test {
namespace {

constexpr gguf::tensor_type f32 = gguf::tensor_type::f32;

// Every size filled in.
tiny_model_options resolve(tiny_model_options options) {
  const bool wide =
      gguf::block_elements(options.weights) == 256 || gguf::block_elements(options.embedding) == 256;
  const std::uint32_t narrow_head = options.kind == tiny_kind::qwen3 ? 32 : 16;
  if (options.head_dim == 0) options.head_dim = wide ? 64 : narrow_head;
  if (options.hidden == 0) options.hidden = wide ? 256 : 64;
  if (options.intermediate == 0) options.intermediate = wide ? 256 : 96;
  return options;
}

std::string architecture(tiny_kind kind) {
  if (kind == tiny_kind::qwen2) return "qwen2";
  if (kind == tiny_kind::qwen3) return "qwen3";
  return "llama";
}

bool has_own_head(tiny_kind kind) { return kind != tiny_kind::llama && kind != tiny_kind::qwen2; }

std::string pre_tokenizer(tiny_kind kind) {
  switch (kind) {
    case tiny_kind::llama:
      return "smollm";
    case tiny_kind::llama_untied:
      return "llama-bpe";
    case tiny_kind::mistral:
      return "";
    case tiny_kind::qwen2:
    case tiny_kind::qwen3:
      return "qwen2";
  }
  return "";
}

void add_metadata(gguf_writer& writer, const tiny_model_options& options) {
  const std::string name = architecture(options.kind);
  writer.add("general.architecture", name);
  writer.add("general.name", std::string("tiny ") + to_string(options.kind));
  writer.add(name + ".context_length", options.context_length);
  writer.add(name + ".embedding_length", options.hidden);
  writer.add(name + ".block_count", options.num_layers);
  writer.add(name + ".feed_forward_length", options.intermediate);
  writer.add(name + ".attention.head_count", options.num_heads);
  writer.add(name + ".attention.head_count_kv", options.num_kv_heads);
  writer.add(name + ".attention.key_length", options.head_dim);
  writer.add(name + ".attention.value_length", options.head_dim);
  writer.add(name + ".attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add(name + ".rope.freq_base", options.kind == tiny_kind::mistral ? 10'000.0F : 100'000.0F);
  if (name == "llama") writer.add("llama.rope.dimension_count", options.head_dim);
}

class weights_writer {
 public:
  weights_writer(gguf_writer& writer, const tiny_model_options& options)
      : writer_(writer), options_(options) {}

  // Scaled so that a unit input gives outputs of unit variance times `gain`.
  void matrix(const std::string& name, std::uint64_t in, std::uint64_t out, gguf::tensor_type type,
              float gain) {
    const float magnitude = gain * std::sqrt(3.0F / static_cast<float>(in));
    writer_.add_tensor(name, {in, out}, type, random_tensor(type, in * out, magnitude, seed_of(name)));
  }

  // Values in middle +- spread.
  void vector(const std::string& name, std::uint64_t size, float middle, float spread) {
    std::string data = random_tensor(f32, size, spread, seed_of(name));
    std::string shifted;
    for (std::size_t i = 0; i < size; ++i) {
      float value = 0.0F;
      data.copy(reinterpret_cast<char*>(&value), sizeof(value), i * sizeof(value));
      shifted += raw(value + middle);
    }
    writer_.add_tensor(name, {size}, f32, shifted);
  }

  void layer(std::uint32_t index) {
    const std::string prefix = "blk." + std::to_string(index) + ".";
    const std::uint64_t hidden = options_.hidden;
    const std::uint64_t query = std::uint64_t{options_.num_heads} * options_.head_dim;
    const std::uint64_t kv = std::uint64_t{options_.num_kv_heads} * options_.head_dim;
    const auto type = options_.weights;
    vector(prefix + "attn_norm.weight", hidden, 1.0F, 0.3F);
    matrix(prefix + "attn_q.weight", hidden, query, type, 1.5F);
    matrix(prefix + "attn_k.weight", hidden, kv, type, 1.5F);
    matrix(prefix + "attn_v.weight", hidden, kv, type, 1.0F);
    matrix(prefix + "attn_output.weight", query, hidden, type, 1.0F);
    if (options_.kind == tiny_kind::qwen2) {
      vector(prefix + "attn_q.bias", query, 0.0F, 0.5F);
      vector(prefix + "attn_k.bias", kv, 0.0F, 0.5F);
      vector(prefix + "attn_v.bias", kv, 0.0F, 0.5F);
    }
    if (options_.kind == tiny_kind::qwen3) {
      vector(prefix + "attn_q_norm.weight", options_.head_dim, 1.0F, 0.3F);
      vector(prefix + "attn_k_norm.weight", options_.head_dim, 1.0F, 0.3F);
    }
    vector(prefix + "ffn_norm.weight", hidden, 1.0F, 0.3F);
    matrix(prefix + "ffn_gate.weight", hidden, options_.intermediate, type, 1.0F);
    matrix(prefix + "ffn_up.weight", hidden, options_.intermediate, type, 1.0F);
    matrix(prefix + "ffn_down.weight", options_.intermediate, hidden, type, 1.0F);
  }

  void rope_factors() { vector("rope_freqs.weight", options_.head_dim / 2, 4.0F, 3.0F); }

 private:
  // FNV-1a of the name, so that a tensor's content does not depend on the others.
  std::uint64_t seed_of(std::string_view name) const {
    std::uint64_t hash = 0xCBF29CE484222325U ^ options_.seed;
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
    return hash;
  }

  gguf_writer& writer_;
  const tiny_model_options& options_;
};

}  // namespace

const char* to_string(tiny_kind kind) {
  switch (kind) {
    case tiny_kind::llama:
      return "llama";
    case tiny_kind::llama_untied:
      return "llama_untied";
    case tiny_kind::mistral:
      return "mistral";
    case tiny_kind::qwen2:
      return "qwen2";
    case tiny_kind::qwen3:
      return "qwen3";
  }
  return "";
}

std::string tiny_model(const tiny_model_options& asked) {
  const auto options = resolve(asked);
  const bool sentencepiece = options.kind == tiny_kind::mistral;
  const auto vocabulary = sentencepiece ? tiny_sentencepiece_vocabulary() : tiny_bpe_vocabulary();
  gguf_writer writer;
  add_metadata(writer, options);
  add_vocabulary(writer, vocabulary, pre_tokenizer(options.kind));

  weights_writer weights(writer, options);
  const std::uint64_t tokens = vocabulary.tokens.size();
  weights.matrix("token_embd.weight", options.hidden, tokens, options.embedding, 4.0F);
  for (std::uint32_t i = 0; i < options.num_layers; ++i) weights.layer(i);
  weights.vector("output_norm.weight", options.hidden, 1.0F, 0.3F);
  if (has_own_head(options.kind))
    weights.matrix("output.weight", options.hidden, tokens, options.embedding, 4.0F);
  if (options.llama3_rope_factors) weights.rope_factors();
  if (options.edit) options.edit(writer);
  return writer.bytes();
}

}  // namespace troupe::test
