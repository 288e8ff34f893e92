/** Before a project's tests: a migrated embedded database to copy from, or a Postgres server with one to copy from. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { connect } from '../../db/connect.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { databaseUrl, onServer, snapshot, type PostgresServer } from './database.ts'
import { findPgBouncer, startPgBouncer } from './pgbouncer.ts'
import { prepareMonths } from '../../src/cores/partitions.ts'
import { startPostgres } from './postgres.ts'

/** START_MS of ./system.ts, which can be imported by tests alone. */
const TESTS_BEGIN = '2026-03-02T10:00:00Z'

declare module 'vitest' {
  interface ProvidedContext {
    testFolder: string
    /** MANAGED_DATABASE_URL of this project. */
    managedDatabases: string
    postgres: PostgresServer
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return project.getProvidedContext().engine === 'postgres' ? setupPostgres(project) : setupEmbedded(project)
}

async function setupEmbedded(project: TestProject): Promise<() => Promise<void>> {
  await snapshot()
  const testFolder = await mkdtemp(join(tmpdir(), 'svc-test-'))
  project.provide('testFolder', testFolder)
  project.provide('managedDatabases', 'embedded')
  return () => rm(testFolder, { recursive: true, force: true })
}

/** TEST_PGVECTOR_URL names a server that is there already and stays; ours of it are dropped again. */
async function setupPostgres(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_PGVECTOR_URL']
  const { url, stop } = given ? { url: given, stop: async () => {} } : await startPostgres()
  const template = `svc_test_${randomBytes(4).toString('hex')}`
  await onServer(url, `create database ${template}`)
  const { db, sql, close } = await connect({ url: databaseUrl(url, template) }, { poolSize: 1 })
  await migrate(sql, await readMigrations(fileURLToPath(new URL('../../db/migrations', import.meta.url))))
  // As every start would, at the time of the machine and at that of the tests.
  await prepareMonths({ db, partitions: true }, new Date(TESTS_BEGIN))
  await prepareMonths({ db, partitions: true })
  await close()
  const pooler = project.getProvidedContext().isPooled
    ? await startPgBouncer(findPgBouncer()!, url)
    : undefined
  project.provide('postgres', { url, template, ...(pooler && { pooler: pooler.url }) })
  // The server of npm has no pgvector.
  project.provide('managedDatabases', given ?? 'embedded')
  return async () => {
    await pooler?.stop()
    if (given) {
      const left = await onServer(
        url,
        `select datname as name from pg_database where starts_with(datname, '${template}')`,
      )
      for (const { name } of left) await onServer(url, `drop database if exists ${name} with (force)`)
    }
    await stop()
  }
}
