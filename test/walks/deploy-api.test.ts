/** Apps and tickets in a process of their own: the gateway relays by address, and nobody can tell the difference. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { overNetwork, type Service } from '../../src/client/service.ts'
import { createApp, listApps, showApp } from '../../src/contracts/apps.ts'
import { removeMember } from '../../src/contracts/members.ts'
import { createTicket } from '../../src/contracts/tickets.ts'
import { answerTo } from '../support/answers.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org } from '../support/make.ts'
import { freshSecrets, startSystem, type TestSystem } from '../support/system.ts'

let front: TestSystem
let apart: TestSystem
let alone: TestSystem
let org: Org

/** Requests as they arrive over there: at the internal address, with a Host of that name. */
const at =
  (system: () => TestSystem) =>
  (base: URL): Service =>
  (request) => {
    const { pathname, search } = new URL(request.url)
    return system().service(new Request(new URL(pathname + search, base), request))
  }

beforeAll(async () => {
  const secrets = freshSecrets()
  const settings = { ...secrets, BASE_DOMAIN: 'svc.test', AUTH_SERVICE_URL: 'http://auth.internal:4000' }
  const split = { ...settings, DEPLOY_URL: 'http://deploy.internal:4000' }
  front = await startSystem(
    { ...split, SVC_SERVICES: 'api-gateway,auth-service' },
    { network: at(() => apart) },
  )
  apart = await startSystem(
    { ...split, SVC_SERVICES: 'deploy-api', JWT_SECRET: '', JWT_SIGNING_KEY: '' },
    { network: at(() => front) },
  )
  alone = await startSystem(
    { ...settings, SVC_SERVICES: 'api-gateway,auth-service' },
    { network: overNetwork },
  )
  org = await makeOrganization(front)
})

afterAll(() => Promise.all([front.stop(), apart.stop(), alone.stop()]))

test('the gateway relays bearer, organization, input and answer', async () => {
  const alias = unique('app')
  const made = await org.owner.call(createApp, { alias, name: 'Shop' })
  expect((await org.owner.call(listApps, { search: alias })).apps).toEqual([made])
  const token = await makeApiToken(front, org, org.owner)
  expect((await token.call(showApp, { alias })).my_role).toBe('administrator')
  const second = await makeOrganization(front, org.owner)
  const there = front.as({ token: org.owner.token, organization: second.id })
  expect((await there(listApps, {})).apps).toEqual([])
})

test('refusals and replayed answers arrive as they were given', async () => {
  const member = await makeMember(front, org, 'viewer')
  const refused = await answerTo(front, member, createApp, { alias: 'Not An Alias', name: '' })
  expect([refused.status, refused.headers.get('x-request-id')]).toEqual([403, expect.stringMatching(/^req_/)])
  expect(
    (await answerTo(front, { token: 'nonsense' }, listApps, {})).headers.get('www-authenticate'),
  ).toContain('Bearer')
  const alias = unique('app')
  await org.owner.call(createApp, { alias, name: 'Shop' })
  const who = { ...member, headers: { 'idempotency-key': unique('key') } }
  const asked = { alias, title: 'It broke', body: 'Badly.' }
  const first = await answerTo(front, who, createTicket, asked)
  const again = await answerTo(front, who, createTicket, asked)
  expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true'])
})

test('whoever was removed a moment ago is refused there too', async () => {
  const member = await makeMember(front, org, 'developer')
  expect((await member.call(listApps, {})).apps.length).toBeGreaterThan(0)
  await org.owner.call(removeMember, { org_id: org.id, user_id: member.userId })
  await expect(member.call(listApps, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('it answers at its internal address alone, and only what is its own', async () => {
  const ask = async (url: string) =>
    (await apart.service(new Request(url, { headers: { authorization: `Bearer ${org.owner.token}` } })))
      .status
  expect(await ask('http://deploy.internal:4000/api/deploy/apps')).toBe(200)
  expect(await ask('http://elsewhere.test/api/deploy/apps')).toBe(421)
  expect(await ask('http://deploy.internal:4000/api/v1/me')).toBe(404)
})

test('a gateway that was told of none says so at once instead of asking itself', async () => {
  const { status, text } = await answerTo(alone, org.owner, listApps, {})
  expect(status).toBe(504)
  expect(text).toContain('does not run here')
})
