/**
 * Ends access and leaves a receipt, which is final once every process has acknowledged it. A rehearsal does the same and rolls
 * it back, so that it counts what would end; processes then count what they would cut off.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import {
  machineAgentCredentials,
  organizationClientBlocks,
  platformAccessGrants,
  receipts,
} from '../../../db/schema.ts'
import { ENDED_KINDS } from '../../contracts/endings.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { ReceiptOf } from '../../contracts/receipt-format.ts'
import { memberOf } from '../../trust/open-answers.ts'
import type { Clock } from '../dependencies.ts'
import { endGrant, endGrants, findManageableGrant } from '../grants/index.ts'
import { lockAuthor, type LockedAuthor } from '../lock-author.ts'
import { endMachineAgent, lockManageableAgent } from '../machine-agents/index.ts'
import { dropPersonalMessages } from '../notifications/index.ts'
import { endMember, lockOwners } from '../organizations/index.ts'
import { requireRole, type MemberPrincipal } from '../principal.ts'
import { recordAudit } from '../record-audit.ts'
import { endingsIn } from '../record-ending.ts'
import { recordNarrowing } from '../right-versions.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { endOrganization } from './end-organization.ts'
import { presentReceipt, type ReceiptRow } from './receipt-rows.ts'
import { readRemains } from './read-remains.ts'

type Author = LockedAuthor<MemberPrincipal>
/** `also`: whose answers end beside those of the credentials. `counted`: what ends without an ending of its own. */
type Ended = {
  readonly id: string
  readonly name: string
  readonly also?: readonly string[]
  readonly counted?: Readonly<Record<string, number>>
  /** Who has read connection strings; null: everybody. */
  readonly readBy?: string | null
}
type EndOne = (tx: Transaction, clock: Clock, author: Author, id: string) => Promise<Ended>

const END: { readonly [Of in ReceiptOf]: EndOne } = {
  async agent(tx, clock, author, id) {
    const grant = await findManageableGrant(tx, author, id)
    const reason = grant.userId === author.userId ? 'disconnected' : 'revoked'
    if (!(await endGrant(tx, clock, author, grant.id, reason))) throw notFound()
    return { id: grant.id, name: grant.clientName ?? grant.clientId }
  },
  async machine_agent(tx, clock, author, id) {
    const agent = await lockManageableAgent(tx, author, id)
    const credentials = await tx.$count(
      machineAgentCredentials,
      and(eq(machineAgentCredentials.agentId, id), sql`${machineAgentCredentials.revokedAt} is null`),
    )
    await endMachineAgent(tx, clock, agent)
    await recordAudit(tx, clock, author, {
      orgId: author.orgId,
      action: 'machine_agent.removed',
      subject: agent.name,
    })
    return { id, name: agent.name, counted: { machine_credential: credentials } }
  },
  async person(tx, clock, author, id) {
    const { orgId } = author
    if (id === author.userId)
      throw new ServiceError('CONFLICT', 'Your own access cannot be ended with a receipt', {
        hint: 'Leave the organization, or ask another owner.',
      })
    const member = await endMember(tx, clock, author, id)
    const messages = await dropPersonalMessages(tx, clock, { orgId, userId: id })
    return {
      id,
      name: member.email,
      also: [memberOf(orgId, id)],
      counted: { personal_message: messages },
      readBy: id,
    }
  },
  async client(tx, clock, author, id) {
    requireRole(author, 'admin')
    const { orgId } = author
    const blocked = await tx
      .insert(organizationClientBlocks)
      .values({ orgId, clientId: id, since: clock() })
      .onConflictDoNothing()
      .returning()
    // Blocked first: a connection that is being made waits, or is found.
    if (blocked.length > 0) {
      await recordNarrowing(tx, 'client_block', { id, orgId })
      await recordAudit(tx, clock, author, { orgId, action: 'client.blocked', subject: id })
    }
    const isIts = and(eq(platformAccessGrants.orgId, orgId), eq(platformAccessGrants.clientId, id))
    const [known] = await tx
      .select({ name: platformAccessGrants.clientName })
      .from(platformAccessGrants)
      .where(isIts)
      .limit(1)
    if (!known) throw notFound()
    await endGrants(tx, clock, isIts, 'revoked')
    return { id, name: known.name ?? id }
  },
  async organization(tx, clock, author) {
    requireRole(author, 'owner')
    const { orgId, organization } = author
    await endOrganization(tx, clock, orgId, author)
    return { id: orgId, name: organization?.name ?? orgId, readBy: null }
  },
}

