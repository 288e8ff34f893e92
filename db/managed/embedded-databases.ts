/** Managed databases without a server: each a folder and a thread of its own, reached only through the wire gateway. */
import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { holdsDatabase, inPartialFolder } from '../embedded.ts'
import { createBackend, type Backend, type Engine } from '../wire/backend.ts'
import { openGateway, PHYSICAL_NAME } from '../wire/gateway.ts'
import { AnswerReader, simpleQuery, WireFailure } from '../wire/messages.ts'
import { startEngine } from './database-engine.ts'
import { createOpenSlots } from './open-slots.ts'

export type EmbeddedDatabases = {
  readonly host: string
  readonly port: number
  /** Makes the folder from a template if it is missing, with the extension `vector` created; safe to repeat, whole or not at all after kill -9. */
  create(physicalName: string): Promise<void>
  /** Ends its connections and worker, deletes the folder; safe to repeat. */
  remove(physicalName: string): Promise<void>
  close(): Promise<void>
}

export type EmbeddedDatabasesOptions = {
  /** <SVC_DATA_DIR>/databases; the caller already holds its lock. */
  folder: string
  host: string
  /** 0 is any that is free. */
  port: number
  /** The verifier (db/wire/scram.ts) for a login whose user and database are this name; undefined when unknown. */
  verifierOf: (physicalName: string) => Promise<string | undefined>
  /** Whether somebody asked for it and has not got it yet: then, and only then, a missing folder is made at a login. */
  isBeingMade?: (physicalName: string) => Promise<boolean>
  /** For unknown names: their salt is derived from it by HMAC, so they cannot be told from real ones. */
  saltKey: Uint8Array
  /** The most a batch of ours may take: connections whose start-up parameter application_name is `svc`. */
  statementTimeoutMs?: number
  /** The same for everybody else: people build indexes. A smaller `statement_timeout` at start-up is kept to. */
  maintenanceTimeoutMs?: number
  /** Whoever keeps the database to itself in a transaction and does nothing is cut off. */
  idleInTransactionMs?: number
  loginTimeoutMs?: number
  /** With a password; at most 20 of them to one database. */
  maxConnections?: number
  /** Databases open at the same time. */
  maxOpen?: number
  /** A database that nobody uses is closed. */
  idleMs?: number
  /** Told why a database could not be opened, and what should never happen: clients only learn that it did. */
  onProblem?: (problem: unknown) => void
}

/** Files of one major version cannot be read by another. */
const TEMPLATE = '.template-18'

export async function openEmbeddedDatabases({
  folder,
  host,
  port,
  verifierOf,
  isBeingMade = async () => false,
  saltKey,
  statementTimeoutMs = 30_000,
  maintenanceTimeoutMs = 30 * 60_000,
  idleInTransactionMs = 60_000,
  loginTimeoutMs = 10_000,
  maxConnections = 100,
  maxOpen = 4,
  idleMs = 5 * 60_000,
  onProblem = () => {},
}: EmbeddedDatabasesOptions): Promise<EmbeddedDatabases> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeLeftovers(folder)
  const backends = new Map<string, Backend>()
  const slots = createOpenSlots(maxOpen)
  const inOrder = oneAfterTheOther()
  let template: Promise<void> | undefined
  let closed = false

  function backendOf(name: string): Backend {
    const known = backends.get(name)
    if (known) return known
    let idle: NodeJS.Timeout | undefined
    const backend: Backend = createBackend({
      async open(waitMs) {
        clearTimeout(idle)
        await slots.take(backend, waitMs)
        try {
          // Another process may have written down that there is to be one: only the owner of the folder can make it.
          if (await isBeingMade(name)) await create(name)
          return await openFolder(join(folder, name))
        } catch (error) {
          slots.free(backend)
          onProblem(error)
          throw new WireFailure('58000', 'the database could not be opened', { fatal: true, cause: error })
        }
      },
      closed: () => slots.free(backend),
      becameIdle() {
        slots.look()
        clearTimeout(idle)
        if (closed) return
        idle = setTimeout(() => {
          if (backend.idle) void backend.closeIdle()
        }, idleMs)
        idle.unref()
      },
    })
    backends.set(name, backend)
    return backend
  }

  async function makeTemplate(): Promise<void> {
    const made = join(folder, TEMPLATE)
    if (await holdsDatabase(made)) return
    await inPartialFolder(made, async (partial) => {
      const engine = await startEngine(partial)
      try {
        await execute(engine, 'create extension if not exists vector')
      } finally {
        await engine.stop()
      }
      await rename(partial, made)
    })
  }

  function create(physicalName: string): Promise<void> {
    const target = folderOf(folder, physicalName)
    return inOrder(async () => {
      if (await holdsDatabase(target)) return
      template ??= makeTemplate()
      await template.catch((error: unknown) => {
        template = undefined
        throw error
      })
      await inPartialFolder(target, async (partial) => {
        // A thousand small files: several times as fast in one go as one after the other in the background.
        cpSync(join(folder, TEMPLATE), partial, { recursive: true })
        await rename(partial, target)
      })
    })
  }

  const gateway = await openGateway({
    host,
    port,
    verifierOf,
    saltKey,
    backendOf,
    statementTimeoutMs,
    maintenanceTimeoutMs,
    idleInTransactionMs,
    loginTimeoutMs,
    maxConnections,
    onProblem,
  })

  return {
    host,
    port: gateway.port,
    create,
    async remove(physicalName) {
      const target = folderOf(folder, physicalName)
      const backend = backends.get(physicalName)
      const disconnected = gateway.disconnect(physicalName)
      await backend?.end()
      await disconnected
      if (backends.get(physicalName) === backend) backends.delete(physicalName)
      return inOrder(async () => {
        const doomed = `${target}.partial-${randomBytes(6).toString('hex')}`
        await rename(target, doomed).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
        })
        await rm(doomed, { recursive: true, force: true })
      })
    },
    async close() {
      closed = true
      const disconnected = gateway.close()
      slots.end()
      await Promise.all([...backends.values()].map((backend) => backend.end()))
      await disconnected
    },
  }
}

/** Never an empty one: the engine would make a database where none was asked for. */
async function openFolder(folder: string): Promise<Engine> {
  if (!(await holdsDatabase(folder))) throw new Error(`${folder} holds no database`)
  return startEngine(folder)
}

function folderOf(folder: string, physicalName: string): string {
  if (!PHYSICAL_NAME.test(physicalName)) throw new Error('This is not the name of a managed database')
  return join(folder, physicalName)
}

/** Half made, or half removed, when the process was killed. */
async function removeLeftovers(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((name) => name.includes('.partial-'))
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

async function execute(engine: Engine, text: string): Promise<void> {
  const answer = new AnswerReader()
  await engine.run({ bytes: simpleQuery(text), complete: true }, (bytes, taken) => {
    answer.read(bytes)
    taken()
  })
  if (answer.failure) throw answer.failure
}

/** Making and removing databases is rare, and the two of them must not meet. */
function oneAfterTheOther(): (work: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
}
