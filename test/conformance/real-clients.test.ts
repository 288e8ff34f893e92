/**
 * Clients that others wrote, each from the first refused call to the last: discovery, registration or metadata
 * document, approval, tokens, a tool, a refresh, and the end.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startAgentSystem, type AgentSystem } from '../support/agents.ts'
import { deliver, textIn } from '../support/clients/client.ts'
import { MCP_REMOTE } from '../support/clients/mcp-remote.ts'
import {
  legacyConnection,
  modernConnection,
  newMemory,
  OFFICIAL_METADATA,
  type Connection,
} from '../support/clients/official.ts'
import { freePort } from '../support/free-port.ts'

let system: AgentSystem
beforeAll(async () => {
  system = await startAgentSystem()
})
afterAll(() => system?.stop())

// The OAuth library, which checks every answer against the RFCs

/** The system is on loopback, without TLS. */
const INSECURE = { [oauth.allowInsecureRequests]: true } as const

describe('oauth4webapi', () => {
  test('as a client that registers itself', async () => {
    const { as } = await discover()
    const registration = await oauth.dynamicClientRegistrationRequest(
      as,
      { client_name: 'A library', redirect_uris: ['https://app.test/back'] },
      INSECURE,
    )
    const client = await oauth.processDynamicClientRegistrationResponse(registration)
    await expectWholeWalk(as, client, oauth.None(), 'https://app.test/back')
  })

  test('as a client with a metadata document, whose document is read once, at the authorization', async () => {
    const { as } = await discover()
    expect(as.client_id_metadata_document_supported).toBe(true)
    const url = system.web.publish('/library.json', (client_id) => ({
      client_id,
      client_name: 'A library',
      redirect_uris: ['http://127.0.0.1/back'],
      token_endpoint_auth_method: 'none',
    }))
    const page = await expectWholeWalk(as, { client_id: url }, oauth.None(), 'http://127.0.0.1:41999/back')
    expect(page.words).toContain(`${new URL(url).host} requests access`)
    expect(system.web.asked(url)).toBe(1)
  })

  test('as ChatGPT does: a document with two methods and a key set, assertions signed with RS256', async () => {
    const { as } = await discover()
    const [own, foreign] = await Promise.all([newKey(), newKey()])
    const keys = system.web.publish('/oauth/jwks.json', () => ({ keys: [own.jwk] }))
    const url = system.web.publish('/oauth/client.json', (client_id) => ({
      client_id,
      client_uri: 'https://client.test/',
      client_name: 'ChatGPT',
      redirect_uris: ['https://client.test/connector_platform_oauth_redirect'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: keys,
    }))
    const back = 'https://client.test/connector_platform_oauth_redirect'
    const client = { client_id: url }
    const signed = oauth.PrivateKeyJwt({ key: own.privateKey, kid: own.jwk.kid })
    await expectWholeWalk(as, client, signed, back)

    const { code, verifier } = await authorize(as, client, back)
    for (const impostor of [
      oauth.None(),
      oauth.PrivateKeyJwt({ key: foreign.privateKey, kid: own.jwk.kid }),
    ]) {
      const refused = await oauth.authorizationCodeGrantRequest(as, client, impostor, code, back, verifier, {
        ...INSECURE,
      })
      expect(refused.status).toBe(401)
      expect(await refused.json()).toMatchObject({ error: 'invalid_client' })
    }
  })

  async function discover() {
    const refused = await fetch(system.platform, { method: 'POST' })
    const challenge = refused.headers.get('www-authenticate') ?? ''
    expect(refused.status).toBe(401)
    expect(challenge).toContain(
      `resource_metadata="${system.origin}/.well-known/oauth-protected-resource/platform"`,
    )
    const platform = new URL(system.platform)
    const resource = await oauth.processResourceDiscoveryResponse(
      platform,
      await oauth.resourceDiscoveryRequest(platform, INSECURE),
    )
    const issuer = new URL(resource.authorization_servers![0]!)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE })
    return { resource, as: await oauth.processDiscoveryResponse(issuer, found) }
  }

  async function authorize(as: oauth.AuthorizationServer, client: oauth.Client, redirectUri: string) {
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
    const url = new URL(as.authorization_endpoint!)
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'data:read maintenance:read',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      resource: system.platform,
    }).toString()
    const { page, answer } = await system.approve(url)
    expect(answer.href.startsWith(`${redirectUri}?`)).toBe(true)
    return { page, verifier, code: oauth.validateAuthResponse(as, client, answer, state) }
  }

  async function expectWholeWalk(
    as: oauth.AuthorizationServer,
    client: oauth.Client,
    auth: oauth.ClientAuth,
    redirectUri: string,
  ) {
    const { page, code, verifier } = await authorize(as, client, redirectUri)
    const first = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, auth, code, redirectUri, verifier, {
        ...INSECURE,
        additionalParameters: { resource: system.platform },
      }),
    )
    expect(await whoAmI(first.access_token)).toMatchObject({
      user: { email: system.org.owner.email },
      organization: { id: system.org.id },
      scopes: ['data:read', 'maintenance:read'],
      client: client.client_id,
    })
    const refresh = (token: string) =>
      oauth.refreshTokenGrantRequest(as, client, auth, token, {
        ...INSECURE,
        additionalParameters: { resource: system.platform },
      })
    const second = await oauth.processRefreshTokenResponse(as, client, await refresh(first.refresh_token!))
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await whoAmI(second.access_token)).toMatchObject({ client: client.client_id })

    const revoked = await oauth.revocationRequest(as, client, auth, second.refresh_token!, INSECURE)
    await oauth.processRevocationResponse(revoked)
    await expect(whoAmI(second.access_token)).rejects.toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
    expect(await (await refresh(second.refresh_token!)).json()).toMatchObject({ error: 'invalid_grant' })
    return page
  }

  async function whoAmI(token: string): Promise<unknown> {
    const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json' })
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }
    const response = await oauth.protectedResourceRequest(
      token,
      'POST',
      new URL(system.platform),
      headers,
      JSON.stringify(call),
      INSECURE,
    )
    return saidBy(((await response.json()) as { result: unknown }).result)
  }
})

