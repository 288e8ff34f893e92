/** Which servers people may attach: the operator's list of ranges, addresses and host names, each with a port or any. */
import * as z from 'zod'

export type AttachRule = { readonly port?: number } & (
  | { readonly family: 'ipv4' | 'ipv6'; readonly network: string; readonly prefix: number }
  /** Any address of the name, in lowercase. */
  | { readonly host: string }
)

/** `[2001:db8::1]:5432`, `[2001:db8::]/32:5432`: brackets keep the port apart from the address. */
const IPV6 =
  /^(?:\[(?<bracketed>[0-9a-f:.]+)\]|(?<bare>[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*))(?:\/(?<prefix>\d{1,3}))?(?::(?<port>\d{1,5}))?$/i
const OTHERS = /^(?<name>[^/:[\]]+)(?:\/(?<prefix>\d{1,2}))?(?::(?<port>\d{1,5}))?$/
/** The last label begins with a letter: 10.0.1 is neither an address nor a name. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** Separated by commas. To be used as a transform: every entry that cannot be read is a problem of its own. */
export function readAttachRules(text: string, context: z.RefinementCtx): AttachRule[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
  return entries.flatMap((entry) => {
    const rule = readRule(entry)
    if (rule) return [rule]
    context.addIssue({
      code: 'custom',
      message: `${entry} is not a range such as 10.0.0.0/8, an address or a host name, each with or without :port`,
    })
    return []
  })
}

function readRule(entry: string): AttachRule | undefined {
  const found = IPV6.exec(entry) ?? OTHERS.exec(entry)
  if (!found?.groups) return undefined
  const { bracketed, bare, name, prefix, port } = found.groups
  if (port !== undefined && !isWithin(port, 1, 65_535)) return undefined
  const onPort = port === undefined ? {} : { port: Number(port) }
  const ipv6 = bracketed ?? bare
  if (ipv6 !== undefined) {
    if (!z.ipv6().safeParse(ipv6).success || !isWithin(prefix ?? '128', 0, 128)) return undefined
    return { family: 'ipv6', network: ipv6, prefix: Number(prefix ?? 128), ...onPort }
  }
  if (name !== undefined && z.ipv4().safeParse(name).success) {
    if (!isWithin(prefix ?? '32', 0, 32)) return undefined
    return { family: 'ipv4', network: name, prefix: Number(prefix ?? 32), ...onPort }
  }
  if (name === undefined || prefix !== undefined || !HOST_NAME.test(name)) return undefined
  return { host: name.toLowerCase(), ...onPort }
}

const isWithin = (digits: string, min: number, max: number): boolean =>
  Number(digits) >= min && Number(digits) <= max
