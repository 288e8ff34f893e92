/** Limits on calls, with an auth service and a gateway in memory; test/walks/mcp-limits.test.ts counts in the database. */
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { showQuota } from '../src/contracts/data-sources.ts'
import { validateToken } from '../src/contracts/tokens.ts'
import { FAIR_QUEUES } from '../src/contracts/fair-queues.ts'
import {
  agentToken,
  callWhoAmI,
  fakeServices,
  MCP,
  send,
  toolText,
  type Era,
  type FakeServices,
} from '../test/support/fake-services.ts'

const validations = (system: FakeServices) => system.asked.filter(({ service }) => service === 'auth').length

describe.each<Era>(['of 2025', 'of 2026'])('a client %s', (era) => {
  test('has sixteen calls open; the next is told when to come back, with an activity row', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const hold = Promise.withResolvers<void>()
    const answer = system.does[showQuota.name]!
    system.does[showQuota.name] = async (input) => {
      await hold.promise
      return answer(input)
    }
    const call = async (bearer = token) =>
      toolText(await callWhoAmI(system, '/platform', era, { token: bearer }))
    const open = Array.from({ length: 16 }, () => call())
    await sleep(0)
    const refused = await callWhoAmI(system, '/platform', era, { token })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } })
    expect(system.reported).toEqual([
      expect.objectContaining({ name: 'whoami', outcome: 'refused', error: 'RATE_LIMITED' }),
    ])
    // An API token is another credential.
    const other = call(system.apiToken)
    hold.resolve()
    for (const { isError } of await Promise.all([...open, other])) expect(isError).toBe(false)
    expect((await callWhoAmI(system, '/platform', era, { token })).status).toBe(200)
  })
})

test('more calls of a person than may wait are refused, with an activity row, and those of others are not', async () => {
  const system = fakeServices()
  const token = await agentToken(system, 'platform')
  const hold = Promise.withResolvers<void>()
  const answer = system.does[showQuota.name]!
  system.does[showQuota.name] = async (input) => {
    await hold.promise
    return answer(input)
  }
  const call = async (bearer: string) => callWhoAmI(system, '/platform', 'of 2026', { token: bearer })
  const { running, waiting } = FAIR_QUEUES.mcpCalls
  const open = Array.from({ length: running.person }, () => call(token))
  // Of the same person, by other agents.
  const grants = Array.from({ length: waiting.person / 16 }, (_, at) => `grt_other_${at}`)
  const tokens = await Promise.all(grants.map((grantId) => agentToken(system, 'platform', { grantId })))
  const others = tokens.flatMap((other) => Array.from({ length: 16 }, () => call(other)))
  await sleep(0)
  const refused = await call(token)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({
    error: { code: 'RATE_LIMITED', message: 'Too many calls; try again later' },
  })
  expect(system.reported).toEqual([
    expect.objectContaining({ name: 'whoami', outcome: 'refused', error: 'RATE_LIMITED' }),
  ])
  // Nobody has said yet whose this one is.
  const another = call(system.apiToken)
  hold.resolve()
  for (const { status } of await Promise.all([...open, another])) expect(status).toBe(200)
  await Promise.all(others)
  expect((await call(token)).status).toBe(200)
})

