/** Mail through a real mail server: what arrives, and what happens when it does not. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { eq } from '../../db/drizzle.ts'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { organizations, users } from '../../db/schema.ts'
import { smtpMail } from '../../src/adapters/mail/smtp.ts'
import { inviteMember } from '../../src/contracts/members.ts'
import { createOrganization, createOrganizationAsOperator } from '../../src/contracts/organizations.ts'
import { sendEmailVerification, showProfile, updateProfile } from '../../src/contracts/people.ts'
import type { Overrides } from '../../src/boot/system.ts'
import { nameInMail } from '../../src/cores/mail-text.ts'
import { requestPasswordReset, linkIn, PATIENCE } from '../support/links.ts'
import { makeOrganization, makePerson, PASSWORD, unique } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem } from '../support/system.ts'
import { newWalker, PAGES, personIn, signInOnPage } from '../support/walker.ts'

const FROM = 'svc at Acme <svc@acme.test>'

type Arrived = { readonly to: string[]; readonly sender: string; readonly mail: Email; readonly raw: string }

async function startMailServer(options: SMTPServerOptions & { readonly answer?: Error } = {}) {
  const arrived: Arrived[] = []
  const { answer, ...settings } = options
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    ...settings,
    async onData(stream, { envelope }, done) {
      const bytes = await buffer(stream)
      const to = envelope.rcptTo.map(({ address }) => address)
      const sender = envelope.mailFrom ? envelope.mailFrom.address : ''
      arrived.push({ to, sender, mail: await PostalMime.parse(bytes), raw: bytes.toString() })
      done(answer)
    },
  })
  // A client that hangs up on a certificate it does not trust is what one of the tests is about.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  onTestFinished(() => new Promise<void>((closed) => server.close(closed)))
  const { port } = server.server.address() as AddressInfo
  return { arrived, url: `${settings.secure ? 'smtps' : 'smtp'}://127.0.0.1:${port}`, port }
}

/** The system as an operator sets it up: nothing of its mail is replaced. */
async function startMailing(SMTP_URL: string) {
  const overrides = { mail: undefined } as unknown as Overrides
  const system = await startSystem({ ...PAGES, SMTP_URL, MAIL_FROM: FROM }, overrides)
  onTestFinished(() => system.stop())
  return system
}

const failure = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode })

async function invite(system: Awaited<ReturnType<typeof startMailing>>) {
  const org = await makeOrganization(system)
  const email = `${unique('guest')}@people.test`
  const { invitation_url } = await org.owner.call(inviteMember, { org_id: org.id, email })
  return { org, email, shown: invitation_url }
}

