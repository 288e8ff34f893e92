/** How a model says that it has no vector: one sentence for the asker, one reason of our own for the log. */
import { ServiceError } from '../../contracts/errors.ts'

const HINTS = {
  later: 'Try again in a moment.',
  operator: 'Trying again will not help: the operator has to look at the settings of this embedding model.',
} as const

/** `reason` is always ours: the words of a provider or of an engine may repeat the question, or the key. */
export const unavailable = (reason: string, hint: keyof typeof HINTS): ServiceError =>
  new ServiceError('EMBEDDING_UNAVAILABLE', undefined, { hint: HINTS[hint], cause: new Error(reason) })

/** The first code in a chain of causes. Codes are Node's own words for what happened; messages may quote. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(at.code)) return at.code
  }
  return 'unknown'
}
