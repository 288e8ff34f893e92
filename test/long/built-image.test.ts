/**
 * The image as an engine builds it, and its containers: all services, each by itself, and the compose file with a Postgres.
 * test/long/image.test.ts performs the same steps without an engine.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { SERVICE_NAMES } from '../../src/boot/config.ts'
import { environmentOf, objectsOf, ofKind, serviceOf } from '../support/chart/objects.ts'
import { renderChart } from '../support/chart/render-chart.ts'
import { SMALLEST } from '../support/chart/values.ts'
import {
  makeBase,
  makeNodeBase,
  makePostgresImage,
  startEngine,
  whatIsMissing,
  type Engine,
} from '../support/container-engine.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { unique } from '../support/make.ts'
import { freshSecrets } from '../support/system.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const TAG = `svc:${version}`
const COMMIT = 'a'.repeat(40)
/** As the compose file and the chart say. */
const GRACE_SECONDS = 40
const HARDENED = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'all',
  '--security-opt',
  'no-new-privileges',
]

let engine: Engine
let scratch: string
let whyNot = whatIsMissing()
if (whyNot !== undefined) console.log(`The image is not built by an engine: ${whyNot}.`)
beforeEach(({ skip }) => skip(whyNot !== undefined, whyNot))

beforeAll(async () => {
  if (whyNot !== undefined) return
  scratch = await mkdtemp(join(tmpdir(), 'svc-built-image-'))
  engine = await startEngine(scratch)
  await makeBase(engine, scratch, { suite: 'bookworm', tag: 'docker.io/library/debian:bookworm-slim' })
  await makeNodeBase(engine, scratch, realNode())
  const built = await engine.tryPodman(
    'build',
    '--pull=never',
    '--network',
    'host',
    ...wayOut(),
    // OCI has no health checks.
    '--format',
    'docker',
    '--tag',
    TAG,
    '--build-arg',
    `SVC_BUILD_COMMIT=${COMMIT}`,
    ROOT,
  )
  if (built.code !== 0 && /E(NOTFOUND|CONNREFUSED|CONNRESET|AI_AGAIN|TIMEDOUT)/.test(built.output))
    whyNot = 'npm cannot install here'
  else if (built.code !== 0) throw new Error(built.output.slice(-4_000))
}, 20 * 60_000)
afterAll(() => engine?.remove(), 5 * 60_000)

/** The program itself, and not a wrapper of npm. */
const realNode = (): string => {
  const bundled = join(ROOT, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node')
  return existsSync(bundled) ? bundled : process.execPath
}

/** How npm gets out of this machine, for the build alone: nothing of it is left in the image. */
function wayOut(): string[] {
  const get = (name: string) =>
    spawnSync('npm', ['config', 'get', name], { cwd: scratch, encoding: 'utf8' }).stdout.trim()
  const authorities = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt'
  const lines = [`registry=${get('registry')}`, 'cache=/run/npm-cache', 'prefer-offline=true']
  const volumes: string[] = []
  if (existsSync(authorities)) {
    copyFileSync(authorities, join(scratch, 'authorities.crt'))
    lines.push('cafile=/run/authorities.crt')
    volumes.push('--volume', `${join(scratch, 'authorities.crt')}:/run/authorities.crt:ro`)
  }
  writeFileSync(join(scratch, 'npmrc'), `${lines.join('\n')}\n`)
  // A copy: the build writes there as root.
  mkdirSync(join(scratch, 'npm-cache'))
  const cached = join(get('cache'), '_cacache')
  if (existsSync(cached)) cpSync(cached, join(scratch, 'npm-cache', '_cacache'), { recursive: true })
  volumes.push('--volume', `${join(scratch, 'npmrc')}:/root/.npmrc:ro`)
  return [...volumes, '--volume', `${join(scratch, 'npm-cache')}:/run/npm-cache`]
}

async function untilReady(name: string, port: number | string): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    await sleep(100)
  }
  throw new Error(`It did not get ready in two minutes: ${await engine.podman('logs', name)}`)
}

/** A signal, the grace, then a kill: whoever is killed has another code. */
async function stop(name: string): Promise<{ code: string; isStopped: boolean; said: string }> {
  await engine.podman('stop', '--time', String(GRACE_SECONDS), name)
  const code = (await engine.podman('inspect', '--format', '{{.State.ExitCode}}', name)).trim()
  const said = await engine.podman('logs', name)
  return { code, isStopped: said.includes('"event":"stopped"'), said }
}
const STOPPED = { code: '0', isStopped: true }

