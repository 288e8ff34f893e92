/** Bars in one line of text: how something went over a few days, beside a number or in a row of a table. */
import { html } from 'hono/html'

const HEIGHT = 20
const BAR = 6
const GAP = 2
/** One among thousands stays visible. */
const MIN_HEIGHT = 2

/** `about` says the same in words; every bar has its own number on hover. */
export function strip(about: string, bars: readonly { readonly label: string; readonly value: number }[]) {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  const width = Math.max(1, bars.length * (BAR + GAP) - GAP)
  return html`<svg class="strip" width="${width}" height="${HEIGHT}" role="img" aria-label="${about}">
    ${bars.map(({ label, value }, at) => {
      const height = stripHeight(value, most)
      return html`<g><title>${label}: ${value}</title><rect class="${value === 0 ? 'strip-ground' : 'ink-plain'}" x="${at * (BAR + GAP)}" y="${HEIGHT - height}" width="${BAR}" height="${height}" rx="1" /></g>`
    })}
  </svg>`
}

/** In pixels; nothing is a thin line, so that its day is seen as well. */
export const stripHeight = (value: number, most: number): number =>
  value === 0 ? 1 : Math.max(MIN_HEIGHT, Math.round((value / most) * HEIGHT))
