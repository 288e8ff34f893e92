/**
 * Fills a database by the builders of the walks, and writes it with what people see in it. Runs in a checkout of the version
 * that the fixture is of: scripts/make-upgrade-fixtures.ts puts it there.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, inject, test } from 'vitest'
import { backupEmbedded } from '../../db/backup.ts'
import { connect, type Connection } from '../../db/connect.ts'
import { API_OPERATIONS, type ApiOperation } from '../support/api-requests.ts'
import { copySnapshot, newDatabase } from '../support/database.ts'
import { placeForDatabases } from '../support/data-sources.ts'
import { fakeChatApp, fakeChecks } from '../support/fake-integrations.ts'
import { makeFurnishedWorld, type FurnishedWorld } from '../support/furnished-world.ts'
import { freshSecrets, startSystem, type TestSystem } from '../support/system.ts'
import type { Seen } from './read-fixture.ts'

const OUT = process.env['FIXTURE_FOLDER']!
const SECRETS = freshSecrets()

test('a database with two organizations, and what their people see', { timeout: 300_000 }, async () => {
  const engine = inject('engine')
  const folder = mkdtempSync(join(tmpdir(), 'svc-fixture-'))
  const connection = engine === 'pglite' ? await embedded(folder) : await newDatabase()
  const place = await placeForDatabases('embedded')
  const system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...place.settings, ...SECRETS },
    { checks: fakeChecks, chatApp: fakeChatApp, connection },
  )
  const worlds = [await makeFurnishedWorld(system), await makeFurnishedWorld(system)]
  const seen: Seen[] = []
  for (const world of worlds) seen.push(...(await seenIn(system, world)))
  expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(100)
  const now = system.clock.now().toISOString()
  await system.stop()
  const contents = engine === 'pglite' ? undefined : await rowsOf(connection)
  const applied = await connection.sql.query<{ name: string; sha256: string }>(
    'select name, sha256 from svc_migrations order by name',
  )
  await connection.close()
  await place.remove()
  const file = join(folder, 'backup')
  if (engine === 'pglite') await backupEmbedded(folder, file)
  const body = contents ?? gunzipSync(readFileSync(file))
  writeFileSync(join(OUT, `${engine}.body`), body)
  const header = { engine, migrations: applied, secrets: SECRETS, now, seen }
  writeFileSync(join(OUT, `${engine}.json`), JSON.stringify(header))
})

async function embedded(folder: string): Promise<Connection> {
  await copySnapshot(folder)
  return connect({ folder })
}

/** What each of them reads: every operation that only reads, asked about what is really there. */
async function seenIn(system: TestSystem, { org, people, things, known }: FurnishedWorld): Promise<Seen[]> {
  const who: [string, string][] = [
    ['owner', people.owner.token],
    ['admin', people.colleague.token],
    ['viewer', people.member.token],
    ['API token of the viewer', things.token.token],
  ]
  const paths = API_OPERATIONS.filter(({ method }) => method === 'GET').flatMap((op) => {
    const path = pathOf(op, known)
    return path === undefined ? [] : [{ op: op.name, path }]
  })
  const seen: Seen[] = []
  for (const [name, token] of who) {
    for (const { op, path } of paths) {
      const headers = { authorization: `Bearer ${token}`, 'x-svc-org': org.id }
      const answer = await system.fetch(path, { headers })
      const type = answer.headers.get('content-type')
      // What goes on by itself shows nothing that was there before.
      if (type?.startsWith('text/event-stream')) {
        await answer.body?.cancel()
        continue
      }
      const isJson = type?.startsWith('application/json') ?? false
      const text = await answer.text()
      seen.push({
        who: name,
        token,
        orgId: org.id,
        op,
        path,
        status: answer.status,
        body: isJson ? (JSON.parse(text) as unknown) : undefined,
      })
    }
  }
  return seen
}

/** Undefined where something is needed that nothing in the world is. */
function pathOf(op: ApiOperation, known: FurnishedWorld['known']): string | undefined {
  const valueOf = (name: string): string | undefined => {
    const [value] = known[`${op.name}.${name}`] ?? known[name] ?? []
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const names = (schema: ApiOperation['inPath']) => schema.required ?? []
  const needed = [...names(op.inPath), ...names(op.inQuery)]
  if (needed.some((name) => valueOf(name) === undefined)) return undefined
  const path = op.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(valueOf(name)!))
  const query = new URLSearchParams(names(op.inQuery).map((name) => [name, valueOf(name)!]))
  return query.size > 0 ? `${path}?${query}` : path
}

/** Rows as Postgres writes them in JSON, and never as numbers of JavaScript, which are less exact. */
async function rowsOf({ sql }: Connection): Promise<string> {
  const tables = await sql.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relkind in ('r', 'p') and not c.relispartition
       and c.relnamespace = 'public'::regnamespace and c.relname <> 'svc_migrations' order by 1`,
  )
  const rows: [string, string][] = []
  for (const { name } of tables) {
    const [row] = await sql.query<{ rows: string | null }>(
      `select json_agg(to_jsonb(t))::text as rows from "${name}" t`,
    )
    if (row?.rows) rows.push([name, row.rows])
  }
  const sequences = await sql.query<{ name: string; last: string }>(
    `select sequencename as name, last_value::text as last from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`,
  )
  return JSON.stringify({ tables: rows, sequences })
}
