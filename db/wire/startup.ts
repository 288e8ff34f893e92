/** Parses the first packet of a connection: StartupMessage, SSLRequest, GSSENCRequest or CancelRequest. */
import { WireError } from './protocol-messages.ts'

export type StartupRequest =
  | { readonly kind: 'encryption' }
  | { readonly kind: 'cancel'; readonly pid: number; readonly secret: Buffer }
  | {
      readonly kind: 'login'
      readonly user: string
      readonly database: string
      readonly settings: readonly Setting[]
      /** Protocol options that the client asked for and NegotiateProtocolVersion has to refuse; undefined for plain 3.0. */
      readonly unsupportedOptions: readonly string[] | undefined
    }

export type Setting = readonly [name: string, value: string]

const CANCEL_REQUEST = 80877102
const SSL_REQUEST = 80877103
const GSS_REQUEST = 80877104

export function readStartupPacket(packet: Buffer): StartupRequest {
  const code = packet.readUInt32BE(4)
  if (code === SSL_REQUEST || code === GSS_REQUEST) return { kind: 'encryption' }
  if (code === CANCEL_REQUEST) {
    if (packet.length !== 16) throw malformed()
    return { kind: 'cancel', pid: packet.readInt32BE(8), secret: packet.subarray(12) }
  }
  if (code >>> 16 !== 3) throw startupError('0A000', 'unsupported frontend protocol')
  return { kind: 'login', ...readParameters(packet.subarray(8), (code & 0xffff) > 0) }
}

function readParameters(bytes: Buffer, newer: boolean) {
  const strings = bytes.toString().split('\0')
  const parameters = new Map<string, string>()
  for (let at = 0; strings[at]; at += 2) {
    const value = strings[at + 1]
    if (value === undefined) throw malformed()
    parameters.set(strings[at] ?? '', value)
  }
  const { user, database, replication, options, ...settings } = Object.fromEntries(parameters)
  if (!user) throw startupError('28000', 'no PostgreSQL user name specified in startup packet')
  if (replication !== undefined) throw startupError('0A000', 'replication is not supported')
  if (options?.trim())
    throw startupError(
      '0A000',
      'the startup parameter "options" is not supported: send each setting by its own name',
    )
  const entries = Object.entries(settings)
  const unsupportedOptions = entries.map(([name]) => name).filter((name) => name.startsWith('_pq_.'))
  return {
    user,
    database: database || user,
    settings: entries.filter(([name]) => !name.startsWith('_pq_.')).map(checkedSetting),
    unsupportedOptions: newer || unsupportedOptions.length > 0 ? unsupportedOptions : undefined,
  }
}

function checkedSetting(setting: Setting): Setting {
  if (!/^[a-z_]+(\.[a-z_]+)?$/i.test(setting[0])) {
    throw startupError('42704', 'unrecognized configuration parameter in startup packet')
  }
  return setting
}

/** In milliseconds; 0 for none, and for what is no duration: the engine refuses that itself. */
export function readTimeout(settings: readonly Setting[]): number {
  const text = settings.find(([name]) => name.toLowerCase() === 'statement_timeout')?.[1] ?? ''
  const [, number, unit = 'ms'] = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*$/.exec(text) ?? []
  return Math.ceil(Number(number ?? 0) * (UNITS[unit] ?? 1))
}

const UNITS: Record<string, number> = { us: 0.001, ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

const startupError = (code: string, strings: string) => new WireError(code, strings, { fatal: true })
const malformed = () => startupError('08P01', 'invalid startup packet')
