/**
 * The image: the steps of the Containerfile performed in a folder, and the result started as its user with a read-only
 * root. Where mounts are refused (`unshare`), it is started without them, and says so.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { CurrentBundle } from '../../scripts/build-server.ts'
import { parse } from 'yaml'
import { SERVICE_NAMES, SETTINGS } from '../../src/boot/config.ts'
import { environmentOf, objectsOf, ofKind, serviceOf } from '../support/chart/objects.ts'
import { renderChart } from '../support/chart/render-chart.ts'
import { SMALLEST } from '../support/chart/values.ts'
import { addBase, buildImage, type Image } from '../support/containerfile.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { unique } from '../support/make.ts'
import { freshSecrets } from '../support/system.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64'
const OTHER = OWN === 'arm64' ? 'amd64' : 'arm64'
/** `e_machine` in the header of a program. */
const MACHINES = { amd64: 0x3e, arm64: 0xb7 }

const canMount = spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0
if (!canMount) console.log('The image is started without a read-only root: unshare is refused here.')

let scratch: string
let image: Image
let whyNot: string | undefined
beforeEach(({ skip }) => skip(whyNot !== undefined, whyNot))
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-image-'))
  // mkdtemp gives it to us alone, and the image's user has to come through.
  await chmod(scratch, 0o755)
  try {
    image = await build(OWN)
  } catch (error) {
    if (!/E(NOTFOUND|CONNREFUSED|CONNRESET|AI_AGAIN|TIMEDOUT)/.test(String(error))) throw error
    whyNot = 'npm cannot install here'
    return
  }
  // Of debian:bookworm-slim: `sleep` for the chart's preStop, `env` for the working directory.
  await addBase(image, ['/bin/sleep', '/usr/bin/env'])
}, 10 * 60_000)

const running = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of running) child.kill('SIGKILL')
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

const build = (architecture: string): Promise<Image> =>
  buildImage({
    context: ROOT,
    scratch: join(scratch, architecture),
    arguments: { TARGETARCH: architecture, SVC_BUILD_COMMIT: 'a'.repeat(40) },
    // npm as a machine has it: no settings of the script that runs this test.
    env: Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^npm_(?!config_(registry|cafile|cache|.*proxy))/i.test(name),
      ),
    ),
  })

/** Mounts the image and becomes its user. The rest of the machine, but for the network, is out of reach. */
const ENTER = `set -e
root=$1 workdir=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=0755 dev "$root/dev"
for device in null zero urandom random; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o "mode=0700,uid=\${user%:*},gid=\${user#*:}" data "$root/var/lib/svc"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$root" /usr/bin/env --chdir="$workdir" "$@"`

type Ended = { readonly code: number | null; readonly output: string }
type Container = {
  readonly child: ChildProcess
  readonly output: () => string
  readonly ended: Promise<Ended>
}

function start(command: readonly string[], env: Record<string, string>): Container {
  const { root, workdir, user = '' } = image
  const enter = ['--mount', '--pid', '--fork', '--kill-child=SIGTERM', 'sh', '-c', ENTER, 'sh']
  const words = canMount ? ['unshare', ...enter, root, workdir, user, ...command] : command
  // Without mounts the same program, in its folder.
  const outside = { SVC_DATA_DIR: join(scratch, 'data'), PATH: join(root, 'app/node_modules/.bin') }
  const child = spawn(words[0]!, words.slice(1), {
    cwd: join(root, workdir),
    env: { ...image.env, ...(canMount ? {} : outside), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      running.delete(child)
      resolve({ code, output })
    })
  })
  return { child, output: () => output, ended }
}

const evaluate = (code: string): Promise<Ended> => start(['node', '-e', code], {}).ended

async function emptyDatabase(): Promise<string> {
  const { url } = inject('postgres')
  const name = unique('image').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  return databaseUrl(url, name)
}

async function untilReady(container: Container, port: string): Promise<void> {
  let ended: Ended | undefined
  void container.ended.then((how) => (ended = how))
  for (let tries = 0; tries < 600; tries++) {
    if (ended) throw new Error(`It ended with ${ended.code}: ${ended.output}`)
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    await sleep(100)
  }
  throw new Error(`It did not get ready in a minute: ${container.output()}`)
}

const filesIn = (pattern: string): string[] => globSync(pattern, { cwd: image.root })

