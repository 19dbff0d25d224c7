#include "config/options.hpp"

#include <algorithm>
#include <limits>

#include "config/values.hpp"

namespace troupe::config {
namespace {

using group = option_group;
constexpr std::int64_t kib = 1LL << 10U;
constexpr std::int64_t mib = 1LL << 20U;
constexpr std::int64_t gib = 1LL << 30U;
constexpr std::int64_t tib = 1LL << 40U;
constexpr std::int64_t second = 1000;
constexpr std::int64_t day = 86'400 * second;

std::vector<option> make_options() {
  return {
      {"model", group::model, &settings::model, 0, 0, 1, {}, "Model file (GGUF); empty: the default model"},
      {"served_model_name",
       group::model,
       &settings::served_model_name,
       0,
       0,
       1,
       {},
       "Name of the model in the API; empty: the file's name without quantisation and extension"},

      {"max_model_len",
       group::engine,
       &settings::max_model_len,
       0,
       1 << 24,
       1,
       {},
       "Longest context, prompt and answer together, in tokens; 0: the model's own"},
      {"max_num_seqs",
       group::engine,
       &settings::max_num_seqs,
       1,
       4096,
       1,
       {},
       "Requests that run at the same time"},
      {"max_num_batched_tokens",
       group::engine,
       &settings::max_num_batched_tokens,
       1,
       65'536,
       1,
       {},
       "Tokens of one step: prefill chunks and decodes together"},
      {"block_size", group::engine, &settings::block_size, 16, 1024, 16, {}, "Tokens of one KV cache block"},
      {"kv_cache_memory",
       group::engine,
       &settings::kv_cache_memory,
       mib,
       16 * tib,
       1,
       {},
       "Memory for the KV cache"},
      {"threads",
       group::engine,
       &settings::threads,
       0,
       1024,
       1,
       {},
       "Compute threads; 0: one per core that the process may use"},
      {"kernel_path",
       group::engine,
       &settings::kernel_path,
       0,
       0,
       1,
       {"auto", "avx512vnni", "avx2", "reference"},
       "Arithmetic to use; auto: the fastest that the CPU has"},
      {"tokenizer_workers",
       group::engine,
       &settings::tokenizer_workers,
       1,
       64,
       1,
       {},
       "Tokenizer actors that share the requests"},
      {"max_num_queued_requests",
       group::engine,
       &settings::max_num_queued_requests,
       1,
       1'000'000,
       1,
       {},
       "Requests that may wait for their turn; more are refused with status 429"},
      {"max_logprobs",
       group::engine,
       &settings::max_logprobs,
       0,
       1024,
       1,
       {},
       "Most log-probabilities per token that a request may ask for"},
      {"request_timeout",
       group::engine,
       &settings::request_timeout,
       0,
       7 * day,
       1,
       {},
       "Longest life of a request, waiting included; 0: no limit"},

      {"host", group::server, &settings::host, 0, 0, 1, {}, "Address that both gateways listen on"},
      {"port", group::server, &settings::port, 0, 65'535, 1, {}, "HTTP port; 0: any free one"},
      {"tcp_port",
       group::server,
       &settings::tcp_port,
       -1,
       65'535,
       1,
       {},
       "Port of the framed TCP protocol; 0: any free one, -1: not served"},
      {"shutdown_grace",
       group::server,
       &settings::shutdown_grace,
       0,
       day,
       1,
       {},
       "How long running requests may go on after SIGTERM or Ctrl-C"},
      {"max_connections",
       group::server,
       &settings::max_connections,
       1,
       1'000'000,
       1,
       {},
       "Open connections of each gateway"},
      {"max_header_bytes",
       group::server,
       &settings::max_header_bytes,
       kib,
       16 * mib,
       1,
       {},
       "Largest HTTP request header"},
      {"max_body_bytes",
       group::server,
       &settings::max_body_bytes,
       kib,
       gib,
       1,
       {},
       "Largest HTTP request body"},
      {"max_frame_bytes",
       group::server,
       &settings::max_frame_bytes,
       kib,
       gib,
       1,
       {},
       "Largest frame of the TCP protocol"},
      {"max_buffered_bytes",
       group::server,
       &settings::max_buffered_bytes,
       mib,
       16 * tib,
       1,
       {},
       "Bodies and frames in memory, of all connections of a gateway together"},
      {"max_stream_buffer_bytes",
       group::server,
       &settings::max_stream_buffer_bytes,
       4 * kib,
       gib,
       1,
       {},
       "Unsent output kept for a client that reads slowly; beyond it the connection ends"},
      {"header_timeout",
       group::server,
       &settings::header_timeout,
       100,
       day,
       1,
       {},
       "Time for a client to send an HTTP header or the TCP greeting"},
      {"read_timeout",
       group::server,
       &settings::read_timeout,
       100,
       day,
       1,
       {},
       "Time for a client to send an HTTP body or a TCP frame"},
      {"write_timeout",
       group::server,
       &settings::write_timeout,
       100,
       day,
       1,
       {},
       "Time for a client to take what was written to it"},
      {"idle_timeout",
       group::server,
       &settings::idle_timeout,
       100,
       day,
       1,
       {},
       "How long an unused HTTP connection stays open"},

      {"log_level",
       group::logging,
       &settings::log_level,
       0,
       0,
       1,
       {"trace", "debug", "info", "warn", "error", "off"},
       "Least serious message to log"},
      {"log_format",
       group::logging,
       &settings::log_format,
       0,
       0,
       1,
       {"auto", "text", "json"},
       "Form of the log; auto: text on a terminal, else JSON lines"},
  };
}

// Levenshtein distance; a transposition counts two.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

template <class... Cases>
struct overloaded : Cases... {
  using Cases::operator()...;
};

tl::unexpected<std::string> out_of_range(const option& which, std::string_view text) {
  return tl::unexpected("must be " + which.range() + ", got '" + shown(text) + "'");
}

bool within(const option& which, std::int64_t number) {
  return number >= which.low && number <= which.high && number % which.multiple_of == 0;
}

}  // namespace

std::string option::flag() const {
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string option::variable() const {
  std::string text = "TROUPE_" + std::string(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string option::value_name() const {
  if (!choices.empty()) return range();
  return std::visit(
      overloaded{[](std::string settings::*) { return "TEXT"; }, [](std::int32_t settings::*) { return "N"; },
                 [](std::uint64_t settings::*) { return "SIZE"; },
                 [](std::chrono::milliseconds settings::*) { return "TIME"; }},
      member);
}

std::string option::range() const {
  if (!choices.empty()) {
    std::string text;
    for (const std::string_view choice : choices) text += (text.empty() ? "" : "|") + std::string(choice);
    return text;
  }
  const auto span = [this](const auto& print) {
    return print(low) + " to " + print(high) +
           (multiple_of > 1 ? ", a multiple of " + std::to_string(multiple_of) : "");
  };
  return std::visit(
      overloaded{
          [](std::string settings::*) { return std::string(); },
          [&](std::int32_t settings::*) { return span([](std::int64_t n) { return std::to_string(n); }); },
          [&](std::uint64_t settings::*) {
            return span([](std::int64_t n) { return size_text(static_cast<std::uint64_t>(n)); });
          },
          [&](std::chrono::milliseconds settings::*) {
            return span([](std::int64_t n) { return duration_text(std::chrono::milliseconds(n)); });
          }},
      member);
}

std::span<const option> options() {
  static const std::vector<option> all = make_options();
  return all;
}

const option* find_option(std::string_view name) {
  const auto all = options();
  const auto found = std::find_if(all.begin(), all.end(), [&](const option& o) { return o.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view nearest_option(std::string_view name) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  if (name.size() > 64) return best;
  for (const option& candidate : options()) {
    const std::size_t distance = edit_distance(name, candidate.name);
    if (distance < best_distance) {
      best = candidate.name;
      best_distance = distance;
    }
  }
  return best;
}

tl::expected<void, std::string> assign(settings& target, const option& which, std::string_view text) {
  const auto checked = [&](std::optional<std::int64_t> number, const char* expected,
                           const auto& store) -> tl::expected<void, std::string> {
    if (!number) return tl::unexpected(std::string("expected ") + expected + ", got '" + shown(text) + "'");
    if (!within(which, *number)) return out_of_range(which, text);
    store(*number);
    return {};
  };
  return std::visit(
      overloaded{[&](std::string settings::*member) -> tl::expected<void, std::string> {
                   if (!which.choices.empty() &&
                       std::find(which.choices.begin(), which.choices.end(), text) == which.choices.end()) {
                     return out_of_range(which, text);
                   }
                   if (text.find('\0') != std::string_view::npos) {
                     return tl::unexpected<std::string>("must not contain a NUL character");
                   }
                   target.*member = std::string(text);
                   return {};
                 },
                 [&](std::int32_t settings::*member) {
                   return checked(parse_integer(text), "an integer",
                                  [&](std::int64_t n) { target.*member = static_cast<std::int32_t>(n); });
                 },
                 [&](std::uint64_t settings::*member) {
                   return checked(parse_size(text), "a size such as 512MiB or 1GiB",
                                  [&](std::int64_t n) { target.*member = static_cast<std::uint64_t>(n); });
                 },
                 [&](std::chrono::milliseconds settings::*member) {
                   return checked(parse_duration(text), "a time such as 15s, 500ms or 2m",
                                  [&](std::int64_t n) { target.*member = std::chrono::milliseconds(n); });
                 }},
      which.member);
}

std::string value_text(const settings& source, const option& which) {
  return std::visit(
      overloaded{[&](std::string settings::*m) { return source.*m; },
                 [&](std::int32_t settings::*m) { return std::to_string(source.*m); },
                 [&](std::uint64_t settings::*m) { return size_text(source.*m); },
                 [&](std::chrono::milliseconds settings::*m) { return duration_text(source.*m); }},
      which.member);
}

}  // namespace troupe::config
