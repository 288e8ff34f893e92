/** A page reads once whether its session is live, however much it asks for; a form, and another organization, ask anew. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memberships, organizations as organizationRows } from '../../db/schema.ts'
import { dispatcher } from '../../src/boot/listener.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { PAGE_DEFAULT } from '../../src/contracts/limits.ts'
import { listMembers, removeMember } from '../../src/contracts/members.ts'
import { listOrganizations, switchOrganization } from '../../src/contracts/organizations.ts'
import { signOut } from '../../src/contracts/sessions.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org

beforeAll(async () => {
  system = await startSystem()
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
})
afterAll(() => system.stop())

async function open(path: string, token: string) {
  const start = system.logLines.length
  const response = await dispatcher(system.system)(
    new Request(new URL(path, system.system.config.APP_URL), {
      headers: { cookie: `svc_console=${token}`, 'sec-fetch-site': 'none' },
    }),
  )
  const lines = system.logLines.slice(start).map((line) => JSON.parse(line) as { route?: string })
  const calls = lines.filter(({ route }) => /^[a-z]+[A-Z]/.test(route ?? '')).length
  const reads = lines.filter(({ route }) => route === 'validateToken').length
  const listed = lines.filter(({ route }) => route === 'listOrganizations').length
  return { status: response.status, text: await response.text(), calls, reads, listed }
}

const validate = (token: string, organization?: string) =>
  system.as()(validateToken, { token, organization, audience: 'api', organizations: true })

test.each(['/console', '/console/activity', '/console/agents?all=true', '/console/connect?assistant=codex'])(
  '%s reads once who opens it',
  async (path) => {
    const opened = []
    for (let times = 0; times < 4; times++) opened.push(await open(path, org.owner.token))
    // On a busy machine one of them may take longer than an answer is fresh.
    expect(Math.min(...opened.map(({ reads }) => reads))).toBe(1)
    expect(Math.min(...opened.map(({ calls }) => calls))).toBeGreaterThan(2)
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  },
)

test('who opens it and their organizations are one answer, as the two operations give them', async () => {
  const [first, second] = [await makeOrganization(system), await makeOrganization(system)]
  const member = await makeMember(system, first, 'developer')
  await makeMember(system, second, 'viewer', member)
  for (const chosen of [undefined, second, first]) {
    if (chosen) await member.call(switchOrganization, { org_id: chosen.id })
    const { organizations, ...holder } = await validate(member.token)
    expect(organizations).toEqual((await member.call(listOrganizations, {})).organizations)
    expect(organizations?.map(({ role }) => role).toSorted()).toEqual(['developer', 'viewer'])
    expect(holder).toEqual(await system.as()(validateToken, { token: member.token, audience: 'api' }))
    const { text, listed } = await open('/console/apps', member.token)
    expect(listed).toBe(0)
    expect(text).toContain(first.name)
    expect(text).toContain(second.name)
  }
  await second.owner.call(removeMember, { org_id: second.id, user_id: member.userId })
  const { organizations } = await validate(member.token)
  expect(organizations?.map(({ id }) => id)).toEqual([first.id])
  expect((await open('/console/apps', member.token)).text).not.toContain(second.name)
})

test('somebody without an organization has an empty list of them', async () => {
  const { token } = await makePerson(system)
  expect(await validate(token)).toMatchObject({ organization: null, role: null, organizations: [] })
  expect((await open('/console', token)).status).toBe(200)
})

test('an API token, and a session that names an organization, list none', async () => {
  const token = await makeApiToken(system, org, org.owner)
  expect((await validate(token.token)).organizations).toBeUndefined()
  expect((await validate(org.owner.token, org.id)).organizations).toBeUndefined()
  await expect(validate(org.owner.token, other.id)).resolves.toMatchObject({ organization: null })
})

test('more organizations than a page are asked for as a list', async () => {
  const person = await makePerson(system)
  const [first] = await makeOrganizations(person, PAGE_DEFAULT)
  expect(await validate(person.token)).toMatchObject({ organization: { id: first } })
  expect((await validate(person.token)).organizations).toBeUndefined()
  const { status, listed } = await open('/console/apps', person.token)
  expect({ status, listed }).toEqual({ status: 200, listed: 1 })
  const one = await makePerson(system)
  await makeOrganizations(one, PAGE_DEFAULT - 1)
  expect((await validate(one.token)).organizations).toHaveLength(PAGE_DEFAULT - 1)
})

/** Their ids, in the order in which the person joined them. */
async function makeOrganizations({ userId }: Person, count: number): Promise<string[]> {
  const now = system.clock.now().getTime()
  const made = Array.from({ length: count }, (_, at) => ({
    id: makeId('org', now + at),
    name: `Org ${count - at}`,
    slug: unique('org'),
    createdAt: new Date(now + at),
  }))
  await system.db.insert(organizationRows).values(made)
  const joined = { userId, role: 'owner' as const, joinedBy: 'creation' as const }
  await system.db
    .insert(memberships)
    .values(made.map(({ id, createdAt }) => ({ ...joined, orgId: id, joinedAt: createdAt })))
  return made.map(({ id }) => id)
}

test('what ended is refused by the next page', async () => {
  const member = await makeMember(system, org, 'developer')
  expect((await open('/console/apps', member.token)).text).toContain(org.name)
  await org.owner.call(removeMember, { org_id: org.id, user_id: member.userId })
  expect((await open('/console/apps', member.token)).text).not.toContain(org.name)
  await member.call(signOut, { session_id: 'current' })
  expect((await open('/console', member.token)).status).not.toBe(200)
})

test('the answer about one organization opens no other, and none to another bearer', async () => {
  const gateway = system.system.services.get('api-gateway')!
  const { token } = org.owner
  const validation = await httpClient(gateway)(validateToken, { token, audience: 'api' })
  const call = httpClient(gateway, { token, validation })
  expect((await call(listMembers, { org_id: org.id })).members).toHaveLength(1)
  await expect(call(listMembers, { org_id: other.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const ofOther = httpClient(gateway, { token: other.owner.token, validation })
  await expect(ofOther(listMembers, { org_id: org.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const { organizations } = await ofOther(listOrganizations, {})
  expect(organizations.map(({ id }) => id)).toEqual([other.id])
})
