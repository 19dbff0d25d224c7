#include <algorithm>
#include <cmath>

#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/logprob_rows.hpp"
#include "runtime/executor_cuda/kernel_checks/sampling_cases.hpp"

namespace troupe::checks {
namespace {

// Small and large vocabularies alike.
std::size_t some_vocab(std::mt19937& random, std::int32_t most) {
  return static_cast<std::size_t>(pick(random, 1, std::min(most, 40 << (2 * pick(random, 0, 6)))));
}

std::vector<sampling_case> cases_of(std::mt19937& random, std::int32_t count, std::size_t vocab,
                                    bool drafted) {
  std::vector<sampling_case> cases;
  for (std::int32_t i = 0; i < count; ++i)
    cases.push_back((drafted ? random_drafted_case : random_case)(random(), vocab));
  return cases;
}

std::vector<sampling_case> some_cases(std::mt19937& random, std::int32_t most_vocab, bool drafted) {
  const std::size_t vocab = some_vocab(random, most_vocab);
  return cases_of(random, 6, vocab, drafted);
}

void compare_tokens(const std::vector<sampling_case>& cases, comparison& compared) {
  const std::vector<token_id> found = sample_on_device(cases);
  const std::vector<token_id> expected = sample_on_host(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) compared.add(found[i], expected[i], 0);
}

void compare_kept(std::vector<sampling_case> cases, comparison& compared) {
  for (sampling_case& each : cases) each.is_draft = true;
  std::vector<kept_distribution> kept;
  sample_on_device(cases, nullptr, &kept);
  sampler_scratch scratch;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const sampling_case& of = cases[i];
    kept_distribution expected;
    expected.assign(compute_distribution(of.logits, of.row, of.end_tokens, scratch, of.mask));
    compared.add(static_cast<double>(kept[i].ids.size()), static_cast<double>(expected.ids.size()), 0);
    for (std::size_t n = 0; n < std::min(kept[i].ids.size(), expected.ids.size()); ++n) {
      compared.add(kept[i].ids[n], expected.ids[n], 0);
      compared.add(kept[i].weights[n], expected.weights[n], 0);
    }
  }
}

// The device's logarithm may differ in its last bits; ids and ranks are the same.
void compare_logprobs(std::mt19937& random, std::int32_t most_vocab, comparison& compared) {
  const std::size_t vocab = some_vocab(random, most_vocab);
  const std::int32_t max_top = pick(random, 0, static_cast<std::int32_t>(std::min<std::size_t>(vocab, 21)));
  std::vector<logprob_case> rows;
  for (std::int32_t i = 0; i < 6; ++i) {
    const sampling_case made = random_case(random(), vocab);
    rows.push_back({made.logits, made.mask, sample_on_host({made}).front(), pick(random, 0, max_top)});
  }
  const std::vector<token_logprobs> found = logprobs_on_device(rows, max_top);
  const auto add = [&](float there, float here) { compared.add(there, here, 1e-6 + 1e-6 * std::abs(here)); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const token_logprobs expected = logprobs_on_host(rows[i]);
    add(found[i].logprob, expected.logprob);
    compared.add(found[i].rank, expected.rank, 0);
    compared.add(static_cast<double>(found[i].top.size()), static_cast<double>(expected.top.size()), 0);
    for (std::size_t n = 0; n < std::min(found[i].top.size(), expected.top.size()); ++n) {
      compared.add(found[i].top[n].first, expected.top[n].first, 0);
      add(found[i].top[n].second, expected.top[n].second);
    }
  }
}

}  // namespace

void check_sampling(check_list& list) {
  const std::int32_t vocab = list.options().vocab;
  list.add("sample_tokens", [&](std::mt19937& random, comparison& compared) {
    compare_tokens(some_cases(random, vocab, false), compared);
  });
  list.add("sample_tokens, a large vocabulary", [&](std::mt19937& random, comparison& compared) {
    const auto large = static_cast<std::size_t>(list.options().large_vocab);
    compare_tokens(cases_of(random, 3, large, false), compared);
  });
  list.add("sample_tokens, drafts verified", [&](std::mt19937& random, comparison& compared) {
    compare_tokens(some_cases(random, vocab, true), compared);
  });
  list.add("sample_tokens, distributions kept", [&](std::mt19937& random, comparison& compared) {
    compare_kept(some_cases(random, vocab, false), compared);
  });
  list.add("compute_log_probabilities",
           [&](std::mt19937& random, comparison& compared) { compare_logprobs(random, vocab, compared); });
}

}  // namespace troupe::checks
