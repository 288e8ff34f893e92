/**
 * The example with two hosts in docs/operating.md, as it stands there: its settings, its proxy, its routes. Only addresses
 * are of this machine: a loopback address for each host, so that who calls whom is what it is there.
 */
import { randomBytes } from 'node:crypto'
import { createServer, request, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { SERVICE_NAMES } from '../../src/boot/config.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { readReleasedSkills } from '../../src/skills/read-released.ts'
import { readText } from '../repository/source-tree.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { unique } from '../support/make.ts'
import { nginxRoutes, routeFor, type Route } from '../support/nginx-routes.ts'
import { firstWordsIn, processes, type Env, type FirstWords, type ServerProcess } from '../support/process.ts'

const page = readText('docs/operating.md')
const section = (title: string): string => page.split(`\n## ${title}\n`)[1]!.split('\n## ')[0]!
const blocks = (language: string, from: string): string[] =>
  [...from.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block!)

/** 10.0.0.1 of the page is 127.0.70.1 here. */
const hereOf = (address: string): string => address.replaceAll(/\b10\.0\.0\.(\d+)/g, '127.0.70.$1')
const CLIENTS = ['127.0.71.1', '127.0.71.2'] as const

const own = processes()
let drop: () => Promise<unknown>
let hosts: readonly [Env, Env]
let servers: readonly [ServerProcess, ServerProcess]
let proxy: Server
let proxyPort: number
let owner: FirstWords

beforeAll(async () => {
  const postgres = inject('postgres')
  const name = unique('hosts').replaceAll('-', '_')
  await onServer(postgres.url, `create database ${name}`)
  drop = () => onServer(postgres.url, `drop database ${name} with (force)`)
  const ports = [await freePort(), await freePort()] as const
  const secrets = new Map<string, string>()
  const settings = async (block: string): Promise<Env> => {
    const folder = await own.newFolder()
    const lines = block.trim().split('\n')
    return Object.fromEntries(
      lines.map((line) => {
        const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
        if (value === '<openssl rand -hex 32>') {
          if (!secrets.has(key)) secrets.set(key, randomBytes(32).toString('hex'))
          return [key, secrets.get(key)!]
        }
        if (key === 'DATABASE_URL') return [key, databaseUrl(postgres.url, name)]
        if (key === 'MANAGED_DATABASE_URL') return [key, process.env['TEST_PGVECTOR_URL'] ?? postgres.url]
        if (key === 'SVC_DATA_DIR') return [key, folder]
        // On loopback every process calls from this address, whichever it listens at.
        if (key === 'TRUSTED_PROXIES') return [key, hereOf(value.replace('10.0.0.2', '10.0.0.2,127.0.0.1'))]
        return [
          key,
          hereOf(value)
            .replace('127.0.70.1:4000', `127.0.70.1:${ports[0]}`)
            .replace('127.0.70.2:4000', `127.0.70.2:${ports[1]}`),
        ]
      }),
    )
  }
  const [both = '', first = '', second = ''] = blocks('sh', section('Example: two hosts'))
  const quick = { ARGON2_MEMORY_KIB: '64' }
  hosts = [
    { ...(await settings(both + first)), ...quick, PORT: String(ports[0]) },
    { ...(await settings(both + second)), ...quick, PORT: String(ports[1]) },
  ]
  const [nginx = ''] = blocks('nginx', section('Behind a proxy'))
  const routes = nginxRoutes(nginx)
  servers = [await own.start({ env: hosts[0] }), await own.start({ env: hosts[1] })]
  proxyPort = await freePort()
  proxy = openProxy(routes, ports)
  owner = await firstWordsIn(servers[0])
})
afterAll(async () => {
  proxy?.closeAllConnections()
  proxy?.close()
  await own.cleanUp()
  await drop?.()
})

/** What the configuration of nginx says: by host and location, with `Host` and the client's address. */
function openProxy(routes: readonly Route[], ports: readonly [number, number]): Server {
  return createServer((incoming, outgoing) => {
    const { host = '', ...headers } = incoming.headers
    const route = routeFor(routes, host, incoming.url!)
    if (!route) return void outgoing.writeHead(404).end()
    const to = hereOf(route.to.hostname)
    const forwarded = [headers['x-forwarded-for'] ?? [], incoming.socket.remoteAddress].flat().join(', ')
    const onward = request(
      {
        host: to,
        port: ports[to === '127.0.70.1' ? 0 : 1],
        localAddress: hereOf('10.0.0.3'),
        method: incoming.method!,
        path: incoming.url!,
        headers: { ...headers, host, 'x-forwarded-for': forwarded },
        agent: false,
      },
      (answer) => answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)),
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  }).listen(proxyPort, hereOf('10.0.0.3'))
}

type Answer = {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}
type Asked = { readonly json?: unknown; readonly token?: string; readonly from?: string }

/** As a browser behind the names of the example: through the proxy, TLS aside. */
function ask(address: string, { json, token, from = CLIENTS[0] }: Asked = {}): Promise<Answer> {
  const url = new URL(address)
  const headers = {
    host: url.host,
    accept: 'application/json, text/event-stream, text/html',
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: hereOf('10.0.0.3'),
        port: proxyPort,
        localAddress: from,
        method: json === undefined ? 'GET' : 'POST',
        path: url.pathname + url.search,
        headers,
        agent: false,
      },
      (answer) =>
        void text(answer).then(
          (body) => resolve({ status: answer.statusCode!, headers: answer.headers, text: body }),
          reject,
        ),
    )
    asked.once('error', reject)
    asked.end(json === undefined ? undefined : JSON.stringify(json))
  })
}

