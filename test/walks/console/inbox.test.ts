/** What a member is told: the inbox, its number in the header, and what they follow and by which way. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { notifications, subscriptions } from '../../../db/schema.ts'
import { eq } from '../../../db/drizzle.ts'
import { createApp, removeAppMember, setAppMember } from '../../../src/contracts/apps.ts'
import { createCheck } from '../../../src/contracts/checks.ts'
import { makeId } from '../../../src/contracts/ids.ts'
import { listNotifications } from '../../../src/contracts/inbox.ts'
import { beginChatInstall, completeChatInstall, showChatLink } from '../../../src/contracts/integrations.ts'
import { listFollows, listMySubscriptions } from '../../../src/contracts/subscriptions.ts'
import { createTicket } from '../../../src/contracts/tickets.ts'
import { addNotifications } from '../../../src/cores/notifications/inbox/add-notifications.ts'
import { withTransaction } from '../../../src/cores/transaction.ts'
import { makeShop, type ConsolePage } from '../../support/console.ts'
import { fakeChatApp, fakeChecks, stateIn } from '../../support/fake-integrations.ts'
import { unique } from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'
import { wordsOf } from '../../support/walker.ts'

let system: TestSystem
beforeAll(async () => void (system = await startSystem({}, { checks: fakeChecks, chatApp: fakeChatApp })))
afterAll(() => system.stop())

const INBOX = '/console/inbox'
const PATH = '/console/profile/notifications'

async function scene() {
  const shop = await makeShop(system)
  const { org, viewing } = shop
  const notify = async (
    summary: string,
    type = 'deploy.failed',
    url = 'https://app.example/console/apps',
    subject = 'apps/shop',
  ) => {
    system.clock.advance(60)
    const eventId = unique('evt')
    const row = { orgId: org.id, userId: viewing.userId, eventId, type, subject, summary, url }
    await withTransaction(system.db, (tx) => addNotifications(tx, () => system.clock.now(), [row]))
  }
  return { ...shop, notify, own: system.as({ token: viewing.token, organization: org.id }) }
}

const itemsOf = (page: ConsolePage): string[] =>
  [...page.html.matchAll(/<li class="news-item.*?<\/li>/gs)].map(([item]) => wordsOf(item))

describe('the inbox', () => {
  test('shows what is unread first, newest first, then what was read; by type and state', async () => {
    const { viewer, notify, owner } = await scene()
    expect((await viewer.open(INBOX)).text).toContain('No unread notifications')
    await notify('read one', 'support.ticket.replied')
    await (await viewer.open(INBOX)).form('Mark as read: read one').submit()
    await notify('older', 'support.ticket.created')
    await notify('newer')
    const page = await viewer.open(INBOX)
    expect(itemsOf(page)).toEqual([
      expect.stringMatching(/^newer deploy\.failed · apps\/shop · 2 Mar 2026, \d\d:\d\d UTC Mark as read$/),
      expect.stringMatching(/^older support\.ticket\.created .* Mark as read$/),
      expect.stringMatching(/^read one support\.ticket\.replied · apps\/shop · 2 Mar 2026, \d\d:\d\d UTC$/),
    ])
    expect(page.text).toContain('Unread (2)')
    expect(page.link('newer')).toBe('https://app.example/console/apps')
    const by = async (filling: Record<string, string>) =>
      itemsOf(await page.form('Filter').with(filling).submit())
    expect(await by({ type: 'support.ticket.*' })).toHaveLength(2)
    expect(await by({ state: 'unread' })).toHaveLength(2)
    expect(await by({ state: 'read' })).toHaveLength(1)
    expect(await by({ type: 'pipeline.*', state: 'unread' })).toEqual([])
    const nonsense = await page.form('Filter').with({ type: '<b>' }).submit()
    expect(nonsense.problems).toEqual({ type: 'not a valid event type, ignored' })
    expect(itemsOf(nonsense)).toHaveLength(3)
    expect(itemsOf(await owner.open(INBOX))).toEqual([])
  })

  test('says of which thing, by its name, and nothing of another organization’s', async () => {
    const { viewer, notify, own, alias, call } = await scene()
    const other = await makeShop(system)
    const theirs = await other.call(createTicket, { alias: other.alias, title: 'Not ours', body: 'At all.' })
    const ticket = await call(createTicket, { alias, title: 'The till is stuck', body: 'Since noon.' })
    const definition = { kind: 'logs', pattern: 'x' } as const
    const check = await call(createCheck, { alias, name: 'Front page', definition, enabled: false })
    await notify('shop: a ticket was filed', undefined, undefined, `tickets/${ticket.id}`)
    await notify('shop: a check failed', undefined, undefined, `checks/${check.id}`)
    await notify('shop: a ticket was filed', undefined, undefined, `tickets/${theirs.id}`)
    expect(itemsOf(await viewer.open(INBOX)).map((item) => item.split(' deploy.failed')[0])).toEqual([
      'shop: a ticket was filed',
      'Front page shop: a check failed',
      'The till is stuck shop: a ticket was filed',
    ])
    // Assistants read the same list, and no words of people.
    const { notifications: listed } = await own(listNotifications, {})
    expect(listed.map((one) => 'name' in one)).toEqual([false, false, false])
  })

  test('one is marked read, or all that the page shows, and one comes back to the same list', async () => {
    const { viewer, notify, own } = await scene()
    for (const summary of ['one', 'two', 'three']) await notify(summary)
    const unread = async () => (await own(listNotifications, {})).notifications.map(({ summary }) => summary)
    const page = await viewer.open(`${INBOX}?state=unread`)
    const marked = await page.form('Mark as read: two').submit()
    expect(marked.path).toBe(`${INBOX}?state=unread`)
    expect(await unread()).toEqual(['three', 'one'])
    const done = await marked.form('Mark all on this page as read').submit()
    expect(done.notices).toEqual(['2 notifications marked as read.'])
    expect(await unread()).toEqual([])
  })

  test('pages both lists on their own, and an address that is no page is not a link', async () => {
    const { viewer, notify, viewing } = await scene()
    await notify('hostile', 'deploy.failed', 'javascript:alert(1)')
    const [row] = await system.db.select().from(notifications).where(eq(notifications.userId, viewing.userId))
    const copies = Array.from({ length: 60 }, (_, at) => ({
      ...row!,
      id: `${row!.id.slice(0, -4)}${String(at).padStart(4, '0')}`,
      eventId: unique('evt'),
      readAt: system.clock.now(),
    }))
    await system.db.insert(notifications).values(copies)
    const page = await viewer.open(INBOX)
    expect(page.html).not.toContain('javascript:')
    expect(itemsOf(page)).toHaveLength(51)
    const next = page.link('Next page')
    expect(next).toContain('read=')
    expect(itemsOf(await viewer.open(next))).toHaveLength(11)
  })

  test('its number is on every page, left out when there is none, and ends at 99', async () => {
    const { viewer, notify, viewing } = await scene()
    const number = async () =>
      /<a class="button-bare top-inbox".*?<\/a>/s.exec((await viewer.open('/console/members')).html)?.[0] ??
      ''
    expect(wordsOf(await number())).toBe('Inbox')
    await notify('one')
    expect(wordsOf(await number())).toBe('Inbox 1 unread')
    const [row] = await system.db.select().from(notifications).where(eq(notifications.userId, viewing.userId))
    const copies = Array.from({ length: 100 }, (_, at) => ({
      ...row!,
      id: `${row!.id.slice(0, -4)}${String(at).padStart(4, '0')}`,
      eventId: unique('evt'),
    }))
    await system.db.insert(notifications).values(copies)
    expect(wordsOf(await number())).toBe('Inbox 99+ unread')
  })
})

describe('what one follows', () => {
  test('shows every app of one’s own; saving replaces what was changed and leaves the rest alone', async () => {
    const { viewer, viewing, alias, call, own } = await scene()
    expect((await viewer.open(PATH)).text).toContain('Apps you are added to')
    const second = unique('intranet')
    await call(createApp, { alias: second, name: 'Intranet' })
    for (const one of [alias, second]) {
      await call(setAppMember, { alias: one, user_id: viewing.userId, role: 'builder' })
    }
    const page = await viewer.open(PATH)
    expect(page.text).toContain('Daily messages are sent at 09:00 in UTC')
    const form = page.form('Save', alias)
    const choices = form.choices('follow')
    expect(choices).toContain(`${alias}:Checks`)
    expect((await form.submit()).notices).toEqual(['No changes.'])
    const kept = form
      .value('follow')
      .split(' ')
      .filter((one) => one.startsWith(second))
    const chosen = choices.filter((one) => kept.includes(one))
    const ticked = [...chosen, `${alias}:Tickets`]
    const saved = await form.with({ follow: ticked, [`frequency-${alias}`]: 'daily' }).submit()
    expect(saved.notices).toEqual([`Following ${alias}: tickets.`])
    const follows = async () => (await own(listFollows, {})).follows
    expect((await follows()).find(({ app }) => app === alias)).toMatchObject({
      categories: ['Tickets'],
      frequency: 'daily',
    })
    expect(saved.form('Save', alias).value(`frequency-${alias}`)).toBe('daily')
    const none = await saved.form('Save', alias).with({ follow: chosen }).submit()
    expect(none.notices).toEqual([`You no longer follow ${alias}.`])
    const followed = await none.form('Filter').with({ following: 'true' }).submit()
    expect(followed.html).not.toContain(`value="${alias}:Checks"`)
    // Of a page that is older than the right to follow.
    await call(removeAppMember, { alias, user_id: viewing.userId })
    const refused = await form.with({ follow: [`${alias}:Checks`] }).submit()
    expect(refused.notices[0]).toMatch(/^Some changes were not saved: /)
  })

  test('emails are switched off and on', async () => {
    const { owner, call, org } = await scene()
    // As the first mail to them leaves it.
    await system.db.insert(subscriptions).values({
      orgId: org.id,
      id: makeId('sub', system.clock.now().getTime()),
      userId: org.owner.userId,
      pattern: 'org.support_access.*',
      timing: 'immediately',
      enabled: true,
      createdAt: system.clock.now(),
    })
    const page = await owner.open(PATH)
    expect(page.row('org.support_access')).toMatch(
      /^Support staff started a support session in the organization, and 1 more org\.support_access\.\* \| Immediately/,
    )
    const [mine] = (await call(listMySubscriptions, {})).subscriptions
    const off = await page.form(`Turn off: ${mine!.pattern}`).submit()
    expect(off.notices).toEqual(['Emails turned off.'])
    const stored = async () =>
      (await call(listMySubscriptions, {})).subscriptions.find(({ id }) => id === mine!.id)
    expect((await stored())?.enabled).toBe(false)
    expect((await off.form(`Turn on: ${mine!.pattern}`).submit()).notices).toEqual(['Emails turned on.'])
    expect((await stored())?.enabled).toBe(true)
  })
})

describe('the chat account', () => {
  test('is linked by way of the chat service, and unlinked', async () => {
    const { viewer, call, own } = await scene()
    expect((await viewer.open(PATH)).text).toContain('An owner or admin can connect one.')
    const team = unique('T')
    const { url } = await call(beginChatInstall, {})
    await call(completeChatInstall, { code: `${team}/#general`, state: stateIn(url) })
    const page = await viewer.open(PATH)
    const link = page.forms.find(({ action }) => action.pathname.endsWith('/chat/link'))!
    const out = await page.form(link.presses[0]!.label).submit()
    const away = out.link('Continue to chat.test')
    const back = (code: string) =>
      `${PATH}/chat/callback?${new URLSearchParams({ code, state: stateIn(away) })}`
    const linked = await viewer.open(back(`${team}/U1/ada`))
    expect([linked.path, linked.notices]).toEqual([PATH, [`Messages are now sent to ada in Team ${team}.`]])
    expect(linked.text).toContain(`Linked ada in Team ${team}`)
    const again = await viewer.open(back(`${team}/U1/ada`))
    expect(again.status).toBe(409)
    expect(again.html).toContain(`href="${PATH}"`)
    expect((await viewer.open(`${PATH}/chat/callback?error=access_denied`)).text).toContain(
      'Nothing was changed',
    )
    const unlinked = await linked.form('Unlink').submit()
    expect(unlinked.notices[0]).toContain('Your notification settings are kept.')
    expect((await own(showChatLink, {})).link).toBeNull()
  })
})
