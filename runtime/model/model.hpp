// A decoder-only transformer as its GGUF metadata describes it: Llama, SmolLM2, Mistral, Qwen2, Qwen3.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/result.hpp"

namespace troupe {

enum class rope_layout {
  interleaved,  // pairs (2i, 2i+1): GGUF "llama" files, whose Q/K rows the converter permuted
  halves,       // pairs (i, i + dim/2): "qwen2", "qwen3"
};

struct model_config {
  std::string architecture;  // "llama", "qwen2", "qwen3"
  std::string name;
  std::int32_t vocab_size = 0;
  std::int32_t hidden_size = 0;
  std::int32_t num_layers = 0;
  std::int32_t num_heads = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t intermediate_size = 0;
  std::int32_t context_length = 0;
  float rms_norm_eps = 1e-5F;
  rope_layout rope = rope_layout::interleaved;
  std::int32_t rope_dim = 0;  // leading dimensions of each head that are rotated
  // Inverse frequency of each rotated pair, scaling (linear, llama3 factors, yarn) already applied. [rope_dim
  // / 2]
  std::vector<float> rope_inverse_frequencies;
  float rope_attention_scale = 1.0F;  // yarn's magnitude factor on rotated Q and K
};

// Weights as the file stores them; nullptr where the model has none. (out x in) means gguf shape {in, out}.
struct layer_weights {
  const gguf::tensor* attention_norm = nullptr;  // (hidden)
  const gguf::tensor* query = nullptr;           // (heads * head_dim x hidden)
  const gguf::tensor* key = nullptr;             // (kv_heads * head_dim x hidden)
  const gguf::tensor* value = nullptr;           // (kv_heads * head_dim x hidden)
  const gguf::tensor* query_bias = nullptr;      // (heads * head_dim), optional
  const gguf::tensor* key_bias = nullptr;        // optional
  const gguf::tensor* value_bias = nullptr;      // optional
  const gguf::tensor* query_norm = nullptr;      // (head_dim), optional
  const gguf::tensor* key_norm = nullptr;        // (head_dim), optional
  const gguf::tensor* output = nullptr;          // (hidden x heads * head_dim)
  const gguf::tensor* ffn_norm = nullptr;        // (hidden)
  const gguf::tensor* gate = nullptr;            // (intermediate x hidden)
  const gguf::tensor* up = nullptr;              // (intermediate x hidden)
  const gguf::tensor* down = nullptr;            // (hidden x intermediate)
};

struct model {
  gguf::file file;
  model_config config;
  const gguf::tensor* embedding = nullptr;    // (vocab x hidden)
  std::vector<layer_weights> layers;          // [num_layers]
  const gguf::tensor* output_norm = nullptr;  // (hidden)
  const gguf::tensor* head = nullptr;         // (vocab x hidden); the embedding where tied
};
using model_ptr = std::shared_ptr<const model>;

// What a served model may hold at most; metadata beyond that is refused before anything is allocated for it.
inline constexpr std::int32_t max_layers = 1024;
inline constexpr std::int32_t max_heads = 1024;
inline constexpr std::int32_t max_head_dim = 1024;
inline constexpr std::int32_t max_hidden_size = 1 << 20;
inline constexpr std::int32_t max_intermediate_size = 1 << 22;
inline constexpr std::int32_t max_vocab_size = 1 << 22;
inline constexpr std::int32_t max_context_length = 1 << 24;

// Opens and checks a model: every weight present, of the shape that the metadata promises, of a served type,
// and no tensor that this program would have to ignore. hidden_size, intermediate_size and heads * head_dim
// are multiples of 32, head_dim and rope_dim even, heads a multiple of KV heads. A sliding attention window
// (Mistral) shorter than the context caps context_length at the window, where windowed and full attention are
// the same. Errors: those of gguf::file::open, and unsupported for an architecture that is not served; the
// message names the field.
result<model_ptr> load_model(const std::string& path);
// The same of a file that is open, which is left open; messages name `name`.
result<model_ptr> load_model(int descriptor, const std::string& name);

}  // namespace troupe
