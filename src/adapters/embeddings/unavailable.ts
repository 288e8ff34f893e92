/** The error of a model that has no vector: one sentence for the user, one reason for the log. */
import { ServiceError } from '../../contracts/errors.ts'

const HINTS = {
  later: 'Try again in a moment.',
  text: 'Trying again will not help. The embedding model fails on this text.',
  operator: 'Trying again will not help. The operator must check the settings of this embedding model.',
} as const

/** `reason` is always our own text: that of a provider or an engine may repeat the question or the key. */
export const unavailable = (reason: string, hint: keyof typeof HINTS): ServiceError =>
  new ServiceError('EMBEDDING_UNAVAILABLE', undefined, { hint: HINTS[hint], cause: new Error(reason) })
