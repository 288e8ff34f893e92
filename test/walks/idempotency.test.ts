/** A request that is sent twice with one Idempotency-Key happens once, and is answered twice. */
import { sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { idempotencyKeys } from '../../db/schema.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { IDEMPOTENCY_KEY_SECONDS } from '../../src/contracts/limits.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { createOrganization, listOrganizations } from '../../src/contracts/organizations.ts'
import { createApiToken } from '../../src/contracts/tokens.ts'
import { answerTo } from '../support/answers.ts'
import { makeOrganization, makePerson, signedIn, unique, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
})

afterAll(() => system.stop())

const found = async ({ token }: Pick<Person, 'token'>, name: string, key: string) => {
  const who = { token, headers: { 'idempotency-key': key } }
  const { status, headers, text } = await answerTo(system, who, createOrganization, { name })
  const body = JSON.parse(text) as { id?: string }
  return { status, id: body.id, replayed: headers.get('idempotency-replayed') }
}
const count = async ({ call }: Pick<Person, 'call'>) =>
  (await call(listOrganizations, {})).organizations.length

test('operations that take a key are walked here, and none of them answers a secret', () => {
  const takers = (OPERATIONS as readonly Operation[]).filter(({ takesIdempotencyKey }) => takesIdempotencyKey)
  expect(takers.map(({ name }) => name)).toEqual([
    'createOrganization',
    'createApp',
    'createDeployment',
    'rollBackDeployment',
    'createTicket',
    'replyToTicket',
    'createCheck',
    'createPipeline',
    'startPipelineRun',
    'approveProposal',
    'denyProposal',
    'createSubscription',
    'replayDelivery',
    'replayFailedDeliveries',
    'recoverDeliveries',
  ])
  for (const { output } of takers) {
    expect(Object.keys(output.shape).filter((name) => /token|secret|password|url/.test(name))).toEqual([])
  }
})

test('the same key replays the first answer and says so', async () => {
  const person = await makePerson(system)
  const [name, key] = [unique('Once'), unique('key')]
  const first = await found(person, name, key)
  expect(first).toMatchObject({ status: 201, replayed: null })
  expect(await found(person, name, key)).toEqual({ ...first, replayed: 'true' })
  expect(await count(person)).toBe(1)
})

test('the same key for another request is a conflict, and the first answer stays', async () => {
  const person = await makePerson(system)
  const [name, key] = [unique('Once'), unique('key')]
  const first = await found(person, name, key)
  expect((await found(person, unique('Other'), key)).status).toBe(409)
  expect(await found(person, name, key)).toEqual({ ...first, replayed: 'true' })
  expect(await count(person)).toBe(1)
})

test('without a key, or with another one, it happens again', async () => {
  const person = await makePerson(system)
  const name = unique('Often')
  await found(person, name, unique('key'))
  await found(person, name, unique('key'))
  await person.call(createOrganization, { name })
  expect(await count(person)).toBe(3)
})

test('of requests that come at the same moment one has an effect, and all get its answer', async () => {
  const person = await makePerson(system)
  const [name, key] = [unique('Once'), unique('key')]
  const all = await Promise.all(Array.from({ length: 5 }, () => found(person, name, key)))
  expect(new Set(all.map(({ status, id }) => `${status} ${id}`)).size).toBe(1)
  expect(all.map(({ replayed }) => replayed).filter((word) => word === null)).toHaveLength(1)
  expect(await count(person)).toBe(1)
})

test('the same key of somebody else is another key', async () => {
  const people = [await makePerson(system), await makePerson(system)] as const
  const [name, key] = [unique('Same'), unique('key')]
  const [mine, theirs] = [await found(people[0], name, key), await found(people[1], name, key)]
  expect(theirs).toMatchObject({ status: 201, replayed: null })
  expect(theirs.id).not.toBe(mine.id)
  expect(await found(people[0], name, key)).toEqual({ ...mine, replayed: 'true' })
})

test('the same key of one person in another organization is another key', async () => {
  const { owner, slug } = await makeOrganization(system)
  const second = await owner.call(createOrganization, { name: unique('Second') })
  const [alias, key] = [unique('shop'), unique('key')]
  const made = async (organization: string) => {
    const headers = { 'idempotency-key': key, 'x-svc-org': organization }
    const who = { token: owner.token, headers }
    const { status, headers: answered } = await answerTo(system, who, createApp, { alias, name: 'Shop' })
    return [status, answered.get('idempotency-replayed')]
  }
  expect([await made(slug), await made(second.slug), await made(slug)]).toEqual([
    [201, null],
    [201, null],
    [201, 'true'],
  ])
})

test('a failure is not kept: the same key may try again', async () => {
  const person = await makePerson(system)
  const key = unique('key')
  expect((await found(person, '', key)).status).toBe(400)
  expect((await found({ token: 'nobody' }, unique('Once'), key)).status).toBe(401)
  expect(await found(person, unique('Once'), key)).toMatchObject({ status: 201, replayed: null })
})

test('a key is forgotten after a day', async () => {
  const person = await makePerson(system)
  const [name, key] = [unique('Daily'), unique('key')]
  const first = await found(person, name, key)
  system.clock.advance(IDEMPOTENCY_KEY_SECONDS)
  const again = await found(await signedIn(system, person.email), name, key)
  expect(again).toMatchObject({ status: 201, replayed: null })
  expect(again.id).not.toBe(first.id)
})

test('an operation that answers a secret takes no key: nothing of it is kept', async () => {
  const { owner } = await makeOrganization(system)
  const who = { token: owner.token, headers: { 'idempotency-key': unique('key') } }
  const make = async () => {
    const { headers, text } = await answerTo(system, who, createApiToken, { name: 'same' })
    expect(headers.get('idempotency-replayed')).toBeNull()
    return (JSON.parse(text) as { token: string }).token
  }
  const [first, second] = [await make(), await make()]
  expect(second).not.toBe(first)
  const kept = await system.db
    .select()
    .from(idempotencyKeys)
    .where(sql`strpos(${idempotencyKeys.answer}::text, ${first}) > 0`)
  expect(kept).toEqual([])
})
