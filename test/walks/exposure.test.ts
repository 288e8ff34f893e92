/** Who may ask what: the access table of the contract, cell by cell, and how a source comes onto the list and off it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { dataSources } from '../../db/schema.ts'
import type { CallOptions } from '../../src/client/http-client.ts'
import {
  fetchDataSourceRow,
  listAskableDataSources,
  listDataSources,
  queryDataSource,
  setDataSourceState,
  setDataSourceExposure,
  showDataSource,
} from '../../src/contracts/data-sources.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { EXPOSED_MAX } from '../../src/contracts/limits.ts'
import { atLeast, GRANTABLE_ROLES, ROLES, type Role } from '../../src/contracts/roles.ts'
import { answerTo } from '../support/answers.ts'
import {
  agentOf,
  insertSource,
  startWithDatabases,
  type Source,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'

let system: SystemWithDatabases
let org: Org
let people: Record<Role, Person>

beforeAll(async () => {
  system = await startWithDatabases()
})

beforeEach(async () => {
  org = await makeOrganization(system)
})

afterAll(() => system.stop())

const exposed = { enabled: true, exposed: true }

type Who = CallOptions & { headers?: Record<string, string> }
const asking = (who: Who, source_id: string) =>
  answerTo(system, who, queryDataSource, { source_id, query: 'x' })
const fetching = (who: Who, source_id: string) =>
  answerTo(system, who, fetchDataSourceRow, { source_id, handle: 'x' })

/** What somebody sees of a source, and hears when they ask it. Nothing here is configured: whoever is let in hears that. */
async function access({ sourceId }: Source, who: CallOptions): Promise<string> {
  const { data_sources } = await system.as(who)(listAskableDataSources, {})
  const isListed = data_sources.some(({ id }) => id === sourceId)
  const [asked, fetched] = [await asking(who, sourceId), await fetching(who, sourceId)]
  const said = asked.text.includes('NO_SEMANTIC_SEARCH') ? 'may ask' : String(asked.status)
  // A handle nobody gave out is the first thing that is wrong with a fetch that is let in.
  expect(fetched.status).toBe(said === 'may ask' ? 400 : asked.status)
  return `${isListed ? 'listed' : 'not listed'}, ${said}`
}

describe('the access table', () => {
  beforeAll(async () => {
    org = await makeOrganization(system)
    const made = ROLES.map(async (role) => [role, await makeMember(system, org, role)] as const)
    people = Object.fromEntries(await Promise.all(made)) as Record<Role, Person>
  })
  // Of the people above.
  let theirs: Org
  beforeAll(() => {
    theirs = org
  })

  describe.each(GRANTABLE_ROLES)('minimum role %s', (minimumRole) => {
    test.each(ROLES)('as %s', async (role) => {
      const { token } = people[role]
      const may = atLeast(role, minimumRole)
      const make = (state: object) => insertSource(system, theirs, { minimumRole, ...state })
      expect(await access(await make(exposed), { token })).toBe(may ? 'listed, may ask' : 'not listed, 403')
      expect(await access(await make({ enabled: true }), { token })).toBe('not listed, 404')
      expect(await access(await make({}), { token })).toBe('not listed, 404')
      // Cannot be by any operation; if it ever is, off wins.
      expect(await access(await make({ exposed: true }), { token })).toBe('not listed, 404')
    })
  })

  test('a role cap of a token counts like a role', async () => {
    const source = await insertSource(system, theirs, { ...exposed, minimumRole: 'developer' })
    const token = async (asked: object) => (await makeApiToken(system, theirs, theirs.owner, asked)).token
    expect(await access(source, { token: await token({}) })).toBe('listed, may ask')
    expect(await access(source, { token: await token({ role_cap: 'viewer' }) })).toBe('not listed, 403')
    expect(await access(source, { token: await token({ scopes: ['data:read'] }) })).toBe('listed, may ask')
  })

  test('a source of another organization does not exist, whatever its state', async () => {
    const other = await makeOrganization(system)
    const source = await insertSource(system, theirs, exposed)
    expect(await access(source, { token: other.owner.token })).toBe('not listed, 404')
    expect(await access({ ...source, sourceId: source.id }, { token: other.owner.token })).toBe(
      'not listed, 404',
    )
  })

  test('the refusal of a low role says which it needs, and only for what is exposed', async () => {
    const source = await insertSource(system, theirs, { ...exposed, minimumRole: 'admin' })
    await expect(
      people.viewer.call(queryDataSource, { source_id: source.id, query: 'x' }),
    ).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'This data source requires the role admin or above',
    })
  })
})

