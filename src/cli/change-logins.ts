/** Changes the logins of this machine: both files or none, by one svc at a time. */
import { ServiceError } from '../contracts/errors.ts'
import { readLogins, type ConfigFiles, type Logins } from './config-files.ts'
import { replaceFile, whileLocked } from './private-files.ts'

/** `change` alters what it is given; when it throws, nothing is written. */
export async function changeLogins<T>(files: ConfigFiles, change: (logins: Logins) => T): Promise<T> {
  const done = whileLocked(files.folder, async (stillOurs) => {
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
  return done.catch((error: unknown) => {
    if (!isOfTheDisk(error)) throw error
    throw new ServiceError('UNEXPECTED', `${files.folder} cannot be written to (${error.code})`, {
      hint: 'Nothing was changed. SVC_CONFIG_DIR can name another folder.',
      cause: error,
    })
  })
}

const isOfTheDisk = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error

const text = (content: unknown): string => `${JSON.stringify(content, null, 2)}\n`
