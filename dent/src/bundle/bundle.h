// SPDX-License-Identifier: MIT
// A session with everything that it rests on, as one archive that another machine can check and measure
// again:
//
//   bundle.json    what is in it: every other file with its size and SHA-256, and the ledger's last hash
//   session/       ledger.jsonl, the reports, artifacts
//   tree/          the project's files, and those of the repository around it
//
// The SHA-256 of bundle.json is the bundle's id: it names all of the content. The archive is a plain tar file
// without times and owners, so the same content gives the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ledger/session_store.h"
#include "project/project.h"
#include "records/fields.h"

namespace dent {

inline constexpr int kBundleSchema = 1;

struct BundledFile {
  std::string path;
  std::int64_t bytes = 0;
  std::string sha256;
  bool executable = false;
  bool operator==(const BundledFile&) const = default;
};
void fields(Fields& f, BundledFile& file);

struct BundleList {
  int schema = kBundleSchema;
  std::string session;             // its id
  std::string project;             // its folder in the archive
  std::string chain;               // of the ledger's last line
  std::vector<BundledFile> files;  // sorted by their paths
  bool operator==(const BundleList&) const = default;
};
void fields(Fields& f, BundleList& list);

// As bundle.json has it, and its SHA-256.
std::string list_text(const BundleList& list);
std::string bundle_id(const std::string& text_of_list);

// Every file below `folder` but bundle.json, by its content. Throws Error for what is no plain file.
std::vector<BundledFile> files_in(const std::filesystem::path& folder);

struct Bundle {
  std::filesystem::path file;
  std::string id;
  BundleList list;
};

// Sources that were changed after the session, as far as that can be told: none where git has the commit that
// was measured, and neither tree has changes; else those with a later time than the session's last record.
std::vector<std::string> changed_since(const Project& project, const SessionFolder& session);

// `file`: to write; empty: <project>-<session>.tar in the present folder. Throws Error where the session has
// no verdict, or its manifest is another one.
Bundle write_bundle(const Project& project, const SessionFolder& session, std::filesystem::path file);

}  // namespace dent
