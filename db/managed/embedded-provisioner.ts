/** Managed databases in PGlite, served by this process or by another one that shares the data folder. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { Database } from '../connect.ts'
import { managedFolder } from '../backup.ts'
import { DataFolderInUse, lockDataFolder } from '../data-folder-lock.ts'
import { eq, inArray, like } from '../drizzle.ts'
import { dataSources, installationFacts } from '../schema.ts'
import type { DatabaseProvisioner } from './database-provisioner.ts'
import type { EmbeddedDatabases } from './embedded-databases.ts'
import { nextOwnership } from './folder-ownership.ts'
import type { OpenFolder, OwnershipEffect, OwnershipInput, OwnershipState } from './folder-ownership.ts'
import { openPool } from './open-pool.ts'

/** The row in which the owner of the folder tells the other processes where the databases are. */
const ADDRESS_FACT = 'managed-databases'
const AddressFact = z.object({ host: z.string(), port: z.int() })

/** Rows of what another process wants removed. */
const REMOVAL_FACT = 'remove database '
/** Only the owner of the folder can do what another process wants, and looks this often. */
const OWNER_JOBS_MS = 10_000
/** People's own programs reach the databases again so long after their process died, also when nobody asks a question. */
const TAKE_OVER_MS = 5_000
/** From the lock to the announcement it opens the databases and a port. Within the deadline of a request. */
const ANNOUNCED_MS = 15_000
const ANNOUNCED_POLL_MS = 100
/** Seconds, or most of a minute where others use the machine as well. */
const CREATION_MS = 60_000

export type EmbeddedProvisionerOptions = {
  readonly dataFolder: string
  readonly host: string
  readonly port: number
  readonly db: Database
  readonly saltKey: Uint8Array
  /** Of a statement of a tenant. */
  readonly maintenanceTimeoutMs: number
  readonly warn: (event: string, fields: Record<string, unknown>) => void
}

