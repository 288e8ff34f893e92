/** The saved contexts: config.json without secrets, credentials.json with the tokens. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../contracts/errors.ts'
import { readJson } from '../contracts/read-json.ts'
import type { Environment } from './environment.ts'

const FORMAT = 1

export type SavedContext = {
  api_url: string
  user: { id: string; email: string }
  organization: { id: string; name: string } | null
  /** The user accepted that the token is sent unencrypted. */
  insecure_http?: boolean
}

/** Of a context that somebody signed in to: its token is renewed with this. */
export type SavedLogin = { readonly refresh_token: string; readonly expires_at: string }

/** The two files as parsed; fields that this version does not know are kept. */
export type StoredConfig = {
  config: { version: number; current?: string; contexts: Record<string, SavedContext> }
  /** `logins` beside the tokens, which versions that do not know of it use until they expire. */
  credentials: { version: number; tokens: Record<string, string>; logins?: Record<string, SavedLogin> }
}

export type ConfigPaths = { readonly folder: string; readonly config: string; readonly credentials: string }

export function configPaths({ env, home, platform }: Environment): ConfigPaths {
  const folder =
    env['SVC_CONFIG_DIR'] ||
    join(env['XDG_CONFIG_HOME'] || (platform === 'win32' && env['APPDATA']) || join(home, '.config'), 'svc')
  return { folder, config: join(folder, 'config.json'), credentials: join(folder, 'credentials.json') }
}

/** Synchronous: every call waits for these two small files. */
export const readConfig = (paths: ConfigPaths): StoredConfig =>
  ({
    config: readOne(paths.config, 'contexts', isContext),
    credentials: readOne(paths.credentials, 'tokens', (token) => typeof token === 'string' && token !== ''),
  }) as StoredConfig

export function isReadableByOthers({ credentials }: ConfigPaths, { platform }: Environment): boolean {
  if (platform === 'win32') return false
  const found = statSync(credentials, { throwIfNoEntry: false })
  return found !== undefined && (found.mode & 0o077) !== 0
}

function readOne(
  path: string,
  entries: 'contexts' | 'tokens',
  isEntry: (value: unknown) => boolean,
): Record<string, unknown> {
  const content = readText(path)
  if (content === undefined) return { version: FORMAT, [entries]: {} }
  const parsed = readJson(content)
  if (parsed === undefined) throw damaged(path, 'not valid JSON')
  if (!isObject(parsed) || typeof parsed['version'] !== 'number') throw damaged(path, 'no version')
  if (parsed['version'] > FORMAT) {
    throw new ServiceError(
      'INVALID_REQUEST',
      `${path} was written by a newer version of svc (format ${parsed['version']}; this version supports ${FORMAT})`,
      { hint: 'Update svc, or set SVC_CONFIG_DIR to another folder. The file was not changed.' },
    )
  }
  const found = parsed[entries]
  if (!isObject(found)) throw damaged(path, `no ${entries}`)
  const wrong = Object.keys(found).find((name) => !isEntry(found[name]))
  if (wrong !== undefined) throw damaged(path, `${entries}.${wrong} is invalid`)
  const logins = parsed['logins'] ?? {}
  if (!isObject(logins) || !Object.values(logins).every(isLogin)) throw damaged(path, 'logins is invalid')
  const current = parsed['current']
  if (current !== undefined && typeof current !== 'string') throw damaged(path, 'current is not a string')
  return parsed
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = String((error as { code?: string }).code)
    if (code === 'ENOENT') return undefined
    throw new ServiceError('INVALID_REQUEST', `${path} cannot be read (${code})`, {
      hint: 'Fix its permissions, or set SVC_CONFIG_DIR to another folder.',
    })
  }
}

const damaged = (path: string, what: string): ServiceError =>
  new ServiceError('INVALID_REQUEST', `${path} is damaged: ${what}`, {
    hint: `The file was not changed. Repair it, or move it away and log in again: mv '${path}' '${path}.broken'`,
  })

function isContext(value: unknown): boolean {
  if (!isObject(value) || typeof value['api_url'] !== 'string' || !URL.canParse(value['api_url']))
    return false
  const { user, organization } = value
  return isObject(user) && typeof user['id'] === 'string' && (organization === null || isObject(organization))
}

const isLogin = (value: unknown): boolean =>
  isObject(value) &&
  typeof value['refresh_token'] === 'string' &&
  !Number.isNaN(Date.parse(String(value['expires_at'])))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
