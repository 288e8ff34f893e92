/** Over real SMTP: what arrives, that its signature holds, and what is known when it does not arrive. */
import { createHash, createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  smtpFailure,
  startFaultyMailServer,
  startMailServer,
  type MailServer,
} from '../../../test/support/mail-server.ts'
import type { ChannelPayloads } from '../../cores/notifications/channels/channel-ports.ts'
import { domainOf, notificationMail } from './notification-mail.ts'

const FROM = 'svc at Acme <notify@svc.acme.test>'
const UNSUBSCRIBE = 'https://svc.acme.test/unsubscribe/n1.org_1.sub_1.abcdefghijklmnopqrstuv'
const MAIL = {
  messageId: 'msg_01',
  to: 'dev@people.test',
  subject: '[Acme] billing: a ticket has a reply ✓',
  text: `billing: a ticket has a reply\nhttps://app.acme.test/x\n\nUnsubscribe: ${UNSUBSCRIBE}\n`,
  html: `<p>billing: a ticket has a reply</p><p><a href="${UNSUBSCRIBE}">Unsubscribe</a></p>`,
  threadKey: 'org_1 tickets/tkt_1',
  listId: 'support.ticket.org_1',
  unsubscribeUrl: UNSUBSCRIBE,
}
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const dkim = { domain: 'svc.acme.test', selector: 'k1', privateKey }

function mailer(url: string, deadlineMs?: number, options = {}) {
  const made = notificationMail({ url, from: FROM, ...options }, deadlineMs)
  onTestFinished(() => made.close())
  return made
}

describe('a mail that arrives', () => {
  let server: MailServer
  beforeAll(async () => {
    server = await startMailServer()
  })
  afterAll(() => server.close())

  async function arrivedAs(mail: Partial<ChannelPayloads['email']>, options = {}) {
    expect(await mailer(server.url, undefined, options).send({ ...MAIL, ...mail })).toEqual({ kind: 'sent' })
    return server.arrived.at(-1)!
  }
  const headersOf = (raw: Buffer) => raw.toString().split('\r\n\r\n')[0]!

  test('has both bodies, one recipient, and every header a mailing is judged by', async () => {
    const { mail, to, sender, raw } = await arrivedAs({})
    expect([to, sender]).toEqual([['dev@people.test'], 'notify@svc.acme.test'])
    expect(mail).toMatchObject({
      from: { name: 'svc at Acme', address: 'notify@svc.acme.test' },
      to: [{ address: 'dev@people.test' }],
      subject: MAIL.subject,
      messageId: '<msg_01@svc.acme.test>',
    })
    expect(mail.text?.trim()).toBe(MAIL.text.trim())
    expect(mail.html?.trim()).toBe(MAIL.html)
    const header = (key: string) => mail.headers.find((one) => one.key === key)?.value
    expect(header('auto-submitted')).toBe('auto-generated')
    expect(header('list-id')).toBe('<support.ticket.org_1.svc.acme.test>')
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    // On one line: a relay that unfolds it would break the signature.
    expect(headersOf(raw)).toContain(`\r\nList-Unsubscribe: <${UNSUBSCRIBE}>\r\n`)
  })

  test('about the same thing stand in one thread, about another in another, about nothing in none', async () => {
    const [failed, recovered, other, none] = [
      await arrivedAs({ messageId: 'msg_1' }),
      await arrivedAs({ messageId: 'msg_2' }),
      await arrivedAs({ messageId: 'msg_3', threadKey: 'org_1 tickets/tkt_2' }),
      await arrivedAs({ messageId: 'msg_4', threadKey: null }),
    ].map(({ mail }) => [mail.inReplyTo, mail.references])
    expect(failed![0]).toMatch(/^<thr-[\w-]{22}@svc\.acme\.test>$/)
    expect(failed).toEqual(recovered)
    expect(failed![0]).toBe(failed![1])
    expect(other![0]).not.toBe(failed![0])
    expect(none).toEqual([undefined, undefined])
  })

  test('is signed over both list headers, and the signature holds', async () => {
    const { raw } = await arrivedAs({}, { dkim })
    const signature = dkimOf(raw)
    expect(signature).toMatchObject({ d: 'svc.acme.test', s: 'k1', a: 'rsa-sha256', c: 'relaxed/relaxed' })
    expect(signature.h!.split(':')).toEqual(
      expect.arrayContaining([
        'from',
        'to',
        'subject',
        'message-id',
        'list-unsubscribe',
        'list-unsubscribe-post',
      ]),
    )
    expect(isSigned(raw)).toBe(true)
  })

  /** RFC 8058: without the signature anybody could put another address behind the button. */
  test('does not survive a change of any of what is signed', async () => {
    const { raw } = await arrivedAs({}, { dkim })
    const changed = (from: string, to: string) => {
      const text = raw.toString('latin1')
      expect(text).toContain(from)
      return Buffer.from(text.replace(from, to), 'latin1')
    }
    expect(isSigned(changed('List-Unsubscribe: <https://svc', 'List-Unsubscribe: <https://evil'))).toBe(false)
    expect(isSigned(changed('List-Unsubscribe=One-Click', 'List-Unsubscribe=Two-Clicks'))).toBe(false)
    expect(isSigned(changed('a ticket has a reply\r\nhttps', 'a ticket has a reply\r\nhttpz'))).toBe(false)
  })

  test('is not signed where no key is set up', async () => {
    expect(headersOf((await arrivedAs({})).raw)).not.toMatch(/dkim-signature/i)
  })

  test('carries no line of somebody else’s making', async () => {
    const hostile = 'x\r\nBcc: everybody@evil.test\r\n\r\n<b>'
    const { mail, to } = await arrivedAs({
      subject: hostile,
      listId: `a${hostile}`,
      messageId: `s${hostile}`,
    })
    expect([to, mail.bcc]).toEqual([['dev@people.test'], undefined])
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc')
  })

  test.each(['a@people.test, b@evil.test', '"a" <b@evil.test>, a@people.test', 'nobody', ''])(
    'an address reaches one mailbox or none: %j',
    async (to) => {
      const before = server.arrived.length
      const outcome = await mailer(server.url).send({ ...MAIL, to })
      const reached = server.arrived.slice(before).flatMap((one) => one.to)
      expect(reached.length).toBeLessThanOrEqual(1)
      expect(reached.filter((address) => address.endsWith('@evil.test') && address.startsWith('b'))).toEqual(
        [],
      )
      if (reached.length === 0) expect(outcome).toEqual({ kind: 'refused', reason: 'refused', retry: false })
    },
  )

  test('and many at once share a few connections', async () => {
    const before = server.arrived.length
    const { send } = mailer(server.url)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send({ ...MAIL, messageId: `msg_many_${n}` })),
    )
    expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true)
    expect(new Set(server.arrived.slice(before).map(({ mail }) => mail.messageId)).size).toBe(20)
  })
})

