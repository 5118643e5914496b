// SPDX-License-Identifier: MIT
// Pictures of a report as SVG for a page, with the page's colours (page/style.css).
#pragma once

#include <span>
#include <string>

#include "report/session_view.h"

namespace dent {

// Every sample of both sides in the order taken, including those set aside. `comparison` provides the medians
// and may be null.
// be null.
std::string samples_plot(const record::Samples& samples, const record::Comparison* comparison);

// One line per shape with the ratio's interval, and a band of ratios that count as equal.
std::string ratios_plot(const SessionView& session);

// Each shape's point under the device's roofline; "" if no shape has FLOPs and bytes or there is no roofline.
std::string roofline_plot(const SessionView& session);

}  // namespace dent
