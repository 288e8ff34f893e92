/** Durations and sizes in few characters. */

export function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}

export const bytes = (count: number): string =>
  count < 1_024 ? `${count} B` : `${(count / 1_024).toFixed(1)} KiB`
