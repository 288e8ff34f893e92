/** Databases that write, fail, lie or are gone: they cost their own source an answer, and nobody else anything. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listActivity } from '../../src/contracts/activity.ts'
import {
  fetchDataSourceRow,
  queryDataSource,
  saveSearchConfiguration,
  SearchConfiguration,
  searchDataSources,
  showDataSource,
  showQuota,
} from '../../src/contracts/data-sources.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { eq } from '../../db/drizzle.ts'
import { dataSources } from '../../db/schema.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import {
  configurationOf,
  entry,
  inDatabase,
  insertSource,
  makeSource,
  managedDatabases,
  startWithDatabases,
  toyModels,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { HOSTILE_MESSAGES, startHostilePostgres, type HostilePostgres } from '../support/hostile-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { makeMember, makeOrganization, type Org } from '../support/make.ts'

const DATA_KEY = randomBytes(32).toString('hex')
let system: SystemWithDatabases
let org: Org
let hostile: HostilePostgres

const CODE = '0b8c2f4e-5d53-4c55-9a53-0d7f5f0f3a11'

/** One table, and views on it that each misbehave in their own way once `broken` is there. */
const SQL = `
create table good (id text, title text, body text, year int, embedding vector(3));
insert into good values ('1', 'one', 'body', 2020, '[1,0,0]');
create table counter (n int);
insert into counter values (0);
create function sly() returns boolean language plpgsql as $$ begin
  perform set_config('default_transaction_read_only', 'off', false);
  perform set_config('statement_timeout', '0', false);
  begin
    perform set_config('transaction_read_only', 'off', false);
  exception when others then null; end;
  begin
    update counter set n = n + 1;
  exception when others then null; end;
  return true; end $$;
create function writes() returns boolean language plpgsql as $$ begin update counter set n = n + 1; return true; end $$;
create view sly as select * from good where sly();
create view settings as select id, current_setting('statement_timeout') as title,
  current_setting('default_transaction_read_only') as body, embedding from good;
create function fails() returns boolean language plpgsql as $$ begin raise exception 'row % is secret', 4711; end $$;
create view settings_of_years as select * from good;
create view changing as select * from good;
create view divides as select * from good where 1 / (length(id) - 1) = 1;
create view writes as select * from good where writes();
create view casts as select * from good where title::int = 1;
create table twin (id text, title text, body text, embedding vector(3));
insert into twin values ('1', 'twin', '', '[1,0,0]');
create table altered (id int, title text, body int, code text, embedding vector(3));
insert into altered values (1, 'one', 1, '${CODE}', '[1,0,0]');
create table wordy (id text, title text, embedding vector(3));
insert into wordy select '1', (select string_agg(md5(i::text), ' ') from generate_series(1, 34000) i), '[1,0,0]';
create table "Odd Names" ("Row Id" text, title text, embedding vector(3));
insert into "Odd Names" values ('7', 'odd', '[1,0,0]');
create table ties (id text, title text, embedding vector(3));
create index on ties using hnsw (embedding vector_cosine_ops);
insert into ties select chr(122 - i), 'tie', '[1,0,0]' from generate_series(0, 25) i;
create table long_ids (id text, title text, embedding vector(3));
insert into long_ids select repeat(chr(97 + i), 1500), 'long', '[1,0,0]' from generate_series(0, 19) i;
create table wide_ids (id text, title text, embedding vector(3));
insert into wide_ids select repeat('ä', 900) || i, 'wide', '[1,0,0]' from generate_series(0, 9) i;
create table big (id text, title text, body text, facts jsonb, embedding vector(3));
insert into big values ('1', repeat('ä', 100000), repeat(E'"\\n🦀', 20000), to_jsonb(array_fill('x'::text, array[30000])), '[1,0,0]'),
  ('2', repeat('x', 34000000), null, null, '[1,0.1,0]');
`
const BODY = { content_columns: 'id,title,body' }

