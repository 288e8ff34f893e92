/** Why a database could not be made or removed on the operator's server, as a sentence that anybody may read. */

export class ManagedServerProblem extends Error {
  override readonly name = 'ManagedServerProblem'
  /** Without the server's own words, its address or a name on it: it is shown to whoever asked for a database. */
  readonly says: string

  constructor(says: string, cause?: unknown) {
    super(says, { cause })
    this.says = says
  }
}

const UNREACHABLE = 'The server for managed databases cannot be reached.'
const LOGIN_REFUSED = 'The server for managed databases refuses our login.'
const SAYINGS: Record<string, string> = {
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
  '42501': 'Our login on the server for managed databases may not make databases and roles there.',
  '53100': 'The server for managed databases has no space left.',
  '53300': 'The server for managed databases has no connection left for us.',
  '57P03': 'The server for managed databases is starting or stopping.',
}

/** The cause is for the log, which keeps no values. */
export function asManagedServerProblem(error: unknown): ManagedServerProblem {
  if (error instanceof ManagedServerProblem) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new ManagedServerProblem(SAYINGS[code] ?? 'The server for managed databases could not do it.', error)
}
