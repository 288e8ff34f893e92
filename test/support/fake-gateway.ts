/** A gateway with its data in memory, for the console's unit tests. */
import { Hono } from 'hono'
import type * as z from 'zod'
import type { Service } from '../../src/client/service.ts'
import * as access from '../../src/contracts/access.ts'
import { AUDIT_ACTIONS, listAudit } from '../../src/contracts/audit.ts'
import { ERRORS, notFound, ServiceError } from '../../src/contracts/errors.ts'
import * as grants from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import * as members from '../../src/contracts/members.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import * as organizations from '../../src/contracts/organizations.ts'
import { pageOf, readCursor } from '../../src/contracts/paging.ts'
import * as people from '../../src/contracts/people.ts'
import { atLeast, type Role } from '../../src/contracts/roles.ts'
import * as sessions from '../../src/contracts/sessions.ts'
import * as tokens from '../../src/contracts/tokens.ts'
import { fakeAppOverview, seedAppOverview } from './fake-app-overview.ts'
import { fakeAppSource, seedAppSource } from './fake-app-source.ts'
import { fakePipelines, seedPipelines } from './fake-pipelines.ts'
import { fakeApps, seedApps } from './fake-apps.ts'
import { fakeChecks, seedChecks } from './fake-checks.ts'
import { fakeIdentityProvider, seedIdentityProvider } from './fake-identity-provider.ts'
import { fakeMachineAgents, seedMachineAgents } from './fake-machine-agents.ts'
import { fakeLoads, seedLoads } from './fake-loads.ts'
import { fakeDataSources, seedDataSources, type FakeContext } from './fake-data-sources.ts'
import { fakeLogs, seedLogs } from './fake-logs.ts'
import { fakeMaintenance, seedMaintenance } from './fake-maintenance-gateway.ts'
import { fakeNotifications, seedNotifications } from './fake-notifications.ts'

type Org = z.output<typeof organizations.Organization>
type Member = z.output<typeof members.Member>
type Invitation = z.output<typeof members.Invitation>
type ApiToken = z.output<typeof tokens.ApiToken>
type Grant = z.output<typeof grants.Grant>
type Entry = z.output<typeof listAudit.output>['audit'][number]
type Session = z.output<typeof sessions.listSessions.output>['sessions'][number]

export type FakeGateway = ReturnType<typeof createFakeGateway>
type Asked = { org: string | null; token: string }
type Handlers = Map<Operation, (input: never, asked: Asked) => unknown>

