/** The known word that somebody who mistyped it probably meant. */

export function nearest(word: string, known: readonly string[]): string | undefined {
  const near = known
    .map((candidate) => ({ candidate, distance: distance(word, candidate) }))
    .filter((found) => found.distance <= Math.max(1, Math.floor(found.candidate.length / 3)))
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate
}

/** Letters to add, drop or change (Levenshtein), by rows. */
function distance(from: string, to: string): number {
  // What somebody pasted by mistake is no mistyped word, and must not cost its square.
  if (Math.abs(from.length - to.length) > 5) return Infinity
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let at = 1; at <= from.length; at++) {
    const next = [at]
    for (let index = 1; index <= to.length; index++) {
      const change = row[index - 1]! + (from[at - 1] === to[index - 1] ? 0 : 1)
      next.push(Math.min(change, row[index]! + 1, next[index - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
