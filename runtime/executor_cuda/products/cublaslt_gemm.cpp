#include "runtime/executor_cuda/products/cublaslt_gemm.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {
namespace {

gemm_choice in_words(const cublasLtMatmulAlgo_t& algorithm, gemm_choice of) {
  static_assert(sizeof of.way == sizeof algorithm);
  std::memcpy(of.way.data(), &algorithm, sizeof algorithm);
  return of;
}

cublasLtMatmulAlgo_t algorithm_of(const gemm_choice& choice) {
  cublasLtMatmulAlgo_t algorithm{};
  std::memcpy(&algorithm, choice.way.data(), sizeof algorithm);
  return algorithm;
}

constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;  // what NVIDIA recommends for Hopper
constexpr std::size_t timed_rounds = 5;

}  // namespace

cublaslt_gemm::cublaslt_gemm(std::shared_ptr<const cublaslt_library> library, const gemm_request& request,
                             int most_proposals)
    : library_(std::move(library)),
      request_(request),
      most_proposals_(most_proposals),
      handle_(nullptr, library_->cublasLtDestroy),
      operation_(nullptr, library_->cublasLtMatmulDescDestroy),
      preference_(nullptr, library_->cublasLtMatmulPreferenceDestroy),
      workspace_(request.batch_invariant ? 0 : workspace_bytes) {
  cublasLtHandle_t handle = nullptr;
  library_->check(library_->cublasLtCreate(&handle), "cublasLtCreate");
  handle_.reset(handle);
  cublasLtMatmulDesc_t operation = nullptr;
  library_->check(library_->cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "cublasLtMatmulDescCreate");
  operation_.reset(operation);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  library_->check(library_->cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                           &transposed, sizeof transposed),
                  "cublasLtMatmulDescSetAttribute");
  cublasLtMatmulPreference_t preference = nullptr;
  library_->check(library_->cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  preference_.reset(preference);
  const std::uint64_t most_bytes = workspace_.size();
  set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most_bytes, sizeof most_bytes);
  if (!request_.batch_invariant) return;
  const std::uint32_t in_one_sequence = CUBLASLT_REDUCTION_SCHEME_NONE;
  set_preference(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &in_one_sequence, sizeof in_one_sequence);
}

void cublaslt_gemm::set_preference(cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                   std::size_t bytes) const {
  library_->check(library_->cublasLtMatmulPreferenceSetAttribute(preference_.get(), attribute, value, bytes),
                  "cublasLtMatmulPreferenceSetAttribute");
}

void cublaslt_gemm::multiply(const cuda_stream& stream, const void* input, const device_matrix& weight,
                             std::int32_t rows, gemm_output kind, void* out) {
  const cublaslt_product of(*library_, input, weight, rows, kind, out);
  run(stream, of, choose(choices_of(weight, kind, rows), of, rows));
}

cublaslt_gemm::choices& cublaslt_gemm::choices_of(const device_matrix& weight, gemm_output kind,
                                                  std::int32_t rows) {
  choices& found = choices_[{weight.outputs, weight.inputs, weight.type, kind}];
  const auto needed = static_cast<std::size_t>(std::max(rows, request_.max_rows)) + 1;
  if (found.by_rows.size() < needed) found.by_rows.resize(needed);
  return found;
}

// What is to compute all; else what was measured with at least so many rows, the least of them, where it can
// compute as few as these.
const cublasLtMatmulAlgo_t& cublaslt_gemm::choose(choices& among, const cublaslt_product& of,
                                                  std::int32_t rows) const {
  if (request_.batch_invariant)
    return among.only ? *among.only : among.only.emplace(proposals(of, 1).front().algo);
  std::optional<cublasLtMatmulAlgo_t>& chosen = among.by_rows.at(static_cast<std::size_t>(rows));
  if (chosen) return *chosen;
  const auto measured = among.measured.lower_bound(rows);
  if (measured != among.measured.end()) {
    cublasLtMatmulHeuristicResult_t checked{};
    const cublasStatus_t fits = library_->cublasLtMatmulAlgoCheck(
        handle_.get(), operation_.get(), &of.weight_layout, &of.input_layout, &of.out_layout, &of.out_layout,
        &measured->second, &checked);
    if (fits == CUBLAS_STATUS_SUCCESS && checked.workspaceSize <= workspace_.size())
      return chosen.emplace(measured->second);
  }
  return chosen.emplace(proposals(of, 1).front().algo);
}