export function createFakeGateway({
  clock,
  role = 'owner',
  name = 'Ada Lovelace',
  sendsMail = false,
}: {
  clock: () => Date
  role?: Role
  name?: string
  sendsMail?: boolean
}) {
  const id = (prefix: Parameters<typeof makeId>[0]) => makeId(prefix, clock().getTime())
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const me = { id: id('usr'), email: 'ada@northwind.example', name }
  const data = {
    me,
    organizations: [] as Org[],
    /** Of others: reached by support sessions only. */
    elsewhere: [] as Org[],
    chosen: null as string | null,
    members: [] as Member[],
    invitations: [] as Invitation[],
    tokens: [] as ApiToken[],
    grants: [] as Grant[],
    blockedClients: new Set<string>(),
    audit: [] as Entry[],
    sessions: [] as Session[],
    profile: {
      ...me,
      email_verified: false,
      receives_mail: true,
      can_verify_email: true,
      has_password: true,
      identities: [{ provider: 'google', email: me.email as string | null }],
      created_at: daysAgo(400),
    },
    liveTokens: new Set<string>(),
    codes: new Map<string, string>(),
    /** Every request as `METHOD path`, for tests that count. */
    seen: [] as string[],
    rotationConflicts: false,
  }

  const addOrganization = (name: string, own: Role): Org => {
    const org: Org = {
      id: id('org'),
      name,
      slug: name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
      role: own,
      domains: ['northwind.example'],
      agents_enabled: true,
      identity_provider: 'none',
      registered_clients: 'allowed',
      admins_may_invite: false,
      timezone: 'Europe/Vienna',
      support_access_enabled: true,
      created_at: daysAgo(90),
    }
    data.organizations.push(org)
    return org
  }
  const addMember = (
    name: string,
    email: string,
    role: Role,
    joined_by: Member['joined_by'] = 'invitation',
  ) => {
    const member: Member = { user_id: id('usr'), name, email, role, joined_at: daysAgo(30), joined_by }
    data.members.push(member)
    return member
  }
  const issue = (): string => {
    const iat = Math.floor(clock().getTime() / 1000)
    const payload = Buffer.from(JSON.stringify({ iat, jti: crypto.randomUUID() })).toString('base64url')
    const token = `head.${payload}.signature`
    data.liveTokens.add(token)
    return token
  }
  const sessionToken = () => ({
    token: issue(),
    expires_at: new Date(clock().getTime() + 12 * 3_600_000).toISOString(),
    user: me,
    organization: null,
  })
  const current = (orgId: string): Org =>
    [...data.organizations, ...data.elsewhere].find(({ id }) => id === orgId) ?? fail(notFound())
  const page = <Row extends { id?: string; user_id?: string }>(
    rows: readonly Row[],
    input: { limit: number; cursor?: string | undefined },
  ) => {
    const key = (row: Row) => [row.id ?? row.user_id ?? '']
    const after = readCursor(input.cursor, 1)?.[0]
    const start = after === undefined ? 0 : rows.findIndex((row) => key(row)[0] === after) + 1
    return pageOf(rows.slice(start), input.limit, key)
  }
  const list = <Name extends string, Row extends { id?: string; user_id?: string }>(
    name: Name,
    rows: readonly Row[],
    input: { limit: number; cursor?: string | undefined; count?: boolean },
  ) => {
    const { rows: shown, ...more } = page(rows, input)
    return { [name]: shown, ...more, ...(input.count && { total: rows.length }) }
  }
  const without = <Row>(rows: Row[], matches: (row: Row) => boolean) => {
    const at = rows.findIndex(matches)
    if (at < 0) throw notFound()
    rows.splice(at, 1)
    return {}
  }

  const handlers: Handlers = new Map()
  const on = <I extends z.ZodObject, O extends z.ZodObject>(
    operation: Operation<I, O>,
    handle: (input: z.output<I>, asked: Asked) => unknown,
  ) => handlers.set(operation, handle)

  on(people.whoAmI, (_input, { org }) => {
    const support = apps.data.mySupportSessions.find(({ organization }) => organization.id === org)
    const known = support ? data.elsewhere : data.organizations
    const found = known.find(({ id }) => id === (org ?? data.chosen))
    if (found && support) found.role = support.level
    return {
      kind: 'user',
      user: me,
      organization: found ? { id: found.id, name: found.name, slug: found.slug } : null,
      role: found?.role ?? null,
      scopes: null,
      audiences: ['api'],
      expires_at: null,
      session_id: data.sessions[0]?.id,
      support_session_id: support?.id,
    }
  })
  on(people.showProfile, () => data.profile)
  on(people.updateProfile, ({ name }) => Object.assign(data.profile, { name }))
  on(access.endAccessSince, ({ since, all, user_id }) => {
    if ((all || user_id !== undefined) && !atLeast(current(data.chosen ?? '').role, 'admin')) {
      throw new ServiceError('FORBIDDEN')
    }
    const isEnded = (token: ApiToken) =>
      Date.parse(token.created_at) >= Date.parse(since) && (all || token.user_id === (user_id ?? me.id))
    const ended = data.tokens.filter(isEnded)
    data.tokens = data.tokens.filter((token) => !isEnded(token))
    return { sessions: 2, tokens: ended.length, grants: 0, credentials: all ? 3 : 0, invitations: 1 }
  })
  on(people.changePassword, ({ current_password, end_api_tokens }) => {
    if (current_password !== 'correct horse battery')
      throw new ServiceError('FORBIDDEN', 'The current password is not right')
    if (end_api_tokens) data.tokens = data.tokens.filter(({ user_id }) => user_id !== me.id)
    return {}
  })
  on(people.sendEmailVerification, () => ({}))
  on(organizations.listOrganizations, (input) => list('organizations', data.organizations, input))
  on(organizations.showOrganization, ({ org_id }) => current(org_id))
  on(organizations.createOrganization, ({ name }) => addOrganization(name, 'owner'))
  on(organizations.switchOrganization, ({ org_id }) => {
    data.chosen = current(org_id).id
    return {}
  })
  on(organizations.updateOrganization, ({ org_id, ...change }) => {
    if (!atLeast(current(org_id).role, 'admin')) throw new ServiceError('FORBIDDEN')
    return Object.assign(
      current(org_id),
      Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
    )
  })
  on(members.listMembers, ({ role, search, ...input }) => {
    const fits = ({ name, email }: Member) =>
      `${name} ${email}`.toLowerCase().includes(search?.toLowerCase() ?? '')
    return list(
      'members',
      data.members.filter((member) => (!role || member.role === role) && fits(member)),
      input,
    )
  })
  on(members.changeMemberRole, ({ user_id, role }) => {
    const member = data.members.find((one) => one.user_id === user_id) ?? fail(notFound())
    const owners = data.members.filter((one) => one.role === 'owner')
    if (owners.length === 1 && owners[0] === member && role !== 'owner') {
      throw new ServiceError('CONFLICT', 'The last owner cannot be lowered', {
        hint: 'Make somebody else an owner first.',
      })
    }
    return Object.assign(member, { role })
  })
  on(members.removeMember, ({ user_id }) => without(data.members, (one) => one.user_id === user_id))
  on(members.inviteMember, ({ email, role }) => {
    if (data.invitations.some((one) => one.email === email))
      throw new ServiceError('CONFLICT', 'An invitation for this address is waiting already')
    const invitation: Invitation = {
      id: id('inv'),
      email,
      role,
      invited_by: me.name,
      by_owner: false,
      created_at: daysAgo(0),
      expires_at: daysAgo(-7),
    }
    data.invitations.push(invitation)
    return sendsMail
      ? invitation
      : { ...invitation, invitation_url: `http://localhost:4000/auth/invitation#${crypto.randomUUID()}` }
  })
  on(members.listInvitations, (input) => list('invitations', data.invitations, input))
  on(members.revokeInvitation, ({ invitation_id }) =>
    without(data.invitations, (one) => one.id === invitation_id),
  )
  on(sessions.exchangeSignInCode, ({ code, code_verifier }) => {
    const challenge = data.codes.get(code)
    data.codes.delete(code)
    if (challenge === undefined || !code_verifier) throw new ServiceError('UNAUTHENTICATED')
    return sessionToken()
  })
  on(sessions.rotateSession, () => {
    if (data.rotationConflicts) throw new ServiceError('CONFLICT')
    return sessionToken()
  })
  on(sessions.listSessions, (input) => list('sessions', data.sessions, input))
  on(sessions.signOut, ({ session_id }, { token }) => {
    if (session_id === 'current') data.liveTokens.delete(token)
    else without(data.sessions, ({ id }) => id === session_id)
    return {}
  })
  on(sessions.signOutEverywhere, () => {
    data.liveTokens.clear()
    return { ended: data.sessions.length }
  })
  on(tokens.createApiToken, ({ name, role_cap, scopes, audiences, expires_in_days }) => {
    const token: ApiToken = {
      id: id('tok'),
      name,
      user_id: me.id,
      user_name: me.name,
      starts_with: 'svc_9fK2',
      role_cap: role_cap ?? 'viewer',
      scopes: scopes ?? null,
      audiences: audiences ?? ['api', 'platform', 'notifications'],
      created_at: daysAgo(0),
      expires_at: expires_in_days ? daysAgo(-expires_in_days) : null,
      last_used_at: null,
    }
    data.tokens.unshift(token)
    return { ...token, token: 'svc_9fK2mT7wQx4LrB8nVdY1cHs6JpZ3uGa5EoRkXyWtNqDf' }
  })
  on(tokens.listApiTokens, ({ all, search, ...input }) =>
    list(
      'tokens',
      data.tokens.filter(
        (one) =>
          (all || one.user_id === me.id) && one.name.toLowerCase().includes(search?.toLowerCase() ?? ''),
      ),
      input,
    ),
  )
  on(tokens.revokeApiToken, ({ token_id }) => without(data.tokens, ({ id }) => id === token_id))
  /** Also those of machine agents that one answers for. */
  const isMine = ({ user, machine_agent_id }: Grant): boolean =>
    user.id === me.id ||
    machineAgents.data.agents.some(({ id, owner }) => id === machine_agent_id && owner.id === me.id)
  on(grants.listGrants, ({ all, client_id, search = '', ...input }) =>
    list(
      'grants',
      data.grants.filter(
        (one) =>
          (all || isMine(one)) &&
          (!client_id || one.client_id === client_id) &&
          `${one.client_name} ${one.client_id} ${one.user.name}`.toLowerCase().includes(search.toLowerCase()),
      ),
      input,
    ),
  )
  on(grants.showGrant, ({ grant_id }) => {
    const grant = data.grants.find((one) => one.id === grant_id)
    const isOpen = (grant && isMine(grant)) || atLeast(current(data.chosen ?? '').role, 'admin')
    if (!grant || !isOpen) throw notFound()
    return { ended: null, ...grant, blocked: data.blockedClients.has(grant.client_id) }
  })
  on(grants.narrowGrant, ({ grant_id, scopes, sources: asked }) => {
    const grant = data.grants.find((one) => one.id === grant_id) ?? fail(notFound())
    const held = grant.sources ?? sources.data.sources
    if (
      scopes?.some((scope) => !grant.scopes.includes(scope)) ||
      asked?.some((given) => !held.some((one) => one.source_id === given))
    ) {
      throw new ServiceError('INVALID_REQUEST', 'A grant can only be narrowed')
    }
    const left = held.filter((one) => asked?.includes(one.source_id))
    return Object.assign(grant, scopes && { scopes }, asked && { sources: left })
  })
  on(grants.revokeGrant, ({ grant_id }) => without(data.grants, (one) => one.id === grant_id))
  on(grants.listOauthClients, ({ limit }) => {
    if (!atLeast(current(data.chosen ?? '').role, 'admin')) throw new ServiceError('FORBIDDEN')
    const ids = new Set([...data.grants.map((one) => one.client_id), ...data.blockedClients])
    return {
      oauth_clients: [...ids].slice(0, limit).map((client_id) => {
        const own = data.grants.filter((one) => one.client_id === client_id)
        const isUrl = client_id.startsWith('https://')
        return {
          client_id,
          kind: own[0]?.client_kind ?? (isUrl ? 'metadata_document' : 'dynamic'),
          name: own[0]?.client_name ?? null,
          host: own[0]?.host ?? (isUrl ? new URL(client_id).host : null),
          live_grants: own.length,
          blocked: data.blockedClients.has(client_id),
          last_used_at: own[0]?.last_used_at ?? null,
        }
      }),
    }
  })
  on(grants.blockOauthClient, ({ client_id, blocked }) => {
    if (!atLeast(current(data.chosen ?? '').role, 'admin')) throw new ServiceError('FORBIDDEN')
    if (blocked) data.blockedClients.add(client_id)
    else data.blockedClients.delete(client_id)
    return {}
  })
  on(listAudit, ({ action, user_id, search, from, to, ...input }) =>
    list(
      'audit',
      data.audit.filter(
        (entry) =>
          (!action || entry.action === action) &&
          (!search ||
            [AUDIT_ACTIONS[entry.action], entry.subject, entry.actor.name, entry.request_id].some((text) =>
              text?.toLowerCase().includes(search.toLowerCase()),
            )) &&
          (!user_id || entry.actor.id === user_id) &&
          (!from || entry.at >= from) &&
          (!to || entry.at <= to),
      ),
      input,
    ),
  )

  const context: FakeContext = {
    on,
    list,
    id,
    clock,
    me,
    organizationOf: ({ org }) => current(org ?? data.chosen ?? ''),
  }
  const sources = fakeDataSources(context)
  const loads = fakeLoads(context)
  const notifications = fakeNotifications(context)
  const apps = fakeApps(context)
  const appOverview = fakeAppOverview(context)
  const appSource = fakeAppSource(context)
  const logs = fakeLogs(context)
  const checks = fakeChecks(context, appOverview)
  const pipelines = fakePipelines(context, appOverview)
  const maintenance = fakeMaintenance(context, checks)
  const identityProvider = fakeIdentityProvider(context, data.members, () => sources.data.sources)
  const machineAgents = fakeMachineAgents(context, data)

  const signIn = (challenge = 'any'): string => {
    const code = crypto.randomUUID()
    data.codes.set(code, challenge)
    return code
  }

  const org = addOrganization('Northwind Traders', role)
  data.chosen = org.id
  data.members.push({
    user_id: me.id,
    name: me.name,
    email: me.email,
    role,
    joined_at: daysAgo(90),
    joined_by: 'creation',
  })
  data.sessions.push(
    {
      id: id('ses'),
      signed_in_by: 'password',
      device: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0 Safari/537.36',
      created_at: daysAgo(0.1),
      last_used_at: daysAgo(0),
      expires_at: daysAgo(-30),
      current: true,
    },
    {
      id: id('ses'),
      signed_in_by: 'google',
      device: 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1',
      created_at: daysAgo(12),
      last_used_at: daysAgo(1),
      expires_at: daysAgo(-18),
      current: false,
    },
  )

  return {
    data,
    sources,
    loads,
    notifications,
    apps,
    appOverview,
    checks,
    appSource,
    logs,
    pipelines,
    maintenance,
    identityProvider,
    machineAgents,
    org,
    signIn,
    issue,
    addOrganization,
    addMember,
    daysAgo,
    id,
    service: serve(handlers, data),
  }
}

