import { randomBytes } from 'node:crypto'
import {
  appendFile,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  utimes,
  writeFile,
  type FileHandle,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Ending } from '../../cores/endings/index.ts'
import { dataKeys } from '../../trust/data-key.ts'
import { openJournalFolder } from './journal-folder.ts'

let [parent, folder, count] = ['', '', 0]
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'svc-endings-'))
})
afterAll(() => rm(parent, { recursive: true, force: true }))

let now = 0
let warned: { event: string; fields: object | undefined }[] = []
beforeEach(() => {
  folder = join(parent, String(count++))
  now = Date.now()
  warned = []
})

const HOUR_MS = 60 * 60 * 1000
const KEY = randomBytes(32).toString('hex')
const open = (key = KEY, where = folder) =>
  openJournalFolder(where, {
    clock: () => new Date(now),
    sealing: dataKeys(key).sealerFor('endings-journal'),
    log: { warn: (event, fields) => void warned.push({ event, fields }) },
  })
const ending = (id: string): Ending => ({ kind: 'api_token', orgId: 'org_one', id })
/** Once it is known of each entry whether it is taken back. */
const readLater = async (journal: Awaited<ReturnType<typeof open>>) => {
  now += 10_000
  return journal.read('line')
}
const files = async () => (await readdir(folder)).filter((each) => each.endsWith('.endings'))

test('what is kept is read by every process that shares the folder, sealed, in the order of its time', async () => {
  const [one, two] = [await open(), await open()]
  await one.keep('line', [ending('tok_first'), { ...ending('tok_second'), was: 'a-hash', to: { x: null } }])
  now += 1
  await two.keep('line', [ending('tok_third')])
  const all = [
    ending('tok_first'),
    { ...ending('tok_second'), was: 'a-hash', to: { x: null } },
    ending('tok_third'),
  ]
  expect(await readLater(one)).toEqual(all)
  expect(await readLater(two)).toEqual(all)
  expect(one.id).toBe(two.id)
  expect(await files()).toHaveLength(2)
  for (const each of await readdir(folder))
    expect(await readFile(join(folder, each), 'utf8')).not.toMatch(/tok_|org_|a-hash|api_token/)
  await Promise.all([one.close(), two.close()])
})

test('it is in the file when keeping it is over, also of many at once', async () => {
  const journal = await open()
  await Promise.all(Array.from({ length: 50 }, (_, n) => journal.keep('line', [ending(`tok_${n}`)])))
  const [file] = await files()
  expect((await readFile(join(folder, file!), 'utf8')).split('\n')).toHaveLength(51)
  expect((await readLater(journal)).map(({ id }) => id).toSorted()).toEqual(
    Array.from({ length: 50 }, (_, n) => `tok_${n}`).toSorted(),
  )
  await journal.close()
})

test('what is taken back is read by nobody, as a whole and without what else is kept of the same', async () => {
  const [one, two] = [await open(), await open()]
  const rotated = (hash: string): Ending => ({ ...ending('tok_one'), was: 'h0', to: { secretHash: hash } })
  const takeBack = await one.keep('line', [rotated('hA'), ending('tok_with_it')])
  await two.keep('line', [{ ...ending('tok_one'), orgId: 'org_two' }])
  now += 2 * HOUR_MS
  await Promise.all([takeBack(), one.keep('line', [rotated('hB')])])
  const left = [{ ...ending('tok_one'), orgId: 'org_two' }, rotated('hB')]
  for (const each of [one, two, await open()]) expect(await readLater(each)).toEqual(left)
  expect(warned).toEqual([])
  await Promise.all([one.close(), two.close()])
})

test('whoever reads an entry that nobody has decided about yet waits, and finds it taken back', async () => {
  const [one, two] = [await open(), await open()]
  await one.keep('line', [ending('tok_done')])
  const takeBack = await one.keep('line', [ending('tok_refused')])
  let isRead = false
  const reading = two.read('line').finally(() => (isRead = true))
  await takeBack()
  expect(isRead).toBe(false)
  now += 10_000
  expect(await reading).toEqual([ending('tok_done')])
  await Promise.all([one.close(), two.close()])
})

test('what cannot be taken back is told so, and is still there', async () => {
  const journal = await open()
  const takeBack = await journal.keep('line', [ending('tok_one')])
  now += HOUR_MS
  await rename(folder, `${folder}.away`)
  await expect(takeBack()).rejects.toThrow('ENOENT')
  await rename(`${folder}.away`, folder)
  await journal.keep('line', [ending('tok_two')])
  expect((await readLater(journal)).map(({ id }) => id)).toEqual(['tok_one', 'tok_two'])
  await journal.close()
})