beforeAll(async () => {
  hostile = await startHostilePostgres()
  // The managed databases are attached here once more: many sources on one database cost one database.
  const own = managedDatabases() === 'embedded' ? undefined : new URL(managedDatabases())
  const port = own?.port ?? String(await freePort())
  const models = toyModels()
  const env = {
    DATA_KEY,
    MANAGED_DATABASE_PORT: port,
    ATTACH_ALLOWED: `${own?.hostname ?? '127.0.0.1'}:${port},127.0.0.1:${hostile.port}`,
  }
  system = await startWithDatabases(env, {
    models: {
      ...models,
      // A mistake of ours, not an error that anybody has thought of.
      embed: async (owner, model, question) =>
        model === 'toy-8' ? [].at(-1)! : models.embed(owner, model, question),
    },
  })
  org = await makeOrganization(system)
  await makeSource(org, {
    name: 'main',
    sql: SQL,
    configuration: configurationOf(
      [
        entry('good', { ...BODY, fetchable: true }),
        entry('sly'),
        entry('settings', BODY),
        entry('Odd Names', { content_columns: 'Row Id,title', fetchable: true }),
        entry('ties'),
        entry('long_ids'),
        entry('big', { content_columns: 'id,title,body,facts' }),
      ],
      { year: 'number' },
    ),
  })
})
afterAll(async () => {
  await system.stop()
  await hostile.close()
})

type Input = { target?: string; top_k?: number; filters?: Record<string, string> }
const ask = (input: Input = {}, source_id = 'db_main', who = org) =>
  who.owner.call(queryDataSource, { source_id, query: '[1,0,0]', ...input })
const run = (sql: string) => inDatabase(org, 'main', (database) => database.unsafe(sql))
const save = (configuration: ReturnType<typeof configurationOf>, source_id = 'db_main') =>
  org.owner.call(saveSearchConfiguration, { source_id, ...configuration })
const problemsOf = async (configuration: ReturnType<typeof configurationOf>) => {
  const error = await save(configuration).then(undefined, (thrown: unknown) => thrown)
  return error instanceof ServiceError ? error.problems : error
}

/** An attached source, as if it had been attached when its address was still allowed. */
async function attach(
  to: Org,
  name: string,
  login: object,
  configuration = configurationOf([entry('t')]),
): Promise<void> {
  const source = await insertSource(system, to, {
    name,
    kind: 'attached',
    enabled: true,
    exposed: true,
    configuration: SearchConfiguration.parse(configuration),
  })
  const sealed = dataKeys(DATA_KEY).seal(`data_sources/${to.id}/${source.id}`, JSON.stringify(login))
  await system.db.update(dataSources).set({ sealed }).where(eq(dataSources.id, source.id))
}

const hostileLogin = (user: string, port = hostile.port) => ({
  host: '127.0.0.1',
  port,
  user,
  password: 'p',
  database: 'd',
  ssl: 'disable',
})

async function mainLogin(): Promise<object> {
  const { host, port, user, password, database } = await org.owner.call(showConnectionString, {
    name: 'main',
  })
  return { host, port, user, password, database, ssl: 'disable' }
}

describe('a question writes nothing', () => {
  test('whatever a function behind a view does with the session, managed or attached', async () => {
    await attach(org, 'attached', await mainLogin(), configurationOf([entry('sly')]))
    for (let time = 0; time < 3; time += 1) {
      expect((await ask({ target: 'sly' })).count).toBe(1)
      expect((await ask({ target: 'sly' }, 'db_attached')).count).toBe(1)
    }
    expect(await run('select n from counter')).toEqual([{ n: 0 }])
  })

  test('and leaves no setting to the next one', async () => {
    for (let time = 0; time < 4; time += 1) {
      await ask({ target: 'sly' })
      const [hit] = (await ask({ target: 'settings' })).results
      expect([hit?.title, hit?.metadata['body']]).toEqual(['10s', 'on'])
    }
  })
})

