/** Sockets that say nothing, or nearly nothing, at the gateway of embedded databases: an organization's clients do not notice another's. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { showConnectionString } from '../../src/contracts/databases.ts'
import {
  atAddress,
  configurationOf,
  entry,
  makeSource,
  startWithDatabases,
  type SystemWithDatabases,
} from '../support/data-sources.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import { rawClient, startupPacket, type RawClient } from '../support/wire-client.ts'

const SQL = `create table notes (id text primary key, title text, embedding vector(3));
  insert into notes values ('1', 'one', '[1,0,0]')`
/** More sockets than are allowed, and so many logins of both beside them. */
const ENOUGH = { sockets: 200, logins: 10 }

let system: SystemWithDatabases
let org: Org
let other: Org
beforeAll(async () => {
  system = await startWithDatabases({ MANAGED_DATABASE_URL: 'embedded' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  const configuration = configurationOf([entry('notes')])
  await makeSource(org, { name: 'main', sql: SQL, configuration })
  await makeSource(other, { name: 'main', sql: SQL, configuration })
})
afterAll(() => system.stop())

/** Keeps opening sockets of three kinds, more than are allowed, until it is stopped. Those that are closed are replaced. */
function flood(port: number, user: string) {
  const open = new Set<RawClient>()
  let opened = 0
  const stopping = new AbortController()
  const kinds: readonly ((client: RawClient) => void)[] = [
    () => {},
    (client) => client.send(startupPacket({ user, database: user })),
    (client) => client.send(startupPacket({ user, database: user }).subarray(0, 7)),
  ]
  const running = (async () => {
    while (!stopping.signal.aborted) {
      if (open.size < 120) {
        const client = await rawClient(port).catch(() => undefined)
        if (!client) continue
        kinds[opened % kinds.length]!(client)
        opened += 1
        open.add(client)
        void client.closed.then(() => open.delete(client))
      }
      await sleep(2)
    }
  })()
  return {
    get opened() {
      return opened
    },
    async stop() {
      stopping.abort()
      await running
      for (const { socket } of open) socket.destroy()
    },
  }
}

test('while somebody keeps hundreds of silent sockets, everybody logs in and asks', async () => {
  const login = await org.owner.call(showConnectionString, { name: 'main' })
  const neighbor = await other.owner.call(showConnectionString, { name: 'main' })
  const silent = flood(login.port, login.user)
  const refusals: unknown[] = []
  let logins = 0
  // As many as it keeps open.
  await expect.poll(() => silent.opened, { timeout: 60_000 }).toBeGreaterThan(100)
  while (refusals.length === 0 && (silent.opened <= ENOUGH.sockets || logins <= ENOUGH.logins)) {
    for (const { url } of [neighbor, login]) {
      await atAddress(url, (sql) => sql`select title from notes`).then(
        () => (logins += 1),
        (error: unknown) => refusals.push(error),
      )
    }
    const { results } = await other.owner.call(queryDataSource, { source_id: 'db_main', query: '[1,0,0]' })
    expect(results).toHaveLength(1)
  }
  await silent.stop()
  console.log(`${silent.opened} sockets that said nothing, ${logins} logins, ${refusals.length} refused`)
  expect(refusals).toEqual([])
})
