/** The server as a release starts it: bundled, in a folder of its own, and back to the sources once one has changed. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { buildServer, type CurrentBundle } from '../../scripts/build-server.ts'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { SAMPLE_QUESTION, SAMPLE_SOURCE } from '../../src/sample/load-sample.ts'
import { firstWordsIn, processes } from '../support/process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const own = processes()
afterEach(own.cleanUp)

let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-bundle-'))
  mkdirSync(join(folder, 'skills'))
  for (const path of [
    'bin',
    'db',
    'mcp',
    'oauth',
    'package.json',
    'package-lock.json',
    'scripts/build-server.ts',
    'skills/history.json',
    'skills/published',
    'skills/released',
    'src',
  ]) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await buildServer(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

const current = () =>
  JSON.parse(readFileSync(join(folder, 'dist/server/current.json'), 'utf8')) as CurrentBundle
const inBundle = (name: string) => join(folder, 'dist/server', current().folder, name)
const sources = () => globSync('{src,mcp,oauth,db}/**/*.ts', { cwd: folder })

/** As if its sources were still the same. */
const trustBundle = () =>
  writeFileSync(
    join(folder, 'dist/server/current.json'),
    JSON.stringify({ ...current(), inputs: [] } satisfies CurrentBundle),
  )

const runs = (...words: string[]) =>
  spawnSync(process.execPath, [join(folder, 'bin/server'), ...words], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  })

test('it knows every source, also such as leave nothing in it, and what is saved while it is built', async () => {
  const known = new Set(current().inputs.map(([path]) => path))
  const ours = sources().filter((path) => !path.endsWith('.test.ts'))
  expect(ours.filter((path) => !known.has(path))).toEqual([])
  expect(known).toContain('package-lock.json')
  expect(known).toContain('scripts/build-server.ts')

  // Not one of its inputs, so it can say that it runs.
  const main = readFileSync(inBundle('main.js'), 'utf8')
  writeFileSync(inBundle('main.js'), `process.stdout.write('bundle ');${main}`)
  expect(runs('--version').stdout).toMatch(/^bundle \d/)
  for (const path of ['src/cores/grants/index.ts', 'src/boot/version.ts']) {
    const text = readFileSync(join(folder, path), 'utf8')
    appendFileSync(join(folder, path), '// changed\n')
    expect(runs('--version').stdout, path).toMatch(/^\d/)
    writeFileSync(join(folder, path), text)
    expect(runs('--version').stdout, path).toMatch(/^bundle \d/)
  }
  writeFileSync(inBundle('main.js'), main)

  const building = buildServer(folder)
  appendFileSync(join(folder, 'src/cores/grants/index.ts'), '// saved meanwhile\n')
  await building
  expect(current().inputs.map(([path]) => path)).toContain('src/cores/grants/index.ts')
  const { sha256, now } = digestsOf('src/cores/grants/index.ts')
  expect(sha256).not.toBe(now)
  await buildServer(folder)
})

function digestsOf(path: string) {
  const [, , , sha256] = current().inputs.find(([name]) => name === path)!
  const now = createHash('sha256')
    .update(readFileSync(join(folder, path)))
    .digest('hex')
  return { sha256, now }
}

test('it starts without a look at its sources, and is not disturbed when another one is built', async () => {
  const texts = new Map(sources().map((path) => [path, readFileSync(join(folder, path))]))
  // Whatever runs them fails.
  const breakSources = () => {
    for (const path of texts.keys()) writeFileSync(join(folder, path), '!')
  }
  const first = current().folder
  trustBundle()
  breakSources()
  const server = await own.start({ launcher: join(folder, 'bin/server') })
  expect(server.logLines().find(({ event }) => event === 'ready')).toMatchObject({ program: 'bundle' })

  for (const [path, text] of texts) writeFileSync(join(folder, path), text)
  // Threads and what is loaded later, all with other names or other contents.
  for (const path of ['db/engine-worker.ts', 'oauth/connector/connector-handler.ts'])
    appendFileSync(join(folder, path), `\nif (process.argv.length > 99) throw new Error('${path}')\n`)
  await buildServer(folder)
  expect(current().folder).not.toBe(first)
  trustBundle()
  breakSources()

  const call = server.as({ token: (await firstWordsIn(server)).token })
  expect(await call(whoAmI, {})).toMatchObject({ role: 'owner' })
  const { results } = await call(queryDataSource, {
    source_id: SAMPLE_SOURCE,
    query: SAMPLE_QUESTION,
    top_k: 1,
  })
  expect(results).toMatchObject([{ id: 'work-from-abroad' }])
  for (const path of ['/console', '/auth/sign-in', '/.well-known/oauth-authorization-server', '/readyz']) {
    expect((await server.fetch(path)).status, path).toBeLessThan(400)
  }
  expect(server.stderr()).toBe('')
  expect(await server.stop()).toMatchObject({ code: 0 })

  const backup = join(folder, 'backup')
  const env = { SVC_DATA_DIR: server.dataFolder }
  for (const args of [['backup', backup], ['migrate']])
    expect(await own.run({ launcher: join(folder, 'bin/server'), args, env }), args[0]).toMatchObject({
      code: 0,
      stderr: '',
    })
  for (const [path, text] of texts) writeFileSync(join(folder, path), text)
  await buildServer(folder)
})

test('of a server that was not restarted for long only the last bundles are kept', async () => {
  const bundles = () => readdirSync(join(folder, 'dist/server')).filter((name) => name !== 'current.json')
  const before = current().folder
  for (const text of ['1', '2']) {
    appendFileSync(join(folder, 'src/boot/version.ts'), `// ${text}\n`)
    await buildServer(folder)
  }
  expect(bundles()).toHaveLength(3)
  expect(bundles()).toEqual(expect.arrayContaining([before, current().folder]))
})

test('everything that is loaded later can be loaded', () => {
  const later = readdirSync(join(folder, 'dist/server', current().folder)).filter(
    // These do their work when they are loaded.
    (name) => name !== 'main.js' && !/^program-|-worker\.js$/.test(name),
  )
  expect(later.length).toBeGreaterThan(10)
  const script = `for (const name of ${JSON.stringify(later)}) await import(${JSON.stringify(`${inBundle('')}/`)} + name)`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})

test('a line of a stack trace leads to the source', () => {
  const chunks = readdirSync(join(folder, 'dist/server', current().folder))
  const lines = chunks
    .map((name) => readFileSync(inBundle(name), 'utf8').split('\n'))
    .find((text) => text.some((line) => line.includes('function describeError(')))!
  const at = lines.findIndex((line) => line.includes('function describeError('))
  expect(lines.slice(0, at).findLast((line) => /^\/\/ [\w.@-]+\/.*\.\w+$/.test(line))).toBe(
    '// src/observe/describe-error.ts',
  )
})

/** Their modules are found: what a thread does is proved elsewhere. */
test.each(globSync('{src,db}/**/*-worker.ts', { cwd: ROOT }))('the thread of %s loads', async (path) => {
  const worker = new Worker(inBundle(`${basename(path, '.ts')}.js`), {
    // A file: the engine must not make a database.
    workerData: { folder: join(folder, 'package.json') },
  })
  const problem = await new Promise<unknown>((settle) => {
    worker
      .once('error', settle)
      .once('message', () => settle(undefined))
      .once('online', () => setTimeout(settle, 3_000))
  })
  await worker.terminate()
  expect(String(problem)).not.toMatch(/ERR_MODULE|Cannot find|SyntaxError|ReferenceError/)
})
