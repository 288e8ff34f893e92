/**
 * What a person, an API token or an agent reaches at this moment, and what it would reach after a change that is not saved. Every
 * answer is one of the code that decides when they call: it is asked with a principal as their call would have.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, asc, eq, inArray } from '../../../db/drizzle.ts'
import { apiTokens, apps, dataSources, platformAccessGrants } from '../../../db/schema.ts'
import type { AccessBarrier } from '../../contracts/access-reasons.ts'
import { queryDataSource } from '../../contracts/data-sources.ts'
import { notFound, ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { listAppMaintenance } from '../../contracts/maintenance.ts'
import { hasRoleFor, MCP_TOOL_NAMES, MCP_TOOLS, missingScopes } from '../../contracts/mcp-tools.ts'
import { isOpenTo } from '../../contracts/operation.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { SCOPE_NAMES, type Resource, type Scope } from '../../contracts/scopes.ts'
import { requireSourceReader } from '../apps/index.ts'
import { sourceIdOf } from '../databases/index.ts'
import { memberKey, type Directory, type Member, type WithDirectory } from '../directory/index.ts'
import {
  findLiveGrant,
  grantedScopes,
  isManageableGrant,
  listVisibleSources,
  rightsAfter,
  type LivenessDeps,
} from '../grants/index.ts'
import { findTokenRights } from '../identity/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import { barriersOf, namesOf, rowAccessOf } from '../search/index.ts'
import { read, type InputOf, type OutputOf, type Verb } from '../verb.ts'

type Access = OutputOf<'showAccess'>['now']
type Deps = { readonly db: Handle; readonly directory: Directory }
/** Somebody as their call would be, and where they may call tools. */
type Subject = { readonly principal: MemberPrincipal; readonly resources: readonly Resource[] }
type Found = { readonly now: Subject; readonly after?: Subject | undefined; readonly directory?: Directory }

export const showAccess: Verb<'showAccess', LivenessDeps & WithDirectory> = read(async (context, input) => {
  const { db, member } = context
  const found = await findSubject(context, member, input)
  const known = await listVisibleSources(db, member)
  const now = await accessOf(context, found.now, known)
  if (!found.after) return { now, after: null, loses: null }
  const after = await accessOf({ db, directory: found.directory ?? context.directory }, found.after, known)
  return { now, after, loses: lossOf(now, after) }
})

async function findSubject(
  context: LivenessDeps & WithDirectory,
  member: MemberPrincipal,
  input: InputOf<'showAccess'>,
): Promise<Found> {
  const { user_id, token_id, grant_id, role, scopes, sources, used_within_days } = input
  const given = [user_id, token_id, grant_id].filter((id) => id !== undefined)
  const narrowing = { scopes, sources, used_within_days }
  const isNarrowed = Object.values(narrowing).some((value) => value !== undefined)
  const problems = [
    ...(given.length === 1 ? [] : ['one of user_id, token_id and grant_id must be given']),
    ...(role !== undefined && user_id === undefined ? ['role: is for a member, with user_id'] : []),
    ...(isNarrowed && grant_id === undefined
      ? ['scopes, sources and used_within_days are for an agent']
      : []),
  ]
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  if (user_id !== undefined) return findPerson(context, member, user_id, role)
  if (token_id !== undefined) return { now: await findToken(context, member, token_id) }
  return findAgent(context, member, grant_id!, isNarrowed ? narrowing : undefined)
}

/** Nobody's call yet: of whoever asks, only the organization and the request stay. */
const principalOf = (
  { orgId, organization, requestId, address }: MemberPrincipal,
  who: Pick<MemberPrincipal, 'kind' | 'userId' | 'role' | 'scopes' | 'sources' | 'carriesAppRoles'> &
    Pick<Partial<MemberPrincipal>, 'machineAgent'>,
): MemberPrincipal => ({
  ...who,
  orgId,
  organization,
  requestId,
  address,
  userName: '',
  userEmail: null,
  audiences: [],
  expiresAt: null,
  entryPoint: 'api',
})

