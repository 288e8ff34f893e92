/** The logins of this machine: config.json without secrets, credentials.json with the tokens. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../contracts/errors.ts'
import type { Machine } from './environment.ts'

const FORMAT = 1

export type Context = {
  api_url: string
  user: { id: string; email: string }
  organization: { id: string; name: string } | null
  /** The person accepted that the token travels unencrypted. */
  insecure_http?: boolean
}

/** As they lie on the disk; fields that this svc does not know are kept. */
export type Logins = {
  config: { version: number; current?: string; contexts: Record<string, Context> }
  credentials: { version: number; tokens: Record<string, string> }
}

export type ConfigFiles = { readonly folder: string; readonly config: string; readonly credentials: string }

export function configFiles({ env, home, platform }: Machine): ConfigFiles {
  const folder =
    env['SVC_CONFIG_DIR'] ||
    join(env['XDG_CONFIG_HOME'] || (platform === 'win32' && env['APPDATA']) || join(home, '.config'), 'svc')
  return { folder, config: join(folder, 'config.json'), credentials: join(folder, 'credentials.json') }
}

/** Not in the background: every call waits for it, and two small files are there at once. */
export const readLogins = (files: ConfigFiles): Logins =>
  ({
    config: readOne(files.config, 'contexts', isContext),
    credentials: readOne(files.credentials, 'tokens', (token) => typeof token === 'string' && token !== ''),
  }) as Logins

/** Says so when others than the owner can read the tokens. */
export function othersMayRead({ credentials }: ConfigFiles, { platform }: Machine): boolean {
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
  let parsed: unknown
  try {
    parsed = JSON.parse(content)
  } catch {
    throw damaged(path, 'it is not JSON')
  }
  if (!isObject(parsed) || typeof parsed['version'] !== 'number') throw damaged(path, 'it says no version')
  if (parsed['version'] > FORMAT) {
    throw new ServiceError(
      'INVALID_REQUEST',
      `${path} was written by a newer svc (format ${parsed['version']}; this one knows ${FORMAT})`,
      { hint: 'Update svc, or let SVC_CONFIG_DIR name another folder. The file was left as it is.' },
    )
  }
  const found = parsed[entries]
  if (!isObject(found)) throw damaged(path, `it has no ${entries}`)
  const wrong = Object.keys(found).find((name) => !isEntry(found[name]))
  if (wrong !== undefined) throw damaged(path, `${entries}.${wrong} is not what it should be`)
  const current = parsed['current']
  if (current !== undefined && typeof current !== 'string') throw damaged(path, 'current is not a name')
  return parsed
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = String((error as { code?: string }).code)
    if (code === 'ENOENT') return undefined
    throw new ServiceError('INVALID_REQUEST', `${path} cannot be read (${code})`, {
      hint: 'Make it a file that you may read, or let SVC_CONFIG_DIR name another folder.',
    })
  }
}

const damaged = (path: string, what: string): ServiceError =>
  new ServiceError('INVALID_REQUEST', `${path} is damaged: ${what}`, {
    hint: `The file was left as it is. Mend it, or move it away and log in again: mv '${path}' '${path}.broken'`,
  })

function isContext(value: unknown): boolean {
  if (!isObject(value) || typeof value['api_url'] !== 'string' || !URL.canParse(value['api_url']))
    return false
  const { user, organization } = value
  return isObject(user) && typeof user['id'] === 'string' && (organization === null || isObject(organization))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
