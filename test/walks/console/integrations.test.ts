/** The pages of integrations and subscriptions: connecting each kind, changing it, and what is sent where. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { integrations } from '../../../db/schema.ts'
import { eq } from '../../../db/drizzle.ts'
import { connectWebhook, listIntegrations } from '../../../src/contracts/integrations.ts'
import { createSubscription, listSubscriptions } from '../../../src/contracts/subscriptions.ts'
import { listRecoveries } from '../../../src/contracts/deliveries.ts'
import { makeShop, openConsole } from '../../support/console.ts'
import { fakeChatApp, fakeChecks, stateIn } from '../../support/fake-integrations.ts'
import { makeMember, unique } from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'

let [system, silent]: TestSystem[] = []
beforeAll(async () => {
  const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'svc <notify@acme.test>' }
  system = await startSystem(mail, { checks: fakeChecks, chatApp: fakeChatApp, withMail: true })
  silent = await startSystem({}, { checks: fakeChecks })
})
afterAll(async () => {
  await system?.stop()
  await silent?.stop()
})

const PATH = '/console/integrations'
const SUBSCRIPTIONS = '/console/subscriptions'

async function scene() {
  const shop = await makeShop(system!)
  const { call } = shop
  const url = () => `https://hooks.test/${unique('secret')}`
  const connect = async (name: string) => (await call(connectWebhook, { name, url: url() })).id
  const setState = (id: string, changes: Partial<typeof integrations.$inferInsert>) =>
    system!.db.update(integrations).set(changes).where(eq(integrations.id, id))
  const stored = async (id: string) =>
    (await call(listIntegrations, {})).integrations.find((one) => one.id === id)!
  const subscribed = async () => (await call(listSubscriptions, {})).subscriptions
  return { ...shop, connect, setState, stored, subscribed, url }
}

describe('the integrations', () => {
  test('show what they are, a masked address, and their state in words, and are filtered', async () => {
    const { owner, connect, setState } = await scene()
    expect((await owner.open(PATH)).text).toContain('Add an integration first.')
    const names = ['Desk', 'Gone', 'Lost', 'Dead', 'Off', 'Failing'] as const
    const ids = new Map<string, string>()
    for (const name of names) ids.set(name, await connect(name))
    await setState(ids.get('Gone')!, { state: 'gone' })
    await setState(ids.get('Lost')!, { state: 'lost' })
    await setState(ids.get('Dead')!, { state: 'dead' })
    await setState(ids.get('Off')!, { state: 'off' })
    await setState(ids.get('Failing')!, { failingSince: new Date('2026-03-01T02:24:00Z') })
    const page = await owner.open(PATH)
    expect(page.row('Desk')).toMatch(/^Desk Webhook https:\/\/hooks\.test\/…\w{4} \| Active/)
    expect(page.row('Gone')).toContain('Stopped: receiver returned 410')
    expect(page.row('Lost')).toContain('Stopped: access lost')
    expect(page.row('Dead')).toContain('Stopped: failed for days')
    expect(page.row('Off')).toContain('Off')
    expect(page.row('Failing')).toContain('Never worked since 1 Mar 2026, 02:24 UTC')
    expect(page.link('Desk')).toBe(`${PATH}/${ids.get('Desk')}`)
    const found = await page.form('Filter').with({ search: 'des', kind: 'webhook' }).submit()
    expect(found.rows).toHaveLength(1)
    const none = await page.form('Filter').with({ search: 'des', kind: 'forum' }).submit()
    expect(none.text).toContain('No matching integrations')
  })

  test('say whether mail can be sent, and offer an address only where it can', async () => {
    const { owner } = await scene()
    const page = await owner.open(PATH)
    expect(page.text).toContain('Ready Sent by this service from')
    expect(page.html).toContain(`${PATH}/new/email`)
    const { owner: other } = await makeShop(silent!)
    const without = await other.open(PATH)
    expect(without.text).toContain('No mail server')
    expect(without.html).not.toContain(`${PATH}/new/email`)
  })
})

describe('connecting', () => {
  test('a webhook: a refused address is said at its field; its page says nothing of the address', async () => {
    const { owner, stored } = await scene()
    const form = (await owner.open(`${PATH}/new/webhook`)).form('Connect')
    const typed = { name: 'Bridge', url: 'https://10.0.0.1/x', resend: 'yes' }
    const refused = await form.with(typed).submit()
    expect(refused.status).toBe(400)
    expect(refused.problems['url']).toContain('must be an https address on a public network')
    const kept = refused.form('Connect')
    expect(kept.values()).toEqual({ name: 'Bridge', url: 'https://10.0.0.1/x', resend: 'yes' })
    const made = await kept.with({ url: 'https://hooks.test/in/s3cr3t-path-9876' }).submit()
    expect(made.notices[0]).toContain('Bridge connected')
    expect(made.text).toContain('https://hooks.test/…9876')
    expect(made.html).not.toContain('s3cr3t')
    expect(await stored(made.path.split('/').at(-1)!)).toMatchObject({ resend_on_unknown: true })
  })

  test('an email address is sent a link, again on request, and another address another one', async () => {
    const { owner, stored } = await scene()
    const form = (await owner.open(`${PATH}/new/email`)).form('Send the link')
    const refused = await form.with({ address: 'nobody' }).submitUnchecked()
    expect([refused.status, refused.form('Send the link').value('address')]).toEqual([400, 'nobody'])
    const address = `${unique('ops')}@people.test`
    const before = system!.mails.length
    const made = await form.with({ address }).submit()
    expect(made.text).toContain('Nobody has confirmed this address yet')
    expect(made.text).toContain('Address o…@people.test')
    expect(made.html).not.toContain(address)
    const again = await made.form('Send the link again').submit()
    expect(again.path).toBe(made.path)
    const second = `${unique('second')}@people.test`
    const bad = await again.form('Save', 'New email address').with({ address: 'nobody' }).submitUnchecked()
    expect([bad.status, bad.form('Save', 'New email address').value('address')]).toEqual([400, 'nobody'])
    await bad.form('Save', 'New email address').with({ address: second }).submit()
    expect((await stored(made.path.split('/').at(-1)!)).address).toBe('s…@people.test')
    expect(system!.mails.slice(before).map(({ to }) => to)).toEqual([address, address, second])
  })

  test('a chat channel by its address, or by installing the app where the operator set it up', async () => {
    const { owner } = await scene()
    const page = await owner.open(`${PATH}/new/chat`)
    const pasted = { name: '#ops', url: 'https://hooks.chat.test/T1/B2/zzzz' }
    expect((await page.form('Connect').with(pasted).submit()).notices[0]).toContain('#ops connected')
    // Forms may lead nowhere else, so a link does.
    const out = await page.form('Choose a channel').submit()
    expect(out.status).toBe(200)
    const away = out.link('Continue to chat.test')
    expect(away).toMatch(/^https:\/\/chat\.test\/install\?state=/)
    const callback = `${PATH}/chat/callback?${new URLSearchParams({ code: 'T1/#general', state: stateIn(away) })}`
    const done = await owner.open(callback)
    expect(done.notices[0]).toContain('#general connected')
    expect(done.text.includes('New URL')).toBe(false)
    expect(done.text).toContain('Reconnect')
    const again = await owner.open(callback)
    expect([again.status, again.text]).toEqual([409, expect.stringContaining('has expired. Start again.')])
    expect((await owner.open(`${PATH}/chat/callback?error=access_denied&state=s1`)).text).toContain(
      'Nothing was changed',
    )
    expect((await owner.open(`${PATH}/chat/callback`)).status).toBe(400)
    const { owner: other } = await makeShop(silent!)
    const without = await other.open(`${PATH}/new/chat`)
    expect(without.offers('Choose a channel')).toBe(false)
    expect(without.text).toContain('which the operator of this service has not set up')
  })

  test('a forum, whose key is never written back, and then where to post', async () => {
    const { owner, stored } = await scene()
    const url = 'https://forum.test'
    const form = (await owner.open(`${PATH}/new/forum`)).form('Connect')
    const refused = await form.with({ url, api_key: 'single' }).submit()
    expect(refused.status).toBe(400)
    expect(refused.notices[0]).toContain('The forum cannot be connected with this key')
    expect(refused.problems['api_key']).toContain('single user')
    expect(refused.form('Connect').values()).toEqual({ url, api_key: '' })
    const made = await refused.form('Connect').with({ api_key: 'all' }).submit()
    expect(made.text).toContain('Choose a forum category')
    const category = made.form('Save', 'Category')
    expect((await category.with({ url, category: 'x' }).submitUnchecked()).status).toBe(400)
    await category.with({ url, category: '12' }).submit()
    expect((await stored(made.path.split('/').at(-1)!)).category).toBe(12)
  })
})

describe('one integration', () => {
  test('is renamed, gets a new address, is switched off and on, and removed', async () => {
    const { owner, connect, setState, stored } = await scene()
    const id = await connect('Old pager')
    await setState(id, { state: 'gone' })
    const page = await owner.open(`${PATH}/${id}`)
    expect(page.text).toContain('returned 410 Gone')
    expect(page.offers('Recover')).toBe(false)
    expect((await page.form('Save', 'New URL').with({ name: 'Pager' }).submit()).title).toBe('Pager')
    const refused = await page
      .form('Save', 'New URL')
      .with({ name: 'Pager', url: 'http://10.0.0.1/' })
      .submit()
    expect([refused.status, refused.form('Save', 'New URL').value('url')]).toEqual([400, 'http://10.0.0.1/'])
    const moved = await refused
      .form('Save', 'New URL')
      .with({ url: 'https://pager.test/in/a-long-secret-abcd' })
      .submit()
    expect(await stored(id)).toMatchObject({
      name: 'Pager',
      state: 'active',
      address: 'https://pager.test/…abcd',
    })
    const off = await moved.form('Turn off').submit()
    expect((await stored(id)).state).toBe('off')
    const on = await off.form('Turn on').submit()
    await on.form('Save', 'no response').with({ resend: 'yes' }).submit()
    expect(await stored(id)).toMatchObject({ state: 'active', resend_on_unknown: true })
    const paused = await on.form('Pause').submit()
    expect([paused.notices[0], (await stored(id)).state]).toEqual(['Integration paused.', 'paused'])
    expect(paused.text).toContain('Nothing waits yet. What comes is kept')
    const resumed = await paused.form('Resume').submit()
    expect([resumed.notices[0], (await stored(id)).state]).toEqual(['Integration resumed.', 'active'])
    const removed = await on.form('Remove integration').submit()
    expect([removed.path, removed.notices]).toEqual([PATH, ['Integration removed.']])
    expect((await owner.open(`${PATH}/${id}`)).status).toBe(404)
    expect((await owner.open(`${PATH}/int_nothing`)).status).toBe(404)
  })

  test('a webhook gets a secret of its own, which is shown once, rotated and removed', async () => {
    const { owner, connect, stored } = await scene()
    const id = await connect('Pager')
    const page = await owner.open(`${PATH}/${id}`)
    expect(page.text).toContain('Signatures use a key made from the URL.')
    const made = await page.form('Create secret').submit()
    const secret = /whsec_[\w+/=]+/.exec(made.html)![0]
    expect(made.text).toContain('New signing secret. It is not shown again')
    const shown = await owner.open(`${PATH}/${id}`)
    expect(shown.html).not.toContain(secret)
    expect(shown.text).toContain('signed with a secret of this webhook')
    expect((await stored(id)).own_secret).toBe(true)
    const rotated = await shown.form('Rotate secret').submit()
    expect(/whsec_[\w+/=]+/.exec(rotated.html)![0]).not.toBe(secret)
    const removed = await (await owner.open(`${PATH}/${id}`)).form('Remove secret').submit()
    expect([removed.notices[0], removed.offers('Rotate secret')]).toEqual(['Secret removed.', false])
    expect((await stored(id)).own_secret).toBe(false)
  })

  test('what it missed is recovered since a time, and the page says how far that is', async () => {
    const { owner, connect, call } = await scene()
    const id = await connect('Desk')
    const form = (await owner.open(`${PATH}/${id}`)).form('Recover')
    expect((await form.with({ since: 'yesterday' }).submit()).notices).toEqual([
      expect.stringContaining('Enter a start date and time'),
    ])
    const begun = await form.with({ since: '2026-03-01T22:30', unconfirmed: false }).submit()
    expect(begun.notices[0]).toContain('Recovery started.')
    expect(begun.text).toMatch(/1 Mar 2026, 22:30 UTC Running 0/)
    expect((await call(listRecoveries, { integration_id: id })).recoveries).toMatchObject([
      { since: '2026-03-01T22:30:00.000Z', include_unconfirmed: false, state: 'running' },
    ])
  })
})

describe('subscriptions', () => {
  test('without an integration the page says what comes first', async () => {
    const { owner } = await scene()
    expect((await owner.open(SUBSCRIPTIONS)).text).toContain('No integrations yet')
    expect((await owner.open(`${SUBSCRIPTIONS}/new`)).path).toBe(SUBSCRIPTIONS)
  })

  test('a new one is previewed, refused with the reason, and made', async () => {
    const { owner, connect, subscribed } = await scene()
    const [desk, pager] = [await connect('Desk'), await connect('Pager')]
    const page = await owner.open(`${SUBSCRIPTIONS}/new?pattern=deploy.*`)
    const form = page.form('Subscribe')
    expect(form.value('pattern')).toBe('deploy.*')
    expect(page.html).not.toContain('<datalist')
    const typed = { pattern: 'application.check.*', integration: pager, timing: 'daily' }
    const before = (await subscribed()).length
    const preview = await page.form('Preview').with(typed).submit()
    expect(preview.text).toMatch(/Matches \d event types , 0 events in the last 7 days\./)
    expect(preview.form('Subscribe').values()).toMatchObject(typed)
    expect(await subscribed()).toHaveLength(before)
    const bad = await form.with({ ...typed, pattern: '*.failed' }).submit()
    expect([bad.status, Object.keys(bad.problems)]).toEqual([400, ['pattern']])
    expect(bad.form('Subscribe').values()).toMatchObject({ ...typed, pattern: '*.failed' })
    const made = await form.with(typed).submit()
    expect(made.path).toBe(SUBSCRIPTIONS)
    expect((await subscribed()).at(-1)).toMatchObject({ pattern: typed.pattern, timing: 'daily' })
    const taken = await form.with(typed).submit()
    expect(taken.status).toBe(409)
    expect(taken.notices[0]).toContain('already')
    const unknown = await form.with({ pattern: 'order.refunded', integration: desk }).submit()
    expect(unknown.notices[0]).toContain('No event of this type is defined, so nothing')
  })

  test.runIf(inject('everyCase'))(
    'say what, where, when and since whom; are filtered, and paged with the filter',
    async () => {
      const { owner, connect, call, org } = await scene()
      const [desk, pager] = [await connect('Desk'), await connect('Pager')]
      await call(createSubscription, {
        integration_id: desk,
        pattern: 'application.check.*',
        timing: 'hourly',
      })
      for (let n = 0; n < 51; n++)
        await call(createSubscription, { integration_id: pager, pattern: `more.n${n}` })
      const page = await owner.open(`${SUBSCRIPTIONS}?pattern=check`)
      expect(page.rows.map((cells) => cells.join(' | '))).toEqual([
        expect.stringMatching(
          new RegExp(
            `^application\\.check\\.\\* added by ${org.owner.name} \\| Desk Webhook \\| Hourly \\| On \\| Never`,
          ),
        ),
      ])
      const found = await page.form('Filter').with({ pattern: '', integration: pager }).submit()
      expect(found.rows).toHaveLength(50)
      expect((await owner.open(found.link('Next page'))).rows).toHaveLength(1)
      expect((await page.form('Filter').with({ enabled: 'false' }).submit()).text).toContain(
        'No matching subscriptions',
      )
      expect((await owner.open(`${SUBSCRIPTIONS}?enabled=maybe&integration=x`)).rows).toHaveLength(50)
    },
  )

  test('are tested, paused, changed and deleted from their row, and lead back to the same list', async () => {
    const { owner, connect, call, subscribed } = await scene()
    const integration_id = await connect('Desk')
    const { id } = await call(createSubscription, { integration_id, pattern: 'application.check.*' })
    const stored = async () => (await subscribed()).find((one) => one.id === id)
    const back = `${SUBSCRIPTIONS}?pattern=application.check`
    const page = await owner.open(back)
    const tested = await page.form('Send test: application.check.* to Desk').submit()
    expect([tested.path, tested.notices[0]]).toEqual([back, expect.stringContaining('Test event sent')])
    const paused = await tested.form('Pause', id).submit()
    expect((await stored())?.enabled).toBe(false)
    expect(paused.row('application')).toContain('Paused')
    expect(paused.offers('Send test: application.check.* to Desk')).toBe(false)
    expect((await page.form('Send test: application.check.* to Desk').submit()).notices[0]).toContain(
      'This subscription is paused',
    )
    await paused.form('Resume', id).submit()
    const bad = await page.form('Save', id).with({ pattern: 'Not a type' }).submit()
    expect(bad.notices[0]).toContain('must be an event type such as deploy.failed')
    await page.form('Save', id).with({ pattern: 'deploy.*', timing: 'hourly' }).submit()
    expect(await stored()).toMatchObject({ enabled: true, pattern: 'deploy.*', timing: 'hourly' })
    const gone = await page.form('Delete subscription', id).submit()
    expect(gone.path).toBe(back)
    expect(await stored()).toBeUndefined()
  })

  test('the preview for the script is a piece of a page, kind to what is half typed', async () => {
    const { owner, org } = await scene()
    const preview = (pattern: string) =>
      owner.open(`${SUBSCRIPTIONS}/preview?${new URLSearchParams({ pattern })}`)
    const piece = await preview('deploy.failed')
    expect(piece.html).not.toContain('<html')
    expect(piece.text).toContain('Matches 1 event type , 0 events in the last 7 days.')
    for (const [pattern, words] of [
      ['', ''],
      ['application.', 'Not a valid event type yet'],
      ['order.refunded', 'No event of this type is defined'],
      ['<img src=x>', 'Not a valid event type yet'],
    ] as const) {
      const kind = await preview(pattern)
      expect([kind.status, kind.text]).toEqual([200, expect.stringContaining(words)])
      expect(kind.html).not.toContain('<img')
    }
    const viewer = await openConsole(system!, await makeMember(system!, org, 'viewer'))
    const denied = await viewer.open(`${SUBSCRIPTIONS}/preview?pattern=deploy.failed`)
    expect(denied.text).toContain('This requires the role admin or above')
  })
})
