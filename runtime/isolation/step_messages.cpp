#include "runtime/isolation/step_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace troupe {
namespace {

// The plain part of sampling_params. No bool: any bits may come back.
struct sampling_numbers {
  float temperature = 0;
  float top_p = 0;
  float min_p = 0;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  float repetition_penalty = 0;
  std::int32_t top_k = 0;
  std::int32_t min_tokens = 0;
  std::int32_t logprobs = 0;
  std::uint32_t has_logprobs = 0;
  std::uint32_t ignore_eos = 0;
  std::uint64_t seed = 0;
};

// All members by name, so that this does not compile where one is added: does the device draw by it? Then it
// is written.
void write(flat_writer& to, const sampling_params& params) {
  const auto& [max_tokens, max_tokens_field, min_tokens, temperature, top_p, top_k, min_p, presence_penalty,
               frequency_penalty, repetition_penalty, seed, is_seeded, stop, stop_token_ids,
               include_stop_str_in_output, ignore_eos, skip_special_tokens, logprobs, prompt_logprobs,
               logit_bias, num_speculative_tokens, grammar] = params;
  sampling_numbers numbers;
  numbers.temperature = temperature;
  numbers.top_p = top_p;
  numbers.min_p = min_p;
  numbers.presence_penalty = presence_penalty;
  numbers.frequency_penalty = frequency_penalty;
  numbers.repetition_penalty = repetition_penalty;
  numbers.top_k = top_k;
  numbers.min_tokens = min_tokens;
  numbers.has_logprobs = logprobs ? 1 : 0;
  numbers.logprobs = logprobs.value_or(0);
  numbers.ignore_eos = ignore_eos ? 1 : 0;
  numbers.seed = seed;
  to.value(numbers);
  to.array(stop_token_ids);
  to.value(static_cast<std::uint64_t>(logit_bias.size()));
  for (const auto& [token, bias] : logit_bias) {
    to.value(token);
    to.value(bias);
  }
}

void read(flat_reader& from, sampling_params& into) {
  const auto numbers = from.value<sampling_numbers>();
  into.temperature = numbers.temperature;
  into.top_p = numbers.top_p;
  into.min_p = numbers.min_p;
  into.presence_penalty = numbers.presence_penalty;
  into.frequency_penalty = numbers.frequency_penalty;
  into.repetition_penalty = numbers.repetition_penalty;
  into.top_k = numbers.top_k;
  into.min_tokens = numbers.min_tokens;
  into.logprobs.reset();
  if (numbers.has_logprobs != 0) into.logprobs = numbers.logprobs;
  into.ignore_eos = numbers.ignore_eos != 0;
  into.seed = numbers.seed;
  from.array(into.stop_token_ids);
  into.logit_bias.clear();
  for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
    const auto token = from.value<token_id>();
    into.logit_bias.emplace_back(token, from.value<float>());
  }
}

void write(flat_writer& to, const kept_distribution& distribution) {
  to.array(distribution.ids);
  to.array(distribution.weights);
}

void write(flat_writer& to, const token_distribution& distribution) {
  to.array(distribution.ids);
  to.array(distribution.weights);
}

void read(flat_reader& from, kept_distribution& into) {
  from.array(into.ids);
  from.array(into.weights);
}

// What sample_row has beside what it points to.
struct sample_numbers {
  std::int32_t sequence = 0;
  std::int32_t row = 0;
  std::int32_t position = 0;
  std::int32_t num_generated = 0;
  std::int32_t prompt_length = 0;
  std::uint32_t sampling = 0;  // which of the step's parameters
};

// What several samples are drawn by, as those behind a sequence's drafts, is written with the first of them:
// these stand one behind another.
void write_samples(flat_writer& to, const device_batch& batch) {
  to.value(static_cast<std::uint64_t>(batch.samples.size()));
  const sampling_params* last = nullptr;
  std::uint32_t count = 0;
  for (const sample_row& sample : batch.samples) {
    const bool is_new = sample.sampling.get() != last;
    if (is_new) ++count;
    to.value(sample_numbers{sample.sequence, sample.row, sample.position, sample.num_generated,
                            sample.prompt_length, count - 1});
    to.array(sample.history);
    if (is_new) write(to, *sample.sampling);
    last = sample.sampling.get();
  }
}

// Gives which of the parameters it is drawn by.
std::uint32_t read(flat_reader& from, sample_row& into) {
  const auto numbers = from.value<sample_numbers>();
  into.sequence = numbers.sequence;
  into.row = numbers.row;
  into.position = numbers.position;
  into.num_generated = numbers.num_generated;
  into.prompt_length = numbers.prompt_length;
  from.array(into.history);
  return numbers.sampling;
}

