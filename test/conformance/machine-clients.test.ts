/** The official client as an agent without a person (SEP-1046), against a process: with a secret and with a key. */
import { generateKeyPairSync } from 'node:crypto'
import {
  Client,
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpClient, type Call } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { listActivity } from '../../src/contracts/activity.ts'
import { revokeGrant } from '../../src/contracts/grants.ts'
import { createMachineAgent, showMachineAgent } from '../../src/contracts/machine-agents.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { textIn } from '../support/clients/client.ts'
import { startClientSystem, type ClientSystem } from '../support/client-system.ts'
import { PASSWORD } from '../support/make.ts'

let system: ClientSystem
let admin: Call
beforeAll(async () => {
  system = await startClientSystem([])
  const service = overNetwork(new URL(system.origin))
  const { email } = system
  const { token } = await httpClient(service, {})(signInWithPassword, { email, password: PASSWORD })
  admin = httpClient(service, { token })
})
afterAll(() => system?.stop())

async function connect(authProvider: OAuthClientProvider): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(system.platform), { authProvider })
  const client = new Client({ name: 'nightly', version: '0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  return client
}

type Listed = { data_sources: { id: string }[] }

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...publicKey.export({ format: 'jwk' }), kty: 'EC' as const }

describe.each([
  [
    'ClientCredentialsProvider',
    undefined,
    (clientId: string, secret: string) =>
      new ClientCredentialsProvider({ clientId, clientSecret: secret, expectedIssuer: system.origin }),
  ],
  [
    'PrivateKeyJwtProvider',
    jwk,
    (clientId: string) =>
      new PrivateKeyJwtProvider({
        clientId,
        privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
        algorithm: 'ES256',
        expectedIssuer: system.origin,
      }),
  ],
] as const)('%s', (name, public_key, providerOf) => {
  test('finds the way, lists tools, queries a data source as itself, and is refused once its grant has ended', async () => {
    const agent = await admin(createMachineAgent, { name, public_key })
    const client = await connect(providerOf(agent.client_id, agent.secret ?? ''))
    try {
      const { tools } = await client.listTools()
      expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['whoami', 'datasource_query']))
      const use = async (tool: string, input: object = {}) =>
        JSON.parse(textIn(await client.callTool({ name: tool, arguments: { ...input } }))) as Record<
          string,
          unknown
        >
      expect(await use('whoami')).toMatchObject({ user: { id: agent.user_id }, role: 'viewer' })
      // Of a scope that the endpoint's first challenge does not name: the client asks for another token by itself.
      expect(await use('app_list')).toMatchObject({ apps: expect.any(Array) })
      const { data_sources: sources } = (await use('datasource_list')) as Listed
      const [source] = sources
      const answer = await use('datasource_query', { source_id: source!.id, query: 'holidays' })
      expect(answer).toMatchObject({ count: 10, results: expect.any(Array) })
      const { activity } = await admin(listActivity, { user_id: agent.user_id, type: 'data_source' })
      expect(activity).toMatchObject([
        { user: { id: agent.user_id, name }, client_id: agent.client_id, outcome: 'answered' },
      ])

      const { grant_id } = await admin(showMachineAgent, { machine_agent_id: agent.id })
      await admin(revokeGrant, { grant_id: grant_id! })
      await expect(client.callTool({ name: 'whoami', arguments: {} })).rejects.toThrow(
        /this machine agent has no access at the moment|unauthorized/i,
      )
    } finally {
      await client.close()
    }
  })
})
