/** The numbers of log lines, by their places in the template. */

type NumberSlot = {
  /** What stands around it in the template. */
  readonly context: string
  /** Oldest first. */
  readonly values: readonly number[]
}

/** `texts`: oldest first, of one group; those that do not fit its template are left out of all slots. */
export function numberSlots(template: string, texts: readonly string[]): NumberSlot[] {
  const parts = template.split(/(<(?:n|id|uuid|time|text|email|address|hex)>)/)
  const fixed = parts.filter((part) => !/^<\w+>$/.test(part))
  const numbers = parts.filter((part) => /^<\w+>$/.test(part))
  const rows = texts.flatMap((text) => {
    const row = valuesIn(firstLine(text), fixed)
    return row === null ? [] : [row]
  })
  return numbers.flatMap((mask, slot) => {
    if (mask !== '<n>') return []
    const values = rows.map((row) => Number(row[slot]!.replaceAll(',', '')))
    if (values.some(Number.isNaN)) return []
    return [{ context: `${fixed[slot]!.slice(-30)}<n>${fixed[slot + 1]!.slice(0, 12)}`, values }]
  })
}

const firstLine = (text: string): string =>
  text.trimStart().split('\n', 1)[0]!.replaceAll(/\s+/g, ' ').trimEnd()

/** What stands between the fixed parts, in their order; null if they are not all there. */
function valuesIn(line: string, fixed: readonly string[]): string[] | null {
  const [first = '', ...rest] = fixed
  if (!line.startsWith(first)) return null
  const values: string[] = []
  let from = first.length
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1
    const to =
      part === ''
        ? isLast
          ? line.length
          : -1
        : isLast
          ? line.lastIndexOf(part)
          : line.indexOf(part, from + 1)
    if (to < from) return null
    values.push(line.slice(from, to))
    from = to + part.length
  }
  return values
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** How much the order of values is the order of time: 1 if every one is above those before it (Spearman). */
export function rising(values: readonly number[]): number {
  const order = values
    .map((value, index) => ({ value, index }))
    .toSorted((a, b) => a.value - b.value || a.index - b.index)
  const n = values.length
  const squares = order.reduce((sum, { index }, rank) => sum + (rank - index) ** 2, 0)
  return n < 2 ? 0 : 1 - (6 * squares) / (n * (n * n - 1))
}
