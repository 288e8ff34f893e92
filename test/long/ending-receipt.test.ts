/**
 * Four processes over one database, a thousand calls, long polls and streams open, of several organizations: the access of some
 * of these ends with a receipt, and whoever has that hears no byte more of what was open for them. One process is stopped
 * meanwhile, as by a machine that hangs: its lease lapses, and once it goes on it writes nothing either. The others go on.
 */
import { randomBytes } from 'node:crypto'
import { request, type IncomingMessage } from 'node:http'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createApp } from '../../src/contracts/apps.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { endWithReceipt, showReceipt } from '../../src/contracts/receipts.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { listLogs } from '../../src/contracts/logs.ts'
import { httpClient } from '../../src/client/http-client.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/boot/config.ts'
import { connect, type Connection } from '../../db/connect.ts'
import type { ListeningSystem } from '../support/assistant.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { makeApiToken, makeOrganization, unique, type Org } from '../support/make.ts'
import { processes, realClock, type Env, type ServerProcess } from '../support/process.ts'
import { archiveOf } from '../support/source.ts'
import { freshSecrets } from '../support/system.ts'

/** LONG_OPEN asks for fewer. */
const OPEN = Number(process.env['LONG_OPEN'] ?? 1_000)
const PROCESSES = 4
const ORGANIZATIONS = 10
/** Of these the access ends; the others are their neighbors. */
const ENDED = 5
/** At each process, of each organization: of five one is a stream, and two wait as runners. */
const EACH = Math.ceil(OPEN / PROCESSES / ORGANIZATIONS)
/** As files; more than the system holds for a reader who does not read. */
const ARCHIVE_FILES = 24
const FILE_BYTES = 1024 * 1024
/** Longer than any of them would wait for something to tell. */
const LOOK_MS = 60_000
const ALIAS = 'shop'

const own = processes()
let connection: Connection
let drop: () => Promise<unknown>
let servers: ServerProcess[]
let system: ListeningSystem

beforeAll(async () => {
  const { url } = inject('postgres')
  const name = unique('receipts').replaceAll('-', '_')
  await onServer(url, `create database ${name}`)
  drop = () => onServer(url, `drop database ${name} with (force)`)
  const ports = await Promise.all(Array.from({ length: PROCESSES }, freePort))
  const address = `http://localhost:${ports[0]}`
  const env: Env = {
    DATABASE_URL: databaseUrl(url, name),
    SVC_ORG: 'Receipts',
    SVC_SERVICES: 'auth-service,api-gateway,deploy-api,mcp-server,worker',
    APP_URL: address,
    API_URL: address,
    AUTH_URL: address,
    MCP_URL: address,
    MANAGED_DATABASE_URL: 'embedded',
    TRUSTED_PROXIES: '127.0.0.1',
    ARGON2_MEMORY_KIB: '64',
    ...freshSecrets(),
  }
  servers = await Promise.all(ports.map((port) => own.start({ env: { ...env, PORT: String(port) } })))
  connection = await connect({ url: env['DATABASE_URL']! })
  const config = readConfig({ ...env, PORT: String(ports[0]) })
  system = {
    system: { config },
    db: connection.db,
    clock: { now: realClock },
    as: (who) => httpClient(overNetwork(config.API_URL), who),
    origin: address,
  } as ListeningSystem
})
afterAll(async () => {
  await own.cleanUp()
  await connection?.close()
  await drop?.()
})

type Tenant = {
  readonly org: Org
  readonly token: string
  readonly after: string
  readonly revision: string
  /** Nothing new is begun. */
  isEnding: boolean
  /** Its receipt is here, and all that had arrived by then was read. */
  isOver: boolean
  /** Bytes and answers that came then. */
  late: number
  readonly open: Set<string>
  cut: number
}

