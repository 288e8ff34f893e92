/** Managed databases in PGlite, embedded here or in a neighbouring process. */
import * as z from 'zod'
import { ServiceError } from '../../src/contracts/errors.ts'
import type { Database } from '../connect.ts'
import { managedFolder } from '../backup.ts'
import { DataFolderInUse, lockDataFolder } from '../data-folder-lock.ts'
import { eq } from '../drizzle.ts'
import { dataSources, installationFacts } from '../schema.ts'
import { connectTo } from './connect-to.ts'
import type { EmbeddedDatabases } from './embedded-databases.ts'
import type { Address, Place } from './place.ts'

/** The row in which the process that owns the embedded databases says where they are. */
const FACT = 'managed-databases'
const Whereabouts = z.object({ host: z.string(), port: z.int() })

/** Folders whose row another process removed go within so long. */
const TIDY_MS = 60_000

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
        saltKey,
      })
      const value = { host: databases.host, port: databases.port } satisfies z.input<typeof Whereabouts>
      await db
        .insert(installationFacts)
        .values({ name: FACT, value })
        .onConflictDoUpdate({ target: installationFacts.name, set: { value } })
      const tidy = setInterval(() => void tidyUp(databases), TIDY_MS).unref()
      return { databases, release: lock.release, tidy }
    } catch (error) {
      lock.release()
      throw error
    }
  }

  async function verifierOf(physicalName: string): Promise<string | undefined> {
    const [row] = await db
      .select({ verifier: dataSources.verifier })
      .from(dataSources)
      .where(eq(dataSources.physicalName, physicalName))
    return row?.verifier ?? undefined
  }

  async function tidyUp(databases: EmbeddedDatabases): Promise<void> {
    try {
      for (const name of await databases.names()) {
        if ((await verifierOf(name)) === undefined) await databases.remove(name)
      }
    } catch (error) {
      warn('leftover databases could not be removed', { error })
    }
  }

  const address = async (): Promise<Address> => {
    const here = (await own())?.databases
    if (here) return { host: here.host, port: here.port, ssl: 'disable' }
    const [fact] = await db.select().from(installationFacts).where(eq(installationFacts.name, FACT))
    const there = Whereabouts.safeParse(fact?.value)
    if (!there.success) throw new ServiceError('TIMEOUT', 'The databases cannot be reached now')
    return { ...there.data, ssl: 'disable' }
  }

  return {
    kind: 'embedded',
    address,
    async create(name, _verifier, login) {
      const here = await own()
      if (here) return here.databases.create(name)
      // The owner makes it when somebody who may log in comes for it.
      const pool = connectTo(await login(), {
        statementTimeoutMs: 30_000,
        max: 1,
        idleSeconds: 1,
        parameters: {},
      })
      await pool.query('select 1').finally(() => pool.end())
    },
    async remove(name) {
      await (await own())?.databases.remove(name)
    },
    open: async () => void (await own()),
    async close() {
      const here = await owned?.catch(() => undefined)
      if (!here) return
      clearInterval(here.tidy)
      await here.databases.close()
      here.release()
    },
  }
}

function tryLock(folder: string): { release: () => void } | undefined {
  try {
    return lockDataFolder(folder)
  } catch (error) {
    if (error instanceof DataFolderInUse) return undefined
    throw error
  }
}
