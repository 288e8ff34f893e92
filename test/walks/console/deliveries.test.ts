/** The delivery workbench: the list with its filters, charts and export, one delivery, and what is sent again. */
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { attempts, deliveries, deliveryCounts, messages } from '../../../db/schema.ts'
import { eq, sql } from '../../../db/drizzle.ts'
import { outbound } from '../../../src/adapters/outbound/guarded-post.ts'
import { sendWebhook } from '../../../src/adapters/outbound/send-webhook.ts'
import {
  ADVICE,
  listDeliveries,
  listRecoveries,
  showDelivery,
  type NotReachedReason,
} from '../../../src/contracts/deliveries.ts'
import {
  connectWebhook,
  removeIntegration,
  testIntegration,
  updateIntegration,
} from '../../../src/contracts/integrations.ts'
import { COUNT_MAX, PAGE_DEFAULT } from '../../../src/contracts/limits.ts'
import { createSubscription } from '../../../src/contracts/subscriptions.ts'
import { localDirectory } from '../../../src/cores/directory/index.ts'
import type { ChannelPorts, Outcome } from '../../../src/cores/notifications/index.ts'
import { certificateAuthority } from '../../support/certificate-authority.ts'
import { makeShop, openConsole } from '../../support/console.ts'
import { insertDelivery, type DeliveryRow } from '../../support/deliveries.ts'
import { drainNotifications } from '../../support/drain.ts'
import { fakeChecks } from '../../support/fake-integrations.ts'
import { makeMember, unique } from '../../support/make.ts'
import { realClock } from '../../support/process.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let system: TestSystem
const KEPT_DAYS = 20
beforeAll(
  async () => void (system = await startSystem({ DELIVERY_DAYS: String(KEPT_DAYS) }, { checks: fakeChecks })),
)
afterAll(() => system.stop())

const PATH = '/console/deliveries'
const FAILED = { outcome: 'failed', reason: 'server_error', httpStatus: 503, durationMs: 660 } as const

async function scene() {
  const shop = await makeShop(system)
  const { org, call } = shop
  const connect = async (name: string) =>
    (await call(connectWebhook, { name, url: `https://hooks.test/${unique('secret')}` })).id
  const add = (row: DeliveryRow, tries?: Parameters<typeof insertDelivery>[3]) =>
    insertDelivery(system, org, row, tries)
  /** As they are left when nobody was to be told. */
  const nobody = { channel: null, messageId: null, state: 'dropped', reason: 'matched_nobody' } as const
  return { ...shop, connect, add, nobody }
}

/** Everything that is due leaves, and is answered so. */
function drain(answer: Outcome, webhook?: ChannelPorts['webhook']) {
  const reply = async () => answer
  const channels: ChannelPorts = {
    webhook: webhook ?? reply,
    chat: reply,
    direct_message: reply,
    email: reply,
    forum: reply,
  }
  return drainNotifications({
    db: system.db,
    clock: () => system.clock.now(),
    channels,
    directory: localDirectory(() => system.clock.now()),
    dataKeys: system.system.gateway!.dataKeys,
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://site.example.test'),
    log: { warn: () => {} },
  })
}

/** The page that answers waits for an attempt. */
async function whileSent<Result>(work: Promise<Result>): Promise<Result> {
  const progress = { isDone: false }
  const done = work.finally(() => (progress.isDone = true))
  while (!progress.isDone) {
    await drain({ kind: 'sent', httpStatus: 200 })
    await new Promise((resolve) => setImmediate(resolve))
  }
  return done
}

