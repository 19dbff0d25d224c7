#include "metrics/engine_metrics.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "metrics/exposition.hpp"

namespace troupe::metrics {
namespace {

// The text format, read back: types and help by family, values by "name{labels}".
struct parsed_text {
  std::map<std::string, std::string> types;
  std::map<std::string, std::string> help;
  std::map<std::string, double> samples;

  double at(const std::string& sample) const {
    const auto found = samples.find(sample);
    return found == samples.end() ? std::nan("") : found->second;
  }
};

parsed_text parse(const std::string& text) {
  parsed_text out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, kind, name, rest;
    if (line.starts_with("# ")) {
      words >> mark >> kind >> name;
      std::getline(words >> std::ws, rest);
      (kind == "TYPE" ? out.types : out.help)[name] = rest;
    } else {
      const std::size_t space = line.rfind(' ');
      EXPECT_TRUE(out.samples.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
          << line;
    }
  }
  return out;
}

// "name{engine="0",model_name="m",more}": prometheus-cpp sorts the constant labels and appends the others.
std::string sample(const std::string& name, const std::string& more = "") {
  return name + "{engine=\"0\",model_name=\"m\"" + (more.empty() ? "" : "," + more) + "}";
}

const metrics_options options{.model_name = "m", .engine = "0", .num_speculative_tokens = 3};

parsed_text read(const engine_metrics& metrics) { return parse(metrics.text()); }

TEST(EngineMetrics, HaveVllmsNamesAndTypes) {
  engine_metrics metrics(options);
  metrics.actor("scheduler").message("submit");
  const std::map<std::string, std::string> expected{
      {"vllm:num_requests_running", "gauge"},
      {"vllm:num_requests_waiting", "gauge"},
      {"vllm:num_requests_waiting_by_reason", "gauge"},
      {"vllm:kv_cache_usage_perc", "gauge"},
      {"vllm:cache_config_info", "gauge"},
      {"vllm:prefix_cache_queries_total", "counter"},
      {"vllm:prefix_cache_hits_total", "counter"},
      {"vllm:num_preemptions_total", "counter"},
      {"vllm:prompt_tokens_total", "counter"},
      {"vllm:prompt_tokens_cached_total", "counter"},
      {"vllm:generation_tokens_total", "counter"},
      {"vllm:request_success_total", "counter"},
      {"troupe_request_errors_total", "counter"},
      {"vllm:iteration_tokens_total", "histogram"},
      {"vllm:time_to_first_token_seconds", "histogram"},
      {"vllm:inter_token_latency_seconds", "histogram"},
      {"vllm:request_time_per_output_token_seconds", "histogram"},
      {"vllm:e2e_request_latency_seconds", "histogram"},
      {"vllm:request_queue_time_seconds", "histogram"},
      {"vllm:request_inference_time_seconds", "histogram"},
      {"vllm:request_prefill_time_seconds", "histogram"},
      {"vllm:request_decode_time_seconds", "histogram"},
      {"vllm:request_prompt_tokens", "histogram"},
      {"vllm:request_generation_tokens", "histogram"},
      {"vllm:request_max_num_generation_tokens", "histogram"},
      {"vllm:request_params_max_tokens", "histogram"},
      {"vllm:request_params_n", "histogram"},
      {"troupe_last_step_age_seconds", "gauge"},
      {"troupe_live", "gauge"},
      {"troupe_ready", "gauge"},
      {"troupe_degraded", "gauge"},
      {"troupe_last_reload_refused", "gauge"},
      {"troupe_actor_mailbox_size", "gauge"},
      {"troupe_actor_restarts_total", "counter"},
      {"troupe_actor_message_seconds", "histogram"},
      {"troupe_step_seconds", "histogram"},
      {"troupe_bucket_executions_total", "counter"},
      {"troupe_bucket_padding_tokens_total", "counter"},
      {"troupe_bucket_fallbacks_total", "counter"},
      {"troupe_grammar_compile_seconds", "histogram"},
      {"troupe_grammar_mask_seconds", "histogram"},
      {"troupe_grammar_cache_queries_total", "counter"},
      {"troupe_grammar_cache_hits_total", "counter"},
      {"troupe_grammar_cache_bytes", "gauge"},
      {"troupe_grammars_refused_total", "counter"},
      {"troupe_grammar_masks_refused_total", "counter"},
      {"troupe_grammar_forced_tokens_total", "counter"},
      {"troupe_grammar_refused_draft_tokens_total", "counter"},
      {"troupe_grammar_withheld_rows_total", "counter"},
      {"vllm:spec_decode_num_drafts_total", "counter"},
      {"vllm:spec_decode_num_draft_tokens_total", "counter"},
      {"vllm:spec_decode_num_accepted_tokens_total", "counter"},
      {"vllm:spec_decode_num_accepted_tokens_per_pos_total", "counter"},
      {"troupe_draft_tokens_per_pos_total", "counter"},
      {"troupe_rejection_sampled_draft_tokens_total", "counter"},
      {"troupe_rejection_sampled_accepted_tokens_total", "counter"},
      {"troupe_drafter_bytes", "gauge"},
      {"troupe_drafter_forgotten_requests_total", "counter"},
      {"troupe_trace_spans_exported_total", "counter"},
      {"troupe_trace_spans_dropped_total", "counter"},
      {"troupe_warmup_progress", "gauge"},
      {"troupe_actors", "gauge"},
      {"process_cpu_seconds_total", "counter"},
      {"process_resident_memory_bytes", "gauge"},
      {"troupe_runner_cpu_seconds_total", "counter"},
      {"troupe_runner_resident_memory_bytes", "gauge"},
      {"troupe_gpu_memory_used_bytes", "gauge"},
      {"troupe_gpu_memory_free_bytes", "gauge"},
      {"troupe_gpu_memory_total_bytes", "gauge"},
      {"troupe_gpu_graphs", "gauge"},
      {"troupe_gpu_eager_steps_total", "counter"},
      {"troupe_gpu_eager_decode_steps_total", "counter"},
      {"troupe_gpu_power_watts", "gauge"},
      {"troupe_gpu_temperature_celsius", "gauge"},
      {"process_virtual_memory_bytes", "gauge"},
      {"process_open_fds", "gauge"},
      {"process_max_fds", "gauge"},
      {"process_start_time_seconds", "gauge"},
      {"troupe_info", "gauge"}};
  EXPECT_EQ(read(metrics).types, expected);
}

TEST(EngineMetrics, EveryFamilyHasHelpFromTheCatalogue) {
  engine_metrics metrics(options);
  metrics.actor("scheduler").message("submit");
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.help.size(), catalogue().size());
  for (const metric_description& what : catalogue()) {
    EXPECT_EQ(text.help.at(std::string(what.name)), what.help);
  }
}

TEST(EngineMetrics, EverySampleNamesModelAndEngine) {
  engine_metrics metrics({.model_name = "a \"b\" \\ c", .engine = "0"});
  metrics.set_info({.version = "1", .cpu = "X", .kernel_path = "avx2", .threads = 1});
  for (const auto& [name, value] : read(metrics).samples) {
    if (name.starts_with("process_")) continue;
    EXPECT_NE(name.find("engine=\"0\""), std::string::npos) << name;
    EXPECT_NE(name.find(R"(model_name="a \"b\" \\ c")"), std::string::npos) << name;
  }
}

TEST(EngineMetrics, CountBucketsByName) {
  engine_metrics metrics(options);
  metrics.count_bucket_execution("(4, 1, 512)");
  metrics.count_bucket_execution("(4, 1, 512)");
  metrics.count_bucket_execution("(1, 128, 0)");
  metrics.add_bucket_padding(7);
  metrics.add_bucket_fallbacks(2);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("bucket=\"(4, 1, 512)\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("bucket=\"(1, 128, 0)\"} 1\n"), std::string::npos) << text;
  EXPECT_EQ(read(metrics).at(sample("troupe_bucket_padding_tokens_total")), 7);
  EXPECT_EQ(read(metrics).at(sample("troupe_bucket_fallbacks_total")), 2);
}

TEST(EngineMetrics, BucketsAreThereAtZeroBeforeAnyStepRanInThem) {
  engine_metrics metrics(options);
  metrics.add_buckets({"(1, 128, 0)", "(4, 1, 512)"});
  metrics.count_bucket_execution("(4, 1, 512)");
  const std::string text = metrics.text();
  EXPECT_NE(text.find("bucket=\"(1, 128, 0)\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("bucket=\"(4, 1, 512)\"} 1\n"), std::string::npos) << text;
}

TEST(EngineMetrics, WithoutBucketsTheirExecutionsAreOneZero) {
  engine_metrics metrics(options);
  EXPECT_EQ(read(metrics).at(sample("troupe_bucket_executions_total")), 0);
  metrics.count_bucket_execution("(1, 1, 16)");
  const parsed_text text = read(metrics);
  EXPECT_FALSE(text.samples.contains(sample("troupe_bucket_executions_total")));
  EXPECT_EQ(text.at(sample("troupe_bucket_executions_total", "bucket=\"(1, 1, 16)\"")), 1);
}

TEST(EngineMetrics, ThousandsOfBucketsAreWrittenAsFewAre) {
  engine_metrics metrics({.model_name = "a \"b\"\n\\", .engine = "0"});
  for (int i = 0; i < 5000; ++i)
    for (int times = 0; times < i % 3; ++times) metrics.count_bucket_execution(std::to_string(i));
  metrics.add_buckets({"0", "a \"bucket\"\n\\"});
  const exposition text(metrics.text());
  for (int i = 1; i < 5000; ++i) {
    const auto count = text.sum("troupe_bucket_executions_total", {{"bucket", std::to_string(i)}});
    EXPECT_EQ(count.value_or(0), i % 3) << i;
  }
  const std::map<std::string, std::string> labels{
      {"bucket", "a \"bucket\"\n\\"}, {"engine", "0"}, {"model_name", "a \"b\"\n\\"}};
  ASSERT_TRUE(text.sum("troupe_bucket_executions_total", labels));
  EXPECT_EQ(text.all("troupe_bucket_executions_total").size(), 5000U * 2 / 3 + 2);
}

TEST(EngineMetrics, ActorsOfOneKindAddUpAndAreThereAtZero) {
  engine_metrics metrics(options);
  const std::string tokenizer = "actor=\"tokenizer\"";
  const std::string submit = "actor=\"tokenizer\",message=\"submit\"";
  actor_meter& meter = metrics.actor("tokenizer");
  histogram& durations = meter.message("submit");
  const parsed_text before = read(metrics);
  EXPECT_EQ(before.at(sample("troupe_actor_mailbox_size", tokenizer)), 0);
  EXPECT_EQ(before.at(sample("troupe_actor_restarts_total", tokenizer)), 0);
  EXPECT_EQ(before.at(sample("troupe_actor_message_seconds_count", submit)), 0);
  EXPECT_EQ(&metrics.actor("tokenizer"), &meter);
  EXPECT_EQ(&meter.message("submit"), &durations);
  actor_meter::mailbox first(meter);
  {
    actor_meter::mailbox second(metrics.actor("tokenizer"));
    first.set(3);
    second.set(5);
    second.set(4);
    EXPECT_EQ(read(metrics).at(sample("troupe_actor_mailbox_size", tokenizer)), 7);
  }
  meter.add_restart();
  durations.observe(0.5);
  metrics.actor("scheduler");
  const parsed_text after = read(metrics);
  EXPECT_EQ(after.at(sample("troupe_actor_mailbox_size", tokenizer)), 3) << "an actor's share ends with it";
  EXPECT_EQ(after.at(sample("troupe_actor_restarts_total", tokenizer)), 1);
  EXPECT_EQ(after.at(sample("troupe_actor_restarts_total", "actor=\"scheduler\"")), 0);
  EXPECT_EQ(after.at(sample("troupe_actor_message_seconds_sum", submit)), 0.5);
  EXPECT_EQ(after.at(sample("troupe_actor_message_seconds_bucket", submit + ",le=\"0.1\"")), 0);
  EXPECT_EQ(after.at(sample("troupe_actor_message_seconds_bucket", submit + ",le=\"1\"")), 1);
}

TEST(EngineMetrics, TheLastStepAgesOnlyWhileSomebodyCouldRun) {
  using namespace std::chrono_literals;
  engine_metrics metrics(options);
  const auto age = [&metrics] { return read(metrics).at(sample("troupe_last_step_age_seconds")); };
  EXPECT_EQ(age(), 0);
  metrics.set_requests(0, 1, 1);
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(age(), 0) << "who waits for its grammar could not run";
  const auto began = std::chrono::steady_clock::now();
  metrics.set_requests(0, 2, 1);
  std::this_thread::sleep_for(20ms);
  const double stuck = age();
  EXPECT_GE(stuck, 0.02);
  EXPECT_LE(stuck, in_seconds(std::chrono::steady_clock::now() - began)) << "it began with the request";
  const auto stepped = std::chrono::steady_clock::now();
  metrics.step_ended();
  metrics.set_requests(1, 0);
  const double young = age();
  EXPECT_LE(young, in_seconds(std::chrono::steady_clock::now() - stepped));
  metrics.set_requests(0, 0);
  EXPECT_EQ(age(), 0);
}

TEST(EngineMetrics, HealthIsWhatTheRoutesSay) {
  engine_metrics metrics(options);
  metrics.set_health(true, false);
  EXPECT_EQ(read(metrics).at(sample("troupe_live")), 1);
  EXPECT_EQ(read(metrics).at(sample("troupe_ready")), 0);
  EXPECT_EQ(read(metrics).at(sample("troupe_degraded")), 0);
  metrics.set_degraded();
  EXPECT_EQ(read(metrics).at(sample("troupe_degraded")), 1);
}

TEST(EngineMetrics, TellWhetherTheLastReloadWasTaken) {
  engine_metrics metrics(options);
  const std::string last = sample("troupe_last_reload_refused");
  EXPECT_EQ(read(metrics).at(last), 0) << "none was refused";
  metrics.set_last_reload(false);
  EXPECT_EQ(read(metrics).at(last), 1);
  metrics.set_last_reload(true);
  EXPECT_EQ(read(metrics).at(last), 0);
}

TEST(EngineMetrics, FamiliesByPlaceAreThereWithoutDrafts) {
  const engine_metrics metrics({.model_name = "m"});
  const parsed_text text = read(metrics);
  for (const char* family :
       {"vllm:spec_decode_num_accepted_tokens_per_pos_total", "troupe_draft_tokens_per_pos_total"})
    EXPECT_EQ(text.at(sample(family, "position=\"0\"")), 0) << family;
}

TEST(EngineMetrics, ErrorsAreCountedByTheirStatus) {
  engine_metrics metrics(options);
  for (const int status : {400, 400, 503, 500, 418, 505}) metrics.add_request_error(status);
  const parsed_text text = read(metrics);
  const std::map<std::string, double> expected{{"400", 4}, {"401", 0}, {"404", 0}, {"413", 0},
                                               {"429", 0}, {"500", 1}, {"503", 1}};
  for (const auto& [status, count] : expected)
    EXPECT_EQ(text.at(sample("troupe_request_errors_total", "code=\"" + status + "\"")), count) << status;
}

TEST(EngineMetrics, SpansAreCountedByWhatBecameOfThem) {
  engine_metrics metrics(options);
  metrics.add_exported_spans(5);
  metrics.add_dropped_spans(span_loss::queue_full, 1);
  metrics.add_dropped_spans(span_loss::unreachable, 3);
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("troupe_trace_spans_exported_total")), 5);
  const std::map<std::string, double> expected{{"queue_full", 1}, {"rejected", 0}, {"unreachable", 3}};
  for (const auto& [reason, count] : expected)
    EXPECT_EQ(text.at(sample("troupe_trace_spans_dropped_total", "reason=\"" + reason + "\"")), count)
        << reason;
}

