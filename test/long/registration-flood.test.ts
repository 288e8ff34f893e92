/**
 * Registrations from 256 networks for as long as it takes: somebody else who registers gets in when they were told to come back
 * at the latest, has ten minutes for the approval, and stays.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { platformOauthClients } from '../../db/schema.ts'
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import {
  newAddress,
  newAssistant,
  register,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeOrganization, type Org } from '../support/make.ts'

const NETWORKS = 256
const REDIRECT = 'https://app.example/cb'

let system: ListeningSystem
let orgs: Org[]
beforeAll(async () => {
  // Its own: the limits count every row.
  system = await startListeningSystem({}, { ownDatabase: true })
  orgs = [await makeOrganization(system), await makeOrganization(system)]
})
beforeEach(async () => void (await system.db.delete(platformOauthClients)))
afterAll(() => system.stop())

type AddressOf = (network: number) => string

/** Each network asks for what it asked before, and for something new. */
async function flood(addressOf: AddressOf, round: number): Promise<number[]> {
  const statuses: number[] = []
  await Promise.all(
    Array.from({ length: NETWORKS }, async (_, network) => {
      for (const name of ['same', `round-${round}`]) {
        const origin = `https://${name}-${network}.example`
        const { status } = await register(system, { redirect_uris: [`${origin}/cb`] }, addressOf(network))
        statuses.push(status)
      }
    }),
  )
  return statuses
}

const registerApp = (address: string) => register(system, { redirect_uris: [REDIRECT] }, address)

test('from networks of one /48: others register at once', async () => {
  const addressOf: AddressOf = (network) => `2001:db8:1:${(network * 256).toString(16)}::1`
  expect(new Set(await flood(addressOf, 1))).toEqual(new Set([201, 429]))
  const rows = await system.db.select().from(platformOauthClients)
  expect(rows).toHaveLength(DYNAMIC_CLIENTS.perSite)
  for (const org of orgs) {
    const made = await registerApp(newAddress())
    expect(made.status).toBe(201)
    await flood(addressOf, 2)
    const client = { clientId: String(made.body.client_id), redirectUri: REDIRECT }
    const { access } = await newAssistant(system, client).connect(org.owner)
    expect((await whoami(system, access)).status).toBe(200)
  }
})

test('from networks that have nothing in common: others register when they were told to come back', async () => {
  const addressOf: AddressOf = (network) => `198.18.${network}.1`
  await flood(addressOf, 0)
  expect(await system.db.select().from(platformOauthClients)).toHaveLength(DYNAMIC_CLIENTS.active)
  const address = newAddress()
  const refused = await registerApp(address)
  const told = Number(refused.headers.get('retry-after'))
  expect([refused.status, told > 0, told <= DYNAMIC_CLIENT_UNUSED_SECONDS]).toEqual([429, true, true])
  const comesBackAt = system.clock.now().getTime() + told * 1000
  system.clock.advance(told / 2)
  await flood(addressOf, 1)
  system.clock.advance((comesBackAt - system.clock.now().getTime()) / 1000)
  const made = await registerApp(address)
  expect(made.status).toBe(201)
  const client = { clientId: String(made.body.client_id), redirectUri: REDIRECT }
  // As long as a person may take.
  for (const round of [2, 3]) {
    system.clock.advance(DYNAMIC_CLIENT_UNUSED_SECONDS / 3)
    await flood(addressOf, round)
  }
  const tokens = await Promise.all(orgs.map(({ owner }) => newAssistant(system, client).connect(owner)))
  system.clock.advance(DYNAMIC_CLIENT_UNUSED_SECONDS)
  await flood(addressOf, 4)
  for (const { access } of tokens) expect((await whoami(system, access)).status).toBe(200)
})
