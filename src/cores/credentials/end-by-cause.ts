/**
 * Finds and ends what an event ends, in its transaction. Which kinds that are says the table of credential kinds: one that
 * a cause ends there and is not looked for here does not compile.
 */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt, gte, inArray, isNotNull, isNull, ne, or } from '../../../db/drizzle.ts'
import {
  apiTokens,
  appTokens,
  identities,
  type identityLinks,
  invitations,
  machineAgentCredentials,
  machineAgents,
  platformAccessGrants,
  scimBearers,
  sessions,
  users,
  workloadBindings,
} from '../../../db/schema.ts'
import type { CredentialKind, EndedBy, EndingCause } from '../../contracts/credential-kinds.ts'
import type { Role } from '../../contracts/roles.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants, type EndReason } from '../grants/index.ts'
import { madeByMembers, revokeCredentials, type Credential } from '../machine-agents/index.ts'
import { endSessions } from './end-sessions.ts'
import { removeServiceAccounts } from './remove-service-accounts.ts'
import { revokeAppTokens } from './revoke-app-tokens.ts'
import { revokeScimBearers } from './revoke-scim-bearers.ts'
import { revokeInvitations } from './revoke-invitations.ts'

type Member = { readonly orgId: string; readonly userId: string }

/** Whose: conditions on the columns that name a person and an organization. */
export type People = {
  /** Null: in every organization. */
  readonly orgId: string | null
  readonly has: (column: PersonColumn) => SQL
  /** Those that the operator made have no inviter. */
  readonly withOperators: boolean
  /** What belongs to an organization and outlives its maker: of which organizations, and made by whom. */
  readonly lasting: { readonly orgIds: readonly string[]; readonly isBy: (maker: LastingColumn) => SQL }
}
type LastingColumn =
  | typeof scimBearers.createdBy
  | typeof scimBearers.rotatedBy
  | typeof appTokens.createdBy
  | typeof appTokens.rotatedBy
  | typeof workloadBindings.createdBy
  | typeof identityLinks.createdBy
type PersonColumn =
  | typeof users.id
  | typeof sessions.userId
  | typeof apiTokens.userId
  | typeof platformAccessGrants.userId
  | typeof invitations.invitedBy
  | typeof machineAgents.ownerId
  | typeof machineAgentCredentials.createdBy

type Details = {
  membership_ended: Member
  role_lowered: { readonly orgId: string; readonly userIds: readonly string[]; readonly role: Role }
  password_set: { readonly userId: string; readonly exceptSessionId: string | undefined }
  password_reset: { readonly userId: string }
  tokens_ended: { readonly userId: string }
  signed_out: { readonly userId: string }
  made_since: {
    readonly people: People
    readonly after: Date
    readonly exceptSessionId: string | undefined
  }
}
export type Cause = { [Name in EndingCause]: { readonly cause: Name } & Details[Name] }[EndingCause]

type Finders = {
  readonly [Name in EndingCause]: (
    tx: Transaction,
    details: Details[Name],
    now: Date,
  ) => Promise<{ readonly [Kind in EndedBy<Name>]: SQL | undefined }>
}

const FINDERS: Finders = {
  async membership_ended(tx, { orgId, userId }) {
    return {
      cli_session: and(eq(sessions.orgId, orgId), eq(sessions.userId, userId), isCli),
      api_token: and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, userId)),
      grant: and(eq(platformAccessGrants.orgId, orgId), eq(platformAccessGrants.userId, userId)),
      machine_credential: madeByMembers(tx, { orgId, userIds: [userId] }, null),
      invitation: and(
        eq(invitations.orgId, orgId),
        or(
          eq(invitations.invitedBy, userId),
          // Older than the removal: whoever is to come back is invited again.
          inArray(invitations.email, await addressesOf(tx, userId)),
        ),
      ),
    }
  },
  role_lowered: async (tx, { orgId, userIds, role }) => ({
    machine_credential: madeByMembers(tx, { orgId, userIds }, role),
    invitation: and(eq(invitations.orgId, orgId), inArray(invitations.invitedBy, [...userIds])),
  }),
  password_set: async (_tx, { userId, exceptSessionId }) => ({
    session: sessionsOf(userId, exceptSessionId),
    cli_session: and(eq(sessions.userId, userId), isCli),
  }),
  password_reset: async (_tx, { userId }) => ({
    api_token: eq(apiTokens.userId, userId),
    grant: eq(platformAccessGrants.userId, userId),
  }),
  tokens_ended: async (_tx, { userId }) => ({ api_token: eq(apiTokens.userId, userId) }),
  signed_out: async (_tx, { userId }) => ({
    session: sessionsOf(userId, undefined),
    cli_session: and(eq(sessions.userId, userId), isCli),
  }),
  async made_since(tx, { people, after, exceptSessionId }, now) {
    const { orgId, has } = people
    const agents = tx.select({ id: machineAgents.id }).from(machineAgents)
    const { orgIds, isBy } = people.lasting
    const sessionsSince = and(
      has(sessions.userId),
      orgId === null ? undefined : eq(sessions.orgId, orgId),
      gte(sessions.createdAt, after),
    )
    return {
      // An organization ends those that chose it last: a session opens every organization of its person, and one that works
      // in another is not this one's to end.
      session: and(
        sessionsSince,
        isBrowser,
        exceptSessionId === undefined ? undefined : ne(sessions.id, exceptSessionId),
      ),
      cli_session: and(sessionsSince, isCli),
      api_token: and(
        orgId === null ? undefined : eq(apiTokens.orgId, orgId),
        has(apiTokens.userId),
        // Whoever rotated one has its value.
        or(gte(apiTokens.createdAt, after), gte(apiTokens.rotatedAt, after)),
        or(isNull(apiTokens.expiresAt), gt(apiTokens.expiresAt, now)),
      ),
      grant: and(
        orgId === null ? undefined : eq(platformAccessGrants.orgId, orgId),
        or(
          has(platformAccessGrants.userId),
          inArray(platformAccessGrants.machineAgentId, agents.where(has(machineAgents.ownerId))),
        ),
        gte(platformAccessGrants.createdAt, after),
        gt(platformAccessGrants.expiresAt, now),
      ),
      machine_credential: and(
        has(machineAgentCredentials.createdBy),
        orgId === null ? undefined : inArray(machineAgentCredentials.agentId, agentsIn(tx, orgId)),
        gte(machineAgentCredentials.createdAt, after),
      ),
      scim_bearer: and(
        inArray(scimBearers.orgId, [...orgIds]),
        or(
          and(isBy(scimBearers.createdBy), gte(scimBearers.createdAt, after)),
          // Whoever rotated it has its value.
          and(isBy(scimBearers.rotatedBy), gte(scimBearers.rotatedAt, after)),
        ),
      ),
      app_token: and(
        inArray(appTokens.orgId, [...orgIds]),
        or(
          and(isBy(appTokens.createdBy), gte(appTokens.createdAt, after)),
          and(isBy(appTokens.rotatedBy), gte(appTokens.rotatedAt, after)),
        ),
      ),
      workload: and(
        inArray(workloadBindings.orgId, [...orgIds]),
        isBy(workloadBindings.createdBy),
        gte(workloadBindings.createdAt, after),
      ),
      invitation: and(
        orgId === null ? undefined : eq(invitations.orgId, orgId),
        or(has(invitations.invitedBy), people.withOperators ? isNull(invitations.invitedBy) : undefined),
        gte(invitations.createdAt, after),
        gt(invitations.expiresAt, now),
      ),
    }
  },
}