TEST(EngineMetrics, ARequestWithSeveralAnswersIsOne) {
  engine_metrics metrics(options);
  metrics.observe_choices({.count = 3, .most_generation_tokens = 40});
  metrics.observe_choices({});
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:request_params_n_sum")), 4);
  EXPECT_EQ(text.at(sample("vllm:request_params_n_count")), 2);
  EXPECT_EQ(text.at(sample("vllm:request_max_num_generation_tokens_sum")), 40);
}

TEST(EngineMetrics, TellWhatTheRunnersProcessesUseOneAfterTheOther) {
  engine_metrics metrics(options);
  const std::string memory = sample("troupe_runner_resident_memory_bytes");
  const std::string time = sample("troupe_runner_cpu_seconds_total");
  EXPECT_EQ(read(metrics).at(memory), 0);
  metrics.set_runner_process({::getpid()});
  while (std::clock() < CLOCKS_PER_SEC / 20) {
  }
  const parsed_text first = read(metrics);
  EXPECT_GT(first.at(memory), 1 << 20);
  EXPECT_GT(first.at(time), 0);
  metrics.set_runner_process({});
  const parsed_text between = read(metrics);
  EXPECT_EQ(between.at(memory), 0);
  EXPECT_EQ(between.at(time), first.at(time));
  // What the first has used since it was looked at last, until its end, is not lost.
  metrics.set_runner_process({::getpid(), first.at(time) + 1000});
  EXPECT_GE(read(metrics).at(time), first.at(time) + 1000);
  metrics.set_runner_process({1});
  EXPECT_GE(read(metrics).at(time), first.at(time) + 1000);
}