describe('the list of deliveries', () => {
  test('empty, it says how to see something; it is for owners and admins', async () => {
    const { owner, org } = await scene()
    const page = await owner.open(PATH)
    expect(page.text).toContain('No deliveries yet')
    expect(page.html).not.toContain('role="img"')
    const developer = await openConsole(system, await makeMember(system, org, 'developer'))
    for (const path of [PATH, `${PATH}.csv`, '/console/integrations', '/console/subscriptions']) {
      expect((await developer.open(path)).status).toBe(403)
    }
    expect((await developer.open('/console')).html).not.toContain('href="/console/integrations"')
  })

  test.each([
    ['are kept', KEPT_DAYS - 1, '10,000+'],
    ['are not kept any more', KEPT_DAYS, String(PAGE_DEFAULT + 1)],
  ])('tells how many there are, where those of the chart %s', async (_, days, total) => {
    const { owner, org, add } = await scene()
    await add({})
    await system.db.execute(sql`
      insert into deliveries select (jsonb_populate_record(d, jsonb_build_object('id', d.id || n))).*
      from deliveries d, generate_series(1, ${sql.raw(String(PAGE_DEFAULT))}) n where org_id = ${org.id}`)
    const hour = new Date(system.clock.now().getTime() - days * 24 * 60 * 60 * 1000)
    hour.setUTCMinutes(0, 0, 0)
    const counted = { orgId: org.id, hour, integrationId: '', state: 'sent', reason: '' } as const
    await system.db.insert(deliveryCounts).values({ ...counted, n: COUNT_MAX })
    expect((await owner.open(PATH)).text).toContain(`1–${PAGE_DEFAULT} of ${total}`)
  })

  test('an attempt whose time has come is due now, and not some time ago', async () => {
    const { owner, connect, add } = await scene()
    const integrationId = await connect('Desk')
    const waits = { integrationId, state: 'retrying', reason: 'server_error', settledAt: null } as const
    const { id } = await add(waits, [FAILED])
    expect((await owner.open(PATH)).rows[0]!.join(' | ')).toContain('Retrying Due now')
    expect((await owner.open(`${PATH}/${id}`)).text).toContain('Next attempt now')
    expect((await owner.open(`${PATH}?integration=${integrationId}`)).text).toContain('Next attempt now')
  })

  test('has a row for everything, also for what nobody was told of, and filters by the form', async () => {
    const { owner, connect, add, nobody, call } = await scene()
    const [desk, pager] = [await connect('Desk'), await connect('Pager')]
    await add({ integrationId: desk, type: 'pipeline.run.failed' })
    await add(nobody, [])
    const unknown = { state: 'failed', reason: 'outcome_unknown' } as const
    await add({ integrationId: pager, ...unknown }, [
      { outcome: 'failed', reason: 'outcome_unknown', httpStatus: null },
    ])
    await add({ integrationId: pager, state: 'failed', reason: 'gave_up' }, [FAILED])
    const page = await owner.open(PATH)
    const shown = page.rows.slice(0, 4).map((cells) => cells.join(' | '))
    expect(shown[0]).toMatch(/deploy\.failed.*Pager.*Failed.*HTTP 503/)
    expect(shown[1]).toMatch(/Pager.*Unconfirmed.*No response/)
    expect(shown[2]).toMatch(/No recipient.*Not sent/)
    expect(shown[3]).toMatch(/pipeline\.run\.failed.*Desk.*Sent.*HTTP 200.*40 ms/)
    const filtered = async (filling: Record<string, string>) => {
      const found = await page.form('Filter').with(filling).submit()
      expect(found.form('Filter').values()).toMatchObject(filling)
      return found.rows.map((cells) => cells.join(' | '))
    }
    expect(await filtered({ type: 'pipeline.*' })).toEqual([shown[3]])
    expect(await filtered({ state: 'dropped' })).toEqual([shown[2]])
    expect(await filtered({ state: 'missed' })).toEqual(shown.slice(0, 2))
    expect(await filtered({ reason: 'gave_up' })).toEqual([shown[0]])
    expect(await filtered({ integration: desk })).toContain(shown[3])
    expect(await filtered({ channel: 'chat' })).toEqual([])
    expect(await filtered({ from: '2026-03-01', to: '2026-03-01' })).toEqual([])
    const [event] = (await call(listDeliveries, {})).deliveries
    expect(await filtered({ event: event!.event_id })).toEqual([shown[0]])
    // Those of an integration that is gone stay to be found.
    await call(removeIntegration, { integration_id: desk })
    const gone = await owner.open(`${PATH}?integration=${desk}`)
    expect(gone.text).toContain('Removed integration')
  })

  test('nonsense in the address is left out, and typed nonsense is said', async () => {
    const { owner, add } = await scene()
    await add({})
    const page = await owner.open(
      `${PATH}?state=x&reason=y&channel=z&integration=q&from=0&type=A%20B&event=evt_1`,
    )
    expect([page.status, page.rows.length]).toEqual([200, 1])
    expect(page.text).toContain('not a valid event type, ignored')
    expect(page.text).toContain('not a valid event ID, ignored')
  })

  test.runIf(inject('everyCase'))(
    'is paged with its filters, and exported with them, one line for each and of one organization',
    async () => {
      const { owner, add } = await scene()
      await (await scene()).add({ type: 'deploy.failed' })
      const { eventId } = await add({ type: 'deploy.failed' })
      const [row] = await system.db.select().from(deliveries).where(eq(deliveries.eventId, eventId))
      const copies = Array.from({ length: 220 }, (_, at) => ({
        ...row!,
        id: `${row!.id.slice(0, -4)}${String(at).padStart(4, '0')}`,
        type: at < 100 ? 'deploy.failed' : 'pipeline.run.failed',
      }))
      await system.db.insert(deliveries).values(copies)
      const page = await owner.open(`${PATH}?type=deploy.failed`)
      expect(page.rows).toHaveLength(50)
      const second = await owner.open(page.link('Next page'))
      expect(second.path).toContain('type=deploy.failed&cursor=')
      const csv = await owner.open(second.link('Export CSV'))
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(csv.headers.get('content-disposition')).toBe('attachment; filename="deliveries-2026-03-02.csv"')
      expect(csv.headers.get('cache-control')).toBe('no-store')
      const lines = csv.html.trim().split('\r\n')
      expect(lines[0]).toContain('"created_at","id","event_id","type"')
      expect(lines).toHaveLength(102)
      expect(new Set(lines).size).toBe(102)
      const all = await owner.open(`${PATH}.csv`)
      expect(all.html.trim().split('\r\n')).toHaveLength(222)
    },
  )

  test('a hostile name arrives as text in the export', async () => {
    const { owner, connect, add } = await scene()
    await add({ integrationId: await connect('=HYPERLINK("http://evil.example","x")') })
    expect((await owner.open(`${PATH}.csv`)).html).toContain(`"'=HYPERLINK(""http://evil.example"",""x"")"`)
  })

  test('counts and draws how delivery does, and one that never worked is not hidden by one that does', async () => {
    const { owner, connect, add } = await scene()
    const [busy, broken] = [await connect('Busy'), await connect('Broken'), await connect('Unused')]
    for (let n = 0; n < 3; n++) await add({ integrationId: busy })
    await drain({ kind: 'sent', httpStatus: 200 })
    await add({ integrationId: broken, state: 'retrying', reason: 'server_error', settledAt: null }, [FAILED])
    const day = 86_400_000
    await add(
      {
        integrationId: broken,
        state: 'failed',
        reason: 'gave_up',
        createdAt: new Date(system.clock.now().getTime() - 1.1 * day),
      },
      [FAILED],
    )
    const page = await owner.open(PATH)
    expect(page.text).toContain('Arrived in 24 hours 3 of 4 75%')
    expect(page.text).toMatch(/Not arrived in 24 hours 1 .*1 retrying/)
    expect(page.labels.join()).toMatch(
      /Deliveries per day, 1 Feb to 2 Mar: 3 sent, 1 failed, 0 not sent, 1 pending\./,
    )
    expect(page.row('Never worked')).toMatch(/^Broken.*\| Never worked.*0 arrived 1 not/)
    expect(page.html).not.toContain('style=')
    const missed = page.link('Not arrived in 24 hours')
    expect(missed).toMatch(/^\/console\/deliveries\?state=missed&from=2026-03-01T\d\d:\d\d:\d\d\.\d{3}Z$/)
    const listed = await owner.open(missed)
    expect(listed.rows).toHaveLength(1)
    expect(listed.text).not.toContain('Working integrations')
    const from = listed.form('Filter').value('from')
    expect(from).toMatch(/^2026-03-01T\d\d:\d\d$/)
    expect((await listed.form('Filter').submit()).rows).toHaveLength(1)
  })

  test('live, it is the newest page and nothing else, and a part of it for the script', async () => {
    const { owner, add } = await scene()
    await add({ state: 'failed', reason: 'gave_up' }, [FAILED])
    await add({})
    const live = await owner.open((await owner.open(`${PATH}?state=failed`)).link('Live'))
    expect(live.path).toBe(`${PATH}?state=failed&live=true`)
    expect(live.html).toContain(`data-refresh="${PATH}?`)
    expect(live.text).not.toContain('Working integrations')
    expect(live.link('Stop live')).toBe(`${PATH}?state=failed`)
    const part = await owner.open(`${live.path}&part=list`)
    expect(part.html).toMatch(/^<table/)
    expect(part.rows).toEqual(live.rows)
    expect(part.rows).toHaveLength(1)
  })

  test('what failed in a span of time is replayed, unconfirmed ones only when ticked', async () => {
    const { owner, connect, add } = await scene()
    const integrationId = await connect('Desk')
    await add({ integrationId, state: 'failed', reason: 'gave_up' }, [FAILED])
    await add({ integrationId, state: 'failed', reason: 'outcome_unknown' }, [FAILED])
    const form = (await owner.open(PATH)).form('Replay')
    const early = await form.with({ from: '2026-03-01T00:00', to: '2026-03-01T12:00' }).submit()
    expect(early.notices).toEqual(['No failed deliveries in this period.'])
    const from = '2026-03-02T00:00'
    const endless = await form.with({ from, to: 'tomorrow' }).submit()
    expect(endless.notices).toEqual(['The request is not valid.'])
    expect((await form.with({ from }).submit()).notices).toEqual(['1 delivery queued again.'])
    const both = await form.with({ from, unconfirmed: true, integration: integrationId }).submit()
    expect(both.notices[0]).toMatch(/^\d deliver(y|ies) queued again\.$/)
    expect(form.submit).toThrow('asks for from')
    expect((await form.with({ from: 'yesterday' }).submit()).notices).toEqual([
      'Enter a start date and time in UTC.',
    ])
  })

  test('of one integration it says how it is, tests it, and recovers what it missed', async () => {
    const { owner, connect, add, call } = await scene()
    const id = await connect('Nightly')
    await add({ integrationId: id, state: 'retrying', reason: 'server_error', settledAt: null }, [FAILED])
    const at = `${PATH}?integration=${id}`
    const page = await owner.open(at)
    expect(page.pairs).toMatchObject({ Status: 'Never worked', Kind: 'Webhook', 'Last success': 'Never' })
    expect(page.pairs['Last failure']).toContain('HTTP 503')
    const recover = page.form('Recover')
    expect(recover.value('since')).toMatch(/^2026-03-02T/)
    const begun = await recover.with({ since: '2026-03-02T02:24' }).submit()
    expect([begun.path, begun.notices[0]]).toEqual([at, expect.stringContaining('Recovery started.')])
    expect((await call(listRecoveries, { integration_id: id })).recoveries).toMatchObject([
      { since: '2026-03-02T02:24:00.000Z', include_unconfirmed: true },
    ])
    expect(begun.text).toMatch(/2 Mar 2026, 02:24 UTC Running/)
    const again = await begun.form('Recover').with({ since: '2026-03-02T02:24' }).submit()
    expect(again.notices[0]).toContain('is running already')
    const tested = await whileSent((await owner.open(at)).form('Send test').submit())
    expect(tested.path).toMatch(/^\/console\/deliveries\/dlv_\w+\?integration=int_\w+&after=0$/)
    expect(tested.text).toMatch(/It arrived Sent The receiver answered 200/)
    const integration = await owner.open(`/console/integrations/${id}`)
    await call(updateIntegration, { integration_id: id, enabled: false })
    const refused = await integration.form('Send test').submit()
    expect([refused.path, refused.notices]).toEqual([
      `/console/integrations/${id}`,
      ['The integration is not active. Connect it again or turn it on first.'],
    ])
    expect(refused.offers('Send test')).toBe(false)
  })
})

