/** What is answered when the standby has it: only then, and only where it was the server that had committed it. */
import { expect, test } from 'vitest'
import { confirmLater } from '../../db/commit-locally.ts'
import { setConfirmation, type Database } from '../../db/connect.ts'
import { runCall } from '../../db/current-call.ts'
import { OutcomeUnknown } from '../../db/database-away.ts'
import { addEndingKeeper, recordEnding } from './record-ending.ts'
import { withTransaction } from './transaction.ts'

/** A database whose transactions commit on this server. */
function handle(server: string, confirm: () => Promise<string>): Database {
  const execute = async () => [{ server }]
  const transaction = (work: (tx: object) => Promise<unknown>) => work({ execute })
  const db = { transaction } as unknown as Database
  setConfirmation(db, confirm)
  return db
}

test('a transaction that is confirmed later is not answered before', async () => {
  const [asked, confirmed] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
  const db = handle('here', () => {
    asked.resolve()
    return confirmed.promise
  })
  let isAnswered = false
  const answered = withTransaction(db, async (tx) => {
    await confirmLater(tx)
    return 'done'
  }).finally(() => (isAnswered = true))
  await Promise.race([asked.promise, answered])
  expect(isAnswered).toBe(false)
  confirmed.resolve('here')
  expect(await answered).toBe('done')
})

test('nothing is asked for where nothing is confirmed later, or the call may lose it', async () => {
  const db = handle('here', () => Promise.reject(new Error('asked')))
  expect(await withTransaction(db, async () => 'done')).toBe('done')
  const local = runCall((call) => {
    call.durability = 'local'
    return withTransaction(db, (tx) => confirmLater(tx))
  })
  await expect(local).resolves.toBeUndefined()
})

const gone = () => Promise.reject(new OutcomeUnknown(new Error('closed')))

const UNCONFIRMED: readonly (readonly [string, () => Promise<string>, boolean])[] = [
  ['a confirmation that fails', () => Promise.reject(new Error('late')), true],
  ['a confirmation whose connection is lost, with its server perhaps,', gone, false],
  ['a confirmation by another server', () => Promise.resolve('elsewhere'), false],
]
test.each(UNCONFIRMED)('%s leaves an unknown outcome', async (_, confirm, isThere) => {
  const db = handle('here', confirm)
  await expect(withTransaction(db, (tx) => confirmLater(tx))).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
  })
  const told: unknown[] = []
  addEndingKeeper(db, { unknown: (endings, isCommitted) => told.push([endings, isCommitted]) })
  const ended = { id: 'tok_1', orgId: 'org_1' }
  const ending = withTransaction(db, async (tx) => recordEnding(tx, 'api_token', [ended]))
  await expect(ending).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  expect(told).toEqual([[[{ kind: 'api_token', ...ended }], isThere]])
})
