#include "main/setup/cuda_support.hpp"

#ifdef TROUPE_HAS_CUDA
#include <spdlog/spdlog.h>

#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/executor_cuda/products/cublaslt_gemm.hpp"

namespace troupe {

gemm_opener cublaslt_opener(int most_proposals) {
  return [most_proposals](const gemm_request& request) -> result<std::unique_ptr<gemm>> {
    auto library = cublaslt_library::open();
    if (!library) return tl::unexpected(library.error());
    return std::make_unique<cublaslt_gemm>(std::move(*library), request, most_proposals);
  };
}

cuda_executor_options cuda_options_of(const cpu_executor_options& options, const cuda_choice& choice) {
  cuda_executor_options wanted;
  wanted.limits = options.limits;
  wanted.memory_utilization = choice.memory_utilization;
  wanted.device_id = choice.device_id;
  wanted.dtype = options.dtype;
  wanted.weights = choice.weights;
  wanted.batch_invariant = choice.batch_invariant;
  wanted.few_rows = few_row_products::measured;
  wanted.kv_cache_dtype = options.kv_cache_dtype;
  wanted.end_tokens = options.end_tokens;
  wanted.graph_rows = choice.graph_rows;
  wanted.open_gemm = cublaslt_opener(cublaslt_gemm::usual_proposals);
  wanted.warn = [](const std::string& text) { spdlog::warn("CUDA: {}", text); };
  return wanted;
}

cuda_support find_cuda_support() {
  return {.find = [](std::int32_t id) -> result<std::string> {
            const auto device = find_cuda_device(id);
            if (!device) return tl::unexpected(device.error());
            if (const auto products = cublaslt_library::look_for(); !products)
              return tl::unexpected(products.error());
            return describe(*device);
          },
          .open =
              [](const model_ptr& model, const cpu_executor_options& options, const cuda_choice& choice) {
                return load_cuda_executor(model, cuda_options_of(options, choice));
              }};
}

}  // namespace troupe
#else

namespace troupe {

cuda_support find_cuda_support() { return {}; }

}  // namespace troupe
#endif
