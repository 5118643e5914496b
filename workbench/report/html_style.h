// SPDX-License-Identifier: MIT
// The style sheet of report.html. Light and dark follow the reader's system; paper is always light.
#pragma once

#include <string_view>

namespace dent {

inline constexpr std::string_view kHtmlStyle = R"css(
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --soft: #57606a; --rule: #d0d7de; --panel: #f6f8fa;
  --good: #116329; --bad: #b3141d; --unsure: #8a5a00; --baseline: #57606a; --candidate: #0550ae; --band: #dafbe1; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #0d1117; --ink: #e6edf3; --soft: #9da7b3; --rule: #30363d; --panel: #161b22;
  --good: #56d364; --bad: #ff7b72; --unsure: #e3b341; --baseline: #9da7b3; --candidate: #79c0ff; --band: #12351f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
h1 { margin: 0; font-size: 1.1rem; font-weight: 600; color: var(--soft); }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.25rem; border-bottom: 1px solid var(--rule); padding-bottom: .25rem; }
h3 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
.verdict { font-size: 2.5rem; font-weight: 700; line-height: 1.2; margin: .25rem 0; }
.headline { font-size: 1.25rem; margin: .25rem 0; }
.soft { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .unsure { color: var(--unsure); }
.cheat { border-left: .3rem solid var(--bad); padding: .5rem 1rem; background: var(--panel); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.number, th.number { text-align: right; white-space: nowrap; }
.bar { position: relative; width: 8rem; height: .7rem; margin-top: .35rem; background: var(--panel);
  border: 1px solid var(--rule); } .bar i { display: block; height: 100%; background: var(--candidate); }
.bar i.over { background: var(--bad); }
pre { overflow-x: auto; background: var(--panel); padding: .75rem; font-size: .8rem; }
summary { cursor: pointer; color: var(--soft); }
svg { width: 100%; min-width: 30rem; height: auto; display: block; }
svg .label { font-size: 11px; fill: var(--soft); } svg .strong { font-weight: 700; fill: var(--ink); }
svg .grid { stroke: var(--rule); stroke-width: .5; } svg .one { stroke: var(--ink); stroke-width: 1; }
svg .same-band { fill: var(--band); }
svg .ring { fill: none; stroke-width: 1; } svg .fill { stroke: none; }
svg .baseline { stroke: var(--baseline); } svg .candidate { stroke: var(--candidate); }
svg .candidate.fill { fill: var(--candidate); fill-opacity: .65; stroke: none; }
svg .aside { stroke: var(--unsure); } svg .median { stroke-width: 1.5; stroke-dasharray: 6 3; }
svg .roof { fill: none; stroke: var(--ink); stroke-width: 1.5; }
svg .interval { stroke-width: 2; }
svg .faster { stroke: var(--good); fill: var(--good); } svg .slower { stroke: var(--bad); fill: var(--bad); }
svg .unclear { stroke: var(--unsure); fill: var(--unsure); }
.key { font-size: .85rem; color: var(--soft); }
@media print { :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #bbb; --panel: #f4f4f4; --good: #116329;
    --bad: #b3141d; --unsure: #8a5a00; --baseline: #555; --candidate: #0550ae; --band: #e4f6e8; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10pt; } h2 { break-after: avoid; }
  svg, tr, .cheat { break-inside: avoid; } details > summary { display: none; } }
)css";

}  // namespace dent
