/** An installation whose one data source is the table of 100,000 rows, on either engine throughout. */
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import type { SourceRow } from '../src/cores/databases/index.ts'
import { databaseUrl, NAME, on100kEmbedded, on100kInPostgres } from './keep-100k.ts'
import { adopt, knownVectors, startSourceSystem, type SourceSystem } from './source-system.ts'
import { CONFIGURATION, DIMENSIONS, MODEL, questionVectors } from './table-of-100k.ts'

export type Engine = { readonly kind: 'embedded' } | { readonly kind: 'postgres'; readonly url: string }

export type On100k = SourceSystem & { readonly source: SourceRow; readonly vectors: readonly Float32Array[] }

/** Questions are called 0, 1, 2 … and their vectors are those of the same number. */
export async function startOn100k(
  engine: Engine,
  folder: string,
  { questions, env = {} }: { questions: number; env?: Record<string, string> },
): Promise<On100k> {
  const vectors = questionVectors(questions)
  const models = knownVectors(MODEL, DIMENSIONS, (question) => vectors[Number(question)])
  const place = engine.kind === 'embedded' ? await embeddedPlace() : await serverPlace(engine.url)
  const ours = await startSourceSystem({ SVC_DATA_DIR: folder, ...place.env, ...env }, models)
  const source = await adopt(ours, engine.kind, { database: NAME, password: place.password }, CONFIGURATION)
  return {
    ...ours,
    source,
    vectors,
    async stop() {
      await ours.stop()
      await place.leave()
    },
  }
}

type Place = { env: Record<string, string>; password: string; leave: () => Promise<void> | void }

async function embeddedPlace(): Promise<Place> {
  const { dataFolder, release } = await on100kEmbedded()
  return {
    env: { SVC_DATA_DIR: dataFolder },
    password: randomBytes(16).toString('hex'),
    leave: release,
  }
}

async function serverPlace(url: string): Promise<Place> {
  const { password } = await on100kInPostgres(url)
  const own = await freshDatabase(url, 'svc_bench_control')
  return {
    env: { DATABASE_URL: own.url, MANAGED_DATABASE_URL: url },
    password,
    leave: own.drop,
  }
}

export async function freshDatabase(
  url: string,
  name: string,
): Promise<{ url: string; drop: () => Promise<void> }> {
  const onServer = async (...statements: string[]) => {
    const sql = postgres(url, { max: 1, onnotice() {} })
    for (const statement of statements) await sql.unsafe(statement)
    await sql.end()
  }
  const drop = `drop database if exists ${name} with (force)`
  await onServer(drop, `create database ${name}`)
  return { url: databaseUrl(url, name), drop: () => onServer(drop) }
}
