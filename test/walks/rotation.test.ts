/** A changed secret ends what was made with it, and nothing else: the same database under a second system. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whoAmI } from '../../src/contracts/people.ts'
import { exchangeSignInCode } from '../../src/contracts/sessions.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { invitation, resetLink } from '../support/links.ts'
import { makeApiToken, makeOrganization, PASSWORD, signedIn } from '../support/make.ts'
import { freshSecrets, ORIGIN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, signInOnPage } from '../support/walker.ts'

const API_ONLY = { SVC_SERVICES: 'api-gateway,auth-service' }
const SECRETS = freshSecrets()

let before: TestSystem
beforeAll(async () => {
  before = await startSystem({ ...API_ONLY, ...SECRETS }, { withMail: true })
})
afterAll(() => before.stop())

const works = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    () => false,
  )

/** Everything of ours a person may hold, each with the question whether a system still takes it. */
async function holdings(): Promise<Record<string, (system: TestSystem) => Promise<boolean>>> {
  const org = await makeOrganization(before)
  const apiToken = await makeApiToken(before, org, org.owner)
  const { token: userToken } = await signedIn(before, org.owner.email)
  const assertion = await signActor(before, actorOf(org, org.owner, apiToken.id))
  const invited = await invitation(before, { org })
  const reset = await resetLink(before, org.owner.email)
  const browser = newWalker(before)
  await signInOnPage(browser, org.owner.email)
  const back = await browser.open(`/auth/sign-in?${new URLSearchParams({ return_to: `${ORIGIN}/console` })}`)
  const code = back.location?.searchParams.get('code') ?? ''

  return {
    'user token': (system) => works(system.as({ token: userToken })(whoAmI, {})),
    'API token': (system) => works(system.as({ token: apiToken.token })(whoAmI, {})),
    assertion: (system) => works(system.as({ token: assertion })(whoAmI, {})),
    'sign-in code': (system) => works(system.as()(exchangeSignInCode, { code })),
    'invitation link': async (system) => (await newWalker(system).open(invited.link)).status === 200,
    'browser session': async (system) => {
      const again = newWalker(system)
      for (const { name, value } of browser.jar.all()) again.jar.keep(`${name}=${value}; Path=/`, ORIGIN)
      return (await again.open('/auth/sign-in')).status === 303
    },
    'mailed link': async (system) => {
      const walker = newWalker(system)
      return (await walker.submit(await walker.open(reset), 'Save', { password: PASSWORD })).status === 200
    },
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
    const after = await startSystem({ ...API_ONLY, ...SECRETS, [key]: freshSecrets()[key] })
    for (const [what, isTaken] of Object.entries(await holdings())) {
      // An assertion names a token by its id; it dies of its own age, a minute after the rotation at the latest.
      if (what === 'assertion' && ended === JWT_MADE) continue
      expect([what, await isTaken(after)]).toEqual([what, !(ended as readonly string[]).includes(what)])
    }
    await after.stop()
  })
})

test('an unchanged set of secrets takes all of it', async () => {
  const after = await startSystem({ ...API_ONLY, ...SECRETS })
  for (const [what, isTaken] of Object.entries(await holdings()))
    expect([what, await isTaken(after)]).toEqual([what, true])
  await after.stop()
})
