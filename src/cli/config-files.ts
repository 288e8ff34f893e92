/** The logins of this machine: config.json without secrets, credentials.json with the tokens. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../contracts/errors.ts'
import type { Machine } from './environment.ts'
import { replaceFile, whileLocked } from './private-files.ts'

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
    join(
      env['XDG_CONFIG_HOME'] || (platform === 'win32' && env['APPDATA']) || join(home, '.config'),
      'svc',
    )
  return { folder, config: join(folder, 'config.json'), credentials: join(folder, 'credentials.json') }
}

export async function readLogins(files: ConfigFiles): Promise<Logins> {
  const [config, credentials] = await Promise.all([
    readOne(files.config, 'contexts', isContext),
    readOne(files.credentials, 'tokens', (token) => typeof token === 'string' && token !== ''),
  ])
  return { config, credentials } as Logins
}

/** Reads, changes and writes both while no other svc does. `change` says what it changed to; throwing changes nothing. */
export async function changeLogins<T>(files: ConfigFiles, change: (logins: Logins) => T): Promise<T> {
  return whileLocked(files.folder, async (stillOurs) => {
    const logins = await readLogins(files)
    const before = { config: text(logins.config), credentials: text(logins.credentials) }
    const result = change(logins)
    const write = async (which: 'config' | 'credentials') => {
      const now = text(logins[which])
      if (now !== before[which]) await replaceFile(files[which], now, stillOurs)
    }
    // Killed in between, a token without a context opens nothing, while a context without a token says so.
    await write('credentials')
    await write('config')
    return result
  })
}

const text = (content: unknown): string => `${JSON.stringify(content, null, 2)}\n`

/** Says so when others than the owner can read the tokens. */
export async function othersMayRead({ credentials }: ConfigFiles, { platform }: Machine): Promise<boolean> {
  if (platform === 'win32') return false
  const found = await stat(credentials).catch(() => undefined)
  return found !== undefined && (found.mode & 0o077) !== 0
}

async function readOne(
  path: string,
  entries: 'contexts' | 'tokens',
  isEntry: (value: unknown) => boolean,
): Promise<Record<string, unknown>> {
  const content = await readText(path)
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

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
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
  if (!isObject(value) || typeof value['api_url'] !== 'string' || !URL.canParse(value['api_url'])) return false
  const { user, organization } = value
  return isObject(user) && typeof user['id'] === 'string' && (organization === null || isObject(organization))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