describe('one delivery', () => {
  test('shows what was sent and every attempt, drawn and in words, beside the list it was chosen from', async () => {
    const { owner, connect, add } = await scene()
    const integrationId = await connect('Desk')
    const sent = await add({ integrationId })
    const next = await add({ integrationId, state: 'failed', reason: 'gave_up' }, [FAILED])
    const requestHeaders = { 'X-Svc-Signature': 'v1=…' }
    const one = await add({ integrationId, state: 'failed', reason: 'gave_up' }, [
      FAILED,
      { ...FAILED, httpStatus: null, reason: 'not_reached' },
      { ...FAILED, response: '<script>alert(1)</script> no', requestHeaders },
    ])
    const page = await owner.open(`${PATH}/${one.id}?state=failed`)
    expect(page.labels).toContain(
      '3 attempts. 1: failed with status 503; 2: failed; 3: failed with status 503.',
    )
    expect(page.text).toContain(
      'Why it failed Failed The receiver returned an error. It answered 503 after 660 ms.',
    )
    expect(page.text).toContain('Fix the receiver, then replay this delivery')
    expect(page.text).toContain('Response to attempt #3')
    expect(page.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; no')
    expect(page.html).not.toContain('<script>alert')
    expect(page.text).toMatch(/"id": "ntf_\w{25}"/)
    expect(page.text).toContain('X-Svc-Signature: v1=…')
    const picks = /<nav class="picks".*?<\/nav>/s.exec(page.html)?.[0] ?? ''
    expect(picks).toMatch(new RegExp(`${one.id}\\?state=failed#delivery" aria-current="true"`))
    expect(picks).toContain(`${PATH}/${next.id}?state=failed#delivery`)
    expect(picks).not.toContain(sent.id)
    await system.db
      .update(attempts)
      .set({ carriedBy: next.messageId })
      .where(eq(attempts.messageId, one.messageId))
    expect((await owner.open(`${PATH}/${one.id}`)).text).toContain(
      `was sent together with others, in the POST of ${next.messageId}`,
    )
    expect((await owner.open(`${PATH}/dlv_${'0'.repeat(25)}`)).status).toBe(404)
    expect((await owner.open(`${PATH}/..%2Fadmin`)).status).toBe(404)
    const { owner: other } = await scene()
    expect((await other.open(`${PATH}/${one.id}`)).status).toBe(404)
  })

  test('replaying says what may arrive twice, and shows the new delivery', async () => {
    const { owner, connect, add, nobody, call } = await scene()
    const integrationId = await connect('Desk')
    const sent = await add({ integrationId })
    expect((await owner.open(`${PATH}/${sent.id}`)).text).toContain('so it will arrive twice')
    const unconfirmed = await add({ integrationId, state: 'failed', reason: 'outcome_unknown' }, [
      { ...FAILED, reason: 'outcome_unknown', httpStatus: null },
    ])
    const page = await owner.open(`${PATH}/${unconfirmed.id}`)
    expect(page.text).toContain('It may have arrived')
    const replay = page.form('Replay')
    expect(replay.words).toContain('It may already have arrived, so it may arrive twice.')
    const again = await whileSent(replay.submit())
    expect(again.notices).toEqual(['Replayed. This page shows the new delivery.'])
    expect(again.path).not.toContain(unconfirmed.id)
    expect(again.text).toContain(`Replay of ${unconfirmed.id}`)
    const none = await owner.open(`${PATH}/${(await add(nobody, [])).id}`)
    expect(none.offers('Replay')).toBe(false)
    await call(removeIntegration, { integration_id: integrationId })
    const refused = await replay.submit()
    expect(refused.notices[0]).toContain('The integration was removed.')
  })

  test('one in progress is retried at once; what waits for a digest and what is settled is not', async () => {
    const { owner, connect, add, call } = await scene()
    const integrationId = await connect('Desk')
    const open = { integrationId, state: 'retrying', reason: 'server_error', settledAt: null } as const
    const one = await add(open, [FAILED])
    const later = new Date(system.clock.now().getTime() + 3_600_000)
    await system.db.update(messages).set({ nextAt: later }).where(eq(messages.id, one.messageId))
    const page = await owner.open(`${PATH}/${one.id}?state=retrying`)
    expect(page.offers('Replay')).toBe(false)
    const retried = await whileSent(page.form('Retry now').submit())
    // The page waits for the attempt after the one that is known, and the list beside it stays as it was.
    expect(retried.path).toBe(`${PATH}/${one.id}?state=retrying&after=1`)
    const hourly = { integration_id: integrationId, pattern: 'deploy.failed', timing: 'hourly' } as const
    const { id: subscriptionId } = await call(createSubscription, hourly)
    const waiting = { integrationId, subscriptionId, state: 'waiting', settledAt: null } as const
    const digest = await owner.open(`${PATH}/${(await add(waiting, [])).id}`)
    expect(digest.offers('Retry now')).toBe(false)
    const sent = await add({ integrationId })
    expect((await owner.open(`${PATH}/${sent.id}`)).offers('Retry now')).toBe(false)
    const settled = await add(open, [FAILED])
    const form = (await owner.open(`${PATH}/${settled.id}`)).form('Retry now')
    await system.db.update(deliveries).set({ state: 'sent' }).where(eq(deliveries.id, settled.id))
    expect((await form.submit()).notices[0]).toContain('This delivery is not in progress')
  })
})

describe('a receiver with whom no encrypted connection comes about is told by its certificate', () => {
  const daysFromNow = (days: number) => new Date(realClock().getTime() + days * 86_400_000)
  const valid = { from: daysFromNow(-2), until: daysFromNow(2) }
  const expired = { from: daysFromNow(-2), until: daysFromNow(-1) }
  const trusted = certificateAuthority('Trusted authority', valid)
  const unknown = certificateAuthority('Unknown authority', valid)
  const out = outbound({ resolve: async () => ['127.0.0.1'], allowNets: ['127.0.0.1'], ca: trusted.cert })
  const servers: Server[] = []
  let requests = 0
  const secure = (certificate: { key: string; cert: string }, options = {}) =>
    createHttpsServer({ ...certificate, ...options }, (_, response) => {
      requests++
      response.end()
    })
  const speaksMail = () => createServer((socket) => void socket.on('error', () => {}).end('220 mail\r\n'))
  const NAME = 'receiver.test'
  afterAll(() => {
    for (const server of servers) server.close()
    out.close()
  })

  async function sendTo(server: Server) {
    servers.push(server.listen(0, '127.0.0.1'))
    await once(server, 'listening')
    const { owner, call } = await scene()
    const url = `https://${NAME}:${(server.address() as AddressInfo).port}/hook`
    const { id } = await call(connectWebhook, { name: 'Receiver', url })
    const { delivery_id } = await call(testIntegration, { integration_id: id })
    await drain({ kind: 'unknown' }, sendWebhook(out.post, 'svc/test'))
    const { text } = await owner.open(`${PATH}/${delivery_id}`)
    return { shown: await call(showDelivery, { delivery_id }), text }
  }

  test('one with a certificate of a trusted authority, in its time and for its name, gets it', async () => {
    const { shown } = await sendTo(secure(trusted.issue(NAME, valid)))
    expect([shown.state, requests]).toEqual(['sent', 1])
  })

  test.each<[NotReachedReason, string, () => Server]>([
    [
      'certificate_expired',
      'The receiver’s certificate has expired. Next attempt',
      () => secure(trusted.issue(NAME, expired)),
    ],
    [
      'certificate_name',
      'The receiver’s certificate is for another host name. Next attempt',
      () => secure(trusted.issue('other.test', valid)),
    ],
    [
      'certificate_untrusted',
      'The receiver’s certificate is not from a trusted authority. Next attempt',
      () => secure(unknown.issue(NAME, valid)),
    ],
    [
      'tls_failed',
      'No encrypted connection could be made to the receiver. Next attempt',
      () => secure(trusted.issue(NAME, valid), { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }),
    ],
    ['tls_failed', 'No encrypted connection could be made to the receiver. Next attempt', speaksMail],
  ])('%s: %s', async (reason, sentence, makeServer) => {
    const before = requests
    const { shown, text } = await sendTo(makeServer())
    expect(shown).toMatchObject({ state: 'retrying', reason, attempts_made: [{ reason, http_status: null }] })
    expect(text).toContain(sentence)
    expect(text).toContain(ADVICE[reason])
    // Nothing of the message left.
    expect(requests).toBe(before)
  })
})
