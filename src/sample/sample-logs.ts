/** The week of logs of the sample app: quiet days, and since its last deployment the stack trace of its bug. */
import type { LogLevel } from '../contracts/log-levels.ts'
import type { LogRecord } from '../cores/logs/log-record.ts'

const SERVICE = 'outdoor-shop'

/** What `app/src/server.js` writes for an order with a code in lowercase; the test throws it and compares. */
export const STACK_TRACE = `POST /orders 500: TypeError: Cannot read properties of undefined (reading 'percent')
    at discountOn (file:///srv/outdoor-shop/src/discounts.js:8:42)
    at totalOf (file:///srv/outdoor-shop/src/orders.js:7:26)
    at Server.<anonymous> (file:///srv/outdoor-shop/src/server.js:8:19)`

const HOUR_MS = 3_600_000
/** Younger than what is kept, so that none of it is dropped on arrival. */
const HOURS = 6 * 24 + 18
/** Lines for every hour of the day in UTC: a shop is visited in the evening. */
const BY_HOUR = [1, 0, 0, 1, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 6, 5, 4, 3, 2]
const SKUS = ['T-201', 'T-402', 'S-110', 'P-030', 'L-007']

/** Oldest first. `brokenSince`: when the bug was deployed. */
export function sampleLogs(now: Date, brokenSince: Date): LogRecord[] {
  const random = numbersFrom(2_026)
  const records: LogRecord[] = []
  for (let hour = HOURS; hour > 0; hour -= 1) {
    const start = now.getTime() - hour * HOUR_MS
    const count = BY_HOUR[new Date(start).getUTCHours()] ?? 0
    for (let at = 0; at < count; at += 1) {
      const time = start + ((at + random()) / count) * HOUR_MS
      records.push(record(time, lineOf(random, time >= brokenSince.getTime())))
    }
  }
  return records
}

const record = (time: number, [level, text]: readonly [LogLevel, string]): LogRecord => ({
  at: new Date(time),
  level,
  text,
  service: SERVICE,
  traceId: null,
})

function lineOf(random: () => number, isBroken: boolean): readonly [LogLevel, string] {
  const [kind, number] = [random(), random()]
  const sku = SKUS[Math.floor(random() * SKUS.length)]!
  const order = `o-${1_000 + Math.floor(number * 9_000)}`
  if (isBroken && kind < 0.12) return ['error', STACK_TRACE]
  if (kind < 0.5) return ['info', `GET /products/${sku} 200 in ${8 + Math.floor(number * 60)} ms`]
  if (kind < 0.8) return ['info', `order ${order} placed: 1 items, ${39 + Math.floor(number * 500)} EUR`]
  if (kind < 0.9) return ['debug', `prices read: ${SKUS.length} products`]
  if (kind < 0.96) return ['warn', `stock of ${sku} is low: ${1 + Math.floor(number * 4)} left`]
  return ['warn', `payment of ${order} took ${1_000 + Math.floor(number * 4_000)} ms`]
}

/** The same numbers at every first start (mulberry32): no two people see another sample. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
