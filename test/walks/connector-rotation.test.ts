/** After a rotation nothing of the connections before it counts: not for consent, and not in a list. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listGrants, listOauthClients } from '../../src/contracts/grants.ts'
import {
  arrive,
  isConsent,
  newAssistant,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { makeOrganization, signedIn, unique } from '../support/make.ts'
import { freshSecrets } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

const SECRETS = freshSecrets()

let host: DocumentHost
let before: ListeningSystem
beforeAll(async () => {
  host = await openDocumentHost()
  before = await startListeningSystem(SECRETS, { guardedFetch: host.guardedFetch })
})
afterAll(async () => {
  await before.stop()
  host.close()
})

test.each(['JWT_SECRET', 'JWT_SIGNING_KEY'] as const)(
  'a changed %s: consent is asked again, and no list shows a grant as connected',
  async (key) => {
    const org = await makeOrganization(before)
    const client = {
      clientId: host.putClient(`/${unique('client')}.json`),
      redirectUri: `${host.origin}/callback`,
    }
    const tokens = await newAssistant(before, client).connect(org.owner)
    const at = (where: ListeningSystem) =>
      arrive(
        where,
        newWalker(where, { overSockets: true }),
        org.owner,
        newAssistant(where, client).request().url,
      )
    // Before it, consent is remembered and the grant is listed.
    expect((await at(before)).location?.searchParams.has('code')).toBe(true)
    expect((await org.owner.call(listGrants, {})).grants.map(({ id }) => id)).toContain(tokens.grantId)

    const after = await startListeningSystem(
      { ...SECRETS, [key]: freshSecrets()[key] },
      { guardedFetch: host.guardedFetch },
    )
    try {
      expect(isConsent(await at(after))).toBe(true)
      const { call } = await signedIn(after, org.owner.email)
      expect((await call(listGrants, {})).grants).toEqual([])
      expect((await call(listGrants, { all: 'true' })).grants).toEqual([])
      expect((await call(listOauthClients, {})).oauth_clients).toMatchObject([
        { client_id: client.clientId, live_grants: 0 },
      ])
      expect((await whoami(after, tokens.access)).status).toBe(401)
    } finally {
      await after.stop()
    }
  },
)
