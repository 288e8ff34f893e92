import { expect, test } from 'vitest'
import type { Database } from '../../db/connect.ts'
import { listAudit } from '../contracts/audit.ts'
import { listGrants, revokeGrant } from '../contracts/grants.ts'
import { ServiceError } from '../contracts/errors.ts'
import { OLD_READ_SECONDS } from '../contracts/limits.ts'
import type { Operation, Principal } from '../contracts/operation.ts'
import { downloadRevision } from '../contracts/revisions.ts'
import { oldReads, reading } from './old-reads.ts'

const STANDBY = {} as Database
const as = (userId: string) => ({ userId }) as Principal

/** Says where it read. */
const verb = (deps: { old?: Database }) => async () => {
  if (deps.old !== undefined && failing.has(deps.old)) throw new Error('away')
  return { from: deps.old ? 'standby' : 'database' }
}
const failing = new Set<Database>()

/** `marked`: what the database knows, which all processes ask. */
function system(current: Parameters<typeof oldReads>[0]['current'], marked = new Map<string, number>()) {
  const old = oldReads(
    { current },
    {
      set: async (owner, seconds) => void marked.set(owner, seconds),
      has: async (owner) => marked.has(owner),
    },
  )
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

test('also through another process; marked once for many changes, and for longer than it takes until the next', async () => {
  const marked = new Map<string, number>()
  const [here, elsewhere] = [
    system(() => ({ db: STANDBY, ageSeconds: 1 }), marked),
    system(() => ({ db: STANDBY, ageSeconds: 1 }), marked),
  ]
  await here(revokeGrant, 'ann')
  expect([...marked]).toEqual([['ann', OLD_READ_SECONDS + 10]])
  expect(await elsewhere(listAudit, 'ann')).toEqual({ from: 'database' })
  expect(await elsewhere(listAudit, 'bob')).toMatchObject({ from: 'standby' })
  marked.clear()
  await here(revokeGrant, 'ann')
  expect([...marked]).toEqual([])
})

test('what the standby does not know yet is asked of the database; what is refused, is refused', async () => {
  const replica = { db: STANDBY, ageSeconds: 1 }
  const run = (code: 'NOT_FOUND' | 'FORBIDDEN') => {
    const unknown = (deps: { old?: Database }) => async () => {
      if (deps.old) throw new ServiceError(code)
      return { from: 'database' }
    }
    const old = oldReads({ current: () => replica }, { set: async () => {}, has: async () => false })
    return reading(downloadRevision, unknown, {}, old)(as('ann'), {} as never)
  }
  expect(await run('NOT_FOUND')).toEqual({ from: 'database' })
  await expect(run('FORBIDDEN')).rejects.toMatchObject({ code: 'FORBIDDEN' })
})
