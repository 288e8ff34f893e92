/**
 * `?readonly=true`, `?tools=a,b` and `?source=db_x,db_y`: what whoever wrote down the address wants to leave out. A name
 * that is not known keeps nothing, so it can only narrow; what cannot be understood is refused, because to ignore it
 * would be to allow more than was meant.
 */
import { ServiceError } from '../src/contracts/errors.ts'

export type Narrowing = {
  readonly readOnly: boolean
  /** Names of tools; undefined: all of them. */
  readonly tools: ReadonlySet<string> | undefined
  /** `db_…`; undefined: every source that may be asked. */
  readonly sources: ReadonlySet<string> | undefined
}

/** Longer than all the names there will be; a request line has its limit elsewhere. */
const NAMES_MAX = 100

export function readNarrowing({ searchParams }: URL): Narrowing {
  const readOnly = onlyOne(searchParams, 'readonly') ?? 'false'
  if (readOnly !== 'true' && readOnly !== 'false') throw notUnderstood('readonly', 'must be true or false')
  return {
    readOnly: readOnly === 'true',
    tools: names(searchParams, 'tools'),
    sources: names(searchParams, 'source'),
  }
}

function names(params: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const given = onlyOne(params, name)
  if (given === undefined) return undefined
  const all = given
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  if (all.length === 0) throw notUnderstood(name, 'must name something')
  if (all.length > NAMES_MAX) throw notUnderstood(name, `must have at most ${NAMES_MAX} names`)
  return new Set(all)
}

/** Said twice, one of them would have to be ignored. */
function onlyOne(params: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = params.getAll(name)
  if (more.length > 0) throw notUnderstood(name, 'must be said once')
  return value
}

const notUnderstood = (name: string, problem: string) =>
  new ServiceError('INVALID_REQUEST', `The address of the endpoint is not understood: ${name} ${problem}`, {
    hint: 'Correct the address this endpoint is connected under.',
  })
