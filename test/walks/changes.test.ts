/** Open pages are told which lists change: those they may see, of their own organization, for as long as they may. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listenerOf, notify } from '../../db/listen.ts'
import { createCheck } from '../../src/contracts/checks.ts'
import { cancelDeployment, createDeployment } from '../../src/contracts/deployments.ts'
import { FAIR_QUEUES } from '../../src/contracts/fair-queues.ts'
import { showApp } from '../../src/contracts/apps.ts'
import { acknowledgeNotification, listNotifications } from '../../src/contracts/inbox.ts'
import { createLoad } from '../../src/contracts/loads.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { denyProposal } from '../../src/contracts/proposals.ts'
import { notifyChangeSoon } from '../../src/cores/changes/index.ts'
import { watchChanges } from '../../src/cores/changes/watch-changes.ts'
import { addNotifications } from '../../src/cores/notifications/inbox/add-notifications.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { insertSource } from '../support/data-sources.ts'
import { makeApp, makeRevision } from '../support/deployments.ts'
import { drainChecks } from '../support/drain.ts'
import { hearsNothing } from '../support/left-out.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { insertProposal } from '../support/insert-proposal.ts'
import { makeMaintainedApp, MODELS_SETTING } from '../support/maintained-app.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

/** Most of it waits until it is told of something. */
const AT_ONCE = { concurrent: true }

let system: TestSystem
let [org, other]: Org[] = []

beforeAll(async () => {
  system = await startSystem({ MAINTENANCE_MODELS: MODELS_SETTING })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  // Whoever begins to listen is told of everything once.
  const listener = listenerOf(system.ownDb)
  const end = listener.subscribe(() => {})
  await vi.waitUntil(() => listener.state() !== undefined, { timeout: 30_000 })
  end()
})
afterAll(() => system.stop())

const page = (organization: string) => `/console/changes?organization=${organization}`

const ask = (person: Pick<Person, 'token'>, organization: string): Promise<Response> =>
  system.fetch(page(organization), {
    headers: { cookie: `svc_console=${person.token}`, 'sec-fetch-site': 'same-origin' },
  })

/** The stream of somebody's open page, as their browser reads it. */
async function open(person: Pick<Person, 'token'>, organization: string) {
  const answer = await ask(person, organization)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toMatch(/^retry: \d+\n\n$/)
  return {
    /** The lists of the next event; undefined: the stream has ended. */
    async next(): Promise<readonly string[] | undefined> {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return undefined
        const lists = /^data: (.*)\n\n$/.exec(value)?.[1]
        if (lists !== undefined) return lists.split(' ')
      }
    },
    close: () => reader.cancel(),
  }
}

async function deploy(where: Org): Promise<{ alias: string; deployment_id: string }> {
  const app = await makeApp(system, where)
  const revision_id = await makeRevision(system, app)
  const { id } = await where.owner.call(createDeployment, { alias: app.alias, revision_id })
  return { alias: app.alias, deployment_id: id }
}

/** Of hosts that all answer well. */
const checkRunner = (): Parameters<typeof drainChecks>[0] => ({
  db: system.db,
  clock: () => system.clock.now(),
  log: system.system.log,
  dataKeys: dataKeys(system.system.config.DATA_KEY!),
  judge: null,
  probeHttp: async () => ({ kind: 'answered', status: 200, timeMs: 1, body: '', isPrivate: false }),
  matchLines: async () => {
    throw new Error('no check of this walk reads lines')
  },
})

const notifyPerson = (where: Org, { userId }: Person) =>
  withTransaction(system.db, (tx) =>
    addNotifications(tx, () => system.clock.now(), [
      {
        orgId: where.id,
        userId,
        eventId: unique('evt'),
        type: 'deploy.failed',
        subject: 'app/shop',
        summary: 'shop: a deployment failed',
        url: null,
      },
    ]),
  )

