/** A load goes on while whoever started it may change the database, and the organization is within its disk quota. */
import type { Transaction } from '../../../db/connect.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { lowerOf } from '../../contracts/roles.ts'
import { isOverDiskQuota } from '../databases/index.ts'
import { memberKey } from '../directory/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { withTransaction } from '../transaction.ts'
import type { LoadDeps } from './load-deps.ts'
import type { LoadRow } from './load-rows.ts'
import { LoadFailed, type StepContext } from './step.ts'

type Given = Pick<StepContext, 'deps' | 'source' | 'plan'>

export async function requireRights({ deps, source, plan }: Given, { orgId }: LoadRow): Promise<void> {
  if (await isOverDiskQuota(deps.db, orgId, source.kind)) throw new LoadFailed('disk_quota')
  await withTransaction(deps.db, (tx) =>
    requireAuthor(deps, tx, orgId, plan.author, plan.sync?.isAdmins ? 'admin' : 'developer'),
  )
}

/** A removed member, a lowered role, an expired or revoked token ends what was begun with it. */
export async function requireAuthor(
  { clock, directory }: LoadDeps,
  tx: Transaction,
  orgId: string,
  { userId, role, tokenId, cliSessionId }: StepContext['plan']['author'],
  least: 'developer' | 'admin' = 'developer',
): Promise<void> {
  const key = { orgId, userId }
  const member = (await directory.readMembers(tx, [key])).get(memberKey(key))
  // With hosted auth a member is one whom the vendor has validated within a day.
  if (!member?.isCurrent) throw new LoadFailed('not_allowed')
  try {
    const author = { ...key, role: lowerOf(role, member.role), tokenId, cliSessionId }
    await lockAuthor(tx, clock, author, least)
  } catch (error) {
    const isRefused = error instanceof ServiceError && ['FORBIDDEN', 'UNAUTHENTICATED'].includes(error.code)
    throw isRefused ? new LoadFailed('not_allowed') : error
  }
}