const mayAskAbout = (member: MemberPrincipal, userId: string): boolean =>
  userId === member.userId || atLeast(member.role, 'admin')

async function findPerson(
  { db, directory }: Deps,
  member: MemberPrincipal,
  userId: string,
  role: Role | undefined,
): Promise<Found> {
  if (!mayAskAbout(member, userId)) throw notFound()
  const key = { orgId: member.orgId, userId }
  const person = (await directory.readMembers(db, [key])).get(memberKey(key))
  if (!person) throw notFound()
  const about = { kind: 'user', userId, scopes: null, sources: null, carriesAppRoles: true } as const
  const withRole = (of: Role): Subject => ({
    principal: principalOf(member, { ...about, role: of }),
    resources: [],
  })
  if (role === undefined) return { now: withRole(person.role) }
  return { now: withRole(person.role), after: withRole(role), directory: asIfRole(directory, userId, role) }
}

/** The rules read somebody's role again; here it is the one that they would have. */
const asIfRole = (directory: Directory, userId: string, role: Role): Directory => ({
  ...directory,
  async readMembers(db, keys) {
    const members = await directory.readMembers(db, keys)
    return new Map(
      [...members].map(([key, one]): [string, Member] => {
        const isTheirs = keys.some((given) => given.userId === userId && memberKey(given) === key)
        return [key, isTheirs ? { ...one, role } : one]
      }),
    )
  },
  async readMembership(db, principal) {
    const membership = await directory.readMembership(db, principal)
    return membership && principal.userId === userId ? { ...membership, role } : membership
  },
})

async function findToken(deps: LivenessDeps, member: MemberPrincipal, tokenId: string): Promise<Subject> {
  const [row] = await deps.db
    .select({ userId: apiTokens.userId })
    .from(apiTokens)
    .where(and(eq(apiTokens.orgId, member.orgId), eq(apiTokens.id, tokenId)))
  if (!row || !mayAskAbout(member, row.userId)) throw notFound()
  const rights = await findTokenRights(deps, { orgId: member.orgId, tokenId }).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'UNAUTHENTICATED' ? notFound() : error
  })
  const { user, role, scopes, audiences, carriesAppRoles } = rights
  const principal = principalOf(member, {
    kind: 'api_token',
    userId: user.id,
    role,
    scopes,
    sources: null,
    carriesAppRoles,
  })
  return { principal, resources: audiences.filter((one) => one !== 'api') }
}

async function findAgent(
  deps: LivenessDeps,
  member: MemberPrincipal,
  grantId: string,
  narrowing: Parameters<typeof rightsAfter>[2] | undefined,
): Promise<Found> {
  const { db } = deps
  const [grant] = await db
    .select()
    .from(platformAccessGrants)
    .where(isManageableGrant(db, member, grantId))
  const live = grant && (await findLiveGrant(deps, grantId))
  if (!live) throw notFound()
  const { role, user, machineAgent } = live
  const withRights = (scopes: Scope[], sources: string[] | null): Subject => ({
    principal: principalOf(member, {
      kind: 'actor',
      userId: user.id,
      role,
      scopes,
      sources,
      carriesAppRoles: live.grant.carriesAppRoles,
      ...(machineAgent && { machineAgent: { id: machineAgent.id, ownerId: machineAgent.ownerId } }),
    }),
    resources: [grant.resource],
  })
  const now = withRights(grantedScopes(grant), grant.sources)
  if (!narrowing) return { now }
  const { left } = await rightsAfter(deps, grant, narrowing, await listVisibleSources(db, member))
  return { now, after: withRights(left.scopes, left.sources) }
}

