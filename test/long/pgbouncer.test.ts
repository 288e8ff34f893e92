/** The program itself behind a PgBouncer in transaction mode: its commands, two processes of it, and what they leave of the server's sessions. */
import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import { sql as text } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { createApp, listApps } from '../../src/contracts/apps.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { databaseUrl, newDatabase, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { unique } from '../support/make.ts'
import { firstWordsIn, processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

// Where none is installed, the configuration says so.
describe.runIf(inject('isPooled'))('behind a pooler in transaction mode', { timeout: 5 * 60_000 }, () => {
  const own = processes()
  const name = unique('pooled').replaceAll('-', '_')
  let direct: string
  let env: Env
  let everything: ServerProcess

  beforeAll(async () => {
    const { url, pooler } = inject('postgres')
    await onServer(url, `create database ${name}`)
    direct = databaseUrl(url, name)
    env = {
      ...freshSecrets(),
      DATABASE_URL: databaseUrl(pooler!, name),
      DATABASE_PREPARE: 'off',
      MANAGED_DATABASE_URL: 'embedded',
      ARGON2_MEMORY_KIB: '64',
      PORT: String(await freePort()),
      SVC_DATA_DIR: join(await own.newFolder(), 'data'),
    }
  })
  afterAll(async () => {
    await own.cleanUp()
    await onServer(inject('postgres').url, `drop database if exists ${name} with (force)`)
  })

  test('named statements are lost on the way, which is why they can be turned off', async () => {
    const database = await newDatabase()
    const { pooler } = inject('postgres')
    const { pathname } = new URL(database.url!)
    const named = await connect({ url: databaseUrl(pooler!, pathname.slice(1)) }, { prepare: true })
    const asked = (connection: typeof named) =>
      Promise.allSettled(
        Array.from({ length: 60 }, (_, n) =>
          connection.db.transaction((tx) => tx.execute(text`select ${n}::int as n, pg_sleep(0.005)`)),
        ),
      )
    const failures = (results: Awaited<ReturnType<typeof asked>>) =>
      results.filter(({ status }) => status === 'rejected').length
    expect(failures(await asked(named))).toBeGreaterThan(0)
    expect(failures(await asked(database))).toBe(0)
    await named.close()
    await database.close()
  })

  test('what a transaction has committed is there', async () => {
    const database = await newDatabase()
    const { db, sql } = database
    await sql.query('create table committed (n int)')
    await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        db.transaction((tx) => tx.execute(text`insert into committed values (${n})`)),
      ),
    )
    expect(await sql.query('select count(*)::int as count from committed')).toEqual([{ count: 300 }])
    await database.close()
  })

  test('more queries than connections are all answered', async () => {
    const database = await newDatabase()
    const { db, sql } = database
    const answers = await Promise.all(
      Array.from({ length: 600 }, async (_, n) => {
        const [row] =
          n % 2 === 0
            ? await sql.query<{ n: number }>(`select ${n} as n`)
            : await db.execute<{ n: number }>(text`select ${n}::int as n`)
        return row?.n === n
      }),
    )
    expect(answers.filter((isRight) => isRight)).toHaveLength(600)
    await database.close()
  })

  test('migrate applies everything to an empty database, told of the pooler or not', async () => {
    const { DATABASE_PREPARE: _, ...untold } = env
    const first = await own.run({ env: untold, args: ['migrate'] })
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toContain('Applied: 0000')
    const again = await own.run({ env, args: ['migrate'] })
    expect(again.stdout).toContain('No pending migrations.')
  })

  test('a first start makes its owner, and says that statements have no time limit', async () => {
    everything = await own.start({ env, args: ['--empty'] })
    const { token, email } = await firstWordsIn(everything)
    expect(await everything.as({ token })(whoAmI, {})).toMatchObject({ user: { email } })
    expect(everything.logLines()).toContainEqual(
      expect.objectContaining({ event: 'statements have no time limit', level: 'warn' }),
    )
  })

  test('two processes have the limit of the database, and see what the other writes', async () => {
    await everything.stop()
    await onServer(direct, `alter database ${name} set statement_timeout = '30s'`)
    // Sessions that began before do not know.
    await onServer(
      direct,
      `select pg_terminate_backend(pid)::text as name from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    )
    everything = await own.start({ env, args: ['--empty'] })
    const second = await own.start({
      args: ['--empty'],
      env: { ...env, PORT: String(await freePort()), SVC_DATA_DIR: join(await own.newFolder(), 'data') },
    })
    for (const { logLines } of [everything, second]) {
      expect(logLines().map(({ event }) => event)).not.toContain('statements have no time limit')
    }
    const { token } = await firstWordsIn(everything)
    const at = (server: ServerProcess) => server.as({ token })
    const aliases = Array.from({ length: 24 }, (_, n) => `app-${n}`)
    await Promise.all(
      aliases.map((alias, n) => at(n % 2 === 0 ? everything : second)(createApp, { alias, name: alias })),
    )
    for (const server of [everything, second]) {
      const { apps } = await at(server)(listApps, { limit: 100 })
      expect(apps.map(({ alias }) => alias)).toEqual(expect.arrayContaining(aliases))
    }
    const [row] = await onServer(
      direct,
      `select count(*)::text as name from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    )
    // As many as the pooler has for a database, whatever 20 connections of two processes ask.
    expect(Number(row!.name)).toBeLessThanOrEqual(6)
    expect((await second.stop()).code).toBe(0)
  })

  test('reset-password writes its link', async () => {
    const { email } = await firstWordsIn(everything)
    const done = await own.run({ env, args: ['reset-password', email] })
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(await readFile(join(env['SVC_DATA_DIR']!, 'reset-password.txt'), 'utf8')).toContain('/auth/')
  })

  test('nothing failed meanwhile', async () => {
    const lines = everything.logLines().filter(({ level }) => level === 'error')
    expect(lines).toEqual([])
    expect((await everything.stop()).code).toBe(0)
  })
})