const bodyOf = async (answer: Promise<Answer>): Promise<Record<string, unknown>> =>
  JSON.parse((await answer).text) as Record<string, unknown>

test('all services run, each on one host, and only the first can make tokens', () => {
  const [first, second] = hosts.map((host) => host['SVC_SERVICES']!.split(','))
  expect([...first!, ...second!].toSorted()).toEqual([...SERVICE_NAMES].toSorted())
  expect(Object.keys(hosts[1]).filter((key) => /^JWT_|ASSERTION/.test(key))).toEqual([])
  expect(Object.keys(hosts[0])).not.toContain('DATA_KEY')
})

test('the table of routes says the same as the configuration of the proxy', () => {
  const [nginx = ''] = blocks('nginx', section('Behind a proxy'))
  const inTable = [
    ...section('Example: two hosts').matchAll(/^\| (the rest of )?`(\S+?)(\/\S*)?` \| host (\d) \|/gm),
  ].map(([, , host, path = '/', number]) => `${host}${path} 10.0.0.${number}`)
  const inNginx = nginxRoutes(nginx).map(({ host, path, to }) => `${host}${path} ${to.hostname}`)
  expect(inTable.toSorted()).toEqual(inNginx.toSorted())
})

test('the API answers at api., apps of the deploy-api included', async () => {
  expect(await bodyOf(ask('https://api.example.com/api/v1/me', { token: owner.token }))).toMatchObject({
    kind: 'api_token',
    role: 'owner',
  })
  const made = ask('https://api.example.com/api/deploy/apps', {
    token: owner.token,
    json: { alias: 'shop', name: 'Shop' },
  })
  expect((await made).status).toBe(201)
  expect(await bodyOf(ask('https://api.example.com/api/deploy/apps', { token: owner.token }))).toMatchObject({
    apps: [{ alias: 'shop' }],
  })
})

test('the console at app. sends to the sign-in pages of the other host', async () => {
  const { status, headers } = await ask('https://app.example.com/console')
  expect(status).toBeGreaterThan(300)
  // Through the console's own page, which remembers where to return to.
  const own = new URL(String(headers['location']), 'https://app.example.com')
  expect(own.pathname).toBe('/console/sign-in')
  const signIn = new URL(String((await ask(own.href)).headers['location']), own)
  expect([signIn.origin, signIn.pathname]).toEqual(['https://app.example.com', '/auth/sign-in'])
  const shown = await ask(signIn.href)
  expect([shown.status, shown.text.includes('Password')]).toEqual([200, true])
})

test('an assistant finds its way from mcp. to auth., and a call goes through all of them', async () => {
  const refused = await ask('https://mcp.example.com/platform', {
    json: { jsonrpc: '2.0', id: 1, method: 'ping' },
  })
  expect(refused.status).toBe(401)
  const [, metadata = ''] =
    /resource_metadata="([^"]+)"/.exec(String(refused.headers['www-authenticate'])) ?? []
  const resource = await bodyOf(ask(metadata))
  expect(resource).toMatchObject({
    resource: 'https://mcp.example.com/platform',
    authorization_servers: ['https://auth.example.com'],
  })
  expect(await bodyOf(ask('https://auth.example.com/.well-known/oauth-authorization-server'))).toMatchObject({
    issuer: 'https://auth.example.com',
    token_endpoint: 'https://auth.example.com/oauth/token',
  })

  const called = await ask('https://mcp.example.com/platform', {
    token: owner.token,
    json: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'whoami', arguments: {} } },
  })
  expect(called.text).toContain(owner.email)
})

test('the site at app. has the released skills, and pages of mailed links', async () => {
  const index = await bodyOf(ask('https://app.example.com/.well-known/agent-skills/index.json'))
  // A tag only where there is one.
  const { ref } = (index as { _source: { ref: string | null } })._source
  expect([`v${readReleasedSkills()!.version}`, null]).toContain(ref)
  const unsubscribe = await ask('https://app.example.com/unsubscribe/nothing')
  expect(unsubscribe.text).toContain('<html')
  expect(unsubscribe.headers['location']).toBeUndefined()
})

test('guesses are counted by the client’s address, through proxy and gateway', async () => {
  const guess = async (from: string) => {
    const json = { email: `${unique('nobody')}@example.com`, password: 'a wild guess' }
    return (await ask('https://api.example.com/api/v1/sessions', { json, from })).status
  }
  const guesses = Array.from({ length: SIGN_IN_FAILURES_PER_ADDRESS.count }, () => guess(CLIENTS[0]))
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([401]))
  expect(await guess(CLIENTS[0])).toBe(429)
  expect(await guess(CLIENTS[1])).toBe(401)
})

test('the worker does its jobs on the second host, and the runner of agents is ready', async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${servers[1].metricsPort}/metrics`)).text()
  expect(metrics).toMatch(/^svc_notification_messages_due(?:\{.*\})? \d+$/m)
  const ready = await fetch(`http://127.0.70.2:${servers[1].port}/readyz`)
  expect(ready.status).toBe(200)
})
