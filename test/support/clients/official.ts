/** The two generations of the official client, as somebody uses them who keeps in memory what they are told. */
import * as modern from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { textIn, type Client, type Place } from './client.ts'

const REDIRECT = 'http://127.0.0.1:41998/callback'
export const OFFICIAL_METADATA = {
  client_name: 'Official client',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

type Tokens = { access_token: string; refresh_token?: string; token_type: string }
export type Memory = ReturnType<typeof newMemory>

/** What a client keeps, in the shape that both generations ask for. */
export function newMemory({ clientMetadataUrl }: { clientMetadataUrl?: string } = {}) {
  let information: { client_id: string } | undefined
  let tokens: Tokens | undefined
  let verifier = ''
  let discovery: modern.OAuthDiscoveryState | undefined
  let sentTo: URL | undefined
  return {
    sentTo: () => sentTo,
    clientId: () => information?.client_id,
    tokens: () => tokens,
    spoilAccessToken: () => void (tokens = { ...tokens!, access_token: 'expired' }),
    provider: {
      redirectUrl: REDIRECT,
      ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
      clientMetadata: OFFICIAL_METADATA,
      state: () => 'a state',
      clientInformation: () => information,
      saveClientInformation: (given: { client_id: string }) => void (information = given),
      tokens: () => tokens,
      saveTokens: (given: Tokens) => void (tokens = given),
      redirectToAuthorization: (url: URL) => void (sentTo = url),
      saveCodeVerifier: (given: string) => void (verifier = given),
      codeVerifier: () => verifier,
      invalidateCredentials(what: string) {
        if (what === 'all' || what === 'tokens') tokens = undefined
        if (what === 'all' || what === 'client') information = undefined
      },
    },
    /** Only the newer one asks for it. */
    discovery: {
      saveDiscoveryState: (given: modern.OAuthDiscoveryState) => void (discovery = given),
      discoveryState: () => discovery,
    },
  }
}

/** One connection; `finish` is given the address that the person's browser was sent to. */
export type Connection = {
  readonly open: () => Promise<void>
  readonly finish: (answer: URL) => Promise<void>
  /** The revision of the protocol that was agreed on. */
  readonly version: () => string | undefined
  readonly list: () => Promise<{ tools: { name: string }[] }>
  readonly call: (name: string, input: Record<string, unknown>) => Promise<unknown>
  readonly close: () => Promise<void>
}

export function modernConnection(url: string, { provider, discovery }: Memory): Connection {
  const authProvider = { ...provider, ...discovery }
  const transport = new modern.StreamableHTTPClientTransport(new URL(url), { authProvider })
  const client = new modern.Client(
    { name: 'official', version: '0' },
    { versionNegotiation: { mode: 'auto' } },
  )
  return {
    open: () => client.connect(transport),
    finish: (answer) => transport.finishAuth(answer.searchParams),
    version: () => client.getNegotiatedProtocolVersion(),
    list: () => client.listTools(),
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  }
}

export function legacyConnection(url: string, { provider }: Memory): Connection {
  const transport = new LegacyTransport(new URL(url), { authProvider: provider })
  const client = new LegacyClient({ name: 'official', version: '0' })
  return {
    open: () => client.connect(transport),
    finish: (answer) => transport.finishAuth(answer.searchParams.get('code')!),
    version: () => transport.protocolVersion,
    list: () => client.listTools(),
    call: (name, input) => client.callTool({ name, arguments: input }),
    close: () => client.close(),
  }
}

const official =
  (connectTo: (url: string, memory: Memory) => Connection) =>
  ({ system, person }: Place): Client => {
    const memory = newMemory()
    let connection = connectTo(system.platform, memory)

    async function reopen(): Promise<void> {
      await connection.close()
      connection = connectTo(system.platform, memory)
      await connection.open()
    }

    return {
      async connect() {
        const refused = await connection.open().then(
          () => undefined,
          (error: Error) => error,
        )
        const sentTo = memory.sentTo()
        if (!refused || !sentTo) throw new Error('No login was asked for.', { cause: refused })
        const answer = await person.answer(sentTo.href)
        if (!answer) throw new Error('Nobody was there to allow it.')
        await connection.finish(answer)
        await reopen()
      },
      listTools: async () => (await connection.list()).tools.map(({ name }) => name),
      callTool: async (name, input = {}) => textIn(await connection.call(name, input)),
      // It keeps no moment at which a token ends.
      pause: reopen,
      close: () => connection.close(),
    }
  }

export const officialModern = official(modernConnection)
export const officialLegacy = official(legacyConnection)