/** Rolls back all that was done to find out what it would do. */
class Rehearsed extends Error {
  readonly found: Found
  constructor(found: Found) {
    super('a rehearsal')
    this.found = found
  }
}
type Found = Omit<typeof receipts.$inferInsert, 'isRehearsal'>

export const endWithReceipt: Verb<'endWithReceipt'> = writeInSteps(
  {
    audit: [
      'access.ended',
      'grant.revoked',
      'machine_agent.removed',
      'member.removed',
      'identity_link.removed',
      'client.blocked',
    ],
    events: 'org.member.removed',
  },
  async ({ db, clock, member, orgId, transaction }, { of, id, dry_run }) => {
    if ((id === undefined) !== (of === 'organization'))
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: [of === 'organization' ? 'id must be left out' : 'id is required'],
      })
    const row = dry_run ? await rehearse() : await transaction(({ tx }) => endAndInsert(tx))
    return presentReceipt(db, row)

    async function endAndInsert(tx: Transaction): Promise<ReceiptRow> {
      const found = await endOne(tx)
      const [inserted] = await tx
        .insert(receipts)
        .values({ ...found, isRehearsal: false })
        .returning()
      await recordAudit(tx, clock, member, {
        orgId,
        action: 'access.ended',
        subject: `${found.ofName}, receipt ${found.id}${inWords(found.ended)}`,
      })
      await notify(tx, 'endings')
      return inserted!
    }

    async function rehearse(): Promise<ReceiptRow> {
      const found = await transaction(async ({ tx }) => {
        throw new Rehearsed(await endOne(tx))
      }).catch((error: unknown) => {
        if (error instanceof Rehearsed) return error.found
        throw error
      })
      return transaction(async ({ tx }) => {
        const [inserted] = await tx
          .insert(receipts)
          .values({ ...found, isRehearsal: true })
          .returning()
        await notify(tx, 'endings')
        return inserted!
      })
    }

    async function endOne(tx: Transaction): Promise<Found> {
      if (of === 'person') await lockOwners(tx, orgId)
      const author = await lockAuthor(tx, clock, member, 'viewer')
      const ended = await END[of](tx, clock, author, id ?? orgId)
      const rows = endingsIn(tx)
      const now = clock()
      const byKind = Map.groupBy(rows, ({ kind }) => kind)
      const counts = Object.fromEntries([...byKind].map(([kind, { length }]) => [kind, length]))
      return {
        id: makeId('rct', now.getTime()),
        orgId,
        ofKind: of,
        ofId: ended.id,
        ofName: ended.name,
        byId: member.userId,
        byName: member.userName,
        beganAt: now,
        ended: onlySome({ ...counts, ...ended.counted }),
        remains: ended.readBy === undefined ? [] : await readRemains(tx, orgId, ended.readBy),
        whose: [...new Set([...rows.map((row) => row.id), ...(ended.also ?? [])])],
      }
    }
  },
)

const onlySome = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

const WORDS: Readonly<Record<string, string>> = { ...ENDED_KINDS, personal_message: 'queued message' }

function inWords(counts: Readonly<Record<string, number>>): string {
  const words = Object.entries(counts).map(([kind, count]) => `${count} ${WORDS[kind] ?? kind}`)
  return words.length === 0 ? '' : `: ${words.join(', ')}`
}