TEST(EngineMetrics, EndBucketsThatCountTokensAtTheModelsLength) {
  engine_metrics metrics(options);
  const auto has_bucket = [&](const std::string& name, const std::string& bound) {
    return read(metrics).samples.contains(sample(name + "_bucket", "le=\"" + bound + "\""));
  };
  metrics.observe_choices({1, 1500});
  for (const std::string name : {"vllm:request_prompt_tokens", "vllm:request_max_num_generation_tokens"}) {
    metrics.set_max_model_len(100'000);
    EXPECT_TRUE(has_bucket(name, "5000")) << name;
    metrics.set_max_model_len(2048);
    EXPECT_TRUE(has_bucket(name, "2000")) << name;
    EXPECT_FALSE(has_bucket(name, "5000")) << name;
    EXPECT_TRUE(has_bucket(name, "+Inf")) << name;
  }
  EXPECT_TRUE(has_bucket("vllm:iteration_tokens_total", "16384")) << "of steps, not of contexts";
  metrics.set_max_model_len(1000);
  EXPECT_EQ(read(metrics).at(sample("vllm:request_max_num_generation_tokens_bucket", "le=\"1000\"")), 0);
  EXPECT_EQ(read(metrics).at(sample("vllm:request_max_num_generation_tokens_count")), 1);
}

TEST(EngineMetrics, TellWhatTheProcessUses) {
  const engine_metrics metrics(options);
  const parsed_text before = read(metrics);
  EXPECT_GT(before.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(before.at("process_virtual_memory_bytes"), before.at("process_resident_memory_bytes"));
  EXPECT_GT(before.at("process_max_fds"), before.at("process_open_fds"));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = std::chrono::duration<double>(now).count();
  EXPECT_NEAR(before.at("process_start_time_seconds"), seconds, 24 * 3600.0);
  {
    const std::ifstream a("/dev/null");
    const std::ifstream b("/dev/null");
    EXPECT_EQ(read(metrics).at("process_open_fds"), before.at("process_open_fds") + 2);
  }
  EXPECT_EQ(read(metrics).at("process_open_fds"), before.at("process_open_fds"));
  std::clock_t used = std::clock();
  while (std::clock() - used < CLOCKS_PER_SEC / 20) {
  }
  const double cpu = read(metrics).at("process_cpu_seconds_total");
  EXPECT_GT(cpu, before.at("process_cpu_seconds_total"));
  EXPECT_NEAR(cpu, static_cast<double>(std::clock()) / CLOCKS_PER_SEC, 0.1);
}

TEST(EngineMetrics, TellOfAMillisecondOfTheProcessesTime) {
  engine_metrics metrics(options);
  metrics.set_runner_process({::getpid(), 0});
  for (int i = 0; i < 20; ++i) {
    const auto before = read(metrics);
    const std::clock_t begin = std::clock();
    while (std::clock() - begin < CLOCKS_PER_SEC / 1000) {
    }
    const auto after = read(metrics);
    for (const std::string& name :
         {std::string("process_cpu_seconds_total"), sample("troupe_runner_cpu_seconds_total")})
      EXPECT_GE(after.at(name) - before.at(name), 0.0009) << name;
  }
}

TEST(EngineMetrics, AreAllThereFromTheStart) {
  const parsed_text text = read(engine_metrics(options));
  EXPECT_EQ(text.at(sample("vllm:num_requests_running")), 0);
  EXPECT_EQ(text.at(sample("vllm:prompt_tokens_total")), 0);
  for (const char* reason : {"stop", "length", "abort", "timeout", "error"}) {
    EXPECT_EQ(
        text.at(sample("vllm:request_success_total", "finished_reason=\"" + std::string(reason) + "\"")), 0);
  }
  for (const char* phase : {"plan", "reserve", "execute", "commit"}) {
    EXPECT_EQ(text.at(sample("troupe_step_seconds_count", "phase=\"" + std::string(phase) + "\"")), 0);
  }
}

TEST(EngineMetrics, GaugesShowTheLastValue) {
  engine_metrics metrics(options);
  metrics.set_requests(3, 5);
  metrics.set_requests(2, 0);
  metrics.set_kv_cache_usage(0.25);
  metrics.set_warmup_progress(0.5);
  metrics.set_actors(9);
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:num_requests_running")), 2);
  EXPECT_EQ(text.at(sample("vllm:num_requests_waiting")), 0);
  EXPECT_EQ(text.at(sample("vllm:kv_cache_usage_perc")), 0.25);
  EXPECT_EQ(text.at(sample("troupe_warmup_progress")), 0.5);
  EXPECT_EQ(text.at(sample("troupe_actors")), 9);
}

TEST(EngineMetrics, GrammarsAreCountedAndWhoWaitsForOneIsDeferred) {
  engine_metrics metrics(options);
  metrics.set_requests(1, 5, 2);
  metrics.observe_grammar_compile(0.5);
  metrics.observe_grammar_mask(1e-5);
  metrics.observe_grammar_mask(1e-4);
  metrics.add_grammar_cache(3, 1);
  metrics.set_grammar_cache_bytes(4096);
  metrics.add_grammars_refused(2);
  metrics.add_grammar_masks_refused(3);
  metrics.add_grammar_forced_tokens(7);
  metrics.add_grammar_refused_draft_tokens(5);
  metrics.add_grammar_withheld_rows(4);
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:num_requests_waiting_by_reason", "reason=\"capacity\"")), 3);
  EXPECT_EQ(text.at(sample("vllm:num_requests_waiting_by_reason", "reason=\"deferred\"")), 2);
  EXPECT_EQ(text.at(sample("troupe_grammar_compile_seconds_count")), 1);
  EXPECT_EQ(text.at(sample("troupe_grammar_mask_seconds_count")), 2);
  EXPECT_EQ(text.at(sample("troupe_grammar_cache_queries_total")), 3);
  EXPECT_EQ(text.at(sample("troupe_grammar_cache_hits_total")), 1);
  EXPECT_EQ(text.at(sample("troupe_grammar_cache_bytes")), 4096);
  EXPECT_EQ(text.at(sample("troupe_grammars_refused_total")), 2);
  EXPECT_EQ(text.at(sample("troupe_grammar_masks_refused_total")), 3);
  EXPECT_EQ(text.at(sample("troupe_grammar_forced_tokens_total")), 7);
  EXPECT_EQ(text.at(sample("troupe_grammar_refused_draft_tokens_total")), 5);
  EXPECT_EQ(text.at(sample("troupe_grammar_withheld_rows_total")), 4);
}