const settings = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`])

async function start(env: Readonly<Record<string, string>>): Promise<{ name: string; port: number }> {
  const name = unique('svc-image')
  const port = await freePort()
  const own = { HOST: '127.0.0.1', PORT: String(port), METRICS_PORT: 'off', MANAGED_DATABASE_PORT: '0' }
  const args = ['run', '--detach', '--name', name, '--network', 'host', ...HARDENED]
  await engine.podman(...args, ...settings({ ...env, ...own }), TAG)
  return { name, port }
}

test('it says who it runs as, what it runs, and which commit it is', async () => {
  const [{ Config: config }] = JSON.parse(await engine.podman('image', 'inspect', TAG)) as [
    { Config: Record<string, unknown> & { Env: string[] } },
  ]
  expect(config).toMatchObject({
    User: '10001:10001',
    Entrypoint: ['node', 'bin/server'],
    ExposedPorts: { '4000/tcp': {} },
    Volumes: { '/var/lib/svc': {} },
  })
  expect(config.Env).toContain(`SVC_BUILD_COMMIT=${COMMIT}`)
  // Of how it was built nothing is left.
  const find = ['--user', '0', '--entrypoint', 'find', TAG, '/root', '/run', '-type', 'f']
  const left = await engine.podman('run', '--rm', ...find)
  expect(left.split('\n').filter((path) => /npm|authorities/.test(path))).toEqual([])
})

test('all services, as nobody special over a read-only root: the first start, its health, and a stop in time', async () => {
  const { name, port } = await start({})
  await untilReady(name, port)
  const inside = async (...command: string[]) => engine.podman('exec', name, ...command)
  expect(await inside('cat', '/var/lib/svc/first-run.txt')).toContain('Password')
  expect((await inside('id', '-u')).trim()).toBe('10001')
  const written = await engine.tryPodman('exec', name, 'touch', '/app/written', '/etc/written')
  expect(written.output).toMatch(/Read-only file system[^]*Read-only file system/)
  await engine.podman('healthcheck', 'run', name)
  const skills = await fetch(`http://localhost:${port}/.well-known/agent-skills/index.json`)
  expect(await skills.text()).toContain(COMMIT)
  expect(await stop(name)).toMatchObject(STOPPED)
})

test.each(SERVICE_NAMES)('%s by itself, with what the chart tells it', async (service) => {
  const objects = objectsOf(renderChart(SMALLEST))
  const deployment = ofKind(objects, 'Deployment').find((one) => serviceOf(one) === service)!
  const told = environmentOf(deployment, objects)
  const { url } = inject('postgres')
  const database = unique('built_image').replaceAll('-', '_')
  if (told['DATABASE_URL'] !== undefined) {
    await onServer(url, `create database ${database}`)
    told['DATABASE_URL'] = databaseUrl(url, database)
  }
  const { name, port } = await start(told)
  await untilReady(name, port)
  expect(await stop(name)).toMatchObject(STOPPED)
})

test(
  'the compose file: a database, svc beside it, and what they keep over a restart',
  { timeout: 10 * 60_000 },
  async () => {
    const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8')
    const [, image] = /image: (pgvector\/\S+)/.exec(text)!
    await makePostgresImage(engine, scratch, `docker.io/${image}`)
    const folder = join(scratch, unique('compose'))
    mkdirSync(folder)
    const port = await freePort()
    writeFileSync(join(folder, 'compose.yaml'), text.replace('127.0.0.1:4000:', `127.0.0.1:${port}:`))
    const secrets = { DATABASE_PASSWORD: 'f'.repeat(64), ...freshSecrets() }
    const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(folder, '.env'), lines.join(''), { mode: 0o600 })
    await engine.compose(folder, 'up', '--detach', '--no-build')
    const names = (await engine.podman('ps', '--format', '{{.Names}}')).split('\n')
    const [svc, database] = ['svc', 'database'].map((one) => names.find((name) => name.includes(`_${one}_`))!)
    await untilReady(svc!, port)
    expect(await engine.podman('exec', svc!, 'cat', '/var/lib/svc/first-run.txt')).toContain('Password')
    const count = () =>
      engine.podman('exec', database!, 'psql', '-U', 'svc', '-d', 'svc', '-Atc', 'select count(*) from users')
    expect((await count()).trim()).toBe('1')
    expect(await stop(svc!)).toMatchObject(STOPPED)
    await engine.podman('start', svc!)
    await untilReady(svc!, port)
    expect((await count()).trim()).toBe('1')
    expect(await stop(svc!)).toMatchObject(STOPPED)
    await engine.compose(folder, 'down')
  },
)
