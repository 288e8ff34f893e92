/** For forms that are shown again with what was typed: the refusal as a value. */
import { ERRORS, ServiceError } from '../contracts/errors.ts'

export async function attempt<T>(act: () => Promise<T>): Promise<{ done: T } | { problem: ServiceError }> {
  try {
    return { done: await act() }
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'UNAUTHENTICATED') return { problem: error }
    throw error
  }
}

export const statusOf = (problem: ServiceError | undefined) => (problem ? ERRORS[problem.code].status : 200)
