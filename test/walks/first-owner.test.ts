/** The first owner's address: named by the operator it is proven; generated it gets no mail, and makes room for a real one. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { users } from '../../db/schema.ts'
import { firstRun } from '../../src/boot/first-run.ts'
import type { Call } from '../../src/client/http-client.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { createOrganizationAsOperator, listOrganizations } from '../../src/contracts/organizations.ts'
import { sendEmailVerification, showProfile } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { startSupportSession } from '../../src/contracts/support.ts'
import type { ChannelPorts } from '../../src/cores/notifications/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { linkIn, mailTo, requestPasswordReset, resetLink } from '../support/links.ts'
import { makePerson, PASSWORD, unique } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, PAGES, signInOnPage } from '../support/walker.ts'

type Installation = { system: TestSystem; email: string; password: string; orgId: string; call: Call }
const open: (() => Promise<unknown>)[] = []

async function firstStart(env: Record<string, string>): Promise<Installation> {
  const database: TestDatabase = await newDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'svc-first-owner-'))
  const system = await startSystem(
    { ...PAGES, SVC_DATA_DIR: folder, ...env },
    { withMail: true, connection: database },
  )
  open.push(async () => {
    await system.stop()
    await database.close()
    await rm(folder, { recursive: true })
  })
  const { config, auth } = system.system
  await firstRun({ config, auth: auth!, terminal: false, sample: false })
  const words = await readFile(join(folder, 'first-run.txt'), 'utf8').catch(() => '')
  const email = env['SVC_ADMIN_EMAIL'] ?? /Email\s+(\S+)/.exec(words)![1]!
  const password = env['SVC_ADMIN_PASSWORD'] ?? /Password\s+(\S+)/.exec(words)![1]!
  const session = await system.as()(signInWithPassword, { email, password })
  const call = system.as({ token: session.token })
  return { system, email, password, orgId: session.organization!.id, call }
}

afterAll(async () => {
  for (const close of open.splice(0)) await close()
})

/** A support session starts, and the worker sends what it has to; the addresses that got mail. */
async function mailsOfSupportSession({ system, orgId }: Installation): Promise<string[]> {
  const sent: string[] = []
  const never = () => Promise.reject(new Error('only mail here'))
  const channels: ChannelPorts = {
    webhook: never,
    chat: never,
    direct_message: never,
    forum: never,
    email: async ({ to }) => {
      sent.push(to)
      return { kind: 'sent' }
    },
  }
  const staff = await makePerson(system)
  await system.as({ token: OPERATOR_TOKEN })(startSupportSession, {
    org: orgId,
    staff_email: staff.email,
    reason: 'They asked for help',
  })
  const { config, log } = system.system
  await drainNotifications({
    db: system.db,
    clock: () => system.clock.now(),
    channels,
    directory: localDirectory(() => system.clock.now()),
    dataKeys: dataKeys(config.DATA_KEY!),
    appUrl: config.APP_URL,
    siteUrl: config.SITE_URL,
    log,
  })
  return sent
}

const ledger = async ({ call }: Installation) =>
  (await call(listDeliveries, {})).deliveries.map(({ state, reason }) => [state, reason])

describe('an address that SVC_ADMIN_EMAIL names', () => {
  let named: Installation
  beforeAll(async () => {
    const SVC_ADMIN_EMAIL = `${unique('boss')}@people.test`
    named = await firstStart({ SVC_ADMIN_EMAIL, SVC_ADMIN_PASSWORD: PASSWORD })
  })

  test('counts as verified', async () => {
    expect(await named.call(showProfile, {})).toMatchObject({
      email: named.email,
      email_verified: true,
      receives_mail: true,
    })
  })

  test('gets the mail about a support session', async () => {
    expect(await mailsOfSupportSession(named)).toEqual([named.email])
    expect(await ledger(named)).toEqual([['sent', null]])
  })

  test('as admin_email of another organization is the same account', async () => {
    const operator = named.system.as({ token: OPERATOR_TOKEN })
    const opened = await operator(createOrganizationAsOperator, {
      name: unique('Second'),
      admin_email: named.email,
    })
    expect(opened.owner).toMatchObject({ created: false })
    const accounts = await named.system.db.select().from(users).where(eq(users.email, named.email))
    expect(accounts.map(({ id }) => id)).toEqual([opened.owner!.id])
    expect((await named.call(listOrganizations, {})).organizations).toHaveLength(2)
  })

  test('of a later start changes nothing', async () => {
    const { config, auth } = named.system.system
    const later = { ...config, SVC_ADMIN_EMAIL: `${unique('later')}@people.test` }
    expect(await firstRun({ config: later, auth: auth!, terminal: false, sample: false })).toBeUndefined()
    const found = await named.system.db.select().from(users).where(eq(users.email, later.SVC_ADMIN_EMAIL))
    expect(found).toEqual([])
  })
})

describe('an address that was generated', () => {
  let generated: Installation
  beforeAll(async () => {
    generated = await firstStart({})
  })

  test('is not verified, and nothing is mailed to it: the ledger says why', async () => {
    const { system, email, call } = generated
    expect(email).toBe('owner@svc.localhost')
    expect(await call(showProfile, {})).toMatchObject({ email_verified: false, receives_mail: false })
    expect(await mailsOfSupportSession(generated)).toEqual([])
    expect(await ledger(generated)).toEqual([['dropped', 'no_address']])
    await expect(call(sendEmailVerification, {})).rejects.toMatchObject({ code: 'CONFLICT' })
    await requestPasswordReset(system, email)
    // Mailed after the one that would have gone to the generated address.
    await resetLink(system, (await makePerson(system)).email)
    expect(system.mails.filter(({ to }) => to === email)).toEqual([])
  })

  test('is asked for on the overview, and makes way for a real one that is proven by link', async () => {
    const { system, email, password, call } = generated
    const walker = newWalker(system)
    const enter = async () => {
      await signInOnPage(walker, email, '/auth/sign-in', password)
      return walker.follow(await walker.open('/console'))
    }
    const profile = await walker.click(await enter(), 'Add your email address')
    expect(profile.words).toContain('No mail can reach this address.')
    const own = `${unique('own')}@people.test`
    const sent = await walker.follow(await walker.submit(profile, 'Send verification link', { email: own }))
    expect(sent.words).toContain(`Verification link sent to ${own}.`)
    // Until the link is used, nothing has changed.
    expect(await call(showProfile, {})).toMatchObject({ email, email_verified: false })
    const page = await walker.open(linkIn((await mailTo(system, own)).text))
    expect((await walker.submit(page, 'Confirm email address')).status).toBe(200)
    expect(await call(showProfile, {})).toMatchObject({
      email: own,
      email_verified: true,
      receives_mail: true,
    })
    expect((await walker.open('/console')).words).not.toContain('Add your email address')
    // From now on it is the name to sign in with.
    expect((await signInOnPage(newWalker(system), own, '/auth/sign-in', password)).status).toBe(303)
    expect((await signInOnPage(newWalker(system), email, '/auth/sign-in', password)).status).toBe(401)
  })
})
