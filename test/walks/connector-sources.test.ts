/** Which data sources an agent may query: chosen on the consent page, kept by refreshes, and only ever narrowed. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { apps, dataSources, platformAccessGrants } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listAskableDataSources, queryDataSource } from '../../src/contracts/data-sources.ts'
import { listGrants, narrowGrant } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { signActor } from '../support/actor.ts'
import { answerTo } from '../support/answers.ts'
import {
  arrive,
  boxes,
  decide,
  isConsent,
  newAssistant,
  startListeningSystem,
  preRegistered,
  tokensIn,
  type Assistant,
  type Choices,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { makeExposedSource, type ExposedSource } from '../support/exposed-source.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { formOn, newWalker } from '../support/walker.ts'

let host: DocumentHost
let system: ListeningSystem
let org: Org
let person: Person
let assistant: Assistant
let handbook: ExposedSource
let prices: ExposedSource
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  org = await makeOrganization(system)
  person = await makeMember(system, org, 'viewer')
  assistant = newAssistant(system, await preRegistered(system))
  handbook = await makeExposedSource(system, org, { name: 'handbook' })
  prices = await makeExposedSource(system, org, { name: 'prices' })
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const newBrowser = () => newWalker(system, { overSockets: true })
const connect = (choices: Choices = {}, who = person) => assistant.connect(who, {}, choices)
const grantsOf = (clientId = assistant.clientId) =>
  system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.clientId, clientId))
const sourcesOf = async (id: string) =>
  (await system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.id, id)))[0]!.sources
const change = (source: ExposedSource, set: Partial<typeof dataSources.$inferInsert>) =>
  system.db.update(dataSources).set(set).where(eq(dataSources.id, source.id))
const remove = (source: ExposedSource) => system.db.delete(dataSources).where(eq(dataSources.id, source.id))

/** What the MCP server would show the gateway on the agent's behalf. */
const assertionFor = (grantId: string, who = person) =>
  signActor(system, { userId: who.userId, orgId: org.id, scopes: ['data:read'], grantId })
const seenBy = async (grantId: string, who = person) => {
  const call = system.as({ token: await assertionFor(grantId, who) })
  return (await call(listAskableDataSources, {})).data_sources.map(({ id }) => id)
}
/** What the trail says of it, newest first. */
const trail = async (action: 'grant.created' | 'grant.narrowed') =>
  (await org.owner.call(listAudit, { org_id: org.id, action })).audit.map(({ subject }) => subject)
const listed = async (who = person) => (await who.call(listGrants, {})).grants.map(({ sources }) => sources)

