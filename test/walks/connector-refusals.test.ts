/** Kinds of clients that are not wanted: documents where there is no internet, registered ones where an organization says so. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { allowIdentityProviderClient } from '../../src/contracts/identity-provider.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import {
  arrive,
  boxes,
  decide,
  isConsent,
  newAssistant,
  preRegistered,
  register,
  startListeningSystem,
  tokensIn,
  whoami,
  type Assistant,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { company } from '../support/enterprise.ts'
import { makeIssuer } from '../support/issuer.ts'
import { makeMember, makeOrganization, unique, type Org } from '../support/make.ts'
import { freshSecrets } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

const LOCAL = 'http://127.0.0.1/callback'
const secrets = freshSecrets()

let host: DocumentHost
let system: ListeningSystem
let org: Org
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem(secrets, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => void (org = await makeOrganization(system)))
afterAll(async () => {
  await system.stop()
  host.close()
})

const documentClient = () => host.putClient(`/${unique('client')}.json`, { redirect_uris: [LOCAL] })
const open = (where: ListeningSystem, assistant: Assistant) =>
  newWalker(where, { overSockets: true }).open(assistant.request().url)

describe('OAUTH_CIMD=off', () => {
  let off: ListeningSystem
  let closed: ListeningSystem
  beforeAll(async () => {
    // The same installation, started again with the setting: the issuer stays.
    const same = { ...secrets, AUTH_URL: system.origin, MCP_URL: system.origin }
    off = await startListeningSystem({ ...same, OAUTH_CIMD: 'off' }, { guardedFetch: host.guardedFetch })
    closed = await startListeningSystem({ OAUTH_CIMD: 'off', OAUTH_DCR: 'off' })
  })
  afterAll(async () => {
    await off.stop()
    await closed.stop()
  })
  const discovery = async (where: ListeningSystem) =>
    (await (await fetch(`${where.origin}/.well-known/oauth-authorization-server`)).json()) as object

  test('is not advertised, so that such clients register instead', async () => {
    expect(await discovery(system)).toMatchObject({ client_id_metadata_document_supported: true })
    for (const where of [off, closed]) {
      expect(await discovery(where)).not.toHaveProperty('client_id_metadata_document_supported', true)
    }
    expect(await discovery(off)).toHaveProperty('registration_endpoint')
    expect(await discovery(closed)).not.toHaveProperty('registration_endpoint')
  })

  test('authorize says so with the host and what to do, and fetches nothing', async () => {
    const clientId = documentClient()
    const page = await open(closed, newAssistant(closed, { clientId, redirectUri: LOCAL }))
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.words).toContain('Metadata documents are turned off')
    expect(page.words).toContain(new URL(clientId).host)
    expect(page.words).toContain('Ask the operator')
    expect(page.words).not.toContain('connect again')
    expect(host.hits(new URL(clientId).pathname)).toBe(0)
  })

  test('where clients may register, it says that instead', async () => {
    const own = await startListeningSystem({ OAUTH_CIMD: 'off' })
    try {
      const page = await open(own, newAssistant(own, { clientId: documentClient(), redirectUri: LOCAL }))
      expect(page.words).toContain('connect again: it can register instead')
    } finally {
      await own.stop()
    }
  })

  test('a refresh of one that was connected before is refused with the reason, and works when it is on again', async () => {
    const client = { clientId: documentClient(), redirectUri: LOCAL }
    const tokens = await newAssistant(system, client).connect(org.owner)
    const refused = await newAssistant(off, client).refresh(tokens.refresh)
    expect(refused).toMatchObject({
      status: 401,
      body: {
        error: 'invalid_client',
        error_description: 'client ID metadata documents are turned off on this server',
      },
    })
    const again = tokensIn(await newAssistant(system, client).refresh(tokens.refresh))
    expect((await whoami(system, again.access)).status).toBe(200)
  })

  test('nobody is told to allow one for their identity provider', async () => {
    const { org: own } = await company(closed, await makeIssuer(closed, host))
    const terms = { max_scopes: ['data:read' as const], resources: ['platform' as const] }
    for (const client_id of [documentClient(), 'nobody'])
      await expect(
        own.owner.call(allowIdentityProviderClient, { client_id, ...terms }),
      ).rejects.toMatchObject({
        code: 'NOT_FOUND',
        hint: expect.stringMatching(
          /^Give the id of a client that you created here or that the operator registered\. /,
        ),
      })
  })

  test('other clients are not concerned', async () => {
    const person = (await makeOrganization(closed)).owner
    const tokens = await newAssistant(closed, await preRegistered(closed)).connect(person)
    expect((await whoami(closed, tokens.access)).status).toBe(200)
  })
})

test('a document that cannot be fetched is told as just that, with the host and why', async () => {
  const missing = `${host.origin}/${unique('missing')}.json`
  const page = await open(system, newAssistant(system, { clientId: missing, redirectUri: LOCAL }))
  expect([page.status, page.location]).toEqual([400, undefined])
  expect(page.words).toContain('Metadata document could not be fetched')
  expect(page.words).toContain(new URL(missing).host)
  expect(page.words).toContain('it answered with the status 404')
  expect(page.words).not.toContain('expired')
  // One that was fetched and is wrong is the client's own fault, and told as before.
  const wrong = host.put(`/${unique('wrong')}.json`, { client_id: 'https://other.test/x' })
  const other = await open(system, newAssistant(system, { clientId: wrong, redirectUri: LOCAL }))
  expect(other.words).not.toContain('could not be fetched')
  expect(other.words).toContain('does not name its own address')
})

describe('registered_clients: refused', () => {
  const refuse = (where: Org, registered_clients: 'allowed' | 'refused') =>
    where.owner.call(updateOrganization, { org_id: where.id, registered_clients })
  const dynamic = async () => {
    const { body } = await register(system, { client_name: unique('dynamic'), redirect_uris: [LOCAL] })
    return newAssistant(system, { clientId: String(body.client_id), redirectUri: LOCAL })
  }

  test('ends the calls and refreshes of registered clients at once, of no others, until it is allowed again', async () => {
    const other = await makeOrganization(system)
    const registered = await dynamic()
    const document = newAssistant(system, { clientId: documentClient(), redirectUri: LOCAL })
    const known = newAssistant(system, await preRegistered(system))
    const [mine, theirs] = [await registered.connect(org.owner), await registered.connect(other.owner)]
    const others = [theirs, await document.connect(org.owner), await known.connect(org.owner)]
    await refuse(org, 'refused')
    expect((await whoami(system, mine.access)).status).toBe(401)
    expect((await registered.refresh(mine.refresh)).body.error).toBe('invalid_grant')
    for (const tokens of others) expect((await whoami(system, tokens.access)).status).toBe(200)
    await refuse(org, 'allowed')
    expect((await whoami(system, mine.access)).status).toBe(200)
    expect((await registered.refresh(mine.refresh)).status).toBe(200)
  })

  test('the consent page says why, and a forged choice gives nothing', async () => {
    await refuse(org, 'refused')
    const assistant = await dynamic()
    const walker = newWalker(system, { overSockets: true })
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    expect([isConsent(page), page.words.includes('Registered clients are refused')]).toEqual([true, true])
    expect(boxes(page, 'organization').ticked).toEqual([])
    const forged = await decide(system, walker, page, { organization: org.id, scopes: ['data:read'] })
    expect([forged.status, forged.location]).toEqual([400, undefined])
    const document = newAssistant(system, { clientId: documentClient(), redirectUri: LOCAL })
    expect((await document.connect(org.owner)).access).toEqual(expect.any(String))
  })

  test('is an admin’s to change, and stands in the audit trail', async () => {
    const [admin, developer] = [
      await makeMember(system, org, 'admin'),
      await makeMember(system, org, 'developer'),
    ]
    const change = { org_id: org.id, registered_clients: 'refused' as const }
    await expect(developer.call(updateOrganization, change)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await admin.call(updateOrganization, change)).toMatchObject({ registered_clients: 'refused' })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'organization.updated' })
    expect(audit).toMatchObject([{ subject: 'registered clients: refused', actor: { id: admin.userId } }])
  })
})

/** As an operator types it: the two columns the contract names, and no more. */
test('a client is blocked by plain SQL with its id and is_active alone', async () => {
  const clientId = documentClient()
  const assistant = newAssistant(system, { clientId, redirectUri: LOCAL })
  const tokens = await assistant.connect(org.owner)
  await system.db.execute(
    sql`insert into platform_oauth_clients (client_id, is_active) values (${clientId}, false)`,
  )
  const before = host.hits(new URL(clientId).pathname)
  expect((await whoami(system, tokens.access)).status).toBe(401)
  expect((await assistant.refresh(tokens.refresh)).body.error).toBe('invalid_client')
  const page = await open(system, assistant)
  expect([page.status, page.location, host.hits(new URL(clientId).pathname)]).toEqual([
    400,
    undefined,
    before,
  ])
  await system.db.execute(
    sql`update platform_oauth_clients set is_active = true where client_id = ${clientId}`,
  )
  expect((await whoami(system, tokens.access)).status).toBe(200)
  expect(
    isConsent(
      await arrive(system, newWalker(system, { overSockets: true }), org.owner, assistant.request().url),
    ),
  ).toBe(true)
})
