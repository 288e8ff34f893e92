/** Databases of earlier versions, made by them, are brought to the newest migration, and their people see what they saw. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { isBreaking, migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { INSTALLED } from '../support/clients/client.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { placeForDatabases } from '../support/data-sources.ts'
import { fakeChatApp, fakeChecks } from '../support/fake-integrations.ts'
import { PASSWORD, unique } from '../support/make.ts'
import { processes } from '../support/process.ts'
import { startSystem } from '../support/system.ts'
import { loadRows, readFixture, unpackEmbedded, type Fixture, type Seen } from '../upgrade/read-fixture.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FIXTURES = readdirSync(join(ROOT, 'test/upgrade')).filter((name) => name.endsWith('.zst'))

const own = processes()
const databases: string[] = []
afterEach(() => own.cleanUp())
afterAll(async () => {
  const { url } = inject('postgres')
  for (const name of databases) await onServer(url, `drop database if exists ${name} with (force)`)
})

async function newUrl(): Promise<string> {
  const name = unique('svc_upgrade').replace('-', '_')
  const { url } = inject('postgres')
  await onServer(url, `create database ${name}`)
  databases.push(name)
  return databaseUrl(url, name)
}

async function open(fixture: Fixture): Promise<Connection> {
  if (fixture.header.engine === 'pglite') {
    const folder = await own.newFolder()
    await unpackEmbedded(fixture, folder)
    return connect({ folder })
  }
  const connection = await connect({ url: await newUrl() })
  await loadRows(fixture, connection)
  return connection
}

test('three versions are there, from the oldest on, on both engines', () => {
  expect(FIXTURES).toEqual(
    expect.arrayContaining(
      ['0006', '0014', '0026'].flatMap((state) => [`${state}-pglite.zst`, `${state}-postgres.zst`]),
    ),
  )
})

describe.each(FIXTURES)('%s', (file) => {
  test('is brought to the newest migration, and people see what they saw', { timeout: 300_000 }, async () => {
    const fixture = readFixture(file)
    const { header } = fixture
    const connection = await open(fixture)
    const migrations = await readMigrations()
    const { applied, newer } = await migrate(connection.sql, migrations)
    expect(newer).toEqual([])
    expect(applied).toEqual(migrations.slice(header.migrations.length).map(({ name }) => name))

    const place = await placeForDatabases('embedded')
    const system = await startSystem(
      { SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...place.settings, ...header.secrets },
      { checks: fakeChecks, chatApp: fakeChatApp, connection },
    )
    system.clock.advance((Date.parse(header.now) - system.clock.now().getTime()) / 1000)
    const differences: string[] = []
    for (const was of header.seen) {
      const answer = await system.fetch(was.path, {
        headers: { authorization: `Bearer ${was.token}`, 'x-svc-org': was.orgId },
      })
      const text = await answer.text()
      const body = was.body === undefined ? undefined : (JSON.parse(text) as unknown)
      differences.push(
        ...differencesOf(was, answer.status, body)
          .filter((what) => !isOnPurpose(header.migrations.at(-1)!.name, was, what))
          .map((what) => `${was.op} as ${was.who}: ${what}`),
      )
    }
    await system.stop()
    await connection.close()
    await place.remove()
    expect([...new Set(differences)]).toEqual([])
  })
})

test('migrate --check says what would be done, and about how long, and does nothing', async () => {
  const fixture = readFixture('0006-postgres.zst')
  const DATABASE_URL = await newUrl()
  const connection = await connect({ url: DATABASE_URL })
  await loadRows(fixture, connection)
  const env = { DATABASE_URL, ...fixture.header.secrets }
  const { code, stdout } = await own.run({ args: ['migrate', '--check'], env })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^Found a database of svc with 7 migrations, the newest 0006_throttles-without-index, applied on \d{4}-\d\d-\d\d\.\n/,
  )
  const pending = (await readMigrations()).slice(7).map(({ name }) => name)
  expect(stdout).toContain(`migrate, or the next start, applies ${pending.length}:\n`)
  for (const name of pending) expect(stdout).toMatch(new RegExp(`^  ${name} +less than a second$`, 'm'))
  expect(stdout).toContain('Stop every older process first')
  expect(await connection.sql.query('select name from svc_migrations')).toHaveLength(7)
  await connection.close()
})

/** Of the oldest state, which later migrations only add to until the first that breaks it. */
describe('the older program', () => {
  const fixture = readFixture('0006-postgres.zst')
  const { commit, secrets, seen } = fixture.header
  const isThere = hasCommit(commit) && existsSync(join(INSTALLED, 'prom-client'))
  if (!isThere) {
    console.log(
      `Without the history of ${commit} and the packages of test/clients, no older program runs here.`,
    )
  }
  const found = async (name: string) => {
    const all = await readMigrations()
    return all.slice(0, all.findIndex((migration) => migration.name === name) + 1)
  }
  const firstBreaking = async () =>
    (await readMigrations()).slice(fixture.header.migrations.length).find(({ name }) => isBreaking(name))!
      .name

  test.skipIf(!isThere)('runs over all that only adds, and is refused after what breaks it', async () => {
    const launcher = await launcherOf(commit)
    const url = await newUrl()
    const connection = await connect({ url })
    await loadRows(fixture, connection)
    const breaking = await firstBreaking()
    const adding = (await found(breaking)).slice(0, -1)
    const { applied } = await migrate(connection.sql, adding)
    expect(applied.length).toBeGreaterThan(0)
    const env = { DATABASE_URL: url, MANAGED_DATABASE_URL: 'embedded', ...secrets }
    const server = await own.start({ launcher, env })
    expect(
      server.logLines().find(({ event }) => event === 'the database is newer than this program'),
    ).toMatchObject({ migrations: applied })
    const profile = seen.find(({ op, who }) => op === 'showProfile' && who === 'owner')!
    const { email } = profile.body as { email: string }
    const { token } = await server.as()(signInWithPassword, { email, password: PASSWORD })
    const was = seen.find((one) => one.op === 'listApps' && one.token === profile.token)!
    const answer = await server.fetch(was.path, {
      headers: { authorization: `Bearer ${token}`, 'x-svc-org': was.orgId },
    })
    expect(lost(was.body, await answer.json(), '')).toEqual([])
    await server.stop()

    await migrate(connection.sql, await readMigrations())
    await connection.close()
    const refused = await own.run({ launcher, env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(
      `This database is newer than this program and cannot be used by it: it holds the migration ${breaking}.`,
    )
  })
})

function hasCommit(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0
}

/** That version, with the packages of this one, and with what it imports and this one no longer has. */
async function launcherOf(commit: string): Promise<string> {
  const folder = await own.newFolder()
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1e9 })
  execFileSync('tar', ['x', '-C', folder], { input: archive })
  const packages = join(folder, 'node_modules')
  mkdirSync(packages)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  }
  symlinkSync(join(INSTALLED, 'prom-client'), join(packages, 'prom-client'))
  return join(folder, 'bin/server')
}

