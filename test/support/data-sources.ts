/** Systems with managed databases: embedded, or on the server of TEST_PGVECTOR_URL; with models small enough to check by hand. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { inject } from 'vitest'
import type * as z from 'zod'
import { and, eq } from '../../db/drizzle.ts'
import { dataSources, platformAccessGrants, validatedMembers } from '../../db/schema.ts'
import { createEmbeddingModels } from '../../src/adapters/embeddings/index.ts'
import {
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
  type SearchConfiguration,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { GRANTABLE_ROLES } from '../../src/contracts/roles.ts'
import type { EmbeddingModels } from '../../src/cores/search/index.ts'
import type { Overrides } from '../../src/boot/system.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { actorOf, signActor } from './actor.ts'
import { unique, type Org, type Person } from './make.ts'
import { startSystem, type TestSystem } from './system.ts'

export type SystemWithDatabases = TestSystem & { readonly dataFolder: string }

/** Where this project makes managed databases: an address, or `embedded`. */
export const managedDatabases = (): string => inject('managedDatabases')

export async function startWithDatabases(
  env: Record<string, string> = {},
  overrides: Overrides = {},
): Promise<SystemWithDatabases> {
  const place = await placeForDatabases(env.MANAGED_DATABASE_URL)
  const models = overrides.models ?? toyModels()
  const system = await startSystem(
    {
      SVC_SERVICES: 'api-gateway,auth-service',
      QUESTIONS_PER_MINUTE: '100000',
      ...place.settings,
      ...env,
    },
    { ...overrides, models },
  )
  return {
    ...system,
    dataFolder: place.settings.SVC_DATA_DIR,
    async stop() {
      await place.clear(system)
      await system.stop()
      await models.close()
      await place.remove()
    },
  }
}

/** Room for the managed databases of one system: clear it before the system stops, remove it afterwards. */
export async function placeForDatabases(where = managedDatabases()) {
  const dataFolder = await mkdtemp(join(tmpdir(), 'svc-sources-'))
  const isEmbedded = where === 'embedded'
  return {
    settings: { SVC_DATA_DIR: dataFolder, MANAGED_DATABASE_URL: where, MANAGED_DATABASE_PORT: '0' },
    clear: async (system: TestSystem) => (isEmbedded ? undefined : removeFromServer(system)),
    remove: () => rm(dataFolder, { recursive: true, force: true }),
  }
}

/** A server of somebody else's is left as it was found. */
async function removeFromServer({ db, system }: TestSystem): Promise<void> {
  const rows = await db.select().from(dataSources).where(eq(dataSources.kind, 'postgres'))
  for (const { physicalName } of rows) {
    if (physicalName !== null) await system.managed!.managed.remove(physicalName)
  }
  await db.delete(dataSources).where(eq(dataSources.kind, 'postgres'))
}

const TOYS = new Map(Object.entries({ 'toy-3': 3, 'toy-8': 8, 'toy-broken': 3, 'toy-grown': 3 }))

/**
 * A vector that stands in the question, such as `[1,0,0]`, is its embedding; every other question lies on the first
 * axis. `toy-broken` never answers, `toy-grown` answers with a vector of another size than it says.
 */
export function toyModels(): EmbeddingModels {
  const real = createEmbeddingModels(new Map())
  return {
    names: [...TOYS.keys(), ...real.names],
    dimensionsOf: (model) => TOYS.get(model) ?? real.dimensionsOf(model),
    // One of them is closed, as a provider's is until the operator opens it.
    takesBulk: (model) => model !== 'toy-8' && (TOYS.has(model) || real.takesBulk(model)),
    tokensOf: (model, text) => (TOYS.has(model) ? text.split(/\s+/).length : real.tokensOf(model, text)),
    async embed(owner, model, question) {
      const size = TOYS.get(model)
      if (size === undefined) return real.embed(owner, model, question)
      if (model === 'toy-broken') throw new ServiceError('EMBEDDING_UNAVAILABLE')
      const written = /\[([-\d.,e]+)\]/.exec(question)?.[1]?.split(',').map(Number) ?? [1]
      const length = model === 'toy-grown' ? size + 1 : size
      return Array.from({ length }, (_, at) => written[at] ?? 0)
    },
    close: () => real.close(),
  }
}