TEST(EngineMetrics, DraftsAreCountedByTheirPlaces) {
  engine_metrics metrics(options);
  const auto at = [&metrics](const char* name, const char* position) {
    return read(metrics).at(sample(name, std::string("position=\"") + position + "\""));
  };
  const auto accepted_at = [&at](const char* position) {
    return at("vllm:spec_decode_num_accepted_tokens_per_pos_total", position);
  };
  const auto verified_at = [&at](const char* position) {
    return at("troupe_draft_tokens_per_pos_total", position);
  };
  EXPECT_EQ(accepted_at("2"), 0) << "there from the start";
  metrics.add_drafts(2, 6, 3);
  metrics.add_rejection_sampled(4, 2);
  metrics.set_drafter_memory(5000, 1);
  metrics.set_drafter_memory(4000, 2);
  metrics.add_draft_tokens(0, 2, 2);
  metrics.add_draft_tokens(1, 2, 1);
  metrics.add_draft_tokens(3, 2, 1);  // beyond what the settings allow
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:spec_decode_num_drafts_total")), 2);
  EXPECT_EQ(text.at(sample("vllm:spec_decode_num_draft_tokens_total")), 6);
  EXPECT_EQ(text.at(sample("vllm:spec_decode_num_accepted_tokens_total")), 3);
  EXPECT_EQ(text.at(sample("troupe_rejection_sampled_draft_tokens_total")), 4);
  EXPECT_EQ(text.at(sample("troupe_rejection_sampled_accepted_tokens_total")), 2);
  EXPECT_EQ(text.at(sample("troupe_drafter_bytes")), 4000);
  EXPECT_EQ(text.at(sample("troupe_drafter_forgotten_requests_total")), 3);
  EXPECT_EQ(accepted_at("0"), 2);
  EXPECT_EQ(accepted_at("1"), 1);
  EXPECT_EQ(verified_at("1"), 2);
  EXPECT_EQ(verified_at("2"), 0);
}

