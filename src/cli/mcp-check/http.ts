/** Requests of the checks: sent as an MCP client would, without following redirects; failures are CheckFailed. */
import { readJson } from '../../contracts/read-json.ts'

export type Json = Record<string, unknown>
export type HttpOptions = { fetch: typeof fetch; timeoutMs?: number }

/** What failed, and what to do about it. */
export class CheckFailed extends Error {
  constructor(what: string, remedy: string) {
    super(`${what}; ${remedy}`)
  }
}

export function assertCheck(ok: unknown, what: string, remedy: string): asserts ok {
  if (!ok) throw new CheckFailed(what, remedy)
}

const TIMEOUT_MS = 10_000

export async function sendRequest(
  check: string,
  url: URL,
  init: RequestInit,
  { fetch, timeoutMs = TIMEOUT_MS }: HttpOptions,
): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    if (isBlockedPort(error)) {
      throw new CheckFailed(`${check}: port ${url.port} is blocked by fetch`, 'choose another port')
    }
    throw new CheckFailed(
      `${check}: ${sanitize(url.href)} ${describeFetchError(error)}`,
      'check that the server runs, and check DNS, certificate and network',
    )
  }
  assertCheck(
    response.status < 300 || response.status >= 400,
    `${check}: ${sanitize(url.href)} redirects to ${sanitize(response.headers.get('location'))}`,
    'serve the endpoint at this URL: assistants do not follow redirects, or lose the token',
  )
  return response
}

export async function fetchJson(check: string, url: URL, http: HttpOptions, remedy: string): Promise<Json> {
  const response = await sendRequest(check, url, { headers: { accept: 'application/json' } }, http)
  assertCheck(response.status === 200, `${check}: ${sanitize(url.href)} returned ${response.status}`, remedy)
  const body = await readBody(check, url, response)
  const parsed = readJson(body)
  assertCheck(isObject(parsed), `${check}: ${sanitize(url.href)} did not return a JSON object`, remedy)
  return parsed
}

export async function readBody(check: string, url: URL, response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw new CheckFailed(
      `${check}: the response of ${sanitize(url.href)} was cut off (${describeFetchError(error)})`,
      'check the logs of the server and the proxy',
    )
  }
}

export const MODERN = '2026-07-28'
export const LEGACY = '2025-11-25'
export type ProtocolVersion = typeof MODERN | typeof LEGACY
const WHO = { name: 'svc-doctor', version: '1' }
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': WHO,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const HANDSHAKE = { protocolVersion: LEGACY, capabilities: {}, clientInfo: WHO }

/** One message as a client of that protocol version sends it. */
export function mcpRequest(
  version: ProtocolVersion,
  method: string,
  params: Json = {},
  token?: string,
): RequestInit {
  const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}
  const versionHeaders =
    version === MODERN
      ? { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...name }
      : method === 'initialize'
        ? {}
        : { 'mcp-protocol-version': LEGACY }
  const own = version === MODERN ? { _meta: ENVELOPE } : method === 'initialize' ? HANDSHAKE : {}
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...versionHeaders,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...own } }),
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

const SANITIZED_MAX = 200

/** Text from a server, safe to print: short, and without control characters. */
export function sanitize(value: unknown): string {
  if (typeof value !== 'string') return value == null ? 'missing' : 'not a string'
  const plain = value.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�')
  return plain.length > SANITIZED_MAX ? `${plain.slice(0, SANITIZED_MAX)}…` : plain
}

/** `fetch` puts the reason into `cause`. */
const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined)

/** Ports of other protocols, such as 4190 and 6000 (Fetch, port blocking). Assistants built on fetch refuse them too. */
function isBlockedPort(error: unknown): boolean {
  const cause = causeOf(error)
  return cause instanceof Error && cause.message === 'bad port'
}

function describeFetchError(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'timed out'
  const code = member(causeOf(error), 'code')
  return `is unreachable${typeof code === 'string' ? ` (${sanitize(code)})` : ''}`
}
