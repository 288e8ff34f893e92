/**
 * What credentials may do, as they find out themselves: read before and after everything that somebody does to people,
 * roles, parts, settings and secrets. Operations and their inputs come from the table of operations.
 */
import fc from 'fast-check'
import { eq } from '../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../db/schema.ts'
import { createAppToken, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, renameApp, setAppMember } from '../../src/contracts/apps.ts'
import type { CredentialKind } from '../../src/contracts/credential-kinds.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { claimPipelineRun } from '../../src/contracts/pipelines.ts'
import { atLeast, GRANTABLE_ROLES, ROLES, type GrantableRole, type Role } from '../../src/contracts/roles.ts'
import { SCOPE_NAMES } from '../../src/contracts/scopes.ts'
import { rotateApiToken } from '../../src/contracts/tokens.ts'
import { actorOf, signActor } from './actor.ts'
import { API_OPERATIONS, inputsOf, pathWith, queryOf, type ApiOperation, type Known } from './api-requests.ts'
import { signInCli } from './cli-login.ts'
import { agentOf } from './data-sources.ts'
import { makeMachineAgent } from './machine-agents.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from './make.ts'
import { OPERATOR_TOKEN, type TestSystem } from './system.ts'

/** What was stored when it was made. */
type Birth = {
  readonly roleCap: GrantableRole
  readonly carriesAppRoles: boolean
  /** Null: not limited. */
  readonly scopes: readonly string[] | null
  readonly sources: readonly string[] | null
}
const UNLIMITED: Birth = { roleCap: 'owner', carriesAppRoles: true, scopes: null, sources: null }

export type Held = {
  readonly name: string
  readonly kind: CredentialKind
  readonly birth: Birth
  /** Some live for a minute: each call gets a fresh one. */
  readonly token: () => Promise<string>
  /** Of one that has a value: the next one. */
  readonly rotate?: () => Promise<string>
}

export type RightsWorld = {
  readonly org: Org
  readonly alias: string
  readonly held: readonly Held[]
  readonly known: Known
}

/** Somebody of each role, with a part in an app and one credential of each kind. */
export async function makeRightsWorld(
  system: TestSystem,
  roles: readonly Role[] = ROLES,
): Promise<RightsWorld> {
  const [org, alias] = [await makeOrganization(system), unique('app')]
  await org.owner.call(createApp, { alias, name: 'Shop' })
  const held: Held[] = []
  const ids = { users: [] as string[], tokens: [] as string[], grants: [] as string[] }
  for (const role of roles) {
    const person = await makeMember(system, org, role)
    ids.users.push(person.userId)
    await org.owner.call(setAppMember, { alias, user_id: person.userId, role: 'maintainer' })
    await hold(system, org, role, person, held, ids)
  }
  const agent = await makeMachineAgent(org.owner, { role: 'developer' })
  const { owner } = org
  const about = {
    userId: agent.user_id,
    orgId: org.id,
    scopes: ['data:read'] as const,
    clientId: agent.client_id,
  }
  held.push({
    name: 'a token of a machine agent',
    kind: 'machine_credential',
    birth: { roleCap: 'developer', carriesAppRoles: false, scopes: ['data:read'], sources: null },
    token: async () => {
      // Its grant is replaced by what ends its tokens; the credential asks for the next one.
      const [now] = await system.db
        .select({ id: platformAccessGrants.id })
        .from(platformAccessGrants)
        .innerJoin(machineAgents, eq(machineAgents.id, platformAccessGrants.machineAgentId))
        .where(eq(machineAgents.id, agent.id))
        .orderBy(platformAccessGrants.id)
      return signActor(system, { ...about, grantId: now!.id })
    },
  })
  const appToken = await owner.call(createAppToken, { alias, name: 'worker', scope: 'apps:report' })
  held.push({
    name: 'an app token',
    kind: 'app_token',
    birth: { roleCap: 'viewer', carriesAppRoles: false, scopes: [], sources: null },
    token: async () => appToken.token,
    rotate: async () => (await owner.call(rotateAppToken, { alias, token_id: appToken.id })).token,
  })
  const known: Known = {
    org_id: [org.id],
    org: [org.id],
    organization: [org.id],
    user_id: ids.users,
    owner_id: ids.users,
    token_id: ids.tokens,
    'rotateAppToken.token_id': [appToken.id],
    'revokeAppToken.token_id': [appToken.id],
    grant_id: [...ids.grants, agent.grant_id],
    machine_agent_id: [agent.id],
    credential_id: [agent.credentials[0]!.id],
    client_id: [agent.client_id],
    alias: [alias],
    app: [alias],
    'createApp.alias': [unique('app')],
    since: ['2026-01-01T00:00:00Z'],
    expires_at: [new Date(system.clock.now().getTime() + 86_400_000).toISOString()],
    email: [`${unique('invited')}@people.test`],
  }
  return { org, alias, held, known }
}

