/** Bars in one line of text: how something went over a few days or runs, beside a number or in a row of a table. */
import { html } from 'hono/html'
import { formatNumber } from './format-number.ts'

export const STRIP_HEIGHT = 20
const BAR = 6
const GAP = 2
/** One among thousands stays visible. */
const MIN_HEIGHT = 2

type Fill = 'ink-plain' | 'ink-dotted' | 'ink-hatched' | 'strip-ground'

export type StripBar = {
  /** On hover. */
  readonly title: string
  readonly height: number
  readonly fill: Fill
  /** The upper part of it. */
  readonly top?: { readonly height: number; readonly fill: Fill }
}

/** `about` says the same in words; every bar has its own number on hover. */
export function strip(about: string, bars: readonly { readonly label: string; readonly value: number }[]) {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  return stripOfBars(
    about,
    bars.map(({ label, value }) => ({
      title: `${label}: ${formatNumber(value)}`,
      height: stripHeight(value, most),
      fill: value === 0 ? 'strip-ground' : 'ink-plain',
    })),
  )
}

/** The newest last. Where it does not fit, bars become narrower: the newest must not be cut off. */
export function stripOfBars(about: string, bars: readonly StripBar[]) {
  const width = Math.max(1, bars.length * (BAR + GAP) - GAP)
  return html`<svg class="strip" width="${width}" height="${STRIP_HEIGHT}" viewBox="0 0 ${width} ${STRIP_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${about}">
    ${bars.map(
      ({ title, height, fill, top }, at) =>
        html`<g><title>${title}</title><rect class="${fill}" x="${at * (BAR + GAP)}" y="${STRIP_HEIGHT - height}" width="${BAR}" height="${height}" rx="1" />${top && html`<rect class="${top.fill}" x="${at * (BAR + GAP)}" y="${STRIP_HEIGHT - height}" width="${BAR}" height="${top.height}" rx="1" />`}</g>`,
    )}
  </svg>`
}

/** Such as "Last 30 results: 29 passed, 1 failed"; what there is none of is left out. */
export function countsOf<Word extends string>(
  what: string,
  all: readonly Word[],
  words: Readonly<Record<Word, string>>,
): string {
  const counts = (Object.keys(words) as Word[]).flatMap((word) => {
    const count = all.filter((one) => one === word).length
    return count === 0 ? [] : [`${count} ${words[word]}`]
  })
  return `Last ${all.length} ${what}: ${counts.join(', ')}`
}

/** In pixels; nothing is a thin line, so that its day is seen as well. */
export const stripHeight = (value: number, most: number): number =>
  value === 0 ? 1 : Math.max(MIN_HEIGHT, Math.round((value / most) * STRIP_HEIGHT))
