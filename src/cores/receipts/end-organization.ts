/** Ends all that opens an organization, except what it is ended with. People stay members, and sign in again. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNull, ne, or } from '../../../db/drizzle.ts'
import {
  apiTokens,
  appTokens,
  invitations,
  machineAgentCredentials,
  machineAgents,
  platformAccessGrants,
  scimBearers,
  sessions,
  supportSessions,
  workloadBindings,
} from '../../../db/schema.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { endSessions, revokeInvitations, revokeScimBearers } from '../credentials/index.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { revokeCredentials } from '../machine-agents/index.ts'
import { isOfMember } from '../organizations/index.ts'
import type { Principal } from '../../contracts/operation.ts'
import { recordEnding } from '../record-ending.ts'

type With = Pick<Principal, 'sessionId' | 'cliSessionId' | 'tokenId'>

/** Sessions and tokens first: whatever is being made with them holds them, so it is waited for and then found. */
export async function endOrganization(
  tx: Transaction,
  clock: Clock,
  orgId: string,
  { sessionId, cliSessionId, tokenId }: With,
  people: 'stay' | 'leave' = 'stay',
): Promise<void> {
  const own = sessionId ?? cliSessionId
  // A session opens every organization of its person, whichever it chose last. Those who leave lose this one by that.
  const opens =
    people === 'stay' ? or(eq(sessions.orgId, orgId), isOfMember(tx, orgId)) : eq(sessions.orgId, orgId)
  await endSessions(tx, clock, and(opens, own === undefined ? undefined : ne(sessions.id, own))!)
  await revokeApiTokens(
    tx,
    clock,
    and(eq(apiTokens.orgId, orgId), tokenId === undefined ? undefined : ne(apiTokens.id, tokenId)),
  )
  const agents = tx.select({ id: machineAgents.id }).from(machineAgents).where(eq(machineAgents.orgId, orgId))
  await revokeCredentials(tx, clock, inArray(machineAgentCredentials.agentId, agents))
  // Behind the credentials, whose end has put another grant in place of the one before.
  await endGrants(tx, clock, eq(platformAccessGrants.orgId, orgId), 'revoked')
  await revokeScimBearers(tx, clock, eq(scimBearers.orgId, orgId))
  await revokeInvitations(tx, clock, eq(invitations.orgId, orgId))
  const support = await tx
    .update(supportSessions)
    .set({ endedAt: clock() })
    .where(and(eq(supportSessions.orgId, orgId), isNull(supportSessions.endedAt)))
    .returning({ id: supportSessions.id, orgId: supportSessions.orgId })
  recordEnding(tx, 'support_session', support)
  const tokens = await tx
    .update(appTokens)
    .set({ revokedAt: clock() })
    .where(and(eq(appTokens.orgId, orgId), isNull(appTokens.revokedAt)))
    .returning({ id: appTokens.id, orgId: appTokens.orgId })
  recordEnding(tx, 'app_token', tokens)
  const accounts = await tx
    .delete(workloadBindings)
    .where(eq(workloadBindings.orgId, orgId))
    .returning({ id: workloadBindings.id, orgId: workloadBindings.orgId })
  recordEnding(tx, 'service_account', accounts)
}
