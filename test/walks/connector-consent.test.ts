/** The consent page: which organization it proposes, how long the connection lasts, and how to be somebody else. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import { switchOrganization, updateOrganization } from '../../src/contracts/organizations.ts'
import { exchangeSignInCode } from '../../src/contracts/sessions.ts'
import {
  arrive,
  boxes,
  decide,
  isConsent,
  newAssistant,
  preRegistered,
  startListeningSystem,
  tokensIn,
  type Assistant,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeMember, makeOrganization, makePerson, PASSWORD, type Org, type Person } from '../support/make.ts'
import { formOn, newWalker, signInOnPage, type Page, type Walker } from '../support/walker.ts'

let system: ListeningSystem
let assistant: Assistant
beforeAll(async () => {
  system = await startListeningSystem()
  assistant = newAssistant(system, await preRegistered(system))
})
afterAll(() => system.stop())

const newBrowser = () => newWalker(system, { overSockets: true })
const pageFor = (person: Person, walker: Walker = newBrowser()) =>
  arrive(system, walker, person, assistant.request().url)
const proposed = async (person: Person) => boxes(await pageFor(person), 'organization')
const grantIn = async (page: Page, asked = assistant.request()) => {
  const code = page.location!.searchParams.get('code')!
  const { grantId } = tokensIn(await assistant.exchange(code, asked))
  const [grant] = await system.db
    .select()
    .from(platformAccessGrants)
    .where(eq(platformAccessGrants.id, grantId))
  return grant!
}

describe('the organization', () => {
  let person: Person
  let orgs: Org[]
  beforeEach(async () => {
    person = await makePerson(system)
    orgs = [await makeOrganization(system, person), await makeOrganization(system, person)]
  })
  const choose = (org: Org) => person.call(switchOrganization, { org_id: org.id })

  test('is proposed when it is the only one', async () => {
    const { id, owner } = await makeOrganization(system)
    expect(await proposed(owner)).toEqual({ all: [id], ticked: [id] })
  })

  test('of several that were never used is not proposed; one must be chosen', async () => {
    const walker = newBrowser()
    const asked = assistant.request()
    const page = await arrive(system, walker, person, asked.url)
    expect(boxes(page, 'organization').ticked).toEqual([])
    expect(/<button[^>]*value="approve"[^>]*>/.exec(page.text)![0]).not.toContain('disabled')
    const refused = await decide(system, walker, page)
    expect([refused.status, refused.words.includes('Choose an organization.')]).toEqual([400, true])
    expect(boxes(refused, 'organization').ticked).toEqual([])
    const back = await decide(system, walker, refused, { organization: orgs[1]!.id })
    expect((await grantIn(back, asked)).orgId).toBe(orgs[1]!.id)
  })

  test('that was used last in the console is proposed, wherever it stands in the list', async () => {
    for (const org of [orgs[1]!, orgs[0]!, orgs[1]!]) {
      await choose(org)
      expect((await proposed(person)).ticked).toEqual([org.id])
    }
  })

  test('that the console opened in is the one used, without choosing any', async () => {
    const walker = newBrowser()
    const back = await signInOnPage(
      walker,
      person.email,
      `/auth/sign-in?return_to=${encodeURIComponent(`${system.origin}/console/signed-in`)}`,
    )
    const { organization } = await system.as()(exchangeSignInCode, {
      code: back.location!.searchParams.get('code')!,
    })
    expect(orgs.map(({ id }) => id)).toContain(organization!.id)
    expect((await proposed(person)).ticked).toEqual([organization!.id])
  })

  test('that was used last and is closed now is not replaced by another', async () => {
    await choose(orgs[1]!)
    await person.call(updateOrganization, { org_id: orgs[1]!.id, agents_enabled: false })
    expect((await proposed(person)).ticked).toEqual([])
    await person.call(updateOrganization, { org_id: orgs[1]!.id, agents_enabled: true })
    expect((await proposed(person)).ticked).toEqual([orgs[1]!.id])
  })

  test('that somebody else used last means nothing to others', async () => {
    const colleague = await makePerson(system)
    for (const org of orgs) await makeMember(system, org, 'viewer', colleague)
    await choose(orgs[1]!)
    expect((await proposed(colleague)).ticked).toEqual([])
  })

  test('chosen in a form that was refused stays chosen', async () => {
    await choose(orgs[0]!)
    const walker = newBrowser()
    const page = await pageFor(person, walker)
    const refused = await decide(system, walker, page, { organization: orgs[1]!.id, scopes: [] })
    expect(refused.status).toBe(400)
    expect(boxes(refused, 'organization').ticked).toEqual([orgs[1]!.id])
  })
})

describe('how long it lasts', () => {
  test('stands on the page', async () => {
    const { owner } = await makeOrganization(system)
    expect((await pageFor(owner)).words).toContain('365 days; less if it is not used for 30 days')
  })

  test('for a client that cannot refresh, as long as its only token', async () => {
    const { owner } = await makeOrganization(system)
    const short = newAssistant(system, await preRegistered(system, { grant_types: ['authorization_code'] }))
    const page = await arrive(system, newBrowser(), owner, short.request().url)
    expect(page.words).toContain('60 minutes')
    expect(page.words).not.toContain('365 days')
  })
})

describe('somebody else', () => {
  const switchOn = (walker: Walker, page: Page) =>
    walker.send(page, 'Allow', [
      ['form', formOn(page, 'Allow').fields.form ?? ''],
      ['decision', 'sign_in'],
    ])

  test('can sign in although the browser is signed in, and it is them who approve', async () => {
    const [first, second] = [await makeOrganization(system), await makeOrganization(system)]
    const walker = newBrowser()
    const asked = assistant.request()
    const page = await arrive(system, walker, first.owner, asked.url)
    const signIn = await walker.follow(await switchOn(walker, page))
    expect(signIn.forms.some(({ button }) => button === 'Sign in')).toBe(true)
    const wrong = await walker.submit(signIn, 'Sign in', { email: second.owner.email, password: 'wrong' })
    // A typing error does not bring the first person back.
    const theirs = await walker.follow(
      await walker.submit(wrong, 'Sign in', { email: second.owner.email, password: PASSWORD }),
    )
    expect(isConsent(theirs)).toBe(true)
    expect(theirs.words).toContain(second.owner.email)
    expect(theirs.words).not.toContain(first.owner.email)
    expect(boxes(theirs, 'organization').all).toEqual([second.id])
    const back = await decide(system, walker, theirs)
    expect(await grantIn(back, asked)).toMatchObject({ userId: second.owner.userId, orgId: second.id })
  })

  test('can connect after the first person has, in the same browser', async () => {
    const [first, second] = [await makeOrganization(system), await makeOrganization(system)]
    const walker = newBrowser()
    const before = assistant.request()
    const firstBack = await decide(system, walker, await arrive(system, walker, first.owner, before.url))
    expect(await grantIn(firstBack, before)).toMatchObject({ userId: first.owner.userId })
    const asked = assistant.request()
    const page = await arrive(system, walker, first.owner, asked.url)
    const signIn = await walker.follow(await switchOn(walker, page))
    const theirs = await walker.follow(
      await walker.submit(signIn, 'Sign in', { email: second.owner.email, password: PASSWORD }),
    )
    const back = await decide(system, walker, theirs)
    expect(back.location?.searchParams.has('code'), back.words).toBe(true)
    expect(await grantIn(back, asked)).toMatchObject({ userId: second.owner.userId, orgId: second.id })
  })

  test('the page of the first person approves nothing any more', async () => {
    const { owner } = await makeOrganization(system)
    const walker = newBrowser()
    const page = await pageFor(owner, walker)
    await switchOn(walker, page)
    // On the way to the sign-in, nobody is signed in here.
    const late = await walker.send(page, 'Allow', [
      ['form', formOn(page, 'Allow').fields.form ?? ''],
      ['organization', boxes(page, 'organization').all[0]!],
      ['scope', 'data:read'],
      ['decision', 'approve'],
    ])
    expect(late.location?.pathname).toBe('/auth/sign-in')
  })

  test('is offered to our own page alone', async () => {
    const { owner } = await makeOrganization(system)
    const walker = newBrowser()
    const page = await pageFor(owner, walker)
    const forged = await walker.send(page, 'Allow', [
      ['form', 'guessed'],
      ['decision', 'sign_in'],
    ])
    expect([forged.status, isConsent(forged)]).toEqual([400, true])
  })
})
