// SPDX-License-Identifier: MIT
#include "mcp/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "gates/registry.h"
#include "records/json.h"

namespace dent::mcp {
namespace {

using nlohmann::json;

// What every answer has. A gate that fails is an answer, not an error: the verdict says so.
constexpr const char* kCommonOutput = R"({
  "verdict": {"type": "string", "description": "PASS, FASTER, SLOWER, SAME, AMBIGUOUS, INCORRECT, CHEAT, BUILD FAILED, ENVIRONMENT, TIMEOUT, BUDGET ..."},
  "reason": {"type": "string"},
  "next": {"type": "string", "description": "what to do next"},
  "exit_code": {"type": "integer", "description": "0 when the command had nothing to object to"},
  "session": {"type": "string"},
  "full": {"type": "string", "description": "file with all of it, as JSON"},
  "left_out": {"type": "object", "description": "what was cut here: path of the list or text, and how much"}
})";

struct Row {
  std::string name;
  std::string title;
  std::string about;
  std::string input;     // properties beside "project"
  std::string required;  // list
  std::string output;    // properties beside the common ones
  bool read_only;        // leaves nothing behind but what it says
  bool measures;
  bool has_session;
};

// Tools that are no gates.
const Row kRows[] = {
    {"predict", "What will it do on a GPU?",
     "Blocks against multiprocessors, occupancy and its limiter, floor times and expected time of attention "
     "on any GPU, "
     "without one.",
     R"("device": {"type": "string", "description": "l4, a100, h100, h200 ..."},
        "shape": {"type": "string", "description": "B,H,S,D, for example 1,1,128,64"})",
     R"(["shape"])", "", true, false, false},
    {"evaluate", "Try one change",
     "Applies one change in a worktree and takes it through build, correctness and performance against the "
     "best so far; "
     "keeps it as a commit on the session's own branch only when it is proved faster. The user's files stay "
     "untouched. "
     "Exactly one of patch, variant and tunable. To go on from a kept change, name its session.",
     R"("hypothesis": {"type": "object", "required": ["bottleneck", "change", "expected"], "additionalProperties": false,
          "properties": {"bottleneck": {"type": "string", "description": "what holds the kernel back now"},
                         "change": {"type": "string", "description": "what is changed"},
                         "expected": {"type": "string", "description": "what that should do"}}},
        "patch": {"type": "string", "description": "unified diff, paths relative to the project's folder"},
        "variant": {"type": "string", "description": "name of a variant in dent.toml"},
        "tunable": {"type": "string", "description": "name of a tunable in dent.toml"},
        "value": {"type": "string", "description": "for the tunable"},
        "session": {"type": "string", "description": "of an earlier evaluate, to go on with; default: a new one"})",
     R"(["hypothesis"])",
     R"("kept": {"type": "boolean"}, "stage": {"type": "string", "description": "where it ended"},
        "gain": {"type": "object", "description": "over the best so far, with its interval"},
        "shapes": {"type": "array", "items": {"type": "object"}}, "last_words": {"type": "string"})",
     false, true, true},
    {"history", "What was measured so far?", "The sessions of a project, newest first, with their verdicts.",
     R"("most": {"type": "integer", "minimum": 1, "description": "how many; default 10"})", "",
     R"("sessions": {"type": "array", "items": {"type": "object"}})", true, false, false},
    {"patterns", "What has helped before?",
     "The pattern library, ranked by the effect measured here; with a session, those that match its "
     "diagnosis.",
     R"("session": {"type": "string", "description": "id, or latest: only what matches it"})", "",
     R"("patterns": {"type": "array", "items": {"type": "object"}}, "matches": {"type": "array", "items": {"type": "object"}})",
     true, false, false},
    {"cost", "What has it cost?",
     "Wall time, device time and money of one or all sessions, against the budget.",
     R"("session": {"type": "string", "description": "id, or latest; default: all"})", "", "", true, false,
     false},
};

json object_schema(std::string properties, const std::string& required) {
  json schema{{"type", "object"}, {"properties", require_json("{" + properties + "}")}};
  if (!required.empty()) schema["required"] = require_json(required);
  return schema;
}