describe('a mail that arrives', () => {
  test('an invitation: sender, one recipient, subject and a link that works', async () => {
    const { arrived, url } = await startMailServer()
    const system = await startMailing(url)
    const { org, email, shown } = await invite(system)
    expect(shown).toBeUndefined()
    expect(arrived).toHaveLength(1)
    const [{ to, sender, mail }] = arrived as [Arrived]
    expect([to, sender]).toEqual([[email], 'svc@acme.test'])
    expect(mail).toMatchObject({
      from: { name: 'svc at Acme', address: 'svc@acme.test' },
      to: [{ address: email }],
      subject: `Join “${nameInMail(org.name)}” on svc`,
    })
    expect([mail.cc, mail.bcc, mail.attachments]).toEqual([undefined, undefined, []])
    expect(mail.html).toContain(`href="${linkIn(mail.text ?? '')}"`)
    const walker = newWalker(system)
    const page = await walker.open(linkIn(mail.text ?? ''))
    await walker.submit(page, 'Create account and join', { name: 'Guest', password: PASSWORD })
    const guest = await personIn(system, walker)
    expect(await guest!.call(showProfile, {})).toMatchObject({ email, email_verified: true })
  })

  test('a link that proves an address, and one to a new password', async () => {
    const { arrived, url } = await startMailServer()
    const system = await startMailing(url)
    const { email, call } = await makePerson(system, { verified: false })
    await call(sendEmailVerification, {})
    await requestPasswordReset(system, email)
    await vi.waitFor(() => expect(arrived).toHaveLength(2), PATIENCE)
    expect(arrived.map(({ to, mail }) => [to, mail.subject])).toEqual([
      [[email], 'Confirm your email address'],
      [[email], 'Choose a new password'],
    ])
    const walker = newWalker(system)
    await signInOnPage(walker, email)
    for (const [at, button, filled] of [
      [0, 'Confirm email address', {}],
      [1, 'Save', { password: 'quite other words than before' }],
    ] as const) {
      const page = await walker.open(linkIn(arrived[at]!.mail.text ?? ''))
      expect((await walker.submit(page, button, filled)).status).toBe(200)
    }
  })

  test('names in any script, and the first owner of an organization', async () => {
    const { arrived, url } = await startMailServer()
    const system = await startMailing(url)
    const name = `${nameInMail(unique('Zürich'))} 東京 – “Größe”`
    const email = `${unique('chief')}@people.test`
    const made = await system.as({ token: OPERATOR_TOKEN })(createOrganizationAsOperator, {
      name,
      admin_email: email,
    })
    expect(made.owner).toMatchObject({ email, created: true })
    expect(made.owner?.invitation_url).toBeUndefined()
    expect(arrived[0]?.mail.subject).toBe(`Join “${nameInMail(name)}” on svc`)
    expect(nameInMail(name)).toMatch(/^Zürich.* 東京 Größe$/)
    const sentence = `The operator of svc invites you to “${nameInMail(name)}” as owner.`
    expect(arrived[0]?.mail.text).toContain(sentence)
  })

  test('the mail server’s user and password are used there, and are in no log', async () => {
    const seen: string[] = []
    const { arrived, url } = await startMailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        seen.push(`${username} ${password}`)
        done(null, { user: username })
      },
    })
    const system = await startMailing(url.replace('//', '//postmaster:hush%20hush@'))
    await invite(system)
    expect([arrived.length, seen]).toEqual([1, ['postmaster hush hush']])
    expect(system.logLines.join('')).not.toMatch(/hush/)
  })
})

describe('a mail that does not arrive', () => {
  const DEAD: [string, () => Promise<string> | string][] = [
    ['nobody listens', () => 'smtp://127.0.0.1:1'],
    [
      'the server turns the person away',
      async () =>
        (await startMailServer({ onRcptTo: (_to, _session, done) => done(failure(550, 'no such person')) }))
          .url,
    ],
    [
      'the server turns us away',
      async () =>
        (await startMailServer({ onMailFrom: (_from, _session, done) => done(failure(451, 'not now')) })).url,
    ],
    ['the server hangs up', () => startServer((socket) => socket.destroy())],
    // Our own patience is ten seconds, longer than a test should take; the address can shorten it.
    ['the server never speaks', async () => `${await startServer(() => {})}?greetingTimeout=200`],
  ]

  test.each(DEAD)(
    '%s: the inviter is shown a link instead, which works and proves no address',
    async (_why, start) => {
      const system = await startMailing(await start())
      const { shown, email, org } = await invite(system)
      const walker = newWalker(system)
      const page = await walker.open(shown ?? '')
      expect(page.words).toContain(`Join ${org.name}`)
      await walker.submit(page, 'Create account and join', { name: 'Guest', password: PASSWORD })
      const guest = await personIn(system, walker)
      expect(await guest!.call(showProfile, {})).toMatchObject({ email, email_verified: false })
      const lines = system.logLines.filter((line) => line.includes('invitation mail could not be sent'))
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toContain(shown!.split('/').at(-1))
    },
  )

  /** Somebody between us and the mail server answers in its place, with a certificate of their own. */
  test.each([
    ['from the first byte on', { secure: true }],
    ['when asked for encryption', { disabledCommands: [] }],
  ])('an impostor %s gets to see nothing', async (_when, settings) => {
    const { arrived, url } = await startMailServer(settings)
    const { shown } = await invite(await startMailing(url))
    expect([arrived, shown]).toEqual([[], expect.stringContaining('/auth/invitation/')])
  })

  /** The inviter, who sees the shown link, would otherwise hold one that proves somebody else's address. */
  test('the shown link is not the one that was in the mail, and that one is dead', async () => {
    const { arrived, url } = await startMailServer({ answer: failure(451, 'lost after all') })
    const system = await startMailing(url)
    const { shown } = await invite(system)
    const mailed = linkIn(arrived[0]?.mail.text ?? '')
    expect(mailed).toMatch('/auth/invitation/')
    expect(shown).toMatch('/auth/invitation/')
    expect(shown).not.toBe(mailed)
    expect((await newWalker(system).open(mailed)).status).toBe(404)
    expect((await newWalker(system).open(shown!)).status).toBe(200)
  })

  test('who asks for a link is told the same as ever, and the operator finds a line in the log', async () => {
    const system = await startMailing('smtp://127.0.0.1:1')
    const { email } = await makePerson(system)
    const known = await requestPasswordReset(system, email)
    const unknown = await requestPasswordReset(system, `${unique('nobody')}@people.test`)
    expect([known.status, known.words]).toEqual([200, unknown.words])
    await vi.waitFor(
      () => expect(system.logLines.join('')).toContain('password mail could not be sent'),
      PATIENCE,
    )
  })

  test('who wants to prove an address is told that it did not work', async () => {
    const system = await startMailing('smtp://127.0.0.1:1')
    const { call } = await makePerson(system, { verified: false })
    await expect(call(sendEmailVerification, {})).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'The mail could not be sent',
    })
    expect(system.logLines.join('')).toContain('verification mail could not be sent')
  })
})