// The two generations of the official client

describe.each([
  ['2026-07-28', modernConnection],
  ['2025-11-25', legacyConnection],
])('the official client of %s', (era, connect) => {
  test('registers itself', () => expectWholeWalk({}))

  test('names a metadata document', async () => {
    const clientMetadataUrl = system.web.publish(`/sdk-${era}.json`, (client_id) => ({
      client_id,
      ...OFFICIAL_METADATA,
      redirect_uris: ['http://127.0.0.1/callback'],
    }))
    await expectWholeWalk({ clientMetadataUrl })
    expect(system.web.asked(clientMetadataUrl)).toBe(1)
  })

  async function expectWholeWalk(given: { clientMetadataUrl?: string }) {
    const memory = newMemory(given)
    const refused = closedLater(connect(system.platform, memory))
    await expect(refused.open()).rejects.toThrow(/unauthorized/i)
    const { answer } = await system.approve(memory.sentTo()!)
    await refused.finish(answer)
    if (given.clientMetadataUrl) expect(memory.clientId()).toBe(given.clientMetadataUrl)
    else expect(memory.clientId()).toMatch(/^dcr_/)

    const client = closedLater(connect(system.platform, memory))
    await client.open()
    expect(client.version()).toBe(era)
    expect(await whoAmI(client)).toMatchObject({
      user: { email: system.org.owner.email },
      client: memory.clientId(),
    })

    const before = memory.tokens()!
    memory.spoilAccessToken()
    expect(await whoAmI(client)).toMatchObject({ organization: { id: system.org.id } })
    expect(memory.tokens()!.refresh_token).not.toBe(before.refresh_token)
    expect(memory.tokens()!.access_token).not.toBe(before.access_token)

    const asked = memory.sentTo()
    await system.disconnect(memory.clientId()!)
    await expect(whoAmI(client)).rejects.toThrow(/unauthorized/i)
    // It knows what to do: the person is asked again.
    expect(memory.sentTo()).not.toBe(asked)
  }
})