const GRANT_REASONS: { readonly [Name in EndingCause]?: EndReason } = { password_reset: 'revoked' }

type Ended = {
  readonly sessions: readonly { readonly orgId: string | null }[]
  readonly tokens: readonly (typeof apiTokens.$inferSelect)[]
  readonly grants: readonly (typeof platformAccessGrants.$inferSelect)[]
  readonly credentials: readonly Credential[]
  /** Of organizations and their apps, not of a person: SCIM bearers, tokens of apps, service accounts. */
  readonly bearers: readonly { readonly orgId: string }[]
  readonly invitations: readonly { readonly orgId: string }[]
}

/**
 * Sessions and tokens first: whatever is being made with them at this moment holds them, so it is waited for and then
 * found. The caller writes the audit rows.
 */
export async function endByCause(
  tx: Transaction,
  clock: Clock,
  { cause, ...details }: Cause,
): Promise<Ended> {
  const find = FINDERS[cause] as (
    tx: Transaction,
    details: object,
    now: Date,
  ) => Promise<{ readonly [Kind in CredentialKind]?: SQL | undefined }>
  const found = await find(tx, details, clock())
  const where = (kind: CredentialKind): SQL | undefined => {
    // A condition that got lost would end everybody's.
    if (kind in found && found[kind] === undefined) throw new Error(`${cause} finds every ${kind}`)
    return found[kind]
  }
  const [session, login, token, grant] = [
    where('session'),
    where('cli_session'),
    where('api_token'),
    where('grant'),
  ]
  const [credential, invitation] = [where('machine_credential'), where('invitation')]
  const [bearer, appToken, workload] = [where('scim_bearer'), where('app_token'), where('workload')]
  // One after the other: a login that is being approved holds its session, and is there once that was waited for.
  const browserSessions = session ? await endSessions(tx, clock, session) : []
  const kept = 'exceptSessionId' in details ? details.exceptSessionId : undefined
  if (login && kept !== undefined) {
    await tx.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, kept)).for('update')
  }
  const logins = login ? await endSessions(tx, clock, login) : []
  return {
    sessions: [...browserSessions, ...logins],
    tokens: token ? await revokeApiTokens(tx, clock, token) : [],
    grants: grant ? await endGrants(tx, clock, grant, GRANT_REASONS[cause] ?? 'access_ended') : [],
    credentials: credential ? await revokeCredentials(tx, clock, credential) : [],
    bearers: [
      ...(bearer ? await revokeScimBearers(tx, clock, bearer) : []),
      ...(appToken ? await revokeAppTokens(tx, clock, appToken) : []),
      ...(workload ? await removeServiceAccounts(tx, workload) : []),
    ],
    invitations: invitation ? await revokeInvitations(tx, clock, invitation) : [],
  }
}

const isBrowser = eq(sessions.kind, 'browser')
const isCli = eq(sessions.kind, 'cli')

const sessionsOf = (userId: string, except: string | undefined) =>
  and(eq(sessions.userId, userId), isBrowser, except === undefined ? undefined : ne(sessions.id, except))

const agentsIn = (tx: Transaction, orgId: string) =>
  tx.select({ id: machineAgents.id }).from(machineAgents).where(eq(machineAgents.orgId, orgId))

/** Also one that was never verified, as without a mail server. */
async function addressesOf(tx: Transaction, userId: string): Promise<string[]> {
  const rows = await tx
    .select({ own: users.email, told: identities.email })
    .from(users)
    .leftJoin(
      identities,
      and(eq(identities.userId, users.id), eq(identities.emailVerified, true), isNotNull(identities.email)),
    )
    .where(eq(users.id, userId))
  const emails = rows.flatMap(({ own, told }) => [own, told?.toLowerCase()])
  return [...new Set(emails.filter((email) => email !== undefined))]
}
