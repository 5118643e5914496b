// SPDX-License-Identifier: MIT
// The pictures of a report, as SVG to be put into a page. Colours are the page's: see page/style.css.
#pragma once

#include <span>
#include <string>

#include "report/session_view.h"

namespace dent {

// Every sample of both sides in the order taken, and what was set aside. `comparison`: for the medians; may
// be null.
std::string samples_plot(const record::Samples& samples, const record::Comparison* comparison);

// One line per shape: the ratio's interval, and the band that counts as the same.
std::string ratios_plot(const SessionView& session);

// Where each shape stands under the device's roof. Empty when no shape has FLOPs and bytes, or there is no
// roof.
std::string roofline_plot(const SessionView& session);

}  // namespace dent
