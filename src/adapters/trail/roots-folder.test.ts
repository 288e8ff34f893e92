import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRootsFolder } from './roots-folder.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roots-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('seals are appended, a file for each month', async () => {
  let now = new Date('2026-11-30T23:59:00Z')
  const roots = await openRootsFolder(join(folder, 'own'), { clock: () => now })
  await roots.append([{ signed: 'a', signature: 'x' }])
  await roots.append([{ signed: 'b', signature: 'y' }])
  now = new Date('2026-12-01T00:00:00Z')
  await roots.append([{ signed: 'c', signature: 'z' }])
  expect(await readdir(join(folder, 'own'))).toEqual(['trail-2026-11.ndjson', 'trail-2026-12.ndjson'])
  const text = await readFile(join(folder, 'own', 'trail-2026-11.ndjson'), 'utf8')
  expect(text).toBe('{"signed":"a","signature":"x"}\n{"signed":"b","signature":"y"}\n')
})

test('a folder that cannot be written to is told at the start, by its setting', async () => {
  await writeFile(join(folder, 'file'), '')
  const opened = openRootsFolder(join(folder, 'file'), { clock: () => new Date('2026-11-30T23:59:00Z') })
  await expect(opened).rejects.toThrow(/^TRAIL_ROOTS: .*cannot be written to/)
})
