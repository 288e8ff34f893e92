/** Ends again what a journal holds and the database has lost, with a row of the audit trail for each that lived. */
import type { Transaction } from '../../../db/connect.ts'
import { ENDED_KINDS } from '../../contracts/endings.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { recordAudit } from '../record-audit.ts'
import type { Ending } from '../record-ending.ts'
import { withTransaction } from '../transaction.ts'

const AT_ONCE = 200

const BY_SVC = { kind: 'anonymous' as const, userId: null, userName: 'svc', requestId: 'endings' }

/** Returns how many lived. What has ended stays as it is, so it may be done any number of times, by several at once. */
export async function endLost({ db, clock }: Storage, endings: readonly Ending[]): Promise<number> {
  let count = 0
  for (let at = 0; at < endings.length; at += AT_ONCE) {
    const some = endings.slice(at, at + AT_ONCE)
    count += await withTransaction(db, (tx) => endAndAudit(tx, clock, some))
  }
  return count
}

export async function endAndAudit(
  tx: Transaction,
  clock: Clock,
  endings: readonly Ending[],
): Promise<number> {
  // It needs the cores of all services, which a process that runs one of them has no other use for.
  const { endAgain } = await import('./end-again.ts')
  const ended = await endAgain(tx, clock, endings)
  for (const { kind, id, orgId } of ended) {
    if (orgId === null) continue
    const subject = `${ENDED_KINDS[kind]} ${id}`
    await recordAudit(tx, clock, BY_SVC, { orgId, action: 'access.ended_again', subject })
  }
  return ended.length
}