async function makeTenant(): Promise<Tenant> {
  const org = await makeOrganization(system)
  const { token, call } = await makeApiToken(system, org, org.owner)
  await call(createApp, { alias: ALIAS, name: 'Shop' })
  const files = Array.from({ length: ARCHIVE_FILES }, (_, n) => [
    `${n}.txt`,
    randomBytes(FILE_BYTES / 2).toString('hex'),
  ])
  const pushed = await call(pushRevision, {
    alias: ALIAS,
    body: archiveOf(Object.fromEntries(files) as Record<string, string>),
  })
  const { after } = await call(listLogs, { alias: ALIAS })
  return {
    org,
    token,
    after,
    revision: pushed.id,
    isEnding: false,
    isOver: false,
    late: 0,
    open: new Set(),
    cut: 0,
  }
}

type Kind = 'poll' | 'runner' | 'stream' | 'archive'

function ask(tenant: Tenant, { port }: ServerProcess, kind: Kind): Promise<IncomingMessage> {
  const base = `/api/deploy/apps/${ALIAS}`
  const path = {
    poll: `${base}/logs?after=${tenant.after}&wait_seconds=20`,
    runner: `${base}/deployments/claim`,
    stream: '/api/v1/changes',
    archive: `${base}/revisions/${tenant.revision}/archive`,
  }[kind]
  const body = kind === 'runner' ? JSON.stringify({ runner: unique('runner'), wait_seconds: 15 }) : ''
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        path,
        agent: false,
        method: kind === 'runner' ? 'POST' : 'GET',
        headers: {
          authorization: `Bearer ${tenant.token}`,
          host: `localhost:${servers[0]!.port}`,
          'x-forwarded-for': `2001:db8:${randomBytes(2).toString('hex')}:1::1`,
          ...(kind === 'runner' && { 'content-type': 'application/json' }),
        },
      },
      resolve,
    )
    asked.once('error', reject)
    asked.end(body)
  })
}

/** Asks again and again, until it is cut off or its access is about to end. */
async function keepOpen(tenant: Tenant, server: ServerProcess, kind: Kind): Promise<void> {
  const name = unique(kind)
  tenant.open.add(name)
  const hear = () => {
    if (tenant.isOver) tenant.late++
  }
  while (!tenant.isEnding) {
    try {
      const answer = await ask(tenant, server, kind)
      hear()
      for await (const _ of answer) hear()
      hear()
      if (answer.statusCode !== 200) await sleep(1_000)
    } catch {
      tenant.cut++
      break
    }
  }
  tenant.open.delete(name)
}

/** Begins to read a large answer; the function reads the rest and says whether it came whole. */
async function beginArchive(tenant: Tenant, server: ServerProcess): Promise<() => Promise<boolean>> {
  const answer = await ask(tenant, server, 'archive')
  expect(answer.statusCode).toBe(200)
  answer.pause()
  // Told by whoever reads it.
  answer.on('error', () => {})
  return async () => {
    try {
      for await (const _ of answer);
      return true
    } catch {
      return false
    }
  }
}