TEST(EngineMetrics, CountersAddUp) {
  engine_metrics metrics(options);
  metrics.add_prompt_tokens(10);
  metrics.add_prompt_tokens(0);
  metrics.add_prompt_tokens(7);
  metrics.add_generation_tokens(3);
  metrics.add_preemptions(1);
  metrics.add_prefix_cache(20, 0);
  metrics.add_prefix_cache(12, 8);
  metrics.add_prompt_tokens_cached(9);
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:prompt_tokens_total")), 17);
  EXPECT_EQ(text.at(sample("vllm:generation_tokens_total")), 3);
  EXPECT_EQ(text.at(sample("vllm:num_preemptions_total")), 1);
  EXPECT_EQ(text.at(sample("vllm:prefix_cache_queries_total")), 32);
  EXPECT_EQ(text.at(sample("vllm:prefix_cache_hits_total")), 8);
  EXPECT_EQ(text.at(sample("vllm:prompt_tokens_cached_total")), 9);
}

TEST(EngineMetrics, InformationIsOneSampleOfOneThatALaterCallReplaces) {
  engine_metrics metrics(options);
  metrics.set_cache_config({.block_size = 16, .num_blocks = 1, .dtype = "bf16"});
  metrics.set_cache_config({.block_size = 32, .num_blocks = 9, .dtype = "bf16"});
  metrics.set_info({.version = "0.1.0", .cpu = "A CPU", .kernel_path = "avx2", .threads = 2});
  const parsed_text text = read(metrics);
  std::vector<std::string> found;
  for (const auto& [name, value] : text.samples) {
    if (name.starts_with("vllm:cache_config_info") || name.starts_with("troupe_info")) {
      found.push_back(name);
      EXPECT_EQ(value, 1);
    }
  }
  ASSERT_EQ(found.size(), 2U);
  for (const char* label : {"version=\"0.1.0\"", "cpu=\"A CPU\"", "kernel_path=\"avx2\"", "threads=\"2\""}) {
    EXPECT_NE(found[0].find(label), std::string::npos) << found[0];
  }
  for (const char* label : {"block_size=\"32\"", "num_gpu_blocks=\"9\"", "cache_dtype=\"bf16\""}) {
    EXPECT_NE(found[1].find(label), std::string::npos) << found[1];
  }
}

