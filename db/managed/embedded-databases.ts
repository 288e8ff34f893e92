/** Managed databases without a server: each has a folder and a thread of its own, and is reached only through the gateway. */
import { randomBytes } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDataFolder } from '../data-folder.ts'
import { holdsDatabase, inPartialFolder } from '../embedded.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { createBackend, type Backend, type Engine } from '../wire/backend.ts'
import { openGateway, PHYSICAL_NAME, type GatewayOptions, type VerifiersOf } from '../wire/gateway.ts'
import { WireError } from '../wire/protocol-messages.ts'
import { buffersFor, hasOutgrown } from './buffers.ts'
import { startEngine } from './database-engine.ts'
import { makeDatabase } from './new-database.ts'
import { limitOpenDatabases } from './open-database-limit.ts'

export type EmbeddedDatabases = {
  readonly host: string
  readonly port: number
  /** With the extension `vector`, if it is missing; safe to repeat, and complete or absent after kill -9. */
  create(physicalName: string): Promise<void>
  /** Ends its connections. */
  disconnect(physicalName: string): Promise<void>
  /** Ends the connections to all databases whose login has another verifier now, or none. */
  disconnectRotated(verifiersOf: VerifiersOf): Promise<void>
  /** Ends its connections and worker, deletes the folder; safe to repeat. */
  remove(physicalName: string): Promise<void>
  close(): Promise<void>
}

export type EmbeddedDatabasesOptions = Pick<GatewayOptions, 'host' | 'port' | 'loginOf' | 'saltKey'> &
  Partial<Omit<GatewayOptions, 'backendOf'>> & {
    /** <SVC_DATA_DIR>/databases; the caller already holds its lock. */
    readonly folder: string
    /** Whether it was requested and is not there yet: only then a missing folder is created at a login. */
    readonly isBeingCreated?: (physicalName: string) => Promise<boolean>
    /** Databases open at the same time. */
    readonly maxOpen?: number
    /** After which an unused database is closed. */
    readonly idleMs?: number
    /** After which one that has outgrown its buffers is closed, so that it gets more when it is opened again. */
    readonly outgrownIdleMs?: number
  }

const GATEWAY_DEFAULTS = {
  statementTimeoutMs: 30_000,
  maintenanceTimeoutMs: 30 * 60_000,
  idleInTransactionMs: 60_000,
  loginTimeoutMs: 5_000,
  maxConnections: 200,
  onProblem: () => {},
}

export async function openEmbeddedDatabases(options: EmbeddedDatabasesOptions): Promise<EmbeddedDatabases> {
  const { folder, isBeingCreated = async () => false, maxOpen = 4 } = options
  const { idleMs = 5 * 60_000, outgrownIdleMs = 2_000 } = options
  const { host, onProblem = GATEWAY_DEFAULTS.onProblem } = options
  makeDataFolder(folder)
  await removeLeftovers(folder)
  const backends = new Map<string, Backend>()
  const openLimit = limitOpenDatabases(maxOpen)
  /** Creating and removing databases is rare, and the two must not overlap. */
  const serialized = oneAtATime()
  let closed = false

  function backendOf(name: string): Backend {
    const known = backends.get(name)
    if (known) return known
    let idle: NodeJS.Timeout | undefined
    let buffersMb = 0
    const afterIdle = (ms: number, then: () => void) => {
      idle = setTimeout(then, ms)
      idle.unref()
    }
    const closeOutgrown = async () => {
      const { usedAt } = backend
      const outgrown = await hasOutgrown(join(folder, name), buffersMb)
      // Used meanwhile: then it has become idle anew since, or will.
      if (closed || !backend.idle || backend.usedAt !== usedAt) return
      if (outgrown) return void backend.closeIdle()
      afterIdle(Math.max(0, idleMs - outgrownIdleMs), () => {
        if (backend.idle) void backend.closeIdle()
      })
    }
    const backend: Backend = createBackend({
      async open(waitMs) {
        clearTimeout(idle)
        await openLimit.acquire(backend, waitMs)
        try {
          // Another process may have recorded the request: only the owner of the folder can create it.
          if (await isBeingCreated(name)) await create(name)
          buffersMb = await buffersFor(join(folder, name))
          return await openFolder(join(folder, name), buffersMb)
        } catch (error) {
          openLimit.release(backend)
          onProblem(error)
          throw new WireError('58000', 'the database could not be opened', { fatal: true, cause: error })
        }
      },
      closed: () => openLimit.release(backend),
      becameIdle() {
        openLimit.check()
        clearTimeout(idle)
        if (closed) return
        afterIdle(Math.min(idleMs, outgrownIdleMs), () => void closeOutgrown())
      },
      onProblem,
    })
    backends.set(name, backend)
    return backend
  }

  function create(physicalName: string): Promise<void> {
    const target = folderOf(folder, physicalName)
    return serialized(async () => {
      if (await holdsDatabase(target)) return
      await inPartialFolder(target, async (partial) => {
        await makeDatabase(partial)
        await rename(partial, target)
      })
    })
  }

  const gateway = await openGateway({ ...GATEWAY_DEFAULTS, ...options, backendOf })

  return {
    host,
    port: gateway.port,
    create,
    disconnect: (physicalName) => gateway.disconnect(physicalName),
    disconnectRotated: (verifiersOf) => gateway.disconnectRotated(verifiersOf),
    async remove(physicalName) {
      const target = folderOf(folder, physicalName)
      const backend = backends.get(physicalName)
      const disconnected = gateway.disconnect(physicalName)
      await backend?.end()
      await disconnected
      if (backends.get(physicalName) === backend) backends.delete(physicalName)
      return serialized(async () => {
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
      openLimit.end()
      await Promise.all([...backends.values()].map((backend) => backend.end()))
      await disconnected
    },
  }
}

/** Never an empty folder: the engine would create a database in it. */
async function openFolder(folder: string, buffersMb: number): Promise<Engine> {
  if (!(await holdsDatabase(folder))) throw new Error(`${folder} holds no database`)
  return startEngine(folder, buffersMb)
}

function folderOf(folder: string, physicalName: string): string {
  if (!PHYSICAL_NAME.test(physicalName)) throw new Error('This is not the name of a managed database')
  return join(folder, physicalName)
}

/** Half created or half removed when the process was killed, or of a version that copied databases from one of its own. */
async function removeLeftovers(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((name) => /\.partial-|^\.template-/.test(name))
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}