std::vector<cublasLtMatmulHeuristicResult_t> cublaslt_gemm::proposals(const cublaslt_product& of,
                                                                      int most) const {
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  library_->check(library_->cublasLtMatmulAlgoGetHeuristic(handle_.get(), operation_.get(), &of.weight_layout,
                                                           &of.input_layout, &of.out_layout, &of.out_layout,
                                                           preference_.get(), most, found.data(), &count),
                  "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<std::size_t>(count));
  std::erase_if(found, [](const auto& each) { return each.state != CUBLAS_STATUS_SUCCESS; });
  if (found.empty()) throw std::runtime_error("cuBLASLt has no kernel for a product");
  return found;
}

void cublaslt_gemm::run(const cuda_stream& stream, const cublaslt_product& of,
                        const cublasLtMatmulAlgo_t& algorithm) const {
  library_->check(library_->cublasLtMatmul(handle_.get(), operation_.get(), &of.multiply, of.weight,
                                           &of.weight_layout, of.input, &of.input_layout, &of.add, of.out,
                                           &of.out_layout, of.out, &of.out_layout, &algorithm,
                                           workspace_.data(), workspace_.size(), stream.get()),
                  "cublasLtMatmul");
}

// Nothing where the library refuses what it has proposed, as it may, or has no room for it.
std::optional<float> cublaslt_gemm::try_to_time(const cuda_stream& stream, const cublaslt_product& of,
                                                const cublasLtMatmulAlgo_t& algorithm) try {
  return timer_->time([&] { run(stream, of, algorithm); });
} catch (const device_lost&) {
  throw;
} catch (const out_of_device_memory&) {
  return std::nullopt;
} catch (const std::runtime_error&) {
  return std::nullopt;
}

void cublaslt_gemm::prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
                            std::span<const std::int32_t> rows, gemm_output kind, void* out) {
  if (rows.empty()) return;
  choices& among = choices_of(weight, kind, rows.back());
  products all;
  for (const std::int32_t count : rows) {
    // Where one kernel is to do for all, it is tried where its tiles are full and where they are not.
    if (request_.batch_invariant && count > (all.empty() ? 1 : all.back().rows + 1))
      all.emplace_back(*library_, input, weight, count - 1, kind, out);
    all.emplace_back(*library_, input, weight, count, kind, out);
  }
  timer_.emplace(stream, timed_rounds);
  if (request_.batch_invariant) {
    const auto runs = [&](const cublaslt_product& each) {
      return try_to_time(stream, each, *among.only).has_value();
    };
    if (!among.only || !std::ranges::all_of(all, runs)) among.only = choose_only(stream, all);
  } else {
    for (const cublaslt_product& each : all) {
      const auto known = among.measured.find(each.rows);
      if (known == among.measured.end() || !try_to_time(stream, each, known->second))
        choose_fastest(stream, each, among);
    }
    // What was used for fewer rows so far was chosen without these.
    std::fill(among.by_rows.begin(), among.by_rows.begin() + rows.back() + 1, std::nullopt);
  }
  timer_.reset();
}

void cublaslt_gemm::tell_choices(std::vector<gemm_choice>& to) const {
  for (const auto& [of, known] : choices_) {
    const auto& [outputs, inputs, type, kind] = of;
    const gemm_choice choice{.outputs = outputs, .inputs = inputs, .type = type, .kind = kind};
    if (known.only) to.push_back(in_words(*known.only, choice));
    for (const auto& [rows, algorithm] : known.measured) {
      to.push_back(in_words(algorithm, choice));
      to.back().rows = rows;
    }
  }
}

void cublaslt_gemm::use_choices(std::span<const gemm_choice> given) {
  for (const gemm_choice& each : given) {
    choices& known = choices_[{each.outputs, each.inputs, each.type, each.kind}];
    if (each.rows > 0) {
      known.measured[each.rows] = algorithm_of(each);
    } else {
      known.only = algorithm_of(each);
    }
  }
}

void cublaslt_gemm::choose_fastest(const cuda_stream& stream, const cublaslt_product& of, choices& among) {
  std::optional<std::pair<float, cublasLtMatmulAlgo_t>> best;
  for (const cublasLtMatmulHeuristicResult_t& each : proposals(of, most_proposals_)) {
    const std::optional<float> took = try_to_time(stream, of, each.algo);
    if (took && (!best || *took < best->first)) best.emplace(*took, each.algo);
  }
  if (!best) throw std::runtime_error("cuBLASLt refuses every kernel that it proposes for a product");
  among.measured[of.rows] = best->second;
}

}  // namespace troupe
