/** Unpacking: beside a running server, and from a file that cannot be read. db/template.test.ts looks at what is unpacked. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
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
  const [folder] = (await newFolders('one')) as [string]
  const { managed } = readTemplate()!.index.files
  // Another thread does the decompressing.
  const decompressed = vi.spyOn(zlib, 'zstdDecompressSync')
  syncBuiltinESMExports()
  onTestFinished(() => {
    decompressed.mockRestore()
    syncBuiltinESMExports()
  })
  let unpacked = 0
  const ofTurns: number[] = []
  const look = () => {
    const before = unpacked
    while (unpacked < managed.length && existsSync(join(folder, managed[unpacked]!.path))) unpacked += 1
    ofTurns.push(unpacked - before)
  }
  const again = () => {
    look()
    next = setImmediate(again)
  }
  let next = setImmediate(again)
  expect(await unpackManagedTemplate(folder)).toBe(true)
  clearImmediate(next)
  look()
  expect([unpacked, Math.max(...ofTurns)]).toEqual([managed.length, 8])
  expect(decompressed).not.toHaveBeenCalled()
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
