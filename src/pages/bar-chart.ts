/** Stacked bars as inline SVG: no script, no inline style, every number also as text. */
import { html } from 'hono/html'
import { filledWith, type Ink } from './chart-inks.ts'
import { formatNumber } from './format-number.ts'

export type Bar = { readonly label: string; readonly values: readonly number[] }
export type Series = { readonly name: string; readonly ink: Ink }

const HEIGHT = 160
/** One call among thousands stays visible. */
const MIN_HEIGHT = 2

/**
 * Horizontal positions are in percent and vertical ones in pixels, so that it fills any width without stretching lines
 * or textures. Axis labels are text of the page and have its size.
 */
export function barChart(about: string, series: readonly Series[], bars: readonly Bar[]) {
  const top = niceTop(Math.max(0, ...bars.map(({ values }) => sum(values))))
  const slot = 100 / Math.max(1, bars.length)
  return html`<div class="bars">
    <div class="bars-scale" aria-hidden="true"><span>${formatNumber(top)}</span><span>${formatNumber(top / 2)}</span><span>0</span></div>
    <svg class="bars-plot" width="100%" height="${HEIGHT}" role="img" aria-label="${about}">
      ${[0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}" />`)}
      ${bars.map(
        (bar, at) => html`<g>
          <title>${bar.label}: ${series.map(({ name }, part) => `${formatNumber(bar.values[part] ?? 0)} ${name}`).join(', ')}</title>
          ${stack(bar.values, top).map(
            ({ y, height, part }) =>
              html`<rect x="${percent(slot * (at + 0.14))}" width="${percent(slot * 0.72)}" y="${y}" height="${height}" ${filledWith(series[part]?.ink ?? 'plain')} />`,
          )}
        </g>`,
      )}
    </svg>
    <div class="bars-days" aria-hidden="true">${labeled(bars).map(({ label }) => html`<span>${label}</span>`)}</div>
  </div>`
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const percent = (value: number): string => `${Number(value.toFixed(3))}%`

/** The first and the last bar, and the middle one of a longer chart. */
const labeled = (bars: readonly Bar[]): Bar[] =>
  [
    bars[0],
    bars.length > 6 ? bars[Math.floor(bars.length / 2)] : undefined,
    bars.length > 1 ? bars.at(-1) : undefined,
  ].filter((bar) => bar !== undefined)

/** The next of 2, 4, 10, 20, 40, 100 …: their halves are whole numbers for the middle line. */
export function niceTop(most: number): number {
  for (let tens = 1; ; tens *= 10) {
    for (const step of [2, 4, 10]) if (step * tens >= most) return step * tens
  }
}

/** From the bottom up, in pixels. Small parts are drawn larger than they are, at the expense of large ones. */
export function stack(
  values: readonly number[],
  top: number,
): { readonly y: number; readonly height: number; readonly part: number }[] {
  const parts = values
    .map((value, part) => ({ part, height: value === 0 ? 0 : Math.max(MIN_HEIGHT, (value / top) * HEIGHT) }))
    .filter(({ height }) => height > 0)
  const squeeze = Math.min(1, HEIGHT / sum(parts.map(({ height }) => height)))
  let y = HEIGHT
  return parts.map(({ part, height }) => {
    const squeezed = height * squeeze
    y -= squeezed
    return { part, y: Number(y.toFixed(2)), height: Number(squeezed.toFixed(2)) }
  })
}