const refusal = (reason: string, retry: boolean) => ({ kind: 'refused', reason, retry })
const UNKNOWN = { kind: 'unknown' }
const NOT_REACHED = refusal('not_reached', true)

describe('a server that says no', () => {
  test.each([
    ['RCPT', '550 no such user', refusal('address_suppressed', false)],
    ['RCPT', '550 5.1.1 no such user', refusal('address_suppressed', false)],
    ['RCPT', '553 5.1.3 no mailbox', refusal('address_suppressed', false)],
    // Of us, not of the mailbox: it must not cost everybody their mail.
    ['RCPT', '550 5.7.1 relaying denied', refusal('refused', false)],
    ['RCPT', '554 5.7.1 relaying denied', refusal('refused', false)],
    ['RCPT', '452 4.2.2 mailbox full', refusal('server_error', true)],
    ['MAIL', '550 who are you', refusal('refused', false)],
    ['MAIL', '451 not now', refusal('server_error', true)],
    ['DATA', '554 no', refusal('refused', false)],
    ['greeting', '554 no', refusal('refused', false)],
    ['greeting', '421 busy', refusal('server_error', true)],
    ['message', '550 5.7.1 spam', refusal('refused', false)],
    ['message', '451 greylisted', refusal('server_error', true)],
    ['message', '421 closing', refusal('server_error', true)],
  ] as const)('at %s: %s', async (line, says, outcome) => {
    const server = await startFaultyMailServer(line, says)
    onTestFinished(() => server.close())
    expect(await mailer(server.url).send(MAIL)).toEqual(outcome)
  })

  test('takes the next message all the same', async () => {
    const server = await startMailServer()
    onTestFinished(() => server.close())
    const { send } = mailer(server.url)
    server.answerWith(smtpFailure(451, 'try later'))
    expect(await send(MAIL)).toEqual(refusal('server_error', true))
    server.answerWith(undefined)
    expect(await send(MAIL)).toEqual({ kind: 'sent' })
    expect(server.arrived).toHaveLength(1)
  })
})