TEST(EngineMetrics, ARequestIsCountedUnderItsReasonAndItsTimesAreSplit) {
  engine_metrics metrics(options);
  metrics.observe_first_token(1.5);
  metrics.observe_inter_token(0.5);
  metrics.observe_request({.finished_reason = "length",
                           .prompt_tokens = 100,
                           .generation_tokens = 5,
                           .max_tokens = 5,
                           .scheduled = 1.0,
                           .first_token = 1.5,
                           .last_token = 3.5,
                           .ended = 3.75});
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:request_success_total", "finished_reason=\"length\"")), 1);
  EXPECT_EQ(text.at(sample("vllm:request_success_total", "finished_reason=\"stop\"")), 0);
  const std::map<std::string, double> sums{
      {"vllm:e2e_request_latency_seconds", 3.75},   {"vllm:request_queue_time_seconds", 1.0},
      {"vllm:request_inference_time_seconds", 2.5}, {"vllm:request_prefill_time_seconds", 0.5},
      {"vllm:request_decode_time_seconds", 2.0},    {"vllm:request_time_per_output_token_seconds", 0.5},
      {"vllm:time_to_first_token_seconds", 1.5},    {"vllm:inter_token_latency_seconds", 0.5},
      {"vllm:request_prompt_tokens", 100},          {"vllm:request_generation_tokens", 5},
      {"vllm:request_params_max_tokens", 5}};
  for (const auto& [name, sum] : sums) {
    EXPECT_DOUBLE_EQ(text.at(sample(name + "_sum")), sum) << name;
    EXPECT_EQ(text.at(sample(name + "_count")), 1) << name;
  }
}

