/** The worker SDK as npm packs it, in an empty folder, on the machine's own Node, against `npm start`. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken, revokeAppToken } from '../../src/contracts/app-tokens.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import {
  createPipeline,
  listPipelineRuns,
  listPipelines,
  startPipelineRun,
} from '../../src/contracts/pipelines.ts'
import { machinesNode } from '../support/installed-client.ts'
import { firstWordsIn, migratedFolder, processes, type ServerProcess } from '../support/process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README = readFileSync(join(ROOT, 'sdk/worker/README.md'), 'utf8')
const EXAMPLE = /```js\n([^]*?)```/.exec(README)![1]!
const ALIAS = 'sample-shop'
const WAIT = { timeout: 30_000, interval: 200 }

const own = processes()
const node = machinesNode()
const workers: WorkerProcess[] = []
let server: ServerProcess
let call: Call
let folder: string
let pipelineId: string

beforeAll(async () => {
  const SVC_DATA_DIR = await migratedFolder(own)
  ;[folder, server] = [await install(), await own.start({ env: { SVC_DATA_DIR } })]
  call = server.as({ token: (await firstWordsIn(server)).token })
  ;({ id: pipelineId } = await call(createPipeline, { alias: ALIAS, name: 'hello' }))
  writeFileSync(join(folder, 'worker.mjs'), EXAMPLE)
})
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await own.cleanUp()
})

/** A folder with the packed SDK in it and nothing else. */
async function install(): Promise<string> {
  const [copy, empty] = [join(await own.newFolder(), 'copy'), join(await own.newFolder(), 'empty')]
  // A copy, so that no dist/ appears in the checkout.
  for (const path of ['sdk/worker', 'tsconfig.json'])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  mkdirSync(empty)
  execFileSync('npm', ['pack', '--pack-destination', empty], { cwd: join(copy, 'sdk/worker'), stdio: 'pipe' })
  const archive = readdirSync(empty).find((name) => name.endsWith('.tgz'))!
  expect(archive).toBe('svc-worker-0.0.18.tgz')
  const install = ['install', '--offline', '--no-audit', '--no-fund', `./${archive}`]
  execFileSync('npm', install, { cwd: empty, stdio: 'pipe' })
  return empty
}

type WorkerProcess = {
  readonly output: () => string
  readonly exited: Promise<number | null>
  readonly kill: ChildProcess['kill']
}

