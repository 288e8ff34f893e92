/** Killed before every change that a restore makes to the data folder: what the next one finds is whole, old or new. */
import { spawn } from 'node:child_process'
import { cpSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupEmbedded } from '../../db/backup.ts'
import { connect } from '../../db/connect.ts'
import { copySnapshot } from '../support/database.ts'

const CHILD = fileURLToPath(new URL('../support/restore-until-killed.ts', import.meta.url))

let home = ''
let backup = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-kill-restore-'))
  backup = join(home, 'svc.backup')
  await fill('new')
  await fill('old')
  await backupEmbedded(join(home, 'new'), backup)
})
afterAll(() => rm(home, { recursive: true }))

/** A folder whose database and managed database say whose they are. */
async function fill(whose: 'old' | 'new'): Promise<void> {
  const folder = join(home, whose)
  await copySnapshot(folder)
  const { sql, close } = await connect({ folder })
  await sql.query('create table whose (it text)')
  await sql.query('insert into whose values ($1)', [whose])
  await close()
  await mkdir(join(folder, 'databases', 't1_notes'), { recursive: true })
  await writeFile(join(folder, 'databases', 't1_notes', 'whose'), whose)
}

const whoseManaged = (folder: string) => readFile(join(folder, 't1_notes', 'whose'), 'utf8')

/** Whose the folder is after a next start: ours and the managed ones. */
async function whoseIs(folder: string): Promise<string[]> {
  const { sql, close } = await connect({ folder })
  const rows = await sql.query<{ it: string }>('select it from whose')
  await close()
  return [...rows.map(({ it }) => it), await whoseManaged(join(folder, 'databases'))]
}

type End = { readonly signal: NodeJS.Signals | null; readonly said: string }

function restoreUntilKilled(folder: string, before: number): Promise<End> {
  const child = spawn(process.execPath, [CHILD, backup, folder, String(before)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (_, signal) => resolve({ signal, said }))
  })
}

test('before every change: all of it is old, or all of it is new and the old is kept', async () => {
  const found: string[] = []
  for (let before = 1; ; before++) {
    const folder = join(home, 'data')
    cpSync(join(home, 'old'), folder, { recursive: true })
    const { signal, said } = await restoreUntilKilled(folder, before)
    const [ours, managed] = await whoseIs(folder)
    expect(managed, `killed before change ${before}`).toBe(ours)
    const names = await readdir(folder)
    const aside = names.filter((name) => name.includes('.before-restore-')).toSorted()
    expect(names.filter((name) => !aside.includes(name))).toEqual(['databases', 'db'])
    expect(aside.map((name) => name.split('.')[0])).toEqual(ours === 'new' ? ['databases', 'db'] : [])
    if (ours === 'new') expect(await whoseManaged(join(folder, aside[0]!))).toBe('old')
    await rm(folder, { recursive: true })
    found.push(ours!)
    if (signal === null) {
      expect(said).toBe(`${before - 1}\n`)
      break
    }
  }
  // Old until the marker is there, and new from then on: never back.
  expect(found.toSorted().toReversed()).toEqual(found)
  expect(found.filter((whose) => whose === 'new').length).toBeGreaterThan(4)
  expect(found.filter((whose) => whose === 'old').length).toBeGreaterThan(2)
})
