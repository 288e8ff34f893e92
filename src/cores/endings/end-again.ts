/** Ends what was ended before and may live again: a commit that nobody knows of, or one that the database has lost. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNull } from '../../../db/drizzle.ts'
import {
  apiTokens,
  appTokens,
  invitations,
  machineAgentCredentials,
  memberships,
  platformAccessGrants,
  sessions,
  supportSessions,
  workloadBindings,
} from '../../../db/schema.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { endSessions, revokeInvitations } from '../credentials/index.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { revokeCredentials } from '../machine-agents/index.ts'
import { endAccess } from '../organizations/index.ts'
import { endingsIn, recordEnding, type EndedKind, type Ending } from '../record-ending.ts'

type EndAgain = (
  tx: Transaction,
  clock: Clock,
  which: { readonly orgId: string | null; readonly ids: readonly string[] },
) => Promise<unknown>

/** Each as it ends by itself, with all that ends with it. Whatever is ended already stays as it is. */
const END_AGAIN: { readonly [Kind in EndedKind]: EndAgain } = {
  session: (tx, clock, { ids }) => endSessions(tx, clock, inArray(sessions.id, [...ids])),
  api_token: (tx, clock, { orgId, ids }) =>
    revokeApiTokens(tx, clock, and(eq(apiTokens.orgId, orgId!), inArray(apiTokens.id, [...ids]))),
  grant: (tx, clock, { ids }) => endGrants(tx, clock, inArray(platformAccessGrants.id, [...ids]), 'revoked'),
  machine_credential: (tx, clock, { ids }) =>
    revokeCredentials(tx, clock, inArray(machineAgentCredentials.id, [...ids])),
  invitation: (tx, clock, { orgId, ids }) =>
    revokeInvitations(tx, clock, and(eq(invitations.orgId, orgId!), inArray(invitations.id, [...ids]))),
  async app_token(tx, clock, { orgId, ids }) {
    const revoked = await tx
      .update(appTokens)
      .set({ revokedAt: clock() })
      .where(and(eq(appTokens.orgId, orgId!), inArray(appTokens.id, [...ids]), isNull(appTokens.revokedAt)))
      .returning({ id: appTokens.id, orgId: appTokens.orgId })
    recordEnding(tx, 'app_token', revoked)
  },
  async support_session(tx, clock, { ids }) {
    const ended = await tx
      .update(supportSessions)
      .set({ endedAt: clock() })
      .where(and(inArray(supportSessions.id, [...ids]), isNull(supportSessions.endedAt)))
      .returning({ id: supportSessions.id, orgId: supportSessions.orgId })
    recordEnding(tx, 'support_session', ended)
  },
  async service_account(tx, _clock, { ids }) {
    const removed = await tx
      .delete(workloadBindings)
      .where(inArray(workloadBindings.id, [...ids]))
      .returning({ id: workloadBindings.id, orgId: workloadBindings.orgId })
    recordEnding(tx, 'service_account', removed)
  },
  async membership(tx, clock, { orgId, ids }) {
    const living = await tx
      .select({ orgId: memberships.orgId, userId: memberships.userId })
      .from(memberships)
      .where(and(eq(memberships.orgId, orgId!), inArray(memberships.id, [...ids])))
    for (const member of living) await endAccess(tx, clock, member, null)
  },
}

/** Which of them lived, and what ended with them. The caller writes the audit rows. */
export async function endAgain(
  tx: Transaction,
  clock: Clock,
  endings: readonly Ending[],
): Promise<readonly Ending[]> {
  const before = endingsIn(tx).length
  for (const [kind, ofKind] of Map.groupBy(endings, (one) => one.kind)) {
    for (const [orgId, own] of Map.groupBy(ofKind, (one) => one.orgId)) {
      await END_AGAIN[kind](tx, clock, { orgId, ids: own.map(({ id }) => id) })
    }
  }
  return endingsIn(tx).slice(before)
}
