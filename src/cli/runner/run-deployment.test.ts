import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { writeTar } from '../../contracts/write-tar.ts'
import type { CallOperation } from '../call-operation.ts'
import type { CommandContext } from '../command-context.ts'
import { runDeployment, type Claimed } from './run-deployment.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-runner-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const trace = (name: string) => join(folder, `trace-${name}`)
const until = async (holds: () => boolean) => {
  while (!holds()) await sleep(20)
}

const FILE = { path: 'hello.txt', content: Buffer.from('hello'), isExecutable: false }

type Calls = { download?: () => Promise<void>; isCancelled?: () => boolean; isLost?: () => boolean }

/** A server that remembers how the runner said it ended. */
function fakeServer({ download, isCancelled = () => false, isLost = () => false }: Calls = {}) {
  const reports: { exit_code: number | null; code?: string }[] = []
  let [signsOfLife, downloads] = [0, 0]
  const call = (async (
    name: string,
    input: { exit_code: number | null; code?: string; position: number },
  ) => {
    if (name === 'reportDeploymentOutput') {
      signsOfLife++
      if (isLost()) throw new ServiceError('CONFLICT')
      return { position: input.position, cancelled: isCancelled() }
    }
    if (name === 'downloadRevision') {
      downloads++
      await download?.()
      return { body: gzipSync(writeTar([FILE])) }
    }
    const { exit_code, code } = input
    reports.push({ exit_code, ...(code !== undefined && { code }) })
    return { id: 'dep_1', state: 'failed', code: null }
  }) as unknown as CallOperation
  return { call, reports, signsOfLife: () => signsOfLife, downloads: () => downloads }
}

function run(
  call: CallOperation,
  command: string,
  more: { workFolder?: string; timeoutMs?: number; aborting?: AbortSignal } = {},
) {
  const ctx = {
    environment: { env: { PATH: '/usr/bin:/bin' }, stdout: { write: () => {} } },
    info: () => {},
  } as unknown as CommandContext
  const { aborting = new AbortController().signal, ...settings } = more
  // A sign of life every 50 ms; the pause between two looks is longer.
  const claimed = {
    deployment: { id: 'dep_1', revision_id: 'rev_1' },
    fence: 1,
    leaseMs: 300,
  } as Claimed
  const given = { alias: 'shop', command, name: 'r', timeoutMs: 60_000, workFolder: folder, ...settings }
  return runDeployment({ ctx, call, settings: given, aborting }, claimed)
}

test('without a folder to work in the deployment fails, and the runner does not keep it', async () => {
  const server = fakeServer()
  expect(await run(server.call, 'true', { workFolder: join(folder, 'gone') })).toBe(false)
  expect(server.reports).toEqual([{ exit_code: null, code: 'RUNNER_FAILED' }])
  const signs = server.signsOfLife()
  await sleep(700)
  expect(server.signsOfLife()).toBe(signs)
})

test('cancelled, a command that cleans up and ends with 0 has not succeeded', async () => {
  const server = fakeServer({ isCancelled: () => existsSync(trace('begun')) })
  await run(server.call, `trap 'exit 0' TERM; touch ${trace('begun')}; while :; do sleep 0.05; done`)
  expect(server.reports).toEqual([{ exit_code: 0, code: 'RUNNER_FAILED' }])
  expect((await readdir(folder)).filter((name) => name.startsWith('svc-deploy-'))).toEqual([])
})

test('a command that ends by itself is reported as it ended', async () => {
  const server = fakeServer()
  await run(server.call, 'exit 0')
  expect(server.reports).toEqual([{ exit_code: 0 }])
})

test('cancelled while the revision is downloaded, the command never begins', async () => {
  let isCancelled = false
  const server = fakeServer({
    isCancelled: () => isCancelled,
    download: async () => {
      isCancelled = true
      const signs = server.signsOfLife()
      await until(() => server.signsOfLife() > signs)
      await sleep(20)
    },
  })
  await run(server.call, `touch ${trace('begun')}`)
  expect(server.reports).toEqual([{ exit_code: null, code: 'RUNNER_FAILED' }])
  expect(existsSync(trace('begun'))).toBe(false)
})

test.each(['isCancelled', 'isLost'] as const)(
  'nor if the server says at the last moment: %s',
  async (says) => {
    let hasDownloaded = false
    const download = async () => void (hasDownloaded = true)
    const server = fakeServer({ download, [says]: () => hasDownloaded })
    await run(server.call, `touch ${trace('begun')}`)
    expect(server.reports).toEqual([{ exit_code: null, code: 'RUNNER_FAILED' }])
    expect(existsSync(trace('begun'))).toBe(false)
  },
)

test('a download that never works ends by the time-out, or when the person insists', async () => {
  const failing = { download: () => Promise.reject(new ServiceError('UNEXPECTED')) }
  const slow = fakeServer(failing)
  await run(slow.call, 'true', { timeoutMs: 100 })
  expect(slow.reports).toEqual([{ exit_code: null, code: 'TIMED_OUT' }])
  const aborting = new AbortController()
  const stopped = fakeServer(failing)
  const running = run(stopped.call, 'true', { aborting: aborting.signal })
  await until(() => stopped.downloads() > 0)
  aborting.abort()
  await running
  expect(stopped.reports).toEqual([{ exit_code: null, code: 'RUNNER_FAILED' }])
})
