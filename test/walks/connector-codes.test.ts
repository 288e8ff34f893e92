/** From the authorization page to a token: PKCE, single-use codes, resources, scopes, and the issuer in every answer. */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { and, eq, sql } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { DEFAULT_SCOPES, RESOURCES } from '../../src/contracts/scopes.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import {
  arrive,
  boxes,
  isConsent,
  LOOPBACK,
  newAssistant,
  startListeningSystem,
  preRegistered,
  tokensIn,
  whoami,
  type Assistant,
  type ListeningSystem,
} from '../support/assistant.ts'
import { PATIENCE } from '../support/links.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import { newWalker } from '../support/walker.ts'

let system: ListeningSystem
let org: Org
let assistant: Assistant
beforeAll(async () => {
  system = await startListeningSystem()
  org = await makeOrganization(system)
})
beforeEach(async () => void (assistant = newAssistant(system, await preRegistered(system))))
afterAll(() => system.stop())

/** What the client hears without anybody being asked. */
async function heard(
  params: Record<string, string | undefined>,
  by: Assistant = assistant,
): Promise<URLSearchParams> {
  const { location, status, words } = await newWalker(system, { overSockets: true }).open(
    by.request(params).url,
  )
  if (!location?.href.startsWith(LOOPBACK)) throw new Error(`Nothing was sent (${status}): ${words}`)
  return location.searchParams
}

