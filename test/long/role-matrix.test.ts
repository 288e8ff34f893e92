/**
 * Every operation with every role in every kind of credential, about things that are there: who is let in is what the
 * operation declares, nothing else. And whoever owns another organization finds nothing of this one.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import type { ErrorBody } from '../../src/contracts/errors.ts'
import { typesOf } from '../../src/contracts/media-types.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { GRANTABLE_ROLES, ROLES } from '../../src/contracts/roles.ts'
import { APP_SCOPES, SCOPE_NAMES } from '../../src/contracts/scopes.ts'
import {
  apiToken,
  appToken,
  cliSession,
  expectedCode,
  OPEN,
  withRole,
  withScope,
  type Rule,
} from '../support/access-rules.ts'
import { actorOf, signActor } from '../support/actor.ts'
import {
  API_OPERATIONS,
  inputsOf,
  pathWith,
  queryOf,
  type ApiOperation,
  type Inputs,
  type Known,
} from '../support/api-requests.ts'
import { signInCli } from '../support/cli-login.ts'
import { placeForDatabases } from '../support/data-sources.ts'
import { fakeChatApp, fakeChecks } from '../support/fake-integrations.ts'
import { makeFurnishedWorld, type FurnishedWorld } from '../support/furnished-world.ts'
import { makeApiToken, makeMember, unique } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let place: Awaited<ReturnType<typeof placeForDatabases>>
let [here, elsewhere]: FurnishedWorld[] = []

/** Valid for a minute only, so every request gets a fresh one. */
type Bearer = () => string | Promise<string>
let bearers: Record<string, Bearer>

/** Both hold. */
const and =
  (one: Rule, other: Rule): Rule =>
  (op) =>
    one(op) === OPEN ? other(op) : one(op)

const WHO: readonly [who: string, rule: Rule][] = [
  ...ROLES.map((role): [string, Rule] => [`a session of the role ${role}`, withRole(role)]),
  ...ROLES.map((role): [string, Rule] => [
    `a login of the client of the role ${role}`,
    and(cliSession, withRole(role)),
  ]),
  ...ROLES.map((role): [string, Rule] => [`an API token of the role ${role}`, and(apiToken, withRole(role))]),
  ...GRANTABLE_ROLES.map((role): [string, Rule] => [
    `an API token of the owner capped at ${role}`,
    and(apiToken, withRole(role)),
  ]),
  ...SCOPE_NAMES.map((scope): [string, Rule] => [`an API token for ${scope}`, withScope(scope)]),
  ...SCOPE_NAMES.map((scope): [string, Rule] => [`an assertion for ${scope}`, withScope(scope)]),
  ...APP_SCOPES.map((scope): [string, Rule] => [`an app token for ${scope}`, appToken(scope)]),
  ...ROLES.map((role): [string, Rule] => [
    `an assertion for data:read of the role ${role}`,
    and(withScope('data:read'), withRole(role)),
  ]),
]

beforeAll(async () => {
  place = await placeForDatabases('embedded')
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...place.settings },
    { checks: fakeChecks, chatApp: fakeChatApp },
  )
  here = await makeFurnishedWorld(system)
  elsewhere = await makeFurnishedWorld(system)
  bearers = await makeBearers(here)
})

afterAll(async () => {
  await place.clear(system)
  await system.stop()
  await place.remove()
})

async function makeBearers({ org, alias }: FurnishedWorld): Promise<Record<string, Bearer>> {
  const made: Record<string, Bearer> = {}
  const asserted = await makeApiToken(system, org, org.owner)
  for (const role of ROLES) {
    const person = await makeMember(system, org, role)
    const own = await makeApiToken(system, org, person)
    made[`a session of the role ${role}`] = () => person.token
    const cli = await signInCli(system, org, person)
    made[`a login of the client of the role ${role}`] = () => cli.access
    made[`an API token of the role ${role}`] = () => own.token
    made[`an assertion for data:read of the role ${role}`] = () =>
      signActor(system, actorOf(org, person, own.id))
  }
  for (const role of GRANTABLE_ROLES) {
    const { token } = await makeApiToken(system, org, org.owner, { role_cap: role })
    made[`an API token of the owner capped at ${role}`] = () => token
  }
  for (const scope of SCOPE_NAMES) {
    const { token } = await makeApiToken(system, org, org.owner, { scopes: [scope] })
    made[`an API token for ${scope}`] = () => token
    made[`an assertion for ${scope}`] = () => signActor(system, actorOf(org, org.owner, asserted.id, [scope]))
  }
  for (const scope of APP_SCOPES) {
    const { token } = await org.owner.call(createAppToken, { alias, name: scope, scope })
    made[`an app token for ${scope}`] = () => token
  }
  return made
}

type Answer = { readonly status: number; readonly body: string }