describe('values', () => {
  test('are cut by the database: more than a response may hold is an answer of 16 KiB', async () => {
    const { results, truncated } = await ask({ target: 'big' })
    expect(results.map(({ id }) => id)).toEqual(['1', '2'])
    expect(truncated).toContain('shortened')
    const { title, metadata } = results[0]!
    expect(title).toMatch(/^ä+…$/)
    expect(metadata['body']).toMatch(/^("\n🦀)+("|"\n)?…$/u)
    expect(metadata['facts']).toMatch(/^\["x", ?"x",.*…$/)
  })

  test('equally near through an index, come by their ids', async () => {
    const { results } = await ask({ target: 'ties', top_k: 20 })
    expect(results.map(({ id }) => id).join('')).toBe('abcdefghijklmnopqrst')
  })

  test('that did not fit are not counted as hits', async () => {
    const { count } = await ask({ target: 'long_ids', top_k: 20 })
    expect(count).toBeLessThan(20)
    const [row] = (await org.owner.call(listActivity, { type: 'data_source', limit: 1 })).activity
    expect(row?.hits).toBe(count)
    // In a search over many the id of a hit is a handle, and longer.
    const other = await makeOrganization(system)
    await attach(other, 'wide', await mainLogin(), configurationOf([entry('wide_ids')]))
    const found = await other.owner.call(searchDataSources, { query: '[1,0,0]' })
    expect(found.count).toBeLessThan(10)
    const [searched] = (await other.owner.call(listActivity, { type: 'data_source', limit: 1 })).activity
    expect(searched?.hits).toBe(found.count)
  })
})

describe('handles', () => {
  test('are good for a table with odd names', async () => {
    const [hit] = (await ask({ target: 'Odd Names' })).results
    const handle = String(hit?.metadata['_handle'])
    const { hit: fetched } = await org.owner.call(fetchDataSourceRow, { source_id: 'db_main', handle })
    expect(fetched).toMatchObject({ id: '7', title: 'odd' })
  })

  test('of one source open nothing at its twin in the same organization', async () => {
    const twin = entry('twin', { ...BODY, label: 'good', fetchable: true })
    await attach(org, 'twin', await mainLogin(), configurationOf([twin]))
    const [hit] = (await ask({ target: 'good' })).results
    const handle = String(hit?.metadata['_handle'])
    expect((await org.owner.call(fetchDataSourceRow, { source_id: 'db_main', handle })).hit.title).toBe('one')
    await expect(org.owner.call(fetchDataSourceRow, { source_id: 'db_twin', handle })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
  })
})

test('a question that a role may not ask is not counted', async () => {
  const other = await makeOrganization(system)
  const viewer = await makeMember(system, other, 'viewer')
  await insertSource(system, other, { name: 'closed', enabled: true, exposed: true, minimumRole: 'admin' })
  const before = await viewer.call(showQuota, {})
  await expect(viewer.call(queryDataSource, { source_id: 'db_closed', query: 'x' })).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
  await expect(
    viewer.call(fetchDataSourceRow, { source_id: 'db_closed', handle: 'x' }),
  ).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect((await viewer.call(showQuota, {})).day.left).toBe(before.day.left)
})

describe('a save', () => {
  test('names everything that one question shows, and everything else', async () => {
    await run('create or replace view changing as select * from good where writes()')
    expect(await problemsOf(configurationOf([entry('changing')]))).toEqual([
      'changing: reading it tries to write, and questions are read-only',
    ])
    await run('create or replace view changing as select * from good where fails()')
    expect(
      await problemsOf(
        configurationOf(
          [
            entry('changing'),
            entry('wordy', { hybrid: true }),
            entry('nowhere'),
            entry('good', { label: 'none', content_columns: 'id,nothing' }),
          ],
          { year: 'string', unknown: 'string' },
        ),
      ),
    ).toEqual([
      'nowhere: there is no table "nowhere" that can be read',
      'none: table "good" has no column "nothing"',
      'filter_schema: "year" of table "changing" is int4, not a string',
      'filter_schema: "year" of table "good" is int4, not a string',
      'changing: the database failed to answer a question to it (P0001)',
      'wordy: a row has more text than full text search can hold (1 MB)',
    ])
    expect(await run('select n from counter')).toEqual([{ n: 0 }])
  })

  test('gives no advice to index what cannot be indexed', async () => {
    await attach(org, 'advice', await mainLogin())
    const notes = async (table: string) =>
      (await save(configurationOf([entry(table)], { title: 'string' }), 'db_advice')).notes
    expect(await notes('altered')).toHaveLength(2)
    expect(await notes('settings_of_years')).toEqual([])
  })
})

test('a column that changed so that the configuration still fits is asked for again', async () => {
  const configuration = configurationOf([entry('altered', BODY)], { code: 'string' })
  await attach(org, 'altered', await mainLogin(), configuration)
  const filtered = () => ask({ filters: { code: CODE } }, 'db_altered')
  expect((await filtered()).results[0]?.metadata['body']).toBe(1)
  await run('alter table altered alter column id type text, alter column body type text')
  await run('alter table altered alter column code type uuid using code::uuid')
  expect((await filtered()).results[0]?.metadata['body']).toBe('1')
})

describe('an attached server', () => {
  test('that answers with a COPY costs its own question, and is not dialed without end', async () => {
    const other = await makeOrganization(system)
    expect(Object.keys(HOSTILE_MESSAGES)).toContain('copy-in')
    const before = hostile.dials()
    for (const copy of ['copy-in', 'copy-out', 'copy-both']) {
      await attach(other, copy.replace('-', '_'), hostileLogin(`answer ${copy}`))
      await expect(ask({}, `db_${copy.replace('-', '_')}`, other)).rejects.toMatchObject({ code: 'TIMEOUT' })
    }
    expect(hostile.dials() - before).toBeLessThan(15)
  })

  test('that answers in another form than it was asked for has failed, and its health says so', async () => {
    const other = await makeOrganization(system)
    await attach(other, 'odd', hostileLogin('nothing'))
    await expect(ask({}, 'db_odd', other)).rejects.toMatchObject({ code: 'SOURCE_FAILED' })
    const { health } = await other.owner.call(showDataSource, { source_id: 'db_odd' })
    expect(health?.last_error).toMatchObject({
      kind: 'failed',
      cause: 'Its server answered in another form than it was asked for.',
    })
  })

  test('whose address is no longer allowed is not dialed at all', async () => {
    const other = await makeOrganization(system)
    const forbidden = await startHostilePostgres()
    await attach(other, 'forbidden', hostileLogin('nothing', forbidden.port))
    await expect(ask({}, 'db_forbidden', other)).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(forbidden.dials()).toBe(0)
    await forbidden.close()
  })
})

test('a search over many survives each of them, and says why it is missing', async () => {
  const other = await makeOrganization(system)
  const login = await mainLogin()
  for (const name of ['good', 'divides', 'writes', 'casts', 'lacks']) {
    await attach(other, name, login, configurationOf([entry(name)]))
  }
  await attach(other, 'mute', login, configurationOf([entry('good', { model: 'toy-broken' })]))
  await attach(other, 'odd', login, configurationOf([entry('good', { model: 'toy-8', dimensions: 8 })]))
  await attach(other, 'hostile', hostileLogin('answer copy-both'))

  const { results, unavailable } = await other.owner.call(searchDataSources, { query: '[1,0,0]' })
  expect(results.map(({ title }) => title)).toEqual(['one'])
  const failed = 'The database of this source could not answer the question'
  expect(unavailable).toEqual([
    { source_id: 'db_casts', reason: failed },
    { source_id: 'db_divides', reason: failed },
    { source_id: 'db_hostile', reason: 'The database of this source cannot be reached now' },
    { source_id: 'db_lacks', reason: 'The database has changed since the search was configured' },
    { source_id: 'db_mute', reason: 'The embedding model cannot be used now' },
    { source_id: 'db_odd', reason: 'It could not be searched' },
    { source_id: 'db_writes', reason: failed },
  ])
  const warnings = system.logLines.filter((line) => line.includes('a data source could not be searched'))
  for (const code of ['22012', '22P02', '25006']) {
    expect(
      warnings.some((line) => line.includes(`"code":"${code}"`)),
      code,
    ).toBe(true)
  }

  await expect(ask({}, 'db_divides', other), 'never the fault of whoever asked').rejects.toMatchObject({
    code: 'SOURCE_FAILED',
    message: failed,
  })
  await expect(ask({}, 'db_lacks', other)).rejects.toMatchObject({ code: 'INVALID_SEARCH_CONFIGURATION' })
})

test('refusals have their cause in the log, and no words of a database', () => {
  const refused = system.logLines.filter((line) => line.includes('request refused'))
  expect(refused.some((line) => line.includes('table lacks was removed'))).toBe(true)
  expect(system.logLines.filter((line) => /4711|is secret/.test(line))).toEqual([])
})
