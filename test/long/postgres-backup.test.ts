/**
 * The backup of Postgres as docs/operating.md says it: dumped while svc runs, restored into an empty database; and the
 * managed databases with their logins, restored on an empty server.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, inject, onTestFinished, test } from 'vitest'
import { createDatabase, showConnectionString } from '../../src/contracts/databases.ts'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { readText } from '../repository/source-tree.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { unique } from '../support/make.ts'
import { startPostgres, type Binaries } from '../support/postgres.ts'
import { firstWordsIn, processes } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const own = processes()
const names: string[] = []
const server = suitableServer()
afterEach(own.cleanUp)
afterAll(async () => {
  for (const name of names) await onServer(server!, `drop database if exists ${name} with (force)`)
})

/** Of the machine's pg_dump; 0: there is none. */
function dumpVersion(): number {
  const { stdout } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' })
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0)
}

/** One that the machine's pg_dump can dump: not newer than itself. */
function suitableServer(): string | undefined {
  const own = dumpVersion()
  return [process.env['TEST_PGVECTOR_URL'], inject('postgres').url].find((url) => {
    if (url === undefined) return false
    const asked = spawnSync('psql', ['--no-psqlrc', '-At', '-c', 'show server_version_num', url], {
      encoding: 'utf8',
    })
    return asked.status === 0 && Number(asked.stdout) < (own + 1) * 10_000
  })
}

/** Of Debian, in the version of its pg_dump and with pgvector: for servers that hold nothing but these databases. */
function serverBinaries(): Binaries | undefined {
  const own = dumpVersion()
  const folder = `/usr/lib/postgresql/${own}/bin`
  const binaries = { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
  const needed = [...Object.values(binaries), `/usr/share/postgresql/${own}/extension/vector.control`]
  return needed.every((path) => existsSync(path)) ? binaries : undefined
}

async function newDatabase(): Promise<string> {
  const name = unique('backup').replaceAll('-', '_')
  names.push(name)
  await onServer(server!, `create database ${name}`)
  return databaseUrl(server!, name)
}

test('what is dumped is restored, with everybody and their tokens', async ({ skip }) => {
  skip(server === undefined, 'no pg_dump here is as new as a server of the tests')
  const { dump, restore } = documented()
  const folder = await own.newFolder()
  const secrets = freshSecrets()
  const [before, after] = [await newDatabase(), await newDatabase()]
  const settings = {
    ...secrets,
    SVC_ORG: 'Acme',
    ARGON2_MEMORY_KIB: '64',
    SVC_DATA_DIR: join(folder, 'data'),
  }
  const first = await own.start({ env: { ...settings, DATABASE_URL: before } })
  const { token, email, password } = await firstWordsIn(first)
  await first.as({ token: (await first.as()(signInWithPassword, { email, password })).token })(
    createOrganization,
    {
      name: 'Second',
    },
  )
  paste(folder, dump, { DATABASE_URL: before })
  const known = await first.as({ token })(whoAmI, {})
  await first.stop()

  paste(folder, restore, { DATABASE_URL: after })
  const second = await own.start({ env: { ...settings, DATABASE_URL: after } })
  expect(await second.as({ token })(whoAmI, {})).toEqual(known)
  expect(await second.as()(signInWithPassword, { email, password })).toMatchObject({ user: { email } })
  expect((await second.fetch('/readyz')).status).toBe(200)
})

test('managed databases come back on an empty server, with their rows and their logins', async ({ skip }) => {
  const binaries = serverBinaries()
  skip(
    binaries === undefined,
    'no Postgres server with pgvector is installed here, in the version of pg_dump',
  )
  const { dump, restore, dumpManaged, restoreManaged } = documented()
  const folder = await own.newFolder()
  const [first, second] = await Promise.all([startPostgres(binaries), startPostgres(binaries)])
  onTestFinished(async () => void (await Promise.all([first.stop(), second.stop()])))
  const settings = {
    ...freshSecrets(),
    SVC_ORG: 'Acme',
    ARGON2_MEMORY_KIB: '64',
    SVC_DATA_DIR: join(folder, 'data'),
  }
  // Each server has both: svc's own database, and the managed ones.
  const on = async ({ url }: { url: string }) => {
    await onServer(url, 'create database control')
    return { DATABASE_URL: databaseUrl(url, 'control'), MANAGED_DATABASE_URL: url }
  }
  const before = await on(first)
  const svc = await own.start({ args: ['--empty'], env: { ...settings, ...before } })
  const { token } = await firstWordsIn(svc)
  await svc.as({ token })(createDatabase, { name: 'orders' })
  const { url } = await svc.as({ token })(showConnectionString, { name: 'orders' })
  const psql = (at: string, statement: string): string =>
    execFileSync('psql', ['--no-psqlrc', '-At', '-v', 'ON_ERROR_STOP=1', '-c', statement, at], {
      encoding: 'utf8',
    }).trim()
  psql(
    url,
    "create table lines (id int primary key, vector vector(2)); insert into lines values (7, '[1,2]')",
  )
  paste(folder, dump, before)
  paste(folder, dumpManaged, { ...before, PGPASSWORD: new URL(first.url).password })
  await svc.stop()
  await first.stop()

  const { password } = new URL(first.url)
  await onServer(second.url, `alter role postgres password '${password}'`)
  const empty = new URL(second.url)
  empty.password = password
  paste(folder, restoreManaged, { MANAGED_DATABASE_URL: empty.href })
  // `pg_dumpall` has every database of the server, so here svc's own as well; on a server of its own it is restored alone.
  await onServer(empty.href, 'drop database control')
  const after = await on({ url: empty.href })
  paste(folder, restore, after)
  const restored = await own.start({ env: { ...settings, ...after } })
  const again = await restored.as({ token })(showConnectionString, { name: 'orders' })
  expect(new URL(again.url).port).toBe(new URL(second.url).port)
  expect(psql(again.url, 'select id, vector from lines')).toBe('7|[1,2]')
})

/** As a person pastes it, with only these variables. */
const paste = (cwd: string, command: string, variables: Record<string, string>) =>
  execFileSync('bash', ['-euc', command], {
    cwd,
    env: { PATH: process.env['PATH'], ...variables },
    stdio: 'pipe',
  })

/** All commands of the page, so that none is left untried. */
function documented() {
  const blocks = commands('Backup of Postgres')
  expect(blocks).toHaveLength(4)
  const [dump = '', restore = '', dumpManaged = '', restoreManaged = ''] = blocks
  return { dump, restore, dumpManaged, restoreManaged }
}

/** The blocks below a heading. */
const commands = (heading: string): string[] =>
  [
    ...readText('docs/operating.md')
      .split(`\n### ${heading}\n`)[1]!
      .split(/\n##+ /)[0]!
      .matchAll(/^```sh\n(.*?)^```$/gms),
  ].map(([, block]) => block!)
