/** An error of a managed database as an error of ours: its own words may hold values of its rows. */
import { ServiceError } from '../../contracts/errors.ts'
import { databaseFailureOf } from '../search/index.ts'

export async function failingAsDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError || !(databaseFailureOf(error) || isLate(error))) throw error
    throw new ServiceError('TIMEOUT', 'The database could not be written to now', {
      hint: 'Try again in a moment.',
      cause: error,
    })
  }
}

/** Of a signal, before the database was asked. */
const isLate = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError'

/** Of what `failingAsDatabase` throws: nobody knows whether the database has heard of the statement, or will. */
export const isUnanswered = (error: unknown): boolean =>
  databaseFailureOf(error instanceof ServiceError ? error.cause : error)?.kind === 'unreachable'