async function ask(op: ApiOperation, { path, query, body }: Inputs, token: string): Promise<Answer> {
  const type = contentTypeOf(op, body)
  const response = await system.fetch(pathWith(op, path) + queryOf(query), {
    method: op.method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json',
      ...(type && { 'content-type': type }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  // What goes on by itself is not waited for.
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  if (isStream) await response.body?.cancel()
  return { status: response.status, body: isStream ? '' : await response.text() }
}

/** Where bytes are taken, something else is spoiled by its type. */
function contentTypeOf({ name }: ApiOperation, body: Inputs['body']): string | undefined {
  const { takes } = declared.get(name)!.http
  if (takes) return body ? 'application/x-not-an-input' : typesOf(takes.type)[0]
  return body && 'application/json'
}

const codeOf = ({ body }: Answer): string =>
  (JSON.parse(body) as Partial<ErrorBody>).error?.code ?? 'answered'

/** One input with everything that is known in it, the same each time. */
function inputFor(op: ApiOperation, known: Known): Inputs {
  const [input] = fc.sample(inputsOf(op, known, 0), { seed: 1, numRuns: 1 })
  return input!
}

/** Refused by whoever gets as far as reading it. */
const spoiled = (op: ApiOperation, input: Inputs): Inputs =>
  ['GET', 'DELETE'].includes(op.method)
    ? { ...input, query: { ...input.query, not_an_input: '1' } }
    : { ...input, body: { ...input.body, not_an_input: 1 } }

const declared = new Map<string, Operation>(OPERATIONS.map((op) => [op.name, op]))
const NAMED = API_OPERATIONS.map((op): [string, ApiOperation] => [op.name, op])

describe.each(NAMED)('%s', (name, op) => {
  test('is open to whom it declares, and to nobody else', async () => {
    const input = inputFor(op, here!.known)
    for (const [who, rule] of WHO) {
      const expected = expectedCode(declared.get(name)!, rule)
      const bearer = bearers[who]!
      const code = codeOf(await ask(op, spoiled(op, input), await bearer()))
      expect(`${who}: ${code}`).toBe(`${who}: ${expected}`)
      if (expected === OPEN) continue
      // Refused whatever is sent: the rest of the input was not the reason.
      expect(`${who}: ${codeOf(await ask(op, input, await bearer()))}`).toBe(`${who}: ${expected}`)
    }
  })
})

/** Whatever differs between two answers although they say the same. */
const comparable = ({ status, body }: Answer, ...given: readonly unknown[]): string => {
  let text = body
  for (const value of given) text = text.replaceAll(JSON.stringify(value).slice(1, -1), '<given>')
  return `${status} ${text}`
    .replaceAll(/\b[a-z]{2,3}_[0-9a-z]{25}\b/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
}

const noWord = () => unique('nothing').replace('-', '_')
/** Fields that name something of an organization by a word, with one that names nothing anywhere. */
const NOTHING: Readonly<Record<string, () => string>> = {
  source_id: () => `db_${noWord()}`,
  sources: () => `db_${noWord()}`,
  source: () => `db_${noWord()}`,
  alias: () => unique('nothing'),
  app: () => unique('nothing'),
  name: noWord,
}
const ID = /^([a-z]{2,3})_[0-9a-z]{25}$/
const nothingLike = (field: string, value: string): string | undefined =>
  NOTHING[field]?.() ?? (ID.test(value) ? value.replace(ID, `$1_${'0'.repeat(25)}`) : undefined)

type Place = 'path' | 'query' | 'body'
type Name = { readonly place: Place; readonly field: string; readonly value: string }
/** The fields of an operation that take what is there in this organization. */
const namesIn = (op: ApiOperation, known: Known): Name[] => {
  const schemas = { path: op.inPath, query: op.inQuery, body: op.inBody ?? {} }
  return (Object.keys(schemas) as Place[]).flatMap((place) =>
    Object.keys(schemas[place].properties ?? {}).flatMap((field) => {
      // A name is that of a database only where it is known as one.
      const value = (known[`${op.name}.${field}`] ?? (field === 'name' ? undefined : known[field]))?.[0]
      return typeof value === 'string' && nothingLike(field, value) !== undefined
        ? [{ place, field, value }]
        : []
    }),
  )
}

/** With one name changed. Filters that nobody asked about are left out: one of them may find nothing by itself. */
function withName(op: ApiOperation, input: Inputs, { place, field }: Name, value: string): Inputs {
  const required = op.inQuery.required ?? []
  const query = Object.fromEntries(Object.entries(input.query).filter(([key]) => required.includes(key)))
  // What is removed is named twice.
  if ('confirm' in query) query['confirm'] = value
  const isList = op.inBody?.properties?.[field]?.type === 'array'
  const named = { [field]: place === 'body' && isList ? [value] : value }
  return { ...input, query, [place]: { ...(place === 'query' ? query : input[place]), ...named } }
}

/** Counts what was done: somebody whom nobody knows did nothing. */
const COUNTS = new Set(['showAgentDay'])

let walked = 0

describe('the owner of another organization', () => {
  test.each(NAMED)(
    'gets the same answer from %s for what is here and for what is nowhere',
    async (operation, op) => {
      const isOperators = declared.get(operation)!.access === 'operator'
      const token = elsewhere!.org.owner.token
      // Everything else in the request is their own, so that this one name decides.
      const own = inputFor(op, elsewhere!.known)
      for (const name of namesIn(op, here!.known)) {
        const { place, field, value } = name
        const nothing = nothingLike(field, value)!
        const unknown = await ask(op, withName(op, own, name, nothing), token)
        const hidden = await ask(op, withName(op, own, name, value), token)
        expect(`${field}: ${comparable(hidden, value)}`).toBe(`${field}: ${comparable(unknown, nothing)}`)
        expect(unknown.status).toBeLessThan(500)
        if (place === 'path' && !COUNTS.has(operation))
          expect(codeOf(unknown)).toBe(isOperators ? 'FORBIDDEN' : 'NOT_FOUND')
        walked += 1
      }
    },
  )

  test('and the walk went through many names', () => expect(walked).toBeGreaterThan(60))
})
