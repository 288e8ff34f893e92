/** Parts of a whole as a ring with one figure in the middle. */
import { html } from 'hono/html'
import type { Ink } from './chart-inks.ts'

export const shareRing = (
  about: string,
  parts: readonly { readonly value: number; readonly ink: Ink }[],
  middle: { readonly figure: string; readonly word: string },
) =>
  html`<svg class="ring" width="132" height="132" viewBox="0 0 132 132" role="img" aria-label="${about}">
    <circle class="ring-ground" cx="66" cy="66" r="52" />
    ${arcs(parts.map(({ value }) => value)).map(
      ({ part, length, before }) =>
        html`<circle class="ring-part" cx="66" cy="66" r="52" pathLength="100" stroke="url(#ink-${parts[part]?.ink})" stroke-dasharray="${length} ${100 - length}" stroke-dashoffset="${-before}" transform="rotate(-90 66 66)" />`,
    )}
    <text class="ring-figure" x="66" y="70" text-anchor="middle">${middle.figure}</text>
    <text class="ring-word" x="66" y="88" text-anchor="middle">${middle.word}</text>
  </svg>`

/** In percent of the circle, clockwise from the top. */
export function arcs(
  values: readonly number[],
): { readonly part: number; readonly length: number; readonly before: number }[] {
  const whole = values.reduce((total, value) => total + value, 0)
  if (whole === 0) return []
  let before = 0
  return values.flatMap((value, part) => {
    const arc = { part, length: round((value / whole) * 100), before: round(before) }
    before += (value / whole) * 100
    return value === 0 ? [] : [arc]
  })
}

const round = (value: number): number => Number(value.toFixed(2))

/** Never "0%" for something nor "100%" for less than all. */
export function percentWords(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0%'
  if (part === whole) return '100%'
  const percent = (part / whole) * 100
  if (percent < 1) return '<1%'
  return percent > 99 ? '>99%' : `${Math.round(percent)}%`
}
