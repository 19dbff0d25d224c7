// Tensors of a model's file to the device, piece by piece: while one is copied the next one is dequantised.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/element_type.hpp"
#include "kernels/tiled_weights.hpp"
#include "runtime/executor_cuda/device/cuda_event.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/gguf/gguf.hpp"

namespace troupe {

class weight_uploader {
 public:
  static constexpr std::size_t piece_elements = std::size_t{1} << 20U;

  // `piece`: elements copied at once, a multiple of 256. The stream outlives it.
  explicit weight_uploader(const cuda_stream& stream, std::size_t piece = piece_elements);
  ~weight_uploader();
  weight_uploader(const weight_uploader&) = delete;
  weight_uploader& operator=(const weight_uploader&) = delete;

  // All of the tensor's elements, in the file's order. They are there once the stream has come so far. Throw
  // what check_cuda() throws.
  void upload_rounded(const gguf::tensor& tensor, kernels::cuda::element_type type, std::uint16_t* to);
  // The device rounds the 16 bits of `type` to e4m3, each of the tensor's outputs with a scale of its own.
  void upload_fp8(const gguf::tensor& tensor, kernels::cuda::element_type type, std::byte* to, float* scales);
  void upload_f32(const gguf::tensor& tensor, float* to);
  // The codes of a quantised tensor, packed for its kernel: all of `layout`.
  void upload_tiled(const gguf::tensor& tensor, const kernels::tiled_matrix& layout, std::byte* to);
  void upload_f32(std::span<const float> values, float* to);
  void clear(void* to, std::size_t bytes);

 private:
  // A buffer that no copy reads any more.
  struct stage {
    pinned_memory memory;
    cuda_event copied;
  };
  stage& next_stage();
  void send(stage& from, void* to, std::size_t bytes);
  void send_rounded(const gguf::tensor& tensor, kernels::cuda::element_type type, std::size_t first,
                    std::size_t count, std::uint16_t* to);
  void upload_bytes(std::span<const std::byte> bytes, std::byte* to);

  const cuda_stream& stream_;
  std::size_t piece_;
  std::array<stage, 2> stages_;
  std::size_t next_ = 0;
  std::vector<float> values_;  // [piece]
  std::vector<std::byte> tile_;
  device_array<std::uint16_t> rounded_;  // [piece], where something becomes e4m3
};

}  // namespace troupe
