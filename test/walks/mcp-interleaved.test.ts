/** Agents of two organizations with different roles, scopes and URLs call at the same moment; each is answered as itself. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

type Agent = {
  readonly token: string
  readonly query?: string
  /** As `whoami` begins: user, then organization. */
  readonly is: { readonly userId: string; readonly orgId: string }
}

let system: ListeningSystem
let agents: Agent[]

beforeAll(async () => {
  system = await startListeningSystem()
  const [ours, theirs] = [await makeOrganization(system), await makeOrganization(system)]
  // In both organizations: what tells their two agents apart is the grant alone.
  const both = await makeMember(system, ours, 'viewer')
  await makeMember(system, theirs, 'admin', both)
  const connect = async (person: Person, org: Org, scope: string): Promise<Agent> => {
    const assistant = newAssistant(system, await preRegistered(system))
    const { access } = await assistant.connect(person, { scope }, { organization: org.id })
    return { token: access, is: { userId: person.userId, orgId: org.id } }
  }
  const bearing = async (org: Org, scope: 'data:read' | 'notifications:read'): Promise<Agent> => {
    const { token } = await makeApiToken(system, org, org.owner, { scopes: [scope] })
    return { token, is: { userId: org.owner.userId, orgId: org.id } }
  }
  agents = [
    await connect(both, ours, 'data:read'),
    await connect(both, theirs, 'data:read maintenance:read'),
    await connect(ours.owner, ours, 'maintenance:read'),
    { ...(await connect(theirs.owner, theirs, 'data:read')), query: '?tools=whoami,search' },
    await bearing(ours, 'data:read'),
    await bearing(theirs, 'notifications:read'),
  ]
})
afterAll(() => system.stop())

const MODERN = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'interleaved', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function ask({ token, query = '' }: Agent, isModern: boolean, method: string, name?: string) {
  const params = name === undefined ? {} : { name, arguments: {} }
  const response = await fetch(`${system.origin}/platform${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(isModern && { 'mcp-protocol-version': MODERN, 'mcp-method': method }),
      ...(isModern && name !== undefined && { 'mcp-name': name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, ...(isModern && { _meta: ENVELOPE }) },
    }),
  })
  return { status: response.status, text: withoutTimes(await response.text()) }
}

const withoutTimes = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|req_\w+/g, '…')

test('each is answered as if it were alone, and as itself', async () => {
  const messages = agents.flatMap((agent) =>
    [true, false].flatMap((isModern) => [
      { agent, isWhoAmI: true, send: () => ask(agent, isModern, 'tools/call', 'whoami') },
      { agent, isWhoAmI: false, send: () => ask(agent, isModern, 'tools/list') },
      { agent, isWhoAmI: false, send: () => ask(agent, isModern, 'prompts/list') },
    ]),
  )
  const alone: Awaited<ReturnType<typeof ask>>[] = []
  for (const { agent, isWhoAmI, send } of messages) {
    const answer = await send()
    alone.push(answer)
    const others = agents.filter(({ is }) => is.userId !== agent.is.userId && is.orgId !== agent.is.orgId)
    for (const { is } of others) expect(answer.text).not.toMatch(new RegExp(`${is.userId}|${is.orgId}`))
    if (!isWhoAmI || answer.status !== 200 || answer.text.includes('"error"')) continue
    if (answer.text.includes('isError')) continue
    expect(answer.text).toContain(`{\\"user\\":{\\"id\\":\\"${agent.is.userId}`)
    expect(answer.text).toContain(`\\"organization\\":{\\"id\\":\\"${agent.is.orgId}`)
  }
  const named = alone.filter(({ text }) => text.includes('organization'))
  expect(named.length).toBeGreaterThanOrEqual(8)
  for (let round = 0; round < 3; round += 1) {
    expect(await Promise.all(messages.map(({ send }) => send()))).toEqual(alone)
  }
})
