/** How the doctor asks: as a client would, without following redirects, and with a sentence for whatever goes wrong. */

export type Json = Record<string, unknown>
export type Asking = { fetch: typeof fetch; timeoutMs?: number }

/** What is broken, and what to do about it. */
export class Broken extends Error {
  constructor(what: string, todo: string) {
    super(`${what}; ${todo}`)
  }
}

const TIMEOUT_MS = 10_000

export async function ask(
  link: string,
  url: URL,
  init: RequestInit,
  { fetch, timeoutMs = TIMEOUT_MS }: Asking,
): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    if (isRefusedPort(error)) {
      throw new Broken(`${link}: port ${url.port} is one that fetch refuses to call`, 'choose another port')
    }
    throw new Broken(
      `${link}: ${shown(url.href)} ${whyNot(error)}`,
      'start the server, or repair the name, the certificate or the way to it',
    )
  }
  if (response.status >= 300 && response.status < 400) {
    throw new Broken(
      `${link}: ${shown(url.href)} redirects to ${shown(response.headers.get('location'))}`,
      'answer at this address itself: assistants do not follow, or lose the token',
    )
  }
  return response
}

export async function jsonOf(link: string, url: URL, asking: Asking, todo: string): Promise<Json> {
  const response = await ask(link, url, { headers: { accept: 'application/json' } }, asking)
  if (response.status !== 200)
    throw new Broken(`${link}: ${shown(url.href)} answers ${response.status}`, todo)
  const body = await textOf(link, url, response)
  const parsed = parse(body)
  if (!isObject(parsed)) throw new Broken(`${link}: ${shown(url.href)} answers no JSON object`, todo)
  return parsed
}

export async function textOf(link: string, url: URL, response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw new Broken(
      `${link}: the answer of ${shown(url.href)} broke off (${whyNot(error)})`,
      'look at the log of the server and of the proxy',
    )
  }
}

export type Era = 'of 2025' | 'of 2026'

const MODERN = '2026-07-28'
const LEGACY = '2025-11-25'
const WHO = { name: 'svc-doctor', version: '1' }
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': WHO,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const HANDSHAKE = { protocolVersion: LEGACY, capabilities: {}, clientInfo: WHO }

/** One message as a client of that era writes it. */
export function message(era: Era, method: string, params: Json = {}, token?: string): RequestInit {
  const name = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}
  const version =
    era === 'of 2026'
      ? { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...name }
      : method === 'initialize'
        ? {}
        : { 'mcp-protocol-version': LEGACY }
  const own = era === 'of 2026' ? { _meta: ENVELOPE } : method === 'initialize' ? HANDSHAKE : {}
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...version,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...own } }),
  }
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

const SHOWN_MAX = 200

/** Words of a server on somebody's terminal: short, and without the characters that steer it. */
export function shown(value: unknown): string {
  if (typeof value !== 'string') return value == null ? 'missing' : 'no text'
  const plain = value.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�')
  return plain.length > SHOWN_MAX ? `${plain.slice(0, SHOWN_MAX)}…` : plain
}

/** `fetch` keeps the reason one level down. */
const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined)

/** Ports of other protocols, 4190 and 6000 for example (Fetch, port blocking). Assistants built on it refuse them too. */
function isRefusedPort(error: unknown): boolean {
  const cause = causeOf(error)
  return cause instanceof Error && cause.message === 'bad port'
}

function whyNot(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'does not answer in time'
  const code = member(causeOf(error), 'code')
  return `cannot be reached${typeof code === 'string' ? ` (${shown(code)})` : ''}`
}