Tool make(const Row& row) {
  json input = object_schema(row.input, row.required);
  input["properties"]["project"] = {
      {"type", "string"},
      {"description",
       "folder with a dent.toml, at or below the one that dent mcp was started for; default: that one"}};
  input["additionalProperties"] = false;
  json output = object_schema(row.output, R"(["verdict", "full"])");
  output["properties"].update(require_json(kCommonOutput));
  json annotations{{"title", row.title}, {"readOnlyHint", row.read_only}, {"openWorldHint", false}};
  if (!row.read_only) {
    annotations["destructiveHint"] = false;  // adds to .dent, removes and overwrites nothing
    annotations["idempotentHint"] = false;
  }
  return {row.name,
          {{"name", row.name},
           {"title", row.title},
           {"description", row.about},
           {"inputSchema", std::move(input)},
           {"outputSchema", std::move(output)},
           {"annotations", std::move(annotations)}},
          row.measures,
          row.has_session};
}

void copy(json& to, const json& from, const char* key, const char* as = nullptr) {
  if (const auto found = from.find(key); found != from.end() && !found->is_null())
    to[as != nullptr ? as : key] = *found;
}

json without(json list, std::initializer_list<const char*> keys) {
  for (json& entry : list) {
    for (const char* key : keys) entry.erase(key);
  }
  return list;
}

json speeds(const json& comparisons) {
  json list = json::array();
  for (const json& comparison : comparisons) {
    json entry{{"shape", comparison["shape"]}, {"verdict", comparison["verdict"]}};
    for (const char* side : {"baseline", "candidate"}) {
      const double ns = comparison[std::string(side) + "_ns"];
      if (ns > 0) entry[std::string(side) + "_us"] = ns / 1e3;  // too few pairs: absent, not 0
    }
    copy(entry, comparison, "ratio", "speedup");
    copy(entry, comparison, "busy");
    list.push_back(std::move(entry));
  }
  return list;
}

void pick_checks(json& out, const json& report) {
  out["checks"] = without(report.value("checks", json::array()), {"step"});
}

void pick_build(json& out, const json& report) {
  const json build = report.value("build", json::object());
  copy(out, build, "kernels");
  copy(out, build, "seconds");
  for (const json& gate : report.value("gates", json::array())) {
    if (gate.value("step", "") == "build" && gate.value("verdict", "") == "fail")
      out["first_error"] = gate["reason"];
  }
}

void pick_correctness(json& out, const json& report) {
  out["correctness"] = without(report.value("correctness", json::array()), {"seeds", "elements"});
}

void pick_comparisons(json& out, const json& report) {
  copy(out, report, "ratio", "speedup");
  out["shapes"] = speeds(report.value("comparisons", json::array()));
}

void pick_diagnoses(json& out, const json& report) {
  out["diagnoses"] = json::array();
  for (const json& record : report.value("diagnoses", json::array())) {
    json diagnosis;
    for (const char* key : {"shape", "tool", "degraded", "bottleneck", "title", "says", "phase", "advice",
                            "decided", "runner_up", "overturned", "refusal", "patterns"}) {
      copy(diagnosis, record, key);
    }
    out["diagnoses"].push_back(std::move(diagnosis));
  }
}

void pick_cheats(json& out, const json& report) {
  if (!report.value("cheats", json::array()).empty()) out["cheats"] = report["cheats"];
}

// What a kind of record adds to the answer of a gate that writes it.
struct Section {
  std::string_view kind;
  const char* schema;  // properties
  void (*pick)(json& out, const json& report);
};
constexpr Section kSections[] = {
    {"check", R"("checks": {"type": "array", "items": {"type": "object"}})", pick_checks},
    {"build",
     R"("kernels": {"type": "array", "items": {"type": "object"}}, "seconds": {"type": "number"},
        "first_error": {"type": "string"})",
     pick_build},
    {"correctness", R"("correctness": {"type": "array", "items": {"type": "object"}})", pick_correctness},
    {"comparison",
     R"("speedup": {"type": "object"}, "shapes": {"type": "array", "items": {"type": "object"}})",
     pick_comparisons},
    {"diagnosis", R"("diagnoses": {"type": "array", "items": {"type": "object"}})", pick_diagnoses},
    {"cheat", R"("cheats": {"type": "array", "items": {"type": "object"}})", pick_cheats}};

bool writes(const Gate& gate, const Section& section) {
  const auto& kinds = gate.info().kinds;
  return std::find(kinds.begin(), kinds.end(), section.kind) != kinds.end();
}

