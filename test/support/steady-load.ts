/** Calls that go on while a test does something to the servers: each lane makes one after the other, and notes what became of it. */
import { setTimeout as sleep } from 'node:timers/promises'

export type Lane = { readonly everyMs: number; readonly call: () => Promise<unknown> }

export type LoadCall = {
  readonly lane: string
  /** By `performance.now()`. */
  readonly began: number
  readonly ended: number
  readonly failure: string | undefined
}

export type Load = {
  /** Those that were open at some time between the two. */
  readonly during: (from: number, to?: number) => LoadCall[]
  /** Until each lane has made so many calls that began after now, and that did not fail. */
  readonly untilWell: (times: number) => Promise<void>
  /** Waits for what is open. */
  readonly stop: () => Promise<void>
}

/** However busy the machine is. */
const WELL_MS = 60_000

export function startLoad(lanes: Readonly<Record<string, Lane>>): Load {
  const calls: LoadCall[] = []
  const stopping = new AbortController()
  const run = async ([lane, { everyMs, call }]: [string, Lane]) => {
    while (!stopping.signal.aborted) {
      const began = performance.now()
      const failure = await call().then(
        () => undefined,
        (error: unknown) => wordsOf(error),
      )
      calls.push({ lane, began, ended: performance.now(), failure })
      await sleep(Math.max(10, everyMs - (performance.now() - began)), undefined, {
        signal: stopping.signal,
      }).catch(() => {})
    }
  }
  const running = Promise.all(Object.entries(lanes).map(run))
  const during = (from: number, to = performance.now()) =>
    calls.filter(({ began, ended }) => ended >= from && began <= to)
  return {
    during,
    async untilWell(times) {
      const since = performance.now()
      const isWell = (lane: string) =>
        calls.filter((call) => call.lane === lane && call.began >= since && !call.failure).length >= times
      while (!Object.keys(lanes).every(isWell)) {
        if (performance.now() - since > WELL_MS) {
          const ill = Object.keys(lanes).filter((lane) => !isWell(lane))
          throw new Error(`Not well: ${ill.join(', ')}: ${failuresAmong(during(since)).slice(-5).join('\n')}`)
        }
        await sleep(50)
      }
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** With its causes: `fetch failed` says nothing. */
function wordsOf(error: unknown): string {
  const words: string[] = []
  for (let at = error; at instanceof Error; at = at.cause) words.push(`${at.name}: ${at.message}`)
  return words.join(' < ') || String(error)
}

/** As `mcp: 120, refresh: 33`. */
export function countByLane(calls: readonly LoadCall[]): string {
  const counts = new Map<string, number>()
  for (const { lane } of calls) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  return [...counts].map(([lane, count]) => `${lane}: ${count}`).join(', ')
}

export const failuresAmong = (calls: readonly LoadCall[]): string[] =>
  calls.flatMap(({ lane, failure }) => (failure === undefined ? [] : [`${lane}: ${failure}`]))
