/** A system that agents can reach: the real server on a socket, a user who approves, and a host for metadata documents. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guardedFetch } from '../../src/adapters/outbound/guarded-fetch.ts'
import { listGrants, revokeGrant } from '../../src/contracts/grants.ts'
import type { GuardedFetch } from '../../src/cores/dependencies.ts'
import { listen } from '../../src/boot/listener.ts'
import { newDatabase } from './database.ts'
import { makeOrganization, PASSWORD, type Org } from './make.ts'
import { freePort } from './free-port.ts'
import { startSystem, type TestSystem } from './system.ts'
import { newWalker, type Page, type Walker } from './walker.ts'

export type AgentSystem = {
  readonly system: TestSystem
  readonly origin: string
  /** The endpoint agents are told to connect to. */
  readonly platform: string
  readonly org: Org
  readonly web: DocumentHost
  /** What the browser would do after a client opened it: signs in, allows what is offered, stops at the answer. */
  readonly approve: (authorizationUrl: string | URL) => Promise<Approved>
  /** Ends the grants of a client as its user would. */
  readonly disconnect: (clientId: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** `answer` is the redirect to the client, not yet followed. */
export type Approved = { readonly page: Page; readonly answer: URL }

/** On a database of its own: registrations from one address are limited, and all of them come from here. */
export async function startAgentSystem(): Promise<AgentSystem> {
  const [connection, web, port] = await Promise.all([newDatabase(), documentHost(), freePort()])
  const system = await startSystem({ PORT: String(port) }, { connection, guardedFetch: web.fetch })
  const listening = await listen(system.system)
  const origin = `http://localhost:${port}`
  const org = await makeOrganization(system)
  const { email, token } = org.owner
  const asOwner = system.as({ token, organization: org.id })
  return {
    system,
    origin,
    platform: `${origin}/platform`,
    org,
    web,
    approve: (url) => approveAs(newWalker(system, { overSockets: true }), origin, email, url),
    async disconnect(clientId) {
      const { grants } = await asOwner(listGrants, { client_id: clientId })
      if (grants.length === 0) throw new Error(`${clientId} is not connected`)
      for (const { id } of grants) await asOwner(revokeGrant, { grant_id: id })
    },
    async stop() {
      await listening.stop()
      await system.stop()
      await Promise.all([connection.close(), web.stop()])
    },
  }
}

async function approveAs(
  walker: Walker,
  origin: string,
  email: string,
  url: string | URL,
): Promise<Approved> {
  const isAway = (there: URL) => there.origin !== origin
  const signIn = await walker.follow(await walker.open(new URL(url)), isAway)
  const signedIn = await walker.submit(signIn, 'Sign in', { email, password: PASSWORD })
  const page = await walker.follow(signedIn, isAway)
  const decided = await walker.postFrom(page, page.url, [...chosenOn(page), ['decision', 'approve']])
  const { location, words } = await walker.follow(decided, isAway)
  if (!location) throw new Error(`Nothing was answered: ${words}`)
  return { page, answer: location }
}

/** What the form would send untouched: hidden fields, and the choices that are made already. */
function chosenOn({ text }: Page): [string, string][] {
  const inputs = [...text.matchAll(/<input\b((?:[^>"]|"[^"]*")*)>/g)].map(([, inside = '']) => inside)
  return inputs
    .filter((input) => /type="hidden"/.test(input) || /\schecked\b/.test(input))
    .map((input) => [/name="([^"]*)"/.exec(input)?.[1] ?? '', /value="([^"]*)"/.exec(input)?.[1] ?? ''])
}

export type DocumentHost = {
  readonly fetch: GuardedFetch
  /** Serves a document about a client at an https address, which it is told because it must name it. */
  readonly publish: (path: string, make: (url: string) => object) => string
  /** How often each path was asked for. */
  readonly asked: (url: string) => number
  readonly stop: () => Promise<void>
}

/** Any host name leads to it; nothing leaves this machine. */
async function documentHost(): Promise<DocumentHost> {
  const certificate = selfSigned()
  const documents = new Map<string, object>()
  const asked: string[] = []
  const server: Server = createServer(certificate, (request, response) => {
    const url = `https://${request.headers.host}${request.url}`
    asked.push(url)
    const document = documents.get(url)
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  return {
    fetch: guardedFetch({
      resolve: async () => ['127.0.0.1'],
      allowAddress: (address) => address === '127.0.0.1',
      ca: certificate.cert,
    }),
    publish(path, make) {
      const url = `https://client.test:${port}${path}`
      documents.set(url, make(url))
      return url
    },
    asked: (url) => asked.filter((one) => one === url).length,
    stop: () => new Promise((stopped) => server.close(() => stopped())),
  }
}

function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificate-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    const what = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=client.test'
    const names = ['-addext', 'subjectAltName=DNS:client.test']
    execFileSync('openssl', [...what.split(' '), ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