function startWorker(env: Record<string, string>, program = 'worker.mjs'): WorkerProcess {
  const child = spawn(node.path, [program], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', SVC_API_URL: server.origin, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const worker = { output: () => output, exited, kill: child.kill.bind(child) }
  workers.push(worker)
  return worker
}

const makeToken = () => call(createAppToken, { alias: ALIAS, name: 'worker', scope: 'apps:report' })
const start = () => call(startPipelineRun, { alias: ALIAS, pipeline_id: pipelineId })
const newestRun = async () =>
  (await call(listPipelineRuns, { alias: ALIAS, pipeline_id: pipelineId, limit: 1 })).runs[0]

describe(`the packed SDK on ${node.version}`, () => {
  test('has no dependencies, and nothing in it but what it needs', () => {
    const packed = join(folder, 'node_modules/svc-worker')
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'svc-worker',
    ])
    expect(readdirSync(packed).toSorted()).toEqual(['README.md', 'dist', 'package.json'])
    const { dependencies, peerDependencies } = JSON.parse(
      readFileSync(join(packed, 'package.json'), 'utf8'),
    ) as Record<string, unknown>
    expect([dependencies, peerDependencies]).toEqual([undefined, undefined])
  })

  test('has types', () => {
    const good = `import { createWorker, type PipelineContext } from 'svc-worker'
const hello = async ({ run, signal }: PipelineContext) => (signal.aborted ? run.id : undefined)
await createWorker({ app: 'shop', pipelines: { hello }, forwardLogs: { level: 'warn' } }).run()
// @ts-expect-error a worker has pipelines
createWorker({ app: 'shop' })
`
    writeFileSync(join(folder, 'good.mts'), good)
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node']
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', ...types]
    const check = () =>
      execFileSync(process.execPath, [realpathSync(tsc), ...options, 'good.mts'], {
        cwd: folder,
        stdio: 'pipe',
      })
    expect(check).not.toThrow()
  })

  test('runs the example of its README: connected, run, reported, its lines in the logs, stopped', async () => {
    expect(EXAMPLE.trim().split('\n')).toHaveLength(20)
    const { token } = await makeToken()
    const worker = startWorker({ SERVER_API_TOKEN: token })
    await expect.poll(worker.output, WAIT).toContain(`is connected to ${ALIAS}`)
    const { workers: connected } = await call(listPipelines, { alias: ALIAS })
    expect(connected).toMatchObject([{ connected: true, pipelines: ['hello'] }])
    await start()
    await expect
      .poll(newestRun, WAIT)
      .toMatchObject({ state: 'succeeded', message: 'Said hello three times' })
    const lines = async () => (await call(listLogs, { alias: ALIAS, text: 'of 3 is done' })).lines.length
    await expect.poll(lines, WAIT).toBe(3)
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
  })

  test('goes on when the server restarts, and says so', async () => {
    const { token } = await makeToken()
    const worker = startWorker({ SERVER_API_TOKEN: token })
    await expect.poll(worker.output, WAIT).toContain('is connected')
    const { dataFolder, port } = server
    await server.stop()
    await expect.poll(worker.output, WAIT).toContain('The server gives no run')
    server = await own.start({ env: { SVC_DATA_DIR: dataFolder, PORT: String(port) } })
    await expect
      .poll(() => worker.output().match(/is connected/g)?.length, { ...WAIT, timeout: 90_000 })
      .toBe(2)
    await start()
    await expect.poll(newestRun, WAIT).toMatchObject({ state: 'succeeded' })
    worker.kill('SIGINT')
    expect(await worker.exited).toBe(0)
  })

  test('reads its token from the file of the pod, anew when that was renewed, and from the variable first', async () => {
    const [first, second] = [await makeToken(), await makeToken()]
    const file = join(folder, 'token')
    writeFileSync(file, `${first.token}\n`)
    const worker = startWorker({ SVC_WORKLOAD_TOKEN_FILE: file })
    await expect.poll(worker.output, WAIT).toContain('is connected')
    writeFileSync(file, second.token)
    await call(revokeAppToken, { alias: ALIAS, token_id: first.id })
    await start()
    await expect.poll(newestRun, WAIT).toMatchObject({ state: 'succeeded' })
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    const preferring = startWorker({ SVC_WORKLOAD_TOKEN_FILE: file, SERVER_API_TOKEN: first.token })
    await expect.poll(preferring.output, WAIT).toContain('Invalid or expired API token')
    preferring.kill('SIGTERM')
    expect(await preferring.exited).toBe(0)
  })

  test('lets a run end before it stops', async () => {
    const { token } = await makeToken()
    const slow = EXAMPLE.replace('sleep(100,', 'sleep(1000,')
    writeFileSync(join(folder, 'slow.mjs'), slow)
    const worker = startWorker({ SERVER_API_TOKEN: token }, 'slow.mjs')
    await expect.poll(worker.output, WAIT).toContain('is connected')
    await start()
    await expect.poll(worker.output, WAIT).toContain('Part 1 of 3 is done')
    worker.kill('SIGTERM')
    expect(await worker.exited).toBe(0)
    expect(await newestRun()).toMatchObject({ state: 'succeeded', message: 'Said hello three times' })
  })

  test('says what is missing, and fails', async () => {
    const worker = startWorker({})
    expect(await worker.exited).toBe(1)
    expect(worker.output()).toContain('Set SERVER_API_TOKEN to a reporting token of the app')
  })
})