type Configuration = z.input<typeof SearchConfiguration>
type Entry = Configuration['connection_config']['embedding_configs'][number]

/** A table of three dimensions with id, title and embedding, unless told otherwise. */
export const entry = (table: string, more: Partial<Entry> = {}): Entry => ({
  label: table,
  table,
  model: 'toy-3',
  dimensions: 3,
  content_columns: 'id,title',
  ...more,
})

export const configurationOf = (
  entries: readonly Entry[],
  filter_schema?: Configuration['filter_schema'],
): Configuration => ({
  connection_config: { embedding_configs: [...entries] },
  ...(filter_schema ? { filter_schema } : {}),
})

export type Source = {
  /** `ds_…` */
  readonly id: string
  /** `db_…` */
  readonly sourceId: string
  readonly name: string
}

/** A database made, filled, configured, switched on and exposed as people do it. `expose: false` leaves it hidden. */
export async function makeSource(
  org: Org,
  given: {
    name: string
    sql?: string
    configuration?: Configuration
    expose?: (typeof GRANTABLE_ROLES)[number] | false
  },
): Promise<Source> {
  const { name, sql, configuration, expose = 'viewer' } = given
  const { call } = org.owner
  const { id, source_id } = await call(createDatabase, { name })
  if (sql !== undefined) await inDatabase(org, name, (database) => database.unsafe(sql))
  if (configuration) await call(saveSearchConfiguration, { source_id, ...configuration })
  await call(setDataSourceState, { source_id, enabled: true })
  if (expose !== false) await call(setDataSourceExposure, { source_id, exposed: true, minimum_role: expose })
  return { id, sourceId: source_id, name }
}

/** With the connection string that its owner is shown, and the driver that anybody would take. */
export async function inDatabase<T>(
  org: Org,
  name: string,
  work: (sql: postgres.Sql) => PromiseLike<T>,
): Promise<T> {
  const { url } = await org.owner.call(showConnectionString, { name })
  return atAddress(url, work)
}

export async function atAddress<T>(url: string, work: (sql: postgres.Sql) => PromiseLike<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice() {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** The row of a source without a database behind it, for what is decided before any database is asked. */
export async function insertSource(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  org: Org,
  given: Partial<typeof dataSources.$inferInsert> = {},
): Promise<Source> {
  const id = makeId('ds', clock.now().getTime())
  const name = given.name ?? unique('row').replace('-', '_')
  await db.insert(dataSources).values({
    orgId: org.id,
    id,
    name,
    title: name,
    kind: 'embedded',
    sealed: 'opens nothing',
    createdAt: clock.now(),
    ...given,
  })
  return { id, sourceId: `db_${name}`, name }
}

/** An agent as the gateway meets it: the row of an approval, and an assertion, fresh each time, that names it. */
export async function agentOf(
  system: TestSystem,
  org: Org,
  person: Person,
  sources: readonly string[] | null = null,
): Promise<() => Promise<{ token: string; clientId: string }>> {
  const { userId } = person
  const [now, clientId] = [system.clock.now(), `https://${unique('agent')}.test/client.json`]
  if (system.isHosted) {
    // Nobody approves agents with hosted auth: this one came with an API token of the person.
    await system.as({ token: person.token, organization: org.id })(whoAmI, {})
    const theirs = and(eq(validatedMembers.orgId, org.id), eq(validatedMembers.userId, userId))
    const [member] = await system.db.select().from(validatedMembers).where(theirs)
    const { role, membershipId: id, email, timezone } = member!
    const membership = { id, role, email_verified: email !== null, timezone }
    const { known, ...about } = actorOf(org, person, makeId('tok', now.getTime()))
    const actor = { ...about, clientId, known: { ...known!, role, membership } }
    return async () => ({ token: await signActor(system, actor), clientId })
  }
  const grantId = makeId('grt', now.getTime())
  await system.db.insert(platformAccessGrants).values({
    id: grantId,
    orgId: org.id,
    userId,
    clientId,
    clientKind: 'metadata_document',
    redirectHost: '127.0.0.1',
    resource: 'platform',
    scopes: ['data:read'],
    sources: sources && [...sources],
    payload: {},
    keyEpoch: system.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  })
  const actor = { userId, orgId: org.id, scopes: ['data:read'] as const, clientId, grantId }
  return async () => ({ token: await signActor(system, actor), clientId })
}
