import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql as text } from './drizzle.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copySnapshot, snapshot } from '../test/support/database.ts'
import { connect } from './connect.ts'
import { openEmbedded } from './embedded.ts'

const ENDLESS = 'select count(*) from generate_series(1, 100000000000)'

/** Opening an engine takes half a second of a processor, and this machine may have other things to do. */
const SLOW = { timeout: 120_000 }

let home = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-embedded-'))
  await snapshot()
})
afterAll(() => rm(home, { recursive: true }))

async function dataFolder(name: string): Promise<string> {
  const folder = join(home, name)
  await copySnapshot(folder)
  return folder
}

test(
  'a statement over its time fails like one of Postgres, its transaction leaves nothing even if it goes on, the next is fine',
  SLOW,
  async () => {
    const { db, sql, close } = await connect(
      { folder: await dataFolder('slow') },
      { statementTimeoutMs: 1_500 },
    )
    await sql.query('create table story (id int)')
    await expect(sql.query(ENDLESS)).rejects.toMatchObject({ code: '57014' })
    const stubborn = db.transaction(async (tx) => {
      await tx.execute(text`insert into story values (1)`)
      await tx.execute(text.raw(ENDLESS)).catch(() => {})
      await tx.execute(text`insert into story values (1)`)
    })
    await expect(stubborn).rejects.toMatchObject({ code: '57014' })
    expect(await sql.query('select * from story')).toEqual([])
    await db.transaction((tx) => tx.execute(text`insert into story values (2)`))
    expect(await sql.query('select * from story')).toEqual([{ id: 2 }])
    await close()
  },
)

test('there is one connection, and one whose engine died is followed by a new one', SLOW, async () => {
  const folder = await dataFolder('died')
  const embedded = await openEmbedded(folder, { statementTimeoutMs: 5_000 })
  const first = embedded.socket()
  await expect(errorOf(embedded.socket())).resolves.toMatchObject({
    message: expect.stringContaining('one connection'),
  })
  const death = errorOf(first)
  // A start-up packet of protocol 0.0, which PGlite answers by throwing.
  first.write(Buffer.from([0, 0, 0, 8, 0, 0, 0, 0]))
  expect(await death).toMatchObject({ code: '57P01' })
  const second = embedded.socket()
  const answer = once(second, 'data')
  second.write(Buffer.from('\0\0\0\u0017\0\u0003\0\0user\0postgres\0\0', 'latin1'))
  expect(((await answer) as [Buffer])[0].toString('latin1', 0, 1)).toBe('R')
  await embedded.close()
})

test('what an engine that was killed has spilled to disk is removed by the next one', SLOW, async () => {
  const folder = await dataFolder('spilled')
  const spilled = join(folder, 'db', 'base', 'pgsql_tmp')
  await mkdir(join(spilled, 'pgsql_tmp4242.1.fileset'), { recursive: true })
  await writeFile(join(spilled, 'pgsql_tmp4242.0'), 'rows of a sort')
  await writeFile(join(spilled, 'pgsql_tmp4242.1.fileset', 'o1of1.p0.0'), 'rows of a join')
  const { sql, close } = await connect({ folder })
  expect(existsSync(spilled)).toBe(false)
  expect(await sql.query('select 1 as one')).toEqual([{ one: 1 }])
  await close()
})

test('an engine that cannot remove what was spilled says so', SLOW, async () => {
  const folder = await dataFolder('unremovable')
  const base = join(folder, 'db', 'base')
  await rename(base, `${base}.aside`)
  // Nobody can go through it, not even root.
  await symlink(base, base)
  await expect(openEmbedded(folder, { statementTimeoutMs: 1_000 })).rejects.toThrow(
    /could not be opened: ELOOP.*pgsql_tmp/,
  )
})

test('a first run that is killed leaves nothing half done', SLOW, async () => {
  const folder = join(home, 'killed')
  const run = `const { openEmbedded } = await import('${new URL('./embedded.ts', import.meta.url).href}')
await openEmbedded(process.argv[1], { statementTimeoutMs: 1000 })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', run, folder])
  const started = async () =>
    existsSync(folder) && (await readdir(folder)).some((name) => name.startsWith('db.partial-'))
  while (!(await started())) await sleep(10)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^db\.partial-/)])

  await copySnapshot(folder)
  const embedded = await openEmbedded(folder, { statementTimeoutMs: 1_000 })
  expect(await readdir(folder)).toEqual(['db'])
  await embedded.close()
})

test('a program that closes its database ends by itself', SLOW, async () => {
  const run = `const { connect } = await import('${new URL('./connect.ts', import.meta.url).href}')
const { sql, close } = await connect({ folder: process.argv[1] })
await sql.query('select 1'); await close()`
  const folder = await dataFolder('ends')
  const child = spawn(process.execPath, ['--input-type=module', '-e', run, folder], { stdio: 'inherit' })
  expect(await once(child, 'exit')).toEqual([0, null])
  // Postgres takes this file away when it is shut down in order: nothing has to be recovered at the next start.
  expect(existsSync(join(folder, 'db', 'postmaster.pid'))).toBe(false)
})

test(
  'an engine that was loaded ahead opens our own database, and holds up no program that needs none',
  SLOW,
  async () => {
    const run = `const { loadEngineAhead } = await import('${new URL('./engine-thread.ts', import.meta.url).href}')
const { connect } = await import('${new URL('./connect.ts', import.meta.url).href}')
loadEngineAhead()
if (process.argv[1]) {
  const { sql, close } = await connect({ folder: process.argv[1] })
  await sql.query('select 1'); await close()
}`
    for (const folder of [await dataFolder('ahead'), '']) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', run, folder], { stdio: 'inherit' })
      expect(await once(child, 'exit')).toEqual([0, null])
    }
  },
)

test('a folder with something else in it is refused, and so is one of another version or of an interrupted restore', async () => {
  const foreign = join(home, 'foreign')
  await mkdir(join(foreign, 'db'), { recursive: true })
  await writeFile(join(foreign, 'db', 'holiday.jpg'), '')
  await expect(openEmbedded(foreign, { statementTimeoutMs: 1 })).rejects.toThrow(
    'is not empty and holds no database',
  )
  await writeFile(join(foreign, 'db', 'PG_VERSION'), '17\n')
  await expect(openEmbedded(foreign, { statementTimeoutMs: 1 })).rejects.toThrow('was written by Postgres 17')
  await rename(join(foreign, 'db'), join(foreign, 'db.before-restore-20260101T000000000Z'))
  await expect(openEmbedded(foreign, { statementTimeoutMs: 1 })).rejects.toThrow(
    'from before a restore. Restore again, or rename',
  )
})

const errorOf = async (socket: Duplex): Promise<unknown> => ((await once(socket, 'error')) as [unknown])[0]
