# SPDX-License-Identifier: Apache-2.0
"""Bar charts as SVG, for light and dark pages alike."""

from xml.sax.saxutils import escape

STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 } .small { font-size: 11px; fill: #57606a }
.ours { fill: #2f6feb } .peer { fill: #9aa4af } .floor { fill: #4cae6e } .bare { fill: #57606a }
.line { stroke: #57606a; stroke-width: 1 } .mark { stroke: #d1242f; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9aa4af } .line { stroke: #9aa4af }
  .ours { fill: #58a6ff } .peer { fill: #6e7681 } .floor { fill: #3fb950 } .bare { fill: #c9d1d9 }
  .mark { stroke: #ff7b72 }
}
</style>"""

LEFT, BAR, RIGHT, STEP, TOP = 270, 380, 110, 22, 34


def bars(title, rows, digits, longest=None, mark=None, note=""):
    """rows: (label, Spread, class), or None for a gap. longest: where bars are cut off; mark: a value
    shown as a dashed line."""
    full = longest or 1.1 * max(row[1].p90 for row in rows if row)
    height = TOP + STEP * len(rows) + (22 if note else 6)
    width = LEFT + BAR + RIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">', STYLE,
           f'<text class="title" x="8" y="18">{escape(title)}</text>']
    for i, row in enumerate(rows):
        if not row:
            continue
        label, got, kind = row
        y, cut = TOP + STEP * i, got.median > full
        end, low, high = (LEFT + BAR * min(v, full) / full for v in (got.median, got.p10, got.p90))
        out += [f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>',
                f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="15" rx="2"/>']
        if not cut:
            out.append(f'<path class="line" d="M{low:.1f} {y + 7.5}H{high:.1f}"/>')
        out.append(f'<text class="small" x="{max(end, high) + 6:.1f}" y="{y + 12}">'
                   f'{got.median:,.{digits}f}{" →" if cut else ""}</text>')
    if mark:
        x = LEFT + BAR * mark / full
        out.append(f'<path class="mark" d="M{x:.1f} {TOP - 6}V{TOP + STEP * len(rows)}"/>')
    if note:
        out.append(f'<text class="small" x="8" y="{height - 7}">{escape(note)}</text>')
    return "\n".join([*out, "</svg>", ""])
