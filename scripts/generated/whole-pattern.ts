/** Whole numbers from `min` to `max` as a pattern: a JSON schema of text knows no numbers. Without leading zeros. */
export function wholePattern(min: number, max: number): string {
  const [first, last] = [String(min), String(max)]
  const lengths = Array.from({ length: last.length - first.length + 1 }, (_, at) => first.length + at)
  return lengths
    .map((length) =>
      between(
        length === first.length ? first : `1${'0'.repeat(length - 1)}`,
        length === last.length ? last : '9'.repeat(length),
      ),
    )
    .join('|')
}

/** Of the same length. */
function between(min: string, max: string): string {
  if (min === '') return ''
  const [low, high, below, above] = [Number(min[0]), Number(max[0]), min.slice(1), max.slice(1)]
  if (low === high) return `${low}${between(below, above)}`
  const takesLow = /^0*$/.test(below)
  const takesHigh = /^9*$/.test(above)
  const parts: string[] = []
  if (!takesLow) parts.push(`${low}${between(below, '9'.repeat(below.length))}`)
  const [from, to] = [takesLow ? low : low + 1, takesHigh ? high : high - 1]
  if (from <= to) parts.push(`[${from}-${to}]${'[0-9]'.repeat(below.length)}`)
  if (!takesHigh) parts.push(`${high}${between('0'.repeat(above.length), above)}`)
  return `(${parts.join('|')})`
}
