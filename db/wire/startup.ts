/** Reads the packet with which a client introduces itself. */
import { WireFailure } from './messages.ts'

export type Introduction =
  | { readonly asks: 'encryption' }
  | { readonly asks: 'cancel'; readonly pid: number; readonly secret: Buffer }
  | {
      readonly asks: 'login'
      readonly user: string
      readonly database: string
      readonly settings: readonly Setting[]
      /** Of the protocol: what the client would like beyond version 3.0, and has to be told that there is none of. */
      readonly beyond: readonly string[] | undefined
    }

export type Setting = readonly [name: string, value: string]

const CANCEL_REQUEST = 80877102
const SSL_REQUEST = 80877103
const GSS_REQUEST = 80877104

export function readIntroduction(packet: Buffer): Introduction {
  const code = packet.readUInt32BE(4)
  if (code === SSL_REQUEST || code === GSS_REQUEST) return { asks: 'encryption' }
  if (code === CANCEL_REQUEST) {
    if (packet.length !== 16) throw malformed()
    return { asks: 'cancel', pid: packet.readInt32BE(8), secret: packet.subarray(12) }
  }
  if (code >>> 16 !== 3) throw refused('0A000', 'unsupported frontend protocol')
  return { asks: 'login', ...readParameters(packet.subarray(8), (code & 0xffff) > 0) }
}

function readParameters(bytes: Buffer, newer: boolean) {
  const words = bytes.toString().split('\0')
  const parameters = new Map<string, string>()
  for (let at = 0; words[at]; at += 2) {
    const value = words[at + 1]
    if (value === undefined) throw malformed()
    parameters.set(words[at] ?? '', value)
  }
  const { user, database, replication, options, ...settings } = Object.fromEntries(parameters)
  if (!user) throw refused('28000', 'no user name was given at start-up')
  if (replication !== undefined) throw refused('0A000', 'replication is not supported')
  if (options?.trim()) throw refused('0A000', 'start-up options are not supported: set each by its own name')
  const entries = Object.entries(settings)
  const beyond = entries.map(([name]) => name).filter((name) => name.startsWith('_pq_.'))
  return {
    user,
    database: database || user,
    settings: entries.filter(([name]) => !name.startsWith('_pq_.')).map(checked),
    beyond: newer || beyond.length > 0 ? beyond : undefined,
  }
}

function checked(setting: Setting): Setting {
  if (!/^[a-z_]+(\.[a-z_]+)?$/i.test(setting[0])) {
    throw refused('42704', 'unrecognized configuration parameter at start-up')
  }
  return setting
}

/** In milliseconds; 0 and what cannot be read mean none, as the engine itself refuses the latter by its own words. */
export function readTimeout(settings: readonly Setting[]): number {
  const text = settings.find(([name]) => name.toLowerCase() === 'statement_timeout')?.[1] ?? ''
  const [, number, unit = 'ms'] = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*$/.exec(text) ?? []
  return Math.ceil(Number(number ?? 0) * (UNITS[unit] ?? 1))
}

const UNITS: Record<string, number> = { us: 0.001, ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

const refused = (code: string, words: string) => new WireFailure(code, words, { fatal: true })
const malformed = () => refused('08P01', 'invalid start-up packet')
