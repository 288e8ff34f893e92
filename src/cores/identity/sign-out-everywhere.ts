import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { endSessions } from './end-sessions.ts'

export const signOutEverywhere =
  ({ db, clock }: Storage): Handler<'signOutEverywhere'> =>
  (principal) =>
    withTransaction(db, async (tx) => {
      const ended = await endSessions(tx, clock, requireUserId(principal))
      if (principal.orgId !== null) {
        await recordAudit(tx, clock, principal, { orgId: principal.orgId, action: 'session.all_ended' })
      }
      return { ended }
    })