describe('on the consent page', () => {
  test('all is proposed, and means later ones too', async () => {
    const page = await arrive(system, newBrowser(), person, assistant.request().url)
    expect(boxes(page, `sources:${org.id}`)).toEqual({ all: ['all', 'chosen'], ticked: ['all'] })
    expect(boxes(page, `source:${org.id}`)).toEqual({ all: [handbook.id, prices.id], ticked: [] })
    const { grantId } = await connect()
    expect(await sourcesOf(grantId)).toBeNull()
    expect(await listed()).toEqual([null])
    await makeExposedSource(system, org, { name: 'recipes' })
    expect(await seenBy(grantId)).toEqual(['db_handbook', 'db_prices', 'db_recipes'])
  })

  test('it says what it would reach now: data sources by name, of which not all rows, and how many apps', async () => {
    const reach = async (scope?: string) =>
      (await arrive(system, newBrowser(), person, assistant.request({ scope }).url)).words
    await change(handbook, { title: 'Handbook' })
    await change(prices, { title: 'Prices' })
    const none = await reach()
    expect(none).toContain('Reaches now: 2 data sources, 0 apps')
    expect(none).toContain('Now: Handbook, Prices . All rows of them.')
    const configuration = {
      connection_config: { embedding_configs: [] },
      filter_schema: {},
      access_column: 'who',
    }
    await change(prices, { configuration })
    for (const one of [org, await makeOrganization(system)]) {
      const [id, createdAt] = [makeId('app', system.clock.now().getTime()), system.clock.now()]
      await system.db.insert(apps).values({ orgId: one.id, id, alias: 'shop', name: 'Shop', createdAt })
    }
    const some = await reach()
    expect(some).toContain('Reaches now: 2 data sources, 1 app')
    expect(some).toContain('Of Prices only the rows that you may see.')
    expect(await reach('maintenance:read')).toContain('Reaches now: 1 app')
  })

  test('only the chosen ones are given, and a refresh changes nothing about it', async () => {
    const tokens = await connect({ sources: [prices.id] })
    await makeExposedSource(system, org, { name: 'recipes' })
    expect(await seenBy(tokens.grantId)).toEqual(['db_prices'])
    expect(tokensIn(await assistant.refresh(tokens.refresh)).grantId).toBe(tokens.grantId)
    expect(await seenBy(tokens.grantId)).toEqual(['db_prices'])
    expect(await listed()).toEqual([[prices]])
    expect((await trail('grant.created'))[0]).toBe('An assistant: data:read maintenance:read; only db_prices')
  })

  test('asking one that was not chosen answers exactly like asking an unknown one', async () => {
    const { grantId } = await connect({ sources: [prices.id] })
    const token = await assertionFor(grantId)
    const ask = (source_id: string) =>
      answerTo(system, { token }, queryDataSource, { source_id, query: 'how long is the notice period?' })
    const [hidden, unknown] = [await ask('db_handbook'), await ask('db_nothing')]
    expect(hidden.status).toBe(404)
    expect([hidden.status, hidden.text]).toEqual([unknown.status, unknown.text])
  })

  test('without a data source there is a sentence and no choice, and future ones are included', async () => {
    for (const source of [handbook, prices]) await change(source, { exposed: false })
    const walker = newBrowser()
    const page = await arrive(system, walker, person, assistant.request().url)
    expect(page.words).toContain(`You cannot query any data source of ${org.name} yet`)
    expect(boxes(page, `sources:${org.id}`).all).toEqual([])
    await decide(system, walker, page)
    expect((await grantsOf()).map(({ sources }) => sources)).toEqual([null])
  })

  /** Threat: an id the page never offered, to be given later what the person may not ask today. */
  test.each<[string, () => Promise<string>]>([
    [
      'of another organization',
      async () => (await makeExposedSource(system, await makeOrganization(system))).id,
    ],
    [
      'of another organization of the person',
      async () => {
        const other = await makeOrganization(system)
        await makeMember(system, other, 'owner', person)
        return (await makeExposedSource(system, other)).id
      },
    ],
    ['that is hidden', async () => (await makeExposedSource(system, org, { exposed: false })).id],
    ['that is switched off', async () => (await makeExposedSource(system, org, { enabled: false })).id],
    ['above the role', async () => (await makeExposedSource(system, org, { minimumRole: 'admin' })).id],
    ['that was removed', async () => (await remove(prices), prices.id)],
    ['by its other id', async () => prices.source_id],
    ['that is none', async () => 'nonsense'],
  ])('a source %s is refused, whatever else was chosen', async (_which, forge) => {
    const forged = await forge()
    const walker = newBrowser()
    const page = await arrive(system, walker, person, assistant.request().url)
    const choices = { organization: org.id, sources: [handbook.id, forged] }
    const refused = await decide(system, walker, page, choices)
    expect([refused.status, refused.location]).toEqual([400, undefined])
    expect(refused.words).toContain('The data sources have changed. Review them and decide again.')
    expect(boxes(refused, `source:${org.id}`)).toMatchObject({ ticked: [handbook.id] })
    expect(await grantsOf()).toEqual([])
  })

  test('“Only selected” with none selected shows the form again as filled in, and grants nothing', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, person, assistant.request().url)
    const refused = await decide(system, walker, page, { sources: [], scopes: ['data:read'] })
    expect([refused.status, refused.location]).toEqual([400, undefined])
    expect(refused.words).toContain('Select at least one data source, or do not grant data:read.')
    expect(boxes(refused, `sources:${org.id}`).ticked).toEqual(['chosen'])
    expect(boxes(refused, 'scope').ticked).toEqual(['data:read'])
    expect(await grantsOf()).toEqual([])
    // Without the scope there is nothing to choose.
    await decide(system, walker, refused, { sources: [], scopes: ['maintenance:read'] })
    expect(await grantsOf()).toMatchObject([{ scopes: ['maintenance:read'], sources: [] }])
  })

  test('a form that does not say which is asked again', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, person, assistant.request().url)
    const refused = await walker.send(page, 'Allow', [
      ['form', formOn(page, 'Allow').fields.form!],
      ['organization', org.id],
      ['scope', 'data:read'],
      ['decision', 'approve'],
    ])
    expect([refused.status, refused.location]).toEqual([400, undefined])
    expect(refused.words).toContain('Choose which data sources it may query.')
    expect(await grantsOf()).toEqual([])
  })

  test('a role decides what can be chosen, also when it changes while the page is open', async () => {
    const secret = await makeExposedSource(system, org, { name: 'secret', minimumRole: 'developer' })
    const setRole = (role: 'viewer' | 'developer') =>
      org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role })
    const walker = newBrowser()
    const open = () => arrive(system, walker, person, assistant.request().url)
    expect((await open()).text).not.toContain(secret.name)
    await setRole('developer')
    const page = await open()
    expect(boxes(page, `source:${org.id}`).all).toEqual([handbook.id, prices.id, secret.id])
    await setRole('viewer')
    const refused = await decide(system, walker, page, { sources: [secret.id] })
    expect([refused.status, refused.location]).toEqual([400, undefined])
    expect(refused.text).not.toContain(secret.name)
    await setRole('developer')
    const { grantId } = await connect({ sources: [secret.id, prices.id] })
    expect(await seenBy(grantId)).toEqual(['db_prices', 'db_secret'])
    // What was given under a higher role is not kept under a lower one, and comes back with it.
    await setRole('viewer')
    expect(await seenBy(grantId)).toEqual(['db_prices'])
    expect(await listed()).toEqual([[prices]])
    await setRole('developer')
    expect(await seenBy(grantId)).toEqual(['db_prices', 'db_secret'])
  })

  test.each([
    ['another scope', { scope: 'maintenance:read' }],
    ['the other endpoint', { resource: 'notifications' }],
  ])('%s alone: data sources are not mentioned', async (_what, params: Record<string, string>) => {
    const asked = params.resource ? { resource: `${system.origin}/${params.resource}` } : params
    const page = await arrive(system, newBrowser(), person, assistant.request(asked).url)
    expect(isConsent(page)).toBe(true)
    expect(page.text).not.toContain(handbook.name)
    expect(page.words).not.toMatch(/which data sources/i)
    const { grantId } = await assistant.connect(person, asked)
    expect(await sourcesOf(grantId)).toEqual([])
  })

  describe('two organizations', () => {
    let other: Org
    let theirs: ExposedSource
    beforeEach(async () => {
      other = await makeOrganization(system)
      theirs = await makeExposedSource(system, other, { name: 'theirs' })
    })

    test('whoever does not belong sees nothing of the other’s', async () => {
      const page = await arrive(system, newBrowser(), person, assistant.request().url)
      expect(page.text).not.toContain(theirs.name)
      expect(page.text).not.toContain(theirs.id)
    })

    test('whoever belongs to both chooses in each by their role there', async () => {
      await makeExposedSource(system, org, { name: 'secret', minimumRole: 'admin' })
      const hidden = await makeExposedSource(system, other, { name: 'theirs_too', minimumRole: 'admin' })
      await makeMember(system, other, 'admin', person)
      const walker = newBrowser()
      const page = await arrive(system, walker, person, assistant.request().url)
      expect(boxes(page, `source:${org.id}`).all).toEqual([handbook.id, prices.id])
      expect(boxes(page, `source:${other.id}`).all).toEqual([theirs.id, hidden.id])
      await decide(system, walker, page, { organization: other.id, sources: [theirs.id] })
      expect(await grantsOf()).toMatchObject([{ orgId: other.id, sources: [theirs.id] }])
    })

    /** Threat: boxes of the list that is out of sight, ticked before the person changed their mind. */
    test('what was ticked for one does not count for the other', async () => {
      await makeMember(system, other, 'viewer', person)
      const walker = newBrowser()
      const page = await arrive(system, walker, person, assistant.request().url)
      const fields: [string, string][] = [
        ['form', formOn(page, 'Allow').fields.form!],
        ['organization', org.id],
        ['scope', 'data:read'],
        [`sources:${org.id}`, 'chosen'],
        [`sources:${other.id}`, 'all'],
        [`source:${other.id}`, theirs.id],
        ['decision', 'approve'],
      ]
      const refused = await walker.send(page, 'Allow', fields)
      expect(refused.words).toContain('Select at least one data source')
      expect(await grantsOf()).toEqual([])
      await walker.follow(
        await walker.send(page, 'Allow', [...fields, [`source:${org.id}`, prices.id]]),
        (to) => to.origin !== system.origin,
      )
      expect(await grantsOf()).toMatchObject([{ orgId: org.id, sources: [prices.id] }])
    })
  })
})