// A gate as a tool: its question, its options and those of what it needs, its records.
Row row_of(const Gate& gate) {
  const GateInfo& info = gate.info();
  std::vector<std::string> input, output;
  bool of_shapes = false;
  for (const Gate* needed : with_needs(gate)) {
    of_shapes = of_shapes || needed->info().scope == Scope::each_shape;
    for (const GateOption& option : needed->info().options)
      input.push_back(
          fmt::format(R"("{}": {{"type": "boolean", "description": "{}"}})", option.name, option.about));
  }
  if (info.scope == Scope::worst_shape) {
    input.emplace_back(
        R"("shape": {"type": "string", "description": "name of a shape in dent.toml; default: the slowest"})");
  } else if (of_shapes) {
    input.emplace_back(
        R"("shapes": {"type": "array", "items": {"type": "string"}, "description": "names of shapes in dent.toml; default: all"})");
  }
  for (const Section& section : kSections) {
    if (writes(gate, section)) output.emplace_back(section.schema);
  }
  return {.name = std::string(info.command),
          .title = std::string(info.question),
          .about = fmt::format("{}. Passes when: {}.", info.about, info.passes_when),
          .input = fmt::format("{}", fmt::join(input, ", ")),
          .required = "",
          .output = fmt::format("{}", fmt::join(output, ", ")),
          .read_only = false,
          .measures = true,
          .has_session = true};
}

const Gate* gate_of(const Tool& tool) {
  for (const Gate* gate : gates()) {
    if (gate->info().command == tool.name) return gate;
  }
  return nullptr;
}

}  // namespace

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = [] {
    std::vector<Tool> list;
    for (const Gate* gate : gates()) {
      if (!gate->info().command.empty()) list.push_back(make(row_of(*gate)));
    }
    for (const Row& row : kRows) list.push_back(make(row));
    return list;
  }();
  return all;
}

const Tool* find_tool(const std::string& name) {
  for (const Tool& tool : tools()) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

std::vector<std::string> command_line(const Tool& tool, const json& arguments,
                                      const std::filesystem::path& scratch) {
  const auto text = [&](const char* key) { return arguments.value(key, std::string()); };
  std::vector<std::string> line{tool.name};
  const auto option = [&](const char* key, const char* flag) {
    if (!text(key).empty()) line.insert(line.end(), {flag, text(key)});
  };
  for (const json& shape : arguments.value("shapes", json::array())) {
    line.insert(line.end(), {"--shape", shape.get<std::string>()});
  }
  if (const Gate* gate = gate_of(tool)) {
    for (const Gate* needed : with_needs(*gate)) {
      for (const GateOption& flag : needed->info().options) {
        if (arguments.value(std::string(flag.name), false)) line.push_back("--" + std::string(flag.name));
      }
    }
    option("shape", "--shape");
  } else if (tool.name == "predict") {
    line.push_back("attention");
    option("device", "--device");
    option("shape", "--shape");
  } else if (tool.name == "history") {
    line = {"log", "-n", std::to_string(arguments.value("most", 10))};
  } else if (tool.name == "patterns" && !text("session").empty()) {
    line.insert(line.end(), {"match", text("session")});
  } else if (tool.name == "cost" && !text("session").empty()) {
    line.push_back(text("session"));
  } else if (tool.name == "evaluate") {
    json proposal = arguments;
    for (const char* ours : {"project", "session"}) proposal.erase(ours);
    const auto file = scratch / "proposal.json";
    std::ofstream(file) << proposal.dump(1);
    line.insert(line.end(), {"--proposal", file.string()});
    option("session", "--session");
  }
  return line;
}

json answer(const Tool& tool, const json& document, const std::filesystem::path& full) {
  json out;
  if (document.contains("report") && document["report"].is_object()) {
    for (const char* key : {"session", "verdict", "reason", "next", "exit_code"}) copy(out, document, key);
    if (out.value("next", "").empty()) out.erase("next");
    if (const Gate* gate = gate_of(tool)) {
      for (const Section& section : kSections) {
        if (writes(*gate, section)) section.pick(out, document["report"]);
      }
    }
    for (const char* key : {"kept", "stage", "gain", "shapes", "last_words", "diagnosis", "patterns"})
      copy(out, document, key);
  } else {
    out = document;
    for (const char* key : {"schema", "command"}) out.erase(key);
    if (!out.contains("verdict")) out["verdict"] = "PASS";
  }
  out["full"] = full.string();
  return out;
}

}  // namespace dent::mcp
