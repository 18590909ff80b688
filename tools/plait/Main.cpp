#include "Commands.h"
#include <iostream>

namespace plait {

void addFormat(CLI::App &command, std::string &format) {
  command.add_option("--format", format, "text for people, or json with stable keys")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
}

void print(const std::string &format, const nlohmann::ordered_json &json, const std::string &text) {
  if (format == "json")
    std::cout << json.dump(2) << "\n";
  else
    std::cout << text;
}

} // namespace plait

int main(int argc, char **argv) {
  plait::Cli cli;
  cli.app.require_subcommand(1);
  cli.app.set_version_flag("--version", "plait 0.1.0");
  cli.app.add_flag("-q,--quiet", cli.quiet, "no progress on stderr");
  cli.app.fallthrough();
  cli.app.footer("Exit codes: 0 success, 1 internal error, 2 usage or unreadable input, 3 infeasible, 4 check failed,\n"
                 "5 not proven (with --require-proof), 6 backend unavailable, 7 runtime failure, 130 interrupted.");
  plait::addCompileCommands(cli);
  plait::addPlanCommands(cli);
  plait::addRunCommand(cli);
  plait::addInputCommands(cli);
  try {
    cli.app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return cli.app.exit(error) ? int(plait::ExitCode::Usage) : 0;
  }
  plait::Status status = cli.action ? cli.action() : plait::Status(plait::usageError("no command"));
  if (status)
    return 0;
  std::cerr << "plait: " << status.error().message << "\n";
  return int(status.error().code);
}