TEST(EngineMetrics, ARequestThatNeverRanHasNoTimesInside) {
  engine_metrics metrics(options);
  metrics.observe_request({.finished_reason = "no such reason",
                           .prompt_tokens = 3,
                           .generation_tokens = 0,
                           .max_tokens = {},
                           .scheduled = {},
                           .first_token = {},
                           .last_token = {},
                           .ended = 0.1});
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:request_success_total", "finished_reason=\"error\"")), 1);
  EXPECT_EQ(text.at(sample("vllm:e2e_request_latency_seconds_count")), 1);
  for (const char* name : {"vllm:request_queue_time_seconds", "vllm:request_decode_time_seconds",
                           "vllm:request_time_per_output_token_seconds", "vllm:request_params_max_tokens"}) {
    EXPECT_EQ(text.at(sample(std::string(name) + "_count")), 0) << name;
  }
}

TEST(EngineMetrics, StepsAreObservedByPhase) {
  engine_metrics metrics(options);
  metrics.observe_step(step_phase::execute, 0.25);
  metrics.observe_step(step_phase::plan, 0.5);
  metrics.observe_step_tokens(33);
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("troupe_step_seconds_sum", "phase=\"execute\"")), 0.25);
  EXPECT_EQ(text.at(sample("troupe_step_seconds_sum", "phase=\"plan\"")), 0.5);
  EXPECT_EQ(text.at(sample("troupe_step_seconds_count", "phase=\"commit\"")), 0);
  EXPECT_EQ(text.at(sample("vllm:iteration_tokens_total_sum")), 33);
}

