/** The embedded database: PGlite in a worker thread, reached over a socket that never leaves the process. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Duplex } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { FromWorker, ToWorker, WorkerSettings } from './embedded-worker.ts'

/** The data folder also holds the lock and the secrets; the engine has this folder in it to itself. */
export const databaseFolder = (dataFolder: string): string => join(dataFolder, 'db')

/** Closing writes out what is in memory (0.1 s measured). What is cut off here is recovered at the next start. */
const CLOSE_MS = 10_000

/** The message with which a driver takes its leave. */
const TERMINATE = 'X'.charCodeAt(0)

/** PGlite 0.5 is Postgres 18, and files of one major version cannot be read by another. */
const POSTGRES_MAJOR = '18'

export type Embedded = {
  /** The one connection there is. A second is refused while the first lives, a lost one opens the folder again. */
  readonly socket: () => Duplex
  readonly close: () => Promise<void>
}

/** The caller holds the lock of the data folder: PGlite itself would let two processes write into one folder. */
export async function openEmbedded(
  dataFolder: string,
  { statementTimeoutMs = 30_000 }: { statementTimeoutMs?: number } = {},
): Promise<Embedded> {
  const folder = databaseFolder(dataFolder)
  await removePartial(folder)
  if (!(await holdsDatabase(folder))) {
    await refuseAfterBrokenRestore(folder)
    await inPartialFolder(folder, async (partial) => {
      await stopEngine(await startEngine(partial))
      await rename(partial, folder)
    })
  }
  let spare: Engine | undefined = await startEngine(folder)
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
      if (spare) await stopEngine(spare)
      spare = undefined
    },
  }
}

/** False for a folder that is missing or empty; anything else that is not our database is refused. */
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
      ? `${folder} was written by Postgres ${version}, this program reads Postgres ${POSTGRES_MAJOR}: restore a backup made for this version, or choose another data folder`
      : `${folder} is not empty and holds no database: choose another data folder`,
  )
}

/** A folder gets its name only when it is complete, so a first run that is killed leaves nothing half done. */
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

/** A restore moves the old database aside before it puts the new one in its place. */
export const asideName = (folder: string, at: Date): string =>
  `${folder}${ASIDE}${at.toISOString().replaceAll(/[-:.]/g, '')}`
const ASIDE = '.before-restore-'

/** Killed between these two steps, it leaves none: an empty one must not be made in silence. */
async function refuseAfterBrokenRestore(folder: string): Promise<void> {
  const aside = (await readdir(dirname(folder))).findLast((name) =>
    name.startsWith(`${basename(folder)}${ASIDE}`),
  )
  if (!aside) return
  throw new Error(
    `${dirname(folder)} holds no database but ${aside}: a restore was interrupted. Restore again, or rename ${aside} to ${basename(folder)}.`,
  )
}

/** Opens and closes the folder: the proof that what lies in it is a database. */
export async function proveDatabase(folder: string): Promise<void> {
  await stopEngine(await startEngine(folder))
}

type Engine = {
  readonly worker: Worker
  /** Settles when the thread is gone, with the reason it gave. */
  readonly ended: Promise<unknown>
}

async function startEngine(folder: string): Promise<Engine> {
  // Sorts and joins that spilled to disk when an engine was ended. A server clears them at its start, PGlite does not.
  await rm(join(folder, 'base', 'pgsql_tmp'), { recursive: true, force: true })
  const workerData: WorkerSettings = { folder }
  // No flags of the program's own: some (`--input-type`, an inspector's port) do not suit a second thread.
  const worker = new Worker(new URL('./embedded-worker.ts', import.meta.url), { workerData, execArgv: [] })
  const ended = new Promise<unknown>((settle) => {
    worker.on('error', settle)
    worker.on('exit', (code) => settle(new Error(`its thread ended with code ${code}`)))
  })
  const ready = new Promise((settle) => worker.once('message', settle))
  const failure = await Promise.race([ready, ended])
  if (failure === 'ready') return { worker, ended }
  const reason = failure instanceof Error ? failure.message : 'unknown reason'
  throw new Error(`The embedded database in ${folder} could not be opened: ${reason}`, { cause: failure })
}

async function stopEngine({ worker, ended }: Engine): Promise<void> {
  tell(worker, 'close')
  const impatient = setTimeout(() => void worker.terminate(), CLOSE_MS)
  await ended
  clearTimeout(impatient)
}

/**
 * One socket has one engine to itself, so every connection starts with a clean session. PGlite knows no statement
 * time-out: a statement that takes longer ends the engine, and with it the connection.
 */
function engineSocket(starting: Promise<Engine>, statementTimeoutMs: number): Duplex {
  let engine: Engine | undefined
  let unanswered = 0
  let deadline: NodeJS.Timeout | undefined

  const keepTime = () => {
    clearTimeout(deadline)
    if (unanswered > 0) deadline = setTimeout(() => socket.destroy(statementTimedOut()), statementTimeoutMs)
  }
  const send = (bytes: Uint8Array<ArrayBuffer>) => {
    // Goodbye needs no answer; the end of the socket follows it.
    if (!engine || bytes[0] === TERMINATE) return
    tell(engine.worker, bytes, [bytes.buffer])
    unanswered += 1
    if (unanswered === 1) keepTime()
  }
  const receive = (message: FromWorker) => {
    if (message === 'ready') return
    if (message.ends === 'write') unanswered -= 1
    if (message.ends !== 'nothing') keepTime()
    if (message.bytes.length > 0) socket.push(Buffer.from(message.bytes.buffer))
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
      const end = error || unanswered > 0 ? engine.worker.terminate() : stopEngine(engine)
      void end.then(() => done(error))
    },
  })
  return likeNetSocket(socket)
}

/** The driver says goodbye and closes only where it finds the `readyState` of a network socket. */
function likeNetSocket(socket: Duplex): Duplex {
  return Object.defineProperty(socket, 'readyState', { get: () => (socket.destroyed ? 'closed' : 'open') })
}

/** An erroring socket, not a thrown error: a driver whose socket cannot be made waits for it forever. */
function refusedSocket(): Duplex {
  return likeNetSocket(new Duplex({ read() {}, write() {} })).destroy(
    new Error('The embedded database has one connection, and it is in use'),
  )
}

/** The code and words of Postgres, so that nobody has to know which engine it was. */
const statementTimedOut = () =>
  Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })

const engineLost = (cause: unknown) =>
  Object.assign(new Error('The embedded database stopped', { cause }), { code: '57P01' })

const tell = (worker: Worker, message: ToWorker, transfer: ArrayBuffer[] = []): void =>
  worker.postMessage(message, transfer)
