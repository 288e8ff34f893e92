/** Suggests the known word that a mistyped one is closest to. */
import { editDistance } from './edit-distance.ts'

/** `Did you mean svc status? `, or nothing when no word is close. */
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const close = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.distance - b.distance)[0]
  return close ? `Did you mean ${prefix}${close.candidate}? ` : ''
}
