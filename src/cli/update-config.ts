/** Updates the saved contexts: both files or none, one svc at a time. */
import { ServiceError } from '../contracts/errors.ts'
import { readConfig, type ConfigPaths, type StoredConfig } from './config-files.ts'
import { replaceFile, withLock } from './private-files.ts'

/** `change` mutates its argument; when it throws, nothing is written. */
export async function updateConfig<T>(paths: ConfigPaths, change: (stored: StoredConfig) => T): Promise<T> {
  const done = withLock(paths.folder, async (assertLocked) => {
    const stored = readConfig(paths)
    const before = { config: text(stored.config), credentials: text(stored.credentials) }
    const result = change(stored)
    const write = async (which: 'config' | 'credentials') => {
      const now = text(stored[which])
      if (now !== before[which]) await replaceFile(paths[which], now, assertLocked)
    }
    // In this order: after a crash in between there is a token without a context, which is never used.
    await write('credentials')
    await write('config')
    return result
  })
  return done.catch((error: unknown) => {
    if (!isFileSystemError(error)) throw error
    throw new ServiceError('UNEXPECTED', `${paths.folder} is not writable (${error.code})`, {
      hint: 'Nothing was changed. Set SVC_CONFIG_DIR to use another folder.',
      cause: error,
    })
  })
}

const isFileSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error

const text = (content: unknown): string => `${JSON.stringify(content, null, 2)}\n`