test(`${OPEN} open: no byte after the moment of the receipt, and the neighbors go on`, async () => {
  const tenants: Tenant[] = []
  for (let n = 0; n < ORGANIZATIONS; n++) tenants.push(await makeTenant())
  const kinds: Kind[] = ['poll', 'runner', 'poll', 'runner', 'stream']
  const running = tenants.flatMap((tenant) =>
    servers.flatMap((server) =>
      Array.from({ length: EACH }, (_, n) => keepOpen(tenant, server, kinds[n % kinds.length]!)),
    ),
  )
  expect(running.length).toBeGreaterThanOrEqual(OPEN)
  const [gone, neighbors] = [tenants.slice(0, ENDED), tenants.slice(ENDED)]
  const rehearse = async ({ org }: Tenant) => {
    const { id } = await org.owner.call(endWithReceipt, { of: 'organization', dry_run: true })
    const { cut } = await org.owner.call(showReceipt, { receipt_id: id, wait: 20 })
    return cut.calls + cut.long_polls + cut.streams + cut.questions
  }
  // They are open, as every process says; some are just asking again.
  await expect
    .poll(async () => Math.min(...(await Promise.all(tenants.map(rehearse)))), {
      timeout: 240_000,
      interval: 1_000,
    })
    .toBeGreaterThanOrEqual(EACH * PROCESSES * 0.9)
  // One at each process: more of them at once are too much for it.
  const archives = await Promise.all(servers.map((server) => beginArchive(gone[0]!, server)))

  for (const tenant of gone) tenant.isEnding = true
  const begun = await Promise.all(
    gone.map(({ org }) => org.owner.call(endWithReceipt, { of: 'organization' })),
  )
  const receipts = await Promise.all(gone.map((tenant, at) => finalReceipt(tenant, begun[at]!.id)))
  // Read at once: whoever reads nothing for half a minute is given up anyway.
  expect(await Promise.all(archives.map((readRest) => readRest()))).toEqual(archives.map(() => false))
  // Whoever was not cut off is told something by then.
  await expect
    .poll(() => gone.map(({ open }) => open.size), { timeout: LOOK_MS, interval: 100 })
    .toEqual(gone.map(() => 0))
  for (const [at, tenant] of gone.entries()) {
    const { cut } = receipts[at]!
    expect(tenant.late).toBe(0)
    expect(cut.streams).toBeGreaterThanOrEqual(EACH * PROCESSES * 0.2 * 0.9)
    expect(cut.long_polls).toBeGreaterThan(0)
    // Some were answered between the last question and the ending.
    expect(tenant.cut).toBeGreaterThanOrEqual(EACH * PROCESSES * 0.5)
  }
  for (const tenant of neighbors) {
    expect(tenant.cut).toBe(0)
    expect((await tenant.org.owner.call(whoAmI, {})).kind).toBe('user')
    tenant.isEnding = true
  }
  // Streams of the neighbors go on until everything of theirs ends, too.
  await Promise.all(
    neighbors.map(async (tenant) =>
      finalReceipt(tenant, (await tenant.org.owner.call(endWithReceipt, { of: 'organization' })).id),
    ),
  )
  await Promise.all(running)
}, 900_000)

test('a process that hangs: its lease lapses before the moment, and it writes nothing when it goes on', async () => {
  const [tenant, neighbor] = [await makeTenant(), await makeTenant()]
  const hanging = servers.at(-1)!
  const running = [hanging, servers[1]!].map((server) => keepOpen(tenant, server, 'poll'))
  const next = keepOpen(neighbor, servers[1]!, 'poll')
  await expect
    .poll(
      async () => {
        const { id } = await tenant.org.owner.call(endWithReceipt, { of: 'organization', dry_run: true })
        return (await tenant.org.owner.call(showReceipt, { receipt_id: id, wait: 20 })).cut.long_polls
      },
      { timeout: 60_000 },
    )
    .toBe(2)
  tenant.isEnding = true
  hanging.kill('SIGSTOP')
  const { id } = await tenant.org.owner.call(endWithReceipt, { of: 'organization' })
  const pending = await tenant.org.owner.call(showReceipt, { receipt_id: id, wait: 1 })
  expect(pending).toMatchObject({ state: 'pending', processes: { waiting_for: 1 } })
  const receipt = await finalReceipt(tenant, id)
  expect(receipt).toMatchObject({ state: 'final', processes: { acknowledged: PROCESSES - 1 } })
  hanging.kill('SIGCONT')
  await Promise.all(running)
  expect(tenant.cut).toBe(2)
  expect(tenant.late).toBe(0)
  expect(neighbor.cut).toBe(0)
  neighbor.isEnding = true
  await next
}, 300_000)

async function finalReceipt(tenant: Tenant, id: string) {
  for (;;) {
    const receipt = await tenant.org.owner.call(showReceipt, { receipt_id: id, wait: 20 })
    if (receipt.state !== 'final') continue
    // Whatever was sent before it is in the system by now, and read with the next turns.
    for (let turns = 0; turns < 3; turns++) await turn()
    tenant.isOver = true
    return receipt
  }
}
