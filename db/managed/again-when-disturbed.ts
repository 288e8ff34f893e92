/** Statements about whole databases fail where others would wait: somebody else was at it in the same moment. */
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * 55006: a database is in use (a template being copied, connections that are still ending). XX000: two transactions
 * altered one row of a catalogue, "tuple concurrently updated". 40001, 40P01: they met in other ways.
 */
const DISTURBED = new Set(['55006', 'XX000', '40001', '40P01'])
const ATTEMPTS = 8
const FIRST_WAIT_MS = 50

export async function againWhenDisturbed<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const code = (error as { code?: string }).code ?? ''
      if (attempt === ATTEMPTS || !DISTURBED.has(code)) throw error
      await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random()))
    }
  }
}
