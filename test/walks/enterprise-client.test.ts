/** The official client with its provider for cross-app access: from a sign-in at the company to a tool, and no page between. */
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { updateIdentityProvider } from '../../src/contracts/identity-provider.ts'
import { newAddress, startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { company, grantsBy, link, type Company } from '../support/enterprise.ts'
import { makeMember, unique } from '../support/make.ts'
import { makeIssuer, type Issuer } from '../support/issuer.ts'

let host: DocumentHost
let system: ListeningSystem
let provider: Issuer
let ours: Company
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  provider = await makeIssuer(system, host)
  ours = await company(system, provider)
})
afterAll(async () => {
  await system.stop()
  host.close()
})

function connectionOf(idToken: string, endpoint = 'platform') {
  let assertions = 0
  const authProvider = new CrossAppAccessProvider({
    clientId: ours.client.clientId,
    clientSecret: ours.client.secret,
    expectedIssuer: system.origin,
    async assertion({ authorizationServerUrl, resourceUrl, scope }) {
      assertions++
      const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
        idpUrl: provider.issuer,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken,
        clientId: ours.client.clientId,
        ...(scope !== undefined && { scope }),
        fetchFn: provider.fetch,
      })
      return jwtAuthGrant
    },
  })
  const client = new Client({ name: 'company', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  const address = newAddress()
  const transport = new StreamableHTTPClientTransport(new URL(`${system.origin}/${endpoint}`), {
    authProvider,
    // From a network of its own: tries of other walks count for theirs.
    fetch(url, init) {
      const headers = new Headers(init?.headers)
      headers.set('x-forwarded-for', address)
      return fetch(url, { ...init, headers })
    },
  })
  return { client, connect: () => client.connect(transport), asked: () => assertions }
}

const textIn = (result: unknown): unknown =>
  JSON.parse((result as { content: { text: string }[] }).content[0]!.text)

test('lists tools and asks who it is', async () => {
  const { client, connect, asked } = connectionOf(provider.signIn({ sub: ours.subject }))
  await connect()
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('whoami')
  expect(textIn(await client.callTool({ name: 'whoami', arguments: {} }))).toMatchObject({
    user: { id: ours.person.userId },
    organization: { id: ours.org.id },
  })
  expect(asked()).toBe(1)
  await client.close()
})

test('the other endpoint too, each with a grant of its own', async () => {
  for (const endpoint of ['platform', 'notifications']) {
    const { client, connect } = connectionOf(provider.signIn({ sub: ours.subject }), endpoint)
    await connect()
    expect((await client.listTools()).tools.length).toBeGreaterThan(0)
    await client.close()
  }
  expect((await grantsBy(system, ours.providerId)).map(({ resource }) => resource).toSorted()).toEqual([
    'notifications',
    'platform',
  ])
})

test('comes back by itself after the organization ended it, and not while the provider is paused', async () => {
  const { client, connect, asked } = connectionOf(provider.signIn({ sub: ours.subject }))
  await connect()
  await client.listTools()
  await ours.org.owner.call(updateIdentityProvider, { default_scopes: ['data:read'] })
  expect((await client.callTool({ name: 'whoami', arguments: {} })).isError ?? false).toBe(false)
  expect(asked()).toBe(2)
  await ours.org.owner.call(updateIdentityProvider, { state: 'paused' })
  await expect(client.callTool({ name: 'whoami', arguments: {} })).rejects.toThrow('grant request is invalid')
  await client.close().catch(() => {})
})

test('two people of one company, one client: each is themselves', async () => {
  const colleague = await makeMember(system, ours.org, 'viewer')
  const subject = unique('subject')
  await link(system, ours.providerId, subject, colleague)
  for (const [sub, person] of [
    [ours.subject, ours.person],
    [subject, colleague],
  ] as const) {
    const { client, connect } = connectionOf(provider.signIn({ sub }))
    await connect()
    expect(textIn(await client.callTool({ name: 'whoami', arguments: {} }))).toMatchObject({
      user: { id: person.userId },
    })
    await client.close()
  }
})

test('somebody whom nobody has linked gets nowhere', async () => {
  const { connect } = connectionOf(provider.signIn({ sub: unique('nobody') }))
  await expect(connect()).rejects.toThrow('grant request is invalid')
  expect(await grantsBy(system, ours.providerId)).toEqual([])
})
