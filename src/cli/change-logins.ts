/** Changes the logins of this machine: both files or none, by one svc at a time. */
import { readLogins, type ConfigFiles, type Logins } from './config-files.ts'
import { replaceFile, whileLocked } from './private-files.ts'

/** `change` alters what it is given; when it throws, nothing is written. */
export async function changeLogins<T>(files: ConfigFiles, change: (logins: Logins) => T): Promise<T> {
  return whileLocked(files.folder, async (stillOurs) => {
    const logins = readLogins(files)
    const before = { config: text(logins.config), credentials: text(logins.credentials) }
    const result = change(logins)
    const write = async (which: 'config' | 'credentials') => {
      const now = text(logins[which])
      if (now !== before[which]) await replaceFile(files[which], now, stillOurs)
    }
    // Killed in between, a token without a context opens nothing, and a context without a token says so.
    await write('credentials')
    await write('config')
    return result
  })
}

const text = (content: unknown): string => `${JSON.stringify(content, null, 2)}\n`