TEST(EngineMetrics, BucketsAreCumulativeAndEndWithInfinity) {
  engine_metrics metrics(options);
  for (const double seconds : {0.0005, 0.03, 0.03, 5000.0}) metrics.observe_first_token(seconds);
  const parsed_text text = read(metrics);
  const auto bucket = [&](const std::string& bound) {
    return text.at(sample("vllm:time_to_first_token_seconds_bucket", "le=\"" + bound + "\""));
  };
  EXPECT_EQ(bucket("0.001"), 1);
  EXPECT_EQ(bucket("0.02"), 1);
  EXPECT_EQ(bucket("0.04"), 3);
  EXPECT_EQ(bucket("2560"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
}

TEST(EngineMetrics, ConcurrentUpdatesLoseNothingAndCountersOnlyGrow) {
  constexpr int threads = 4;
  constexpr int rounds = 2000;
  engine_metrics metrics(options);
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&metrics] {
      for (int i = 0; i < rounds; ++i) {
        metrics.add_generation_tokens(1);
        metrics.observe_inter_token(0.125);
        metrics.set_requests(i, i);
        metrics.set_cache_config({.block_size = 16, .num_blocks = i % 3, .dtype = "bf16"});
        metrics.observe_request({.finished_reason = "stop",
                                 .prompt_tokens = 1,
                                 .generation_tokens = 1,
                                 .max_tokens = {},
                                 .scheduled = {},
                                 .first_token = {},
                                 .last_token = {},
                                 .ended = 1});
      }
    });
  }
  double last = 0;
  for (int i = 0; i < 20; ++i) {
    const double now = read(metrics).at(sample("vllm:generation_tokens_total"));
    EXPECT_GE(now, last);
    last = now;
  }
  for (std::thread& writer : writers) writer.join();
  const parsed_text text = read(metrics);
  EXPECT_EQ(text.at(sample("vllm:generation_tokens_total")), threads * rounds);
  EXPECT_EQ(text.at(sample("vllm:inter_token_latency_seconds_count")), threads * rounds);
  EXPECT_EQ(text.at(sample("vllm:inter_token_latency_seconds_sum")), threads * rounds * 0.125);
  EXPECT_EQ(text.at(sample("vllm:request_success_total", "finished_reason=\"stop\"")), threads * rounds);
}

}  // namespace
}  // namespace troupe::metrics