describe('header injection', () => {
  const HOSTILE = 'Acme\r\nBcc: everybody@evil.test\r\n\r\n<b>Pay here'

  /** A name with line breaks in it writes headers of its own, recipients among them, or a body. */
  test('names with line breaks are not taken', async () => {
    const system = await startSystem(PAGES)
    onTestFinished(() => system.stop())
    const { call } = await makePerson(system)
    for (const name of [HOSTILE, 'Acme\rBcc: a', 'Acme\nBcc: a', 'Acme\u2028Bcc: a', 'Acme\u0085Bcc: a']) {
      const refused = { code: 'INVALID_REQUEST' }
      await expect(call(createOrganization, { name })).rejects.toMatchObject(refused)
      await expect(call(updateProfile, { name })).rejects.toMatchObject(refused)
      const org = await makeOrganization(system)
      const email = `a@people.test\r\nBcc: ${name}`
      await expect(org.owner.call(inviteMember, { org_id: org.id, email })).rejects.toMatchObject(refused)
    }
  })

  test('and one that got into the database all the same stays a subject', async () => {
    const { arrived, url } = await startMailServer()
    const system = await startMailing(url)
    const { id, owner } = await makeOrganization(system)
    await system.db.update(organizations).set({ name: HOSTILE }).where(eq(organizations.id, id))
    await system.db.update(users).set({ name: HOSTILE }).where(eq(users.id, owner.userId))
    const email = `${unique('guest')}@people.test`
    await owner.call(inviteMember, { org_id: id, email })
    const [{ to, mail }] = arrived as [Arrived]
    expect([to, mail.bcc, mail.to]).toEqual([[email], undefined, [{ name: '', address: email }]])
    expect(mail.headers.map(({ key }) => key).toSorted()).toEqual([
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ])
    expect(mail.text).toContain('Open this link within seven days to join:')
  })

  /** An address that is read as a list sends the link to somebody else as well. */
  test.each([
    'a@people.test, b@evil.test',
    '"a" <b@evil.test>, a@people.test',
    'a@people.test\r\nRCPT TO:<b@evil.test>',
  ])('an address reaches one mailbox or none: %j', async (to) => {
    const { arrived, url } = await startMailServer()
    await smtpMail({ url, from: FROM })({ to, subject: 'x', text: 'y', html: 'y' }).catch(() => {})
    expect(
      arrived
        .flatMap((one) => one.to)
        .filter((address) => address.includes('evil.test') && !address.includes('people.test')),
    ).toEqual([])
    expect(arrived.flatMap((one) => one.to).length).toBeLessThanOrEqual(1)
  })
})

async function startServer(take: (socket: import('node:net').Socket) => void): Promise<string> {
  const sockets = new Set<import('node:net').Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    take(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
}
