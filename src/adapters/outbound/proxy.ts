/**
 * The way out through an HTTP proxy (RFC 9110, 9.3.6: CONNECT), for hosts that the operator names and for metadata
 * documents. TLS is ours, from end to end: the proxy sees a host name and bytes.
 */
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export type OutboundProxy = {
  /** https only; hosts of NO_PROXY and this machine are reached directly. */
  readonly covers: (url: URL) => boolean
  /** A TLS connection to the host of the URL. */
  readonly connect: (url: URL, signal: AbortSignal, ca?: string) => Promise<TLSSocket>
}

class ProxyFailed extends Error {
  override readonly name = 'ProxyFailed'
  readonly code: string

  constructor(code: string) {
    super('The proxy did not connect')
    this.code = code
  }
}

export function outboundProxy(proxy: URL, exceptions: readonly string[] = []): OutboundProxy {
  return {
    covers: (url) =>
      url.protocol === 'https:' && !LOOPBACK.test(url.hostname) && !isException(url.hostname, exceptions),
    async connect(url, signal, ca) {
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
      const socket = await openTunnel(proxy, `${url.hostname}:${url.port || 443}`, signal)
      return connectTls({
        socket,
        host,
        // RFC 6066, 3: a literal address is not a server name.
        ...(isIP(host) === 0 && { servername: host }),
        ALPNProtocols: ['http/1.1'],
        // Whatever NODE_TLS_REJECT_UNAUTHORIZED says: the proxy must not be able to answer for the host.
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca }),
      })
    },
  }
}

const LOOPBACK = /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost\.?)$/

/** As curl reads NO_PROXY: a name covers its subdomains, with or without a dot before it, and `*` everything. */
function isException(hostname: string, exceptions: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  return exceptions.some((exception) => {
    const name = exception.toLowerCase().replace(/^\*?\./, '')
    return name === '*' || host === name || host.endsWith(`.${name}`)
  })
}

function openTunnel(proxy: URL, target: string, signal: AbortSignal): Promise<Socket> {
  const host = proxy.hostname.replace(/^\[(.*)\]$/, '$1')
  const isSecure = proxy.protocol === 'https:'
  const request = isSecure ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const connecting = request({
      host,
      port: proxy.port || (isSecure ? 443 : 80),
      // Node would take the name of the target, from the Host header: its certificate must be the proxy's own.
      ...(isSecure && { rejectUnauthorized: true, servername: isIP(host) === 0 ? host : '' }),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...credentials(proxy) },
      agent: false,
      signal,
    })
    connecting
      .on('connect', ({ statusCode }: IncomingMessage, socket: Socket, head: Buffer) => {
        if (isSuccess(statusCode) && head.length === 0) resolve(socket)
        else {
          socket.destroy()
          reject(new ProxyFailed(`proxy_${statusCode}`))
        }
      })
      .on('response', (response) => {
        response.destroy()
        reject(new ProxyFailed(`proxy_${response.statusCode}`))
      })
      .on('error', reject)
      .on('close', () => reject(new ProxyFailed('proxy_closed')))
      .end()
  })
}

const isSuccess = (status = 0): boolean => status >= 200 && status < 300

function credentials({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}
