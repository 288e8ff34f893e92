/** What somebody sees of the very first start, at a terminal and without one, and when it cannot be. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { processes, type ServerProcess } from '../support/process.ts'

const own = processes()
const disks: string[] = []
afterEach(own.cleanUp)
// Before that: hooks run from the last to the first, and a folder that is mounted cannot be removed.
afterEach(() => disks.splice(0).forEach((disk) => spawnSync('umount', ['--lazy', disk])))

const STEPS = ['Making the database', 'Starting the services', 'Making the first owner', 'Loading the sample']
const LAUNCHER = fileURLToPath(new URL('../../bin/server', import.meta.url))
/** Known on every Linux. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

const untilSeen = async (server: ServerProcess, what: string): Promise<void> => {
  const began = performance.now()
  while (!server.stdout().includes(what)) {
    if (performance.now() - began > 90_000)
      throw new Error(`never said: ${server.stdout()}${server.stderr()}`)
    await sleep(5)
  }
}

test('in a fresh clone, where nothing was compiled before, the line is there, too', async () => {
  const NODE_COMPILE_CACHE = join(await own.newFolder(), 'compiled')
  const server = await own.launch({ terminal: true, env: { NODE_COMPILE_CACHE, LOG_LEVEL: 'warn' } })
  await untilSeen(server, 'Making the database … ')
  // Otherwise it was not cold.
  expect(existsSync(NODE_COMPILE_CACHE)).toBe(true)
})

// How soon: `npm run bench cold-start`.
test('at a terminal a line stands there from the first step on, and every step with its duration', async () => {
  const server = await own.launch({ terminal: true, env: { LOG_LEVEL: 'warn' } })
  for (const step of STEPS) await untilSeen(server, `${step} … `)
  await untilSeen(server, 'Try it:')
  const lines = server.stdout().split(/\r?\n/)
  const shown = lines.slice(0, lines.indexOf('Welcome to svc. This is shown only once:'))
  expect(shown.map((line) => line.replace(/\d+\.\d s$/, '0.0 s'))).toEqual(
    STEPS.map((step) => `${step} … 0.0 s`),
  )
  server.press('\u0003')
  await server.exited

  const later = await own.launch({
    terminal: true,
    env: { SVC_DATA_DIR: server.dataFolder, LOG_LEVEL: 'warn' },
  })
  await untilSeen(later, '/console')
  expect(later.stdout()).not.toMatch(/Making|Loading/)
}, 180_000)

test('without a terminal the steps are lines of the log, also where an empty folder waits for the database', async () => {
  const SVC_DATA_DIR = await own.newFolder()
  mkdirSync(join(SVC_DATA_DIR, 'db'))
  const server = await own.start({ args: ['--empty'], env: { SVC_DATA_DIR } })
  const done = server.logLines().filter(({ event }) => event === 'start step done')
  expect(done.map(({ step }) => step).slice(0, 3)).toEqual(STEPS.slice(0, 3))
  for (const { ms } of done) expect(ms).toBeTypeOf('number')
}, 180_000)

test('a process at rest writes nothing, however often it does its jobs and is asked for its health', async () => {
  const server = await own.start({ args: ['--empty'] })
  const isReadyLine = ({ event }: { event: string }) => event === 'ready'
  // A job that comes every ten seconds has run three times, and everything else that begins with the start once.
  const runs = async () => {
    for (const path of ['/healthz', '/readyz']) expect((await server.fetch(path)).status).toBe(200)
    const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text()
    return Number(/svc_job_duration_seconds_count\{job="enforce tenant limits"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  await expect.poll(runs, { timeout: 120_000, interval: 500 }).toBeGreaterThanOrEqual(3)
  const lines = server.logLines()
  expect(lines.slice(lines.findIndex(isReadyLine) + 1)).toEqual([])
}, 180_000)

test('a taken port is noticed before anything is made', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  onTestFinished(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const home = await own.newFolder()
  const env = { PORT: String(port), SVC_DATA_DIR: join(home, 'data') }
  expect(await own.run({ env })).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: `Port ${port} is in use. Stop the other program, or set PORT.\n`,
  })
  expect(readdirSync(home)).toEqual([])
})

test('a folder where none can be made ends the start at once', async ({ skip }) => {
  skip(process.platform !== 'linux', 'there is no /proc here')
  expect(await own.run({ env: { SVC_DATA_DIR: '/proc/x' } })).toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      'The data folder /proc/x cannot be made: its file system takes no folders. Choose another one with SVC_DATA_DIR.\n',
  })
})

test('a file in place of the data folder', async () => {
  const file = join(await own.newFolder(), '.svc')
  writeFileSync(file, '')
  expect(await own.run({ env: { SVC_DATA_DIR: file } })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `The data folder ${file} is a file. Move it away, or choose another folder with SVC_DATA_DIR.\n`,
  })
})

test('a folder that this user may not write', async ({ skip }) => {
  const folder = join(await own.newFolder(), 'data')
  mkdirSync(folder, { mode: 0o500 })
  chmodSync(join(folder, '..'), 0o755)
  // Nothing is closed to root.
  const who = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  if (spawnSync('cat', [LAUNCHER], who).status !== 0) return skip('this checkout is for its owner alone')
  const ports = { PORT: String(await freePort()), METRICS_PORT: 'off', MANAGED_DATABASE_PORT: '0' }
  for (const SVC_DATA_DIR of [folder, join(folder, 'below')]) {
    const env = { PATH: process.env['PATH'], SVC_DATA_DIR, ...ports }
    const server = spawn(process.execPath, [LAUNCHER], { cwd: '/', env, ...who })
    const [[code], said] = await Promise.all([once(server, 'exit'), text(server.stderr)])
    const uid = isRoot ? NOBODY : process.getuid?.()
    const problem =
      SVC_DATA_DIR === folder
        ? `cannot be written by this user (uid ${uid}). Change its owner`
        : `cannot be made by this user (uid ${uid}). Make it and give it to this user`
    expect([code, said]).toEqual([
      1,
      `The data folder ${SVC_DATA_DIR} ${problem}, or choose another folder with SVC_DATA_DIR.\n`,
    ])
  }
})

/** A file system of its own, which only root may make, and not in every container. */
async function smallDisk(mib: number): Promise<string | undefined> {
  const at = await own.newFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', at])
  if (mounted.status !== 0) return undefined
  disks.push(at)
  return at
}

