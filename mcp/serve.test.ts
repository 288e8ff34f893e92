/** The SDK's handler is shared by all requests; these show that nothing of one of them is left in it for another. */
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { agentToken, callWhoAmI, fakeServices, replyOf, type Era } from '../test/support/fake-services.ts'
import { createMcpServer } from './app.ts'
import type { McpEnv } from './dependencies.ts'
import type { MakeServer } from './serve.ts'

const ERAS: Era[] = ['of 2025', 'of 2026']

/** The product's front with another server behind it, and what its requests left for the log. */
function servedBy(makeServer: MakeServer) {
  const system = fakeServices()
  const failures = new Map<string, unknown>()
  const app = new Hono<McpEnv>()
  app.use(async (c, next) => {
    await next()
    failures.set(c.res.headers.get('x-request-id') ?? '', c.get('failure'))
  })
  app.route('/', createMcpServer(system.deps, makeServer))
  return { system: Object.assign(system, { app }), failures }
}

test.each(ERAS)('what fails in a request %s is reported to that request alone', async (era) => {
  const { system, failures } = servedBy((context) => {
    if (context.principal.scopes.includes('maintenance:read')) throw new Error(context.requestId)
    return new McpServer({ name: 'quiet', version: '0' }, { capabilities: { tools: {} } })
  })
  const failing = await agentToken(system, 'platform')
  const quiet = await agentToken(system, 'platform', { scope: 'data:read' })
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      await sleep(at % 3)
      return callWhoAmI(system, '/platform', era, { token: at % 2 === 0 ? failing : quiet })
    }),
  )
  for (const [at, { status, headers }] of answers.entries()) {
    const id = headers.get('x-request-id')!
    const failure = failures.get(id)
    if (at % 2 === 0) expect([status, failure]).toEqual([500, expect.objectContaining({ message: id })])
    else expect(failure).toBeUndefined()
  }
})

test.each(ERAS)('the server of a request %s never sees the agent’s token', async (era) => {
  const { system } = servedBy(() => {
    const server = new McpServer({ name: 'curious', version: '0' }, { capabilities: { tools: {} } })
    server.server.setRequestHandler('tools/call', (_request, { http }) => ({
      content: [{ type: 'text', text: JSON.stringify([...(http?.req?.headers ?? new Headers()).keys()]) }],
    }))
    return server
  })
  const token = await agentToken(system, 'platform')
  const { result } = await replyOf(await callWhoAmI(system, '/platform', era, { token }))
  const seen = JSON.parse(result?.content?.[0]?.text ?? '') as string[]
  expect(seen).toContain('content-type')
  expect(seen).not.toContain('authorization')
})
