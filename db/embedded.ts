/** The embedded database: PGlite in a worker thread, reached over a socket that never leaves the process. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Duplex } from 'node:stream'
import { startEngineThread, type EngineThread } from './engine-thread.ts'
import type { FromEngine, ToEngine } from './engine-worker.ts'
import { finishRestore } from './finish-restore.ts'
import type { Migration } from './read-migrations.ts'
import { unpackControlTemplate } from './template.ts'

/** The data folder also holds the lock and the secrets; the engine has this folder in it to itself. */
export const databaseFolder = (dataFolder: string): string => join(dataFolder, 'db')

/** Types of protocol messages. */
const TERMINATE = 'X'.charCodeAt(0)
const QUERY = 'Q'.charCodeAt(0)
const SYNC = 'S'.charCodeAt(0)

/** PGlite 0.5 is Postgres 18, and files of one major version cannot be read by another. */
const POSTGRES_MAJOR = '18'

export type Embedded = {
  /** The one connection there is. A second is refused while the first lives, a lost one opens the folder again. */
  readonly socket: () => Duplex
  readonly close: () => Promise<void>
}

type OpenOptions = {
  readonly statementTimeoutMs?: number
  /** A new database may begin with these, some or all of them; without any it begins empty. */
  readonly migrations?: readonly Migration[]
}

/** The caller holds the lock of the data folder: PGlite itself would let two processes write into one folder. */
export async function openEmbedded(
  dataFolder: string,
  { statementTimeoutMs = 30_000, migrations = [] }: OpenOptions = {},
): Promise<Embedded> {
  await ensureDatabase(dataFolder, migrations)
  return openDatabaseFolder(databaseFolder(dataFolder), statementTimeoutMs)
}

/** Makes the database where there is none yet. */
export async function ensureDatabase(dataFolder: string, migrations: readonly Migration[]): Promise<void> {
  const folder = databaseFolder(dataFolder)
  await finishRestore(dataFolder)
  await removePartial(folder)
  if (await holdsDatabase(folder)) return
  await refuseInterruptedRestore(folder)
  await inPartialFolder(folder, async (partial) => {
    if (!unpackControlTemplate(partial, migrations)) await (await startEngine(partial)).stop()
    await rename(partial, folder)
  })
}

/** The folder must hold a database. */
export async function openDatabaseFolder(folder: string, statementTimeoutMs = 30_000): Promise<Embedded> {
  let spare: EngineThread | undefined = await startEngine(folder)
  let current: Duplex | undefined

  return {
    socket() {
      if (current && !current.closed) return refusedSocket()
      const engine = spare ? Promise.resolve(spare) : startEngine(folder)
      spare = undefined
      current = engineSocket(engine, statementTimeoutMs)
      return current
    },
    async close() {
      const open = current
      if (open && !open.closed) await new Promise((closed) => open.once('close', closed).destroy())
      await spare?.stop()
      spare = undefined
    },
  }
}

