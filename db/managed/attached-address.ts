/** An address that a person gave us for an existing Postgres: read strictly, and dialled only where the operator allows. */
import { lookup as askSystem, Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { Target, TlsMode } from './open-socket.ts'

export type AttachedAddress = Pick<Target, 'host' | 'port' | 'user' | 'password' | 'database'> & {
  readonly ssl: Exclude<TlsMode, 'prefer'>
}

/** All addresses of a name; none when it has none. */
export type Lookup = (host: string) => Promise<readonly string[]>

const MOST_CHARACTERS = 2_000
const TLS_MODES = ['disable', 'require', 'verify-full'] as const
/** The parser drops tabs and line ends in silence, and a server stops reading at a NUL. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
/** The last label begins with a letter: other ways to write an IPv4 address (decimal, hex, short) are no names. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const IN_FULL = 'postgres://user:password@host:5432/database'

/** Every problem at once. None of them repeats a part of the address that might be, or be mistaken for, the password. */
export function readAttachedUrl(text: string): AttachedAddress | { problems: string[] } {
  if (text.length > MOST_CHARACTERS || CONTROL.test(text) || /[\s\\]/.test(text)) {
    return { problems: ['The address is too long, or holds blanks, backslashes or control characters.'] }
  }
  const url = /^postgres(ql)?:\/\//i.test(text) ? URL.parse(text) : null
  if (!url) {
    return {
      problems: [
        `The address must have the form ${IN_FULL}, with special characters of user and password percent-encoded.`,
      ],
    }
  }
  const problems: string[] = []
  const part = (name: string, encoded: string): string => {
    const decoded = decode(encoded)
    if (decoded === undefined || CONTROL.test(decoded)) {
      problems.push(`The ${name} is not percent-encoded as it should be, or holds control characters.`)
    } else if (decoded === '') problems.push(`The address needs a ${name}: ${IN_FULL}.`)
    return decoded ?? ''
  }
  const user = part('user', url.username)
  const password = part('password', url.password)
  const database = part('database', url.pathname.replace(/^\//, ''))
  if (url.pathname.lastIndexOf('/') > 0) problems.push('The database must be one name, without slashes.')
  // Also an empty one, which the parser forgets.
  if (text.includes('#')) problems.push('The address must not hold a #; in a password it is written %23.')
  const host = hostOf(url.hostname)
  if (host === undefined) {
    problems.push('The host must be one host name or address; no socket and no list.')
  }
  if (url.port === '0') problems.push('The port must be from 1 to 65535.')
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

function hostOf(hostname: string): string | undefined {
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1]
  if (literal !== undefined) return isIP(literal) === 6 ? literal : undefined
  return isIP(hostname) === 4 || HOST_NAME.test(hostname) ? hostname.toLowerCase() : undefined
}

/** Where the login is missing, a `?` may have stood in the password: then what follows it is not named. */
function parameterProblems(parameters: URLSearchParams, mayName: boolean): string[] {
  const problems = [...new Set(parameters.keys())]
    .filter((name) => name !== 'sslmode')
    .map((name) =>
      mayName && /^[a-z_]{1,40}$/.test(name)
        ? `The parameter ${name} cannot be used; only sslmode can.`
        : 'Of all parameters only sslmode can be used.',
    )
  const modes = parameters.getAll('sslmode')
  if (modes.length > 1) problems.push('sslmode is there more than once.')
  if (!modes.every((mode) => isTlsMode(mode))) problems.push(`sslmode must be ${TLS_MODES.join(', ')}.`)
  return [...new Set(problems)]
}

const isTlsMode = (mode: string): mode is AttachedAddress['ssl'] => TLS_MODES.some((known) => known === mode)

/**
 * libpq's own default, `prefer`, lets whoever sits between turn encryption off. So without a word it is required,
 * other than on this machine, where servers mostly have none and nobody sits between.
 */
function tlsModeOf({ searchParams }: URL, host: string): AttachedAddress['ssl'] {
  const asked = searchParams.get('sslmode')
  if (asked !== null && isTlsMode(asked)) return asked
  return host === 'localhost' || isLoopback(host) ? 'disable' : 'require'
}

/** The addresses of the host that the operator's list lets us use: dial these and no others. None is a refusal. */
export async function allowedAddresses(
  host: string,
  port: number,
  allowed: readonly AttachRule[],
  lookup: Lookup = askDns,
): Promise<string[]> {
  const rules = allowed.filter((rule) => rule.port === undefined || rule.port === port)
  // A list that allows nothing on this port asks no name server for a stranger either.
  if (rules.length === 0) return []
  const addresses = (await addressesOf(host, lookup)).filter((address) => !isMapped(address))
  const name = host.toLowerCase()
  if (rules.some((rule) => 'host' in rule && rule.host === name)) return addresses
  const ranges = new BlockList()
  for (const rule of rules) {
    if ('network' in rule) ranges.addSubnet(rule.network, rule.prefix, rule.family)
  }
  return addresses.filter((address) => ranges.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))
}

/**
 * Whether one of the addresses is where one of our own servers listens, under whatever name. Their names are the
 * operator's, and are looked up as the drivers do it: with the hosts file and search domains.
 */
export async function areOurs(
  addresses: readonly string[],
  port: number,
  ours: readonly { readonly host: string; readonly port: number }[],
  lookup: Lookup = askSystemForAll,
): Promise<boolean> {
  const here = new Set(Object.values(networkInterfaces()).flatMap((all) => all?.map(canonicalOf) ?? []))
  // A server on this machine mostly listens on all of its addresses.
  const place = (address: string) => {
    const canonical = canonicalOf({ address })
    return isLoopback(address) || here.has(canonical) ? 'this machine' : canonical
  }
  const near = ours.filter((own) => own.port === port)
  const own = await Promise.all(near.map(({ host }) => addressesOf(host, lookup)))
  const places = new Set(own.flat().map(place))
  return addresses.some((address) => places.has(place(address)))
}

async function askSystemForAll(host: string): Promise<string[]> {
  return (await askSystem(host, { all: true })).map(({ address }) => address)
}

/** The parser writes every spelling of an address the same way. */
const canonicalOf = ({ address }: { address: string }): string =>
  isIP(address) === 6 ? (URL.parse(`http://[${address.split('%')[0]}]/`)?.hostname ?? address) : address

async function addressesOf(host: string, lookup: Lookup): Promise<readonly string[]> {
  // As an address stands in a URL.
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

/** With the unspecified addresses, which connect to this machine as well. */
function isLoopback(address: string): boolean {
  const version = isIP(address)
  return version !== 0 && LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

const MAPPED = new BlockList()
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/** An IPv4 address in the clothes of IPv6 would be measured by the wrong ranges. */
const isMapped = (address: string): boolean => isIP(address) === 6 && MAPPED.check(address, 'ipv6')

/** By c-ares: getaddrinfo cannot be cancelled and waits on one of the few threads that also hash passwords. */
async function askDns(host: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 500, tries: 3 })
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}
