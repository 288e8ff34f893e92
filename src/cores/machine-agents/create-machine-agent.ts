/** An agent without a person: a user that cannot sign in, a client, its first credential and its standing grant. */
import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgents, organizations, platformOauthClients, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { MACHINE_AGENTS_MAX } from '../../contracts/limits.ts'
import { mayGive } from '../../contracts/machine-agents.ts'
import { atLeast, type GrantableRole } from '../../contracts/roles.ts'
import type { MachineAgentScope } from '../../contracts/scopes.ts'
import type { Clock } from '../dependencies.ts'
import { describeApproval, narrowSources, sourceNames, type LivenessDeps } from '../grants/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import { listGrantableSources } from '../search/index.ts'
import { write, type Verb } from '../verb.ts'
import { insertCredential } from './credential-rows.ts'
import { lockOwner } from './lock-owner.ts'
import { expiryOf, presentOne, type Agent } from './machine-agent-rows.ts'
import { insertStandingGrant } from './standing-grant.ts'

export const createMachineAgent: Verb<'createMachineAgent', LivenessDeps> = write(
  { author: 'admin', audit: 'machine_agent.created' },
  async ({ tx, clock, member, orgId, userId, keyEpoch, audit }, input) => {
    refuseAboveOwn(member, input.role, input.scopes)
    await requireRoom(tx, orgId)
    const owner = await lockOwner(tx, orgId, input.owner_id ?? userId)
    const sources = await chosenSources(tx, orgId, input)
    const expiresAt = expiryOf(clock, input.expires_at)
    const { name, role } = input
    const agent = await insertAgent(tx, clock, { orgId, ...owner, name, role, expiresAt })
    const { secret } = await insertCredential(tx, { clock, keyEpoch }, member, agent.id, input.public_key)
    await insertStandingGrant(tx, clock, agent, { scopes: input.scopes, sources, keyEpoch: keyEpoch })
    const names = sources && (await sourceNames(tx, orgId, sources))
    await audit('machine_agent.created', `${name} as ${role}: ${describeApproval(input.scopes, names)}`)
    return { ...(await presentOne({ db: tx, clock, keyEpoch }, member, agent.id)), secret }
  },
)

function refuseAboveOwn(
  member: MemberPrincipal,
  role: GrantableRole,
  scopes: readonly MachineAgentScope[],
): void {
  if (!atLeast(member.role, role))
    throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
  if (!mayGive(member.role, { role, scopes }))
    throw new ServiceError('FORBIDDEN', 'Only owners may give maintenance:admin to a machine agent')
}

/** One at a time in an organization: a burst stays below the limit. */
async function requireRoom(tx: Transaction, orgId: string): Promise<void> {
  await tx
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, orgId))
    .for('no key update')
  const [live] = await tx
    .select({ count: count() })
    .from(machineAgents)
    .where(and(eq(machineAgents.orgId, orgId), isNull(machineAgents.removedAt)))
  if (live!.count < MACHINE_AGENTS_MAX) return
  throw new ServiceError(
    'CONFLICT',
    `The organization already has ${MACHINE_AGENTS_MAX} machine agents. Remove one first.`,
  )
}

/** Of those that its role may query. */
async function chosenSources(
  tx: Transaction,
  orgId: string,
  { role, sources }: { readonly role: GrantableRole; readonly sources?: readonly string[] | undefined },
): Promise<string[] | null> {
  if (sources === undefined) return null
  const { left, problems } = narrowSources(null, sources, await listGrantableSources(tx, orgId, role))
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  return left
}

type NewAgent = Pick<Agent, 'orgId' | 'ownerId' | 'ownerMembershipId' | 'name' | 'role' | 'expiresAt'>

/** No membership: it is in no list of members, counts for none, and is sent nothing. */
async function insertAgent(tx: Transaction, clock: Clock, given: NewAgent): Promise<Agent> {
  const now = clock()
  const id = makeId('mch', now.getTime())
  const userId = makeId('usr', now.getTime())
  // RFC 6761: nothing below `invalid` is ever anybody's address.
  const email = `${id}@machine.invalid`
  await tx.insert(users).values({ id: userId, email, name: given.name, kind: 'machine', createdAt: now })
  await tx.insert(platformOauthClients).values({ clientId: id, kind: 'machine', createdAt: now })
  const [agent] = await tx
    .insert(machineAgents)
    .values({ ...given, id, userId, clientId: id, createdAt: now })
    .returning()
  return agent!
}