test.each(['grant', 'API token'])(
  'a %s over its calls per minute is refused, with an activity row',
  async (kind) => {
    const system = fakeServices()
    const token = kind === 'grant' ? await agentToken(system, 'platform') : system.apiToken
    system.changeAnswer = (valid) => ({ ...valid, retry_after_seconds: 7 })
    const refused = await callWhoAmI(system, '/platform', 'of 2026', { token })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(system.reported).toEqual([
      expect.objectContaining({ name: 'whoami', outcome: 'refused', error: 'RATE_LIMITED' }),
    ])
    // Until then nobody is asked to count, and a list is refused too; it is no call of a tool, so it leaves no row.
    system.changeAnswer = (valid) => valid
    system.clock = new Date(system.clock.getTime() + 2_000)
    const paused = await send(system, '/platform', 'of 2026', 'tools/list', { token })
    expect([paused.status, paused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(system.reported).toHaveLength(1)
    system.clock = new Date(system.clock.getTime() + 5_000)
    expect((await callWhoAmI(system, '/platform', 'of 2026', { token })).status).toBe(200)
  },
)

test('a credential that is refused and whose token has ended is told so', async () => {
  const system = fakeServices()
  system.changeAnswer = (valid) => ({ ...valid, retry_after_seconds: 7 })
  const sent = { token: system.apiToken }
  expect((await callWhoAmI(system, '/platform', 'of 2026', sent)).status).toBe(429)
  system.token.isLive = false
  expect((await callWhoAmI(system, '/platform', 'of 2026', sent)).status).toBe(401)
})

test('the credentials of one person share their turns, once it is known whose they are', async () => {
  const system = fakeServices()
  const grant = await agentToken(system, 'platform')
  const tokens = [grant, system.apiToken]
  for (const token of tokens) await callWhoAmI(system, '/platform', 'of 2026', { token })
  const hold = Promise.withResolvers<void>()
  const answer = system.does[showQuota.name]!
  const running = { now: 0, most: 0 }
  system.does[showQuota.name] = async (input) => {
    running.now += 1
    running.most = Math.max(running.most, running.now)
    await hold.promise
    running.now -= 1
    return answer(input)
  }
  const open = [...tokens, ...tokens].map(async (token) =>
    callWhoAmI(system, '/platform', 'of 2026', { token }),
  )
  await expect.poll(() => running.now).toBe(2)
  hold.resolve()
  for (const { status } of await Promise.all(open)) expect(status).toBe(200)
  expect(running.most).toBe(2)
})

test('the auth service is told which endpoint is called, so that it counts', async () => {
  const system = fakeServices()
  const token = await agentToken(system, 'notifications')
  await send(system, '/notifications', 'of 2026', 'tools/list', { token })
  const [asked] = system.asked
  expect(validateToken.input.parse(JSON.parse(asked!.body)).audience).toBe('notifications')
})

describe('a batch', () => {
  const post = async (system: FakeServices, length: number) => {
    const one = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'whoami', arguments: {} } }
    return system.app.request(`${MCP}/platform`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await agentToken(system, 'platform')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(Array.from({ length }, (_, id) => ({ ...one, id }))),
    })
  }

  test('counts as many calls as it has messages', async () => {
    const system = fakeServices()
    expect((await post(system, 3)).status).toBe(200)
    expect(validations(system)).toBe(3)
  })

  test('does not wait for its own calls to become slow, and runs as many as a person may at a time', async () => {
    // None of them ever does.
    const system = fakeServices({ slowMs: 2 ** 31 - 1 })
    const answer = system.does[showQuota.name]!
    const running = { now: 0, most: 0 }
    system.does[showQuota.name] = async (input) => {
      running.now += 1
      running.most = Math.max(running.most, running.now)
      await turn()
      running.now -= 1
      return answer(input)
    }
    const response = await post(system, 16)
    const text = await response.text()
    expect(text.match(/ada@example.com/g)).toHaveLength(16)
    expect(running.most).toBe(FAIR_QUEUES.mcpCalls.running.person)
  })

  test('is not answered when its token ends while it is counted', async () => {
    const system = fakeServices()
    system.changeAnswer = (valid) => {
      system.grant.isLive = validations(system) < 2
      return valid
    }
    expect((await post(system, 3)).status).toBe(401)
    expect(validations(system)).toBe(3)
    expect(system.reported).toEqual([])
  })

  test('a call of it that finds its grant ended is refused, whatever the one before it was answered', async () => {
    const system = fakeServices()
    const answer = system.does[showQuota.name]!
    system.does[showQuota.name] = (input) => {
      system.grant.isLive = false
      return answer(input)
    }
    const text = await (await post(system, 3)).text()
    // Two run at a time; the third begins when the grant has ended.
    expect(text).toContain('UNAUTHENTICATED')
    expect(text).toContain('ada@example.com')
  })

  test('is refused as a whole where one of its calls is', async () => {
    const system = fakeServices()
    system.changeAnswer = (valid) => ({
      ...valid,
      retry_after_seconds: validations(system) === 2 ? 5 : undefined,
    })
    expect((await post(system, 3)).status).toBe(429)
    expect(system.reported.map(({ error }) => error)).toEqual(Array(3).fill('RATE_LIMITED'))
  })

  test('may have as many messages as calls may be open', async () => {
    const system = fakeServices()
    expect((await post(system, 17)).status).toBe(400)
    expect(system.reported).toEqual([])
  })
})
