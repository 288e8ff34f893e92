/** Ends what was ended or taken before and may live again: a commit that nobody knows of, or one that the database has lost. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt, inArray, isNull, or, sql } from '../../../db/drizzle.ts'
import {
  apiTokens,
  appTokens,
  installationFacts,
  invitations,
  machineAgentCredentials,
  machineAgents,
  passwords,
  platformAccessGrants,
  scimBearers,
  sessions,
  supportSessions,
  workloadBindings,
} from '../../../db/schema.ts'
import { ENDED_KINDS, type EndedKind, type NarrowedKind } from '../../contracts/endings.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { narrowAppMemberAgain } from '../apps/index.ts'
import {
  endSessions,
  removeServiceAccounts,
  revokeAppTokens,
  revokeInvitations,
  revokeScimBearers,
} from '../credentials/index.ts'
import { narrowSourceAgain, setAccessAgain } from '../databases/index.ts'
import type { Clock } from '../dependencies.ts'
import {
  blockClientAgain,
  endGrants,
  narrowGrantAgain,
  switchOffAgain,
  type EndReason,
} from '../grants/index.ts'
import { narrowGroupAgain, removeGroupMemberAgain } from '../groups/index.ts'
import { pauseProviderAgain } from '../identity-provider/index.ts'
import { KEY_EPOCH_FACT } from '../key-epoch.ts'
import { endMachineAgent, revokeCredentials, shortenAgain } from '../machine-agents/index.ts'
import { narrowMaintenanceAgain, turnAppOffAgain } from '../maintenance/index.ts'
import { turnOffAgain } from '../notifications/index.ts'
import { endMemberships, lowerRoleAgain, turnOffSwitchesAgain } from '../organizations/index.ts'
import { deactivateAgain, lowerGroupRoleAgain, takePlaceAgain } from '../scim/index.ts'
import { endingsIn, recordEnding, type EndedRow, type Ending } from '../record-ending.ts'
import { isNarrowingLost } from '../right-versions.ts'

type EndAgain = (
  tx: Transaction,
  clock: Clock,
  which: {
    readonly orgId: string | null
    readonly ids: readonly string[]
    readonly rows: readonly EndedRow[]
  },
) => Promise<unknown>

/** Each as it ends by itself, with all that ends with it. Whatever is ended already stays as it is. */
const END_AGAIN: { readonly [Kind in EndedKind]: EndAgain } = {
  session: (tx, clock, { ids }) => endSessions(tx, clock, inArray(sessions.id, [...ids])),
  api_token: (tx, clock, { orgId, ids }) =>
    revokeApiTokens(tx, clock, and(eq(apiTokens.orgId, orgId!), inArray(apiTokens.id, [...ids]))),
  async grant(tx, clock, { rows }) {
    for (const [reason, of] of Map.groupBy(rows, ({ to }) => to!.reason as EndReason)) {
      // Another has taken its place, or its keys are gone; what else there is to end, its credential ends.
      if (ENDS_WITH_ANOTHER.has(reason)) continue
      const ids = of.map(({ id }) => id)
      await endGrants(tx, clock, inArray(platformAccessGrants.id, ids), reason)
    }
  },
  machine_credential: (tx, clock, { ids }) =>
    revokeCredentials(tx, clock, inArray(machineAgentCredentials.id, [...ids])),
  invitation: (tx, clock, { orgId, ids }) =>
    revokeInvitations(tx, clock, and(eq(invitations.orgId, orgId!), inArray(invitations.id, [...ids]))),
  app_token: (tx, clock, { orgId, ids }) =>
    revokeAppTokens(tx, clock, and(eq(appTokens.orgId, orgId!), inArray(appTokens.id, [...ids]))),
  async support_session(tx, clock, { ids }) {
    const ended = await tx
      .update(supportSessions)
      .set({ endedAt: clock() })
      .where(and(inArray(supportSessions.id, [...ids]), isNull(supportSessions.endedAt)))
      .returning({ id: supportSessions.id, orgId: supportSessions.orgId })
    recordEnding(tx, 'support_session', ended)
  },
  service_account: (tx, _clock, { ids }) => removeServiceAccounts(tx, inArray(workloadBindings.id, [...ids])),
  membership: (tx, clock, { orgId, ids }) => endMemberships(tx, clock, { orgId: orgId!, ids }),
  async machine_agent(tx, clock, { ids }) {
    const living = await tx
      .select()
      .from(machineAgents)
      .where(and(inArray(machineAgents.id, [...ids]), isNull(machineAgents.removedAt)))
      .orderBy(machineAgents.id)
      .for('update')
    for (const agent of living) await endMachineAgent(tx, clock, agent)
  },
  async machine_credential_rotated(tx, clock, { orgId, rows }) {
    for (const { id, to } of rows) {
      const expiresAt = new Date(to!.expiresAt!)
      const isLonger = and(
        eq(machineAgentCredentials.id, id),
        isNull(machineAgentCredentials.revokedAt),
        or(isNull(machineAgentCredentials.expiresAt), gt(machineAgentCredentials.expiresAt, expiresAt)),
      )
      if (expiresAt <= clock()) await revokeCredentials(tx, clock, isLonger)
      else {
        const shortened = await tx
          .update(machineAgentCredentials)
          .set({ expiresAt })
          .where(isLonger)
          .returning({ id: machineAgentCredentials.id })
        recordEnding(
          tx,
          'machine_credential_rotated',
          shortened.map((one) => ({ ...one, orgId, to: to! })),
        )
      }
    }
  },
  async password(tx, clock, { rows }) {
    for (const { id, orgId, was, to } of rows) {
      const changed = await tx
        .update(passwords)
        .set({ hash: to!.hash!, changedAt: clock() })
        .where(and(eq(passwords.userId, id), eq(passwords.hash, was!)))
        .returning({ id: passwords.userId })
      recordEnding(
        tx,
        'password',
        changed.map((one) => ({ ...one, orgId, was: was!, to: to! })),
      )
    }
  },
  async key_epoch(tx, _clock, { rows }) {
    for (const { id, to } of rows) {
      const isStill = and(eq(installationFacts.name, KEY_EPOCH_FACT), eq(installationFacts.value, id))
      const changed = await tx
        .update(installationFacts)
        .set({ value: to!.epoch })
        .where(isStill)
        .returning({ name: installationFacts.name })
      recordEnding(
        tx,
        'key_epoch',
        changed.map(() => ({ id, orgId: null, to: to! })),
      )
    }
  },
  api_token_rotated: (tx, clock, which) => rotatedAgain('api_token_rotated')(tx, clock, which),
  app_token_rotated: (tx, clock, which) => rotatedAgain('app_token_rotated')(tx, clock, which),
  async identity_provider(tx, clock, { rows }) {
    for (const row of rows) await pauseProviderAgain(tx, clock, row)
  },
  async grant_narrowed(tx, _clock, { rows }) {
    for (const row of rows) if (await narrowGrantAgain(tx, row)) recordEnding(tx, 'grant_narrowed', [row])
  },
  role: narrowedAgain('role', lowerRoleAgain),
  organization: narrowedAgain('organization', turnOffSwitchesAgain),
  client_block: narrowedAgain('client_block', blockClientAgain),
  async client_activity(tx, clock, { rows }) {
    for (const row of rows) {
      if (!(await isNarrowingLost(tx, 'client_activity', row))) continue
      const organizations = await switchOffAgain(tx, clock, row.id)
      recordEnding(
        tx,
        'client_activity',
        organizations.map(({ orgId }) => ({ ...row, orgId })),
      )
    }
  },
  data_source: narrowedAgain('data_source', narrowSourceAgain),
  app_member: narrowedAgain('app_member', narrowAppMemberAgain),
  integration: narrowedAgain('integration', turnOffAgain),
  machine_agent_expiry: narrowedAgain('machine_agent_expiry', shortenAgain),
  scim_bearer: (tx, clock, { orgId, ids }) =>
    revokeScimBearers(tx, clock, and(eq(scimBearers.orgId, orgId!), inArray(scimBearers.id, [...ids]))),
  scim_bearer_rotated: (tx, clock, which) => rotatedAgain('scim_bearer_rotated')(tx, clock, which),
  provisioned_person: narrowedAgain('provisioned_person', deactivateAgain),
  provisioned_place: narrowedAgain('provisioned_place', takePlaceAgain),
  group_role: narrowedAgain('group_role', lowerGroupRoleAgain),
  group: narrowedAgain('group', narrowGroupAgain),
  group_member: narrowedAgain('group_member', removeGroupMemberAgain),
  data_source_access: narrowedAgain('data_source_access', setAccessAgain),
  maintenance: narrowedAgain('maintenance', narrowMaintenanceAgain),
  app_maintenance: narrowedAgain('app_maintenance', turnAppOffAgain),
}

