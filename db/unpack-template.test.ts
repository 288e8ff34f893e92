/** Unpacking: beside a running server, and from a file that cannot be read. db/template.test.ts looks at what is unpacked. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readMigrations } from './read-migrations.ts'
import { readTemplate, unpackControlTemplate, unpackManagedTemplate } from './template.ts'

async function newFolders(...names: string[]): Promise<string[]> {
  const parent = mkdtempSync(join(tmpdir(), 'svc-unpack-test-'))
  onTestFinished(() => rmSync(parent, { recursive: true }))
  const folders = names.map((name) => join(parent, name))
  for (const folder of folders) await mkdir(folder)
  return folders
}

test('while a managed database is unpacked, others are answered all the time', async () => {
  // CPU of this thread and not time, and the least of several: a busy machine must not decide.
  const atOnce = Math.min(...[1, 2, 3].map(() => cpuOf(() => void readTemplate())))
  const longest = []
  for (const folder of await newFolders('one', 'two', 'three', 'four', 'five')) {
    const turns = watchTurns()
    expect(await unpackManagedTemplate(folder)).toBe(true)
    longest.push(turns.stop())
  }
  expect(Math.min(...longest)).toBeLessThan(atOnce * 0.75)
})

test('with a damaged template databases are made the long way, and the log says so', async () => {
  const [control, managed, parent] = (await newFolders('control', 'managed', 'files')) as [
    string,
    string,
    string,
  ]
  const damaged = join(parent, 'template.zst')
  writeFileSync(damaged, 'damaged')
  const warned = once(process, 'warning')
  expect(unpackControlTemplate(control, await readMigrations(), damaged)).toBe(false)
  expect(await unpackManagedTemplate(managed, damaged)).toBe(false)
  expect([readdirSync(control), readdirSync(managed)]).toEqual([[], []])
  expect(String((await warned)[0])).toContain('db/template.zst cannot be read')
})

const ownCpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

function cpuOf(work: () => void): number {
  const before = ownCpu()
  work()
  return ownCpu() - before
}

/** The most that was done without a pause. */
function watchTurns(): { stop: () => number } {
  let [last, longest] = [ownCpu(), 0]
  const look = () => {
    const now = ownCpu()
    longest = Math.max(longest, now - last)
    last = now
  }
  const again = () => {
    look()
    next = setImmediate(again)
  }
  let next = setImmediate(again)
  return {
    stop() {
      clearImmediate(next)
      look()
      return longest
    },
  }
}
