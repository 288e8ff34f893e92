/**
 * The journal of endings: a folder outside the database, which the processes share or each has its own of. Every process
 * appends to files of its own, one sealed entry a line, and reads those of all. An entry is on the disk before anybody is
 * told that something ended, and is kept for a day.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock, Log } from '../../cores/dependencies.ts'
import type { Ending, EndingsJournal, Sealing } from '../../cores/endings/index.ts'

const HOUR_MS = 60 * 60 * 1000
const KEPT_MS = 24 * HOUR_MS
/** So long it may take until an entry is taken back: whoever wrote it waits for a lost database for two seconds. */
const UNDECIDED_MS = 2_500
const LOOK_MS = 50
const SUFFIX = '.endings'
const ID_FILE = 'journal-id'
/** What the entries are sealed for. */
const CONTEXT = 'endings-journal'

type Entry = {
  readonly at: number
  readonly lineage: string
  /** Of those that were kept together, which are done or taken back as a whole. */
  readonly batch: string
  /** Left out: the batch is taken back. */
  readonly ending?: Ending
}
type Deps = { readonly clock: Clock; readonly sealing: Sealing } & Log

/** Rejects, by the name of the setting, where the folder cannot be written to: that is tried. */
export async function openJournalFolder(folder: string, deps: Deps): Promise<EndingsJournal> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await tryDisk(folder)
    const journal = journalIn(folder, await readOrMakeId(folder), deps)
    await journal.sweep()
    return journal
  } catch (error) {
    throw new Error(`ENDINGS_JOURNAL: ${folder} cannot be written to (${codeOf(error)})`, { cause: error })
  }
}

function journalIn(folder: string, id: string, { clock, sealing, log }: Deps): EndingsJournal {
  const name = `${clock().getTime()}-${randomBytes(6).toString('hex')}`
  let files = 0
  let writing: { readonly handle: FileHandle; readonly since: number } | undefined
  let entries: Entry[] = []
  /** Take back what could not be written: some of it may be there, and nobody was told that it is done. */
  let refused: Entry[] = []
  let last: Promise<void> = Promise.resolve()
  /** A write that has not begun: whoever comes until then is part of it. */
  let next: Promise<void> | undefined

  /** A new one every hour, because what is over goes by whole files. */
  async function file(): Promise<FileHandle> {
    const now = clock().getTime()
    if (writing && now - writing.since < HOUR_MS) return writing.handle
    await leave()
    const handle = await open(join(folder, `${name}-${files++}${SUFFIX}`), 'ax', 0o600)
    writing = { handle, since: now }
    await syncFolder(folder)
    return handle
  }

  async function leave(): Promise<void> {
    const handle = writing?.handle
    writing = undefined
    await handle?.close()
  }

  async function write(): Promise<void> {
    next = undefined
    const written = [...refused, ...entries]
    entries = []
    try {
      const handle = await file()
      await handle.appendFile(
        written.map((entry) => `${sealing.seal(CONTEXT, JSON.stringify(entry))}\n`).join(''),
      )
      await handle.datasync()
      refused = []
    } catch (error) {
      // Half a line must be the last of its file.
      await leave().catch(() => {})
      const lost = new Map(written.flatMap((one) => (one.ending ? [[one.batch, one]] : [])))
      for (const { ending: _, ...batch } of lost.values()) refused.push(batch)
      log.warn('the endings journal cannot be written to', { code: codeOf(error) })
      throw error
    }
  }

  function append(added: readonly Entry[]): Promise<void> {
    entries.push(...added)
    next ??= last.catch(() => {}).then(write)
    last = next
    return next
  }

  function opened(line: string): Entry | undefined {
    try {
      return JSON.parse(sealing.open(CONTEXT, line)) as Entry
    } catch {
      return undefined
    }
  }

  async function readEntries(isFirst = true): Promise<Entry[]> {
    const found: Entry[] = []
    let skipped = 0
    for (const each of await journalFiles(folder)) {
      const text = (await readFile(join(folder, each), 'utf8').catch(unlessMissing)) ?? ''
      for (const line of text.split('\n')) {
        const entry = line === '' ? undefined : opened(line)
        if (entry) found.push(entry)
        else if (line !== '') skipped++
      }
    }
    if (skipped > 0 && isFirst)
      log.warn('entries of the endings journal were skipped: torn, or sealed with another DATA_KEY', {
        skipped,
      })
    return found
  }

  /** False: the youngest is old enough. Clocks of processes differ, so it is never longer than that. */
  async function waitUntilDecided(youngest: number): Promise<boolean> {
    const isDecided = () => clock().getTime() >= youngest + UNDECIDED_MS
    if (isDecided()) return false
    const until = performance.now() + UNDECIDED_MS
    while (!isDecided() && performance.now() < until) await sleep(LOOK_MS)
    return true
  }

  return {
    id,
    async keep(lineage, endings) {
      const batch = { at: clock().getTime(), lineage, batch: randomBytes(8).toString('hex') }
      await append(endings.map((ending) => ({ ...batch, ending })))
      return () => append([batch])
    },

    async read(lineage) {
      const found = await readEntries()
      const takenBack = new Set(batchesTakenBack(found))
      const since = clock().getTime() - KEPT_MS
      const kept = found.filter(
        (entry) => entry.at >= since && entry.lineage === lineage && !takenBack.has(entry.batch),
      )
      const youngest = kept.reduce((latest, { at }) => Math.max(latest, at), 0)
      if (await waitUntilDecided(youngest))
        for (const batch of batchesTakenBack(await readEntries(false))) takenBack.add(batch)
      return kept
        .filter(({ batch }) => !takenBack.has(batch))
        .toSorted((a, b) => a.at - b.at)
        .map(({ ending }) => ending!)
    },

    async sweep() {
      const before = clock().getTime() - KEPT_MS
      for (const each of await journalFiles(folder)) {
        const found = await stat(join(folder, each)).catch(unlessMissing)
        if (found && found.mtimeMs < before) await rm(join(folder, each), { force: true })
      }
    },

    async close() {
      await last.catch(() => {})
      if (refused.length > 0) await write().catch(() => {})
      await leave()
    },
  }
}

const batchesTakenBack = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ batch, ending }) => (ending ? [] : [batch]))

const journalFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((each) => each.endsWith(SUFFIX)).toSorted()

/** By it the processes find out whether they share the folder. Of several at once, one makes it. */
async function readOrMakeId(folder: string): Promise<string> {
  const made = join(folder, `${ID_FILE}.${randomBytes(6).toString('hex')}`)
  await writeFile(made, randomBytes(12).toString('hex'), { flag: 'wx', mode: 0o600, flush: true })
  try {
    await link(made, join(folder, ID_FILE)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(made, { force: true })
  }
  return readFile(join(folder, ID_FILE), 'utf8')
}

async function tryDisk(folder: string): Promise<void> {
  const path = join(folder, `try.${randomBytes(6).toString('hex')}`)
  try {
    await writeFile(path, '\n'.repeat(4096), { flag: 'wx', mode: 0o600, flush: true })
  } finally {
    await rm(path, { force: true })
  }
}

/** A file whose name is not on the disk yet is lost with the power. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Another process has swept it. */
function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'unknown reason'
