import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { playedTimers } from '../../../test/support/played-timers.ts'
import { writeTar } from '../../contracts/write-tar.ts'
import type { CommandContext } from '../command-context.ts'
import { runDeployments } from './runner.ts'

const ended: (() => void)[] = []
afterEach(() => {
  for (const end of ended.splice(0)) end()
})

const CLAIMED = { deployment: { id: 'dep_1', revision_id: 'rev_1' }, fence: 1, lease_seconds: 60 }

/** A server that keeps whoever claims waiting, until the test answers. */
async function fakeServer() {
  const [asked, finished, claims]: [string[], unknown[], { claim_id: string }[]] = [[], [], []]
  let claim: ServerResponse | undefined
  const archive = gzipSync(writeTar([{ path: 'a', content: Buffer.from('a'), isExecutable: false }]))
  const server = createServer((request, response) => {
    const what = request.url!.split('/').at(-1)!
    asked.push(what)
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      if (what === 'claim') {
        claims.push(JSON.parse(body))
        claim = response
      } else if (what === 'archive') response.end(archive)
      else if (what === 'output') response.end(JSON.stringify({ position: 0, cancelled: false }))
      else {
        finished.push(JSON.parse(body))
        response.end(JSON.stringify({ id: 'dep_1', state: 'succeeded', code: null }))
      }
    })
  }).listen(0, '127.0.0.1')
  ended.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return {
    apiUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    asked,
    finished,
    claims,
    async claiming(count = 1) {
      await expect.poll(() => claims).toHaveLength(count)
    },
    breakOff: () => claim!.destroy(),
    isHungUp: () => claim!.closed,
    give: (answer: object) => claim!.end(JSON.stringify(answer)),
  }
}

/** More than a request needs that is hung up. */
async function turns(): Promise<void> {
  for (let made = 0; made < 100; made += 1) await turn()
}

type FakeServer = Awaited<ReturnType<typeof fakeServer>>

/** Also how it is told to stop. */
function startRunner(
  { apiUrl }: FakeServer,
  token: () => Promise<string> = async () => 'svc_secret',
  onInfo: (line: string) => void = () => {},
) {
  const ctx = {
    environment: fakeEnvironment({ env: { PATH: '/usr/bin:/bin' } }),
    settings: { timeoutMs: 30_000 },
    info: onInfo,
    resolveContext: async () => ({ apiUrl, token: await token() }),
  } as unknown as CommandContext
  const { pass, ...timers } = playedTimers()
  const done = runDeployments(ctx, { args: { app: 'shop' }, options: { exec: 'true' } }, timers)
  return { done, pass, stop: () => process.listeners('SIGTERM').at(-1)!('SIGTERM') }
}

test('what a claim still brings after the signal is run before the runner ends', async () => {
  const server = await fakeServer()
  const { done, stop, pass } = startRunner(server)
  await server.claiming()
  stop()
  pass(2_999)
  await turns()
  server.give(CLAIMED)
  expect(await done).toBe(0)
  expect(server.finished).toMatchObject([{ fence: 1, exit_code: 0 }])
  expect(server.asked.filter((what) => what === 'claim')).toHaveLength(1)
})

test('a claim that only waits is hung up: three seconds after it was made', async () => {
  const server = await fakeServer()
  const { done, stop, pass } = startRunner(server)
  let isDone = false
  void done.then(() => (isDone = true))
  await server.claiming()
  pass(2_000)
  stop()
  pass(999)
  await turns()
  expect(isDone).toBe(false)
  pass(1)
  expect(await done).toBe(0)
  await expect.poll(() => server.isHungUp()).toBe(true)
  expect(server.finished).toEqual([])
})

test('told to stop while it renews its token, a runner claims nothing more', async () => {
  const server = await fakeServer()
  const renewed = Promise.withResolvers<string>()
  let tokens = 0
  const { done, stop } = startRunner(server, async () => (++tokens <= 2 ? 'first' : renewed.promise))
  await server.claiming()
  server.give({ deployment: null, fence: null, lease_seconds: 60 })
  // The claim before is so recent that nothing would be hung up yet.
  await expect.poll(() => tokens).toBe(3)
  stop()
  renewed.resolve('second')
  expect(await done).toBe(0)
  expect(server.asked).toEqual(['claim'])
})

/** The server may have given it a deployment, which nobody would run. */
describe('told to stop when the answer to its claim was lost, a runner asks once more', () => {
  async function loseAnswer({ stopFirst }: { stopFirst: boolean }) {
    const server = await fakeServer()
    const { done, stop } = startRunner(server, undefined, (line) => {
      if (line.endsWith('Trying again.')) stop()
    })
    await server.claiming()
    if (stopFirst) stop()
    server.breakOff()
    await server.claiming(2)
    const [lost, repeated] = server.claims
    expect(repeated).toEqual({ ...lost, wait_seconds: 0 })
    return { server, done }
  }

  test.each([{ stopFirst: false }, { stopFirst: true }])('and runs what that brings: %o', async (order) => {
    const { server, done } = await loseAnswer(order)
    server.give(CLAIMED)
    expect(await done).toBe(0)
    expect(server.finished).toMatchObject([{ fence: 1, exit_code: 0 }])
    expect(server.claims).toHaveLength(2)
  })

  test('and then gives up', async () => {
    const { server, done } = await loseAnswer({ stopFirst: false })
    server.breakOff()
    expect(await done).toBe(0)
    expect(server.asked).toEqual(['claim', 'claim'])
  })
})
