import { connect } from '../db/connect.ts'
import { migrate, readMigrations } from '../db/migrate.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { notificationHouse } from '../test/support/notification-house.ts'
import { takeIn } from '../src/cores/notifications/index.ts'
import { claimSends } from '../src/cores/notifications/claim-sends.ts'
import { prepareSends } from '../src/cores/notifications/prepare-sends.ts'
import { settleAndStart } from '../src/cores/notifications/attempts.ts'
import { settle } from '../src/cores/notifications/outcomes.ts'
import { file } from './programs.ts'
const pg = await startPostgres()
const c = await connect({ url: pg.url }, { poolSize: 1 })
await migrate(c.sql, await readMigrations(file('../db/migrations')))
const house = await notificationHouse(c)
const org = await house.organization()
for (let n = 0; n < 400; n++) {
  const { integrationId } = await house.connection(org, 'webhook')
  await house.subscription(org, integrationId, 'deploy.*')
}
for (let n = 0; n < 10; n++) await house.record(org, { type: 'deploy.failed' })
while (await takeIn(house.needs));
if (process.argv[2] === 'analyze') await c.sql.query('analyze')

import { sql } from '../db/drizzle.ts'
if (process.argv[3]) {
  const db = { execute: async (q: any) => { const rows = await c.db.transaction(async (tx) => { const r = await tx.execute(sql`explain (analyze, buffers off) ${q}`); return r }); console.log((rows as any).map((r: any) => r['QUERY PLAN']).join('\n'), '\n-----'); return c.db.execute(q) } }
  const claim = await claimSends({ ...house.needs, db: db as never }, { worker: 'w', leaseSeconds: 60, after: '' })
  console.log(claim.claimed.length)
  process.exit(0)
}
const t: Record<string, number[]> = { claim: [], prepare: [], step: [] }
const time = async <T>(name: string, w: () => Promise<T>) => { const s = performance.now(); const r = await w(); t[name]!.push(performance.now() - s); return r }
const claimer = { worker: 'w', leaseSeconds: 60, after: '' }
let settled: any[] = []
const from = performance.now()
let total = 0
for (let i = 0; i < 40; i++) {
  const { claimed } = await time('claim', () => claimSends(house.needs, claimer))
  for (let at = 0; at < claimed.length; at += 16) {
    const keys = claimed.slice(at, at + 16)
    const ready = await time('prepare', () => prepareSends(house.needs, keys))
    const started = await time('step', () => settleAndStart(house.needs, { worker: 'w', leaseSeconds: 120 }, settled, keys))
    total += started.length
    settled = started.map((s) => settle({ ...ready.find((r) => r.id === s.id)!, number: s.number }, { kind: 'sent' }, { now: new Date(), durationMs: 1, luck: 0 }))
  }
}
console.log(total, 'in', performance.now() - from)
for (const [k, v] of Object.entries(t)) console.log(k, v.length, 'n', (v.reduce((a, b) => a + b, 0)).toFixed(0), 'ms total', v.slice(0, 6).map((x) => x.toFixed(1)).join(' '), '..', v.slice(-4).map((x) => x.toFixed(1)).join(' '))
await c.close()
await pg.stop()
