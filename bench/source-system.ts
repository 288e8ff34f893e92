/** A whole installation in this process, with an owner and their token, whose questions' vectors are known beforehand. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { dataSources, organizations, users } from '../db/schema.ts'
import type { Login } from '../db/managed/database-provisioner.ts'
import { scramVerifier } from '../db/wire/scram.ts'
import { httpClient, type Call } from '../src/client/http-client.ts'
import { readConfig } from '../src/boot/config.ts'
import { showConnectionString } from '../src/contracts/databases.ts'
import {
  saveSearchConfiguration,
  setDataSourceState,
  setDataSourceExposure,
  type SearchConfiguration,
} from '../src/contracts/data-sources.ts'
import { makeId } from '../src/contracts/ids.ts'
import type { Principal } from '../src/contracts/operation.ts'
import { findSource, createDatabase, sourceIdOf, type SourceRow } from '../src/cores/databases/index.ts'
import { sealContext } from '../src/cores/databases/source-rows.ts'
import type { EmbeddingModels } from '../src/cores/search/index.ts'
import { firstRun } from '../src/boot/first-run.ts'
import type { GatewayDeps } from '../src/http/gateway.ts'
import { createLogger } from '../src/observe/log.ts'
import { createSystem, type System } from '../src/boot/system.ts'

export type SourceSystem = {
  readonly system: System
  readonly deps: GatewayDeps
  readonly token: string
  /** The owner, as the gateway sees them. */
  readonly owner: Principal & { orgId: string }
  readonly call: Call
  readonly stop: () => Promise<void>
}

export async function startSourceSystem(
  env: Record<string, string>,
  models: EmbeddingModels,
): Promise<SourceSystem> {
  const secret = () => randomBytes(32).toString('hex')
  const config = readConfig({
    METRICS_PORT: 'off',
    MANAGED_DATABASE_PORT: '0',
    // As many as a bench has time for.
    QUESTIONS_PER_MINUTE: '1000000',
    QUESTIONS_PER_DAY: '100000000',
    JWT_SECRET: secret(),
    JWT_SIGNING_KEY: secret(),
    ACTOR_ASSERTION_SECRET: secret(),
    DATA_KEY: secret(),
    ...env,
  })
  const log = createLogger({
    level: 'warn',
    pretty: false,
    write: (line) => process.stderr.write(line),
    clock: () => new Date(),
  })
  const system = await createSystem(config, log, { models })
  try {
    const words = await firstRun({ config, auth: system.auth!, terminal: true, sample: false })
    await words!.discardPlan()
    await system.managed!.open()
    const token = /svc_\w+/.exec(words!.lines.join('\n'))![0]
    const call = httpClient(system.services.get('api-gateway')!, { token })
    const deps = system.gateway!
    return { system, deps, token, owner: await ownerOf(deps), call, stop: () => system.stop() }
  } catch (error) {
    await system.stop()
    throw error
  }
}

async function ownerOf({ db }: GatewayDeps): Promise<Principal & { orgId: string }> {
  const [organization] = await db.select().from(organizations)
  const [user] = await db.select().from(users)
  return {
    kind: 'api_token',
    userId: user!.id,
    userName: user!.name,
    userEmail: user!.email,
    orgId: organization!.id,
    organization: organization!,
    role: 'owner',
    carriesAppRoles: true,
    scopes: null,
    audiences: ['api'],
    sources: null,
    expiresAt: null,
    entryPoint: 'api',
    address: 'here',
    requestId: 'bench',
  }
}

/** A database that is there already becomes a data source as if it had been made here. */
export async function adopt(
  { deps, owner }: SourceSystem,
  kind: 'embedded' | 'postgres',
  { database, password }: Pick<Login, 'database' | 'password'>,
  configuration: SearchConfiguration,
): Promise<SourceRow> {
  const { orgId, userId } = owner
  const now = deps.clock()
  const id = makeId('ds', now.getTime())
  await deps.db.insert(dataSources).values({
    orgId,
    id,
    name: 'bench',
    title: 'Bench',
    kind,
    physicalName: database,
    verifier: scramVerifier(password),
    sealed: deps.dataKeys.seal(sealContext({ orgId, id }), password),
    enabled: true,
    exposed: true,
    configuration,
    configuredAt: now,
    createdAt: now,
    createdBy: userId,
  })
  return (await findSource(deps.db, orgId, sourceIdOf('bench')))!
}

/** Made, filled by its own connection string, configured and exposed, as people do it. */
export async function makeSource(
  { call, deps, owner }: SourceSystem,
  name: string,
  configuration: SearchConfiguration,
  fill: (sql: postgres.Sql) => Promise<void>,
): Promise<void> {
  // Not through HTTP: on a busy machine the first one takes longer than the patience of a request.
  await createDatabase(deps)(owner, { name })
  const { url } = await call(showConnectionString, { name })
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice() {} })
  try {
    await fill(sql)
  } finally {
    await sql.end()
  }
  const source_id = sourceIdOf(name)
  await call(saveSearchConfiguration, { source_id, ...configuration })
  await call(setDataSourceState, { source_id, enabled: true })
  await call(setDataSourceExposure, { source_id, exposed: true })
}

/** The source `bench`: one small table of notes, a row for each vector, by which it is searched. */
export const makeNotes = (
  system: SourceSystem,
  { model, vectors }: { readonly model: string; readonly vectors: readonly Float32Array[] },
  filters: SearchConfiguration['filter_schema'],
): Promise<void> => {
  const dimensions = vectors[0]!.length
  const entry = {
    label: 'notes',
    table: 'notes',
    columns: ['embedding'],
    model,
    dimensions,
    content_columns: 'id,title,body',
    distance_metric: 'cosine' as const,
  }
  const configuration = { connection_config: { embedding_configs: [entry] }, filter_schema: filters }
  return makeSource(system, 'bench', configuration, async (sql) => {
    await sql.unsafe(
      `create table notes (id int primary key, title text, body text, embedding vector(${dimensions}))`,
    )
    for (const [id, vector] of vectors.entries()) {
      await sql.unsafe('insert into notes values ($1, $2, $3, $4::vector)', [
        id,
        `Note ${id}`,
        'A note of some length. '.repeat(10),
        `[${vector.join(',')}]`,
      ])
    }
    await sql.unsafe('analyze notes')
  })
}

/** Any other question is a mistake of the bench. */
export const knownVectors = (
  model: string,
  dimensions: number,
  vectorOf: (question: string) => Float32Array | undefined,
): EmbeddingModels => ({
  names: [model],
  dimensionsOf: (name) => (name === model ? dimensions : undefined),
  takesBulk: () => false,
  tokensOf: () => 0,
  async embed(_owner, _name, question) {
    const vector = vectorOf(question)
    if (!vector) throw new Error(`no vector is known for "${question}"`)
    return vector
  },
  close: async () => {},
})
