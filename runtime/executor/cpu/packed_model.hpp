// A model's weights as the CPU executor reads them: packed matrices in one memory, norms and biases as
// floats.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/packed_weights.hpp"
#include "runtime/executor/machine/page_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Matrices that read the same input in one phase (Q, K, V; gate, up). Part i's outputs start at column
// `columns[i]` of the phase's output, a multiple of 16.
struct fused_linear {
  std::vector<kernels::packed_matrix> parts;
  std::vector<std::int32_t> columns;
  std::int32_t panels = 0;  // of all parts
  std::int32_t width = 0;   // columns of the output, padding included
  std::int32_t inputs = 0;
  bool reads_codes = false;   // some part is quantised
  bool reads_values = false;  // some part is of a float kind
};

struct packed_layer {
  std::vector<float> attention_norm;  // [hidden]
  fused_linear qkv;                   // hidden -> heads * head_dim, kv_heads * head_dim, kv_heads * head_dim
  std::vector<float> qkv_bias;        // [qkv.width] or empty
  std::vector<float> query_norm;      // [head_dim] or empty
  std::vector<float> key_norm;        // [head_dim] or empty
  fused_linear output;                // heads * head_dim -> hidden
  std::vector<float> ffn_norm;        // [hidden]
  fused_linear gate_up;               // hidden -> intermediate, intermediate
  fused_linear down;                  // intermediate -> hidden
};

struct packed_model {
  std::vector<packed_layer> layers;
  std::vector<float> output_norm;  // [hidden]
  fused_linear head;               // hidden -> vocab
  page_memory memory;              // every packed matrix
};

// Whether other processes are to read the matrices too: map_packed_model().
enum class packed_for { this_process, all_processes };

// Packs tensor by tensor and lets go of each tensor's file pages, so that the peak is one copy and one
// tensor. Errors: unsupported (a tensor type), resource_exhausted.
result<packed_model> pack_model(const model& source, packed_for readers = packed_for::this_process);

// What another process has packed of the same file into `matrices`. Errors: unsupported, io_error (memory of
// another size).
result<packed_model> map_packed_model(const model& source, page_memory matrices);

}  // namespace troupe
