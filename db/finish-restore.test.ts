import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exchangeFolders, finishRestore } from './finish-restore.ts'

test('a folder that cannot be moved leaves everything as it was, and nothing to finish', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-restore-'))
  try {
    for (const name of ['db', 'databases', 'partial'])
      await mkdir(join(folder, name, name), { recursive: true })
    const exchanged = exchangeFolders(folder, [
      { from: 'db', to: 'db.before' },
      { from: 'databases', to: 'missing/databases' },
      { from: 'partial', to: 'db' },
    ])
    await expect(exchanged).rejects.toThrow('nothing was changed')
    expect(await readdir(folder)).toEqual(['databases', 'db', 'partial'])
    expect(await readdir(join(folder, 'db'))).toEqual(['db'])
    expect(await finishRestore(folder)).toBe(false)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('what was left to do is done, and nothing takes the place of what has come there since', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-restore-'))
  const textOf = (name: string) => readFile(join(folder, name), 'utf8')
  try {
    for (const name of ['db', 'db.before', 'databases']) await writeFile(join(folder, name), name)
    const moves = ['db', 'databases'].map((from) => ({ from, to: `${from}.before` }))
    await writeFile(join(folder, 'restore.json'), JSON.stringify({ moves }))
    expect(await finishRestore(folder)).toBe(true)
    expect(await readdir(folder)).toEqual(['databases.before', 'db', 'db.before'])
    expect([await textOf('db'), await textOf('db.before')]).toEqual(['db', 'db.before'])
    expect(await finishRestore(folder)).toBe(false)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
