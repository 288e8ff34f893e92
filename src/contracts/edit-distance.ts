/**
 * How many typing errors lie between two words: letters added, left out or changed, or two neighbours swapped (optimal string
 * alignment).
 */
export function editDistance(from: string, to: string): number {
  // Pasted text is no typo, and must not cost its length squared.
  if (Math.abs(from.length - to.length) > 5) return Infinity
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let at = 1; at <= from.length; at++) {
    const next = [at]
    for (let index = 1; index <= to.length; index++) {
      const change = row[index - 1]! + (from[at - 1] === to[index - 1] ? 0 : 1)
      const isSwapped = from[at - 1] === to[index - 2] && from[at - 2] === to[index - 1]
      const swap = at > 1 && index > 1 && isSwapped ? before[index - 2]! + 1 : Infinity
      next.push(Math.min(change, swap, row[index]! + 1, next[index - 1]! + 1))
    }
    before = row
    row = next
  }
  return row[to.length]!
}
