/** Activity that is written in one statement: for as many organizations as have calls that end in the same moment. */
import { beforeAll, expect, test } from 'vitest'
import { makeId } from '../../src/contracts/ids.ts'
import { insertActivity } from '../../src/cores/activity/insert-activity.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})

const AT = new Date('2026-03-01T10:00:00.123Z')

const row = (requestId: string, more: object = {}) => ({
  orgId: makeId('org', AT.getTime()),
  id: makeId('act', AT.getTime()),
  at: AT,
  type: 'function' as const,
  name: 'whoami',
  userId: 'usr_1',
  userName: 'Ann "O\'Neil" \\ Łoś',
  entryPoint: 'mcp' as const,
  outcome: 'answered' as const,
  durationMs: 3,
  questionBytes: 2,
  answerBytes: 0,
  hits: null,
  requestId,
  ...more,
})

const storedOf = (requestId: string) =>
  database.sql.query<Record<string, unknown>>(
    'select *, extract(epoch from at)::text as seconds, xmin::text as written_by from activity where request_id = $1 order by id',
    [requestId],
  )

test('rows of one moment are written by one statement, each as it was given', async () => {
  const requestId = makeId('req', AT.getTime())
  const rows = [row(requestId), row(requestId, { name: null, hits: 7, error: 'NOT_FOUND' as const })]
  await Promise.all(rows.map((one) => insertActivity(database.db, one)))
  const stored = await storedOf(requestId)
  expect(stored).toMatchObject(
    rows
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((one) => ({
        org_id: one.orgId,
        id: one.id,
        seconds: String(AT.getTime() / 1000) + '000',
        name: one.name,
        user_name: one.userName,
        answer_bytes: 0,
        hits: one.hits,
        client_id: null,
      })),
  )
  expect(new Set(stored.map(({ written_by: by }) => by)).size).toBe(1)

  await insertActivity(database.db, row(requestId))
  expect(new Set((await storedOf(requestId)).map(({ written_by: by }) => by)).size).toBe(2)
})

test('a row that cannot be stored takes no other with it', async () => {
  const requestId = makeId('req', AT.getTime())
  const outcomes = await Promise.allSettled(
    [{}, { userName: 'no text holds a \0' }, {}].map((more) =>
      insertActivity(database.db, row(requestId, more)),
    ),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await storedOf(requestId)).toHaveLength(2)
})
