/** The operator sees who takes the slots of dynamic registration, and frees one: by API and on a page. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq, gt } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { evictRegistration, listRegistrations, setOauthClientActive } from '../../src/contracts/grants.ts'
import { OPERATOR_PAGE_SECONDS, OPERATOR_TOKEN_FAILURES_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { sweepOauth } from '../../src/cores/grants/index.ts'
import {
  newAssistant,
  preRegistered,
  register,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeOrganization } from '../support/make.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker, type Walker } from '../support/walker.ts'

const PATH = '/auth/operator/registrations'
const LOCAL = 'http://127.0.0.1/callback'

let system: ListeningSystem
beforeAll(async () => {
  // Its own: the list is the whole installation's.
  system = await startListeningSystem({}, { ownDatabase: true })
})
beforeEach(async () => void (await system.db.delete(platformOauthClients)))
afterAll(() => system.stop())

const operator = () => system.as({ token: OPERATOR_TOKEN })
const add = async (client_name: string, address: string, redirect = LOCAL): Promise<string> => {
  const { body } = await register(system, { client_name, redirect_uris: [redirect] }, address)
  return String(body.client_id)
}
const daysFromNow = (days: number) => new Date(system.clock.now().getTime() + days * 24 * 60 * 60 * 1000)
const connect = async (clientId: string) => {
  const org = await makeOrganization(system)
  const tokens = await newAssistant(system, { clientId, redirectUri: LOCAL }).connect(org.owner)
  return { org, tokens }
}

describe('the operations', () => {
  test('list slots, addresses and every registration, newest first', async () => {
    const first = await add('One', '192.0.2.1')
    const web = await add('Web', '2001:db8:1:2::7', 'https://app.example/cb')
    const second = await add('Two', '192.0.2.1')
    const off = await add('Off', '192.0.2.9')
    await operator()(setOauthClientActive, { client_id: off, is_active: false })
    await connect(first)
    await preRegistered(system)
    const list = await operator()(listRegistrations, {})
    expect(list.slots).toEqual({ used: 3, total: 100, per_origin: 5, per_address: 20 })
    expect(list.addresses).toEqual([
      { address: '192.0.2.1', used: 2 },
      { address: '2001:db8:1:2::/64', used: 1 },
    ])
    expect(list.registrations.map(({ client_id }) => client_id)).toEqual([off, second, web, first])
    expect(list.registrations).toMatchObject([
      { name: 'Off', is_active: false, address: '192.0.2.9' },
      { name: 'Two', is_active: true, live_grants: 0, origin: null },
      { name: 'Web', origin: 'https://app.example', redirect_uris: ['https://app.example/cb'] },
      { name: 'One', live_grants: 1, address: '192.0.2.1', redirect_uris: [LOCAL] },
    ])
    expect(JSON.stringify(list)).not.toContain('client_secret')
  })

  test('evicting ends the grants in every organization, says so there, and frees the slot', async () => {
    const [doomed, other] = [await add('Doomed', '192.0.2.1'), await add('Other', '192.0.2.1')]
    const [one, two, kept] = [await connect(doomed), await connect(doomed), await connect(other)]
    await operator()(evictRegistration, { client_id: doomed })
    for (const { org, tokens } of [one, two]) {
      expect((await whoami(system, tokens.access)).status).toBe(401)
      const [grant] = await system.db
        .select()
        .from(platformAccessGrants)
        .where(eq(platformAccessGrants.id, tokens.grantId))
      expect(grant!.revokedReason).toBe('revoked')
      const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'grant.revoked' })
      expect(audit).toMatchObject([{ subject: 'Doomed', actor: { kind: 'operator' } }])
    }
    expect((await whoami(system, kept.tokens.access)).status).toBe(200)
    expect((await operator()(listRegistrations, {})).slots.used).toBe(1)
    // It may register again: to keep it out, it is turned off instead.
    expect(await add('Doomed', '192.0.2.1')).not.toBe(doomed)
  })

  test('evict nothing but dynamic registrations, and are the operator’s alone', async () => {
    const { clientId } = await preRegistered(system)
    for (const client_id of [clientId, 'dcr_unknown', 'https://app.example/client.json']) {
      await expect(operator()(evictRegistration, { client_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    // Turning on what nobody knows turns nothing off, either.
    for (const client_id of ['dcr_unknown', 'https://app.example/client.json'])
      await expect(operator()(setOauthClientActive, { client_id, is_active: true })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    expect(await system.db.$count(platformOauthClients)).toBe(1)
    const { owner } = await makeOrganization(system)
    await expect(owner.call(listRegistrations, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(owner.call(evictRegistration, { client_id: clientId })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

test('one that was turned off is refused also when it is over and swept; others are forgotten', async () => {
  const [off] = [await add('Off', '192.0.2.9'), await add('Gone', '192.0.2.9')]
  await operator()(setOauthClientActive, { client_id: off, is_active: false })
  await system.db.update(platformOauthClients).set({ expiresAt: daysFromNow(-31) })
  await sweepOauth({ db: system.db, clock: () => system.clock.now() })
  expect((await system.db.select().from(platformOauthClients)).map(({ clientId }) => clientId)).toEqual([off])
  const again = (client_name: string) =>
    register(system, { client_name, redirect_uris: [LOCAL] }, '192.0.2.9')
  expect([(await again('Off')).status, (await again('Gone')).status]).toEqual([403, 201])
})

test('one that is used stays for another thirty days, as long as somebody approves of it', async () => {
  const [used, unused] = [await add('Used', '192.0.2.9'), await add('Unused', '192.0.2.9')]
  await connect(used)
  await system.db.update(platformOauthClients).set({ expiresAt: daysFromNow(2) })
  for (const clientId of [used, unused])
    await newAssistant(system, { clientId, redirectUri: LOCAL }).refresh('made up')
  const isLonger = gt(platformOauthClients.expiresAt, daysFromNow(29))
  const longer = await system.db.select().from(platformOauthClients).where(isLonger)
  expect(longer.map(({ clientId }) => clientId)).toEqual([used])
})

test('what cannot be a registration is refused by name, and takes no slot', async () => {
  for (const [metadata, problem] of [
    [{}, /1 to 10 members/],
    [{ redirect_uris: [] }, /1 to 10 members/],
    [{ redirect_uris: Array.from({ length: 11 }, (_, n) => `${LOCAL}/${n}`) }, /1 to 10 members/],
    [{ redirect_uris: [LOCAL, 7] }, /number 2: is not a string/],
    [{ redirect_uris: [LOCAL, 'http://app.example/cb'] }, /redirect_uris, number 2/],
    [{ redirect_uris: [LOCAL], client_name: 7 }, /client_name must be a string/],
    [{ redirect_uris: [LOCAL], client_name: 'a\0b' }, /cannot be stored/],
  ] as const) {
    const { status, body } = await register(system, metadata)
    expect([status, body.error_description]).toEqual([400, expect.stringMatching(problem)])
  }
  expect(await system.db.$count(platformOauthClients)).toBe(0)
})

test('a sixth of one origin waits as long as it is told, and then the oldest that nobody approved gives way', async () => {
  const web = (n: number, host = 'app.example') =>
    register(system, { client_name: `Web ${n}`, redirect_uris: [`https://${host}/cb`] }, '192.0.2.1')
  const elsewhere = await web(0, 'other.example')
  const approved = await web(1)
  const made = [await web(2), await web(3), await web(4), await web(5)]
  await system.db
    .update(platformOauthClients)
    .set({ createdAt: new Date(system.clock.now().getTime() - 1_000) })
    .where(eq(platformOauthClients.clientId, String(made[1]!.body.client_id)))
  const redirectUri = 'https://app.example/cb'
  const { owner } = await makeOrganization(system)
  await newAssistant(system, { clientId: String(approved.body.client_id), redirectUri }).connect(owner)
  const refused = await web(6)
  expect([refused.status, refused.body.error]).toEqual([429, 'temporarily_unavailable'])
  const seconds = Number(refused.headers.get('retry-after'))
  system.clock.advance(seconds - 10)
  expect((await web(6)).status).toBe(429)
  system.clock.advance(10)
  const sixth = await web(6)
  const left = (await system.db.select().from(platformOauthClients)).map(({ clientId }) => clientId)
  const kept = [elsewhere, approved, made[0]!, made[2]!, made[3]!, sixth]
  expect(new Set(left)).toEqual(new Set(kept.map(({ body }) => body.client_id)))
})

test('the document of a client that nobody knows can be turned off, and on again; nothing else unknown', async () => {
  const client_id = 'https://app.example/client.json'
  const set = (is_active: boolean, id = client_id) =>
    operator()(setOauthClientActive, { client_id: id, is_active })
  expect(await set(false)).toEqual({ client_id, is_active: false })
  const rows = () => system.db.select().from(platformOauthClients)
  expect(await rows()).toMatchObject([{ clientId: client_id, kind: 'metadata_document', isActive: false }])
  await set(true)
  expect(await rows()).toMatchObject([{ clientId: client_id, isActive: true }])
  for (const unknown of ['dcr_unknown', 'http://app.example/client.json'])
    await expect(set(false, unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('the page', () => {
  const signIn = async (walker: Walker, token = OPERATOR_TOKEN) =>
    walker.submit(await walker.open(PATH), 'Continue', { token })
  const signedIn = async () => {
    const walker = newWalker(system, { overSockets: true })
    await signIn(walker)
    return walker
  }

  test('asks for the token, shows the slots, and evicts', async () => {
    const [one, two] = [await add('<b>One</b>', '192.0.2.1'), await add('Two', '192.0.2.2')]
    const walker = newWalker(system, { overSockets: true })
    const asks = await walker.open(PATH)
    expect(asks.words).not.toContain('192.0.2.1')
    expect((await signIn(walker)).location?.pathname).toBe(PATH)
    const page = await walker.open(PATH)
    expect(page.words).toContain('2 of 100 slots are used')
    expect(page.text).not.toContain('<b>One')
    expect(page.text).not.toContain(OPERATOR_TOKEN)
    expect(page.headers.get('cache-control')).toBe('no-store')
    const [newest] = page.forms.filter(({ button }) => button === 'Evict')
    expect(newest!.fields.client_id).toBe(two)
    const done = await walker.submit(page, 'Evict')
    expect(done.status).toBe(303)
    const left = await system.db.select().from(platformOauthClients)
    expect(left.map(({ clientId }) => clientId)).toEqual([one])
  })

  test('a wrong token opens nothing, and guessing has to wait', async () => {
    const walker = newWalker(system, { overSockets: true })
    const wrong = await signIn(walker, `${OPERATOR_TOKEN}x`)
    expect([wrong.status, wrong.words.includes('The operator token is wrong')]).toEqual([401, true])
    expect((await walker.open(PATH)).words).toContain('Enter the operator token')
    let last = wrong
    for (let i = 0; i <= OPERATOR_TOKEN_FAILURES_PER_ADDRESS.count && last.status !== 429; i++) {
      last = await signIn(walker, 'guess')
    }
    expect(last.status).toBe(429)
    expect((await signIn(walker)).status).toBe(429)
  })

  test('closes after a quarter of an hour, for other browsers at once, and without a cookie evicts nothing', async () => {
    const id = await add('One', '192.0.2.1')
    const walker = await signedIn()
    const page = await walker.open(PATH)
    const otherBrowser = newWalker(system, { overSockets: true })
    expect((await otherBrowser.open(PATH)).words).toContain('Enter the operator token')
    // Nor with the cookie: it belongs to the browser that the token was entered in.
    const { name, value } = walker.jar.all().find((cookie) => cookie.name === 'svc_operator')!
    otherBrowser.jar.keep(`${name}=${value}; Path=/`, system.origin)
    expect((await otherBrowser.open(PATH)).words).toContain('Enter the operator token')
    system.clock.advance(OPERATOR_PAGE_SECONDS + 1)
    try {
      const late = await walker.submit(page, 'Evict')
      expect(late.status).toBe(404)
      expect((await walker.open(PATH)).words).toContain('Enter the operator token')
    } finally {
      system.clock.advance(-OPERATOR_PAGE_SECONDS - 1)
    }
    expect(await system.db.select().from(platformOauthClients)).toMatchObject([{ clientId: id }])
  })
})

test('without SVC_OPERATOR_TOKEN there is no such page', async () => {
  const closed = await startListeningSystem({ SVC_OPERATOR_TOKEN: '' })
  try {
    expect((await newWalker(closed, { overSockets: true }).open(PATH)).status).toBe(404)
  } finally {
    await closed.stop()
  }
})
