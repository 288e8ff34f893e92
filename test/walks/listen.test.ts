/** Who waits for work hears of it: after the commit, in every process, and again after the connection was lost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { notify, type Topic } from '../../db/listen.ts'
import { run } from '../../src/cli/run.ts'
import { startListeningSystem } from '../support/assistant.ts'
import { newDatabase, onServer, type TestDatabase } from '../support/database.ts'
import { fakeEnvironment } from '../support/fake-environment.ts'
import { freePort } from '../support/free-port.ts'
import { hasOneConnection, hearsNothing } from '../support/left-out.ts'
import { makeApiToken, makeOrganization } from '../support/make.ts'

let database: TestDatabase
const others: Connection[] = []

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(async () => {
  for (const other of others) await other.close()
  await database.close()
})

/** Undefined: anything may have happened. */
async function listenOn({ listener }: Connection): Promise<(string | undefined)[]> {
  const heard: (string | undefined)[] = []
  listener.subscribe((topic, key) => void heard.push(topic && `${topic} ${key}`.trim()))
  await expect.poll(() => listener.state(), { timeout: 10_000 }).toBe('listening')
  heard.length = 0
  return heard
}

/** Whatever was sent before has arrived. */
async function settled(
  heard: (string | undefined)[],
  topic: Topic = 'loads',
): Promise<(string | undefined)[]> {
  await notify(database.db, topic, 'last')
  await expect.poll(() => heard).toContain(`${topic} last`)
  return heard.filter((one) => one !== `${topic} last`)
}

test.skipIf(hearsNothing)('it is heard after the commit, once, and not after a rollback', async () => {
  const heard = await listenOn(database)
  await database.db.transaction(async (tx) => {
    for (const org of ['org_1', 'org_2', 'org_1']) await notify(tx, 'events', org)
    await tx.transaction(async (inner) => {
      await notify(inner, 'events', 'org_2')
    })
    expect(heard).toEqual([])
  })
  await database.db
    .transaction(async (tx) => {
      await notify(tx, 'checks', 'org_1')
      throw new Error('planted')
    })
    .catch(() => {})
  expect(await settled(heard)).toEqual(['events org_1', 'events org_2'])
})

test.skipIf(hasOneConnection || hearsNothing)(
  'another process hears it, too, and looks at everything when its connection was cut off',
  async () => {
    const other = await connect({ url: database.url! })
    others.push(other)
    const [mine, theirs] = [await listenOn(database), await listenOn(other)]
    await database.db.transaction((tx) => notify(tx, 'deployments', 'app_1'))
    expect(await settled(mine)).toEqual(['deployments app_1'])
    expect(await settled(theirs)).toEqual(['deployments app_1'])
    theirs.length = 0
    await onServer(
      database.url!,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'svc listener' and datname = current_database()`,
    )
    await expect.poll(() => theirs, { timeout: 10_000 }).toContain(undefined)
    await expect.poll(() => other.listener.state(), { timeout: 10_000 }).toBe('listening')
    theirs.length = 0
    await notify(database.db, 'pipelines', 'app_2')
    await expect.poll(() => theirs).toEqual(['pipelines app_2'])
  },
)

test.skipIf(hasOneConnection || hearsNothing)(
  '`svc doctor` says how the server learns of work: told by its database, or looking for it',
  async () => {
    // Nobody listens there: as behind a pooler, no notification arrives.
    for (const [listenUrl, state, words] of [
      [undefined, 'listening', 'listening, the server is told of it by its database'],
      [
        `postgres://127.0.0.1:${await freePort()}/svc`,
        'polling',
        'polling, the server looks for it now and then (DATABASE_LISTEN_URL)',
      ],
    ] as const) {
      const connection = await connect({ url: database.url! }, { listenUrl })
      others.push(connection)
      // As every service that waits for work.
      connection.listener.subscribe(() => {})
      await expect.poll(() => connection.listener.state(), { timeout: 10_000 }).toBe(state)
      const system = await startListeningSystem({}, { connection })
      try {
        const org = await makeOrganization(system)
        const { token } = await makeApiToken(system, org, org.owner)
        const env = { SVC_API_URL: system.origin, SVC_API_KEY: token }
        const environment = fakeEnvironment({ env })
        await run(['doctor'], environment)
        expect(environment.out()).toContain(`work: ${words}\n`)
      } finally {
        await system.stop()
      }
    }
  },
)