describe('an agent with chosen sources', () => {
  const agentFor = (sources: readonly string[] | null) => agentOf(system, org, org.owner, sources)

  test('sees and asks those, and none but those', async () => {
    const [chosen, outside] = [
      await insertSource(system, org, exposed),
      await insertSource(system, org, exposed),
    ]
    const hidden = await insertSource(system, org, { enabled: true })
    const who = await agentFor([chosen.id, hidden.id])
    expect(await access(chosen, await who())).toBe('listed, may ask')
    expect(await access(outside, await who())).toBe('not listed, 404')
    expect(await access(hidden, await who())).toBe('not listed, 404')
    expect(await access(outside, await (await agentFor(null))())).toBe('listed, may ask')
    expect(await access(chosen, await (await agentFor([]))())).toBe('not listed, 404')
  })

  test('cannot tell unknown, hidden, off and not chosen apart: the four 404s are the same to the byte', async () => {
    const who = await agentFor([(await insertSource(system, org, exposed)).id])
    const ids = [
      'db_unknown',
      makeId('ds', 0),
      (await insertSource(system, org, { enabled: true })).sourceId,
      (await insertSource(system, org)).sourceId,
      (await insertSource(system, org, exposed)).sourceId,
      (await insertSource(system, org, { ...exposed, minimumRole: 'owner' })).id,
      (await insertSource(system, await makeOrganization(system), exposed)).id,
    ]
    for (const accept of ['application/json', 'application/yaml', '*/*']) {
      for (const ask of [asking, fetching]) {
        const answers = new Set<string>()
        for (const source_id of ids) {
          const { status, headers, text } = await ask({ ...(await who()), headers: { accept } }, source_id)
          headers.delete('x-request-id')
          headers.delete('date')
          answers.add(JSON.stringify([status, [...headers], text]))
        }
        expect(answers.size).toBe(1)
        expect([...answers][0]).toMatch(/^\[404,/)
      }
    }
  })
})

describe('switching and exposing', () => {
  const call = () => org.owner.call
  const state = (source_id: string, enabled: boolean) => call()(setDataSourceState, { source_id, enabled })

  test('off ends the exposure, and on does not bring it back', async () => {
    const { id } = await insertSource(system, org, { ...exposed, minimumRole: 'admin' })
    expect(await state(id, false)).toMatchObject({ enabled: false, exposed: false, minimum_role: 'admin' })
    expect(await state(id, true)).toMatchObject({ enabled: true, exposed: false, minimum_role: 'admin' })
    expect(await call()(setDataSourceExposure, { source_id: id, exposed: true })).toMatchObject({
      exposed: true,
      minimum_role: 'admin',
    })
  })

  test('what is off cannot be exposed', async () => {
    const { id } = await insertSource(system, org)
    await expect(call()(setDataSourceExposure, { source_id: id, exposed: true })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    // The role can be set before.
    expect(
      await call()(setDataSourceExposure, { source_id: id, exposed: false, minimum_role: 'owner' }),
    ).toMatchObject({ exposed: false, minimum_role: 'owner' })
  })

  test.each(ROLES)('as %s', async (role) => {
    const person = await makeMember(system, org, role)
    const source = await insertSource(system, org)
    const may = atLeast(role, 'admin')
    for (const attempt of [
      () => person.call(setDataSourceState, { source_id: source.id, enabled: true }),
      () =>
        person.call(setDataSourceExposure, { source_id: source.id, exposed: true, minimum_role: 'viewer' }),
    ]) {
      if (may) expect((await attempt()).enabled).toBe(true)
      else await expect(attempt()).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    const { data_sources } = atLeast(role, 'developer')
      ? await person.call(listDataSources, {})
      : { data_sources: [] }
    expect(data_sources.map(({ id }) => id)).toEqual(atLeast(role, 'developer') ? [source.id] : [])
  })

  test.each(['member', 'nobody', '', 1])('%j is no minimum role', async (minimum_role) => {
    const { id } = await insertSource(system, org, { enabled: true })
    await expect(
      call()(setDataSourceExposure, { source_id: id, exposed: true, minimum_role: minimum_role as never }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('a hundred at most, also when twenty come at once for the last five places', async () => {
    const many = Array.from({ length: EXPOSED_MAX - 5 }, (_, n) => ({ ...exposed, name: `full_${n}` }))
    for (const given of many) await insertSource(system, org, given)
    // Disabled, and of another organization: neither counts.
    await insertSource(system, org, { exposed: false })
    await insertSource(system, await makeOrganization(system), exposed)
    const waiting = await Promise.all(
      Array.from({ length: 20 }, (_, n) => insertSource(system, org, { enabled: true, name: `waits_${n}` })),
    )
    const outcomes = await Promise.all(
      waiting.map(({ id }) =>
        call()(setDataSourceExposure, { source_id: id, exposed: true }).then(
          () => 'exposed',
          (error: { code: string }) => error.code,
        ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'exposed')).toHaveLength(5)
    expect(outcomes.filter((outcome) => outcome === 'EXPOSURE_LIMIT')).toHaveLength(15)
    const rows = await system.db
      .select({ id: dataSources.id })
      .from(dataSources)
      .where(and(eq(dataSources.orgId, org.id), eq(dataSources.exposed, true)))
    expect(rows).toHaveLength(EXPOSED_MAX)

    const late = waiting[outcomes.indexOf('EXPOSURE_LIMIT')]!
    await expect(call()(setDataSourceExposure, { source_id: late.id, exposed: true })).rejects.toMatchObject({
      code: 'EXPOSURE_LIMIT',
      message: 'At most 100 data sources may be exposed',
    })
    // A role of one that is exposed already may still change.
    const first = waiting[outcomes.indexOf('exposed')]!
    await call()(setDataSourceExposure, { source_id: first.id, exposed: true, minimum_role: 'owner' })
    await state(first.id, false)
    expect((await call()(setDataSourceExposure, { source_id: late.id, exposed: true })).exposed).toBe(true)
    expect((await call()(showDataSource, { source_id: first.id })).exposed).toBe(false)
  })
})

test('both lists find a source by part of either name, and what is typed is never a pattern', async () => {
  await insertSource(system, org, { name: 'orders_2026', title: 'Bestellungen', ...exposed })
  await insertSource(system, org, { name: 'people', title: '100% people', ...exposed })
  const { call } = org.owner
  const found: [search: string, names: string[]][] = [
    ['ORDERS', ['db_orders_2026']],
    ['stellung', ['db_orders_2026']],
    ['100%', ['db_people']],
    ['%', ['db_people']],
    ['o%e', []],
    ['', ['db_orders_2026', 'db_people']],
  ]
  for (const [search, names] of found) {
    const all = await call(listDataSources, { search })
    expect(all.data_sources.map(({ source_id }) => source_id)).toEqual(names)
    const askable = await call(listAskableDataSources, { search })
    expect(askable.data_sources.map(({ id }) => id)).toEqual(names)
  }
  const elsewhere = await makeOrganization(system)
  expect((await elsewhere.owner.call(listDataSources, { search: 'people' })).data_sources).toEqual([])
})
