/** Whether no row of an organization's trail waits for its seal. */
import type { Handle } from '../../../db/connect.ts'
import { TRAIL_KINDS } from '../../contracts/trail-format.ts'
import { readUnsealed } from './trail-rows.ts'
import { readTrailState } from './trail-state.ts'

export async function isAllSealed(db: Handle, orgId: string): Promise<boolean> {
  const { began, sealedTo: after } = await readTrailState(db)
  for (const kind of TRAIL_KINDS) {
    const waiting = await readUnsealed(db, kind, { began, after, orgId, limit: 1 })
    if (waiting.length > 0) return false
  }
  return true
}
