/** Managed databases in PGlite, embedded here or in a neighbouring process. */
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { Database } from '../connect.ts'
import { managedFolder } from '../backup.ts'
import { DataFolderInUse, lockDataFolder } from '../data-folder-lock.ts'
import { eq, like } from '../drizzle.ts'
import { dataSources, installationFacts } from '../schema.ts'
import { connectTo } from './connect-to.ts'
import type { EmbeddedDatabases } from './embedded-databases.ts'
import type { Address, Place } from './place.ts'

/** The row in which the process that owns the embedded databases says where they are. */
const FACT = 'managed-databases'
const Whereabouts = z.object({ host: z.string(), port: z.int() })

/** What another process wants removed: only the owner of the folder can do it, and looks this often. */
const DOOMED = 'remove database '
const TIDY_MS = 10_000
/** People's own programs reach the databases again so long after their process died, also when nobody asks a question. */
const TAKE_OVER_MS = 5_000

export type EmbeddedPlaceOptions = {
  readonly dataFolder: string
  readonly host: string
  readonly port: number
  readonly db: Database
  readonly saltKey: Uint8Array
  readonly warn: (event: string, fields: Record<string, unknown>) => void
}

type Owned = { databases: EmbeddedDatabases; release: () => void; tidy: NodeJS.Timeout }

/**
 * One process owns the folder, by its lock. The others connect to it over the network like everybody else, and the
 * first of them that finds the lock free takes over.
 */
export function embeddedPlace({ dataFolder, host, port, db, saltKey, warn }: EmbeddedPlaceOptions): Place {
  const folder = managedFolder(dataFolder)
  let owned: Promise<Owned | undefined> | undefined
  let watch: NodeJS.Timeout | undefined

  const own = (): Promise<Owned | undefined> => {
    owned ??= takeOwnership().then(
      (taken) => {
        if (!taken) owned = undefined
        return taken
      },
      (error: unknown) => {
        owned = undefined
        throw error
      },
    )
    return owned
  }

  async function takeOwnership(): Promise<Owned | undefined> {
    const lock = tryLock(folder)
    if (!lock) return undefined
    try {
      const { openEmbeddedDatabases } = await import('./embedded-databases.ts')
      const databases = await openEmbeddedDatabases({
        folder,
        host,
        port,
        verifierOf,
        isBeingMade,
        saltKey,
        onProblem: (error) => warn('an embedded database has a problem', { error }),
      })
      await sayWhere(databases).catch(async (error: unknown) => {
        await databases.close()
        throw error
      })
      const tidy = setInterval(() => void tidyUp(databases), TIDY_MS).unref()
      return { databases, release: lock.release, tidy }
    } catch (error) {
      lock.release()
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      throw new Error(`Port ${port} is in use. Stop the other program, or set MANAGED_DATABASE_PORT.`, {
        cause: error,
      })
    }
  }

  async function sayWhere(databases: EmbeddedDatabases): Promise<void> {
    const value = { host: databases.host, port: databases.port } satisfies z.input<typeof Whereabouts>
    await db
      .insert(installationFacts)
      .values({ name: FACT, value })
      .onConflictDoUpdate({ target: installationFacts.name, set: { value } })
  }

  /** For people who ask: why it could not be taken over is for the log. */
  const ownInTime = () => own().catch(unreachable)

  async function verifierOf(physicalName: string): Promise<string | undefined> {
    const [row] = await db
      .select({ verifier: dataSources.verifier })
      .from(dataSources)
      .where(eq(dataSources.physicalName, physicalName))
    return row?.verifier ?? undefined
  }

  async function isBeingMade(physicalName: string): Promise<boolean> {
    const [row] = await db
      .select({ until: dataSources.preparingUntil })
      .from(dataSources)
      .where(eq(dataSources.physicalName, physicalName))
    return row !== undefined && row.until !== null
  }

  /** Only what was asked for in so many words: a folder without a row may belong to a control plane that is elsewhere today. */
  async function tidyUp(databases: EmbeddedDatabases): Promise<void> {
    try {
      for (const { name } of await db
        .select()
        .from(installationFacts)
        .where(like(installationFacts.name, `${DOOMED}%`))) {
        const physicalName = name.slice(DOOMED.length)
        // Its row is the last to go: until then whoever removes it is not done.
        if ((await verifierOf(physicalName)) !== undefined) continue
        await databases.remove(physicalName)
        await db.delete(installationFacts).where(eq(installationFacts.name, name))
      }
    } catch (error) {
      warn('databases could not be removed', { error })
    }
  }

  async function refuseIfDoomed(physicalName: string): Promise<void> {
    const [doomed] = await db
      .select()
      .from(installationFacts)
      .where(eq(installationFacts.name, DOOMED + physicalName))
    if (!doomed) return
    throw new ServiceError('CONFLICT', 'The database of this name is still being removed', {
      hint: 'Try again in a moment.',
    })
  }

  const address = async (): Promise<Address> => {
    const here = (await ownInTime())?.databases
    if (here) return { host: here.host, port: here.port, ssl: 'disable' }
    const [fact] = await db.select().from(installationFacts).where(eq(installationFacts.name, FACT))
    const there = Whereabouts.safeParse(fact?.value)
    if (!there.success) return unreachable(there.error)
    return { ...there.data, ssl: 'disable' }
  }

  return {
    kind: 'embedded',
    address,
    async create(name, _verifier, login) {
      const here = await ownInTime()
      if (here) return here.databases.create(name)
      await refuseIfDoomed(name)
      // The owner makes it when somebody who may log in comes for it.
      const pool = connectTo(await login(), {
        statementTimeoutMs: 30_000,
        max: 1,
        idleSeconds: 1,
        parameters: {},
      })
      try {
        await pool.query('select 1')
      } catch (error) {
        unreachable(error)
      } finally {
        await pool.end()
      }
    },
    async remove(name) {
      const here = await ownInTime()
      if (here) return here.databases.remove(name)
      await db
        .insert(installationFacts)
        .values({ name: DOOMED + name, value: {} })
        .onConflictDoNothing()
    },
    async open() {
      await own()
      watch ??= setInterval(() => {
        own().catch((error: unknown) => warn('the databases could not be taken over', { error }))
      }, TAKE_OVER_MS).unref()
    },
    async close() {
      clearInterval(watch)
      const here = await owned?.catch(() => undefined)
      if (!here) return
      clearInterval(here.tidy)
      await here.databases.close()
      here.release()
    },
  }
}

function unreachable(cause: unknown): never {
  throw new ServiceError('TIMEOUT', 'The databases cannot be reached now', { cause })
}

function tryLock(folder: string): { release: () => void } | undefined {
  try {
    return lockDataFolder(folder)
  } catch (error) {
    if (error instanceof DataFolderInUse) return undefined
    throw error
  }
}