test.each(['the next that is kept', 'the end'])(
  'what was written and then refused, because the disk did not confirm it, is taken back with %s',
  async (how) => {
    const journal = await open()
    await journal.keep('line', [ending('tok_one')])
    const handle = await openFile(join(folder, 'any'), 'w')
    const files = Object.getPrototypeOf(handle) as FileHandle
    await handle.close()
    vi.spyOn(files, 'datasync').mockRejectedValueOnce(Object.assign(new Error('EIO'), { code: 'EIO' }))
    await expect(journal.keep('line', [ending('tok_refused')])).rejects.toThrow('EIO')
    if (how === 'the end') await journal.close()
    else await journal.keep('line', [ending('tok_two')])
    const read = (await readLater(await open())).map(({ id }) => id)
    expect(read).toEqual(how === 'the end' ? ['tok_one'] : ['tok_one', 'tok_two'])
    await journal.close()
  },
)

test('an intended way back begins another lineage, and nothing of before is read', async () => {
  const journal = await open()
  await journal.keep('before', [ending('tok_one')])
  expect(await journal.read('after')).toEqual([])
  await journal.close()
})

test('a line that a kill tore is skipped, and those before and after it are read', async () => {
  const journal = await open()
  await journal.keep('line', [ending('tok_whole'), ending('tok_torn')])
  const [file] = await files()
  const path = join(folder, file!)
  const { length } = await readFile(path)
  await truncate(path, length - 20)
  await journal.close()
  const next = await open()
  now += 1
  await next.keep('line', [ending('tok_later')])
  expect((await readLater(next)).map(({ id }) => id)).toEqual(['tok_whole', 'tok_later'])
  expect(warned).toEqual([
    {
      event: 'entries of the endings journal were skipped: torn, or sealed with another DATA_KEY',
      fields: { skipped: 1 },
    },
  ])
  await next.close()
})

test.each([
  [
    'sealed with another DATA_KEY',
    async () => (await open('0'.repeat(64))).keep('line', [ending('tok_theirs')]),
  ],
  ['not ours', () => writeFile(join(folder, 'x.endings'), 'v1.AAAA\nhello\nv1.\n{"at":1}\n')],
  [
    'sealed for something else',
    async () => {
      const sealed = dataKeys(KEY).sealerFor('endings-journal').seal('another', '{"at":1}')
      await writeFile(join(folder, 'y.endings'), `${sealed}\n`)
    },
  ],
  [
    'moved by a bit',
    async () => {
      const sealed = dataKeys(KEY).sealerFor('endings-journal').seal('endings-journal', '{"lineage":"line"}')
      const bytes = Buffer.from(sealed.slice(3), 'base64url')
      bytes[20]! ^= 1
      await writeFile(join(folder, 'z.endings'), `v1.${bytes.toString('base64url')}\n`)
    },
  ],
])('entries that are %s are skipped, with one line in the log', async (_, write) => {
  const journal = await open()
  await journal.keep('line', [ending('tok_ours')])
  await write()
  expect(await readLater(journal)).toEqual([ending('tok_ours')])
  expect(warned).toHaveLength(1)
  await journal.close()
})

test('after a day it is not read any more, and its files go', async () => {
  const journal = await open()
  await journal.keep('line', [ending('tok_old')])
  now += 23 * HOUR_MS
  await journal.keep('line', [ending('tok_new')])
  expect(await files()).toHaveLength(2)
  expect((await readLater(journal)).map(({ id }) => id)).toEqual(['tok_old', 'tok_new'])
  now += 2 * HOUR_MS
  expect((await readLater(journal)).map(({ id }) => id)).toEqual(['tok_new'])
  // As the disk's own clock would have it.
  for (const [n, file] of (await files()).toSorted().entries()) {
    const at = new Date(now - (n === 0 ? 25 : 2) * HOUR_MS)
    await utimes(join(folder, file), at, at)
  }
  await journal.sweep()
  expect(await files()).toHaveLength(1)
  expect((await readLater(journal)).map(({ id }) => id)).toEqual(['tok_new'])
  await journal.close()
})

test('a folder that cannot be written to is refused by the name of the setting', async () => {
  await writeFile(folder, 'a file')
  await expect(open()).rejects.toThrow(/^ENDINGS_JOURNAL: .* cannot be written to \(EEXIST\)$/)
  await expect(open(KEY, join(folder, 'below'))).rejects.toThrow(/^ENDINGS_JOURNAL: .*\(ENOTDIR\)$/)
})

test('what cannot be written is not kept, and is told so; the next goes to another file', async () => {
  const journal = await open()
  await journal.keep('line', [ending('tok_before')])
  now += HOUR_MS
  await rm(folder, { recursive: true })
  await writeFile(folder, 'a file')
  await expect(journal.keep('line', [ending('tok_lost')])).rejects.toThrow('ENOTDIR')
  await rm(folder)
  const another = await open()
  await journal.keep('line', [ending('tok_after')])
  expect(await readLater(another)).toEqual([ending('tok_after')])
  await Promise.all([journal.close(), another.close()])
})

test('half a line at the end of a file of one’s own spoils nothing that comes later', async () => {
  const journal = await open()
  await journal.keep('line', [ending('tok_one')])
  const [file] = await files()
  await appendFile(join(folder, file!), 'v1.half')
  now += HOUR_MS
  await journal.keep('line', [ending('tok_two')])
  expect((await readLater(journal)).map(({ id }) => id)).toEqual(['tok_one', 'tok_two'])
  await journal.close()
})