/** RFC 6750, 3.1 and the specification's scope challenge: only the newer one asks for more by itself. */
test('the official client of 2026-07-28 steps up: a tool beyond its grant has the person asked for both scopes', async () => {
  const memory = newMemory({})
  const notifications = `${system.origin}/notifications`
  const refused = closedLater(modernConnection(notifications, memory))
  await expect(refused.open()).rejects.toThrow(/unauthorized/i)
  expect(scopesIn(memory.sentTo())).not.toContain('notifications:write')
  await refused.finish((await system.approve(memory.sentTo()!)).answer)

  const client = closedLater(modernConnection(notifications, memory))
  await client.open()
  const acknowledgeNotification = () =>
    client.call('notifications_ack', { id: 'ntf_01jv0000000000000000000000' })
  await expect(acknowledgeNotification()).rejects.toThrow(/unauthorized/i)
  expect(scopesIn(memory.sentTo())).toEqual(
    expect.arrayContaining(['notifications:read', 'notifications:write']),
  )
  await client.finish((await system.approve(memory.sentTo()!)).answer)
  // Let in: what it hears now is the tool's own answer.
  expect(await acknowledgeNotification()).toMatchObject({
    content: [{ text: expect.stringContaining('No such notification') }],
  })
  await system.disconnect(memory.clientId()!)
})

const scopesIn = (url: URL | undefined): string[] => (url?.searchParams.get('scope') ?? '').split(' ')

function closedLater(connection: Connection): Connection {
  onTestFinished(() => connection.close())
  return connection
}

const whoAmI = async (connection: Connection): Promise<unknown> => saidBy(await connection.call('whoami', {}))

// The bridge for clients that only know standard input and output

describe('mcp-remote', () => {
  test('registers itself', () => expectWholeWalk([]))

  test('names a metadata document', async () => {
    const url = system.web.publish('/remote.json', (client_id) => ({
      client_id,
      client_name: 'mcp-remote',
      redirect_uris: ['http://localhost/oauth/callback'],
      token_endpoint_auth_method: 'none',
    }))
    await expectWholeWalk(['--client-metadata-url', url, '--protocol', 'auto'])
    // Once at each of its two authorizations.
    expect(system.web.asked(url)).toBe(2)
  })

  async function expectWholeWalk(options: readonly string[]) {
    const home = await mkdtemp(join(tmpdir(), 'svc-mcp-remote-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    const port = await freePort()
    const client = await openBridge(home, port, options)
    const first = await client.whoAmI()
    expect(first).toMatchObject({ user: { email: system.org.owner.email } })
    await client.close()

    // Started again with a token that has run out, it renews it and asks nobody.
    const before = await spoilAccessToken(home)
    const again = await openBridge(home, port, options)
    const { client: clientId } = (await again.whoAmI()) as { client: string }
    expect(again.wasAsked()).toBe(false)
    expect((await keptTokens(home)).tokens.refresh_token).not.toBe(before)

    // Disconnected it opens the browser, in which our person approves once more.
    await system.disconnect(clientId)
    expect(await again.whoAmI()).toMatchObject({ client: clientId })
    expect(again.wasAsked()).toBe(true)
    await system.disconnect(clientId)
  }

  async function keptTokens(home: string) {
    const file = (await readdir(home, { recursive: true })).find((name) => name.endsWith('_tokens.json'))
    const path = join(home, file ?? 'no tokens were kept')
    return { path, tokens: JSON.parse(await readFile(path, 'utf8')) as { refresh_token?: string } }
  }

  async function spoilAccessToken(home: string) {
    const { path, tokens } = await keptTokens(home)
    await writeFile(path, JSON.stringify({ ...tokens, access_token: 'expired' }))
    return tokens.refresh_token
  }

  async function openBridge(home: string, port: number, options: readonly string[]) {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MCP_REMOTE, system.platform, String(port), ...options],
      // No browser can be found there.
      env: { PATH: home, HOME: home, MCP_REMOTE_CONFIG_DIR: home },
      stderr: 'pipe',
    })
    let said = ''
    let browser: Promise<unknown> | undefined
    transport.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      const [address] = /^http:\S+\/oauth\/authorize\?\S+(?=\n)/m.exec(said) ?? []
      if (address !== undefined) browser ??= system.approve(address).then(({ answer }) => deliver(answer))
    })
    const client = new LegacyClient({ name: 'bridged', version: '0' })
    onTestFinished(() => client.close())
    await client.connect(transport).catch((error: unknown) => {
      throw new Error(`mcp-remote did not connect: ${said}`, { cause: error })
    })
    return {
      wasAsked: () => browser !== undefined,
      whoAmI: async () => saidBy(await client.callTool({ name: 'whoami', arguments: {} })),
      close: () => client.close(),
    }
  }
})

