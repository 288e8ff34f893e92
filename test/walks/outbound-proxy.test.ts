/** HTTPS_PROXY: what the operator names and metadata documents go through it, what users name never does. */
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attachDatabase } from '../../src/contracts/databases.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import { newAssistant, startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { openConnectProxy, type ConnectProxy } from '../support/connect-proxy.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import { newWalker } from '../support/walker.ts'

let proxy: ConnectProxy
let system: ListeningSystem
let org: Org
let connections = 0
/** Where the model is that NO_PROXY names. */
const near = createServer((socket) => {
  connections += 1
  socket.destroy()
})
beforeAll(async () => {
  proxy = await openConnectProxy()
  await new Promise<void>((listening) => near.listen(0, '127.0.0.1', listening))
  const { port } = near.address() as AddressInfo
  system = await startListeningSystem({
    HTTPS_PROXY: proxy.url,
    NO_PROXY: '127.0.0.1',
    EMBEDDING_MODELS: JSON.stringify({
      remote: { url: 'https://models.test/v1', dimensions: 3 },
      near: { url: `https://127.0.0.1:${port}/v1`, dimensions: 3 },
    }),
    OIDC_ISSUER: 'https://idp.test',
    OIDC_CLIENT_ID: 'svc',
    OIDC_CLIENT_SECRET: 'secret',
    PASSWORD_SIGN_IN: 'on',
    ATTACH_ALLOWED: 'db.test:5432',
  })
  org = await makeOrganization(system)
})
afterAll(async () => {
  await system.stop()
  proxy.close()
  near.close()
})

/** The hosts that the proxy was asked for while the work went on. */
async function hostsAskedFor(work: () => Promise<unknown>): Promise<string[]> {
  const before = proxy.asked.length
  await work()
  return [...new Set(proxy.asked.slice(before))]
}
/** A question that is given up after some attempts: it has more patience than a test. */
async function embed(model: string, hasAsked: () => boolean): Promise<void> {
  const over = new AbortController()
  const { models } = system.system.gateway!
  const answer = models.embed(org.id, model, 'a question', { signal: over.signal }).catch(() => 'refused')
  await expect.poll(hasAsked).toBe(true)
  over.abort()
  expect(await answer).toBe('refused')
}

test('a metadata document', async () => {
  const client = { clientId: 'https://client.test/client.json', redirectUri: 'http://127.0.0.1/cb' }
  const hosts = await hostsAskedFor(async () => {
    const page = await newWalker(system, { overSockets: true }).open(
      newAssistant(system, client).request().url,
    )
    expect(page.words).toContain('could not be fetched')
  })
  expect(hosts).toEqual(['client.test:443'])
})

test('an embedding model, unless NO_PROXY names its host', async () => {
  const isAsked = () => proxy.asked.includes('models.test:443')
  expect(await hostsAskedFor(() => embed('remote', isAsked))).toEqual(['models.test:443'])
  expect(await hostsAskedFor(() => embed('near', () => connections > 0))).toEqual([])
})

test('an identity provider', async () => {
  const hosts = await hostsAskedFor(async () => {
    const walker = newWalker(system, { overSockets: true })
    const page = await walker.submit(await walker.open('/auth/sign-in'), 'Continue with single sign-on')
    expect(page.words).toContain('Your identity provider cannot be reached')
  })
  expect(hosts).toEqual(['idp.test:443'])
})

test('never a webhook that somebody connects, nor a database that somebody attaches', async () => {
  const hosts = await hostsAskedFor(async () => {
    await expect(
      org.owner.call(connectWebhook, { url: 'https://hooks.test/x', name: 'Hook' }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    const url = 'postgres://u:p@db.test:5432/db'
    await expect(org.owner.call(attachDatabase, { name: 'theirs', url })).rejects.toMatchObject({
      code: expect.any(String),
    })
  })
  expect(hosts).toEqual([])
})