async function hold(
  system: TestSystem,
  org: Org,
  role: Role,
  person: Person,
  held: Held[],
  ids: { tokens: string[]; grants: string[] },
): Promise<void> {
  const whose = `of somebody who was ${role}`
  held.push({
    name: `the session ${whose}`,
    kind: 'session',
    birth: UNLIMITED,
    token: async () => person.token,
  })
  const cli = await signInCli(system, org, person)
  held.push({
    name: `a login of the client ${whose}`,
    kind: 'cli_session',
    birth: UNLIMITED,
    token: async () => cli.access,
  })
  const call = system.as({ token: person.token, organization: org.id })
  const tokens: [string, Partial<Birth>, Parameters<typeof makeApiToken>[3]][] = [
    ['not capped', {}, {}],
    ['capped to viewing', { roleCap: 'viewer', carriesAppRoles: false }, { role_cap: 'viewer' }],
    ['with a scope', { scopes: ['data:read'] }, { scopes: ['data:read'] }],
  ]
  if (atLeast(role, 'developer'))
    tokens.push(['capped to developing', { roleCap: 'developer' }, { role_cap: 'developer' }])
  for (const [name, birth, asked] of tokens) {
    const made = await makeApiToken(system, org, person, asked)
    ids.tokens.push(made.id)
    held.push({
      name: `an API token, ${name}, ${whose}`,
      kind: 'api_token',
      birth: { ...UNLIMITED, ...birth },
      token: async () => made.token,
      rotate: async () => (await call(rotateApiToken, { token_id: made.id })).token,
    })
    if (name !== 'capped to viewing') continue
    held.push({
      name: `an assertion for the API token, ${name}, ${whose}`,
      kind: 'assertion',
      birth: { ...UNLIMITED, ...birth, scopes: ['data:read'] },
      token: () => signActor(system, actorOf(org, person, made.id)),
    })
  }
  const source = `ds_${'1'.repeat(25)}`
  const agent = await agentOf(system, org, person, [source])
  held.push({
    name: `a grant ${whose}`,
    kind: 'grant',
    birth: { ...UNLIMITED, scopes: ['data:read'], sources: [source] },
    token: async () => (await agent()).token,
  })
}

type Rights = ReadonlySet<string>

/** Nothing for one that has ended. */
export async function rightsOf(system: TestSystem, { org, alias }: RightsWorld, one: Held): Promise<Rights> {
  const call = system.as({ token: await one.token(), organization: org.id })
  const may = (attempt: Promise<unknown>, right: string) =>
    attempt.then(
      () => [right],
      () => [],
    )
  if (one.kind === 'app_token')
    return new Set(await may(call(claimPipelineRun, { alias, worker: 'w', pipelines: ['none'] }), 'reports'))
  const who = await call(whoAmI, {}).catch(() => undefined)
  if (who?.role == null) return new Set()
  const { role, scopes, sources } = who
  return new Set([
    ...GRANTABLE_ROLES.filter((each) => atLeast(role, each)).map((each) => `role ${each}`),
    ...(scopes === null ? ['unscoped', ...SCOPE_NAMES.map((each) => `scope ${each}`)] : []),
    ...(scopes ?? []).map((each) => `scope ${each}`),
    ...(sources === undefined ? ['all sources'] : sources.map((each) => `source ${each}`)),
    // Closed to scopes by their declaration.
    ...(scopes === null
      ? [
          ...(await may(call(renameApp, { alias, name: 'Shop' }), 'changes the app')),
          ...(await may(call(listLogs, { alias }), 'reads logs')),
        ]
      : []),
  ])
}