describe('the folder', () => {
  test('has what runs, and nothing that only developers need', () => {
    expect(filesIn('app/*').toSorted()).toEqual([
      'app/LICENSE',
      'app/bin',
      'app/db',
      'app/dist',
      'app/mcp',
      'app/node_modules',
      'app/oauth',
      'app/package-lock.json',
      'app/package.json',
      'app/skills',
      'app/src',
    ])
    expect(filesIn('app/{bin,db,mcp,oauth,skills,src}/**/*.test.ts')).toEqual([])
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(ROOT, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>
    const installed = filesIn('app/node_modules/{*,@*/*}').map((path) =>
      path.replace('app/node_modules/', ''),
    )
    expect(Object.keys(dependencies!).filter((name) => !installed.includes(name))).toEqual([])
    // Some are dependencies of dependencies, too.
    const developers = ['vitest', 'typescript', 'playwright-core', 'drizzle-kit', 'rolldown', 'knip']
    expect(developers.every((name) => name in devDependencies!)).toBe(true)
    expect(developers.filter((name) => installed.includes(name))).toEqual([])
  })

  test('has a bundle of all the sources that it has, and of no others', async () => {
    const { folder, inputs } = JSON.parse(
      await readFile(join(image.root, 'app/dist/server/current.json'), 'utf8'),
    ) as CurrentBundle
    expect(filesIn(`app/dist/server/${folder}/main.js`)).toHaveLength(1)
    const known = new Map(inputs.map(([path, , , sha256]) => [path, sha256]))
    const sources = filesIn('app/{db,mcp,oauth,src}/**/*.ts').map((path) => path.replace('app/', ''))
    expect(sources.filter((path) => !known.has(path))).toEqual([])
    known.delete('scripts/build-server.ts')
    const others = [...known].filter(([path, sha256]) => {
      const text = readFileSync(join(image.root, 'app', path))
      return createHash('sha256').update(text).digest('hex') !== sha256
    })
    expect(others).toEqual([])
  })

  test(
    'is of the architecture that was asked for, and the other one can be built here too',
    async () => {
      const other = await build(OTHER)
      for (const [architecture, { root }] of [
        [OWN, image],
        [OTHER, other],
      ] as const) {
        const programs = globSync('app/node_modules/**/{bin/node,*.node}', { cwd: root }).filter(
          (path) => !path.includes('.bin/'),
        )
        expect(programs.length).toBeGreaterThan(1)
        for (const path of programs) {
          const header = (await readFile(join(root, path))).subarray(0, 20)
          expect(header.readUInt16LE(18), `${architecture} ${path}`).toBe(MACHINES[architecture])
        }
      }
    },
    10 * 60_000,
  )
})

describe('started', () => {
  test.skipIf(!canMount)('it is nobody special, and can write to its data and /tmp alone', async () => {
    const { code, output } = await evaluate(`
      const { writeFileSync } = require('node:fs')
      const tried = ['/app', '/app/node_modules', '/etc', '/', '/var/lib/svc', '/tmp'].map((folder) => {
        try { writeFileSync(folder + '/written', ''); return [folder, 'written'] } catch ({ code }) { return [folder, code] }
      })
      console.log(JSON.stringify({ uid: process.getuid(), groups: process.getgroups(), tried: Object.fromEntries(tried) }))`)
    expect(code, output).toBe(0)
    expect(JSON.parse(output)).toEqual({
      uid: 10_001,
      groups: [10_001],
      tried: {
        '/app': 'EROFS',
        '/app/node_modules': 'EROFS',
        '/etc': 'EROFS',
        '/': 'EROFS',
        '/var/lib/svc': 'written',
        '/tmp': 'written',
      },
    })
  })

  test('the migration of the chart, then all services as in the compose file: healthy, usable, and stopped in its own time', async () => {
    const DATABASE_URL = await emptyDatabase()
    const migrated = await start([...image.entrypoint, 'migrate'], { DATABASE_URL }).ended
    expect(migrated, migrated.output).toMatchObject({ code: 0 })
    expect(migrated.output).toContain('Applied: ')

    const [PORT, METRICS_PORT] = [String(await freePort()), String(await freePort())]
    const env = {
      ...composeEnvironment(),
      DATABASE_URL,
      PORT,
      METRICS_PORT,
      MANAGED_DATABASE_URL: 'embedded',
      MANAGED_DATABASE_PORT: '0',
    }
    const server = start(image.entrypoint, env)
    await untilReady(server, PORT)

    const healthy = await start(image.healthcheck, { PORT }).ended
    expect(healthy, healthy.output).toMatchObject({ code: 0 })
    const unhealthy = await start(image.healthcheck, { PORT: String(await freePort()) }).ended
    expect(unhealthy).toMatchObject({ code: 1 })

    const get = (path: string, init?: RequestInit) => fetch(`http://localhost:${PORT}${path}`, init)
    expect((await get('/api/v1/me')).status).toBe(401)
    expect((await get('/auth/sign-in')).status).toBe(200)
    expect((await get('/console', { redirect: 'manual' })).status).toBeLessThan(400)
    const skills = (await (await get('/.well-known/agent-skills/index.json')).json()) as object
    expect(JSON.stringify(skills)).toContain('svc-ai-gateway')

    execFileSync('kill', ['-TERM', String(innermost(server.child.pid!))])
    const stopped = await server.ended
    expect(stopped, stopped.output).toMatchObject({ code: 0 })
    expect(stopped.output).toContain('"event":"stopped"')
  })

  test.each(SERVICE_NAMES)(
    'a container of the kind %s gets ready with what the chart tells it',
    async (service) => {
      const objects = objectsOf(renderChart(SMALLEST))
      const deployment = ofKind(objects, 'Deployment').find((one) => serviceOf(one) === service)!
      // The image has the folder too, and without mounts it is another one.
      const { SVC_DATA_DIR: _, ...told } = environmentOf(deployment, objects)
      const PORT = String(await freePort())
      const database: Record<string, string> =
        told['DATABASE_URL'] === undefined ? {} : { DATABASE_URL: await emptyDatabase() }
      const server = start(image.entrypoint, { ...told, ...database, PORT })
      await untilReady(server, PORT)
      execFileSync('kill', ['-TERM', String(innermost(server.child.pid!))])
      expect(await server.ended).toMatchObject({ code: 0 })
    },
  )
})

/** `unshare` waits for its child, which is the first process in there; the signal is for that one. */
function innermost(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return canMount && children !== '' ? Number(children.split(' ')[0]) : pid
}

/** What the compose file tells svc, with an .env as its page says to make it. */
function composeEnvironment(): Record<string, string> {
  const { services } = parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8')) as {
    services: { svc: { environment: Record<string, string> } }
  }
  const env: Record<string, string> = { ...freshSecrets(), DATABASE_PASSWORD: 'f'.repeat(64) }
  const { environment } = services.svc
  expect(Object.keys(environment).filter((name) => !(name in SETTINGS))).toEqual([])
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, variable: string) => {
        expect(env[variable], `${variable} in compose.yaml`).toBeDefined()
        return env[variable]!
      }),
    ]),
  )
}