async function accessOf(
  { db, directory }: Deps,
  { principal, resources }: Subject,
  known: readonly { readonly id: string }[],
): Promise<Access> {
  return {
    role: principal.role,
    scopes: principal.scopes && [...principal.scopes],
    sources: await reachedSources({ db, directory }, principal, known),
    apps: await reachedApps({ db, directory }, principal),
    tools: MCP_TOOL_NAMES.filter((name) => resources.includes(MCP_TOOLS[name].resource)).map((name) => {
      const scopes = principal.scopes ?? SCOPE_NAMES
      const why: AccessBarrier[] = [
        ...(missingScopes(MCP_TOOLS[name], scopes).length > 0 ? (['scope'] as const) : []),
        ...(hasRoleFor(MCP_TOOLS[name], principal.role) ? [] : (['role'] as const)),
      ]
      return { name, reached: why.length === 0, why }
    }),
  }
}

async function reachedSources(
  deps: Deps,
  principal: MemberPrincipal,
  known: readonly { readonly id: string }[],
): Promise<Access['sources']> {
  if (known.length === 0) return []
  const ids = known.map(({ id }) => id)
  const rows = await deps.db
    .select()
    .from(dataSources)
    .where(and(eq(dataSources.orgId, principal.orgId), inArray(dataSources.id, ids)))
    .orderBy(asc(dataSources.name))
  const scope: AccessBarrier[] = isOpenTo(principal.scopes, queryDataSource) ? [] : ['scope']
  // The same for all sources.
  let names: ReturnType<typeof namesOf> | undefined
  const readNames = () => (names ??= namesOf(deps, principal))
  return Promise.all(
    rows.map(async (row) => {
      const why = [...scope, ...barriersOf(principal, row)]
      const access = await rowAccessOf(deps, principal, row, readNames)
      return {
        id: row.id,
        source_id: sourceIdOf(row.name),
        name: row.title,
        minimum_role: row.minimumRole,
        reached: why.length === 0,
        why,
        rows: access === 'all' ? ('all' as const) : ('limited' as const),
        rows_of: access === 'all' ? [] : [...access.names],
      }
    }),
  )
}

async function reachedApps({ db, directory }: Deps, principal: MemberPrincipal): Promise<Access['apps']> {
  const why: AccessBarrier[] = isOpenTo(principal.scopes, listAppMaintenance) ? [] : ['scope']
  const rows = await db.select({ alias: apps.alias }).from(apps).where(eq(apps.orgId, principal.orgId))
  let readable = 0
  if (why.length === 0)
    for (const { alias } of rows) if (await isReader(directory, db, principal, alias)) readable += 1
  return { reached: why.length === 0, why, count: rows.length, readable }
}

const NO_READER: readonly ErrorCode[] = ['FORBIDDEN', 'NOT_FOUND']

const isReader = (directory: Directory, db: Handle, principal: MemberPrincipal, alias: string) =>
  requireSourceReader(directory, db, principal, alias).then(
    () => true,
    (error: unknown) => {
      // It may have been removed meanwhile.
      if (error instanceof ServiceError && NO_READER.includes(error.code)) return false
      throw error
    },
  )

function lossOf(now: Access, after: Access): NonNullable<OutputOf<'showAccess'>['loses']> {
  const left = new Map(after.sources.map((source) => [source.id, source]))
  const held = now.sources.filter(({ reached }) => reached)
  const lost = held.filter(({ id }) => !left.get(id)?.reached)
  const fewer = held.filter(({ id, rows_of }) => {
    const kept = left.get(id)
    return kept?.reached === true && rows_of.some((name) => !kept.rows_of.includes(name))
  })
  const tools = new Set(after.tools.filter(({ reached }) => reached).map(({ name }) => name))
  return {
    sources: lost.map(({ name }) => name),
    rows: fewer.map(({ name }) => name),
    apps: Math.max(0, now.apps.readable - after.apps.readable),
    tools: now.tools.filter(({ name, reached }) => reached && !tools.has(name)).map(({ name }) => name),
  }
}
