import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lockDataFolder } from './data-folder-lock.ts'

const home = mkdtempSync(join(tmpdir(), 'svc-lock-'))
afterAll(() => rmSync(home, { recursive: true }))

const MODULE = new URL('./data-folder-lock.ts', import.meta.url).href
const HOLD = `const { lockDataFolder } = await import('${MODULE}')
try { lockDataFolder(process.argv[1]); console.log('held'); setInterval(() => {}, 1000) } catch { console.log('refused') }`

/** Another process that takes the lock and keeps it, or says that it was refused. */
async function starter(folder: string): Promise<{ child: ChildProcess; says: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLD, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [says] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, says: says.toString().trim() }
}

test('a folder that is in use is refused with the process that uses it and the three ways out', async () => {
  const folder = join(home, 'used')
  const { child } = await starter(folder)
  expect(() => lockDataFolder(folder)).toThrow(
    new RegExp(
      `${folder} is in use by process ${child.pid} on .* since .*Stop that process.*SVC_DATA_DIR.*DATABASE_URL`,
    ),
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  lockDataFolder(folder).release()
})

test('of several processes that start together exactly one gets the folder', async () => {
  const folder = join(home, 'contested')
  const starters = await Promise.all(Array.from({ length: 4 }, () => starter(folder)))
  expect(starters.map(({ says }) => says).toSorted()).toEqual(['held', 'refused', 'refused', 'refused'])
  for (const { child } of starters) child.kill('SIGKILL')
})

test('the lock also holds within one process, ends with its release, and makes the folder private', () => {
  const folder = join(home, 'own', 'data')
  const { release } = lockDataFolder(folder)
  expect(() => lockDataFolder(folder)).toThrow(`in use by process ${process.pid}`)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  release()
  lockDataFolder(folder).release()
})
