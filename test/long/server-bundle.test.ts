/** The server as a release starts it: bundled, in a folder of its own, and back to the sources once one has changed. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { buildServer } from '../../scripts/build-server.ts'
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
    'skills/published',
    'src',
  ]) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
  }
  for (const path of globSync('**/*.ts', { cwd: folder })) touch(path)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await buildServer(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Whole seconds: others cannot be set exactly. */
const touch = (path: string) => utimesSync(join(folder, path), 1_700_000_000, 1_700_000_000)

test('it starts without a look at its sources, loads the sample and answers a question', async () => {
  // Only their names, sizes and times are left: whatever runs them fails.
  for (const [path, size] of inputs()) {
    if (!path.endsWith('.ts')) continue
    writeFileSync(join(folder, path), '!'.repeat(size))
    touch(path)
  }
  const server = await own.start({ launcher: join(folder, 'bin/server') })
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
})

/** Their modules are found: what a thread does is proved elsewhere. */
test.each(globSync('{src,db}/**/*-worker.ts', { cwd: ROOT }))('the thread of %s loads', async (path) => {
  const worker = new Worker(join(folder, 'dist/server', `${basename(path, '.ts')}.js`), {
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

test('once a source has changed the sources run', () => {
  writeFileSync(join(folder, 'src/boot/main.ts'), `process.stdout.write('changed')`)
  const { stdout } = spawnSync(process.execPath, [join(folder, 'bin/server'), '--version'], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('changed')
})

const inputs = () =>
  JSON.parse(readFileSync(join(folder, 'dist/server/inputs.json'), 'utf8')) as [path: string, size: number][]
