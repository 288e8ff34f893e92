/** What a managed database says when something fails is foreign text: here it becomes words of ours, with the cause for the log. */
import { ServiceError } from '../../contracts/errors.ts'

/** SQLSTATE classes: 08 connection, 28 login, 3D unknown database, 53 out of resources, 57P shutting down. */
const UNREACHABLE = /^(08|28|3D|53|57P)/
const SYSTEM = /^(ECONN|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|CONNECT|CONNECTION)/
/** Undefined table, column, function or type; wrong type; insufficient privilege; a vector of another size. */
const CHANGED = /^(42|22000|0A000)/

export class DatabaseChanged extends Error {
  override readonly name = 'DatabaseChanged'
}

export async function spokenByDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === '57014') {
      throw new ServiceError('TIMEOUT', 'The database took too long to answer', { cause: error })
    }
    if (UNREACHABLE.test(code) || SYSTEM.test(code)) {
      throw new ServiceError('TIMEOUT', 'The database of this source cannot be reached now', {
        hint: 'Try again later; if it stays so, tell whoever runs the database.',
        cause: error,
      })
    }
    if (CHANGED.test(code)) throw new DatabaseChanged('the database changed', { cause: error })
    throw error
  }
}

function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}