/** Threat: a page that is skipped gives more than the person gave when they saw it. */
describe('a skipped page', () => {
  beforeEach(() => {
    const clientId = host.putClient(`/${unique('client')}.json`)
    assistant = newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` })
  })
  const isAsked = async () =>
    isConsent(await arrive(system, newBrowser(), person, assistant.request({ scope: 'data:read' }).url))
  const again = () => assistant.connect(person, { scope: 'data:read' })
  const limit = (grant_id: string, sources: string[]) => person.call(narrowGrant, { grant_id, sources })

  test('takes over the data sources of the grant that covers it, in words of the trail too', async () => {
    const first = await connect({ sources: [prices.id] })
    expect(await isAsked()).toBe(false)
    const { grantId } = await again()
    expect(grantId).not.toBe(first.grantId)
    expect(await sourcesOf(grantId)).toEqual([prices.id])
    expect(await seenBy(grantId)).toEqual(['db_prices'])
    expect((await trail('grant.created'))[0]).toMatch(/: data:read; only db_prices$/)
  })

  test('takes over what is left after narrowing', async () => {
    await limit((await connect({ sources: [prices.id, handbook.id] })).grantId, [prices.id])
    expect(await isAsked()).toBe(false)
    expect(await sourcesOf((await again()).grantId)).toEqual([prices.id])
  })

  test('means all where all was given', async () => {
    await connect()
    expect(await sourcesOf((await again()).grantId)).toBeNull()
  })

  test('is shown again where live grants differ, for nobody else knows which is meant', async () => {
    await connect()
    const { grantId } = await again()
    await limit(grantId, [prices.id])
    expect(await isAsked()).toBe(true)
  })

  test('is shown again where none are left', async () => {
    await limit((await connect({ sources: [prices.id] })).grantId, [])
    expect(await isAsked()).toBe(true)
  })

  test('gives no data sources with a scope that needs none', async () => {
    await connect()
    const { grantId } = await assistant.connect(person, { scope: 'maintenance:read' })
    expect(await sourcesOf(grantId)).toEqual([])
  })
})

describe('narrowing', () => {
  const narrow = (grant_id: string, input: object, who = person) =>
    who.call(narrowGrant, { grant_id, ...input })
  const refused = (problems: string[]) => ({ code: 'INVALID_REQUEST', problems })

  test('from all to some to fewer to none acts on the next call of the same token', async () => {
    const { grantId } = await connect()
    const call = system.as({ token: await assertionFor(grantId) })
    const seen = async () => (await call(listAskableDataSources, {})).data_sources.map(({ id }) => id)
    expect(await seen()).toEqual(['db_handbook', 'db_prices'])
    const both = await narrow(grantId, { sources: ['db_prices', handbook.id, handbook.source_id] })
    expect(both.sources).toEqual([handbook, prices])
    await makeExposedSource(system, org, { name: 'recipes' })
    expect(await seen()).toEqual(['db_handbook', 'db_prices'])
    expect((await narrow(grantId, { sources: ['db_prices'] })).sources).toEqual([prices])
    expect(await seen()).toEqual(['db_prices'])
    expect((await narrow(grantId, { sources: [] })).sources).toEqual([])
    expect(await seen()).toEqual([])
    expect((await trail('grant.narrowed')).map((subject) => subject?.split('; ')[1])).toEqual([
      'no data source',
      'only db_prices',
      'only db_handbook db_prices',
    ])
  })

  test('the same once more changes nothing and leaves no row in the trail', async () => {
    const { grantId } = await connect({ sources: [prices.id] })
    expect((await narrow(grantId, { sources: [prices.id] })).sources).toEqual([prices])
    expect(await trail('grant.narrowed')).toEqual([])
  })

  test('scopes and data sources go independently, or together', async () => {
    const { grantId } = await connect({ sources: [prices.id, handbook.id] })
    expect(await narrow(grantId, { scopes: ['data:read'] })).toMatchObject({
      scopes: ['data:read'],
      sources: [handbook, prices],
    })
    const second = await connect()
    expect(await narrow(second.grantId, { scopes: ['data:read'], sources: ['db_prices'] })).toMatchObject({
      scopes: ['data:read'],
      sources: [prices],
    })
    const mixed = { scopes: ['maintenance:run'], sources: ['db_handbook'] }
    await expect(narrow(second.grantId, mixed)).rejects.toMatchObject(
      refused([
        'scopes: maintenance:run was not approved',
        'sources: db_handbook is not one of its data sources',
      ]),
    )
    await expect(narrow(second.grantId, {})).rejects.toMatchObject(
      refused(['scopes, sources or used_within_days must be given']),
    )
    expect(await sourcesOf(second.grantId)).toEqual([prices.id])
  })

  test('never gives back what was taken or never given', async () => {
    const { grantId } = await connect({ sources: [prices.id] })
    for (const sources of [[handbook.id], ['db_handbook', 'db_prices'], null]) {
      await expect(narrow(grantId, { sources })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    expect(await sourcesOf(grantId)).toEqual([prices.id])
    expect(await seenBy(grantId)).toEqual(['db_prices'])
  })

  test('unknown, hidden and another organization’s are named, in the same words', async () => {
    const { grantId } = await connect()
    const other = await makeOrganization(system)
    const foreign = await makeExposedSource(system, other)
    const hidden = await makeExposedSource(system, org, { exposed: false })
    const above = await makeExposedSource(system, org, { minimumRole: 'admin' })
    const given = ['db_nothing', foreign.id, foreign.source_id, hidden.id, hidden.source_id, above.source_id]
    await expect(narrow(grantId, { sources: [...given, 'db_prices'] })).rejects.toMatchObject(
      refused(given.map((id) => `sources: ${id} is not one of its data sources`)),
    )
    await expect(narrow(grantId, { sources: ['prices'] })).rejects.toMatchObject(
      refused(['sources.0: must look like ds_… or db_<database name>']),
    )
    expect(await sourcesOf(grantId)).toBeNull()
  })

  test('is for the person and for admins; for everybody else the grant is unknown', async () => {
    const { grantId } = await connect()
    const [colleague, admin] = [
      await makeMember(system, org, 'developer'),
      await makeMember(system, org, 'admin'),
    ]
    const outsider = (await makeOrganization(system)).owner
    for (const who of [colleague, outsider]) {
      await expect(narrow(grantId, { sources: [] }, who)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await narrow(grantId, { sources: ['db_prices'] }, admin)
    const { grants } = await admin.call(listGrants, { all: 'true' })
    expect(grants).toMatchObject([{ id: grantId, user: { id: person.userId }, sources: [prices] }])
    expect(await listed()).toEqual([[prices]])
    expect((await outsider.call(listGrants, { all: 'true' })).grants).toEqual([])
  })

  test('a removed source vanishes, a hidden one from those who may not know it, and neither breaks anything', async () => {
    const { grantId } = await connect({ sources: [prices.id, handbook.id] })
    await change(prices, { exposed: false, title: 'Not for everybody' })
    expect(await listed()).toEqual([[handbook]])
    const forOwner = (await org.owner.call(listGrants, { all: 'true' })).grants
    expect(forOwner[0]?.sources).toMatchObject([handbook, { id: prices.id, name: 'Not for everybody' }])
    expect(await seenBy(grantId)).toEqual(['db_handbook'])
    await remove(handbook)
    expect(await listed()).toEqual([[]])
    expect(await seenBy(grantId)).toEqual([])
    // Taking scopes away takes nothing else away.
    await narrow(grantId, { scopes: ['data:read'] })
    await change(prices, { exposed: true })
    expect(await seenBy(grantId)).toEqual(['db_prices'])
    // The name of a removed one means somebody else now.
    await makeExposedSource(system, org, { name: 'handbook' })
    expect(await seenBy(grantId)).toEqual(['db_prices'])
  })
})
