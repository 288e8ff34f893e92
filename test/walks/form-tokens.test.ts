/** What a form or a cookie carries belongs to one session and one request: taken elsewhere, it is worth nothing. */
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { showProfile, whoAmI } from '../../src/contracts/people.ts'
import {
  arrive,
  isConsent,
  newAssistant,
  preRegistered,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeOrganization, type Person } from '../support/make.ts'
import { formOn, newWalker, PAGES, signInOnPage, type Page } from '../support/walker.ts'

let system: ListeningSystem
beforeAll(async () => {
  system = await startListeningSystem(PAGES)
})
afterAll(() => system.stop())

/** The profile page in a browser of its own. */
async function profileOf({ email }: Person) {
  const walker = newWalker(system)
  await signInOnPage(walker, email)
  await walker.follow(await walker.open('/console'))
  return { walker, page: await walker.open('/console/profile') }
}

/** Colleagues see the id of a user, and every session of a person is signed in as the same one. */
test('the form token of the console belongs to one session, not to the user', async () => {
  const { owner } = await makeOrganization(system)
  const [one, two] = [await profileOf(owner), await profileOf(owner)]
  const tokenOn = (page: Page) => formOn(page, 'Save name').fields['form_token']!
  const fromUserId = createHmac('sha256', owner.userId).update('svc-console/form').digest('base64url')
  for (const form_token of [tokenOn(two.page), fromUserId, '']) {
    const refused = await one.walker.submit(one.page, 'Save name', { form_token, name: 'Renamed' })
    expect(refused.status).toBe(403)
  }
  expect((await owner.call(showProfile, {})).name).toBe(owner.name)
  expect((await one.walker.submit(one.page, 'Save name', { name: 'Renamed' })).status).toBe(303)
  expect((await owner.call(whoAmI, {})).user.name).toBe('Renamed')
})

/** Session fixation: a victim who allows an assistant would connect it to the attacker's account, and ask it there. */
test('the sign-in cookie of one consent is worth nothing on another', async () => {
  const [attacker, victim] = [await makeOrganization(system), await makeOrganization(system)]
  const assistant = newAssistant(system, await preRegistered(system))
  const browser = () => newWalker(system, { overSockets: true })
  const theirs = browser()
  const consent = await arrive(system, theirs, attacker.owner, assistant.request().url)
  expect(isConsent(consent)).toBe(true)
  const cookie = theirs.jar.find('svc_consent_s')!

  const own = browser()
  const isInteraction = ({ pathname }: URL) => pathname.startsWith('/oauth/interaction/')
  const begun = await own.follow(await own.open(assistant.request().url), isInteraction)
  const { href, pathname } = begun.location!
  own.jar.keep(`${cookie.name}=${cookie.value}; Path=${pathname}`, href)
  const page = await own.step(begun)
  expect(isConsent(page)).toBe(false)
  expect(page.location?.pathname).toBe('/auth/sign-in')

  // Signed in as themselves, with the planted cookie still there, the victim decides for themselves.
  const decided = await arrive(system, own, victim.owner, new URL(href))
  expect(isConsent(decided)).toBe(true)
  expect(decided.words).toContain(victim.owner.email)
  expect(decided.words).not.toContain(attacker.owner.email)
})
