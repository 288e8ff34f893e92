/** The way to a server through a proxy: a tunnel for https (RFC 9110, 9.3.6: CONNECT), the whole URL for http. */
import { request as requestHttp, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ServiceError } from '../contracts/errors.ts'
import type { Proxy } from './proxy.ts'
import { usageError } from './usage-error.ts'
import { UnreachableError } from './unreachable-error.ts'

export type RouteOptions = Omit<RequestOptions, 'headers'> & {
  readonly servername?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Route = {
  /** Of the connection that the request is written to. */
  readonly secure: boolean
  readonly options: RouteOptions
}

export async function openRoute(
  proxy: Proxy,
  url: URL,
  { signal }: { readonly signal: AbortSignal },
): Promise<Route> {
  const secure = proxy.url.protocol === 'https:'
  if (url.protocol === 'http:') {
    const headers = credentialsOf(proxy)
    const protocol = proxy.url.protocol
    return { secure, options: { ...addressOf(proxy.url), protocol, path: url.href, headers, agent: false } }
  }
  const socket = await openTunnel(proxy, url, signal)
  const host = plainHost(url)
  const createConnection = () =>
    connectTls({
      socket,
      host,
      // RFC 6066, 3: a literal address is not a server name.
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['http/1.1'],
    })
  // Without an agent, which would open a connection of its own.
  return { secure: true, options: { createConnection } }
}

function openTunnel(proxy: Proxy, url: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${url.port || 443}`
  const request = proxy.url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const connecting = request({
      ...addressOf(proxy.url),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...credentialsOf(proxy) },
      agent: false,
      signal,
    })
    const refuse = (status = 0) => reject(refused(proxy, target, status))
    connecting
      .on('connect', ({ statusCode = 0 }: { statusCode?: number }, socket: Socket) => {
        if (statusCode >= 200 && statusCode < 300) return resolve(socket)
        socket.destroy()
        refuse(statusCode)
      })
      .on('response', (response) => {
        response.destroy()
        refuse(response.statusCode)
      })
      .on('error', (error) => reject(proxyUnreachable(proxy, url, error)))
      .end()
  })
}

const plainHost = ({ hostname }: URL): string => hostname.replaceAll(/[[\]]/g, '')

function addressOf(url: URL) {
  const hostname = plainHost(url)
  return {
    hostname,
    port: url.port || (url.protocol === 'https:' ? 443 : 80),
    // Node would take the name of the target, from the Host header: the certificate must be the proxy's own.
    servername: isIP(hostname) === 0 ? hostname : '',
  }
}

function credentialsOf({ url: { username, password }, variable }: Proxy): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username, variable)}:${decoded(password, variable)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}

function decoded(text: string, variable: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not the text, which may be the password.
    throw usageError(`${variable} has a % in its user or password that stands for nothing`, 'Write % as %25')
  }
}

/** Without its user and password. */
const named = ({ url, variable }: Proxy): string => `The proxy ${url.origin} (${variable})`

export function proxyUnreachable(proxy: Proxy, url: URL, error: Error & { code?: string }): ServiceError {
  const reason = error.code === undefined ? '' : ` (${error.code})`
  return new UnreachableError(`${named(proxy)} is unreachable${reason}`, {
    hint: `Check ${proxy.variable}, or add ${url.hostname} to NO_PROXY.`,
    cause: error,
  })
}

const refused = (proxy: Proxy, target: string, status: number): ServiceError =>
  status === 407
    ? new ServiceError('UNEXPECTED', `${named(proxy)} requires a login (407)`, {
        hint: `Set it as ${proxy.variable}=http://user:password@host:port`,
      })
    : new UnreachableError(`${named(proxy)} did not connect to ${target} (${status})`, {
        hint: `Ask whoever runs the proxy, or add ${target.replace(/:\d+$/, '')} to NO_PROXY.`,
      })