/** Threat: a stolen or injected code. */
describe('PKCE', () => {
  const verifier = randomBytes(32).toString('base64url')
  test.each([
    ['without a challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['plain', { code_challenge: verifier, code_challenge_method: 'plain' }],
    ['with a challenge but no method', { code_challenge: verifier, code_challenge_method: undefined }],
    ['with another digest', { code_challenge: verifier, code_challenge_method: 'S512' }],
    ['with a challenge that is too short', { code_challenge: 'abc' }],
  ])('%s is refused, to the client and with our name', async (_how, params) => {
    expect(Object.fromEntries(await heard(params))).toMatchObject({
      error: 'invalid_request',
      state: 'a state',
      iss: system.origin,
    })
  })

  /** OAuth 2.1, 4.1.1: its secret does not show that a code was meant for it. */
  test('is demanded of a client with a secret, too', async () => {
    const confidential = await preRegistered(system, {
      token_endpoint_auth_method: 'client_secret_post',
      client_secret: sha256('a secret'),
    })
    const without = { code_challenge: undefined, code_challenge_method: undefined }
    const answer = await heard(without, newAssistant(system, confidential))
    expect([answer.get('error'), answer.has('code')]).toEqual(['invalid_request', false])
  })
})

describe('a code', () => {
  test('comes back with the state and our name, and is good for one exchange', async () => {
    const { asked, back } = await assistant.ask(org.owner)
    expect(back.href.startsWith(`${LOOPBACK}?`)).toBe(true)
    expect(Object.fromEntries(back.searchParams)).toEqual({
      code: expect.any(String),
      state: 'a state',
      iss: system.origin,
    })
    const answer = await assistant.exchange(back.searchParams.get('code')!, asked)
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: CONNECTOR_SECONDS.accessToken,
      scope: DEFAULT_SCOPES.platform.join(' '),
    })
    expect(answer.headers.get('cache-control')).toContain('no-store')
    expect((await whoami(system, tokensIn(answer).access)).who).toMatchObject({
      user: { id: org.owner.userId },
      organization: { id: org.id },
      role: 'owner',
      scopes: DEFAULT_SCOPES.platform,
      client: assistant.clientId,
    })
  })

  /** Threat: code replay; the access token already made from it must die as well. */
  test('that comes a second time ends everything that came of it', async () => {
    const { asked, back } = await assistant.ask(org.owner)
    const code = back.searchParams.get('code')!
    const tokens = tokensIn(await assistant.exchange(code, asked))
    expect((await whoami(system, tokens.access)).status).toBe(200)
    expect(await assistant.exchange(code, asked)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    expect((await whoami(system, tokens.access)).status).toBe(401)
    expect(await assistant.refresh(tokens.refresh)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'grant.reused', limit: 1 })
    expect(audit).toMatchObject([{ action: 'grant.reused', subject: 'An assistant' }])
  })

  test('that comes six times at once is exchanged once at most, and nothing of it lives on', async () => {
    const { asked, back } = await assistant.ask(org.owner)
    const code = back.searchParams.get('code')!
    const answers = await Promise.all(Array.from({ length: 6 }, () => assistant.exchange(code, asked)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good.length).toBeLessThanOrEqual(1)
    for (const { body, status } of answers) {
      if (status !== 200) expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
    for (const answer of good) {
      expect((await whoami(system, tokensIn(answer).access)).status).toBe(401)
      expect((await assistant.refresh(tokensIn(answer).refresh)).status).toBe(400)
    }
  })

  /**
   * Both have found it unspent before either spends it: only the one that comes second can know. Embedded, there is one
   * connection, and nothing waits for a lock.
   */
  test.skipIf(inject('engine') === 'pglite')(
    'that two requests find unspent at the same moment is exchanged once, and the winner’s token dies',
    async () => {
      const { asked, back } = await assistant.ask(org.owner)
      const code = back.searchParams.get('code')!
      const [row] = await system.db
        .select()
        .from(oauthArtifacts)
        .innerJoin(platformAccessGrants, eq(platformAccessGrants.id, oauthArtifacts.grantId))
        .where(
          and(
            eq(platformAccessGrants.clientId, assistant.clientId),
            eq(oauthArtifacts.kind, 'AuthorizationCode'),
          ),
        )
      const held = Promise.withResolvers<void>()
      const isHeld = Promise.withResolvers<void>()
      const holding = system.db.transaction(async (tx) => {
        await tx
          .select()
          .from(oauthArtifacts)
          .where(eq(oauthArtifacts.id, row!.oauth_artifacts.id))
          .for('update')
        isHeld.resolve()
        await held.promise
      })
      await isHeld.promise
      const both = [assistant.exchange(code, asked), assistant.exchange(code, asked)]
      await vi.waitFor(async () => {
        const [waiting] = await system.db.execute<{ count: number }>(
          sql`select count(*)::int as count from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query ilike 'update "oauth_artifacts"%'`,
        )
        expect(waiting!.count).toBe(2)
      }, PATIENCE)
      held.resolve()
      await holding
      const answers = await Promise.all(both)
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
      const winner = tokensIn(answers.find(({ status }) => status === 200)!)
      expect((await whoami(system, winner.access)).status).toBe(401)
      expect(await assistant.refresh(winner.refresh)).toMatchObject({
        status: 400,
        body: { error: 'invalid_grant' },
      })
    },
  )

  test('is bound to client, redirect and verifier; a wrong guess does not spend it', async () => {
    const { asked, back } = await assistant.ask(org.owner)
    const code = back.searchParams.get('code')!
    const other = newAssistant(system, await preRegistered(system))
    const refused = { status: 400, body: { error: 'invalid_grant' } }
    expect(await other.exchange(code, asked)).toMatchObject(refused)
    expect(await assistant.exchange(code, asked, { redirect_uri: `${LOOPBACK}/` })).toMatchObject(refused)
    expect(await assistant.exchange(code, asked, { redirect_uri: undefined })).toMatchObject({ status: 400 })
    const wrong = randomBytes(32).toString('base64url')
    expect(await assistant.exchange(code, asked, { code_verifier: wrong })).toMatchObject(refused)
    const challenge = createHash('sha256').update(asked.verifier).digest('base64url')
    expect(await assistant.exchange(code, asked, { code_verifier: challenge })).toMatchObject(refused)
    expect(await assistant.exchange(code, asked, { code_verifier: undefined })).toMatchObject({ status: 400 })
    expect((await assistant.exchange(code, asked)).status).toBe(200)
  })

  test('is good for a minute', async () => {
    const { asked, back } = await assistant.ask(org.owner)
    system.clock.advance(CONNECTOR_SECONDS.code + 1)
    expect(await assistant.exchange(back.searchParams.get('code')!, asked)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
  })
})

describe('resources', () => {
  const spellings: [string, 'platform' | 'notifications', (origin: string) => string | undefined][] = [
    ['none', 'platform', () => undefined],
    ['the address', 'platform', (origin) => `${origin}/platform`],
    ['a slash at the end', 'platform', (origin) => `${origin}/platform/`],
    [
      'capitals',
      'platform',
      (origin) => `${origin}/platform`.replace('http://localhost', 'HTTP://LOCALHOST'),
    ],
    ['the bare origin', 'platform', (origin) => origin],
    ['the bare origin with a slash', 'platform', (origin) => `${origin}/`],
    ['the address', 'notifications', (origin) => `${origin}/notifications`],
    ['a slash at the end', 'notifications', (origin) => `${origin}/notifications/`],
  ]
  test.each(spellings)('%s means /%s, and the token is for that alone', async (_how, resource, spell) => {
    const spelled = spell(system.origin)
    const { asked, back } = await assistant.ask(org.owner, { resource: spelled })
    // RFC 8707, 2.2: clients name it again at the token endpoint.
    const answer = await assistant.exchange(back.searchParams.get('code')!, asked, { resource: spelled })
    const tokens = tokensIn(answer)
    expect(tokens.claims).toMatchObject({ aud: `${system.origin}/${resource}`, iss: system.origin })
    const other = RESOURCES.find((one) => one !== resource)!
    expect((await whoami(system, tokens.access, resource)).status).toBe(200)
    expect((await whoami(system, tokens.access, other)).status).toBe(401)
    const again = tokensIn(await assistant.refresh(tokens.refresh, { resource: spelled }))
    expect([again.claims.aud, again.scope]).toEqual([tokens.claims.aud, tokens.scope])
    expect((await whoami(system, again.access, other)).status).toBe(401)
  })

  test('an empty one is like none', async () => {
    expect((await assistant.connect(org.owner, { resource: '' })).claims.aud).toBe(
      `${system.origin}/platform`,
    )
  })

  test.each([
    'https://evil.example/platform',
    '/other',
    '/platform#here',
    '/platform?x=1',
    '/Platform',
    'nonsense',
  ])('%s is refused as invalid_target', async (spelled) => {
    const resource = spelled.startsWith('/') ? system.origin + spelled : spelled
    const answer = await heard({ resource })
    expect([answer.get('error'), answer.get('iss')]).toEqual(['invalid_target', system.origin])
  })

  /** Only one is shown and approved; a token for the other would be for what nobody saw. */
  test('two at once are refused', async () => {
    const both = assistant.request({ resource: `${system.origin}/platform` })
    both.url.searchParams.append('resource', `${system.origin}/notifications`)
    const { location } = await newWalker(system, { overSockets: true }).open(both.url)
    expect(location?.searchParams.get('error')).toBe('invalid_target')
  })

  test('a code for one gives no token for the other', async () => {
    const { asked, back } = await assistant.ask(org.owner, { resource: `${system.origin}/platform` })
    const resource = `${system.origin}/notifications`
    expect(await assistant.exchange(back.searchParams.get('code')!, asked, { resource })).toMatchObject({
      status: 400,
      body: { error: 'invalid_target' },
    })
  })
})

describe('scopes', () => {
  const platform = DEFAULT_SCOPES.platform
  test.each([
    ['none', 'platform', undefined, platform, platform],
    ['an empty one', 'platform', '', platform, platform],
    ['only unknown ones', 'platform', 'openid profile', platform, platform],
    ['only offline_access', 'platform', 'offline_access', platform, platform],
    ['those of the other endpoint', 'platform', 'notifications:read', platform, platform],
    ['some and unknown ones', 'platform', 'data:read mcp:tools offline_access', ['data:read'], ['data:read']],
    ['writing', 'platform', 'maintenance:run data:read', ['data:read', 'maintenance:run'], ['data:read']],
    ['none', 'notifications', undefined, DEFAULT_SCOPES.notifications, DEFAULT_SCOPES.notifications],
  ] as const)('%s at /%s', async (_what, resource, scope, offered, ticked) => {
    const asked = { resource: `${system.origin}/${resource}`, scope }
    const walker = newWalker(system, { overSockets: true })
    const page = await arrive(system, walker, org.owner, assistant.request(asked).url)
    expect(isConsent(page)).toBe(true)
    expect(boxes(page, 'scope')).toEqual({ all: offered, ticked })
    const tokens = await assistant.connect(org.owner, asked)
    expect(tokens.scope.split(' ').filter((name) => name !== 'offline_access')).toEqual(ticked)
    // The other endpoint has no tool that says them back.
    const seen = await whoami(system, tokens.access, resource)
    expect(resource === 'platform' ? seen.who?.scopes : seen.status).toEqual(
      resource === 'platform' ? ticked : 200,
    )
  })

  test('that the person did not tick, or that nobody asked for, are not granted', async () => {
    const tokens = await assistant.connect(
      org.owner,
      { scope: 'data:read maintenance:read maintenance:run' },
      { scopes: ['maintenance:run', 'maintenance:admin', 'notifications:read'] },
    )
    expect(tokens.scope).toBe('maintenance:run')
    expect((await whoami(system, tokens.access)).who?.scopes).toEqual(['maintenance:run'])
  })

  /** Codex sends at refresh what it sent at authorization: `offline_access` and what the person did not tick. */
  test.each([
    ['with offline_access', 'data:read maintenance:read offline_access', 'data:read maintenance:read'],
    ['more than was granted', 'maintenance:read maintenance:admin proposals:decide', 'maintenance:read'],
    ['unknown ones', 'mcp:tools data:read', 'data:read'],
    ['an empty one', '', 'data:read maintenance:read'],
  ])('at refresh, %s: those that were granted, and never more', async (_what, scope, given) => {
    const asked = { scope: 'data:read maintenance:read maintenance:run offline_access' }
    const tokens = await assistant.connect(org.owner, asked, { scopes: ['data:read', 'maintenance:read'] })
    const next = tokensIn(await assistant.refresh(tokens.refresh, { scope }))
    expect(next.scope).toBe(given)
    expect((await whoami(system, next.access)).who?.scopes).toEqual(given.split(' '))
    // A refresh for less does not make the connection smaller.
    const last = tokensIn(await assistant.refresh(next.refresh))
    expect(last.scope).toBe('data:read maintenance:read')
  })
})

/** Threat: mix-up; a client must be able to tell whose answer it holds, errors included. */
test('a refusal by the person comes back with state and issuer, and gives nothing', async () => {
  const { back } = await assistant.ask(org.owner, {}, { decision: 'deny' })
  expect(Object.fromEntries(back.searchParams)).toMatchObject({
    error: 'access_denied',
    state: 'a state',
    iss: system.origin,
  })
  expect(back.searchParams.has('code')).toBe(false)
})
