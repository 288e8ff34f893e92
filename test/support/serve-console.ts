/** A system with an organization that has one of everything, at an address that a browser can open. */
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { listen } from '../../src/boot/listener.ts'
import { switchOrganization, updateOrganization } from '../../src/contracts/organizations.ts'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { addNotifications } from '../../src/cores/notifications/inbox/add-notifications.ts'
import { configurationOf, entry, makeSource, placeForDatabases, toyModels } from './data-sources.ts'
import { insertDelivery } from './deliveries.ts'
import { openDocumentHost } from './document-host.ts'
import { fakeChatApp, fakeChecks } from './fake-integrations.ts'
import { freePort } from './free-port.ts'
import { furnishOrganization } from './furnish-organization.ts'
import { AGENT_RUNNER_SECRET, MODELS_SETTING } from './maintained-app.ts'
import { makeOrganization, makePerson, signedIn, unique, type Person } from './make.ts'
import { startSystem } from './system.ts'

/** Two pages that fit every question, one of them with more text than is shown at once. */
const HANDBOOK = `
  create extension if not exists vector;
  create table pages (id int primary key, title text, team text, draft bool, body text, embedding vector(3));
  insert into pages values
    (42, 'How we plan holidays', 'People', false, repeat('Enter the days. ', 45), '[1,0,0]'),
    (17, 'Days off', 'People', false, 'They are counted in half days.', '[0.9,0.1,0]')`

export type ServedConsole = Awaited<ReturnType<typeof serveConsole>>

export async function serveConsole() {
  const [port, host] = [await freePort(), await openDocumentHost()]
  const place = await placeForDatabases('embedded')
  const models = toyModels()
  const settings = { AGENT_RUNNER_SECRET, MAINTENANCE_MODELS: MODELS_SETTING }
  const system = await startSystem(
    { PORT: String(port), ...place.settings, ...settings },
    // The time of the browser, which says how long ago something was.
    {
      models,
      checks: fakeChecks,
      chatApp: fakeChatApp,
      guardedFetch: host.guardedFetch,
      clockOf: realTime(),
    },
  )
  const listening = await listen(system.system)
  const base = `http://localhost:${port}`
  const person = (name: string) => makePerson(system, { name, email: `${unique('x')}@northwind.test` })
  const owner = await person('Ada Lovelace')
  const other = await makeOrganization(system, owner)
  const org = await makeOrganization(system, owner)
  const renamed = (org_id: string, name: string) => owner.call(updateOrganization, { org_id, name })
  await renamed(other.id, 'Fabrikam')
  await renamed(org.id, 'Northwind Traders')
  await owner.call(switchOrganization, { org_id: org.id })
  const people = {
    owner,
    colleague: await person('Grace Hopper'),
    member: await person('Edsger Dijkstra'),
    staff: await person('Sam Support'),
  }
  const things = await furnishOrganization(system, org, people, {
    client: 'desk-assistant',
    issuer: 'https://idp.test',
    blocked: 'https://nosy.example/client.json',
    address: 'alan@northwind.test',
    hook: 'https://hooks.test/operations-desk',
    alias: 'shop',
    source: 'warehouse',
  })
  const configuration = configurationOf(
    [entry('pages', { label: 'Pages', content_columns: 'id,title,team,body' })],
    { team: 'string', draft: 'boolean' },
  )
  await makeSource(org, { name: 'handbook', sql: HANDBOOK, configuration })
  await things.byOwner(queryDataSource, { source_id: 'db_handbook', query: 'Days off' })
  await things.byOwner(connectWebhook, { name: 'Archive', url: 'https://hooks.test/archive-1234' })
  const integrationId = things.integration_id
  const failed = [{ outcome: 'failed', reason: 'server_error', httpStatus: 503 }] as const
  const deliveries = [
    await insertDelivery(system, org, { integrationId }),
    await insertDelivery(
      system,
      org,
      { integrationId, state: 'retrying', reason: 'server_error', settledAt: null },
      failed,
    ),
    await insertDelivery(system, org, { integrationId, state: 'dropped', reason: 'integration_off' }, []),
    await insertDelivery(system, org, { integrationId, state: 'failed', reason: 'outcome_unknown' }, [
      { outcome: 'failed', reason: 'outcome_unknown', httpStatus: null },
    ]),
  ]
  const notifyOwner = (summary: string) =>
    withTransaction(system.db, (tx) =>
      addNotifications(tx, () => system.clock.now(), [
        {
          orgId: org.id,
          userId: owner.userId,
          eventId: unique('evt'),
          type: 'deploy.failed',
          subject: 'apps/shop',
          summary,
          url: `${base}/console/apps/shop`,
        },
      ]),
    )
  await notifyOwner('A deployment failed')

  return {
    base,
    system,
    org,
    people,
    things,
    host,
    notifyOwner,
    deliveries: [things.delivery_id, ...deliveries.map(({ id }) => id)],
    /** A window of somebody who has signed in. */
    async contextOf(
      browser: Browser,
      who: Person = owner,
      options: BrowserContextOptions = {},
    ): Promise<BrowserContext> {
      const context = await browser.newContext(options)
      const { token, call } = await signedIn(system, who.email)
      // They have another one, where a session begins.
      if (who === owner) await call(switchOrganization, { org_id: org.id })
      await context.addCookies([
        { name: 'svc_console', value: token, url: base, httpOnly: true, sameSite: 'Lax' },
      ])
      return context
    },
    async stop() {
      await listening.stop()
      await system.stop()
      await models.close()
      await place.remove()
      host.close()
    },
  }
}

const realTime = () => ({ clock: { now: () => new Date(), advance() {} }, mails: [] })
