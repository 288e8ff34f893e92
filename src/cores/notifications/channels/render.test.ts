import { expect, test } from 'vitest'
import { EVENT_TYPES, EVENTS, TEST_EVENT } from '../../../contracts/events.ts'
import {
  chatText,
  forumPost,
  linkOf,
  personalText,
  summaryLine,
  thinNotification,
  type MessageItem,
} from './render.ts'
import { notificationMail, type MailContext } from './render-mail.ts'

const appUrl = new URL('https://app.example.test')
const unsubscribeUrl = 'https://app.example.test/unsubscribe/n1.org_1.sub_1.abc'
const context: MailContext = {
  appUrl,
  unsubscribeUrl,
  organization: 'Acme Inc.',
  titles: new Map(),
  isIntegration: false,
}

const item = (given: Partial<MessageItem> = {}): MessageItem => ({
  id: 'dlv_1',
  replayOf: null,
  orgId: 'org_1',
  eventId: 'evt_1',
  type: 'support.ticket.replied',
  subject: 'tickets/tkt_9',
  occurredAt: new Date('2026-11-15T03:00:05Z'),
  app: 'billing',
  data: { ticket_id: 'tkt_9', reply_id: 'rpl_2' },
  ...given,
})

test('the thin object holds identifiers alone', () => {
  expect(thinNotification(item())).toEqual({
    id: 'dlv_1',
    type: 'support.ticket.replied',
    subject: 'tickets/tkt_9',
    timestamp: '2026-11-15T03:00:05.000Z',
    specversion: '1.0',
    source: '/orgs/org_1',
    time: '2026-11-15T03:00:05.000Z',
    data: {
      event_id: 'evt_1',
      organization_id: 'org_1',
      app: 'billing',
      ticket_id: 'tkt_9',
      reply_id: 'rpl_2',
    },
  })
})

test('a chat line is one line and a link', () => {
  expect(chatText([item()], appUrl)).toBe(
    'billing: a ticket has a reply <https://app.example.test/console/apps/billing/tickets/tkt_9|Open>',
  )
})

test('a personal message has the app, the category, a code and a link', () => {
  expect(personalText([item()], appUrl)).toBe(
    'billing · Tickets · replied · <https://app.example.test/console/apps/billing/tickets/tkt_9|Open>',
  )
  const moved = item({
    type: 'support.ticket.status_changed',
    data: { ticket_id: 'tkt_9', from: 'open', to: 'done' },
  })
  expect(personalText([moved], appUrl)).toContain(' · Tickets · done · ')
})

test('characters that a chat service interprets are escaped', () => {
  expect(chatText([item({ app: '<!channel>&' })], appUrl)).toMatch(/^&lt;!channel&gt;&amp;: /)
})

test('a digest names each, by chat and by mail: what is too long for one message is split before', () => {
  const many = Array.from({ length: 25 }, () => item())
  expect(chatText(many, appUrl).split('\n')).toHaveLength(25)
  const mail = notificationMail(many, context)
  expect(mail.subject).toBe('[Acme Inc] 25 notifications')
  for (const text of [mail.text, mail.html])
    expect(text.split('billing: a ticket has a reply')).toHaveLength(26)
})

test('a mail shows the way out of it in both of its forms, and its subject is one short line', () => {
  const mail = notificationMail([item({ app: 'a'.repeat(200) })], context)
  expect(mail.subject).toHaveLength(160)
  expect(mail.subject).not.toMatch(/[\r\n]/)
  expect(mail.text).toContain(`Unsubscribe: ${unsubscribeUrl}`)
  expect(mail.html).toMatch(new RegExp(`<a [^>]*href="${unsubscribeUrl}"[^>]*>Unsubscribe</a>`))
})

test('a mail says which ticket and which organization; without the right to the title, by its id', () => {
  const titled = notificationMail([item()], { ...context, titles: new Map([['tkt_9', 'Checkout fails']]) })
  expect(titled.subject).toBe('[Acme Inc] billing: a ticket has a reply: Checkout fails')
  const plain = notificationMail([item()], context)
  expect(plain.subject).toBe('[Acme Inc] billing: a ticket has a reply: tkt_9')
  for (const text of [titled.text, titled.html, plain.text, plain.html]) {
    expect(text).toContain('Acme Inc · tkt_9 · replied · 2026-11-15 03:00 UTC')
  }
  for (const text of [titled.text, titled.html]) expect(text).toContain('Checkout fails')
  for (const text of [plain.text, plain.html]) expect(text).not.toContain('Checkout')
  const two = [item(), item({ data: { ticket_id: 'tkt_8' }, subject: 'tickets/tkt_8' })]
  const digest = notificationMail(two, { ...context, titles: new Map([['tkt_9', 'Checkout fails']]) })
  for (const text of [digest.text, digest.html]) {
    expect(text).toContain('Checkout fails')
    expect(text).toContain('tkt_8 · replied')
    expect(text).toContain('Acme Inc')
  }
})

test('a hostile title or name adds no link, no line and no element', () => {
  const hostile = '</p><a href="https://evil.test">x</a> https://evil.test evil.test me@evil.test\r\nBcc: x'
  const mail = notificationMail([item()], {
    ...context,
    organization: hostile,
    titles: new Map([['tkt_9', hostile]]),
  })
  const links = [...mail.html.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)
  expect(new Set(links)).toEqual(new Set([linkOf(item(), appUrl), unsubscribeUrl]))
  expect(mail.subject).not.toMatch(/[\r\n]/)
  expect(mail.text.match(/https?:\/\/\S+/g)).toEqual([linkOf(item(), appUrl), unsubscribeUrl])
  for (const text of [mail.subject, mail.text, mail.html]) expect(text).not.toMatch(/evil\.test/)
})

/** What each type would carry: every field of its data, as an id. */
const dataOf = (type: keyof typeof EVENTS) =>
  Object.fromEntries(Object.keys(EVENTS[type].data.shape).map((name) => [name, `${name}-1`]))

test.each(EVENT_TYPES)(
  '%s is said in every way, with a link that leads somewhere and long enough for a forum',
  (type) => {
    const one = item({ type, data: dataOf(type) })
    expect(summaryLine(one)).toMatch(/^billing: [a-z]/)
    expect(linkOf(one, appUrl)).toMatch(/^https:\/\/app\.example\.test\/console\/\w/)
    expect(linkOf(one, appUrl)).not.toMatch(/[{}]|undefined/)
    const post = forumPost(one, appUrl)
    expect(post.title.length).toBeGreaterThanOrEqual(15)
    expect(post.body.length).toBeGreaterThanOrEqual(20)
    expect(personalText([one], appUrl)).not.toContain('undefined')
  },
)

test('what has no app and what is a test are said without one', () => {
  expect(summaryLine({ type: 'org.support_access.started', app: null })).toBe(
    'Support staff started a support session',
  )
  const tried = item({ type: TEST_EVENT, app: null, data: { subscription_id: 'sub_1' } })
  expect(chatText([tried], appUrl)).toBe(
    'This is a test <https://app.example.test/console/integrations|Open>',
  )
  expect(linkOf(item({ app: null }), appUrl)).toBe('https://app.example.test/console')
})
