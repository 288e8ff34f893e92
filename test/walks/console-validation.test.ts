/** A page reads once whether its session is live, however much it asks for; a form, and another organization, ask anew. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dispatcher } from '../../src/boot/listener.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { listMembers, removeMember } from '../../src/contracts/members.ts'
import { signOut } from '../../src/contracts/sessions.ts'
import { listOrganizations } from '../../src/contracts/organizations.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import { makeMember, makeOrganization, type Org } from '../support/make.ts'
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
  return { status: response.status, text: await response.text(), calls, reads }
}

test.each(['/console', '/console/activity', '/console/agents?all=true', '/console/connect?assistant=codex'])(
  '%s reads once who opens it',
  async (path) => {
    const opened = []
    for (let times = 0; times < 4; times++) opened.push(await open(path, org.owner.token))
    // On a busy machine one of them may take longer than an answer is fresh.
    expect(Math.min(...opened.map(({ reads }) => reads))).toBe(1)
    expect(Math.min(...opened.map(({ calls }) => calls))).toBeGreaterThan(3)
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  },
)

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
