/** Single calls timed, and what is said of many of them. */
import { median } from './programs.ts'

export async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const started = performance.now()
  const result = await work()
  return { ms: performance.now() - started, result }
}

export const p50 = median

const quantile =
  (share: number) =>
  (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

export const p95 = quantile(0.95)
export const p99 = quantile(0.99)