function serve(handlers: Handlers, data: { liveTokens: Set<string>; seen: string[] }): Service {
  const app = new Hono()
  for (const [operation, handle] of handlers) {
    app.on(
      operation.http.method.toUpperCase(),
      operation.http.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      async (c) => {
        data.seen.push(operation.name)
        const token = c.req.header('authorization')?.slice('Bearer '.length) ?? ''
        if (operation.access !== 'anyone' && !data.liveTokens.has(token))
          throw new ServiceError('UNAUTHENTICATED')
        const body: unknown = operation.http.takes
          ? { ...c.req.query(), body: new Uint8Array(await c.req.arrayBuffer()) }
          : ['POST', 'PUT', 'PATCH'].includes(c.req.method)
            ? await c.req.json()
            : c.req.query()
        const input = operation.input.safeParse({ ...(body as object), ...c.req.param() })
        if (!input.success) {
          const problems = input.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
          throw new ServiceError('INVALID_REQUEST', undefined, { problems })
        }
        const answer = handle(input.data as never, { org: c.req.header('x-svc-org') ?? null, token })
        return operation.http.success === 204
          ? c.body(null, 204)
          : c.json(answer as object, operation.http.success ?? 200)
      },
    )
  }
  app.onError((error, c) => {
    const { code, message, hint, problems, retryAfterSeconds } =
      error instanceof ServiceError ? error : new ServiceError('UNEXPECTED')
    if (retryAfterSeconds !== undefined) c.header('retry-after', String(retryAfterSeconds))
    return c.json({ error: { code, message, hint, problems } }, ERRORS[code].status)
  })
  return async (request) => {
    // As a call over the network, and one in the process.
    request.signal.throwIfAborted()
    return app.fetch(request)
  }
}