/** Only what the database does not know of: it may have been given again since. */
function narrowedAgain(
  kind: NarrowedKind,
  narrow: (tx: Transaction, clock: Clock, row: EndedRow) => Promise<boolean>,
): EndAgain {
  return async (tx, clock, { rows }) => {
    for (const row of rows)
      if ((await isNarrowingLost(tx, kind, row)) && (await narrow(tx, clock, row)))
        recordEnding(tx, kind, [row])
  }
}

const ENDS_WITH_ANOTHER: ReadonlySet<EndReason> = new Set(['credential_revoked', 'keys_rotated'])

const VALUES = {
  api_token_rotated: apiTokens,
  app_token_rotated: appTokens,
  scim_bearer_rotated: scimBearers,
} as const

/** As `rotatedOut` has it, by what the row has now. */
const rotatedAgain =
  (kind: keyof typeof VALUES): EndAgain =>
  async (tx, _clock, { rows }) => {
    const table = VALUES[kind] as unknown as typeof apiTokens
    for (const { orgId, id, was, to } of rows) {
      const rotated = await tx
        .update(table)
        .set({
          secretHash: to!.secretHash!,
          startsWith: to!.startsWith!,
          keyEpoch: to!.keyEpoch!,
          previousHash: sql`${table.secretHash}`,
          previousStartsWith: sql`${table.startsWith}`,
          previousUntil: new Date(to!.previousUntil!),
          previousLastUsedAt: sql`${table.lastUsedAt}`,
          lastUsedAt: null,
        })
        .where(and(eq(table.orgId, orgId!), eq(table.id, id), eq(table.secretHash, was!)))
        .returning({ id: table.id, orgId: table.orgId })
      recordEnding(
        tx,
        kind,
        rotated.map((one) => ({ ...one, was: was!, to: to! })),
      )
    }
  }

/** Which of them lived, and what ended with them. The caller writes the audit rows. */
export async function endAgain(
  tx: Transaction,
  clock: Clock,
  endings: readonly Ending[],
): Promise<readonly Ending[]> {
  const before = endingsIn(tx).length
  const byKind = Map.groupBy(endings, (one) => one.kind)
  for (const kind of Object.keys(ENDED_KINDS) as EndedKind[]) {
    for (const [orgId, rows] of Map.groupBy(byKind.get(kind) ?? [], (one) => one.orgId)) {
      await END_AGAIN[kind](tx, clock, { orgId, ids: rows.map(({ id }) => id), rows })
    }
  }
  return endingsIn(tx).slice(before)
}