void read_samples(flat_reader& from, received_batch& into) {
  const auto samples = from.value<std::uint64_t>();
  if (samples > into.batch.tokens.size()) throw std::out_of_range("more samples than rows");
  into.batch.samples.resize(samples);
  std::size_t count = 0;
  for (sample_row& sample : into.batch.samples) {
    const std::uint32_t which = read(from, sample);
    if (which > count) throw std::out_of_range("a sample is drawn by nothing that came");
    if (which == count) {
      if (into.sampling.size() == count) into.sampling.push_back(std::make_shared<sampling_params>());
      read(from, *into.sampling[count++]);
    }
    sample.sampling = into.sampling[which];
  }
}

// One behind another, wherever they stand.
void write_tables(flat_writer& to, const device_batch& batch) {
  std::uint64_t total = 0;
  for (const sequence_rows& each : batch.sequences) total += static_cast<std::uint64_t>(each.table_length);
  to.value(total);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) to.elements(batch.table(i));
}

void read_tables(flat_reader& from, device_batch& into) {
  from.array(into.block_tables);
  std::size_t offset = 0;
  for (sequence_rows& each : into.sequences) {
    each.table_offset = static_cast<std::int32_t>(offset);
    const auto length = static_cast<std::size_t>(std::max(each.table_length, 0));
    if (length > into.block_tables.size() - offset) throw std::out_of_range("a block table is cut off");
    offset += length;
  }
}

void write_verified(flat_writer& to, const device_batch& batch) {
  to.value(static_cast<std::uint64_t>(batch.verified.size()));
  for (const drafted_token* draft : batch.verified) {
    to.flag(draft != nullptr);
    if (draft == nullptr) continue;
    to.value(draft->token);
    write(to, draft->distribution);
  }
}

void read_verified(flat_reader& from, received_batch& into) {
  const auto count = from.value<std::uint64_t>();
  const std::size_t most = into.batch.samples.size();
  if (count > most) throw std::out_of_range("more drafts than samples");
  into.batch.verified.assign(count, nullptr);
  into.verified.resize(std::max(into.verified.size(), most));
  into.drawn_from.resize(std::max(into.drawn_from.size(), most));
  for (std::size_t i = 0; i < count; ++i) {
    if (!from.flag()) continue;
    const auto token = from.value<token_id>();
    read(from, into.drawn_from[i]);
    into.verified[i] = {token, into.drawn_from[i].view()};
    into.batch.verified[i] = &into.verified[i];
  }
}

void write_kept(flat_writer& to, const device_batch& batch) {
  std::vector<std::uint8_t> is_kept;
  for (const kept_distribution* kept : batch.kept) is_kept.push_back(kept != nullptr ? 1 : 0);
  to.array(is_kept);
}

void read_kept(flat_reader& from, received_batch& into) {
  std::vector<std::uint8_t> is_kept;
  from.array(is_kept);
  if (is_kept.size() > into.batch.samples.size()) throw std::out_of_range("more drafts than samples");
  into.batch.kept.assign(is_kept.size(), nullptr);
  into.kept.resize(std::max(into.kept.size(), is_kept.size()));
  for (std::size_t i = 0; i < is_kept.size(); ++i)
    if (is_kept[i] != 0) into.batch.kept[i] = &into.kept[i];
}

void write(flat_writer& to, const token_logprobs& logprobs) {
  to.value(logprobs.token);
  to.value(logprobs.logprob);
  to.value(logprobs.rank);
  to.value(static_cast<std::uint64_t>(logprobs.top.size()));
  for (const auto& [token, logprob] : logprobs.top) {
    to.value(token);
    to.value(logprob);
  }
}

void read(flat_reader& from, token_logprobs& into) {
  into.token = from.value<token_id>();
  into.logprob = from.value<float>();
  into.rank = from.value<std::int32_t>();
  into.top.clear();
  for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
    const auto token = from.value<token_id>();
    into.top.emplace_back(token, from.value<float>());
  }
}

}  // namespace

void write(flat_writer& to, const device_batch& batch) {
  to.value(batch.step);
  to.array(batch.tokens);
  to.array(batch.positions);
  to.array(batch.slots);
  to.array(batch.sequences);
  write_tables(to, batch);
  to.array(batch.copies);
  to.array(batch.drafts);
  to.array(batch.prompt_logprobs);
  to.array(batch.fed);
  write_samples(to, batch);
  write_verified(to, batch);
  write_kept(to, batch);
  to.flag(batch.needs_graph);
}

void read(flat_reader& from, received_batch& into) {
  device_batch& batch = into.batch;
  batch.step = from.value<std::uint64_t>();
  from.array(batch.tokens);
  from.array(batch.positions);
  from.array(batch.slots);
  from.array(batch.sequences);
  read_tables(from, batch);
  from.array(batch.copies);
  from.array(batch.drafts);
  from.array(batch.prompt_logprobs);
  from.array(batch.fed);
  read_samples(from, into);
  read_verified(from, into);
  read_kept(from, into);
  batch.needs_graph = from.flag();
}

