/** Repeats statements about whole databases: where two of them meet, Postgres fails one instead of letting it wait. */
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * 55006: a database is in use (a template being copied, connections that are still ending). XX000: two transactions
 * altered one row of a catalog, "tuple concurrently updated". 40001: serialization failure. 40P01: deadlock.
 */
const CONFLICT_CODES = new Set(['55006', 'XX000', '40001', '40P01'])
const MAX_ATTEMPTS = 8
const FIRST_WAIT_MS = 50

export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const code = (error as { code?: string }).code ?? ''
      if (attempt === MAX_ATTEMPTS || !CONFLICT_CODES.has(code)) throw error
      await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }
}