/** False for a folder that is missing or empty; a folder with anything else is refused. */
export async function holdsDatabase(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (names.length === 0) return false
  const version = names.includes('PG_VERSION') && (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim()
  if (version === POSTGRES_MAJOR) return true
  throw new Error(
    version
      ? `${folder} was written by Postgres ${version}, but this program needs Postgres ${POSTGRES_MAJOR}: restore a backup of that version, or choose another data folder`
      : `${folder} is not empty and holds no database: choose another data folder`,
  )
}

/** A folder gets its name only when it is complete, so a first run that is killed leaves nothing incomplete. */
export async function inPartialFolder(
  folder: string,
  fill: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = `${folder}.partial-${randomBytes(6).toString('hex')}`
  await mkdir(partial, { recursive: true, mode: 0o700 })
  try {
    await fill(partial)
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

async function removePartial(folder: string): Promise<void> {
  const parent = dirname(folder)
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const leftovers = (await readdir(parent)).filter((name) => name.startsWith(`${basename(folder)}.partial-`))
  await Promise.all(leftovers.map((name) => rm(join(parent, name), { recursive: true, force: true })))
}

/** Where a restore moves the old database before it renames the new one. */
export const beforeRestoreName = (folder: string, at: Date): string =>
  `${folder}${BEFORE_RESTORE}${at.toISOString().replaceAll(/[-:.]/g, '')}`
const BEFORE_RESTORE = '.before-restore-'

/** The folder was moved away by hand, or by a restore of an older program: it must not be replaced by an empty one silently. */
async function refuseInterruptedRestore(folder: string): Promise<void> {
  const aside = (await readdir(dirname(folder))).findLast((name) =>
    name.startsWith(`${basename(folder)}${BEFORE_RESTORE}`),
  )
  if (!aside) return
  throw new Error(
    `${dirname(folder)} holds no database but ${aside}, from before a restore. Restore again, or rename ${aside} to ${basename(folder)}.`,
  )
}

/** Our own database does with few: the file system that it reads from lies in memory anyway. */
const BUFFERS_MB = 16

const startEngine = (folder: string) => startEngineThread({ folder, buffersMb: BUFFERS_MB, ahead: undefined })

/**
 * One socket has one engine to itself, so every connection starts with a clean session. PGlite knows no statement
 * time-out: a statement that takes longer ends the engine, and with it the connection.
 */
function engineSocket(starting: Promise<EngineThread>, statementTimeoutMs: number): Duplex {
  let engine: EngineThread | undefined
  let unanswered = 0
  let deadline: NodeJS.Timeout | undefined

  const restartDeadline = () => {
    clearTimeout(deadline)
    if (unanswered > 0) deadline = setTimeout(() => socket.destroy(statementTimedOut()), statementTimeoutMs)
  }
  const send = (bytes: Uint8Array<ArrayBuffer>) => {
    // Terminate has no response; the end of the socket follows it.
    if (!engine || bytes[0] === TERMINATE) return
    const statements = splitStatements(bytes)
    engine.worker.postMessage({ statements } satisfies ToEngine, [bytes.buffer])
    unanswered += statements.length
    if (unanswered === statements.length) restartDeadline()
  }
  const receive = ({ bytes, done }: Exclude<FromEngine, 'ready'>) => {
    if (done) {
      unanswered -= 1
      restartDeadline()
    }
    if (bytes.length > 0) socket.push(Buffer.from(bytes.buffer))
  }

  const socket: Duplex = new Duplex({
    construct(ready) {
      starting.then((started) => {
        engine = started
        engine.worker.on('message', receive)
        void engine.ended.then((reason) => socket.destroy(engineLost(reason)))
        ready()
      }, ready)
    },
    read() {},
    write(chunk: Buffer, _encoding, done) {
      send(new Uint8Array(chunk))
      done()
    },
    writev(chunks, done) {
      send(new Uint8Array(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))))
      done()
    },
    final(done) {
      done()
      socket.destroy()
    },
    destroy(error, done) {
      clearTimeout(deadline)
      if (!engine) return done(error)
      engine.worker.off('message', receive)
      // A polite close would wait for the running statement.
      const end = error || unanswered > 0 ? engine.worker.terminate() : engine.stop()
      void end.then(() => done(error))
    },
  })
  return likeNetSocket(socket)
}

/**
 * A driver may write several statements at once. Each ends with a Query or a Sync message: a type byte, then four bytes
 * of length, which does not count the type. Only the startup packet has no type; it begins with a zero and comes alone.
 */
export function splitStatements(write: Uint8Array): Uint8Array[] {
  if (write[0] === 0) return [write]
  const view = new DataView(write.buffer, write.byteOffset, write.byteLength)
  const statements: Uint8Array[] = []
  let start = 0
  for (let at = 0; at + 5 <= write.length;) {
    const end = at + 1 + view.getUint32(at + 1)
    if (write[at] === QUERY || write[at] === SYNC) {
      statements.push(write.subarray(start, end))
      start = end
    }
    at = end
  }
  if (start < write.length) statements.push(write.subarray(start))
  return statements
}

/** The driver sends Terminate and closes only where the socket has the `readyState` of a network socket. */
function likeNetSocket(socket: Duplex): Duplex {
  return Object.defineProperty(socket, 'readyState', { get: () => (socket.destroyed ? 'closed' : 'open') })
}

/** An erroring socket, not a thrown error: a driver whose socket cannot be created waits for it forever. */
function refusedSocket(): Duplex {
  return likeNetSocket(new Duplex({ read() {}, write() {} })).destroy(
    new Error('The embedded database has one connection, and it is in use'),
  )
}

/** With the code and message of Postgres, so that nobody has to know which engine it was. */
const statementTimedOut = () =>
  Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })

const engineLost = (cause: unknown) =>
  Object.assign(new Error('The embedded database stopped', { cause }), { code: '57P01' })
