import { drizzle, eq, sql } from './drizzle.ts'
import type postgres from 'postgres'
import { expect, test } from 'vitest'
import { directQuery } from './direct-query.ts'
import { apiTokens, memberships, organizations, sessions, users } from './schema.ts'

/** A driver that answers with these rows, and remembers what it was asked. */
function fakeDriver(rows: unknown[][], failure?: Error) {
  const asked: unknown[] = []
  const unsafe = (text: string, parameters: unknown[], options: unknown) => {
    asked.push({ text, parameters: [...parameters], options })
    const answer = failure ? Promise.reject(failure) : Promise.resolve(rows)
    return Object.assign(answer, { values: () => answer })
  }
  return {
    db: drizzle({ unsafe, options: { parsers: {}, serializers: {} } } as unknown as postgres.Sql),
    asked,
  }
}

type Db = ReturnType<typeof fakeDriver>['db']

const membershipsOf = (db: Db) =>
  db
    .select({
      user: { id: users.id, verifiedAt: users.emailVerifiedAt },
      membership: { role: memberships.role, orgId: memberships.orgId },
      // Of two tables: never left out as a whole.
      mixed: { org: organizations.id, role: memberships.role },
      count: sql<number>`count(*)`.mapWith(Number),
      named: sql<string>`lower(${users.name})`.as('named'),
    })
    .from(users)
    .leftJoin(memberships, eq(memberships.userId, users.id))
    .leftJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(eq(users.id, sql.placeholder('id')))
    .prepare('memberships_of')

const touch = (db: Db) =>
  db
    .update(apiTokens)
    .set({
      lastUsedAt: sql`${sql.placeholder('at')}::timestamptz`,
      scopes: sql.placeholder('scopes') as never,
    })
    .where(eq(apiTokens.id, sql.placeholder('id')))
    .prepare('touch')

const start = (db: Db) =>
  db
    .insert(sessions)
    .values({
      id: sql.placeholder('id'),
      userId: 'usr_1',
      orgId: null,
      generation: 1,
      startedAt: new Date(0),
      rotatedAt: new Date(0),
      lastUsedAt: new Date(0),
      expiresAt: sql.placeholder('until'),
    } as never)
    .returning({ id: sessions.id, until: sessions.expiresAt })
    .prepare('start')

/** Both with the same rows and values: what was asked of the driver, and what came back. */
async function bothWays(
  build: (db: Db) => { execute(values?: Record<string, unknown>): Promise<unknown> },
  rows: unknown[][],
  values: Record<string, unknown>,
  failure?: Error,
) {
  const run = async (wrap: (query: ReturnType<typeof build>) => ReturnType<typeof build>) => {
    const { db, asked } = fakeDriver(rows, failure)
    const answer: unknown = await wrap(build(db))
      .execute(values)
      .catch((error: unknown) => error)
    return { asked, answer }
  }
  return { direct: await run(directQuery), drizzle: await run((query) => query) }
}

const AT = '2026-11-16 12:00:00+00'

test.each([
  ['with a row of each', [['usr_1', AT, 'owner', 'org_1', 'org_1', 'owner', '2', 'ada']]],
  ['without a joined row', [['usr_1', null, null, null, null, null, '0', 'ada']]],
  ['with half a joined row', [['usr_1', AT, null, 'org_1', null, 'owner', '1', null]]],
  ['without any', []],
])('rows become what drizzle makes of them: %s', async (_name, rows) => {
  const { direct, drizzle } = await bothWays(membershipsOf, rows, { id: 'usr_1' })
  expect(direct).toStrictEqual(drizzle)
  expect(direct.answer).toHaveLength(rows.length)
})

test('values become what drizzle makes of them', async () => {
  const touched = await bothWays(touch, [], { at: AT, scopes: ['data:read'], id: 'tok_1' })
  expect(touched.direct).toStrictEqual(touched.drizzle)
  const started = await bothWays(start, [['ses_1', AT]], { id: 'ses_1', until: new Date(86_400_000) })
  expect(started.direct).toStrictEqual(started.drizzle)
  expect(started.direct.answer).toEqual([{ id: 'ses_1', until: new Date(AT) }])
})

test('a value that is missing is an error, and nothing is sent', async () => {
  const { direct, drizzle } = await bothWays(membershipsOf, [], {})
  expect(direct).toStrictEqual(drizzle)
  expect(direct.asked).toEqual([])
})

test('an error of the driver is told as drizzle tells it', async () => {
  const { direct, drizzle } = await bothWays(membershipsOf, [], { id: 'usr_1' }, new Error('gone'))
  expect(direct.answer).toBeInstanceOf(Error)
  expect(direct.answer).toMatchObject({
    message: (drizzle.answer as Error).message,
    cause: new Error('gone'),
  })
  expect((direct.answer as Error).constructor.name).toBe((drizzle.answer as Error).constructor.name)
})
