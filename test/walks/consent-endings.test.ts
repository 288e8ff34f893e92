/** The consent page is open while its person is signed out everywhere, or removed: Allow grants nothing any more. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { platformAccessGrants, provisionedPeople, scimBearers } from '../../db/schema.ts'
import { removeMember } from '../../src/contracts/members.ts'
import { revokeScimBearer } from '../../src/contracts/scim.ts'
import { signOutEverywhere } from '../../src/contracts/sessions.ts'
import {
  arrive,
  decide,
  isConsent,
  newAssistant,
  preRegistered,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { testDatabase } from '../support/database.ts'
import { hasOneConnection } from '../support/left-out.ts'
import { makeMember, makeOrganization, signedIn, type Org, type Person } from '../support/make.ts'
import { insertScimBearer, provision } from '../support/scim.ts'
import { newWalker, type Page, type Walker } from '../support/walker.ts'

let system: ListeningSystem
let org: Org
let person: Person
let walker: Walker
let page: Page

beforeAll(async () => {
  system = await startListeningSystem()
  org = await makeOrganization(system)
})
beforeEach(async () => {
  person = await makeMember(system, org, 'developer')
  walker = newWalker(system, { overSockets: true })
  const { url } = newAssistant(system, await preRegistered(system)).request()
  page = await arrive(system, walker, person, url)
  if (!isConsent(page)) throw new Error('The consent page is not shown')
})
afterAll(() => system.stop())

const allow = () => decide(system, walker, page)
const grants = () =>
  system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.userId, person.userId))
const isSignIn = ({ forms }: Page) => forms.some(({ button }) => button === 'Sign in')

test('signed out everywhere, then Allow: they sign in again, and nothing was granted', async () => {
  await (await signedIn(system, person.email)).call(signOutEverywhere, {})
  const after = await allow()
  expect([after.location, isSignIn(after)]).toEqual([undefined, true])
  expect(await grants()).toEqual([])
  // The same request, once they are back.
  const again = await arrive(system, walker, person, new URL(page.url))
  expect((await decide(system, walker, again)).location?.searchParams.get('code')).toBeTruthy()
  expect(await grants()).toHaveLength(1)
})

test.each([1, 2, 3])(
  'set inactive by the directory while Allow is pressed: no agent is left, %i',
  async () => {
    const at = await insertScimBearer(system, await makeOrganization(system))
    const { id } = await provision(at)
    const isIt = eq(provisionedPeople.id, id)
    // Bound to whoever has the page open.
    await system.db.update(provisionedPeople).set({ orgId: org.id, userId: person.userId }).where(isIt)
    await system.db.update(scimBearers).set({ orgId: org.id }).where(eq(scimBearers.orgId, at.org.id))
    await Promise.all([allow(), at.directory('DELETE', `/Users/${id}`)])
    expect((await grants()).filter(({ revokedAt }) => revokedAt === null)).toEqual([])
    await org.owner.call(revokeScimBearer, {})
  },
)

test('removed, then Allow: the page has nothing left to choose', async () => {
  await org.owner.call(removeMember, { org_id: org.id, user_id: person.userId })
  const after = await allow()
  expect(after.location).toBeUndefined()
  expect(await grants()).toEqual([])
})

describe.skipIf(hasOneConnection)('at the same moment', () => {
  let second: Connection
  beforeAll(async () => void (second = await connect({ url: (await testDatabase()).url! }, { poolSize: 1 })))
  afterAll(() => second?.close())

  test.each([
    ['signed out', (id: string) => `update sessions set ended_at = now() where user_id = '${id}'`, true],
    ['removed', (id: string) => `delete from memberships where user_id = '${id}'`, false],
  ])('%s while Allow is on its way: it waits, and nothing is granted', async (_how, ending, signsIn) => {
    let allowed: Promise<Page> | undefined
    await second.sql.transaction(async (tx) => {
      await tx.query(ending(person.userId))
      allowed = allow()
      await vi.waitFor(
        async () => {
          const [waiting] = await system.db.execute<{ n: number }>(
            "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
          )
          expect(waiting!.n).toBe(1)
        },
        { timeout: 5000, interval: 20 },
      )
    })
    const after = await allowed!
    expect([after.location, isSignIn(after)]).toEqual([undefined, signsIn])
    expect(await grants()).toEqual([])
  })
})