/** What reading itself changes, or what each answer has of its own. They have to be there. */
const OWN_TO_AN_ANSWER = new Set(['request_id', 'last_used_at', 'health'])

type Change = {
  /** Of fixtures whose newest migration is at most this one. */
  readonly until: string
  readonly who: RegExp
  readonly ops: readonly string[]
  readonly what: RegExp
}

/** What was changed on purpose since, as the changelog says. */
const ON_PURPOSE: readonly Change[] = [
  // "API tokens no longer … list sessions, or read … a profile (403)"
  { until: '0007', who: /^API token/, ops: ['listSessions', 'showProfile'], what: /^200 became 403$/ },
  // "An API token that is capped to viewer has no role on apps"
  {
    until: '0007',
    who: /^API token of the viewer$/,
    ops: [
      'readDeploymentOutput',
      'listRevisions',
      'showRevision',
      'downloadRevision',
      'diffRevisions',
      'listLogs',
      'listLogGroups',
      'summarizeLogs',
      'showRunEvidence',
      'downloadProposalPatch',
    ],
    what: /^200 became 403$/,
  },
  {
    until: '0007',
    who: /^API token of the viewer$/,
    ops: [
      'listApps',
      'showApp',
      'showMaintenanceRun',
      'listFindings',
      'showFinding',
      'listProposals',
      'listProposalQueue',
      'showProposal',
      'listFollows',
    ],
    what: /became null$|is gone$|: 1 became 0$/,
  },
  // "The `id` of a webhook notification … come[s] from event and target, no longer from the delivery's row"
  {
    until: '0010',
    who: /^owner$|^admin$/,
    ops: ['showDelivery'],
    what: /^\.notification\.id: "dlv_\w+" became "ntf_\w+"$/,
  },
]

const isOnPurpose = (newest: string, { op, who }: Seen, what: string): boolean =>
  ON_PURPOSE.some(
    (change) =>
      newest.slice(0, 4) <= change.until &&
      change.ops.includes(op) &&
      change.who.test(who) &&
      change.what.test(what),
  )

function differencesOf(was: Seen, status: number, body: unknown): string[] {
  if (status !== was.status) return [`${was.status} became ${status}`]
  return lost(was.body, body, '')
}

/** Fields may come, and nothing may go or change. */
function lost(was: unknown, is: unknown, at: string): string[] {
  if (was === null || typeof was !== 'object')
    return was === is ? [] : [`${at}: ${JSON.stringify(was)} became ${JSON.stringify(is)}`]
  if (is === null || typeof is !== 'object') return [`${at}: is gone`]
  if (Array.isArray(was) && (is as unknown[]).length !== was.length)
    return [`${at}: ${was.length} became ${(is as unknown[]).length}`]
  return Object.entries(was).flatMap(([key, value]) => {
    const now = (is as Record<string, unknown>)[key]
    if (OWN_TO_AN_ANSWER.has(key)) return now === undefined ? [`${at}.${key}: is gone`] : []
    return lost(value, now, `${at}.${key}`)
  })
}