function fail(error: Error): never {
  throw error
}

/** Sample data for every page. */
export function seed(gateway: FakeGateway): FakeGateway {
  const { data, addMember, addOrganization, daysAgo, id } = gateway
  const grace = addMember('Grace Hopper', 'grace@northwind.example', 'admin')
  addMember('Edsger Dijkstra', 'edsger@northwind.example', 'developer')
  addMember('Barbara Liskov', 'barbara@northwind.example', 'viewer', 'domain')
  addMember('Radia Perlman', 'radia@northwind.example', 'member', 'domain')
  addOrganization('Contoso Labs', 'developer')
  addOrganization('Fabrikam', 'viewer')
  const token = {
    user_id: data.me.id,
    user_name: data.me.name,
    created_at: daysAgo(20),
    last_used_at: null,
    expires_at: null,
  }
  data.tokens.push(
    {
      ...token,
      id: id('tok'),
      name: 'Nightly report',
      starts_with: 'svc_4hTz',
      role_cap: 'viewer',
      scopes: ['data:read'],
      audiences: ['api'],
      expires_at: daysAgo(-70),
      last_used_at: daysAgo(0.3),
    },
    {
      ...token,
      id: id('tok'),
      name: 'Laptop',
      starts_with: 'svc_Qm81',
      role_cap: 'owner',
      scopes: null,
      audiences: ['api', 'platform', 'notifications'],
    },
    {
      ...token,
      id: id('tok'),
      name: 'Deploy check',
      user_id: grace.user_id,
      user_name: grace.name,
      starts_with: 'svc_b0Wc',
      role_cap: 'developer',
      scopes: ['maintenance:read', 'maintenance:run'],
      audiences: ['api', 'platform'],
      last_used_at: daysAgo(2),
    },
  )
  const grant = {
    user: data.me,
    via: 'consent',
    machine_agent_id: null,
    resource: 'platform',
    sources: null,
    created_at: daysAgo(14),
    expires_at: daysAgo(-351),
  } as const
  data.grants.push(
    {
      ...grant,
      id: id('grt'),
      client_id: 'https://assistant.example/oauth/client.json',
      client_kind: 'metadata_document',
      client_name: 'Assistant',
      host: 'assistant.example',
      scopes: ['data:read', 'maintenance:read', 'proposals:decide'],
      last_used_at: daysAgo(0.02),
    },
    {
      ...grant,
      id: id('grt'),
      client_id: 'dyn_3fVtq0ZyK1mWb8',
      client_kind: 'dynamic',
      client_name: 'Editor on the laptop',
      host: '127.0.0.1',
      resource: 'notifications',
      scopes: ['notifications:read'],
      last_used_at: null,
    },
    {
      ...grant,
      id: id('grt'),
      user: { id: grace.user_id, email: grace.email, name: grace.name },
      client_id: 'desk-assistant',
      client_kind: 'pre_registered',
      client_name: 'Desk assistant',
      host: 'desk.northwind.example',
      scopes: ['data:read', 'maintenance:read'],
      last_used_at: daysAgo(3),
    },
  )
  data.blockedClients.add('https://nosy.example/client.json')
  data.invitations.push({
    id: id('inv'),
    email: 'alan@northwind.example',
    role: 'developer',
    invited_by: data.me.name,
    by_owner: false,
    created_at: daysAgo(1),
    expires_at: daysAgo(-6),
  })
  const ada = { kind: 'user', id: data.me.id, name: data.me.name } as const
  const rows: [number, Entry['action'], Entry['actor'], string | null][] = [
    [0.05, 'session.started', ada, null],
    [0.3, 'token.created', ada, 'Nightly report'],
    [1, 'invitation.created', ada, 'alan@northwind.example as developer'],
    [2, 'agents.switched_on', { kind: 'user', id: grace.user_id, name: grace.name }, null],
    [2.1, 'agents.switched_off', { kind: 'user', id: grace.user_id, name: grace.name }, null],
    [9, 'token.revoked', { kind: 'api_token', id: grace.user_id, name: grace.name }, 'Old laptop'],
    [30, 'member.joined', { kind: 'user', id: id('usr'), name: 'Radia Perlman' }, 'by email domain'],
    [90, 'organization.domains_set', { kind: 'operator', id: null, name: 'operator' }, 'northwind.example'],
  ]
  for (const [days, action, actor, subject] of rows) {
    data.audit.push({
      id: id('aud'),
      at: daysAgo(days),
      action,
      actor,
      subject,
      request_id: id('req'),
      support_session_id: null,
    })
  }
  const [assistant, , deskAssistant] = data.grants
  seedDataSources(gateway.sources, gateway.org.id, data.members, [assistant!, deskAssistant!])
  seedLoads(gateway.loads, gateway.org.id)
  seedNotifications(gateway.notifications)
  seedApps(gateway.apps)
  seedAppOverview(gateway.appOverview)
  seedChecks(gateway.checks)
  seedAppSource(gateway.appSource)
  seedLogs(gateway.logs)
  seedPipelines(gateway.pipelines)
  seedMaintenance(gateway.maintenance)
  seedIdentityProvider(gateway.identityProvider)
  seedMachineAgents(gateway.machineAgents, grace.user_id)
  return gateway
}
