import { test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { copySnapshot } from '../support/database.ts'
import { notificationHouse } from '../support/notification-house.ts'
import { startNotifications } from '../../src/worker/notifications.ts'
import { mkdtempSync } from 'node:fs'
test('x', async () => {
  const folder = mkdtempSync('/tmp/pgl-') + '/d'
  await copySnapshot(folder)
  const c = await connect({ folder })
  const house = await notificationHouse(c)
  const org = await house.organization()
  for (let n = 0; n < 40; n++) {
    const { integrationId } = await house.connection(org, 'webhook')
    await house.subscription(org, integrationId, 'deploy.*')
  }
  for (let n = 0; n < 60; n++) await house.record(org, { type: 'deploy.failed' })
  const t0 = Date.now()
  const n = startNotifications(house.needs)
  for (let i = 0; i < 20; i++) {
    await new Promise((r) => setTimeout(r, 1000))
    const [r] = await c.sql.query<any>(`select (select count(*) from events where fanned_out_at is not null) f, (select count(*) from sends where state='sent') s, (select count(*) from sends where state='pending') p`)
    console.log(Date.now() - t0, house.noted.length, JSON.stringify(r), house.warnings.length, house.warnings[0]?.event, String(house.warnings[0]?.fields?.error))
  }
  await n.stop()
  await c.close()
})
