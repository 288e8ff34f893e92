/** The URL of a Postgres database to attach: parsed strictly, and connected to only where the operator allows. */
import { lookup as systemLookup, Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { Target, TlsMode } from './open-socket.ts'

export type AttachedAddress = Pick<Target, 'host' | 'port' | 'user' | 'password' | 'database'> & {
  readonly ssl: Exclude<TlsMode, 'prefer'>
}

/** All addresses of a host name. */
export type Lookup = (host: string) => Promise<readonly string[]>

const URL_MAX_CHARACTERS = 2_000
const TLS_MODES = ['disable', 'require', 'verify-full'] as const
/** The parser drops tabs and line ends in silence, and a server stops reading at a NUL. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
/** The last label begins with a letter: other spellings of an IPv4 address (decimal, hex, short) are not names. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const URL_FORM = 'postgres://user:password@host:5432/database'

/** Every problem at once. None of them repeats a part of the address that might be, or be mistaken for, the password. */
export function parseAttachedUrl(text: string): AttachedAddress | { problems: string[] } {
  if (text.length > URL_MAX_CHARACTERS || CONTROL.test(text) || /[\s\\]/.test(text)) {
    return { problems: ['The address is too long, or contains spaces, backslashes or control characters.'] }
  }
  const url = /^postgres(ql)?:\/\//i.test(text) ? URL.parse(text) : null
  if (!url) {
    return {
      problems: [
        `The address must have the form ${URL_FORM}, with special characters in the user and password percent-encoded.`,
      ],
    }
  }
  const problems: string[] = []
  const part = (name: string, encoded: string): string => {
    const decoded = decode(encoded)
    if (decoded === undefined || CONTROL.test(decoded)) {
      problems.push(`The ${name} is not percent-encoded correctly, or contains control characters.`)
    } else if (decoded === '') problems.push(`The address needs a ${name}: ${URL_FORM}.`)
    return decoded ?? ''
  }
  const user = part('user', url.username)
  const password = part('password', url.password)
  const database = part('database', url.pathname.replace(/^\//, ''))
  if (url.pathname.lastIndexOf('/') > 0) problems.push('The database must be a single name without slashes.')
  // Also an empty fragment, which the parser drops.
  if (text.includes('#')) problems.push('The address must not contain a #; in a password, write %23.')
  const host = parseHost(url.hostname)
  if (host === undefined) {
    problems.push('The host must be one host name or IP address; sockets and lists are not supported.')
  }
  if (url.port === '0') problems.push('The port must be between 1 and 65535.')
  problems.push(...parameterProblems(url.searchParams, user !== '' && password !== ''))
  if (problems.length > 0 || host === undefined) return { problems }
  return { host, port: Number(url.port || 5432), user, password, database, ssl: tlsModeOf(url, host) }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function parseHost(hostname: string): string | undefined {
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1]
  if (literal !== undefined) return isIP(literal) === 6 ? literal : undefined
  return isIP(hostname) === 4 || HOST_NAME.test(hostname) ? hostname.toLowerCase() : undefined
}

/** Without user and password, a `?` may have been part of the password: then the parameters are not named. */
function parameterProblems(parameters: URLSearchParams, mayName: boolean): string[] {
  const problems = [...new Set(parameters.keys())]
    .filter((name) => name !== 'sslmode')
    .map((name) =>
      mayName && /^[a-z_]{1,40}$/.test(name)
        ? `The parameter ${name} is not supported; only sslmode is.`
        : 'Only the parameter sslmode is supported.',
    )
  const modes = parameters.getAll('sslmode')
  if (modes.length > 1) problems.push('sslmode is given more than once.')
  if (!modes.every((mode) => isTlsMode(mode)))
    problems.push(`sslmode must be one of ${TLS_MODES.join(', ')}.`)
  return [...new Set(problems)]
}

const isTlsMode = (mode: string): mode is AttachedAddress['ssl'] => TLS_MODES.some((known) => known === mode)

/**
 * With libpq's default, `prefer`, an attacker on the network can turn encryption off. So it is required by default,
 * except on loopback, where servers mostly have no TLS.
 */
function tlsModeOf({ searchParams }: URL, host: string): AttachedAddress['ssl'] {
  const asked = searchParams.get('sslmode')
  if (asked !== null && isTlsMode(asked)) return asked
  return host === 'localhost' || isLoopback(host) ? 'disable' : 'require'
}

/** The addresses of the host that the operator allows: connect to these and no others. */
export async function allowedAddresses(
  host: string,
  port: number,
  allowed: readonly AttachRule[],
  lookup: Lookup = lookupDns,
): Promise<string[]> {
  const rules = allowed.filter((rule) => rule.port === undefined || rule.port === port)
  // No DNS lookup for a port on which nothing is allowed.
  if (rules.length === 0) return []
  const addresses = (await addressesOf(host, lookup)).filter((address) => !isIpv4Mapped(address))
  const name = host.toLowerCase()
  if (rules.some((rule) => 'host' in rule && rule.host === name)) return addresses
  const ranges = new BlockList()
  for (const rule of rules) {
    if ('network' in rule) ranges.addSubnet(rule.network, rule.prefix, rule.family)
  }
  return addresses.filter((address) => ranges.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))
}

/**
 * Whether one of our own servers listens at one of the addresses. Their host names come from the operator, and are
 * resolved as the drivers do it: with the hosts file and search domains.
 */
export async function includeOwnServer(
  addresses: readonly string[],
  port: number,
  ours: readonly { readonly host: string; readonly port: number }[],
  lookup: Lookup = lookupSystem,
): Promise<boolean> {
  const ownAddresses = new Set(
    Object.values(networkInterfaces()).flatMap((all) => all?.map(canonicalOf) ?? []),
  )
  // A server on this machine mostly listens on all of its addresses.
  const serverOf = (address: string) => {
    const canonical = canonicalOf({ address })
    return isLoopback(address) || ownAddresses.has(canonical) ? 'this machine' : canonical
  }
  const samePort = ours.filter((own) => own.port === port)
  const own = await Promise.all(samePort.map(({ host }) => addressesOf(host, lookup)))
  const ownServers = new Set(own.flat().map(serverOf))
  return addresses.some((address) => ownServers.has(serverOf(address)))
}

async function lookupSystem(host: string): Promise<string[]> {
  return (await systemLookup(host, { all: true })).map(({ address }) => address)
}

/** The parser writes every spelling of an address the same way. */
const canonicalOf = ({ address }: { address: string }): string =>
  isIP(address) === 6 ? (URL.parse(`http://[${address.split('%')[0]}]/`)?.hostname ?? address) : address

async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  // IPv6 addresses are in brackets in a URL.
  const literal = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(literal)) return [literal]
  // RFC 6761, section 6.3: no name server is asked for it.
  if (host.toLowerCase() === 'localhost') return ['127.0.0.1', '::1']
  return lookup(host)
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addSubnet('0.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
LOOPBACK.addAddress('::', 'ipv6')

/** Includes the unspecified addresses, which connect to this machine as well. */
function isLoopback(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

const IPV4_MAPPED = new BlockList()
IPV4_MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/** An IPv4-mapped IPv6 address would be checked against the wrong ranges. */
const isIpv4Mapped = (address: string): boolean => isIP(address) === 6 && IPV4_MAPPED.check(address, 'ipv6')

/** By c-ares: getaddrinfo cannot be cancelled and waits on one of the few threads that also hash passwords. */
async function lookupDns(host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 500, tries: 3 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}
