#include "runtime/model/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "runtime/gguf/printable.hpp"

namespace troupe {
namespace {

struct rope_settings {
  double base = 10'000.0;
  double factor = 1.0;  // how much longer the context is than the one trained on
  bool yarn = false;
  double original_context = 0.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  double extrapolation = 1.0;  // below 0: not set
  double attention_factor = 1.0;
};

// Reads "<architecture>.rope.<name>" into `out` where the file has it.
result<void> read_number(const gguf::file& file, const std::string& architecture, std::string_view name,
                         double lowest, double highest, double& out) {
  const std::string key = architecture + ".rope." + std::string(name);
  const auto number = file.get_float_or(key, out);
  if (!number) return tl::unexpected(number.error());
  if (!(*number >= lowest && *number <= highest)) {
    return fail(error_code::corrupt_file, fmt::format("metadata '{}': {} is out of range", key, *number),
                key);
  }
  out = *number;
  return {};
}

result<void> read_scaling_type(const gguf::file& file, const std::string& architecture,
                               rope_settings& settings) {
  const std::string key = architecture + ".rope.scaling.type";
  if (file.find(key) == nullptr) return {};
  const auto type = file.get_string(key);
  if (!type) return tl::unexpected(type.error());
  if (*type == "none") {
    settings.factor = 1.0;
  } else if (*type == "yarn") {
    settings.yarn = true;
  } else if (*type != "linear") {
    return fail(error_code::unsupported,
                fmt::format("metadata '{}': '{}' is not served", key, gguf::printable(*type)), key);
  }
  return {};
}

result<rope_settings> read_settings(const gguf::file& file, const model_config& config) {
  rope_settings out;
  out.original_context = config.context_length;
  struct number {
    const char* name;
    double lowest;
    double highest;
    double& out;
  };
  double factor = 0.0;  // 0: the file says nothing
  double old_factor = 0.0;
  for (const auto& [name, lowest, highest, target] :
       {number{"freq_base", 1.0, 1e15, out.base}, number{"scaling.factor", 0.0, 1e6, factor},
        number{"scale_linear", 0.0, 1e6, old_factor},
        number{"scaling.original_context_length", 1.0, 1e9, out.original_context},
        number{"scaling.yarn_beta_fast", 1e-6, 1e6, out.beta_fast},
        number{"scaling.yarn_beta_slow", 1e-6, 1e6, out.beta_slow},
        number{"scaling.yarn_ext_factor", -1.0, 1.0, out.extrapolation},
        number{"scaling.attn_factor", 1e-6, 1e6, out.attention_factor}}) {
    if (auto read = read_number(file, config.architecture, name, lowest, highest, target); !read) {
      return tl::unexpected(std::move(read.error()));
    }
  }
  if (out.extrapolation < 0.0) out.extrapolation = 1.0;
  out.factor = factor > 0.0 ? factor : old_factor > 0.0 ? old_factor : 1.0;
  if (out.factor < 1e-6) {
    const std::string key = config.architecture + ".rope.scaling.factor";
    return fail(error_code::corrupt_file, fmt::format("metadata '{}': {} is out of range", key, out.factor),
                key);
  }
  if (auto type = read_scaling_type(file, config.architecture, out); !type)
    return tl::unexpected(type.error());
  return out;
}

// Divisors of the frequencies that llama3 files carry; all ones where there are none.
result<std::vector<float>> read_factors(const gguf::file& file, std::size_t pairs) {
  constexpr std::string_view name = "rope_freqs.weight";
  std::vector<float> out(pairs, 1.0F);
  const gguf::tensor* factors = file.find_tensor(name);
  if (factors == nullptr) return out;
  const std::string field = "tensor '" + std::string(name) + "'";
  if (factors->dimensions != 1 || factors->elements() != pairs) {
    return fail(error_code::corrupt_file, fmt::format("{}: not of {} elements", field, pairs), field);
  }
  if (factors->type != gguf::tensor_type::f32)
    return fail(error_code::unsupported, field + ": not F32", field);
  gguf::dequantize(factors->type, factors->data.data(), pairs, out.data());
  for (const float factor : out) {
    if (!(factor >= 1e-6F && factor <= 1e6F)) {
      return fail(error_code::corrupt_file, fmt::format("{}: {} is out of range", field, factor), field);
    }
  }
  return out;
}

// The pair whose wave turns `rotations` times within the context trained on (arXiv 2309.00071, section 3.2).
double correction_pair(const rope_settings& settings, double dimensions, double rotations) {
  return dimensions * std::log(settings.original_context / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(settings.base));
}

// How much of each pair's own (extrapolated) frequency yarn keeps: 1 for fast waves, 0 for slow ones.
std::vector<double> yarn_ramp(const rope_settings& settings, std::size_t pairs) {
  const auto dimensions = static_cast<double>(2 * pairs);
  const double low = std::max(0.0, std::floor(correction_pair(settings, dimensions, settings.beta_fast)));
  const double high =
      std::min(dimensions - 1.0, std::ceil(correction_pair(settings, dimensions, settings.beta_slow)));
  std::vector<double> out(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double along = (static_cast<double>(i) - low) / std::max(0.001, high - low);
    out[i] = (1.0 - std::clamp(along, 0.0, 1.0)) * settings.extrapolation;
  }
  return out;
}

}  // namespace

result<rope_frequencies> read_rope_frequencies(const gguf::file& file, const model_config& config) {
  const auto settings = read_settings(file, config);
  if (!settings) return tl::unexpected(settings.error());
  const auto pairs = static_cast<std::size_t>(config.rope_dim / 2);
  const auto factors = read_factors(file, pairs);
  if (!factors) return tl::unexpected(factors.error());

  const bool yarn = settings->yarn && settings->extrapolation > 0.0;
  const auto kept = yarn ? yarn_ramp(*settings, pairs) : std::vector<double>(pairs, 0.0);
  rope_frequencies out;
  out.inverse.resize(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / config.rope_dim;
    const double own = std::pow(settings->base, exponent) / static_cast<double>((*factors)[i]);
    out.inverse[i] = static_cast<float>(own / settings->factor * (1.0 - kept[i]) + own * kept[i]);
  }
  const double magnitude = yarn ? 1.0 + 0.1 * std::log(settings->factor) : 1.0;
  out.attention_scale = static_cast<float>(magnitude * settings->attention_factor);
  return out;
}

}  // namespace troupe
