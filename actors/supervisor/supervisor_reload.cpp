// New limits for everybody: checked as a whole before anybody hears of them.
#include <utility>

#include "actors/supervisor/supervisor.hpp"

namespace troupe {

void supervisor_state::reload(const company_limits_ptr& limits, reload_call& call) {
  const bool is_ending = failed_ || drain_.has_begun();
  if (is_ending) return call.reply(troupe::fail(error_code::unavailable, "the service is about to end"));
  if (auto checked = check_limits(*limits); !checked) return call.reply(std::move(checked));
  if (auto checked = check_limits(limits_at_start_, limits->scheduling); !checked)
    return call.reply(std::move(checked));
  limits_ = limits;
  // For those who will be started anew.
  adopt_limits(parts_.limits, limits->scheduling);
  parts_.tokenizer.request_timeout = limits->request_timeout;
  parts_.tokenizer.queue_timeout = limits->queue_timeout;
  parts_.board->set_step_deadline(limits->step_deadline);
  tell_limits(roster_.scheduler);
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) tell_limits(tokenizer);
  for (const gateway_actor& gateway : roster_.socket_gateways) tell_limits(gateway);
  call.reply({});
}

}  // namespace troupe
