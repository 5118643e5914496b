// SPDX-License-Identifier: MIT
#include "records/any_record.h"

namespace dent {

AnyRecord::AnyRecord() = default;
AnyRecord::AnyRecord(const AnyRecord&) = default;
AnyRecord::AnyRecord(AnyRecord&&) noexcept = default;
AnyRecord& AnyRecord::operator=(const AnyRecord&) = default;
AnyRecord& AnyRecord::operator=(AnyRecord&&) noexcept = default;
AnyRecord::~AnyRecord() = default;

}  // namespace dent
