import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { sql as text } from './drizzle.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copySnapshot } from '../test/support/database.ts'
import { connect, isUniqueViolation, type Connection } from './connect.ts'
import { dumpSchema } from '../scripts/generated/dump-schema.ts'

let folder = ''
let embedded: Connection
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-connect-'))
  await copySnapshot(folder)
  embedded = await connect({ folder })
})
afterAll(async () => {
  await embedded.close()
  await rm(folder, { recursive: true })
})

test('a server that is not there is named with the reason and without the password', async () => {
  const error = await connect({ url: 'postgres://svc:hunter2@127.0.0.1:1/svc' }).catch(
    (error: unknown) => error,
  )
  expect(error).toMatchObject({
    message: expect.stringMatching(/^Cannot connect to Postgres at 127\.0\.0\.1:1\/svc: .*ECONNREFUSED/),
  })
  expect(inspect(error)).not.toContain('hunter2')
})

test('an address that is none is refused without repeating it', async () => {
  const error = await connect({ url: 'postgres//svc:hunter2@db' }).catch((error: unknown) => error)
  expect(String(error)).toContain('postgres://user@host:5432/name')
  expect(inspect(error)).not.toContain('hunter2')
})

test('a unique violation is recognized through the wrapping, by its constraint', async () => {
  const { db, sql } = embedded
  await sql.query('create table seats (number int constraint one_per_seat unique)')
  await db.execute(text`insert into seats values (1)`)
  const again = await db.execute(text`insert into seats values (1)`).catch((error: unknown) => error)
  expect(isUniqueViolation(again)).toBe(true)
  expect(isUniqueViolation(again, 'one_per_seat')).toBe(true)
  expect(isUniqueViolation(again, 'another')).toBe(false)
  expect(isUniqueViolation(await db.execute(text`select nothing`).catch((error: unknown) => error))).toBe(
    false,
  )
  expect(isUniqueViolation(new Error('something else'))).toBe(false)
})

test('the schema is told as SQL: columns in their order, constraints and indexes by name', async () => {
  const { sql } = embedded
  await sql.query(`create table zoo (
    id bigint generated always as identity primary key, name varchar(40) not null default 'nameless', "order" int,
    legs int check (legs >= 0), keeper bigint references zoo on delete cascade, upper_name text generated always as (upper(name)) stored,
    fed_at timestamptz default now(), tags text[] not null, unique (name, "order"))`)
  await sql.query(
    'create index zoo_hungry on zoo (fed_at desc) where legs > 0; create unique index zoo_lower on zoo (lower(name))',
  )
  const whole = await dumpSchema(sql)
  const zoo = whole.slice(whole.indexOf('CREATE TABLE zoo'))
  expect(zoo.slice(0, zoo.indexOf('\n\n'))).toMatchInlineSnapshot(`
    "CREATE TABLE zoo (
      id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
      name character varying(40) NOT NULL DEFAULT 'nameless'::character varying,
      "order" integer,
      legs integer,
      keeper bigint,
      upper_name text GENERATED ALWAYS AS (upper((name)::text)) STORED,
      fed_at timestamp with time zone DEFAULT now(),
      tags text[] NOT NULL,
      CONSTRAINT zoo_keeper_fkey FOREIGN KEY (keeper) REFERENCES zoo(id) ON DELETE CASCADE,
      CONSTRAINT zoo_legs_check CHECK ((legs >= 0)),
      CONSTRAINT zoo_name_order_key UNIQUE (name, "order"),
      CONSTRAINT zoo_pkey PRIMARY KEY (id)
    );
    CREATE INDEX zoo_hungry ON public.zoo USING btree (fed_at DESC) WHERE (legs > 0);
    CREATE UNIQUE INDEX zoo_lower ON public.zoo USING btree (lower((name)::text));"
  `)
  expect(whole).toContain('CREATE TABLE svc_migrations (')
})