describe('a connection that breaks', () => {
  const BEFORE = ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'] as const

  test.each(BEFORE.flatMap((line) => [[line, 'fin'] as const, [line, 'rst'] as const]))(
    'at %s by %s: nothing was sent, so it may be again',
    async (line, misdeed) => {
      const server = await startFaultyMailServer(line, misdeed)
      onTestFinished(() => server.close())
      expect(await mailer(server.url).send(MAIL)).toEqual(NOT_REACHED)
      expect(server.messages).toEqual([])
    },
  )

  test.each(['fin', 'rst'] as const)('after the message by %s: it may have been taken', async (misdeed) => {
    const server = await startFaultyMailServer('message', misdeed)
    onTestFinished(() => server.close())
    expect(await mailer(server.url).send(MAIL)).toEqual(UNKNOWN)
    expect(server.messages).toHaveLength(1)
  })

  test('is not made: nobody listens', async () => {
    expect(await mailer('smtp://127.0.0.1:1').send(MAIL)).toEqual(NOT_REACHED)
  })

  test.each([
    ['greeting', '?greetingTimeout=100', NOT_REACHED],
    ['RCPT', '?socketTimeout=300', NOT_REACHED],
    ['message', '?socketTimeout=300', UNKNOWN],
  ] as const)('falls silent at %s', async (line, patience, outcome) => {
    const server = await startFaultyMailServer(line, 'silence')
    onTestFinished(() => server.close())
    expect(await mailer(server.url + patience).send(MAIL)).toEqual(outcome)
  })

  /** It was told to be not sent; sent after all, it would arrive twice. */
  test('past our own patience is given up for good: what waited for its turn is not sent later', async () => {
    const slow = await startFaultyMailServer('RCPT', 'silence', 1)
    onTestFinished(() => slow.close())
    const { send } = mailer(`${slow.url}?maxConnections=1&socketTimeout=300`, 100)
    const [first, second] = [send(MAIL), send({ ...MAIL, messageId: 'msg_02' })]
    expect([await first, await second]).toEqual([NOT_REACHED, NOT_REACHED])
    // Its turn comes when the first connection has timed out: it is asked for, and not given.
    await vi.waitFor(() => expect(slow.commands).toContain('DATA'), { timeout: 10_000 })
    await wait(50)
    expect(slow.messages).toEqual([])
  })

  test('past our own patience, with the message on its way, leaves it open', async () => {
    const server = await startFaultyMailServer('message', 'silence')
    onTestFinished(() => server.close())
    expect(await mailer(server.url, 500).send(MAIL)).toEqual(UNKNOWN)
  })
})

test.each([
  ['svc <notify@mail.acme.test>', 'mail.acme.test'],
  ['notify@Acme.test', 'acme.test'],
  ['"a@b" <notify@acme.test> ', 'acme.test'],
  ['nonsense', 'localhost'],
])('the domain of %s is %s', (from, domain) => {
  expect(domainOf(from)).toBe(domain)
})

// RFC 6376, written out for the one form we sign in (relaxed/relaxed, rsa-sha256), from the receiver's side.

function parts(raw: Buffer): { fields: string[]; body: string } {
  const text = raw.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  return { fields: text.slice(0, end).split(/\r\n(?![ \t])/), body: text.slice(end + 4) }
}

const nameOf = (field: string) => field.slice(0, field.indexOf(':')).trim().toLowerCase()

function dkimOf(raw: Buffer): Record<string, string> {
  const field = parts(raw).fields.find((one) => nameOf(one) === 'dkim-signature') ?? ''
  const tags = field.slice(field.indexOf(':') + 1).split(';')
  return Object.fromEntries(
    tags.map((tag) => {
      const at = tag.indexOf('=')
      return [tag.slice(0, at).trim(), tag.slice(at + 1).replaceAll(/\s+/g, '')]
    }),
  )
}

/** 3.4.2 */
const relaxed = (field: string) =>
  `${nameOf(field)}:${field
    .slice(field.indexOf(':') + 1)
    .replaceAll('\r\n', '')
    .replaceAll(/[ \t]+/g, ' ')
    .trim()}`

/** 3.4.4 */
const relaxedBody = (body: string) =>
  `${body
    .split('\r\n')
    .map((line) => line.replaceAll(/[ \t]+/g, ' ').replace(/ $/, ''))
    .join('\r\n')
    .replace(/(\r\n)*$/, '')}\r\n`

function isSigned(raw: Buffer): boolean {
  const { fields, body } = parts(raw)
  const { b = '', bh, h = '' } = dkimOf(raw)
  if (createHash('sha256').update(relaxedBody(body), 'latin1').digest('base64') !== bh) return false
  const own = fields.find((field) => nameOf(field) === 'dkim-signature')!
  const signed = [
    ...h.split(':').map((name) => relaxed(fields.findLast((field) => nameOf(field) === name)!)),
    relaxed(own.replace(/([;\s]b=)[^;]*/, '$1')),
  ].join('\r\n')
  return createVerify('RSA-SHA256').update(signed, 'latin1').verify(createPublicKey(publicKey), b, 'base64')
}