void write_histories(flat_writer& to, const device_batch& batch) {
  for (const sample_row& sample : batch.samples) to.array(sample.history);
}

void read_histories(flat_reader& from, device_batch& into) {
  for (sample_row& sample : into.samples) from.array(sample.history);
}

void write(flat_writer& to, const step_masks& masks) {
  to.value(masks.step);
  to.value(static_cast<std::uint64_t>(masks.num_words));
  to.array(masks.is_masked);
  for (std::size_t i = 0; i < masks.is_masked.size(); ++i)
    if (masks.is_masked[i] != 0) to.array(masks.mask_of(i));
}

void read(flat_reader& from, step_masks& into) {
  into.step = from.value<std::uint64_t>();
  into.num_words = from.value<std::uint64_t>();
  from.array(into.is_masked);
  std::vector<std::uint32_t> words;
  into.words.clear();
  for (std::size_t i = 0; i < into.is_masked.size(); ++i) {
    if (into.is_masked[i] == 0) continue;
    from.array(words);
    if (words.size() != into.num_words) throw std::out_of_range("a mask of another size");
    into.words.resize((i + 1) * into.num_words);
    std::ranges::copy(words, into.row(i).begin());
  }
}

void write(flat_writer& to, const step_result& result) {
  to.value(result.step);
  to.value(static_cast<std::uint64_t>(result.tokens.size()));
  for (const sampled_token& sampled : result.tokens) {
    to.value(sampled.id);
    to.value(sampled.token);
    to.flag(sampled.logprobs.has_value());
    if (sampled.logprobs) write(to, *sampled.logprobs);
  }
  to.value(static_cast<std::uint64_t>(result.prompt_logprobs.size()));
  for (const token_logprobs& logprobs : result.prompt_logprobs) write(to, logprobs);
}

void read(flat_reader& from, step_result& into) {
  into.step = from.value<std::uint64_t>();
  into.tokens.clear();
  into.prompt_logprobs.clear();
  for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
    sampled_token& sampled = into.tokens.emplace_back();
    sampled.id = from.value<request_id>();
    sampled.token = from.value<token_id>();
    if (from.flag()) read(from, sampled.logprobs.emplace());
  }
  for (auto left = from.value<std::uint64_t>(); left > 0; --left)
    read(from, into.prompt_logprobs.emplace_back());
}

void write(flat_writer& to, const step_result& result, const device_batch& batch) {
  write(to, result);
  for (const kept_distribution* kept : batch.kept)
    if (kept != nullptr) write(to, *kept);
}

void read(flat_reader& from, step_result& into, const device_batch& batch) {
  read(from, into);
  if (into.tokens.size() != batch.samples.size()) throw std::out_of_range("not one token a sample");
  if (into.prompt_logprobs.size() != batch.prompt_logprobs.size())
    throw std::out_of_range("not one answer a prompt row");
  for (kept_distribution* kept : batch.kept)
    if (kept != nullptr) read(from, *kept);
}

void write(flat_writer& to, const device_figures& figures) {
  to.text(figures.bus_id);
  to.value(figures.memory_total);
  to.value(figures.memory_free);
  to.value(figures.graphs);
  to.value(figures.eager_steps);
  to.value(figures.eager_decodes);
}

void read(flat_reader& from, device_figures& into) {
  into.bus_id = from.text();
  into.memory_total = from.value<std::uint64_t>();
  into.memory_free = from.value<std::uint64_t>();
  into.graphs = from.value<std::int32_t>();
  into.eager_steps = from.value<std::uint64_t>();
  into.eager_decodes = from.value<std::uint64_t>();
}

void write(flat_writer& to, const kv_layout& layout) {
  to.value(layout.block_size);
  to.value(layout.num_blocks);
  to.value(static_cast<std::uint64_t>(layout.bytes_per_block));
  to.text(layout.dtype);
}

void read(flat_reader& from, kv_layout& into) {
  into.block_size = from.value<std::int32_t>();
  into.num_blocks = from.value<std::int32_t>();
  into.bytes_per_block = from.value<std::uint64_t>();
  into.dtype = from.text();
}

void write(flat_writer& to, const error& failure) {
  to.value(static_cast<std::int32_t>(failure.code));
  to.text(failure.message);
  to.text(failure.param);
}

void read(flat_reader& from, error& into) {
  into.code = static_cast<error_code>(from.value<std::int32_t>());
  into.message = from.text();
  into.param = from.text();
}

}  // namespace troupe
