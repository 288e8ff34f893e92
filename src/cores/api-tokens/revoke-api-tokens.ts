/** Revokes API tokens, and every token, open invitation and credential of a machine agent that was made with one. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, inArray, isNull } from '../../../db/drizzle.ts'
import { apiTokens, invitations, machineAgentCredentials } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { revokeCredentials } from '../machine-agents/index.ts'
import { recordEnding } from '../record-ending.ts'

type Row = typeof apiTokens.$inferSelect

/**
 * One generation after the other and not one recursive statement: a token that is being made holds its parent, so each
 * statement waits for it, and the next one sees it.
 */
export async function revokeApiTokens(
  tx: Transaction,
  clock: Clock,
  which: SQL | undefined,
): Promise<readonly Row[]> {
  const revoked: Row[] = []
  let generation = await stamp(tx, clock, which)
  while (generation.length > 0) {
    revoked.push(...generation)
    await revokeInvitationsMadeWith(tx, clock, generation)
    const ids = generation.map(({ id }) => id)
    await revokeCredentials(tx, clock, inArray(machineAgentCredentials.madeWithTokenId, ids))
    generation = await stamp(tx, clock, madeWith(generation))
  }
  return revoked
}

async function stamp(tx: Transaction, clock: Clock, which: SQL | undefined): Promise<Row[]> {
  const stamped = await tx
    .update(apiTokens)
    .set({ revokedAt: clock() })
    .where(and(which, isNull(apiTokens.revokedAt)))
    .returning()
  recordEnding(tx, 'api_token', stamped)
  return stamped
}

const madeWith = (parents: readonly Row[]) =>
  and(
    inArray(apiTokens.orgId, [...new Set(parents.map(({ orgId }) => orgId))]),
    inArray(
      apiTokens.parentId,
      parents.map(({ id }) => id),
    ),
  )

async function revokeInvitationsMadeWith(
  tx: Transaction,
  clock: Clock,
  tokens: readonly Row[],
): Promise<void> {
  const revoked = await tx
    .update(invitations)
    .set({ revokedAt: clock() })
    .where(
      and(
        inArray(invitations.orgId, [...new Set(tokens.map(({ orgId }) => orgId))]),
        inArray(
          invitations.madeWithTokenId,
          tokens.map(({ id }) => id),
        ),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
    .returning({ id: invitations.id, orgId: invitations.orgId })
  recordEnding(tx, 'invitation', revoked)
}
