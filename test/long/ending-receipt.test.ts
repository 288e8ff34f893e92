/**
 * Four processes over one database, a thousand calls, long polls and streams open, of several organizations: the access of some
 * of these ends with a receipt, and after its moment nobody has a byte of what was open for them. One process is stopped
 * meanwhile, as by a machine that hangs: its lease lapses, and once it goes on it writes nothing either. The others go on.
 */
import { randomBytes } from 'node:crypto'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
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
/** At each process, of each organization: of so many one is a stream, and two in five wait as runners. */
const EACH = Math.ceil(OPEN / PROCESSES / ORGANIZATIONS)
/** More than the system holds for a reader who does not read. */
const STREAM_BYTES = 12 * 1024 * 1024
/** How long somebody looks for bytes after the moment. */
const LOOK_MS = 5_000
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
  /** When each byte came, in milliseconds; streams apart, whose bytes wait in the system for a slow reader. */
  lastByteAt: number
  readonly open: Set<string>
  cut: number
  /** Of streams: whether any came whole. */
  whole: number
}

async function makeTenant(): Promise<Tenant> {
  const org = await makeOrganization(system)
  const { token, call } = await makeApiToken(system, org, org.owner)
  await call(createApp, { alias: ALIAS, name: 'Shop' })
  const pushed = await call(pushRevision, {
    alias: ALIAS,
    body: archiveOf({ 'data.bin': randomBytes(STREAM_BYTES / 2).toString('hex') }),
  })
  const { after } = await call(listLogs, { alias: ALIAS })
  return {
    org,
    token,
    after,
    revision: pushed.id,
    isEnding: false,
    lastByteAt: 0,
    open: new Set(),
    cut: 0,
    whole: 0,
  }
}

type Kind = 'poll' | 'runner' | 'stream'

function ask(tenant: Tenant, { port }: ServerProcess, kind: Kind): Promise<IncomingMessage> {
  const base = `/api/deploy/apps/${ALIAS}`
  const path = {
    poll: `${base}/logs?after=${tenant.after}&wait_seconds=20`,
    runner: `${base}/deployments/claim`,
    stream: `${base}/revisions/${tenant.revision}/archive`,
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
  while (!tenant.isEnding) {
    try {
      const answer = await ask(tenant, server, kind)
      if (kind === 'stream') {
        // Not read until the end: what was handed to the system before may still be there.
        answer.pause()
        while (!tenant.isEnding) await sleep(50)
        await ended
        let bytes = 0
        for await (const chunk of answer) bytes += (chunk as Buffer).length
        tenant.whole++
      } else {
        tenant.lastByteAt = realClock().getTime()
        for await (const _ of answer) tenant.lastByteAt = realClock().getTime()
        if (answer.statusCode === 429) await sleep(1_000)
      }
    } catch {
      tenant.cut++
      break
    }
  }
  tenant.open.delete(name)
}

/** Resolved once every receipt is final: until then streams are not read. */
let release: () => void
const ended = new Promise<void>((resolve) => (release = resolve))

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
  // All of them are open, as every process says.
  await expect
    .poll(async () => Math.min(...(await Promise.all(tenants.map(rehearse)))), {
      timeout: 180_000,
      interval: 1_000,
    })
    .toBeGreaterThanOrEqual(EACH * PROCESSES * 0.8)

  for (const tenant of gone) tenant.isEnding = true
  const begun = await Promise.all(
    gone.map(({ org }) => org.owner.call(endWithReceipt, { of: 'organization' })),
  )
  const receipts = await Promise.all(gone.map(({ org }, at) => finalReceipt(org, begun[at]!.id)))
  release()
  await sleep(LOOK_MS)
  for (const [at, tenant] of gone.entries()) {
    const { final_at, cut } = receipts[at]!
    expect(tenant.lastByteAt).toBeLessThanOrEqual(Date.parse(final_at!))
    expect(cut.streams).toBeGreaterThan(0)
    expect(cut.long_polls).toBeGreaterThan(0)
    expect(tenant.whole).toBe(0)
  }
  await expect.poll(() => gone.map(({ open }) => open.size)).toEqual(gone.map(() => 0))
  for (const tenant of neighbors) {
    expect(tenant.cut).toBe(0)
    expect((await tenant.org.owner.call(whoAmI, {})).kind).toBe('user')
  }
  for (const tenant of neighbors) tenant.isEnding = true
  await Promise.all(running)
}, 600_000)

test('a process that hangs: its lease lapses before the moment, and it writes nothing when it goes on', async () => {
  const tenant = await makeTenant()
  const hanging = servers.at(-1)!
  const running = [hanging, servers[1]!].map((server) => keepOpen(tenant, server, 'poll'))
  await expect
    .poll(async () => {
      const { id } = await tenant.org.owner.call(endWithReceipt, { of: 'organization', dry_run: true })
      return (await tenant.org.owner.call(showReceipt, { receipt_id: id, wait: 20 })).cut.long_polls
    })
    .toBe(2)
  tenant.isEnding = true
  hanging.kill('SIGSTOP')
  const { id } = await tenant.org.owner.call(endWithReceipt, { of: 'organization' })
  const pending = await tenant.org.owner.call(showReceipt, { receipt_id: id, wait: 1 })
  expect(pending).toMatchObject({ state: 'pending', processes: { waiting_for: 1 } })
  const receipt = await finalReceipt(tenant.org, id)
  expect(receipt).toMatchObject({ state: 'final', processes: { acknowledged: PROCESSES - 1 } })
  hanging.kill('SIGCONT')
  await Promise.all(running)
  expect(tenant.cut).toBe(2)
  expect(tenant.lastByteAt).toBeLessThanOrEqual(Date.parse(receipt.final_at!))
}, 300_000)

async function finalReceipt({ owner }: Org, id: string) {
  for (;;) {
    const receipt = await owner.call(showReceipt, { receipt_id: id, wait: 20 })
    if (receipt.state === 'final') return receipt
  }
}
