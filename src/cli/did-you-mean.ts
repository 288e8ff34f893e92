/** Suggests the known word that a mistyped one is closest to. */

/** `Did you mean svc status? `, or nothing when no word is close. */
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const close = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0]
  return close ? `Did you mean ${prefix}${close.candidate}? ` : ''
}

/** Levenshtein, row by row. */
function editDistance(from: string, to: string): number {
  // Pasted text is no typo, and must not cost its length squared.
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
