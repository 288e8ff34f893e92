/** Why a database could not be created or removed on the operator's server, in a sentence that anybody may read. */

/** Its message holds no text, address or name of the server: it is shown to whoever asked for a database. */
export class ManagedServerError extends Error {
  override readonly name = 'ManagedServerError'
}

const UNREACHABLE = 'The server for managed databases cannot be reached.'
const LOGIN_REFUSED = 'The server for managed databases refuses our login.'
const SENTENCES: Record<string, string> = {
  ECONNREFUSED: UNREACHABLE,
  ECONNRESET: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ENOTFOUND: UNREACHABLE,
  EAI_AGAIN: UNREACHABLE,
  ETIMEDOUT: UNREACHABLE,
  CONNECT_TIMEOUT: UNREACHABLE,
  CONNECTION_CLOSED: UNREACHABLE,
  CONNECTION_DESTROYED: UNREACHABLE,
  '28000': LOGIN_REFUSED,
  '28P01': LOGIN_REFUSED,
  '3D000': LOGIN_REFUSED,
  '42501': 'Our login on the server for managed databases may not create databases and roles there.',
  '53100': 'The server for managed databases has no disk space left.',
  '53300': 'The server for managed databases has no connections left.',
  '57P03': 'The server for managed databases is starting up or shutting down.',
}

/** The cause is for the log, which keeps no values. */
export function toManagedServerError(error: unknown): ManagedServerError {
  if (error instanceof ManagedServerError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const sentence = SENTENCES[code] ?? 'The server for managed databases reported an unexpected error.'
  return new ManagedServerError(sentence, { cause: error })
}
