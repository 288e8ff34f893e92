/** HTTPS_PROXY: what the operator names and metadata documents go through it, what users name never does. */
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
beforeAll(async () => {
  proxy = await openConnectProxy()
  system = await startListeningSystem({
    HTTPS_PROXY: proxy.url,
    NO_PROXY: 'internal.test',
    EMBEDDING_MODELS: JSON.stringify({
      remote: { url: 'https://models.test/v1', dimensions: 3 },
      near: { url: 'https://models.internal.test/v1', dimensions: 3, timeout_ms: 100 },
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
})

/** The hosts that the proxy was asked for while the work went on. */
async function hostsAskedFor(work: () => Promise<unknown>): Promise<string[]> {
  const before = proxy.asked.length
  await work()
  return [...new Set(proxy.asked.slice(before))]
}
const embed = (model: string) =>
  expect(system.system.gateway!.models.embed(org.id, model, 'a question')).rejects.toMatchObject({
    code: 'EMBEDDING_UNAVAILABLE',
  })

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
  expect(await hostsAskedFor(() => embed('remote'))).toEqual(['models.test:443'])
  expect(await hostsAskedFor(() => embed('near'))).toEqual([])
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
