/** The attempts of one delivery as a chart: the outcome of each, and the wait between them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { showDelivery } from '../../../contracts/deliveries.ts'
import { STATE_LABELS } from './delivery-labels.ts'

type Delivery = z.output<typeof showDelivery.output>
type Attempt = Delivery['attempts_made'][number]
type Mark = 'sent' | 'failed' | 'unknown' | 'running' | 'next'
type Stop = { mark: Mark; at: string; under: string }

const HEIGHT = 92
const LINE_Y = 44
/** Stops that fit side by side on a phone with two words below each. */
const STOPS_WITH_TEXT_MAX = 3

/**
 * Stops are evenly spread, because waits range from seconds to days; the waits are written on the line.
 * Horizontal positions are percentages: the chart fills any width without stretching.
 */
export function attemptsTimeline(delivery: Delivery) {
  const stops = stopsOf(delivery)
  if (stops.length === 0) return null
  const x = (at: number): string => `${Number((((at + 0.5) / stops.length) * 100).toFixed(3))}%`
  return html`<svg class="timeline" width="100%" height="${HEIGHT}" role="img" aria-label="${describeAttempts(delivery)}">
    ${stops.slice(1).map(
      ({ mark, at }, before) =>
        html`<line class="timeline-line ${mark === 'next' && 'timeline-open'}" x1="${x(before)}" x2="${x(before + 1)}" y1="${LINE_Y}" y2="${LINE_Y}" />
          <text class="timeline-gap" x="${x(before + 0.5)}" y="${LINE_Y - 14}" text-anchor="middle">${span(stops[before]?.at ?? at, at)}</text>`,
    )}
    ${stops.map(
      ({ mark, under }, at) =>
        html`<svg class="stop-${mark}" x="${x(at)}" y="${LINE_Y}" overflow="visible">${SHAPES[mark]}</svg>
          <text class="timeline-under" x="${x(at)}" y="${LINE_Y + 30}" text-anchor="middle">${under}</text>`,
    )}
  </svg>`
}

/** Told apart by shape, not by color alone. */
const SHAPES: Record<Mark, ReturnType<typeof html>> = {
  sent: html`<circle r="10" /><path d="m-4.5 0.5 3 3 6-6.5" />`,
  failed: html`<circle r="10" /><path d="m-3.5-3.5 7 7m0-7-7 7" />`,
  unknown: html`<path class="stop-ground" d="M0-11.5 11.5 0 0 11.5-11.5 0z" /><path d="M-2.5-3.2a2.6 2.6 0 1 1 3.6 2.4C.4-.4 0 .2 0 1.2M0 4.6v.01" />`,
  running: html`<circle r="10" /><path d="M0-5v5l3.5 2" />`,
  next: html`<circle r="9" />`,
}

function stopsOf({ attempts_made, next_attempt_at }: Delivery): Stop[] {
  const none = attempts_made.length > STOPS_WITH_TEXT_MAX ? '–' : 'no response'
  const made = attempts_made.map((one) => ({
    mark: markOf(one),
    at: one.started_at,
    under: String(one.http_status ?? none),
  }))
  return next_attempt_at === null || made.length === 0
    ? made
    : [...made, { mark: 'next', at: next_attempt_at, under: 'next' }]
}

function markOf({ outcome, reason }: Attempt): Mark {
  if (reason === 'outcome_unknown') return 'unknown'
  if (outcome === null) return 'running'
  return outcome === 'sent' ? 'sent' : 'failed'
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that it fills: 5s, 30m, 2h. */
export function span(from: string, to: string): string {
  const ms = Math.max(0, Date.parse(to) - Date.parse(from))
  const [unit, size] = UNITS.find(([, size]) => Math.round(ms / size) >= 1) ?? ['s', 1_000]
  return `${Math.round(ms / size)}${unit}`
}

function describeAttempts(delivery: Delivery): string {
  const { attempts_made, next_attempt_at } = delivery
  const each = attempts_made.map(({ number, http_status, outcome, reason }) => {
    const how =
      reason === 'outcome_unknown'
        ? 'unconfirmed'
        : outcome === null
          ? 'in progress'
          : STATE_LABELS[outcome].toLowerCase()
    return `${number}: ${how}${http_status === null ? '' : ` with status ${http_status}`}`
  })
  return `${attempts_made.length === 1 ? 'One attempt' : `${attempts_made.length} attempts`}. ${each.join('; ')}.${next_attempt_at === null ? '' : ' Another attempt follows.'}`
}
