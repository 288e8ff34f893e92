import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copySnapshot } from '../test/support/database.ts'
import { backupEmbedded, restoreEmbedded } from './backup.ts'
import { connect } from './connect.ts'

/** Opening an engine takes half a second of a processor, and this machine may have other things to do. */
const SLOW = { timeout: 120_000 }

let home = ''
let backup = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-backup-'))
  backup = join(home, 'svc.backup')
  await copySnapshot(join(home, 'original'))
  await inDatabase(
    'original',
    'create table story (told text); insert into story values (repeat(md5(random()::text), 9000))',
  )
  await mkdir(join(home, 'original', 'databases', 't1_notes', 'base'), { recursive: true })
  await mkdir(join(home, 'original', 'databases', 'half.partial-abc'))
  await writeFile(join(home, 'original', 'databases', 't1_notes', 'base', '1'), 'managed')
  await writeFile(join(home, 'original', 'databases', 'lock'), '')
  await backupEmbedded(join(home, 'original'), backup)
})
afterAll(() => rm(home, { recursive: true }))

async function inDatabase(name: string, query: string): Promise<readonly object[]> {
  const { sql, close } = await connect({ folder: join(home, name) })
  const rows = await sql.query(query)
  await close()
  return rows
}

const STORY = 'select md5(told) from story'

test('a restored database tells the same story, and the file is for its owner only', SLOW, async () => {
  expect((await stat(backup)).mode & 0o777).toBe(0o600)
  expect(await readdir(home)).not.toContainEqual(expect.stringContaining('partial'))
  expect(await restoreEmbedded(backup, join(home, 'copy'))).toEqual({ keptAside: [] })
  expect(await inDatabase('copy', STORY)).toEqual(await inDatabase('original', STORY))
})

test(
  'managed databases come back with it, and those that were there go aside with theirs',
  SLOW,
  async () => {
    await copySnapshot(join(home, 'managed'))
    await mkdir(join(home, 'managed', 'databases', 't2_other'), { recursive: true })
    const { keptAside } = await restoreEmbedded(backup, join(home, 'managed'), { replace: true })
    expect(keptAside.map((path) => basename(path).split('.')[0])).toEqual(['db', 'databases'])
    expect(await readdir(join(home, 'managed'))).toEqual([
      'databases',
      expect.stringMatching(/^databases\.before-restore-/),
      'db',
      expect.stringMatching(/^db\.before-restore-/),
    ])
    expect(await readdir(join(home, 'managed', 'databases'))).toEqual(['t1_notes'])
    expect(await readFile(join(home, 'managed', 'databases', 't1_notes', 'base', '1'), 'utf8')).toBe(
      'managed',
    )
    expect(await readdir(join(home, 'managed', 'db'))).not.toContain('m')
  },
)

test('a database is replaced only when that is said, and is kept aside then', SLOW, async () => {
  await copySnapshot(join(home, 'occupied'))
  await inDatabase('occupied', 'create table mine (id int)')
  await expect(restoreEmbedded(backup, join(home, 'occupied'))).rejects.toThrow('already holds a database')
  const { keptAside } = await restoreEmbedded(backup, join(home, 'occupied'), { replace: true })
  expect(await readdir(join(home, 'occupied'))).toEqual([
    'databases',
    'db',
    expect.stringMatching(/^db\.before-restore-\d{8}T\d{9}Z$/),
  ])
  expect(keptAside).toEqual([join(home, 'occupied', (await readdir(join(home, 'occupied')))[2] ?? '')])
  expect(await inDatabase('occupied', STORY)).toHaveLength(1)
})

const broken: [string, (sound: Buffer) => Buffer, string][] = [
  ['is cut off', (sound) => sound.subarray(0, sound.length - 1_000), 'it ends too early'],
  ['has wrong bytes', (sound) => Buffer.concat([sound.subarray(0, 99_000), sound.subarray(99_100)]), ''],
  ['is something else', () => Buffer.from('Dear diary'), 'not made by a backup of svc'],
  [
    'is another tar file',
    (sound) => gzipSync(renamed(firstBlocks(sound), 0, 'notes')),
    'not made by a backup of svc',
  ],
  [
    'reaches outside',
    (sound) => gzipSync(renamed(firstBlocks(sound), 1, '../evil')),
    'not a file of a database',
  ],
  ['ends too early', (sound) => gzipSync(firstBlocks(sound)), 'ends too early'],
]

test.each(broken)('a file that %s is refused and nothing is changed', async (_, breakIt, reason) => {
  const file = join(home, 'broken.backup')
  await writeFile(file, breakIt(await readFile(backup)))
  const target = join(home, 'untouched')
  const refusal = restoreEmbedded(file, target)
  await expect(refusal).rejects.toThrow('cannot be restored, and nothing was changed')
  await expect(refusal).rejects.toThrow(reason)
  expect(await readdir(target)).toEqual([])
})

test('a file that cannot be written is named, and why', async () => {
  const away = join(home, 'away', 'svc.backup')
  await expect(backupEmbedded(join(home, 'original'), away)).rejects.toThrow(
    `${away} cannot be written: there is no folder ${join(home, 'away')}`,
  )
})

test('a backup that is not there is refused as that', async () => {
  await expect(restoreEmbedded(join(home, 'nothing'), join(home, 'fresh'))).rejects.toThrow(
    'there is no such file',
  )
})

test('a backup of the unreleased version is refused before anything is changed', SLOW, async () => {
  await copySnapshot(join(home, 'unreleased'))
  await inDatabase(
    'unreleased',
    `insert into svc_migrations values ('0000_identity', 'of the set that is gone', now())
     on conflict (name) do update set sha256 = excluded.sha256`,
  )
  const file = join(home, 'unreleased.backup')
  await backupEmbedded(join(home, 'unreleased'), file)
  const target = join(home, 'spared')
  await copySnapshot(target)
  const before = await readdir(target)
  await expect(restoreEmbedded(file, target, { replace: true })).rejects.toThrow(
    'made by a build of svc from before 0.1.0',
  )
  expect(await readdir(target)).toEqual(before)
})

test('a file that is there is replaced only when that is said', async () => {
  const file = join(home, 'kept.backup')
  await writeFile(file, 'mine')
  await expect(backupEmbedded(join(home, 'original'), file)).rejects.toThrow(
    `${file} exists already: choose another name, or add --force to replace it`,
  )
  expect(await readFile(file, 'utf8')).toBe('mine')
  await backupEmbedded(join(home, 'original'), file, { replace: true })
  expect([...(await readFile(file)).subarray(0, 2)]).toEqual([0x1f, 0x8b])
})

test('an empty folder has nothing to back up', async () => {
  await expect(backupEmbedded(join(home, 'nothing'), join(home, 'nothing.backup'))).rejects.toThrow(
    'nothing to back up',
  )
})

const firstBlocks = (sound: Buffer): Buffer => gunzipSync(sound).subarray(0, 100 * 512)

/** A header with another name and the check sum that goes with it: a file made by hand, not a damaged one. */
function renamed(tar: Buffer, entry: number, name: string): Buffer {
  const header = tar.subarray(entry * 512, (entry + 1) * 512)
  header.fill(0, 0, 100).write(name)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return tar
}
