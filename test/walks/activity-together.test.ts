/** Activity that is written in one statement: for as many organizations as have calls that end in the same moment. */
import { beforeAll, expect, test } from 'vitest'
import { ServiceError } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { insertActivity } from '../../src/cores/activity/insert-activity.ts'
import { recordingActivity } from '../../src/cores/activity/record-activity.ts'
import { reportToolCall } from '../../src/cores/activity/report-tool-call.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
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

test('equal questions have equal digests within an organization, and other ones in another', async () => {
  const requestId = makeId('req', AT.getTime())
  const keys = dataKeys('3'.repeat(64))
  const deps = { db: database.db, clock: () => AT, dataKeys: keys }
  const [here, there] = [makeId('org', AT.getTime()), makeId('org', AT.getTime())]
  for (const orgId of [here, here, there]) {
    const principal = { orgId, userId: 'usr_1', userName: 'Ann', requestId, entryPoint: 'api' }
    await recordingActivity(deps, principal as Principal, 'Who owes us money?', async (trace) => {
      trace.answer = 'Nobody.'
    })
    const seen = { name: 'whoami', outcome: 'answered' as const, duration_ms: 1, scopes: [] }
    const digests = { question_bytes: 2, answer_bytes: 0, question_sha256: 'a'.repeat(64) }
    const actor = { ...principal, kind: 'actor', role: 'viewer', scopes: [] } as unknown as Principal
    await reportToolCall(deps)(actor, { ...seen, ...digests })
    const token = { ...actor, kind: 'api_token' } as Principal
    await expect(reportToolCall(deps)(token, { ...seen, ...digests })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  }
  const rows = await storedOf(requestId)
  expect(rows).toHaveLength(6)
  const of = (orgId: string, column: string) =>
    new Set(rows.filter((one) => one['org_id'] === orgId).flatMap((one) => one[column] ?? []))
  for (const [column, count] of [
    ['question_digest', 2],
    ['answer_digest', 1],
  ] as const) {
    expect([column, of(here, column).size, of(there, column).size]).toEqual([column, count, count])
    expect([...of(here, column)].filter((digest) => of(there, column).has(digest))).toEqual([])
  }
})

test('a mistake of the client is refused, and whatever else goes wrong has failed', async () => {
  const requestId = makeId('req', AT.getTime())
  const deps = { db: database.db, clock: () => AT, dataKeys: dataKeys('3'.repeat(64)) }
  const thrown = [
    new ServiceError('NOT_FOUND'),
    new ServiceError('QUOTA_EXCEEDED'),
    new ServiceError('UNEXPECTED'),
    new ServiceError('SOURCE_FAILED'),
    new TypeError('a mistake of ours'),
  ]
  const orgIds = [1, 2].map(() => makeId('org', AT.getTime()))
  const calls = orgIds.flatMap((orgId) => thrown.map((error) => ({ orgId, error })))
  await Promise.allSettled(
    calls.map(({ orgId, error }) =>
      recordingActivity(
        deps,
        { orgId, userId: 'usr_1', userName: 'Ann', requestId, entryPoint: 'api' } as Principal,
        'Who owes us money?',
        () => Promise.reject(error),
      ),
    ),
  )
  const rows = await storedOf(requestId)
  for (const orgId of orgIds) {
    const own = rows.filter((one) => one['org_id'] === orgId)
    expect(own.map(({ error, outcome }) => [error, outcome].join(' ')).toSorted()).toEqual([
      'NOT_FOUND refused',
      'QUOTA_EXCEEDED refused',
      'SOURCE_FAILED failed',
      'UNEXPECTED failed',
      'UNEXPECTED failed',
    ])
  }
})

test('what a grant used in one moment is counted for each data source', async () => {
  const [orgId, grantId] = [makeId('org', AT.getTime()), makeId('grt', AT.getTime())]
  const use = (sourceId: string) => [{ scope: 'data:read' as const, sourceId }]
  const requestId = makeId('req', AT.getTime())
  await Promise.all(
    ['src_a', 'src_b', 'src_a'].map((source) =>
      insertActivity(database.db, row(requestId, { orgId, grantId }) as never, use(source)),
    ),
  )
  const used = await database.sql.query(
    'select source_id, calls from grant_uses where org_id = $1 and grant_id = $2 order by source_id',
    [orgId, grantId],
  )
  expect(used).toEqual([
    { source_id: 'src_a', calls: 2 },
    { source_id: 'src_b', calls: 1 },
  ])
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