export function embeddedProvisioner(options: EmbeddedProvisionerOptions): DatabaseProvisioner {
  const { db, warn } = options
  let state: OwnershipState = { phase: 'not owner' }
  let opening: Promise<void> = Promise.resolve()
  let takeOverTimer: NodeJS.Timeout | undefined
  let ownerJobsTimer: NodeJS.Timeout | undefined

  async function dispatch(input: OwnershipInput): Promise<void> {
    const [next, effects] = nextOwnership(state, input)
    state = next
    await Promise.all(effects.map(perform))
  }

  async function perform(effect: OwnershipEffect): Promise<void> {
    if (effect === 'open folder') return (opening = becomeOwner())
    if (effect === 'start owner jobs') {
      ownerJobsTimer = setInterval(() => {
        void removeRequested()
        void disconnectRotated()
      }, OWNER_JOBS_MS).unref()
      return
    }
    clearInterval(ownerJobsTimer)
    return effect.closeFolder.databases.close().then(effect.closeFolder.releaseLock)
  }

  async function becomeOwner(): Promise<void> {
    let opened: OpenFolder
    try {
      opened = await openFolder()
    } catch (error) {
      if (error instanceof DataFolderInUse) return dispatch('lock held elsewhere')
      await dispatch('failed')
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      const hint = 'Stop the other program, or set MANAGED_DATABASE_PORT.'
      throw new Error(`Port ${options.port} is in use. ${hint}`, { cause: error })
    }
    return dispatch({ opened })
  }

  async function openFolder(): Promise<OpenFolder> {
    const folder = managedFolder(options.dataFolder)
    const lock = lockDataFolder(folder)
    let databases: EmbeddedDatabases | undefined
    try {
      const { openEmbeddedDatabases } = await import('./embedded-databases.ts')
      databases = await openEmbeddedDatabases({
        folder,
        host: options.host,
        port: options.port,
        loginOf: knownLogin,
        isBeingCreated: async (name) => (await sourceNamed(name))?.preparingUntil != null,
        saltKey: options.saltKey,
        maintenanceTimeoutMs: options.maintenanceTimeoutMs,
        onProblem: (error) => warn('an embedded database has a problem', { error }),
      })
      await announce(databases)
      return { databases, releaseLock: lock.release }
    } catch (error) {
      try {
        await databases?.close()
      } finally {
        lock.release()
      }
      throw error
    }
  }

  async function announce({ host, port }: EmbeddedDatabases): Promise<void> {
    const value = { host, port } satisfies z.input<typeof AddressFact>
    await db
      .insert(installationFacts)
      .values({ name: ADDRESS_FACT, value })
      .onConflictDoUpdate({ target: installationFacts.name, set: { value } })
  }

  async function sourceNamed(physicalName: string) {
    const { orgId, verifier, preparingUntil } = dataSources
    const rows = db.select({ orgId, verifier, preparingUntil }).from(dataSources)
    const [row] = await rows.where(eq(dataSources.physicalName, physicalName))
    return row
  }

  async function knownLogin(physicalName: string) {
    const row = await sourceNamed(physicalName)
    return row?.verifier == null ? undefined : { orgId: row.orgId, verifier: row.verifier }
  }

  async function acquire(): Promise<EmbeddedDatabases | undefined> {
    void dispatch('acquire').catch(() => {})
    await opening
    return state.phase === 'owner' ? state.folder.databases : undefined
  }
  /** For people who ask: why it could not be taken over is for the log. */
  const acquireOrTimeout = () => acquire().catch(unreachable)

  /** Only what was asked for in so many words: a folder without a row may belong to a control plane that is elsewhere today. */
  async function removeRequested(): Promise<void> {
    try {
      const requests = db.select().from(installationFacts)
      for (const { name } of await requests.where(like(installationFacts.name, `${REMOVAL_FACT}%`))) {
        const physicalName = name.slice(REMOVAL_FACT.length)
        // Its row is the last to go: until then whoever removes it is not done.
        if ((await sourceNamed(physicalName))?.verifier != null || state.phase !== 'owner') continue
        await state.folder.databases.remove(physicalName)
        await db.delete(installationFacts).where(eq(installationFacts.name, name))
      }
    } catch (error) {
      warn('databases could not be removed', { error })
    }
  }

  /** Another process has rotated the password: it does not have the connections. */
  async function disconnectRotated(): Promise<void> {
    try {
      if (state.phase === 'owner') await state.folder.databases.disconnectRotated(verifiersOf)
    } catch (error) {
      warn('connections with a rotated password could not be ended', { error })
    }
  }

  async function verifiersOf(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { physicalName, verifier } = dataSources
    const rows = db.select({ physicalName, verifier }).from(dataSources)
    const logins = new Map<string, string>()
    for (const row of await rows.where(inArray(physicalName, [...names]))) {
      if (row.physicalName !== null && row.verifier !== null) logins.set(row.physicalName, row.verifier)
    }
    return logins
  }

  async function factNamed(name: string) {
    const [fact] = await db.select().from(installationFacts).where(eq(installationFacts.name, name))
    return fact
  }

  /** On the first start of several processes, the one that has the lock may not have announced where it listens. */
  async function announcedAddress(): Promise<z.output<typeof AddressFact>> {
    for (let triesLeft = ANNOUNCED_MS / ANNOUNCED_POLL_MS; ; triesLeft -= 1) {
      const announced = AddressFact.safeParse((await factNamed(ADDRESS_FACT))?.value)
      if (announced.success) return announced.data
      if (triesLeft <= 0) return unreachable(announced.error)
      await sleep(ANNOUNCED_POLL_MS)
    }
  }

  return {
    kind: 'embedded',
    async address() {
      const own = await acquireOrTimeout()
      if (own) return { host: own.host, port: own.port, ssl: 'disable' }
      return { ...(await announcedAddress()), ssl: 'disable' }
    },
    async create(name, _verifier, login) {
      const own = await acquireOrTimeout()
      if (own) return own.create(name)
      if (await factNamed(REMOVAL_FACT + name)) {
        throw new ServiceError('CONFLICT', 'The database of this name is still being removed', {
          hint: 'Try again in a moment.',
        })
      }
      // The owner creates it when somebody who may log in connects to it.
      const pool = openPool(await login(), {
        statementTimeoutMs: 30_000,
        loginMs: CREATION_MS,
        max: 1,
        idleSeconds: 1,
        parameters: {},
        readOnly: true,
      })
      try {
        await pool.query('select 1').catch(unreachable)
      } finally {
        await pool.end()
      }
    },
    async rotate(name) {
      // The login is read from its row. Where another process has the folder, that one finds out (disconnectRotated).
      await (await acquireOrTimeout())?.disconnect(name)
    },
    async remove(name) {
      const own = await acquireOrTimeout()
      if (own) return own.remove(name)
      const request = { name: REMOVAL_FACT + name, value: {} }
      await db.insert(installationFacts).values(request).onConflictDoNothing()
    },
    questionLogin: async () => undefined,
    async open() {
      await acquire()
      takeOverTimer ??= setInterval(() => {
        acquire().catch((error: unknown) => warn('the databases could not be taken over', { error }))
      }, TAKE_OVER_MS).unref()
    },
    async close() {
      clearInterval(takeOverTimer)
      await dispatch('close')
      await opening.catch(() => {})
    },
  }
}

function unreachable(cause: unknown): never {
  throw new ServiceError('TIMEOUT', 'The databases cannot be reached now', { cause })
}
