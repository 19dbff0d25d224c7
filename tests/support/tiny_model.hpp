// Small random model files of every kind that is served, made in memory from a seed. A file is some 100 kB
// and its forward pass takes microseconds; its text is noise, but logits are well spread.
//
//   const test::temporary_file file(test::tiny_model({.kind = test::tiny_kind::qwen3}));
//   const auto model = load_model(file.path());
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "tests/support/gguf_writer.hpp"

namespace troupe::test {

enum class tiny_kind {
  llama,         // tied head, interleaved RoPE, byte-level BPE ("smollm"), as SmolLM2
  llama_untied,  // own head, byte-level BPE ("llama-bpe"), as Llama 3
  mistral,       // own head, SentencePiece vocabulary ("llama"), as Mistral
  qwen2,         // Q/K/V biases, RoPE over halves, tied head, byte-level BPE ("qwen2")
  qwen3,         // Q/K norms, heads * head_dim wider than hidden, RoPE over halves, own head
};
inline constexpr tiny_kind all_tiny_kinds[] = {tiny_kind::llama, tiny_kind::llama_untied, tiny_kind::mistral,
                                               tiny_kind::qwen2, tiny_kind::qwen3};
const char* to_string(tiny_kind kind);

struct tiny_model_options {
  tiny_kind kind = tiny_kind::llama;
  gguf::tensor_type weights = gguf::tensor_type::f32;    // the matrices of the layers
  gguf::tensor_type embedding = gguf::tensor_type::f32;  // token embedding and head
  std::uint64_t seed = 1;
  std::uint32_t num_layers = 2;
  std::uint32_t num_heads = 4;
  std::uint32_t num_kv_heads = 2;
  std::uint32_t head_dim = 0;      // 0: 16 (qwen3: 32); 64 where a K-quant needs rows of 256
  std::uint32_t hidden = 0;        // 0: 64; 256 where a K-quant needs it
  std::uint32_t intermediate = 0;  // 0: 96; 256 where a K-quant needs it
  std::uint32_t context_length = 512;
  bool llama3_rope_factors = false;          // adds the tensor rope_freqs.weight
  std::function<void(gguf_writer&)> edit{};  // a last hand on keys and tensors
};

// The bytes of the file. Vocabulary: about 300 tokens, chatml specials, eos <|im_end|>, and a ChatML chat
// template.
std::string tiny_model(const tiny_model_options& options = {});

// `elements` random values of `type` as blocks, most of them within +-magnitude.
std::string random_tensor(gguf::tensor_type type, std::uint64_t elements, float magnitude,
                          std::uint64_t seed);

}  // namespace troupe::test
