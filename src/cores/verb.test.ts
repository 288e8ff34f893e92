/** What a verb may leave in the audit trail and in the outbox: what it declares, whoever in its transaction writes it. */
import { expect, test } from 'vitest'
import type { Database, Transaction } from '../../db/connect.ts'
import { PgTransaction } from '../../db/drizzle.ts'
import { auditLog, outbox } from '../../db/schema.ts'
import type { AuditAction } from '../contracts/audit.ts'
import { APP_EVENTS, TEST_EVENT } from '../contracts/events.ts'
import type { Principal } from '../contracts/operation.ts'
import { warnOfUndeclared } from './declared-rows.ts'
import { recordAppEvent, recordEvent, recordTestEvent } from './outbox.ts'
import { recordAudit } from './record-audit.ts'
import { withTransaction } from './transaction.ts'
import { write, writeInSteps } from './verb.ts'

const NOW = new Date('2026-03-02T10:00:00Z')
const clock = () => NOW
const PRINCIPAL = {
  kind: 'user',
  userId: 'usr_1',
  userName: 'Ada',
  orgId: 'org_1',
  role: 'owner',
  requestId: 'req_1',
} as Principal

type Row = {
  readonly orgId: string
  readonly action?: string
  readonly type?: string
  readonly at?: Date
  readonly actorName?: string
}

/** A database that keeps the rows of what was committed. */
function handle() {
  const kept: Row[] = []
  const transaction = async (work: (tx: object) => Promise<unknown>) => {
    const rows: Row[] = []
    const insert = (table: unknown) => ({
      values: async (given: Row | readonly Row[]) => {
        if (table === auditLog || table === outbox) rows.push(...[given].flat())
      },
    })
    const result = await work(
      Object.assign(Object.create(PgTransaction.prototype) as object, { insert, execute: async () => [] }),
    )
    kept.push(...rows)
    return result
  }
  const names = () => kept.map(({ action, type }) => action ?? type)
  return { db: { transaction } as unknown as Database, kept, names }
}

const entry = (action: AuditAction) => ({ orgId: 'org_1', action })
const FAILED = {
  orgId: 'org_1',
  type: 'deploy.failed' as const,
  subject: 'deployments/dep_1',
  source: 'deployments',
  dedupKey: 'dep_1',
  actorId: null,
  data: { deployment_id: 'dep_1', code: 'BUILD_FAILED' },
}
const auditing = (action: AuditAction) => (tx: Transaction) =>
  recordAudit(tx, clock, PRINCIPAL, entry(action))
const inApp = {
  app: { orgId: 'org_1', id: 'app_1' },
  type: 'app.shop.order_failed',
  subject: 'apps/shop/order',
  dedupKey: 'order',
  link: 'https://svc.test/console',
  text: null,
}

const WRITTEN: readonly (readonly [string, string, (tx: Transaction) => Promise<unknown>])[] = [
  ['a row of the audit trail', 'group.removed', auditing('group.removed')],
  ['an event', 'deploy.failed', (tx) => recordEvent(tx, clock, FAILED)],
  [
    'a test event',
    TEST_EVENT,
    (tx) => recordTestEvent(tx, clock, { orgId: 'org_1', subscriptionId: 'sub_1', actorId: null }),
  ],
  ['an event of an app', APP_EVENTS, (tx) => recordAppEvent(tx, clock, inApp)],
]

/** `createGroup` stands for any operation. */
const writing = (declared: object, work: (tx: Transaction) => Promise<unknown>) =>
  write<'createGroup', unknown, object>(declared, async (context) => {
    const { tx, audit } = context as unknown as {
      tx: Transaction
      audit: (action: AuditAction) => Promise<void>
    }
    await audit('group.created')
    await work(tx)
    return {} as never
  })
const input = { name: 'Night shift' }

test.each(WRITTEN)(
  '%s that the verb does not declare is refused, and nothing of it stays',
  async (...row) => {
    const [, name, work] = row
    const { db, names } = handle()
    const verb = writing({ audit: 'group.created', events: 'org.member.removed' }, work)
    await expect(verb({ db, clock })(PRINCIPAL, input)).rejects.toThrow(`A verb writes ${name}`)
    expect(names()).toEqual([])
  },
)

test.each(WRITTEN)('%s that the verb declares is written', async (...row) => {
  const [, name, work] = row
  const { db, names } = handle()
  const verb = writing({ audit: ['group.created', 'group.removed'], events: [name] }, work)
  await verb({ db, clock })(PRINCIPAL, input)
  expect(names()).toHaveLength(2)
})

test('each transaction of a verb in steps is held to what it declares', async () => {
  const { db, names } = handle()
  const verb = writeInSteps<'createGroup', unknown, { readonly audit: 'group.created' }>(
    { audit: 'group.created' },
    async ({ transaction }) => {
      await transaction(({ audit }) => audit('group.created'))
      await transaction(({ tx }) => auditing('group.renamed')(tx))
      return {} as never
    },
  )
  await expect(verb({ db, clock })(PRINCIPAL, input)).rejects.toThrow('A verb writes group.renamed')
  expect(names()).toEqual(['group.created'])
})

test('with a warning instead, the row is written and whoever runs it is told', async () => {
  const { db, names } = handle()
  const warnings: string[] = []
  warnOfUndeclared(db, ({ message }) => warnings.push(message))
  await writing({ audit: 'group.created' }, auditing('group.removed'))({ db, clock })(PRINCIPAL, input)
  expect(names()).toEqual(['group.created', 'group.removed'])
  expect(warnings).toEqual(['A verb writes group.removed, and declares as its audit: group.created'])
})

test('a transaction that no verb has opened may leave anything, also through a verb in it', async () => {
  const { db, names } = handle()
  await withTransaction(db, async (tx) => {
    await writing({ audit: 'group.created' }, auditing('group.removed'))({ db: tx, clock })(PRINCIPAL, input)
    await auditing('group.renamed')(tx)
  })
  expect(names()).toEqual(['group.created', 'group.removed', 'group.renamed'])
})
