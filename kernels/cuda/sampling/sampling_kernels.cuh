// The steps of sample_tokens(), in the order in which they are launched. What each does, and the bytes it
// moves: sampling.hpp.
#pragma once
#include "kernels/cuda/sampling/sampling_batch.cuh"

namespace troupe::kernels::cuda {

void process_logits(const sampling_call& call, cudaStream_t stream);
void survey_logits(const sampling_call& call, cudaStream_t stream);
void bound_top_k(const sampling_call& call, cudaStream_t stream);
void weigh_slices(const sampling_call& call, cudaStream_t stream);
void list_candidates(const sampling_call& call, const sampling_needs& needs, cudaStream_t stream);
void draw_tokens(const sampling_call& call, cudaStream_t stream);
void keep_distributions(const sampling_call& call, cudaStream_t stream);
void draw_residuals(const sampling_call& call, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
