/** A number of bytes for people; without zod, because the client loads it. */
const UNITS = ['KiB', 'MiB', 'GiB'] as const

export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1).replace('.0', '')} ${UNITS[power - 1]!}`
}
