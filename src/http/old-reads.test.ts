import { expect, test } from 'vitest'
import type { Database } from '../../db/connect.ts'
import { listAudit } from '../contracts/audit.ts'
import { listGrants, revokeGrant } from '../contracts/grants.ts'
import type { Operation, Principal } from '../contracts/operation.ts'
import { oldReads, reading } from './old-reads.ts'

const STANDBY = {} as Database
const as = (userId: string) => ({ userId }) as Principal

/** Says where it read. */
const verb = (deps: { old?: Database }) => async () => {
  if (deps.old !== undefined && failing.has(deps.old)) throw new Error('away')
  return { from: deps.old ? 'standby' : 'database' }
}
const failing = new Set<Database>()

function system(current: Parameters<typeof oldReads>[0]['current']) {
  const old = oldReads({ current })
  const run = (op: Operation, userId: string, input: object = {}) =>
    reading(op, verb, {}, old)(as(userId), input as never)
  return run
}

test('what may be old is read from the standby, and says how old; nothing else is', async () => {
  const run = system(() => ({ db: STANDBY, ageSeconds: 3 }))
  expect(await run(listAudit, 'ann')).toEqual({ from: 'standby', age_seconds: 3 })
  expect(await run(listGrants, 'ann')).toEqual({ from: 'database' })
})

test('one that is left out, or fails, is not missed', async () => {
  expect(await system(() => undefined)(listAudit, 'ann')).toEqual({ from: 'database' })
  const db = {} as Database
  failing.add(db)
  expect(await system(() => ({ db, ageSeconds: 1 }))(listAudit, 'ann')).toEqual({ from: 'database' })
})

test('whoever has changed something finds it, and whoever follows is told at once', async () => {
  const run = system(() => ({ db: STANDBY, ageSeconds: 1 }))
  await run(revokeGrant, 'ann')
  expect(await run(listAudit, 'ann')).toEqual({ from: 'database' })
  expect(await run(listAudit, 'bob')).toMatchObject({ from: 'standby' })
  expect(await run(listAudit, 'bob', { after: 'lgl_1' })).toEqual({ from: 'database' })
})