describe.skipIf(hearsNothing)('an open page', () => {
  test('is told of its own organization, and of no other', AT_ONCE, async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const [ours, theirs] = [await open(org.owner, org.id), await open(other.owner, other.id)]
    const queued = await deploy(org)
    expect(await ours.next()).toEqual(['deployments'])
    await org.owner.call(cancelDeployment, queued)
    expect(await ours.next()).toEqual(['deployments'])
    // The first that they hear is their own: nothing was told of the ones before.
    await notifyPerson(other, other.owner)
    expect(await theirs.next()).toEqual(['inbox'])
    await Promise.all([ours.close(), theirs.close()])
  })

  test(
    'is told of the inbox and the activity of its own reader, and of deliveries from admins on',
    AT_ONCE,
    async () => {
      const org = await makeOrganization(system)
      const [viewer, colleague] = [
        await makeMember(system, org, 'viewer'),
        await makeMember(system, org, 'viewer'),
      ]
      const [owners, viewers] = [await open(org.owner, org.id), await open(viewer, org.id)]
      await notifyPerson(org, colleague)
      notifyChangeSoon(system.ownDb, 'activity', { orgId: org.id, userId: colleague.userId })
      expect(await owners.next()).toEqual(['activity'])
      await notify(system.db, 'attempts', org.id)
      expect(await owners.next()).toEqual(['deliveries'])
      await notifyPerson(org, viewer)
      expect(await viewers.next()).toEqual(['inbox'])
      const [first] = (await viewer.call(listNotifications, {})).notifications
      await viewer.call(acknowledgeNotification, { notification_id: first!.id })
      expect(await viewers.next()).toEqual(['inbox'])
      notifyChangeSoon(system.ownDb, 'activity', { orgId: org.id, userId: viewer.userId })
      expect(await viewers.next()).toEqual(['activity'])
      await Promise.all([owners.close(), viewers.close()])
    },
  )

  test('is told of loads, checks, maintenance and proposals', AT_ONCE, async () => {
    const shop = await makeMaintainedApp(system)
    const { call, alias } = shop
    const app = { orgId: shop.org.id, id: (await call(showApp, { alias })).id }
    await call(createCheck, {
      alias,
      name: 'Home',
      definition: { kind: 'http', url: 'https://shop.example' },
    })
    const proposal = await insertProposal(system, app)
    const { name } = await insertSource(system, shop.org)
    const watched = await open(shop.org.owner, shop.org.id)
    await call(createLoad, { name, filename: 'a.csv', format: 'csv', bytes: 3, sha256: 'a'.repeat(64) })
    expect(await watched.next()).toEqual(['loads'])
    await drainChecks(checkRunner())
    expect(await watched.next()).toEqual(['checks'])
    await shop.start()
    expect(await watched.next()).toEqual(['maintenance'])
    await call(denyProposal, { alias, proposal_id: proposal.id, diff_sha256: proposal.diffSha256 })
    expect(await watched.next()).toEqual(['proposals'])
    await watched.close()
  })

  test('is told nothing more once its reader is no member, or signed out', AT_ONCE, async () => {
    const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
    const member = await makeMember(system, org, 'admin')
    const lowered = await makeMember(system, org, 'admin')
    const [gone, still] = [await open(member, org.id), await open(lowered, org.id)]
    // By then they are in another organization, or somebody else.
    const elsewhere = await Promise.all(
      [{ orgId: other.id }, { userId: org.owner.userId }].map(async (by) => {
        const reader = { orgId: org.id, userId: lowered.userId, role: 'admin' } as Principal
        const watch = watchChanges({ db: system.ownDb, clock: () => system.clock.now() })
        const { body } = await watch({ ...reader, again: async () => ({ ...reader, ...by }) }, {})
        const stream = body.getReader()
        await stream.read()
        return stream
      }),
    )
    await org.owner.call(removeMember, { org_id: org.id, user_id: member.userId })
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: lowered.userId, role: 'viewer' })
    notifyChangeSoon(system.ownDb, 'activity', { orgId: org.id, userId: org.owner.userId })
    await notifyPerson(org, lowered)
    expect(await gone.next()).toBeUndefined()
    expect(await still.next()).toEqual(['inbox'])
    for (const stream of elsewhere) expect((await stream.read()).done).toBe(true)
    await still.close()
    expect((await ask(member, org.id)).status).toBe(403)
  })

  test('without rights is refused in a line: by nobody, elsewhere, and with a token that has scopes', async () => {
    const refused = [
      await system.fetch(page(org!.id)),
      await ask({ token: 'made.up.token' }, org!.id),
      await ask(org!.owner, other!.id),
      await ask(org!.owner, 'org_0000000000000000000000000'),
      await ask(org!.owner, 'none'),
    ]
    expect(await Promise.all(refused.map(async (one) => [one.status, await one.text()]))).toEqual(
      refused.map(() => [403, '']),
    )
    expect(refused.flatMap((one) => one.headers.getSetCookie())).toEqual([])
    const { token } = await makeApiToken(system, org!, org!.owner, { scopes: ['data:read'] })
    const scoped = await system.fetch('/api/v1/changes', { headers: { authorization: `Bearer ${token}` } })
    expect(scoped.status).toBe(403)
  })

  test('is one of a few of a person, who may open another when one is closed', async () => {
    const person = await makeMember(system, org!, 'viewer')
    const most = FAIR_QUEUES.changeWaits.running.person
    const opened = await Promise.all(Array.from({ length: most }, () => open(person, org!.id)))
    const refused = await ask(person, org!.id)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    // Whoever only looks takes none.
    await opened[0]!.close()
    const head = await system.fetch('/api/v1/changes', {
      method: 'HEAD',
      headers: { authorization: `Bearer ${person.token}`, 'x-svc-org': org!.id },
    })
    expect(head.status).toBe(200)
    const looked = await system.fetch(page(org!.id), {
      method: 'HEAD',
      headers: { cookie: `svc_console=${person.token}`, 'sec-fetch-site': 'same-origin' },
    })
    expect([looked.status, looked.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const again = await open(person, org!.id)
    await Promise.all([again, ...opened.slice(1)].map((one) => one.close()))
  })

  test('takes no place of who has left before, and for long none of who never begins to read', async () => {
    const { userId } = await makeMember(system, org!, 'viewer')
    const watch = (as: Partial<Principal> = {}) =>
      watchChanges({ db: system.ownDb, clock: () => system.clock.now() })(
        { orgId: org!.id, userId, role: 'viewer', ...as } as Principal,
        {},
      )
    const most = FAIR_QUEUES.changeWaits.running.person
    await expect(watch({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await Promise.all(Array.from({ length: most }, () => watch()))
    await expect(watch()).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    const { body } = await vi.waitFor(() => watch(), { timeout: 20_000 })
    expect(body).toBeInstanceOf(ReadableStream)
    await body.cancel()
  })

  /** Threat: the token is rotated, the browser never hears of it, and its next page ends the session as replayed. */
  test('whose token is rotated meanwhile brings the new one, also when it is refused', async () => {
    const [person, busy] = [
      await makeMember(system, org!, 'viewer'),
      await makeMember(system, org!, 'viewer'),
    ]
    const most = FAIR_QUEUES.changeWaits.running.person
    const opened = await Promise.all(Array.from({ length: most }, () => open(busy, org!.id)))
    system.clock.advance(15 * 60 + 1)
    const [answered, refused] = [await ask(person, org!.id), await ask(busy, org!.id)]
    expect([answered.status, refused.status]).toEqual([200, 429])
    for (const { headers } of [answered, refused])
      expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^svc_console=[^;]+;/)])
    await Promise.all([answered.body!.cancel(), ...opened.map((one) => one.close())])
  })
})
