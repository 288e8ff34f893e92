/** How many connections a process opens to Postgres, however much is asked of it: docs/operating.md names the numbers. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { attachedPools } from '../../db/managed/attached-thread.ts'
import { openManagedServer } from '../../db/managed/postgres-server.ts'
import { sourceConnections } from '../../db/managed/source-connections.ts'
import { readConfig } from '../../src/boot/config.ts'
import { dispatcher } from '../../src/boot/listener.ts'
import { createSystem } from '../../src/boot/system.ts'
import { createLogger } from '../../src/observe/log.ts'
import { newDatabase, onServer, type TestDatabase } from '../support/database.ts'
import { freshSecrets, START_MS } from '../support/system.ts'

// Embedded, a process opens none.
describe.runIf(inject('engine') === 'postgres')('a process', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await newDatabase()
  })
  afterAll(() => database.close())

  /** An address whose connections are told apart from those of others. */
  function named(name: string): string {
    const url = new URL(database.url!)
    url.searchParams.set('application_name', name)
    return url.href
  }
  const sessionsOf = async (name: string): Promise<number> => {
    const [row] = await onServer(
      database.url!,
      `select count(*)::text as name from pg_stat_activity
        where application_name = '${name}' and datname = current_database()`,
    )
    return Number(row!.name)
  }

  test('opens DATABASE_POOL connections and no more, with all its services at work', async () => {
    const config = readConfig({
      ...freshSecrets(),
      DATABASE_URL: named('pool-of-three'),
      DATABASE_POOL: '3',
      MANAGED_DATABASE_URL: 'embedded',
      METRICS_PORT: 'off',
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api,worker',
    })
    const log = createLogger({
      level: 'error',
      pretty: false,
      write: () => {},
      clock: () => new Date(START_MS),
    })
    const system = await createSystem(config, log)
    try {
      system.startJobs()
      const dispatch = dispatcher(system)
      const answers = await Promise.all(
        Array.from({ length: 60 }, async () => {
          const init = { headers: { authorization: `Bearer svc_${'0'.repeat(43)}` } }
          return (await dispatch(new Request(new URL('/api/v1/me', config.API_URL), init))).status
        }),
      )
      expect(new Set(answers)).toEqual(new Set([401]))
      // All are answered by the others where the last one takes long to open.
      await expect.poll(() => sessionsOf('pool-of-three')).toBeGreaterThan(2)
      expect(await sessionsOf('pool-of-three')).toBe(3)
      // And one, however many services run in it, that is told of new work.
      await expect.poll(() => sessionsOf('svc listener')).toBe(1)
    } finally {
      await system.stop()
    }
    expect(await sessionsOf('pool-of-three')).toBe(0)
    await expect.poll(() => sessionsOf('svc listener')).toBe(0)
  })

  test('opens four connections to a managed database that is asked', async () => {
    const { hostname, port, username, password, pathname } = new URL(database.url!)
    const attached = attachedPools([])
    const connections = sourceConnections(attached)
    const pool = connections.open('db_asked', 'postgres', 'org', async () => ({
      host: hostname,
      port: Number(port),
      user: username,
      password: decodeURIComponent(password),
      database: pathname.slice(1),
      ssl: 'disable',
    }))
    const rows = await Promise.all(
      Array.from({ length: 24 }, () =>
        pool.query<{ pid: string }>('select pg_backend_pid()::text as pid, pg_sleep(0.02)::text'),
      ),
    )
    expect(new Set(rows.map(([row]) => row!.pid)).size).toBe(4)
    await connections.close()
    await attached.close()
  })

  test('opens two to the server for managed databases, and one more while it makes one', async () => {
    const server = openManagedServer(named('managed-server'))
    await Promise.all(Array.from({ length: 20 }, () => server.readDatabaseSizes(['none'])))
    expect(await sessionsOf('managed-server')).toBe(2)
    await server.close()
  })
})
