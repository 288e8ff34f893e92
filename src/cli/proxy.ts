/** The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a URL, in capitals or not. ALL_PROXY is not read. */
import { isLoopback, parseUrl } from './api-url.ts'
import { usageError } from './usage-error.ts'

type Env = Readonly<Record<string, string | undefined>>

export type Proxy = {
  readonly url: URL
  /** The variable that names it. */
  readonly variable: string
}

/** Never for this machine: its names mean another one at the proxy. */
export function proxyFor(url: URL, env: Env): Proxy | undefined {
  const found = variableFor(url, env)
  if (!found || proxyException(url, env) !== undefined) return undefined
  return { url: parseProxy(found), variable: found.name }
}

/** The name of the variable that is set for such a URL, used or not. */
export const proxyVariable = (url: URL, env: Env): string | undefined => variableFor(url, env)?.name

const variableFor = (url: URL, env: Env): Variable | undefined =>
  variableOf(env, url.protocol === 'https:' ? 'https_proxy' : 'http_proxy')

/** Why no proxy is used for a URL; undefined: one is, if it is set. */
export function proxyException(url: URL, env: Env): string | undefined {
  if (isLoopback(url.hostname)) return 'this machine'
  const exceptions = variableOf(env, 'no_proxy')
  const isException = exceptions?.value.split(/[\s,]+/).some((entry) => covers(entry, url))
  return isException ? exceptions!.name : undefined
}

type Variable = { readonly name: string; readonly value: string }

/** The lower-case one counts first; an empty one turns the proxy off. */
function variableOf(env: Env, lower: string): Variable | undefined {
  const upper = lower.toUpperCase()
  const name = env[lower] === undefined ? upper : lower
  const value = env[name]?.trim()
  return value ? { name, value } : undefined
}

function parseProxy({ name, value }: Variable): URL {
  const url = parseUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  // Not its value, which may hold a password.
  if (url && /^https?:$/.test(url.protocol)) return url
  throw usageError(`${name} is not an http(s) URL`, `Use the form ${name}=http://proxy.example.com:3128`)
}

/** A name covers its subdomains, with or without a dot before it; a port narrows it; a range covers addresses. */
function covers(entry: string, url: URL): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  const host = url.hostname.toLowerCase().replace(/\.$/, '').replaceAll(/[[\]]/g, '')
  if (entry.includes('/')) return isInRange(host, entry)
  const [, named = entry, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? []
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false
  const name = named
    .toLowerCase()
    .replace(/^\*?\./, '')
    .replaceAll(/[[\]]/g, '')
  return host === name || host.endsWith(`.${name}`)
}

function isInRange(host: string, range: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule('node:net')
  const [address = '', bits = ''] = range.split('/')
  const family = isIP(address)
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits)) return false
  if (Number(bits) > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(address, Number(bits), kind)
  return list.check(host, kind)
}