// A program for a terminal; too large to install with everything else

const CLIENTS = fileURLToPath(new URL('../clients/node_modules', import.meta.url))
const areInstalled = existsSync(CLIENTS)
if (!areInstalled) {
  console.log('Inspector is not tried: npm ci --prefix test/clients --ignore-scripts installs it.')
}

describe.skipIf(!areInstalled)('for a terminal', () => {
  test.each(['legacy', 'modern'])('Inspector, %s: strict about every schema, calls, renews', async (era) => {
    const home = await newHome()
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
    const inspect = (...options: string[]) =>
      runProgram(
        home,
        [
          join(CLIENTS, '@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
          '--cli',
          system.platform,
          '--transport=http',
          `--protocol-era=${era}`,
          `--callback-url=${callback}`,
          '--format=json',
          ...options,
        ],
        { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file', MCP_STORAGE_DIR: home },
      )
    const listed = await inspect('--method', 'tools/list', '--strict')
    expect(listed, listed.output).toMatchObject({ code: 0, wasAsked: true })
    expect(listed.stdout).toContain('datasource_query')
    const whoAmI = () => inspect('--method', 'tools/call', '--tool-name', 'whoami')
    await expectRenewal(home, whoAmI)
  })

  /** With the token it has, and again with one that is no good any more: nobody is asked. */
  async function expectRenewal(home: string, whoAmI: () => ReturnType<typeof runProgram>) {
    for (const prepare of [async () => {}, () => spoilAccessTokens(home)]) {
      await prepare()
      const called = await whoAmI()
      expect(called, called.output).toMatchObject({ code: 0, wasAsked: false })
      expect(called.stdout).toContain(system.org.owner.email)
    }
    // Registrations from one address are limited, and all of them come from here.
    const { stdout } = await whoAmI()
    await system.disconnect(/dcr_[\w-]+/.exec(stdout)![0])
  }

  /** Wherever a program keeps them. */
  async function spoilAccessTokens(home: string): Promise<void> {
    let spoilt = 0
    for (const name of await readdir(home, { recursive: true })) {
      if (!name.endsWith('.json')) continue
      const path = join(home, name)
      const kept = await readFile(path, 'utf8')
      // One keeps JSON within JSON.
      const without = kept.replaceAll(/(\\?"access_token\\?"\s*:\s*\\?")[^"\\]+/g, '$1expired')
      if (without !== kept) spoilt += 1
      await writeFile(path, without)
    }
    expect(spoilt, 'files with an access token').toBeGreaterThan(0)
  }

  async function newHome(): Promise<string> {
    const home = await mkdtemp(join(tmpdir(), 'svc-client-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    return home
  }

  /** Whoever prints an address for a person to open has it opened. */
  async function runProgram(home: string, args: readonly string[], env: Record<string, string> = {}) {
    const child = spawn(process.execPath, args, {
      cwd: home,
      // No browser can be found there.
      env: { PATH: home, HOME: home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 90_000,
    })
    let [stdout, output] = ['', '']
    let browser: Promise<unknown> | undefined
    const hear = (text: string) => {
      output += text
      const [address] = /http:[^\s"']+\/oauth\/authorize\?[^\s"']+(?=[\s"'])/.exec(output) ?? []
      if (address !== undefined) browser ??= system.approve(address).then(({ answer }) => deliver(answer))
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      hear(text)
    })
    child.stderr.setEncoding('utf8').on('data', hear)
    const code = await new Promise<number | null>((ended) => child.once('close', ended))
    await browser
    return { code, stdout, output, wasAsked: browser !== undefined }
  }
})

/** A tool's answer is JSON. */
const saidBy = (result: unknown): unknown => JSON.parse(textIn(result))

async function newKey() {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const { n, e, kty } = await crypto.subtle.exportKey('jwk', publicKey)
  return { privateKey, jwk: { n, e, kty, kid: 'one', alg: 'RS256', use: 'sig' } }
}
