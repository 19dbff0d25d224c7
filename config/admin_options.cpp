// The port for operators. Its key is no option: what is one can be printed, and a flag is seen in `ps`.
#include "config/option_table.hpp"

namespace troupe::config {

using group = option_group;

std::vector<option> admin_options() {
  return {
      number_option("admin_port", group::server, &settings::admin_port, -1, 65'535,
                    "Port of the operators' interface, which wants a key; 0: any free one, -1: not served"),
      text_option("admin_host", group::server, &settings::admin_host,
                  "Address that the operators' interface listens on"),
      reloadable(
          text_option("admin_key_file", group::server, &settings::admin_key_file,
                      "File whose text is the operators' key, 16 characters at least; empty: the variable "
                      "TROUPE_ADMIN_KEY has the key")),
  };
}

}  // namespace troupe::config
