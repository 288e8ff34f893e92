/** A changed secret ends what was made with it, and nothing else: the same database under a second system. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { inviteMember } from '../../src/contracts/members.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { exchangeSignInCode } from '../../src/contracts/sessions.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { makeApiToken, makeOrganization, PASSWORD, signedIn, unique } from '../support/make.ts'
import { freshSecrets, ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, personIn, signInOnPage } from '../support/walker.ts'

const DOORS_ONLY = { SVC_SERVICES: 'api-gateway,auth-service' }
const SECRETS = freshSecrets()

let before: TestSystem
beforeAll(async () => {
  before = await startSystem({ ...DOORS_ONLY, ...SECRETS }, { withMail: true })
})
afterAll(() => before.stop())

/** Everything of ours a person may hold, each with the question whether a system still takes it. */
async function holdings() {
  const org = await makeOrganization(before)
  const apiToken = await makeApiToken(before, org, org.owner)
  const { token: userToken } = await signedIn(before, org.owner.email)
  const assertion = await signActor(before, actorOf(org, org.owner, apiToken.id))
  const invited = `${unique('new')}@people.test`
  await org.owner.call(inviteMember, { org_id: org.id, email: invited })
  const browser = visitor(before)
  await browser.signIn(org.owner.email, PASSWORD)
  const back = await browser.send(`/auth/sign-in?${new URLSearchParams({ return_to: `${ORIGIN}/console` })}`)
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
  await browser.submit('/auth/forgot', { email: org.owner.email })
  // The mail leaves behind the answer's back.
  const mailed = (to: string) =>
    vi.waitFor(() => pathOf(linkIn(before.mails.find((mail) => mail.to === to)!.text)))
  const links = { invitation: await mailed(invited), reset: await mailed(org.owner.email) }

  const knows = async (system: TestSystem, token: string) =>
    system
      .as({ token })(whoAmI, {})
      .then(
        () => true,
        () => false,
      )
  return {
    'user token': (system: TestSystem) => knows(system, userToken),
    'API token': (system: TestSystem) => knows(system, apiToken.token),
    assertion: (system: TestSystem) => knows(system, assertion),
    'invitation link': async (system: TestSystem) => (await system.fetch(links.invitation)).status === 200,
    'browser session': async (system: TestSystem) => {
      const again = visitor(system)
      for (const [name, value] of browser.cookies) again.cookies.set(name, value)
      return (await again.send('/auth/sign-in')).status === 303
    },
    'sign-in code': async (system: TestSystem) =>
      system
        .as()(exchangeSignInCode, { code })
        .then(
          () => true,
          () => false,
        ),
    'mailed link': async (system: TestSystem) =>
      (await visitor(system).submit(links.reset, { password: 'another few words here' })).status === 200,
  }
}

const JWT_MADE = [
  'user token',
  'API token',
  'invitation link',
  'browser session',
  'sign-in code',
  'mailed link',
]

describe.each([
  ['JWT_SECRET', JWT_MADE],
  ['JWT_SIGNING_KEY', JWT_MADE],
  ['ACTOR_ASSERTION_SECRET', ['assertion']],
  ['DATA_KEY', []],
] as const)('a changed %s', (key, ended) => {
  test(`ends ${ended.join(', ') || 'nothing of this'}`, async () => {
    const after = await startSystem({ ...DOORS_ONLY, ...SECRETS, [key]: freshSecrets()[key] })
    for (const [what, isTaken] of Object.entries(await holdings())) {
      // An assertion names a token by its id; it dies of its own age, a minute after the rotation at the latest.
      if (what === 'assertion' && ended === JWT_MADE) continue
      expect([what, await isTaken(after)]).toEqual([what, !(ended as readonly string[]).includes(what)])
    }
    await after.stop()
  })
})

test('an unchanged set of secrets takes all of it', async () => {
  const after = await startSystem({ ...DOORS_ONLY, ...SECRETS })
  for (const [what, isTaken] of Object.entries(await holdings()))
    expect([what, await isTaken(after)]).toEqual([what, true])
  await after.stop()
})
