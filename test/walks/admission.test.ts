/** Who is answered while others ask too much, what a credential that nobody knows costs, and a proxy that nobody named. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { revokeApiToken } from '../../src/contracts/tokens.ts'
import { run } from '../../src/cli/run.ts'
import { makeApiToken as makeUpToken } from '../../src/trust/api-token.ts'
import { makeAppToken } from '../../src/trust/app-token.ts'
import {
  newAssistant,
  preRegistered,
  readAnswer,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { fakeEnvironment } from '../support/fake-environment.ts'
import { makeApiToken, makeOrganization, type Org } from '../support/make.ts'
import { statementsDuring } from '../support/statements.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let system: ListeningSystem
let orgs: readonly Org[]
beforeAll(async () => {
  system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service,mcp-server,deploy-api' })
  orgs = [await makeOrganization(system), await makeOrganization(system)]
})
afterAll(() => system.stop())

const MADE_UP: readonly (readonly [kind: string, path: string, make: () => string])[] = [
  ['API token', '/platform', makeUpToken],
  ['API token', '/notifications', makeUpToken],
  ['API token', '/api/v1/me', makeUpToken],
  ['API token', '/api/deploy/apps', makeUpToken],
  ['API token', '/v1/logs', makeUpToken],
  ['token of an app', '/v1/logs', () => makeAppToken(orgs[0]!.id)],
]

const ask = async (path: string, token: string, address = '192.0.2.1') => {
  const isPost = !path.startsWith('/api')
  const response = await fetch(system.origin + path, {
    method: isPost ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
      'x-forwarded-for': address,
    },
    ...(isPost && { body: '{}' }),
  })
  const { status, headers, text } = await readAnswer(response)
  return { status, challenge: headers.get('www-authenticate'), words: text.replaceAll(/req_\w+/g, 'req') }
}

describe('a credential that nobody knows', () => {
  test.each(MADE_UP)(
    '%s is looked for once at %s, and refused in the same words without it',
    async (_kind, path, make) => {
      const token = make()
      let first: unknown
      expect(await statementsDuring(system.db, async () => (first = await ask(path, token)))).not.toEqual([])
      expect(first).toMatchObject({ status: 401 })
      let again: unknown
      expect(await statementsDuring(system.db, async () => (again = await ask(path, token)))).toEqual([])
      expect(again).toEqual(first)
    },
  )

  test('is told the same as one that was revoked, and neither says anything about the other', async () => {
    const [org, other] = orgs as [Org, Org]
    const { id, token } = await makeApiToken(system, org, org.owner, { audiences: ['api', 'platform'] })
    const { token: kept } = await makeApiToken(system, other, other.owner, { audiences: ['api', 'platform'] })
    expect(await ask('/api/v1/me', token)).toMatchObject({ status: 200 })
    await org.owner.call(revokeApiToken, { token_id: id })
    for (const path of ['/api/v1/me', '/platform']) {
      const [revoked, unknown] = [await ask(path, token), await ask(path, makeUpToken())]
      expect(revoked).toMatchObject({ status: 401 })
      expect(revoked).toEqual(unknown)
    }
    expect(await ask('/api/v1/me', kept)).toMatchObject({ status: 200 })
    expect((await whoami(system, kept)).status).toBe(200)
  })

  test('at an endpoint that it is not for is refused there alone', async () => {
    const [org] = orgs as [Org]
    const { token } = await makeApiToken(system, org, org.owner, { audiences: ['platform'] })
    expect(await ask('/api/v1/me', token)).toMatchObject({ status: 401 })
    expect((await whoami(system, token)).status).toBe(200)
  })
})

describe.each(inject('everyCase') ? ['another', 'the same'] : ['the same'])(
  'a flood from %s address',
  (whose) => {
    test.each(inject('everyCase') ? ['/platform', '/api/v1/me'] : ['/platform'])(
      'of %s hardly delays assistants of two organizations',
      async (path) => {
        const tokens: string[] = []
        for (const { owner } of orgs) {
          const assistant = newAssistant(system, await preRegistered(system))
          tokens.push((await assistant.connect(owner, { scope: 'data:read' })).access)
        }
        for (const token of tokens) expect((await whoami(system, token)).status).toBe(200)
        let answered = 0
        const flood = Array.from({ length: 200 }, async () => {
          // Without a header of its own, it is the address that `whoami` has.
          const { status } = await ask(path, makeUpToken(), whose === 'another' ? '203.0.113.9' : '127.0.0.1')
          answered += 1
          return status
        })
        await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(0)
        const before = answered
        const calls = await Promise.all(tokens.map((token) => whoami(system, token)))
        const meanwhile = answered - before
        expect(calls.map(({ status }) => status)).toEqual([200, 200])
        expect(meanwhile).toBeLessThan(100)
        expect(new Set(await Promise.all(flood))).toEqual(new Set([401]))
      },
    )
  },
)

test('a proxy that TRUSTED_PROXIES does not name is named where the operator looks', async () => {
  const behind = await startListeningSystem({ TRUSTED_PROXIES: '' })
  const readiness = async () => (await fetch(`${behind.origin}/readyz`)).json()
  try {
    const org = await makeOrganization(behind)
    const { token } = await makeApiToken(behind, org, org.owner)
    const doctor = async () => {
      const env = { SVC_API_URL: behind.origin, SVC_API_KEY: token }
      const environment = fakeEnvironment({ env })
      return [await run(['doctor'], environment), environment.out()]
    }
    const overview = async () => {
      const walker = newWalker(behind, { overSockets: true })
      const page = await walker.open('/auth/operator/registrations')
      await walker.submit(page, 'Continue', { token: OPERATOR_TOKEN })
      return (await walker.open('/auth/operator/registrations')).words
    }
    await fetch(`${behind.origin}/api/v1/me`)
    expect(await readiness()).not.toHaveProperty('warnings')
    expect(await doctor()).toEqual([0, expect.not.stringContaining('TRUSTED_PROXIES')])
    await fetch(`${behind.origin}/api/v1/me`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
    expect(await readiness()).toMatchObject({ warnings: [expect.stringContaining('TRUSTED_PROXIES')] })
    expect(await doctor()).toEqual([1, expect.stringMatching(/^failed +server: .*TRUSTED_PROXIES/m)])
    expect(await overview()).toContain('TRUSTED_PROXIES')
  } finally {
    await behind.stop()
  }
})