test('a disk that is too small for the first start', async ({ skip }) => {
  const disk = await smallDisk(16)
  if (disk === undefined) return skip('no file system can be mounted here')
  const SVC_DATA_DIR = join(disk, 'data')
  const { code, stdout, stderr } = await own.run({ env: { SVC_DATA_DIR } })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^The disk of the data folder \S+ has 1[56] MB left, and the first start needs 128 MB\. Free some space, or choose another folder with SVC_DATA_DIR\.\n$/,
  )
  expect(existsSync(join(SVC_DATA_DIR, 'db'))).toBe(false)
})

test('a disk with just the space that it asks for', async ({ skip }) => {
  const disk = await smallDisk(132)
  if (disk === undefined) return skip('no file system can be mounted here')
  const server = await own.start({ env: { SVC_DATA_DIR: join(disk, 'data') } })
  expect(await server.stop()).toMatchObject({ code: 0 })
}, 180_000)

test('a disk that fills while the database is being made', async ({ skip }) => {
  const disk = await smallDisk(280)
  if (disk === undefined) return skip('no file system can be mounted here')
  const SVC_DATA_DIR = join(disk, 'data')
  const server = await own.launch({ env: { SVC_DATA_DIR } })
  await untilSeen(server, '"start step"')
  spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'rest')}`, 'bs=1M'])
  expect(await server.exited).toMatchObject({ code: 1 })
  expect(server.stderr()).toBe(
    `The disk of the data folder ${SVC_DATA_DIR} is full. Free some space, or choose another folder with SVC_DATA_DIR.\n`,
  )
}, 120_000)