/** What it could do at most with what it stored at birth, whoever its person is by now. */
export function isWithinBirth({ kind, birth }: Held, right: string): boolean {
  const { roleCap, carriesAppRoles, scopes, sources } = birth
  if (kind === 'app_token') return right === 'reports'
  const [what = '', value = ''] = right.split(' ')
  switch (what) {
    case 'role':
      return atLeast(roleCap, value as GrantableRole)
    case 'unscoped':
      return scopes === null
    case 'scope':
      return scopes === null || scopes.includes(value)
    case 'all':
      return sources === null
    case 'source':
      return sources === null || sources.includes(value)
    case 'changes':
      return scopes === null && (carriesAppRoles || atLeast(roleCap, 'admin'))
    case 'reads':
      return scopes === null && (carriesAppRoles || atLeast(roleCap, 'developer'))
    default:
      return false
  }
}

const declared = new Map<string, Operation>(OPERATIONS.map((op) => [op.name, op]))
const changes = ({ name }: ApiOperation) => !declared.get(name)!.readOnly

/** Everything that changes something; what removes comes last, so that there is something to remove. */
export const CHANGING = API_OPERATIONS.filter(changes).toSorted(
  (a, b) => Number(declared.get(a.name)!.destructive) - Number(declared.get(b.name)!.destructive),
)

/** About people, roles, parts in apps, settings of the organization, and credentials. */
export const ABOUT_RIGHTS = CHANGING.filter(
  ({ path }) =>
    /^\/api\/v1\/(orgs|admin\/orgs|tokens|grants|oauth-clients|machine-agents|access|sessions|profile)/.test(
      path,
    ) || /^\/api\/deploy\/apps(\/\{alias\}(\/(members|tokens).*)?)?$/.test(path),
)

export type Walked = { events: number; done: number; took: number; gave: number }

/** Does each operation with inputs of this seed, and looks at everybody's rights after each. */
export async function walkRights(
  system: TestSystem,
  world: RightsWorld,
  operations: readonly ApiOperation[],
  { seed, each }: { seed: number; each: number },
  found: (problem: string) => void,
): Promise<Walked> {
  const read = async () =>
    new Map(
      await Promise.all(world.held.map(async (one) => [one, await rightsOf(system, world, one)] as const)),
    )
  let before = await read()
  const walked: Walked = { events: 0, done: 0, took: 0, gave: 0 }
  for (const op of operations) {
    for (const input of fc.sample(inputsOf(op, world.known, 0), { seed, numRuns: each })) {
      const status = await ask(system, world, op, input)
      const after = await read()
      walked.events += 1
      if (status < 300) walked.done += 1
      const lost = world.held.filter((one) =>
        [...before.get(one)!].some((right) => !after.get(one)!.has(right)),
      )
      const gained = world.held.filter((one) =>
        [...after.get(one)!].some((right) => !before.get(one)!.has(right)),
      )
      if (lost.length > 0) walked.took += 1
      if (gained.length > 0) walked.gave += 1
      const event = `${op.name} ${JSON.stringify(input)} (${status})`
      for (const one of world.held) {
        const above = [...after.get(one)!].filter((right) => !isWithinBirth(one, right))
        if (above.length > 0) found(`after ${event}, ${one.name}: ${above.join(', ')}`)
      }
      if (lost.length > 0)
        for (const one of gained)
          found(
            `${event} took from ${lost[0]!.name} and gave to ${one.name}: ${[...after.get(one)!].join(', ')}`,
          )
      before = after
    }
  }
  return walked
}

/** By an owner who holds nothing else, new each time: what they do may end themself. */
async function ask(
  system: TestSystem,
  { org }: RightsWorld,
  op: ApiOperation,
  { path, query, body }: { path: object; query: object; body: object | undefined },
): Promise<number> {
  const isOperators = declared.get(op.name)!.access === 'operator'
  const token = isOperators ? OPERATOR_TOKEN : (await makeMember(system, org, 'owner')).token
  const response = await system.fetch(pathWith(op, path as never) + queryOf(query as never), {
    method: op.method,
    headers: {
      authorization: `Bearer ${token}`,
      'x-svc-org': org.id,
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  await response.text()
  return response.status
}
